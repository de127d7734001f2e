//! Who asks for what, in graphs of several shapes.

use serde::Serialize;
use std::collections::HashMap;

/// What a graph looks like.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Shape {
    /// Many queues of up to eight, whose members come in any order: a lock service in good health.
    ShortChains,
    /// One exclusive queue that everybody joins at its end.
    LongQueue,
    /// Queues of a thousand, whose holders, with all of theirs behind them, join other queues now and then.
    HotLocks,
    /// The same queue, put together in any order: those with many behind them wait for those with many ahead. No lock does that; an order suffers most by it.
    ScatteredQueue,
    /// Everyone waits for two others, who are older by an order that nobody knows.
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

/// One owner asks to wait for another.
#[derive(Clone, Copy)]
pub(super) struct Ask {
    pub(super) waiter: u32,
    pub(super) on: u32,
}

/// One in so many asks would close a cycle.
const CLOSING: u64 = 32;
/// How long such a cycle is at the most.
const LONGEST: u64 = 8;

/// All that is asked until so many wait, and in between what has to be refused.
pub(super) fn asks(shape: Shape, waiters: u32) -> Vec<Ask> {
    let mut dice = Dice(u64::from(waiters));
    let mut edges = match shape {
        Shape::ShortChains => (0..waiters).map(|place| chain(place, 8)).collect(),
        Shape::LongQueue | Shape::ScatteredQueue => (0..waiters).map(|place| chain(place, waiters)).collect(),
        Shape::HotLocks => hot_locks(waiters, &mut dice),
        Shape::RandomSparse => {
            let mut names: Vec<u32> = (0..=waiters).collect();
            dice.shuffle(&mut names);
            let name = |place: usize| names.get(place).copied().unwrap_or_default();
            let mut older = |place: usize| name(dice.below(place as u64) as usize);
            let pairs = (1..names.len()).flat_map(|place| [(place, older(place)), (place, older(place))]);
            pairs.map(|(place, on)| Ask { waiter: name(place), on }).collect()
        }
    };
    match shape {
        Shape::ShortChains | Shape::ScatteredQueue | Shape::RandomSparse => dice.shuffle(&mut edges),
        Shape::LongQueue | Shape::HotLocks => {}
    }
    with_closing(&edges, &mut dice)
}

/// The edge of one in a queue: queues of so many, each behind one who holds what they want.
fn chain(place: u32, length: u32) -> Ask {
    let waiter = place + place / length + 1;
    Ask { waiter, on: waiter - 1 }
}

/// One queue of a hot lock.
#[derive(Clone, Copy)]
struct Queue {
    holder: u32,
    last: u32,
    waits_in: Option<usize>,
}

/// How many stand in the queue of a hot lock, about.
const HOT: u32 = 1_000;
/// One in so many asks is a holder's.
const BY_HOLDERS: u64 = 64;

fn hot_locks(waiters: u32, dice: &mut Dice) -> Vec<Ask> {
    let count = waiters.div_ceil(HOT) + 1;
    let queue = |holder: u32| Queue { holder, last: holder, waits_in: None };
    let mut queues: Vec<Queue> = (0..count).map(queue).collect();
    let mut asks = Vec::new();
    for newcomer in count..count + waiters {
        let by_holder = dice.below(BY_HOLDERS) == 0;
        let [from, to] = [(); 2].map(|()| dice.below(u64::from(count)) as usize);
        // Nobody waits in the end for one who waits for it.
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
            let waiter = holder.unwrap_or(newcomer);
            asks.push(Ask { waiter, on: std::mem::replace(&mut queue.last, waiter) });
        }
    }
    asks
}

fn with_closing(edges: &[Ask], dice: &mut Dice) -> Vec<Ask> {
    let mut next = HashMap::new();
    let mut asks = Vec::with_capacity(edges.len() + edges.len() / CLOSING as usize + 1);
    for (place, edge) in edges.iter().enumerate() {
        asks.push(*edge);
        next.insert(edge.waiter, edge.on);
        if dice.below(CLOSING) == 0 {
            let last = edges.get(dice.below(place as u64 + 1) as usize).map_or(edge.waiter, |edge| edge.waiter);
            let steps = 1 + dice.below(LONGEST - 1);
            let first = (0..steps).fold(last, |at, _| next.get(&at).copied().unwrap_or(at));
            asks.push(Ask { waiter: first, on: last });
        }
    }
    asks
}

/// SplitMix64: the same numbers on every machine.
struct Dice(u64);

impl Dice {
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
