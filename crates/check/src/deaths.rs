//! Word of processes that are gone, and of those that are back: what a perfect failure detector tells.
//!
//! When a node goes down, word of it is on its way to every other node that is up, and arrives at any later moment; the same when it comes
//! back. Word about a life that is over is void: when a node restarts, nobody hears any more that it was gone, and when it goes
//! down again, nobody hears that it was back. What was on its way to a node that goes down never arrives; a node that
//! restarts hears of those that are down then.

use crate::system::{LOCALS, System};
use crate::tables::{MoveKind, Obituary};
use quorate_core::NodeId;

/// Who is told when a node goes down, and when it is back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deaths {
    #[default]
    Untold,
    /// The other nodes' users: they notice sooner or later that somebody answers nobody.
    ToUsers,
    /// The other nodes, by their failure detector, and their users.
    ToNodes,
}

impl Deaths {
    pub(crate) fn are_told(self) -> bool {
        self != Self::Untold
    }
}

/// Links beyond all that messages and views come by.
const FIRST: usize = 128;

/// Whose link it is that word of a node comes by: one of its own.
pub(crate) fn crier(of: NodeId) -> NodeId {
    NodeId::from_index(FIRST + of.index())
}

/// Whom it is about that comes by this link, if it is word of a node.
fn subject(link: u8) -> Option<usize> {
    usize::from(link).checked_sub(FIRST)
}

impl System {
    /// Whether others are told of a move, so that the state changes in more places than one.
    #[inline]
    pub(crate) fn is_told_of(&self, kind: MoveKind) -> bool {
        self.deaths.are_told() && matches!(kind, MoveKind::Crash | MoveKind::Restart)
    }

    /// A node has made a move: if others are told of it, word is on its way to them from now on.
    pub(crate) fn pass_the_word(&self, kind: MoveKind, node: usize, out: &mut Vec<u32>, start: usize) {
        if !self.is_told_of(kind) {
            return;
        }
        let is_gone = kind == MoveKind::Crash;
        self.take_back(node, is_gone, out, start);
        for other in (0..self.nodes).filter(|other| *other != node) {
            let Obituary { gone, back } = self.obituary(node, other);
            let is_up = self.tables.locals[out[start + LOCALS + other] as usize].up;
            match (is_gone, is_up) {
                (true, true) => self.send(gone, out, start),
                (false, true) => self.send(back, out, start),
                (false, false) => self.send(self.obituary(other, node).gone, out, start),
                (true, false) => {}
            }
        }
    }

    /// What is void since a node has gone down, or is back.
    fn take_back(&self, node: usize, is_gone: bool, out: &mut Vec<u32>, start: usize) {
        let body = start + self.body(&out[start..]);
        let is_void = |word: u32| {
            let (from, to) = self.link(word);
            let Some(of) = subject(from) else { return false };
            let Obituary { gone, back } = self.obituary(of, to.into());
            let stale = if is_gone { back } else { gone };
            (of == node && word == stale) || (is_gone && usize::from(to) == node)
        };
        let mut kept = body;
        for place in body..out.len() {
            if !is_void(out[place]) {
                out[kept] = out[place];
                kept += 1;
            }
        }
        out.truncate(kept);
    }

    fn obituary(&self, of: usize, to: usize) -> Obituary {
        self.tables.obituaries[of * self.nodes + to]
    }
}
