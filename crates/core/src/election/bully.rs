//! The bully algorithm (Garcia-Molina 1982).
//!
//! Everyone knows everyone's rank, and how long an answer can take at most. Whoever misses the leader asks all who rank higher; if none of
//! them shows life in time they are dead, and it has won. If one does, that one takes over and does the same. So the highest of those who
//! live bullies its way to the top, and one that comes back from a crash takes the lead away from a lower one.
//!
//! ```text
//! BU-1   asked to campaign, or the leader is
//!        suspected                          → begin a run: ask every higher node, the suspect included; but if the suspect is the only
//!                                             higher one, declare at once, or as soon as its last words must have come
//! BU-2   a lower node asks                  → answer, and begin a run that asks, unless one is under way or the asker has only not heard
//!                                             of the result yet
//! BU-3   no higher node shows life in time  → declare: take the next epoch, save it, and tell every lower node
//! BU-4   a higher one does                  → wait for its result, and begin again if it does not come
//! BU-5   a higher node has declared         → follow it
//! BU-6   a lower node has declared          → begin a run: it does not know that a higher one lives
//! BU-7   what is declared is old            → tell the epoch to whoever declared, which begins again if it still leads
//! BU-8   a node that is suspected declares  → these are its last words: begin a run
//! BU-9   a node boots again                 → say hello to all; when all has arrived that others sent before they heard it, ask everyone
//!                                             for the largest epoch they know; when the answers are in, begin a run
//! BU-10  a higher node says it has begun    → forget the leader, and wait for the result (it says so with `--tell-lower` only)
//! ```
//!
//! Cost: with n nodes of which the highest is dead: n−2 messages and one message time if the next highest notices that, n²−n−1 if the
//! lowest does (n(n−1)/2 that ask, (n−1)(n−2)/2 that answer, n−2 that tell). With all n alive: n−1 and n²−1. A run in which all answer
//! takes 4T. What a node says when it is back counts as control: 3(n−1) messages.
//!
//! Assumes: messages take no longer than T, whatever the order in which they arrive, none is lost, and a node is never behind by more than
//! a few inputs from each of the others; a save takes no longer than a message; disks keep what they confirmed. More than half of the
//! group stays up throughout any span of three message times, so that somebody remembers every epoch. Who is suspected is down at
//! that time, and is trusted again when it is back.
//!
//! When it fails: a message that takes longer than T lets a lower node win while a higher one lives, and two may be elected in one epoch.
//! So may a group of which half was down at once, because nobody is left who knows which epochs were used. A node that is suspected for
//! ever although it lives is never followed, and runs do not end.
//!
//! Departs from the paper: results have epochs. A winner takes 1 + the largest that it has heard of, and every message carries the
//! largest that its sender knows. A node that was down may have missed some, so it asks before it runs (BU-9). It asks late enough: a lower
//! node that does not know that it is back declares no later than T after its return, so that all whom that one told know it after 2T,
//! and one more for the disk. Those who were up then and those who answer share a node, since both are more than half. A suspect's last
//! words may be a result, so nobody declares before they must have come (BU-1), and nobody follows them (BU-8). The paper's nodes stop
//! working while they elect; these are told that there is no leader.

mod facts;
mod message;
#[cfg(test)]
mod tests;

pub use facts::FACTS;
pub use message::{Heard, Message, Timer, Word};

use super::{Command, Courtesy, Event, Plan, Refusal};
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::group::{Epoch, Group};
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Input, Protocol};
use crate::time::{Duration, Span, Time};
use alloc::collections::BTreeMap;
use alloc::sync::Arc;

/// One node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bully {
    place: Fixed<Place>,
    phase: Phase,
    /// The largest epoch heard of, whether or not its result is known.
    heard: Epoch,
    /// The largest epoch of a run that this node told its user of, in this life.
    begun: Epoch,
    /// The epoch of the last result that this node told its user; after a boot no smaller than that.
    result: Epoch,
    /// Those who are taken for dead, each with the instant from which nothing of it can be under way any more. Nothing is of those who
    /// were down from the start.
    suspects: BTreeMap<NodeId, Option<Time>>,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    group: Group,
    higher: Group,
    lower: Group,
    courtesy: Courtesy,
    absent: Group,
    /// The longest that a message can take, until the node that it reaches is through with it.
    hop: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Nothing. It knows the leader if it has heard of one.
    Rest { leader: Option<NodeId> },
    /// It has asked all who rank higher, and none of them has shown life yet.
    Asking,
    /// A higher one lives, and is to declare.
    Waiting,
    /// It is back, and lets arrive what was sent by those who did not know.
    Returning,
    /// It is back, and has asked everyone for the largest epoch.
    Inquiring,
}

