//! A candidate's and a master's side: votes, leases, renewals and their end.

use super::{MajorityLease, Message, Phase, Timer};
use crate::effects::Effects;
use crate::election::{Event, Refusal};
use crate::group::Epoch;
use crate::node::NodeId;
use crate::time::{Duration, Span, Time};
use alloc::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Round {
    /// When, on our own clock: a lease is counted from here.
    pub(super) asked: Time,
    pub(super) agreed: BTreeSet<NodeId>,
    pub(super) denied: BTreeSet<NodeId>,
}

impl Round {
    /// One that begins now. Whoever asks agrees with itself.
    pub(super) fn new(now: Time, me: NodeId) -> Self {
        Self { asked: now, agreed: BTreeSet::from([me]), denied: BTreeSet::new() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reign {
    pub(super) term: Epoch,
    /// Up to when it lasts, on our own clock.
    pub(super) until: Time,
    /// The renewal under way, or the last one.
    pub(super) round: Round,
    pub(super) loyal: BTreeSet<NodeId>,
}

impl MajorityLease {
    /// ML-3, ML-6. An answer counts for the round that it names, and for no other.
    pub(super) fn collect(
        &mut self,
        now: Time,
        from: NodeId,
        (term, asked): (Epoch, Time),
        out: &mut Effects<'_, Self>,
    ) {
        let ours = self.ledger.term;
        match &mut self.phase {
            Phase::Standing(round) | Phase::Leading(Reign { round, .. }) if (ours, round.asked) == (term, asked) => {
                round.agreed.insert(from);
                self.count(now, out);
            }
            Phase::Standing(_) | Phase::Leading(_) | Phase::Idle | Phase::Waiting | Phase::Following { .. } => {
                out.note("ML-6", format_args!("does not count what {from} says of an earlier round"));
            }
        }
    }

    /// ML-3 and ML-6.
    pub(super) fn count(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let majority = self.place.group.majority();
        match &self.phase {
            Phase::Standing(round) if round.agreed.len() >= majority => self.win(now, out),
            Phase::Leading(reign) if reign.round.agreed.len() >= majority => {
                if reign.term < self.ledger.term {
                    self.win(now, out);
                } else {
                    self.extend(now, out);
                }
            }
            Phase::Standing(_) | Phase::Leading(_) | Phase::Idle | Phase::Waiting | Phase::Following { .. } => {}
        }
    }

    /// ML-3, ML-13.
    fn win(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let (Phase::Standing(round) | Phase::Leading(Reign { round, .. })) = &self.phase else { return };
        let (round, term) = (round.clone(), self.ledger.term);
        let until = round.asked + self.place.tenure.trusted();
        out.note("ML-3", format_args!("{} voted in term {term}; leads until {until} of its clock", round.agreed.len()));
        self.failures = 0;
        self.turn(Phase::Leading(Reign { term, until, round, loyal: BTreeSet::new() }), out);
        out.emit(Event::Elected { leader: self.place.me, epoch: term, until });
        out.multicast(&self.place.group, Message::Leads { term });
        out.set_timer(Timer::Renew, Span::exactly(self.beat()));
        self.watch(now, out);
    }

    /// ML-6.
    fn extend(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let trusted = self.place.tenure.trusted();
        let Phase::Leading(reign) = &mut self.phase else { return };
        let until = reign.round.asked + trusted;
        if until <= reign.until {
            return;
        }
        reign.until = until;
        out.note("ML-6", format_args!("{} promised anew", reign.round.agreed.len()));
        out.emit(Event::Extended { until });
        self.watch(now, out);
    }

    /// ML-5. Its own promise is renewed with those of the others.
    pub(super) fn renew(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let (me, raised) = (self.place.me, self.next_term());
        let Phase::Leading(reign) = &mut self.phase else { return };
        let before = core::mem::replace(&mut reign.round, Round::new(now, me));
        reign.loyal = before.agreed;
        let led = reign.term;
        if self.heard > self.ledger.term {
            self.record(raised, me, out);
        }
        let term = self.ledger.term;
        self.promise(now, me, term);
        out.set_timer(Timer::Renew, Span::exactly(self.beat()));
        if led < term {
            self.rise(term, now, out);
        } else {
            out.note("ML-5", format_args!("asks for another lease"));
            out.multicast(&self.place.group, Message::Renew { term, asked: now });
        }
        self.count(now, out);
    }

    /// ML-13. Whoever knows a later term can follow us in a later one only. All who have promised us something may vote for us again, so
    /// nobody else comes between.
    fn rise(&self, term: Epoch, now: Time, out: &mut Effects<'_, Self>) {
        out.note("ML-13", format_args!("there was a later term; stands in term {term} and leads on"));
        out.multicast(&self.place.group, Message::Request { term, asked: now });
    }

    /// ML-9. As soon as too many have said no, the rest need not be waited for. A master waits for its next renewal.
    pub(super) fn miss(&mut self, now: Time, from: NodeId, (term, asked): (Epoch, Time), out: &mut Effects<'_, Self>) {
        let ours = self.ledger.term;
        let Phase::Standing(round) = &mut self.phase else { return };
        if (ours, round.asked) != (term, asked) {
            return;
        }
        round.denied.insert(from);
        if self.place.group.len() - round.denied.len() < self.place.group.majority() {
            self.withdraw(now, out);
        }
    }

    /// ML-10.
    pub(super) fn resign(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let Phase::Leading(Reign { round, loyal, .. }) = &self.phase else {
            return out.emit(Event::Refused(Refusal::NotLeading));
        };
        let others = loyal.union(&round.agreed).copied().filter(|node| *node != self.place.me);
        let successor = self.place.ranking.best(others);
        match successor {
            Some(successor) => out.note("ML-10", format_args!("resigns in favour of {successor}")),
            None => out.note("ML-10", format_args!("resigns, and knows nobody to follow it")),
        }
        self.end_reign(successor, now, out);
    }

    /// ML-7, ML-10. It has stopped before anybody hears that it may be replaced.
    pub(super) fn end_reign(&mut self, successor: Option<NodeId>, now: Time, out: &mut Effects<'_, Self>) {
        let Phase::Leading(Reign { term, .. }) = self.phase else { return };
        out.emit(Event::Ended { epoch: term });
        self.release(successor, out);
        // Whoever resigns does not come back before all others have had their chance, even if its release is lost.
        let courtesy = if successor.is_some() { self.place.tenure.lease + self.courtesy() } else { Duration::ZERO };
        self.wait(now, courtesy, out);
    }
}
