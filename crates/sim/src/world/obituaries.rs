//! Word of processes that are gone, where nodes want it: a kernel refuses connections where a process listened, and accepts them again.

use super::{Pending, Simulated, World};
use crate::moment::{Observer, Taken};
use quorate_core::{Input, NodeId, WriteOf};
use serde::Serialize;

/// What one node hears of another.
pub(super) struct Obituary {
    pub(super) node: NodeId,
    of: NodeId,
    is_gone: bool,
}

impl<P, O> World<P, O>
where
    P: Simulated,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    /// Lets nodes hear that the process of another is gone, or back. To be called before the start.
    pub fn tell_deaths(&mut self) {
        self.tells_deaths = true;
    }

    /// A process is gone or back. Whoever is cut off from its machine hears nothing: silence is not told.
    pub(super) fn pass_the_word(&mut self, of: NodeId, is_gone: bool) {
        if !self.tells_deaths || !self.started {
            return;
        }
        let (latency, _) = self.around.network.usual();
        for node in (0..self.slots.len()).map(NodeId::from_index).filter(|node| *node != of) {
            let network = &self.around.network;
            if !network.is_cut(of, node) && !network.is_cut(node, of) {
                let at = self.around.time + self.around.node_dice.length(latency);
                self.around.push(at, Pending::Obituary(Obituary { node, of, is_gone }));
            }
        }
    }

    pub(super) fn hear_obituary(&mut self, obituary: &Obituary) {
        let Obituary { node, of, is_gone } = *obituary;
        if is_gone {
            self.tell(node, Taken::Suspect(of));
            self.step(node, Input::Suspect(of));
        } else {
            self.tell(node, Taken::Trust(of));
            self.step(node, Input::Trust(of));
        }
    }
}
