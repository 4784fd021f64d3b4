//! Work shared by threads, each with a runtime of its own.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::runtime::Runtime;

use super::run::paused_runtime;

/// Applies `work` to the items on several threads, in their order and until it is over; the results are those of the first
/// items. Fails where the system gives no runtime.
pub(crate) fn each<T: Sync, R: Send>(
    workers: usize,
    is_over: &(dyn Fn() -> bool + Sync),
    items: &[T],
    work: &(dyn Fn(&Runtime, &T) -> R + Sync),
) -> std::io::Result<Vec<R>> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let one_worker = || {
        let runtime = paused_runtime()?;
        loop {
            if is_over() {
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        for workers in [0, 1, 2, 7, 200] {
            let doubled = super::each(workers, &|| false, &items, &|_, item| item * 2).unwrap();
            assert_eq!(doubled, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
        assert!(super::each(3, &|| false, &[], &|_, item: &usize| *item).unwrap().is_empty());
    }

    #[test]
    fn the_first_items_are_worked_on_until_it_is_over() {
        let items: Vec<usize> = (0..100).collect();
        let asked = AtomicUsize::new(0);
        let is_over = || asked.fetch_add(1, Ordering::Relaxed) >= 10;
        assert_eq!(super::each(3, &is_over, &items, &|_, item| *item).unwrap(), items[..10]);
    }
}
