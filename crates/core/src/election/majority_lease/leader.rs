//! The part of a node that wins an election and leads: answers to its requests, leases, renewals
//! and resignation. The header of `majority_lease.rs` lists the rules ML-1 to ML-13.

use super::{MajorityLease, Message, Phase, Timer};
use crate::effects::Effects;
use crate::election::{Event, Refusal};
use crate::group::Epoch;
use crate::node::NodeId;
use crate::time::{Duration, Span, Time};
use alloc::collections::BTreeSet;

/// One request to all nodes, for votes or for a renewal, and the answers to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Round {
    /// The instant of the request on this node's clock; the lease is counted from here.
    pub(super) requested_at: Time,
    pub(super) agreed_nodes: BTreeSet<NodeId>,
    pub(super) denied_nodes: BTreeSet<NodeId>,
}

impl Round {
    /// Starts a round now. The requester agrees with itself.
    pub(super) fn new(now: Time, me: NodeId) -> Self {
        Self { requested_at: now, agreed_nodes: BTreeSet::from([me]), denied_nodes: BTreeSet::new() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leadership {
    pub(super) term: Epoch,
    /// End of the lease on this node's clock.
    pub(super) until: Time,
    /// The latest round: the election, or a renewal.
    pub(super) round: Round,
    /// Nodes that agreed in the previous round; empty if the latest round won the term.
    pub(super) supporters: BTreeSet<NodeId>,
}

impl MajorityLease {
    /// ML-3, ML-6. An answer counts only for the round that it names.
    pub(super) fn receive_agreement(
        &mut self,
        now: Time,
        from: NodeId,
        (term, requested_at): (Epoch, Time),
        out: &mut Effects<'_, Self>,
    ) {
        let own_term = self.vote_record.term;
        match &mut self.phase {
            Phase::Campaigning(round) | Phase::Leading(Leadership { round, .. })
                if (own_term, round.requested_at) == (term, requested_at) =>
            {
                round.agreed_nodes.insert(from);
                self.act_on_majority(now, out);
            }
            Phase::Campaigning(_) | Phase::Leading(_) | Phase::Idle | Phase::Waiting | Phase::Following { .. } => {
                out.note("ML-6", format_args!("ignores the answer of {from} to an earlier round"));
            }
        }
    }

    /// ML-3, ML-6 and ML-13. If a majority has agreed in the current round, leads in its term; if
    /// it leads in that term already, extends the lease.
    pub(super) fn act_on_majority(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let majority = self.config.group.majority();
        match &self.phase {
            Phase::Campaigning(round) if round.agreed_nodes.len() >= majority => self.win(now, out),
            Phase::Leading(leadership) if leadership.round.agreed_nodes.len() >= majority => {
                if leadership.term < self.vote_record.term {
                    self.win(now, out);
                } else {
                    self.extend_lease(now, out);
                }
            }
            Phase::Campaigning(_) | Phase::Leading(_) | Phase::Idle | Phase::Waiting | Phase::Following { .. } => {}
        }
    }

    /// ML-3, ML-13. Leads in the term of the current round, as a new leader or in a raised term.
    fn win(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let (Phase::Campaigning(round) | Phase::Leading(Leadership { round, .. })) = &self.phase else { return };
        let (round, term) = (round.clone(), self.vote_record.term);
        let until = round.requested_at + self.config.lease_settings.trusted_duration();
        out.note(
            "ML-3",
            format_args!(
                "has the votes of {} nodes in term {term}; leads until {until} of its clock",
                round.agreed_nodes.len()
            ),
        );
        self.failed_campaigns = 0;
        self.change_phase(Phase::Leading(Leadership { term, until, round, supporters: BTreeSet::new() }), out);
        out.emit(Event::Elected { leader: self.config.me, epoch: term, until });
        out.multicast(&self.config.group, Message::Leads { term });
        out.set_timer(Timer::Renew, Span::exactly(self.renewal_interval()));
        self.set_lapse_timer(now, out);
    }

    /// ML-6. Extends the lease, counted from the request of the current round. Does nothing if this
    /// round has extended it already.
    fn extend_lease(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let trusted = self.config.lease_settings.trusted_duration();
        let Phase::Leading(leadership) = &mut self.phase else { return };
        let until = leadership.round.requested_at + trusted;
        if until <= leadership.until {
            return;
        }
        leadership.until = until;
        out.note("ML-6", format_args!("has renewed promises of {} nodes", leadership.round.agreed_nodes.len()));
        out.emit(Event::Extended { until });
        self.set_lapse_timer(now, out);
    }

    /// ML-5. Starts the next round, in which the leader renews its own promise too. Raises the term
    /// if a later one has become known (ML-13).
    pub(super) fn renew_lease(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let (me, raised_term) = (self.config.me, self.next_term());
        let Phase::Leading(leadership) = &mut self.phase else { return };
        let previous = core::mem::replace(&mut leadership.round, Round::new(now, me));
        leadership.supporters = previous.agreed_nodes;
        let led_term = leadership.term;
        if self.latest_heard_term > self.vote_record.term {
            self.save_vote(raised_term, me, out);
        }
        let term = self.vote_record.term;
        self.promise(now, me, term);
        out.set_timer(Timer::Renew, Span::exactly(self.renewal_interval()));
        if led_term < term {
            self.request_raised_term(term, now, out);
        } else {
            out.note("ML-5", format_args!("asks all nodes to renew its lease"));
            out.multicast(&self.config.group, Message::Renew { term, requested_at: now });
        }
        self.act_on_majority(now, out);
    }

    /// ML-13. Asks for votes in a raised term: a node that knows a later term follows this leader
    /// only in an even later one. Voters with a promise to this leader may vote for it again, but
    /// for no other node, so none can win in between.
    fn request_raised_term(&self, term: Epoch, now: Time, out: &mut Effects<'_, Self>) {
        out.note("ML-13", format_args!("there was a later term: campaigns in term {term} and keeps leading"));
        out.multicast(&self.config.group, Message::Request { term, requested_at: now });
    }

    /// ML-9. Once too many nodes have denied their votes, the candidate withdraws without waiting
    /// for the rest. A leader ignores denials: if they named a later term, its next renewal raises
    /// the term (ML-13).
    pub(super) fn receive_denial(
        &mut self,
        now: Time,
        from: NodeId,
        (term, requested_at): (Epoch, Time),
        out: &mut Effects<'_, Self>,
    ) {
        let own_term = self.vote_record.term;
        let Phase::Campaigning(round) = &mut self.phase else { return };
        if (own_term, round.requested_at) != (term, requested_at) {
            return;
        }
        round.denied_nodes.insert(from);
        if self.config.group.len() - round.denied_nodes.len() < self.config.group.majority() {
            self.withdraw(now, out);
        }
    }

    /// ML-10. The successor is the highest-ranking other node that agreed in the current or the
    /// previous round, if any did.
    pub(super) fn resign(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let Phase::Leading(Leadership { round, supporters, .. }) = &self.phase else {
            return out.emit(Event::Refused(Refusal::NotLeading));
        };
        let others = supporters.union(&round.agreed_nodes).copied().filter(|node| *node != self.config.me);
        let successor = self.config.ranking.best(others);
        match successor {
            Some(successor) => out.note("ML-10", format_args!("resigns in favour of {successor}")),
            None => out.note("ML-10", format_args!("resigns without a successor")),
        }
        self.stop_leading(successor, now, out);
    }

    /// ML-4, ML-7, ML-10. The node stops leading before its release lets other nodes elect another
    /// leader.
    pub(super) fn stop_leading(&mut self, successor: Option<NodeId>, now: Time, out: &mut Effects<'_, Self>) {
        let Phase::Leading(Leadership { term, .. }) = self.phase else { return };
        out.emit(Event::Ended { epoch: term });
        self.release_voters(successor, out);
        // A leader that named a successor does not campaign before all other nodes could, even if
        // its release is lost.
        let extra_delay =
            if successor.is_some() { self.config.lease_settings.lease + self.handover_delay() } else { Duration::ZERO };
        self.wait_to_campaign(now, extra_delay, out);
    }
}