impl Phase {
    const fn timer(self) -> Option<Timer> {
        match self {
            Self::Rest { .. } => None,
            Self::Asking => Some(Timer::Answers),
            Self::Waiting => Some(Timer::Result),
            Self::Returning => Some(Timer::Quiet),
            Self::Inquiring => Some(Timer::Reports),
        }
    }
}

/// In hops: a question and its answer.
const ANSWER: u64 = 2;
/// In hops: two until what others sent has arrived who did not know that a node is back, and one for their disks.
const QUIET: u64 = 3;
/// In hops, from an answer: whoever gave it may be just back, and then asks in its turn before it declares.
const RESULT: u64 = QUIET + 2 * ANSWER + 3;
/// How many inputs of each other node may be before one in a node's queue.
const BACKLOG: u64 = 4;

impl Protocol for Bully {
    type Command = Command;
    type Message = Message;
    type Timer = Timer;
    type Event = Event;
    type Durable = Heard;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable: Heard(epoch), incarnation } => self.boot(epoch, incarnation, out),
            Input::Command(Command::Campaign) => self.campaign(now, out),
            Input::Command(Command::Resign) => self.resign(out),
            Input::Message { from, message } => self.hear(from, message, out),
            Input::Timer(Timer::Answers) => self.declare(out),
            Input::Timer(Timer::Result) => self.miss_result(out),
            Input::Timer(Timer::Quiet) => self.inquire(out),
            Input::Timer(Timer::Reports) => self.return_to_run(out),
            Input::Suspect(node) => self.suspect(node, now, out),
            Input::Trust(node) => self.welcome(node, out),
            Input::Saved(_) | Input::DiskFull | Input::DiskFree | Input::View(_) | Input::Lease(_) => {}
        }
    }
}

impl Bully {
    /// One node of a group that is told this.
    pub fn new(me: NodeId, plan: impl Into<Arc<Plan>>) -> Self {
        let plan: Arc<Plan> = plan.into();
        let rank = plan.ranking.of(me);
        let others = || plan.group.others(me);
        let place = Place {
            me,
            group: plan.group.clone(),
            higher: others().filter(|node| plan.ranking.of(*node) > rank).collect(),
            lower: others().filter(|node| plan.ranking.of(*node) < rank).collect(),
            courtesy: plan.courtesy,
            absent: plan.absent.clone(),
            hop: plan.bounds.message + plan.bounds.processing.times(BACKLOG * plan.group.len() as u64),
        };
        Self {
            place: Fixed::new(place),
            phase: Phase::Rest { leader: None },
            heard: Epoch::default(),
            begun: Epoch::default(),
            result: Epoch::default(),
            suspects: BTreeMap::new(),
        }
    }

    fn boot(&mut self, epoch: Epoch, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        (self.heard, self.result) = (epoch, epoch);
        if incarnation == Incarnation::FIRST {
            self.suspects = self.place.absent.others(self.place.me).map(|node| (node, None)).collect();
        } else {
            self.return_from_the_dead(out);
        }
    }

    fn campaign(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        match self.phase {
            Phase::Rest { .. } => self.begin_by_itself(now, out),
            Phase::Asking | Phase::Waiting | Phase::Returning | Phase::Inquiring => {
                out.emit(Event::Refused(Refusal::AlreadyRunning));
            }
        }
    }

    fn resign(&self, out: &mut Effects<'_, Self>) {
        let leads = self.phase == Phase::Rest { leader: Some(self.place.me) };
        out.emit(Event::Refused(if leads { Refusal::CannotResign } else { Refusal::NotLeading }));
    }

    /// BU-1. Nobody is asked who is dead and the only higher one. But a result that it declared may still be under way, and this node must
    /// not use the same epoch.
    fn begin_by_itself(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let only = if self.place.higher.len() == 1 { self.place.higher.first() } else { None };
        let Some((dead, silent)) = only.and_then(|only| self.suspects.get_key_value(&only)) else {
            return self.begin("BU-1", out);
        };
        let rest = silent.map_or(Duration::ZERO, |silent| silent.since(now));
        out.note("BU-1", format_args!("{dead} alone ranks higher, and is dead"));
        self.take_part(out);
        self.phase = Phase::Asking;
        if rest == Duration::ZERO {
            self.declare(out);
        } else {
            out.set_timer(Timer::Answers, Span::exactly(rest));
        }
    }

