//! Berkeley clock averaging (Gusella and Zatti 1989).
//!
//! A leader at work. Nobody has the right time, so the leader asks everyone what their clocks show, takes the average of those that agree
//! well enough, and tells each node by how much to move its clock. What travels are differences, so that it does not matter how long the
//! last message takes. Any election finds the leader; when it dies, the next one goes on where it stopped.
//!
//! ```text
//! BK-1  this node is elected               → begin a round: poll everyone, now and once in every period
//! BK-2  a poll arrives                     → answer with the clock as it is set; not if its epoch is older than one that is known
//! BK-3  an answer to this round arrives    → note by how much that clock is ahead, as if the answer took half of the round trip
//! BK-4  all have answered, or time is up   → average the differences within the tolerance of the middle one, this node's own included
//! BK-5  the average is known               → tell each who answered by how much to move its clock, those too who did not count
//! BK-6  told by how much                   → do so, if it is about the last poll that was answered, and the clock was not set since
//! BK-7  this node leads no longer          → stop: the round under way comes to nothing
//! BK-8  a follower hears no poll for long  → campaign: the leader is missed
//! ```
//!
//! Cost: 3(n−1) messages a round: n−1 that poll, n−1 that answer, n−1 that adjust. A round takes 3T. The election costs what it costs.
//!
//! Assumes: an answer arrives within the wait, and its way there and back take about as long; what is between them is the error. Clocks
//! run at about the same rate. More than half of those that answer are within the tolerance of each other.
//!
//! When it fails: with messages between t and T, a clock is read wrong by up to (T−t)/2, and two clocks differ by up to T−t after a
//! round. If half of the clocks or more are wrong together, the average follows them. Without a leader, clocks drift apart, each
//! at its own rate. What clocks show may jump and go back: only lengths between adjustments can be relied on.
//!
//! Departs from the paper: the paper averages the largest set of clocks that are close to each other, and this one those that are close
//! to the middle one, which every set of more than half contains. It polls a clock once where the paper takes the best of several
//! polls, and moves clocks at once where the paper lets them run faster or slower for a while. Polls have epochs, so that nobody moves
//! its clock for a leader that was replaced. Adjustments are not saved: who comes back from a crash begins with its own clock.

mod average;
mod message;
mod scenario;
mod shift;
mod simulation;
#[cfg(test)]
mod tests;
mod watch;

pub use message::{Event, Message, Round, Timer};
pub use scenario::{BerkeleyError, ClockOf, Scenario};
pub use shift::Shift;
pub use simulation::run;
pub use watch::{Messages, Milestone, Report, RoundSeen, Sample, What};

use average::average;
use quorate_core::election::{Command, Event as ElectionEvent};
use quorate_core::{
    Duration, Effect, Effects, Epoch, Fixed, Group, Incarnation, Input, NodeId, Note, Protocol, Sink, Span, Time,
};
use std::collections::BTreeMap;

/// How the clocks of a group are kept together. Every node of it is told the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    pub every: Duration,
    pub wait: Duration,
    /// How far a clock may be from the middle one to count.
    pub tolerance: Duration,
    /// How long a follower goes without a poll before it misses the leader.
    pub patience: Duration,
}

/// One node: an election, and what its leader is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Berkeley<E> {
    place: Fixed<Place>,
    election: E,
    duty: Duty,
    epoch: Epoch,
    /// By how much the clock was moved in all, in this life.
    shift: Shift,
    /// The poll that was answered last, and who sent it, unless the clock was set since.
    answered: Option<(NodeId, Round)>,
}

/// What never changes.
#[derive(Debug)]
struct Place {
    me: NodeId,
    group: Group,
    terms: Terms,
}

/// What a node has to do: nothing while it knows of no leader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Duty {
    None,
    Follow,
    Lead { round: Round, poll: Option<Poll> },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Poll {
    sent: Time,
    ahead: BTreeMap<NodeId, Shift>,
}

impl<E> Protocol for Berkeley<E>
where
    E: Protocol<Command = Command, Event = ElectionEvent>,
{
    type Command = Command;
    type Message = Message<E::Message>;
    type Timer = Timer<E::Timer>;
    type Event = Event;
    type Durable = E::Durable;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, incarnation } => self.boot(now, durable, incarnation, out),
            Input::Command(command) => self.pass(now, Input::Command(command), out),
            Input::Message { from, message: Message::Election(message) } => {
                self.pass(now, Input::Message { from, message }, out);
            }
            Input::Message { from, message: Message::Poll(round) } => self.answer(now, from, round, out),
            Input::Message { from, message: Message::Clock { round, shows } } => {
                self.compare(now, from, round, shows, out);
            }
            Input::Message { from, message: Message::Adjust { round, by } } => self.obey(from, round, by, out),
            Input::Timer(Timer::Election(timer)) => self.pass(now, Input::Timer(timer), out),
            Input::Timer(Timer::Round) => self.begin_round(now, out),
            Input::Timer(Timer::Answers) => self.conclude(out),
            Input::Timer(Timer::Leader) => self.miss_leader(now, out),
            Input::Saved(count) => self.pass(now, Input::Saved(count), out),
            Input::Suspect(node) => self.pass(now, Input::Suspect(node), out),
            Input::Trust(node) => self.pass(now, Input::Trust(node), out),
            Input::DiskFull => self.pass(now, Input::DiskFull, out),
            Input::DiskFree => self.pass(now, Input::DiskFree, out),
            Input::View(view) => self.pass(now, Input::View(view), out),
            Input::Lease(until) => self.pass(now, Input::Lease(until), out),
        }
    }
}

