//! Processes items on several threads and returns the results in the order of the items.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// Applies `f` to every item and returns the results in order. The threads end with the call.
pub(crate) fn map_in_order<T: Send, R: Send>(threads: usize, items: Vec<T>, f: impl Fn(T) -> R + Sync) -> Vec<R> {
    if threads < 2 || items.len() < 2 {
        return items.into_iter().map(f).collect();
    }
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let queue = Mutex::new(items.into_iter().zip(results.iter_mut()));
    let process_queue = || {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((item, result)) = next else { return };
            *result = Some(f(item));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // If a thread cannot be started, the others process its share of the items.
            let _ = thread::Builder::new().spawn_scoped(scope, process_queue);
        }
        process_queue();
    });
    drop(queue);
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::map_in_order;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for threads in [1, 2, 7] {
            let results = map_in_order(threads, (0..1_000_u32).collect(), |number| number * 2);
            assert!(results.iter().enumerate().all(|(index, result)| index as u32 * 2 == *result));
        }
    }
}