    fn begin(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        let Place { higher, lower, courtesy, .. } = &*self.place.clone();
        self.take_part(out);
        if higher.is_empty() {
            return self.declare(out);
        }
        if courtesy.tell_lower && !lower.is_empty() {
            out.multicast_ahead(lower, self.say(Word::Begun));
        }
        out.note(rule, format_args!("asks {higher}"));
        out.multicast_ahead(higher, self.say(Word::Election));
        self.enter(Phase::Asking, ANSWER, out);
    }

    /// From now on there is no leader, and the next result will be of a later epoch.
    fn take_part(&mut self, out: &mut Effects<'_, Self>) {
        self.begun = self.next();
        out.emit(Event::Began { epoch: self.begun });
    }

    fn hear(&mut self, from: NodeId, Message { word, epoch }: Message, out: &mut Effects<'_, Self>) {
        if from == self.place.me || !self.place.group.contains(from) || epoch > Epoch::LARGEST {
            return;
        }
        match word {
            Word::Election => self.oblige(from, epoch, out),
            Word::Answer => self.learn(epoch, out),
            Word::Coordinator => return self.hear_result(from, epoch, out),
            Word::Begun => self.hear_of_run(from, epoch, out),
            Word::Hello => self.greet(from, epoch, out),
            Word::Inquiry => self.report(from, epoch, out),
            Word::Report => self.take_report(epoch, out),
        }
        self.see(from, out);
    }

    /// BU-2. Who asks in an epoch before that of the result will hear of it without any doing of ours. If that does not come after all, it
    /// asks again, and by then it knows the epoch from this answer.
    fn oblige(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        if !self.place.lower.contains(from) {
            return;
        }
        self.learn(epoch, out);
        out.send_ahead(from, self.say(Word::Answer));
        match self.phase {
            Phase::Rest { leader: Some(leader) } if epoch < self.result => {
                out.note("BU-2", format_args!("answers {from}, who will hear of {leader}"));
            }
            Phase::Rest { .. } => self.begin("BU-2", out),
            Phase::Asking | Phase::Waiting | Phase::Returning | Phase::Inquiring => {
                out.note("BU-2", format_args!("answers {from}"));
            }
        }
    }

    /// BU-3.
    fn declare(&mut self, out: &mut Effects<'_, Self>) {
        let Place { me, group, lower, courtesy, .. } = &*self.place.clone();
        let told = if courtesy.broadcast { group } else { lower };
        let epoch = self.next();
        self.learn(epoch, out);
        out.note("BU-3", format_args!("declares itself in epoch {epoch}"));
        if told.others(*me).next().is_some() {
            out.multicast(told, self.say(Word::Coordinator));
        }
        self.conclude(*me, epoch, out);
    }

    /// BU-4. Whatever a higher node says shows that it was alive when it said so.
    fn see(&mut self, from: NodeId, out: &mut Effects<'_, Self>) {
        if self.phase == Phase::Asking && self.place.higher.contains(from) {
            out.note("BU-4", format_args!("{from} lives and ranks higher: waits for its result"));
            out.cancel_timer(Timer::Answers);
            self.enter(Phase::Waiting, RESULT, out);
        }
    }

    /// BU-4.
    fn miss_result(&mut self, out: &mut Effects<'_, Self>) {
        self.begin("BU-4", out);
    }

    fn hear_result(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        if self.place.lower.contains(from) {
            self.bully(from, epoch, out);
        } else if epoch < self.heard {
            self.correct(from, epoch, out);
        } else if self.suspects.contains_key(&from) {
            self.hear_last_words(from, epoch, out);
        } else if epoch > self.result && epoch >= self.begun {
            self.follow(from, epoch, out);
        } else {
            // A run of a later epoch is under way here, because others knew this result before it came.
            self.see(from, out);
        }
    }

    /// BU-5.
    fn follow(&mut self, leader: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.learn(epoch, out);
        out.note("BU-5", format_args!("follows {leader} in epoch {epoch}"));
        if let Some(timer) = self.phase.timer() {
            out.cancel_timer(timer);
        }
        self.conclude(leader, epoch, out);
    }

