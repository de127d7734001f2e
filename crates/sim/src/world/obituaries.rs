//! Word of processes that are gone, where nodes want it: a kernel refuses connections where a process listened, and accepts them again.

use super::{Pending, World};
use quorate_core::{Incarnation, Input, NodeId, WriteOf};
use quorate_journal::Recordable;
use quorate_journal::moment::{Observer, Taken};
use quorate_journal::puppets::Condition;
use quorate_journal::settings::Latency;
use serde::Serialize;

/// What one node hears of another.
pub(super) struct Obituary {
    pub(super) node: NodeId,
    of: NodeId,
    /// Which life of it is gone or back.
    life: Incarnation,
    is_gone: bool,
}

impl<P, O> World<P, O>
where
    P: Recordable,
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
        let Some(life) = self.slots.get(of.index()).map(|slot| slot.host.incarnation()) else { return };
        let others: Vec<_> = (0..self.slots.len()).map(NodeId::from_index).filter(|node| *node != of).collect();
        for node in &others {
            self.send_word(Obituary { node: *node, of, life, is_gone }, latency);
        }
        if !is_gone {
            // Whoever comes back dials everyone, and is refused where nobody listens.
            for other in others {
                let Some(host) = self.slots.get(other.index()).map(|slot| &slot.host) else { continue };
                let (life, is_down) = (host.incarnation(), host.condition == Condition::Down);
                if is_down {
                    self.send_word(Obituary { node: of, of: other, life, is_gone: true }, latency);
                }
            }
        }
    }

    fn send_word(&mut self, obituary: Obituary, latency: Latency) {
        let network = &self.around.network;
        if !network.is_cut(obituary.of, obituary.node) && !network.is_cut(obituary.node, obituary.of) {
            let at = self.around.time + self.around.node_dice.length(latency);
            self.around.push(at, Pending::Obituary(obituary));
        }
    }

    /// What is refused is a dial, and between real processes a life that is gone is told before its successor can speak. So word that
    /// comes so late that the next life has begun is no word any more: whoever dials by then is answered.
    pub(super) fn hear_obituary(&mut self, obituary: &Obituary) {
        let Obituary { node, of, life, is_gone } = *obituary;
        let present = self.slots.get(of.index()).map(|slot| slot.host.incarnation());
        if present != Some(life) {
            return;
        }
        if is_gone {
            self.tell(node, Taken::Suspect(of));
            self.step(node, Input::Suspect(of));
        } else {
            self.tell(node, Taken::Trust(of));
            self.step(node, Input::Trust(of));
        }
    }
}