impl<E> Berkeley<E> {
    /// One node of a group whose leader, found by this election, keeps clocks together.
    pub fn new(me: NodeId, group: Group, terms: Terms, election: E) -> Self {
        let place = Fixed::new(Place { me, group, terms });
        Self { place, election, duty: Duty::None, epoch: Epoch::default(), shift: Shift::ZERO, answered: None }
    }

    pub fn election(&self) -> &E {
        &self.election
    }

    pub fn shift(&self) -> Shift {
        self.shift
    }

    /// What the clock shows as it is set, when it would show this by itself.
    pub fn shows(&self, now: Time) -> Time {
        self.shift.applied_to(now)
    }
}

impl<E> Berkeley<E>
where
    E: Protocol<Command = Command, Event = ElectionEvent>,
{
    fn boot(&mut self, now: Time, durable: E::Durable, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        (self.duty, self.epoch, self.shift, self.answered) = (Duty::None, Epoch::default(), Shift::ZERO, None);
        self.pass(now, Input::Start { durable, incarnation }, out);
    }

    /// The election takes an input, by the clock that nobody sets. What it finds out decides what there is to do.
    fn pass(&mut self, now: Time, input: Input<E>, out: &mut Effects<'_, Self>) {
        let mut desk = Desk { news: Vec::new(), out };
        self.election.step(now, input, &mut Effects::new(&mut desk));
        for event in desk.news {
            match event {
                ElectionEvent::Elected { leader, epoch, .. } if leader == self.place.me => {
                    self.take_office(now, epoch, out);
                }
                ElectionEvent::Elected { epoch, .. } => self.follow(epoch, out),
                ElectionEvent::Began { .. } | ElectionEvent::Ended { .. } => self.stand_down(Duty::None, out),
                ElectionEvent::Extended { .. } | ElectionEvent::Refused(_) => {}
            }
        }
    }

    /// BK-1.
    fn take_office(&mut self, now: Time, epoch: Epoch, out: &mut Effects<'_, Self>) {
        out.cancel_timer(Timer::Leader);
        self.epoch = self.epoch.max(epoch);
        self.duty = Duty::Lead { round: Round { epoch, number: 0 }, poll: None };
        self.begin_round(now, out);
    }

    /// BK-1. A poll does not wait for the disk: it promises nothing, and the round trip is to be measured without it.
    fn begin_round(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        self.conclude(out);
        let Place { me, group, terms } = &*self.place;
        let Duty::Lead { round, poll } = &mut self.duty else { return };
        round.number = round.number.saturating_add(1);
        if group.others(*me).next().is_none() {
            return;
        }
        *poll = Some(Poll { sent: now, ahead: BTreeMap::from([(*me, Shift::ZERO)]) });
        out.note("BK-1", format_args!("polls all clocks: {round}"));
        out.multicast_ahead(group, Message::Poll(*round));
        out.set_timer(Timer::Answers, Span::exactly(terms.wait));
        out.set_timer(Timer::Round, Span::exactly(terms.every));
    }

    /// BK-2. A poll may come before the news that its sender was elected, so whoever polls in the latest epoch is answered.
    fn answer(&mut self, now: Time, from: NodeId, round: Round, out: &mut Effects<'_, Self>) {
        if !self.is_peer(from) {
            return;
        }
        if round.epoch < self.epoch {
            let epoch = self.epoch;
            return out.note("BK-2", format_args!("does not answer {from}: there is a leader in epoch {epoch}"));
        }
        self.epoch = round.epoch;
        self.answered = Some((from, round));
        let shows = self.shows(now);
        out.note("BK-2", format_args!("tells {from} that its clock shows {shows}"));
        out.send_ahead(from, Message::Clock { round, shows });
        if self.duty == Duty::Follow {
            self.expect_poll(out);
        }
    }

    /// BK-3. The first answer counts.
    fn compare(&mut self, now: Time, from: NodeId, answers: Round, shows: Time, out: &mut Effects<'_, Self>) {
        let is_peer = self.is_peer(from);
        let own = self.shows(now);
        let Duty::Lead { round, poll: Some(poll) } = &mut self.duty else { return };
        if !is_peer || answers != *round || poll.ahead.contains_key(&from) {
            return;
        }
        let half = Duration::from_nanos(now.since(poll.sent).nanos() / 2);
        let ahead = Shift::between(own, shows + half);
        out.note("BK-3", format_args!("{from} is ahead by {ahead}"));
        poll.ahead.insert(from, ahead);
        if poll.ahead.len() == self.place.group.len() {
            self.conclude(out);
        }
    }

    /// BK-4, BK-5. A round that is not under way comes to nothing.
    fn conclude(&mut self, out: &mut Effects<'_, Self>) {
        let Duty::Lead { round, poll } = &mut self.duty else { return };
        let round = *round;
        let Some(Poll { ahead, .. }) = poll.take() else { return };
        out.cancel_timer(Timer::Answers);
        let Place { me, group, terms } = &*self.place;
        let (mean, counted) = average(&ahead, terms.tolerance);
        let far: Group = ahead.keys().copied().filter(|node| !counted.contains(*node)).collect();
        let silent: Group = group.iter().filter(|node| !ahead.contains_key(node)).collect();
        out.note("BK-4", format_args!("{counted} are ahead by {mean} on average"));
        out.emit_ahead(Event::Averaged { round, counted, far, silent });
        for (node, ahead) in ahead.iter().filter(|(node, _)| *node != me) {
            let by = mean.minus(*ahead);
            out.note("BK-5", format_args!("tells {node} to move its clock by {by}"));
            out.send_ahead(*node, Message::Adjust { round, by });
        }
        self.adjust(mean, out);
    }

    /// BK-6. Who has crashed since it answered, or was told by another leader, has another clock than the one that was read.
    fn obey(&mut self, from: NodeId, round: Round, by: Shift, out: &mut Effects<'_, Self>) {
        if self.answered == Some((from, round)) {
            out.note("BK-6", format_args!("moves its clock by {by}, as {from} says"));
            self.adjust(by, out);
        }
    }

    /// Whatever was read off this clock before says nothing of it any more.
    fn adjust(&mut self, by: Shift, out: &mut Effects<'_, Self>) {
        self.shift = self.shift.plus(by);
        self.answered = None;
        if let Duty::Lead { poll, .. } = &mut self.duty {
            *poll = None;
        }
        out.emit_ahead(Event::Adjusted { by });
    }

    /// BK-7.
    fn stand_down(&mut self, duty: Duty, out: &mut Effects<'_, Self>) {
        if let Duty::Lead { round, .. } = self.duty {
            out.note("BK-7", format_args!("polls no longer: it does not lead after epoch {}", round.epoch));
            out.cancel_timer(Timer::Round);
            out.cancel_timer(Timer::Answers);
        }
        out.cancel_timer(Timer::Leader);
        self.duty = duty;
    }

    fn follow(&mut self, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.stand_down(Duty::Follow, out);
        self.epoch = self.epoch.max(epoch);
        self.expect_poll(out);
    }

    fn expect_poll(&self, out: &mut Effects<'_, Self>) {
        out.set_timer(Timer::Leader, Span::exactly(self.place.terms.patience));
    }

    /// BK-8. A false alarm does no harm: the election finds the same leader again.
    fn miss_leader(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        if self.duty == Duty::Follow {
            out.note("BK-8", format_args!("misses the leader: no poll for {}", self.place.terms.patience));
            self.pass(now, Input::Command(Command::Campaign), out);
        }
    }

    fn is_peer(&self, node: NodeId) -> bool {
        node != self.place.me && self.place.group.contains(node)
    }
}

/// Where the effects of the election go.
struct Desk<'a, 'b, E>
where
    E: Protocol<Command = Command, Event = ElectionEvent>,
{
    news: Vec<ElectionEvent>,
    out: &'a mut Effects<'b, Berkeley<E>>,
}

impl<E> Sink<E> for Desk<'_, '_, E>
where
    E: Protocol<Command = Command, Event = ElectionEvent>,
{
    fn effect(&mut self, effect: Effect<E>) {
        self.out.put(match effect {
            Effect::Send { to, message, order } => Effect::Send { to, message: Message::Election(message), order },
            Effect::Multicast { to, message, order } => {
                Effect::Multicast { to, message: Message::Election(message), order }
            }
            Effect::Save(write) => Effect::Save(write),
            Effect::SetTimer { timer, span } => Effect::SetTimer { timer: Timer::Election(timer), span },
            Effect::CancelTimer(timer) => Effect::CancelTimer(Timer::Election(timer)),
            Effect::Emit { event, order } => {
                self.news.push(event);
                Effect::Emit { event: Event::Election(event), order }
            }
        });
    }

    fn note(&mut self, note: Note<'_>) {
        self.out.pass_note(note);
    }
}
