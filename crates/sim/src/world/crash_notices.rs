//! Crash notices: nodes learn that the process of another node has crashed or restarted.
//!
//! They model a kernel that refuses connections to a port on which no process listens, and accepts
//! them again once a process does.

use super::{PendingEvent, World};
use quorate_core::{Incarnation, Input, NodeId, WriteOf};
use quorate_journal::Recordable;
use quorate_journal::moment::{ObservedInput, Observer};
use quorate_journal::replay_nodes::Condition;
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::Latency;
use serde::Serialize;

/// A notice to one node about the process of another.
pub(super) struct CrashNotice {
    /// The node that receives the notice.
    pub(super) receiver: NodeId,
    /// The node that the notice is about.
    subject: NodeId,
    /// The incarnation of the subject that is gone or has started.
    incarnation: Incarnation,
    is_gone: bool,
}

impl<P, O> World<P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    /// Enables crash notices with this delay: nodes suspect a crashed process and trust it again
    /// after its restart. Must be called before [`start`](Self::start).
    pub fn enable_crash_notices(&mut self, delay: Latency) {
        self.crash_notice_delay = Some(delay);
    }

    /// Notifies all other nodes that the process of `subject` is gone or has restarted. A restarted
    /// node also receives notices about the nodes that are down. Between two nodes that are cut off
    /// from each other, in either direction, no notice is sent. Crashes before the start of the
    /// world cause no notices.
    pub(super) fn send_crash_notices(&mut self, subject: NodeId, is_gone: bool) {
        let Some(delay) = self.crash_notice_delay.filter(|_| self.is_started) else { return };
        let Some(incarnation) = self.slots.get(subject.index()).map(|slot| slot.host.incarnation()) else { return };
        let others: Vec<_> = (0..self.slots.len()).map(NodeId::from_index).filter(|node| *node != subject).collect();
        for node in &others {
            self.send_crash_notice(CrashNotice { receiver: *node, subject, incarnation, is_gone }, delay);
        }
        if !is_gone {
            // A restarted node connects to all others, and the connections to crashed nodes are
            // refused.
            for other in others {
                let Some(host) = self.slots.get(other.index()).map(|slot| &slot.host) else { continue };
                let (incarnation, is_down) = (host.incarnation(), host.condition == Condition::Down);
                if is_down {
                    let notice = CrashNotice { receiver: subject, subject: other, incarnation, is_gone: true };
                    self.send_crash_notice(notice, delay);
                }
            }
        }
    }

    fn send_crash_notice(&mut self, notice: CrashNotice, delay: Latency) {
        let network = &self.environment.network;
        if !network.is_cut(notice.subject, notice.receiver) && !network.is_cut(notice.receiver, notice.subject) {
            // 20 bits for each node, and the lower bits of the incarnation.
            let incarnation = (notice.incarnation.0 << 1 | u64::from(notice.is_gone)) & 0xFFFF;
            let [subject, receiver] = [notice.subject, notice.receiver].map(|node| node.index() as u64 & 0xF_FFFF);
            let key = incarnation << 40 | subject << 20 | receiver;
            let mut rng = SeededRng::of_event(self.environment.seed, Stream::CrashNotices, key);
            let at = self.environment.time + rng.draw_latency(delay);
            self.environment.push(at, PendingEvent::CrashNotice(notice));
        }
    }

    /// Gives a node a crash notice as suspicion or trust.
    ///
    /// Drops a notice that arrives after the subject's next incarnation has started: between real
    /// processes, a refused connection is reported before the next incarnation can send messages,
    /// and later connections succeed.
    pub(super) fn receive_crash_notice(&mut self, notice: &CrashNotice) {
        let CrashNotice { receiver: node, subject, incarnation, is_gone } = *notice;
        let current_incarnation = self.slots.get(subject.index()).map(|slot| slot.host.incarnation());
        if current_incarnation != Some(incarnation) {
            return;
        }
        if is_gone {
            self.observe_input(node, ObservedInput::Suspect(subject));
            self.step(node, Input::Suspect(subject));
        } else {
            self.observe_input(node, ObservedInput::Trust(subject));
            self.step(node, Input::Trust(subject));
        }
    }
}
