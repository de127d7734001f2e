//! Generates the waits of the benchmark, in graphs of several shapes.

use serde::Serialize;
use std::collections::HashMap;

/// Shape of a wait-for graph.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Shape {
    /// Many queues of up to eight waiters, which arrive in any order: a lock service with little
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
    /// Each waiter waits for one or two owners that precede it in a hidden random order.
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

/// On average, one wait that would close a cycle is added per this number of other waits.
const CLOSING_INTERVAL: u64 = 32;
/// Maximum length of a cycle that such a wait would close.
const MAX_CYCLE_LENGTH: u64 = 8;

/// Returns the requests that lead to this number of waiters, mixed with requests that must be
/// refused.
pub(super) fn generate_waits(shape: Shape, waiters: u32) -> Vec<Wait> {
    let mut random = Random(u64::from(waiters));
    // The edges of the final graph.
    let mut edges = match shape {
        Shape::ShortChains => (0..waiters).map(|index| wait_in_queue(index, SHORT_QUEUE_LENGTH)).collect(),
        Shape::LongQueue | Shape::ScatteredQueue => (0..waiters).map(|index| wait_in_queue(index, waiters)).collect(),
        Shape::HotLocks => generate_hot_lock_waits(waiters, &mut random),
        Shape::RandomSparse => {
            let mut owners: Vec<u32> = (0..=waiters).collect();
            random.shuffle(&mut owners);
            let owner = |index: usize| owners.get(index).copied().unwrap_or_default();
            let mut earlier = |index: usize| owner(random.below(index as u64) as usize);
            let pairs = (1..owners.len()).flat_map(|index| [(index, earlier(index)), (index, earlier(index))]);
            pairs.map(|(index, on)| Wait { waiter: owner(index), on }).collect()
        }
    };
    match shape {
        Shape::ShortChains | Shape::ScatteredQueue | Shape::RandomSparse => random.shuffle(&mut edges),
        Shape::LongQueue | Shape::HotLocks => {}
    }
    add_closing_waits(&edges, &mut random)
}

/// Number of waiters in each queue of [`Shape::ShortChains`].
const SHORT_QUEUE_LENGTH: u32 = 8;

/// Returns the wait of the waiter at this index, in queues of `length` waiters behind one holder
/// each. The holder of a queue has the number before that of its first waiter.
fn wait_in_queue(index: u32, length: u32) -> Wait {
    let waiter = index + index / length + 1;
    Wait { waiter, on: waiter - 1 }
}

/// The queue of a hot lock.
#[derive(Clone, Copy)]
struct Queue {
    holder: u32,
    /// The last waiter; the holder if none waits.
    tail: u32,
    /// Index of the queue in which the holder waits, if any.
    waits_in: Option<usize>,
}

/// Approximate length of the queue of a hot lock.
const HOT_QUEUE_LENGTH: u32 = 1_000;
/// One in this number of waits is by the holder of a hot lock, unless that holder already waits or
/// would close a cycle; then a new owner waits instead.
const HOLDER_INTERVAL: u64 = 64;

/// Returns the waits of [`Shape::HotLocks`]. The first owners hold one hot lock each. There are at
/// least two, so that a holder can join the queue of another.
fn generate_hot_lock_waits(waiters: u32, random: &mut Random) -> Vec<Wait> {
    let queue_count = waiters.div_ceil(HOT_QUEUE_LENGTH) + 1;
    let queue = |holder: u32| Queue { holder, tail: holder, waits_in: None };
    let mut queues: Vec<Queue> = (0..queue_count).map(queue).collect();
    let mut waits = Vec::new();
    for new_owner in queue_count..queue_count + waiters {
        let is_by_holder = random.below(HOLDER_INTERVAL) == 0;
        let [from_queue, to_queue] = [(); 2].map(|()| random.below(u64::from(queue_count)) as usize);
        // A holder must not join a queue that leads back to its own lock.
        let mut last_queue = to_queue;
        while let Some(next) = queues.get(last_queue).and_then(|queue| queue.waits_in) {
            last_queue = next;
        }
        let may_wait = |queue: &&mut Queue| is_by_holder && last_queue != from_queue && queue.waits_in.is_none();
        let waiting_holder = queues.get_mut(from_queue).filter(may_wait).map(|queue| {
            queue.waits_in = Some(to_queue);
            queue.holder
        });
        if let Some(queue) = queues.get_mut(to_queue) {
            let waiter = waiting_holder.unwrap_or(new_owner);
            waits.push(Wait { waiter, on: std::mem::replace(&mut queue.tail, waiter) });
        }
    }
    waits
}

/// Returns the edges, mixed with waits that would close a cycle: an owner would wait for one that
/// is up to [`MAX_CYCLE_LENGTH`] − 1 waits behind it.
fn add_closing_waits(edges: &[Wait], random: &mut Random) -> Vec<Wait> {
    let mut waits_for = HashMap::new();
    let mut waits = Vec::with_capacity(edges.len() + edges.len() / CLOSING_INTERVAL as usize + 1);
    for (index, edge) in edges.iter().enumerate() {
        waits.push(*edge);
        waits_for.insert(edge.waiter, edge.on);
        if random.below(CLOSING_INTERVAL) == 0 {
            let behind = edges.get(random.below(index as u64 + 1) as usize).map_or(edge.waiter, |edge| edge.waiter);
            let steps = 1 + random.below(MAX_CYCLE_LENGTH - 1);
            let ahead = (0..steps).fold(behind, |owner, _| waits_for.get(&owner).copied().unwrap_or(owner));
            waits.push(Wait { waiter: ahead, on: behind });
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
