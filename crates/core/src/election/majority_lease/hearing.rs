//! A voter's side: requests, masters, promises and releases.

use super::{MajorityLease, Message, Phase, Promise};
use crate::effects::Effects;
use crate::election::Event;
use crate::group::Epoch;
use crate::node::NodeId;
use crate::time::{Duration, Time};

impl MajorityLease {
    /// What others say. Those who are no members have no say.
    pub(super) fn hear(&mut self, now: Time, from: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        if from == self.place.me || !self.place.group.contains(from) || message.latest() > Epoch::LARGEST {
            return;
        }
        self.heard = self.heard.max(message.latest());
        match message {
            Message::Request { term, asked } => self.consider(now, from, (term, asked), out),
            Message::Vote { term, asked } | Message::Renewed { term, asked } => {
                self.collect(now, from, (term, asked), out);
            }
            Message::Denied { term, asked, latest: _ } => self.miss(now, from, (term, asked), out),
            Message::Leads { term } => {
                self.follow(now, from, term, out);
            }
            Message::Renew { term, asked } => self.promise_anew(now, from, (term, asked), out),
            // That it was heard of is all that matters: the next renewal sees to it.
            Message::Outdated { latest } => out.note("ML-13", format_args!("{from} knows of term {latest}")),
            Message::Release { term, successor } => self.be_released(now, from, (term, successor), out),
        }
    }

    /// ML-2.
    fn consider(&mut self, now: Time, from: NodeId, (term, asked): (Epoch, Time), out: &mut Effects<'_, Self>) {
        if !self.has_a_say(now) {
            return out.note("ML-12", format_args!("is silent: no vote for {from}"));
        }
        if let Some(reason) = self.objection(from, term) {
            out.note("ML-2", format_args!("no vote for {from} in term {term}: {reason}"));
            let latest = self.ledger.term.max(self.heard);
            return out.send(from, Message::Denied { term, asked, latest });
        }
        out.note("ML-2", format_args!("votes for {from} in term {term}"));
        let is_new = term > self.ledger.term;
        if is_new {
            self.record(term, from, out);
            out.emit(Event::Began { epoch: term });
        }
        self.promise(now, from, term);
        if is_new || self.phase == Phase::Waiting {
            self.wait(now, Duration::ZERO, out);
        }
        out.send(from, Message::Vote { term, asked });
    }

    /// ML-2. Why a candidate does not get our vote. One that we have promised something may be elected again.
    fn objection(&self, from: NodeId, term: Epoch) -> Option<&'static str> {
        let is_late = term < self.ledger.term;
        let is_given = term == self.ledger.term && self.ledger.vote != Some(from);
        match self.promise {
            _ if is_late || self.is_through(from, term) => Some("that term is over"),
            _ if is_given => Some("the vote is given"),
            Some(Promise { to, .. }) if to != from => Some("another has our promise"),
            Some(_) | None => None,
        }
    }

    /// Whether the node has said that it is through with this term.
    fn is_through(&self, node: NodeId, term: Epoch) -> bool {
        self.farewell.is_some_and(|(gone, last)| gone == node && term <= last)
    }

    /// ML-4. Whether it is followed now.
    fn follow(&mut self, now: Time, leader: NodeId, term: Epoch, out: &mut Effects<'_, Self>) -> bool {
        if term < self.ledger.term || self.is_through(leader, term) {
            out.note("ML-4", format_args!("does not follow {leader}: term {term} is over"));
            return false;
        }
        match &self.phase {
            Phase::Following { leader: known, term: current, .. } if (*known, *current) == (leader, term) => {}
            Phase::Idle | Phase::Waiting | Phase::Following { .. } | Phase::Standing(_) | Phase::Leading(_) => {
                self.step_aside(now, out);
                if term > self.ledger.term {
                    self.record(term, leader, out);
                }
                out.note("ML-4", format_args!("follows {leader}"));
                out.emit(Event::elected(leader, term));
            }
        }
        self.failures = 0;
        self.turn(Phase::Following { leader, term, until: now + self.place.tenure.lease }, out);
        self.watch(now, out);
        true
    }

    /// ML-4. Who stands gives up for who has won. Who leads can hear of another only if a bound did not hold.
    fn step_aside(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        match self.phase {
            Phase::Standing(_) => self.release(None, out),
            Phase::Leading(_) => self.end_reign(None, now, out),
            Phase::Idle | Phase::Waiting | Phase::Following { .. } => {}
        }
    }

    /// ML-5.
    fn promise_anew(&mut self, now: Time, from: NodeId, (term, asked): (Epoch, Time), out: &mut Effects<'_, Self>) {
        if !self.follow(now, from, term, out) {
            if self.has_a_say(now) && term < self.ledger.term {
                out.send(from, Message::Outdated { latest: self.ledger.term });
            }
            return;
        }
        if !self.has_a_say(now) {
            return out.note("ML-12", format_args!("is silent: it promises {from} nothing"));
        }
        if let Some(Promise { to, .. }) = self.promise.filter(|promise| promise.to != from) {
            return out.note("ML-5", format_args!("promises {from} nothing: {to} has its promise"));
        }
        out.note("ML-5", format_args!("promises {from} another lease"));
        self.promise(now, from, term);
        out.send(from, Message::Renewed { term, asked });
    }

    /// ML-10, ML-11. Others leave the successor the time that it needs.
    fn be_released(
        &mut self,
        now: Time,
        from: NodeId,
        (last, successor): (Epoch, Option<NodeId>),
        out: &mut Effects<'_, Self>,
    ) {
        self.farewell = Some((from, last)).max(self.farewell.filter(|(gone, _)| *gone == from));
        let promise = self.promise.filter(|promise| promise.to == from && promise.term <= last);
        if promise.is_some() {
            out.note("ML-11", format_args!("its promise to {from} is over"));
            self.promise = None;
        }
        match self.phase {
            Phase::Following { leader, term, .. } if leader == from && term <= last => {
                out.note("ML-11", format_args!("{from} leads no longer"));
                out.emit(Event::Ended { epoch: term });
            }
            Phase::Waiting if promise.is_some() => {}
            Phase::Idle | Phase::Waiting | Phase::Following { .. } | Phase::Standing(_) | Phase::Leading(_) => return,
        }
        let is_heir = successor == Some(self.place.me);
        if is_heir && self.promise.is_none() && self.has_a_say(now) {
            self.stand("ML-10", now, out);
        } else {
            let courtesy = if successor.is_some() { self.courtesy() } else { Duration::ZERO };
            self.wait(now, courtesy, out);
        }
    }
}
