//! Faulty variants of the replica: each has one bug that real systems have had, and a sweep (many
//! simulated runs under faults) must catch it.
//!
//! The bug is in a wrapper around the replica; the code of the replica is unchanged.

use crate::batch::{ProposalGroup, read_groups, write_groups};
use crate::command::{Command, Event};
use crate::directory::MemberRecord;
use crate::durable::{Ballot, Durable, Write};
use crate::machine::{LogPosition, StateMachine};
use crate::message::Message;
use crate::replica::{Replica, Timer};
use crate::sessions::{self, Sessions};
use crate::settings::Settings;
use crate::version::FormatError;
use bytes::Bytes;
use quorate_core::{Duration, Effect, Effects, Input, NodeId, Note, Order, Protocol, Sink, Time};

/// The seeded bug of a faulty replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// The replica acknowledges entries and votes that are not on its disk yet.
    EarlyAck,
    /// The replica answers queries without a round of heartbeats while it believes that it leads.
    LocalRead,
    /// The replica does not save its votes.
    ForgottenVote,
    /// The replica never notices that a snapshot was lost.
    NoReport,
    /// After a restart the replica applies the last entry of its checkpoint once more.
    AppliedTwice,
    /// The replica does not report the outcomes from before a session attached.
    LostOutcome,
    /// A leader numbers forwarded requests itself, so a request that is forwarded again is executed
    /// again.
    ForwardedTwice,
    /// A leader believes that all members understand the newest commands.
    TooNew,
    /// The clock of a leader is so slow that its lease outlasts the promises of its followers.
    LongLease,
}

impl Flaw {
    /// All flaws, in the order of their declaration.
    pub const ALL: [Self; 9] = [
        Self::EarlyAck,
        Self::LocalRead,
        Self::ForgottenVote,
        Self::NoReport,
        Self::AppliedTwice,
        Self::LostOutcome,
        Self::ForwardedTwice,
        Self::TooNew,
        Self::LongLease,
    ];

    /// The name of the fixture.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EarlyAck => "replica-early-ack",
            Self::LocalRead => "replica-local-read",
            Self::ForgottenVote => "replica-forgotten-vote",
            Self::NoReport => "replica-no-report",
            Self::AppliedTwice => "replica-applied-twice",
            Self::LostOutcome => "replica-lost-outcome",
            Self::ForwardedTwice => "replica-forwarded-twice",
            Self::TooNew => "replica-too-new",
            Self::LongLease => "replica-long-lease",
        }
    }

    /// A short description of the flaw.
    pub const fn description(self) -> &'static str {
        match self {
            Self::EarlyAck => "a replica acknowledges entries that are not on its disk yet, so a crash loses them",
            Self::LocalRead => "a replica answers queries without asking a majority, so answers may be stale",
            Self::ForgottenVote => "a replica does not save its vote, so a restarted voter can vote twice",
            Self::NoReport => "a replica never reports a lost snapshot, so a lagging peer never catches up",
            Self::AppliedTwice => "a replica applies an entry again after a restart, so its state diverges",
            Self::LostOutcome => "a replica to which a session moves does not report what the session missed",
            Self::ForwardedTwice => {
                "a leader renumbers forwarded requests, so one that is sent again is executed again"
            }
            Self::TooNew => "a leader proposes commands that a member of an older release cannot read",
            Self::LongLease => "a leader's clock is 70 % slow, so its lease outlasts the promises of its followers",
        }
    }
}

/// A replica with a seeded bug.
pub struct FlawedReplica<M: StateMachine> {
    replica: Replica<Sessions<M>>,
    flaw: Flaw,
    /// Number of saves requested since the start.
    saves_requested: u64,
    /// Number of messages with forwarded commands.
    forwards: u64,
    /// The time of the last input, and how far the replica's slow clock is behind, with
    /// [`Flaw::LongLease`].
    last_input_at: Time,
    lag: Duration,
}

/// How slow the clock of a leader is with [`Flaw::LongLease`].
const SLOWNESS_PERCENT: u64 = 70;

/// Number of ways in which [`Flaw::ForwardedTwice`] numbers a request.
const RENUMBERINGS: u64 = 2;

impl<M: StateMachine> FlawedReplica<M> {
    /// Creates a replica with this flaw, which has not started yet.
    pub fn new(me: NodeId, settings: Settings, flaw: Flaw) -> Self {
        let replica = Replica::new(me, settings);
        Self { replica, flaw, saves_requested: 0, forwards: 0, last_input_at: Time::ZERO, lag: Duration::ZERO }
    }

    /// Returns the reading of the replica's clock. With [`Flaw::LongLease`] it runs slowly while
    /// the replica leads.
    fn clock_reading(&mut self, now: Time) -> Time {
        if self.flaw == Flaw::LongLease && self.replica.leads() {
            let elapsed = now.since(self.last_input_at);
            self.lag = self.lag + Duration::from_nanos(elapsed.nanos() / 100).times(SLOWNESS_PERCENT);
        }
        self.last_input_at = now;
        now - self.lag
    }

    fn step_replica(&mut self, now: Time, input: Input<Replica<Sessions<M>>>, out: &mut Effects<'_, Self>) {
        let saves_before = self.saves_requested;
        let mut sink = FaultySink { flaw: self.flaw, saves_requested: &mut self.saves_requested, out };
        self.replica.step(now, input, &mut Effects::new(&mut sink));
        // Tell the replica that its saves are durable before they are.
        if self.flaw == Flaw::EarlyAck && self.saves_requested > saves_before {
            self.step_replica(now, Input::Saved(self.saves_requested), out);
            self.step_replica(now, Input::EndOfTurn, out);
        }
    }

