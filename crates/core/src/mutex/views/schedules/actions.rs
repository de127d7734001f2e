//! The random actions of a schedule, and the shrinking of a failing schedule.

use std::vec::Vec;

/// One action. Indices beyond the last node, message, timer or view wrap around, so that every
/// action stays meaningful when others are removed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// The client of this node gives a valid command or none; the second number selects it.
    Command(usize, usize),
    /// A message arrives.
    Deliver(usize),
    /// A message is lost, if its sender has crashed since or its receiver is down.
    Lose(usize),
    /// A timer fires.
    Fire(usize),
    /// A node receives a view, usually the latest; the second number selects it.
    DeliverView(usize, usize),
    /// The membership service renews a node's lease, if the node knows of its stay.
    Renew(usize),
    /// A node's lease expires, but the node remains a member.
    ExpireLease(usize),
    /// The service commits a view: it removes some nodes, whose leases it ends first, and then adds
    /// others. Bit `i` of a set stands for the node with index `i`.
    Commit { removed: usize, added: usize },
    /// All nodes receive the latest view, and its members a lease. If `removes_crashed`, the
    /// service first commits a view without the members whose incarnation has crashed.
    RefreshAll { removes_crashed: bool },
    /// A process crashes and loses its state.
    Crash(usize),
    /// A process starts its next incarnation.
    Restart(usize),
}

/// Enough actions for a few views, and for every node to enter and release in between.
const ACTION_COUNT: usize = 250;

/// Returns the number of nodes and the actions of a schedule.
pub(super) fn from_seed(seed: u64) -> (usize, Vec<Action>) {
    let mut rng = TestRng(seed);
    let nodes = 3 + rng.below(3);
    (nodes, (0..ACTION_COUNT).map(|_| random_action(&mut rng)).collect())
}

fn random_action(rng: &mut TestRng) -> Action {
    // 60 is a multiple of each group size, 3 to 5, so every node is equally likely.
    // `pick` selects a message, for example, or serves as six bits: more than there are nodes.
    let (node, pick) = (rng.below(60), rng.below(64));
    // Frequencies in 200ths.
    match rng.below(200) {
        0..44 => Action::Command(node, pick),
        44..48 => Action::RefreshAll { removes_crashed: pick % 2 == 0 },
        48..140 => Action::Deliver(pick),
        140..143 => Action::Lose(pick),
        143..153 => Action::Fire(pick),
        153..179 => Action::DeliverView(node, pick),
        179..191 => Action::Renew(node),
        191..193 => Action::ExpireLease(node),
        // The removed set is usually small; removed nodes may return at once or later.
        193..197 => Action::Commit { removed: pick & rng.below(64), added: rng.below(64) },
        197..198 => Action::Crash(node),
        _ => Action::Restart(node),
    }
}

/// Removes actions, in ever smaller blocks, while the schedule still fails.
pub(super) fn shrink(mut actions: Vec<Action>, fails: impl Fn(&[Action]) -> bool) -> Vec<Action> {
    let mut block_length = actions.len();
    while block_length > 0 {
        let mut start = 0;
        while start < actions.len() {
            let mut shorter = actions.clone();
            shorter.drain(start..(start + block_length).min(actions.len()));
            if fails(&shorter) { actions = shorter } else { start += block_length }
        }
        block_length /= 2;
    }
    actions
}

/// A deterministic random generator: `SplitMix64`.
struct TestRng(u64);

impl TestRng {
    /// Returns a number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % bound as u64) as usize
    }
}
