//! Many items that do not need each other.

use std::mem::take;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, available_parallelism, scope};

/// The items that a thread takes at least: with fewer, starting it costs more than it saves.
const FEWEST: usize = 128;

/// Maps the items, in their order, on as many threads as there are processors; few items stay on this thread, and so does
/// what gets no thread.
pub fn map_many<T: Send, R: Send>(items: Vec<T>, map: impl Fn(T) -> R + Sync) -> Vec<R> {
    let useful = items.len() / FEWEST;
    let threads = if useful < 2 { 1 } else { available_parallelism().map_or(1, NonZero::get).min(useful) };
    on_threads(threads, items, &map)
}

fn on_threads<T: Send, R: Send>(threads: usize, items: Vec<T>, map: &(impl Fn(T) -> R + Sync)) -> Vec<R> {
    let of_one = items.len().div_ceil(threads);
    let mut items = items.into_iter();
    let mut mapped = Vec::with_capacity(items.len());
    let mine: Vec<T> = items.by_ref().take(of_one).collect();
    // Each stays here until its thread takes it: one that does not start gives nothing back.
    let mut parts: Vec<Mutex<Vec<T>>> = Vec::new();
    while items.len() > 0 {
        parts.push(Mutex::new(items.by_ref().take(of_one).collect()));
    }
    let map_part = |part: &Mutex<Vec<T>>| -> Vec<R> {
        let part = take(&mut *part.lock().unwrap_or_else(PoisonError::into_inner));
        part.into_iter().map(map).collect()
    };
    scope(|scope| {
        let map_part = &map_part;
        let others = parts.iter().map(|part| (part, Builder::new().spawn_scoped(scope, move || map_part(part))));
        let others: Vec<_> = others.collect();
        mapped.extend(mine.into_iter().map(map));
        for (part, other) in others {
            mapped.extend(match other {
                Ok(other) => other.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(_) => map_part(part),
            });
        }
    });
    mapped
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_are_in_the_order_of_the_items() {
        for threads in [1, 2, 3, 7, 200] {
            for count in [0, 1, 2, 100, 101] {
                let doubled = super::on_threads(threads, (0..count).collect(), &|item: usize| item * 2);
                assert_eq!(doubled, (0..count).map(|item| item * 2).collect::<Vec<_>>(), "{threads} {count}");
            }
        }
        assert_eq!(super::map_many((0..10_000).collect(), |item: usize| item), (0..10_000).collect::<Vec<_>>());
    }
}
