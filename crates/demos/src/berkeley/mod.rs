//! Berkeley clock averaging (Gusella and Zatti 1989).
//!
//! No node has the right time, so an elected leader asks every node for its clock, averages the
//! clocks that agree well enough, and tells each node by how much to move its clock. This last
//! message carries a difference, so it does not matter how long it takes. Any election algorithm
//! finds the leader; when the leader crashes, the next one continues its rounds.
//!
//! ```text
//! BK-1  this node is elected               → begin a round: poll every node, now and once in every
//!                                            period
//! BK-2  a poll arrives                     → answer with the adjusted clock; ignore a poll of an
//!                                            older epoch than the latest known one
//! BK-3  an answer to this round arrives    → note how far that clock is ahead, assuming that the
//!                                            answer took half of the round trip
//! BK-4  all have answered, or a timeout    → average the differences within the tolerance of the
//!                                            median, this node's own included
//! BK-5  the average is known               → tell each node that answered by how much to move its
//!                                            clock, even if that clock did not count
//! BK-6  an adjustment arrives              → apply it, if it follows the last poll that this node
//!                                            answered, and its clock was not moved since
//! BK-7  this node leads no longer          → stop: the current round is abandoned
//! BK-8  a follower gets no poll in time    → campaign: the leader is missing
//! ```
//!
//! Cost: 3(n−1) messages per round: n−1 that poll, n−1 that answer, n−1 that adjust. A round takes
//! 3T. The cost of the election comes on top.
//!
//! Assumes: an answer arrives within the timeout, and poll and answer take about the same time:
//! half of the difference between the two times is the error of the reading. Clocks run at about
//! the same rate. More than half of the clocks that answer are within the tolerance of each other.
//!
//! When it fails: with message delays between t and T, the error of a reading is up to (T−t)/2, and
//! two clocks differ by up to T−t after a round. If half of the clocks or more are wrong in the
//! same way, the average follows them. Without a leader, clocks drift apart, each at its own rate.
//! Clocks may jump and go back: only durations between adjustments are reliable.
//!
//! Departs from the paper: the paper averages the largest set of clocks that are close to each
//! other, and this algorithm those that are close to the median, which lies within any such set of
//! more than half of the clocks. It polls a clock once where the paper takes the best of several
//! polls, and moves clocks in one jump where the paper lets them run faster or slower for some
//! time. Polls have epochs, so that no node moves its clock for a leader that was replaced.
//! Adjustments are not saved: a node that restarts begins with its own clock.

mod average;
mod message;
mod observer;
mod scenario;
mod shift;
mod simulation;
#[cfg(test)]
mod tests;

pub use message::{Event, Message, Round, Timer};
pub use observer::{MessageCounts, Milestone, MilestoneKind, Report, RoundReport, Sample};
pub use scenario::{BerkeleyError, NodeClock, Scenario};
pub use shift::Shift;
pub use simulation::run;

use average::average_clocks;
use quorate_core::election::{Command, Event as ElectionEvent};
use quorate_core::{
    Duration, Effect, Effects, Epoch, Fixed, Group, Incarnation, Input, NodeId, Note, Protocol, Sink, Span, Time,
};
use std::collections::BTreeMap;

/// The parameters of clock averaging, the same at every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AveragingSettings {
    /// The time from one round to the next.
    pub period: Duration,
    /// How long the leader waits for answers to a poll.
    pub answer_timeout: Duration,
    /// Maximum distance from the median at which a clock counts.
    pub tolerance: Duration,
    /// How long a follower waits for a poll before it considers the leader missing.
    pub leader_timeout: Duration,
}

/// A node. `election` finds the leader, and the leader averages the clocks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Berkeley<E> {
    config: Fixed<Config>,
    election: E,
    role: Role,
    /// The latest epoch of a leader that this node knows.
    latest_epoch: Epoch,
    /// The sum of all adjustments of the clock in this incarnation.
    shift: Shift,
    /// The sender and round of the last answered poll, unless this node's clock was moved since.
    last_answered: Option<(NodeId, Round)>,
}

/// The parts of the state that never change.
#[derive(Debug)]
struct Config {
    me: NodeId,
    group: Group,
    settings: AveragingSettings,
}

