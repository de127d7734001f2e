//! The side of a candidate and a leader: votes, leases, renewals and their end.

use super::{MajorityLease, Message, Phase, Timer};
use crate::effects::Effects;
use crate::election::{Event, Refusal};
use crate::group::Epoch;
use crate::node::NodeId;
use crate::time::{Duration, Span, Time};
use alloc::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Round {
    /// The instant of the request on this node's clock; the lease is counted from here.
    pub(super) asked: Time,
    pub(super) agreed: BTreeSet<NodeId>,
    pub(super) denied: BTreeSet<NodeId>,
}

impl Round {
    /// Starts a round now. The requester agrees with itself.
    pub(super) fn new(now: Time, me: NodeId) -> Self {
        Self { asked: now, agreed: BTreeSet::from([me]), denied: BTreeSet::new() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leadership {
    pub(super) term: Epoch,
    /// End of the lease on this node's clock.
    pub(super) until: Time,
    /// The renewal in progress, or the last one.
    pub(super) round: Round,
    pub(super) supporters: BTreeSet<NodeId>,
}

impl MajorityLease {
    /// ML-3, ML-6. An answer counts only for the round that it names.
    pub(super) fn collect(
        &mut self,
        now: Time,
        from: NodeId,
        (term, asked): (Epoch, Time),
        out: &mut Effects<'_, Self>,
    ) {
        let ours = self.record.term;
        match &mut self.phase {
            Phase::Campaigning(round) | Phase::Leading(Leadership { round, .. })
                if (ours, round.asked) == (term, asked) =>
            {
                round.agreed.insert(from);
                self.count(now, out);
            }
            Phase::Campaigning(_) | Phase::Leading(_) | Phase::Idle | Phase::Waiting | Phase::Following { .. } => {
                out.note("ML-6", format_args!("ignores the answer of {from} to an earlier round"));
            }
        }
    }

    /// ML-3 and ML-6.
    pub(super) fn count(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let majority = self.config.group.majority();
        match &self.phase {
            Phase::Campaigning(round) if round.agreed.len() >= majority => self.win(now, out),
            Phase::Leading(leadership) if leadership.round.agreed.len() >= majority => {
                if leadership.term < self.record.term {
                    self.win(now, out);
                } else {
                    self.extend(now, out);
                }
            }
            Phase::Campaigning(_) | Phase::Leading(_) | Phase::Idle | Phase::Waiting | Phase::Following { .. } => {}
        }
    }

    /// ML-3, ML-13.
    fn win(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let (Phase::Campaigning(round) | Phase::Leading(Leadership { round, .. })) = &self.phase else { return };
        let (round, term) = (round.clone(), self.record.term);
        let until = round.asked + self.config.tenure.trusted();
        out.note(
            "ML-3",
            format_args!("{} nodes voted in term {term}; leads until {until} of its clock", round.agreed.len()),
        );
        self.failures = 0;
        self.change_phase(Phase::Leading(Leadership { term, until, round, supporters: BTreeSet::new() }), out);
        out.emit(Event::Elected { leader: self.config.me, epoch: term, until });
        out.multicast(&self.config.group, Message::Leads { term });
        out.set_timer(Timer::Renew, Span::exactly(self.renewal_interval()));
        self.watch(now, out);
    }

    /// ML-6.
    fn extend(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let trusted = self.config.tenure.trusted();
        let Phase::Leading(leadership) = &mut self.phase else { return };
        let until = leadership.round.asked + trusted;
        if until <= leadership.until {
            return;
        }
        leadership.until = until;
        out.note("ML-6", format_args!("{} nodes renewed their promises", leadership.round.agreed.len()));
        out.emit(Event::Extended { until });
        self.watch(now, out);
    }

    /// ML-5. The leader renews its own promise with those of the other nodes.
    pub(super) fn renew(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let (me, raised) = (self.config.me, self.next_term());
        let Phase::Leading(leadership) = &mut self.phase else { return };
        let before = core::mem::replace(&mut leadership.round, Round::new(now, me));
        leadership.supporters = before.agreed;
        let led = leadership.term;
        if self.latest_heard > self.record.term {
            self.save_vote(raised, me, out);
        }
        let term = self.record.term;
        self.promise(now, me, term);
        out.set_timer(Timer::Renew, Span::exactly(self.renewal_interval()));
        if led < term {
            self.raise_term(term, now, out);
        } else {
            out.note("ML-5", format_args!("asks all nodes to renew its lease"));
            out.multicast(&self.config.group, Message::Renew { term, asked: now });
        }
        self.count(now, out);
    }

    /// ML-13. A node that knows a later term follows this leader only in a later term still. All
    /// voters with a promise to this leader may vote for it again, so no other node can win in
    /// between.
    fn raise_term(&self, term: Epoch, now: Time, out: &mut Effects<'_, Self>) {
        out.note("ML-13", format_args!("there was a later term: campaigns in term {term} and keeps leading"));
        out.multicast(&self.config.group, Message::Request { term, asked: now });
    }

    /// ML-9. Once too many nodes have denied their votes, the candidate stops waiting for the rest.
    /// A leader waits for its next renewal.
    pub(super) fn receive_denial(
        &mut self,
        now: Time,
        from: NodeId,
        (term, asked): (Epoch, Time),
        out: &mut Effects<'_, Self>,
    ) {
        let ours = self.record.term;
        let Phase::Campaigning(round) = &mut self.phase else { return };
        if (ours, round.asked) != (term, asked) {
            return;
        }
        round.denied.insert(from);
        if self.config.group.len() - round.denied.len() < self.config.group.majority() {
            self.withdraw(now, out);
        }
    }

    /// ML-10.
    pub(super) fn resign(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let Phase::Leading(Leadership { round, supporters, .. }) = &self.phase else {
            return out.emit(Event::Refused(Refusal::NotLeading));
        };
        let others = supporters.union(&round.agreed).copied().filter(|node| *node != self.config.me);
        let successor = self.config.ranking.best(others);
        match successor {
            Some(successor) => out.note("ML-10", format_args!("resigns in favour of {successor}")),
            None => out.note("ML-10", format_args!("resigns without a successor")),
        }
        self.stop_leading(successor, now, out);
    }

    /// ML-7, ML-10. The node stops leading before any other node learns that it may be replaced.
    pub(super) fn stop_leading(&mut self, successor: Option<NodeId>, now: Time, out: &mut Effects<'_, Self>) {
        let Phase::Leading(Leadership { term, .. }) = self.phase else { return };
        out.emit(Event::Ended { epoch: term });
        self.release(successor, out);
        // A leader that resigned does not campaign before all other nodes could, even if its
        // release is lost.
        let extra = if successor.is_some() { self.config.tenure.lease + self.handover_delay() } else { Duration::ZERO };
        self.wait(now, extra, out);
    }
}
