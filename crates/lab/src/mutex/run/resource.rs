//! The resource that a lock protects, one that checks fences: what it takes and what it refuses.

use super::{Change, Standing, change};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Fence, NodeId};
use quorate_journal::moment::{Happening, Moment, Taken};

/// A resource that remembers the largest fence it has seen, and takes nothing with a smaller one.
///
/// Whoever is inside uses it when it enters and when it means to leave, and, if it stood still inside, at once when it goes on: it
/// does not know yet for how long it slept.
#[derive(Clone, Debug, Default)]
pub struct Resource {
    holders: Vec<(Standing, Option<Fence>)>,
    largest: Option<Fence>,
    pub accepted: u64,
    pub refused: u64,
}

impl Resource {
    pub fn new(nodes: usize) -> Self {
        Self { holders: vec![(Standing::Outside, None); nodes], ..Self::default() }
    }

    pub fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        match moment {
            Moment::Input { node, input: Taken::Command(Command::Release), .. }
            | Moment::World { what: Happening::Resumed { node }, .. } => self.is_used(*node),
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => {}
        }
        let Some((_, node, change)) = change(moment) else { return };
        let Some((standing, fence)) = self.holders.get_mut(node.index()) else { return };
        *standing = standing.after(change);
        if let Change::Enters { fence: given, .. } = change {
            *fence = Some(given);
            self.is_used(node);
        }
    }

    fn is_used(&mut self, by: NodeId) {
        let Some((Standing::Inside, fence)) = self.holders.get(by.index()) else { return };
        if *fence < self.largest {
            self.refused += 1;
        } else {
            self.accepted += 1;
            self.largest = *fence;
        }
    }
}
