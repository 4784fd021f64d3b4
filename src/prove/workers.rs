//! Work shared by threads, each with a runtime of its own.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::runtime::Runtime;

use super::run::paused_runtime;
use crate::runner::Stop;

/// Applies `work` to every item on several threads until the run is stopped; results have the order of the items. Fails where the system gives no runtime.
pub(crate) fn each<T: Sync, R: Send>(
    workers: usize,
    stop: &Stop,
    items: &[T],
    work: &(dyn Fn(&Runtime, &T) -> R + Sync),
) -> std::io::Result<Vec<R>> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let one_worker = || {
        let runtime = paused_runtime()?;
        loop {
            if stop.is_set() {
                return Ok(());
            }
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return Ok(()) };
            let made = work(&runtime, item);
            done.lock().push((at, made));
        }
    };
    std::thread::scope(|scope| {
        let workers = workers.clamp(1, items.len().max(1));
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(one_worker)).collect();
        let mine: std::io::Result<()> = one_worker();
        let joined = others.into_iter().map(|other| match other.join() {
            Ok(worked) => worked,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.fold(mine, std::io::Result::and)
    })?;
    let mut done = done.into_inner();
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, made)| made).collect())
}

#[cfg(test)]
mod tests {
    fn never() -> crate::runner::Stop {
        crate::runner::Stop::new().1
    }

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        for workers in [0, 1, 2, 7, 200] {
            let doubled = super::each(workers, &never(), &items, &|_, item| item * 2).unwrap();
            assert_eq!(doubled, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
        assert!(super::each(3, &never(), &[], &|_, item: &usize| *item).unwrap().is_empty());
    }
}
