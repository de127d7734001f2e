//! The actions of a schedule, by its seed, and the shrinking of a failing schedule.

use std::vec::Vec;

/// One action. Indices beyond the last node, message or view wrap around, so that every action
/// stays meaningful when others are removed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// A client may give a valid command.
    Command(usize, usize),
    /// A message arrives.
    Deliver(usize),
    /// A message is lost, if its sender or its receiver has crashed since.
    Lose(usize),
    /// A timer fires.
    Fire(usize),
    /// A node receives a view, usually the latest.
    DeliverView(usize, usize),
    /// The service renews a node's lease, if it may.
    Renew(usize),
    /// A node's lease expires, and its stay continues.
    ExpireLease(usize),
    /// The service commits a view: it removes the nodes of the set `out`, whose leases it ends
    /// first, and then adds those of the set `back`.
    Commit { out: usize, back: usize },
    /// All nodes receive the latest view and a lease; if `decides`, the service first commits a
    /// view without crashed nodes.
    RefreshAll { decides: bool },
    /// A process crashes and loses its state.
    Crash(usize),
    /// A process starts its next incarnation.
    Restart(usize),
}

/// Enough actions for a few views, and for every node to enter and release in between.
const LENGTH: usize = 250;

/// Returns the number of nodes and the actions of a schedule.
pub(super) fn from_seed(seed: u64) -> (usize, Vec<Action>) {
    let mut rng = TestRng(seed);
    let nodes = 3 + rng.below(3);
    (nodes, (0..LENGTH).map(|_| action(&mut rng)).collect())
}

fn action(rng: &mut TestRng) -> Action {
    let (node, pick) = (rng.below(60), rng.below(64));
    match rng.below(200) {
        0..44 => Action::Command(node, pick),
        44..48 => Action::RefreshAll { decides: pick % 2 == 0 },
        48..140 => Action::Deliver(pick),
        140..143 => Action::Lose(pick),
        143..153 => Action::Fire(pick),
        153..179 => Action::DeliverView(node, pick),
        179..191 => Action::Renew(node),
        191..193 => Action::ExpireLease(node),
        // A random set, usually small; removed nodes may return at once or later.
        193..197 => Action::Commit { out: pick & rng.below(64), back: rng.below(64) },
        197..198 => Action::Crash(node),
        _ => Action::Restart(node),
    }
}

/// Removes all actions that the failure does not need.
pub(super) fn shrink(mut actions: Vec<Action>, fails: impl Fn(&[Action]) -> bool) -> Vec<Action> {
    let mut length = actions.len();
    while length > 0 {
        let mut start = 0;
        while start < actions.len() {
            let mut fewer = actions.clone();
            fewer.drain(start..(start + length).min(actions.len()));
            if fails(&fewer) { actions = fewer } else { start += length }
        }
        length /= 2;
    }
    actions
}

/// A deterministic random generator: `SplitMix64`.
struct TestRng(u64);

impl TestRng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % bound as u64) as usize
    }
}