/// The node's role in clock averaging.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    /// The node knows no leader.
    NoLeader,
    Follower,
    /// The node leads; `poll` is the poll of `round`, while the node waits for answers to it.
    Leader {
        round: Round,
        poll: Option<Poll>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Poll {
    sent_at: Time,
    /// How far each known clock is ahead of this node's.
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
            Input::Start { durable, incarnation } => self.start(now, durable, incarnation, out),
            Input::Command(command) => self.step_election(now, Input::Command(command), out),
            Input::Message { from, message: Message::Election(message) } => {
                self.step_election(now, Input::Message { from, message }, out);
            }
            Input::Message { from, message: Message::Poll(round) } => self.answer_poll(now, from, round, out),
            Input::Message { from, message: Message::Clock { round, reading } } => {
                self.record_answer(now, from, round, reading, out);
            }
            Input::Message { from, message: Message::Adjust { round, by } } => {
                self.apply_adjustment(from, round, by, out);
            }
            Input::Timer(Timer::Election(timer)) => self.step_election(now, Input::Timer(timer), out),
            Input::Timer(Timer::Round) => self.begin_round(now, out),
            Input::Timer(Timer::Answers) => self.conclude_round(out),
            Input::Timer(Timer::Leader) => self.suspect_leader(now, out),
            Input::Saved(count) => self.step_election(now, Input::Saved(count), out),
            Input::Suspect(node) => self.step_election(now, Input::Suspect(node), out),
            Input::Trust(node) => self.step_election(now, Input::Trust(node), out),
            Input::DiskFull => self.step_election(now, Input::DiskFull, out),
            Input::DiskFree => self.step_election(now, Input::DiskFree, out),
            Input::View(view) => self.step_election(now, Input::View(view), out),
            Input::Lease(until) => self.step_election(now, Input::Lease(until), out),
            Input::EndOfTurn => self.step_election(now, Input::EndOfTurn, out),
        }
    }

    fn uses_end_of_turn(&self) -> bool {
        self.election.uses_end_of_turn()
    }
}

impl<E> Berkeley<E> {
    pub fn new(me: NodeId, group: Group, settings: AveragingSettings, election: E) -> Self {
        let config = Fixed::new(Config { me, group, settings });
        Self {
            config,
            election,
            role: Role::NoLeader,
            latest_epoch: Epoch::default(),
            shift: Shift::ZERO,
            last_answered: None,
        }
    }

    pub fn election(&self) -> &E {
        &self.election
    }

    /// The sum of all adjustments of the clock in this incarnation.
    pub fn shift(&self) -> Shift {
        self.shift
    }

    /// The adjusted reading of the clock at the unadjusted reading `now`.
    pub fn reading(&self, now: Time) -> Time {
        self.shift.applied_to(now)
    }
}

