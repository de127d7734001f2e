//! What happens in a storm, by its seed, and how a storm that sinks somebody is made small.

use std::vec::Vec;

/// One thing that happens. Numbers beyond the last node, letter or view begin again at the first, so that every gust still
/// means something when the others are left out.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gust {
    /// A user asks something that makes sense, if it has a mind to.
    Ask(usize, usize),
    /// A letter arrives.
    Arrive(usize),
    /// A letter is lost, if its sender or its receiver has crashed since.
    Lose(usize),
    /// A timer fires.
    Fire(usize),
    /// A node is told of a view, mostly of the latest.
    Tell(usize, usize),
    /// A node's lease is renewed, if the service may.
    Renew(usize),
    /// A node's lease runs out, and its stay goes on.
    Freeze(usize),
    /// The service decides a view: without those of the first set, whose leases are over first, and then with those of the
    /// second.
    Commit { out: usize, back: usize },
    /// The service makes its rounds: everyone hears of the latest view and has a lease; and now and then there is a new one
    /// first, without those whose process is gone.
    Rounds { decides: bool },
    /// A process is gone, with all that it knew.
    Crash(usize),
    /// A process begins its next life.
    Restart(usize),
}

/// Enough for a few views, and for every node to come and go in between.
const LENGTH: usize = 250;

/// The gusts of a storm, and over how many nodes.
pub(super) fn of_seed(seed: u64) -> (usize, Vec<Gust>) {
    let mut dice = Dice(seed);
    let nodes = 3 + dice.below(3);
    (nodes, (0..LENGTH).map(|_| gust(&mut dice)).collect())
}

fn gust(dice: &mut Dice) -> Gust {
    let (node, pick) = (dice.below(60), dice.below(64));
    match dice.below(200) {
        0..44 => Gust::Ask(node, pick),
        44..48 => Gust::Rounds { decides: pick % 2 == 0 },
        48..140 => Gust::Arrive(pick),
        140..143 => Gust::Lose(pick),
        143..153 => Gust::Fire(pick),
        153..179 => Gust::Tell(node, pick),
        179..191 => Gust::Renew(node),
        191..193 => Gust::Freeze(node),
        // A random set, mostly of few; whoever is out may come back at once or later.
        193..197 => Gust::Commit { out: pick & dice.below(64), back: dice.below(64) },
        197..198 => Gust::Crash(node),
        _ => Gust::Restart(node),
    }
}

/// Leaves out whatever is not needed for it to sink somebody still.
pub(super) fn smallest(mut gusts: Vec<Gust>, sinks: impl Fn(&[Gust]) -> bool) -> Vec<Gust> {
    let mut length = gusts.len();
    while length > 0 {
        let mut start = 0;
        while start < gusts.len() {
            let mut fewer = gusts.clone();
            fewer.drain(start..(start + length).min(gusts.len()));
            if sinks(&fewer) { gusts = fewer } else { start += length }
        }
        length /= 2;
    }
    gusts
}

/// Chance by a seed, as the same everywhere: `SplitMix64`.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % bound as u64) as usize
    }
}
