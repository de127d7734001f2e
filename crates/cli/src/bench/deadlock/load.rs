//! Generates the waits of the benchmark, in graphs of several shapes.

use serde::Serialize;
use std::collections::HashMap;

/// Shape of a wait-for graph.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Shape {
    /// Many queues of up to eight waiters, which arrive in any order: a lock service without
    /// contention.
    ShortChains,
    /// One queue that every waiter joins at its end.
    LongQueue,
    /// Queues of about a thousand waiters. Sometimes a holder, with its queue behind it, joins
    /// another queue.
    HotLocks,
    /// One long queue whose edges are inserted in random order. No lock does that, but it is the
    /// worst case for an incremental order.
    ScatteredQueue,
    /// Each waiter waits for two owners that precede it in a hidden random order.
    RandomSparse,
}

impl Shape {
    pub(super) const ALL: [Self; 5] =
        [Self::ShortChains, Self::LongQueue, Self::HotLocks, Self::ScatteredQueue, Self::RandomSparse];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ShortChains => "short chains",
            Self::LongQueue => "one long queue",
            Self::HotLocks => "hot locks",
            Self::ScatteredQueue => "a scattered queue",
            Self::RandomSparse => "random, sparse",
        }
    }
}

/// A request of one owner to wait for another.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    pub(super) waiter: u32,
    pub(super) on: u32,
}

/// One in this number of waits would close a cycle.
const CLOSING_INTERVAL: u64 = 32;
/// Maximum length of such a cycle.
const MAX_CYCLE: u64 = 8;

/// Returns the requests that lead to this number of waiters, mixed with requests that must be
/// refused.
pub(super) fn waits(shape: Shape, waiters: u32) -> Vec<Wait> {
    let mut random = Random(u64::from(waiters));
    let mut edges = match shape {
        Shape::ShortChains => (0..waiters).map(|index| chain(index, 8)).collect(),
        Shape::LongQueue | Shape::ScatteredQueue => (0..waiters).map(|index| chain(index, waiters)).collect(),
        Shape::HotLocks => hot_locks(waiters, &mut random),
        Shape::RandomSparse => {
            let mut names: Vec<u32> = (0..=waiters).collect();
            random.shuffle(&mut names);
            let name = |index: usize| names.get(index).copied().unwrap_or_default();
            let mut earlier = |index: usize| name(random.below(index as u64) as usize);
            let pairs = (1..names.len()).flat_map(|index| [(index, earlier(index)), (index, earlier(index))]);
            pairs.map(|(index, on)| Wait { waiter: name(index), on }).collect()
        }
    };
    match shape {
        Shape::ShortChains | Shape::ScatteredQueue | Shape::RandomSparse => random.shuffle(&mut edges),
        Shape::LongQueue | Shape::HotLocks => {}
    }
    with_closing_waits(&edges, &mut random)
}

/// Returns the wait of the waiter at this index, in queues of `length` waiters behind one holder
/// each.
fn chain(index: u32, length: u32) -> Wait {
    let waiter = index + index / length + 1;
    Wait { waiter, on: waiter - 1 }
}

/// The queue of a hot lock.
#[derive(Clone, Copy)]
struct Queue {
    holder: u32,
    /// The last waiter; the holder if none waits.
    last: u32,
    /// Index of the queue in which the holder waits, if any.
    waits_in: Option<usize>,
}

/// Approximate length of the queue of a hot lock.
const HOT_QUEUE: u32 = 1_000;
/// One in this number of waits is by a holder.
const HOLDER_INTERVAL: u64 = 64;

fn hot_locks(waiters: u32, random: &mut Random) -> Vec<Wait> {
    let count = waiters.div_ceil(HOT_QUEUE) + 1;
    let queue = |holder: u32| Queue { holder, last: holder, waits_in: None };
    let mut queues: Vec<Queue> = (0..count).map(queue).collect();
    let mut waits = Vec::new();
    for new_owner in count..count + waiters {
        let by_holder = random.below(HOLDER_INTERVAL) == 0;
        let [from, to] = [(); 2].map(|()| random.below(u64::from(count)) as usize);
        // A holder must not join a queue that leads back to its own lock.
        let mut end = to;
        while let Some(next) = queues.get(end).and_then(|queue| queue.waits_in) {
            end = next;
        }
        let holder = queues.get_mut(from).filter(|queue| by_holder && end != from && queue.waits_in.is_none());
        let holder = holder.map(|queue| {
            queue.waits_in = Some(to);
            queue.holder
        });
        if let Some(queue) = queues.get_mut(to) {
            let waiter = holder.unwrap_or(new_owner);
            waits.push(Wait { waiter, on: std::mem::replace(&mut queue.last, waiter) });
        }
    }
    waits
}

/// Adds waits that would close a cycle: a waiter waits for one that is up to [`MAX_CYCLE`] − 1
/// waits behind it.
fn with_closing_waits(edges: &[Wait], random: &mut Random) -> Vec<Wait> {
    let mut waits_for = HashMap::new();
    let mut waits = Vec::with_capacity(edges.len() + edges.len() / CLOSING_INTERVAL as usize + 1);
    for (index, edge) in edges.iter().enumerate() {
        waits.push(*edge);
        waits_for.insert(edge.waiter, edge.on);
        if random.below(CLOSING_INTERVAL) == 0 {
            let last = edges.get(random.below(index as u64 + 1) as usize).map_or(edge.waiter, |edge| edge.waiter);
            let steps = 1 + random.below(MAX_CYCLE - 1);
            let first = (0..steps).fold(last, |owner, _| waits_for.get(&owner).copied().unwrap_or(owner));
            waits.push(Wait { waiter: first, on: last });
        }
    }
    waits
}

/// SplitMix64: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}