    /// Handles a command. With [`Flaw::LocalRead`] a leader answers queries at once.
    fn handle_command(&mut self, now: Time, command: Command<Sessions<M>>, out: &mut Effects<'_, Self>) {
        match (command, self.replica.machine()) {
            (Command::Query { ticket, query }, Some(machine))
                if self.flaw == Flaw::LocalRead && self.replica.leads() =>
            {
                let index = self.replica.applied_index();
                let answer = machine.query(LogPosition { index, ..LogPosition::default() }, &query);
                out.emit_ahead(Event::Answered { ticket, index, answer });
            }
            (command, _) => self.step_replica(now, Input::Command(command), out),
        }
    }
}

impl<M: StateMachine> Protocol for FlawedReplica<M> {
    type Command = Command<Sessions<M>>;
    type Message = Message;
    type Timer = Timer;
    type Event = Event<Sessions<M>>;
    type Durable = Durable;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        let now = self.clock_reading(now);
        match input {
            Input::Start { mut durable, incarnation } => {
                self.saves_requested = 0;
                if self.flaw == Flaw::AppliedTwice {
                    rewind_checkpoint(&mut durable);
                }
                self.step_replica(now, Input::Start { durable, incarnation }, out);
            }
            Input::Command(command) => self.handle_command(now, command, out),
            Input::Message { from, message } => {
                let message = self.misread(message);
                self.step_replica(now, Input::Message { from, message }, out);
            }
            Input::Timer(Timer::Piece(_)) if self.flaw == Flaw::NoReport => {}
            Input::Timer(timer) => self.step_replica(now, Input::Timer(timer), out),
            Input::Saved(_) if self.flaw == Flaw::EarlyAck => {}
            Input::Saved(count) => self.step_replica(now, Input::Saved(count), out),
            Input::DiskFull => self.step_replica(now, Input::DiskFull, out),
            Input::DiskFree => self.step_replica(now, Input::DiskFree, out),
            Input::Suspect(node) => self.step_replica(now, Input::Suspect(node), out),
            Input::Trust(node) => self.step_replica(now, Input::Trust(node), out),
            Input::View(view) => self.step_replica(now, Input::View(view), out),
            Input::Lease(until) => self.step_replica(now, Input::Lease(until), out),
            Input::EndOfTurn => self.step_replica(now, Input::EndOfTurn, out),
        }
    }

    fn uses_end_of_turn(&self) -> bool {
        self.replica.uses_end_of_turn()
    }
}

impl<M: StateMachine> FlawedReplica<M> {
    /// What the replica takes a message for.
    fn misread(&mut self, message: Message) -> Message {
        match message {
            Message::Report(record) if self.flaw == Flaw::TooNew => {
                Message::Report(MemberRecord { level: u32::MAX, ..record })
            }
            Message::Forward(bytes) if self.flaw == Flaw::ForwardedTwice => {
                Message::Forward(self.renumber(&bytes).unwrap_or(bytes))
            }
            message => message,
        }
    }

    /// Gives the requests in forwarded commands other numbers than when they came before.
    fn renumber(&mut self, bytes: &[u8]) -> Result<Bytes, FormatError> {
        let mut groups: Vec<ProposalGroup<sessions::Command<M::Command>>> = read_groups(bytes)?;
        self.forwards += 1;
        for command in groups.iter_mut().flat_map(|group| &mut group.commands) {
            if let sessions::Command::Request(request) = command {
                request.number += self.forwards % RENUMBERINGS;
            }
        }
        Ok(write_groups(&groups))
    }
}

/// Sets the index and term of the checkpoint to those of the preceding entry, if that is kept. The
/// state in the checkpoint stays the same.
fn rewind_checkpoint(durable: &mut Durable) {
    let Some(checkpoint) = &mut durable.checkpoint else { return };
    let previous = checkpoint.index.saturating_sub(1);
    if let Some(entry) = durable.entries.iter().find(|entry| entry.index == previous) {
        (checkpoint.index, checkpoint.term) = (previous, entry.term);
    }
}

/// Passes the replica's effects on, with the bug added.
struct FaultySink<'a, 'b, M: StateMachine> {
    flaw: Flaw,
    saves_requested: &'a mut u64,
    out: &'a mut Effects<'b, FlawedReplica<M>>,
}

impl<M: StateMachine> Sink<Replica<Sessions<M>>> for FaultySink<'_, '_, M> {
    fn effect(&mut self, effect: Effect<Replica<Sessions<M>>>) {
        let early_order = |order| if self.flaw == Flaw::EarlyAck { Order::Ahead } else { order };
        self.out.put(match effect {
            Effect::Send { to, message, order } => Effect::Send { to, message, order: early_order(order) },
            Effect::Multicast { to, message, order } => Effect::Multicast { to, message, order: early_order(order) },
            Effect::Emit { event: Event::Attached { ticket, session, index, .. }, order }
                if self.flaw == Flaw::LostOutcome =>
            {
                Effect::Emit { event: Event::Attached { ticket, session, index, outcomes: Vec::new() }, order }
            }
            Effect::Emit { event, order } => Effect::Emit { event, order: early_order(order) },
            Effect::Save(write) => {
                *self.saves_requested += 1;
                Effect::Save(match write {
                    Write::Ballot(ballot) if self.flaw == Flaw::ForgottenVote => {
                        Write::Ballot(Ballot { vote: 0, ..ballot })
                    }
                    write => write,
                })
            }
            Effect::SetTimer { timer, span } => Effect::SetTimer { timer, span },
            Effect::CancelTimer(timer) => Effect::CancelTimer(timer),
        });
    }

    fn note(&mut self, note: Note<'_>) {
        self.out.pass_note(note);
    }
}