impl<E> Berkeley<E>
where
    E: Protocol<Command = Command, Event = ElectionEvent>,
{
    fn start(&mut self, now: Time, durable: E::Durable, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        (self.role, self.latest_epoch, self.shift, self.last_answered) =
            (Role::NoLeader, Epoch::default(), Shift::ZERO, None);
        self.step_election(now, Input::Start { durable, incarnation }, out);
    }

    /// Steps the election, by the unadjusted clock. The election's events determine this node's
    /// role.
    fn step_election(&mut self, now: Time, input: Input<E>, out: &mut Effects<'_, Self>) {
        let mut sink = ElectionSink { events: Vec::new(), out };
        self.election.step(now, input, &mut Effects::new(&mut sink));
        for event in sink.events {
            match event {
                ElectionEvent::Elected { leader, epoch, .. } if leader == self.config.me => {
                    self.become_leader(now, epoch, out);
                }
                ElectionEvent::Elected { epoch, .. } => self.follow(epoch, out),
                ElectionEvent::Began { .. } | ElectionEvent::Ended { .. } => self.change_role(Role::NoLeader, out),
                ElectionEvent::Extended { .. } | ElectionEvent::Refused(_) => {}
            }
        }
    }

    /// BK-1. Begins the first round of this epoch immediately.
    fn become_leader(&mut self, now: Time, epoch: Epoch, out: &mut Effects<'_, Self>) {
        out.cancel_timer(Timer::Leader);
        self.latest_epoch = self.latest_epoch.max(epoch);
        self.role = Role::Leader { round: Round { epoch, number: 0 }, poll: None };
        self.begin_round(now, out);
    }

    /// BK-1. A poll is sent ahead of pending saves: it depends on none, and the measured round trip
    /// must not include the time of the disk. A round that still waits for answers is concluded
    /// first.
    fn begin_round(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        self.conclude_round(out);
        let Config { me, group, settings } = &*self.config;
        let Role::Leader { round, poll } = &mut self.role else { return };
        round.number = round.number.saturating_add(1);
        if group.others(*me).next().is_none() {
            return;
        }
        *poll = Some(Poll { sent_at: now, ahead: BTreeMap::from([(*me, Shift::ZERO)]) });
        out.note("BK-1", format_args!("polls all clocks: {round}"));
        out.multicast_ahead(group, Message::Poll(*round));
        out.set_timer(Timer::Answers, Span::exactly(settings.answer_timeout));
        out.set_timer(Timer::Round, Span::exactly(settings.period));
    }

    /// BK-2. A poll may arrive before the news of its sender's election, so this node answers any
    /// poll of the latest epoch or a later one.
    fn answer_poll(&mut self, now: Time, from: NodeId, round: Round, out: &mut Effects<'_, Self>) {
        if !self.is_peer(from) {
            return;
        }
        if round.epoch < self.latest_epoch {
            let epoch = self.latest_epoch;
            return out.note("BK-2", format_args!("does not answer {from}: this node knows a leader of epoch {epoch}"));
        }
        self.latest_epoch = round.epoch;
        self.last_answered = Some((from, round));
        let reading = self.reading(now);
        out.note("BK-2", format_args!("answers {from}: its clock shows {reading}"));
        out.send_ahead(from, Message::Clock { round, reading });
        if self.role == Role::Follower {
            self.restart_leader_timer(out);
        }
    }

    /// BK-3. Only the first answer of a node counts.
    fn record_answer(&mut self, now: Time, from: NodeId, answered: Round, reading: Time, out: &mut Effects<'_, Self>) {
        let is_peer = self.is_peer(from);
        let own_reading = self.reading(now);
        let Role::Leader { round, poll: Some(poll) } = &mut self.role else { return };
        if !is_peer || answered != *round || poll.ahead.contains_key(&from) {
            return;
        }
        let half_round_trip = Duration::from_nanos(now.since(poll.sent_at).nanos() / 2);
        let ahead = Shift::between(own_reading, reading + half_round_trip);
        out.note("BK-3", format_args!("node {from} is ahead by {ahead}"));
        poll.ahead.insert(from, ahead);
        if poll.ahead.len() == self.config.group.len() {
            self.conclude_round(out);
        }
    }

    /// BK-4, BK-5. Ends the current round and moves this node's own clock. Does nothing if no round
    /// is in progress.
    fn conclude_round(&mut self, out: &mut Effects<'_, Self>) {
        let Role::Leader { round, poll } = &mut self.role else { return };
        let round = *round;
        let Some(Poll { ahead, .. }) = poll.take() else { return };
        out.cancel_timer(Timer::Answers);
        let Config { me, group, settings } = &*self.config;
        let (mean, counted) = average_clocks(&ahead, settings.tolerance);
        let outliers: Group = ahead.keys().copied().filter(|node| !counted.contains(*node)).collect();
        let silent: Group = group.iter().filter(|node| !ahead.contains_key(node)).collect();
        out.note("BK-4", format_args!("nodes {counted} are ahead by {mean} on average"));
        out.emit_ahead(Event::Averaged { round, counted, outliers, silent });
        for (node, node_ahead) in ahead.iter().filter(|(node, _)| *node != me) {
            let by = mean.minus(*node_ahead);
            out.note("BK-5", format_args!("tells {node} to move its clock by {by}"));
            out.send_ahead(*node, Message::Adjust { round, by });
        }
        self.adjust(mean, out);
    }

    /// BK-6. If the node has restarted or moved its clock since it answered, the reading in that
    /// answer no longer applies, and the node ignores the adjustment.
    fn apply_adjustment(&mut self, from: NodeId, round: Round, by: Shift, out: &mut Effects<'_, Self>) {
        if self.last_answered == Some((from, round)) {
            out.note("BK-6", format_args!("moves its clock by {by}, as {from} requires"));
            self.adjust(by, out);
        }
    }

    /// Moves this node's clock. Earlier readings of the clock no longer apply, so the node abandons
    /// its own round and ignores later adjustments for its last answer.
    fn adjust(&mut self, by: Shift, out: &mut Effects<'_, Self>) {
        self.shift = self.shift.plus(by);
        self.last_answered = None;
        if let Role::Leader { poll, .. } = &mut self.role {
            *poll = None;
        }
        out.emit_ahead(Event::Adjusted { by });
    }

    /// BK-7. Takes another role. A leader abandons its round.
    fn change_role(&mut self, role: Role, out: &mut Effects<'_, Self>) {
        if let Role::Leader { round, .. } = self.role {
            out.note("BK-7", format_args!("stops polling: its leadership of epoch {} has ended", round.epoch));
            out.cancel_timer(Timer::Round);
            out.cancel_timer(Timer::Answers);
        }
        out.cancel_timer(Timer::Leader);
        self.role = role;
    }

    fn follow(&mut self, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.change_role(Role::Follower, out);
        self.latest_epoch = self.latest_epoch.max(epoch);
        self.restart_leader_timer(out);
    }

    fn restart_leader_timer(&self, out: &mut Effects<'_, Self>) {
        out.set_timer(Timer::Leader, Span::exactly(self.config.settings.leader_timeout));
    }

    /// BK-8. If the leader is alive, the campaign does no harm: the election finds it again.
    fn suspect_leader(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        if self.role == Role::Follower {
            out.note("BK-8", format_args!("suspects the leader: no poll for {}", self.config.settings.leader_timeout));
            self.step_election(now, Input::Command(Command::Campaign), out);
        }
    }

    fn is_peer(&self, node: NodeId) -> bool {
        node != self.config.me && self.config.group.contains(node)
    }
}

/// Passes on the effects of the election as effects of the node, and collects its events.
struct ElectionSink<'a, 'b, E>
where
    E: Protocol<Command = Command, Event = ElectionEvent>,
{
    events: Vec<ElectionEvent>,
    out: &'a mut Effects<'b, Berkeley<E>>,
}

impl<E> Sink<E> for ElectionSink<'_, '_, E>
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
                self.events.push(event);
                Effect::Emit { event: Event::Election(event), order }
            }
        });
    }

    fn note(&mut self, note: Note<'_>) {
        self.out.pass_note(note);
    }
}