    /// BU-6. What is older than the result here was declared before that, and its sender has been told.
    fn bully(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        let is_news = epoch > self.result;
        self.learn(epoch, out);
        if is_news && matches!(self.phase, Phase::Rest { .. }) {
            out.note("BU-6", format_args!("takes over from {from}, which ranks lower"));
            self.begin("BU-6", out);
        }
    }

    /// BU-7.
    fn correct(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        out.note("BU-7", format_args!("does not follow {from} in epoch {epoch}: there was {} already", self.heard));
        out.send_ahead(from, self.say(Word::Report));
        self.see(from, out);
    }

    /// BU-7. It asks again: a higher one may be back by now.
    fn take_report(&mut self, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.learn(epoch, out);
        if self.leads() && self.heard > self.result {
            out.note("BU-7", format_args!("leads in epoch {}, but there was {epoch} already", self.result));
            self.begin("BU-7", out);
        }
    }

    /// BU-8.
    fn hear_last_words(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.learn(epoch, out);
        out.note("BU-8", format_args!("does not follow {from}, which is dead"));
        if matches!(self.phase, Phase::Rest { .. }) {
            self.begin("BU-8", out);
        }
    }

    /// BU-1.
    fn suspect(&mut self, node: NodeId, now: Time, out: &mut Effects<'_, Self>) {
        if node == self.place.me || !self.place.group.contains(node) {
            return;
        }
        self.suspects.insert(node, Some(now + self.place.hop));
        if self.phase == (Phase::Rest { leader: Some(node) }) {
            self.begin_by_itself(now, out);
        }
    }

    fn welcome(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        self.suspects.remove(&node);
        self.see(node, out);
    }

    /// BU-9. Nothing is left to chance: a lower node that had asked this one while it was down may declare, until the hello reaches it.
    fn return_from_the_dead(&mut self, out: &mut Effects<'_, Self>) {
        self.take_part(out);
        if self.place.group.len() == 1 {
            return self.declare(out);
        }
        out.note("BU-9", format_args!("is back: says hello"));
        out.multicast_ahead(&self.place.group, self.say(Word::Hello));
        self.enter(Phase::Returning, QUIET, out);
    }

    /// BU-9.
    fn greet(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.learn(epoch, out);
        self.welcome(from, out);
    }

    /// BU-9.
    fn inquire(&mut self, out: &mut Effects<'_, Self>) {
        out.note("BU-9", format_args!("asks everyone for the largest epoch; knows of {}", self.heard));
        out.multicast_ahead(&self.place.group, self.say(Word::Inquiry));
        self.enter(Phase::Inquiring, ANSWER, out);
    }

    /// BU-9.
    fn report(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.learn(epoch, out);
        out.send_ahead(from, self.say(Word::Report));
    }

    /// BU-9.
    fn return_to_run(&mut self, out: &mut Effects<'_, Self>) {
        self.begin("BU-9", out);
    }

    /// BU-10.
    fn hear_of_run(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        let is_over = epoch < self.result;
        self.learn(epoch, out);
        if self.place.higher.contains(from) && !is_over && matches!(self.phase, Phase::Rest { .. }) {
            out.note("BU-10", format_args!("forgets the leader: {from} has begun a run"));
            self.take_part(out);
            self.enter(Phase::Waiting, RESULT, out);
        }
    }

    fn conclude(&mut self, leader: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.phase = Phase::Rest { leader: Some(leader) };
        self.result = epoch;
        out.emit(Event::elected(leader, epoch));
    }

    /// An epoch is on the disk before its result is told to anyone. That it is heard of is no promise, and waits for no disk.
    fn learn(&mut self, epoch: Epoch, out: &mut Effects<'_, Self>) {
        if epoch > self.heard {
            self.heard = epoch;
            out.save(epoch);
        }
    }

    fn enter(&mut self, phase: Phase, hops: u64, out: &mut Effects<'_, Self>) {
        self.phase = phase;
        if let Some(timer) = phase.timer() {
            out.set_timer(timer, Span::exactly(self.place.hop.times(hops)));
        }
    }

    fn say(&self, word: Word) -> Message {
        Message { word, epoch: self.heard }
    }

    const fn next(&self) -> Epoch {
        Epoch(self.heard.0.saturating_add(1))
    }

    fn leads(&self) -> bool {
        self.phase == Phase::Rest { leader: Some(self.place.me) }
    }
}
