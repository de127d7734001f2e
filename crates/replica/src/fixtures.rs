//! Faulty variants of the replica: each has one bug that real systems have had, and a sweep (many
//! simulated runs under faults) must catch it.
//!
//! The bug is in a wrapper around the replica; the code of the replica is unchanged.

use crate::command::{Command, Event};
use crate::durable::{Ballot, Durable, Write};
use crate::machine::{LogPosition, StateMachine};
use crate::message::Message;
use crate::replica::{Replica, Timer};
use crate::settings::Settings;
use quorate_core::{Effect, Effects, Input, NodeId, Note, Order, Protocol, Sink, Time};

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
}

impl Flaw {
    /// All flaws, in the order of their declaration.
    pub const ALL: [Self; 5] =
        [Self::EarlyAck, Self::LocalRead, Self::ForgottenVote, Self::NoReport, Self::AppliedTwice];

    /// The name of the fixture.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EarlyAck => "replica-early-ack",
            Self::LocalRead => "replica-local-read",
            Self::ForgottenVote => "replica-forgotten-vote",
            Self::NoReport => "replica-no-report",
            Self::AppliedTwice => "replica-applied-twice",
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
        }
    }
}

/// A replica with a seeded bug.
pub struct FlawedReplica<S: StateMachine> {
    replica: Replica<S>,
    flaw: Flaw,
    /// Number of saves requested since the start.
    saves_requested: u64,
}

impl<S: StateMachine> FlawedReplica<S> {
    /// Creates a replica with this flaw, which has not started yet.
    pub fn new(me: NodeId, settings: Settings, flaw: Flaw) -> Self {
        Self { replica: Replica::new(me, settings), flaw, saves_requested: 0 }
    }

    fn step_replica(&mut self, now: Time, input: Input<Replica<S>>, out: &mut Effects<'_, Self>) {
        let saves_before = self.saves_requested;
        let mut sink = FaultySink { flaw: self.flaw, saves_requested: &mut self.saves_requested, out };
        self.replica.step(now, input, &mut Effects::new(&mut sink));
        // Tell the replica that its saves are durable before they are.
        if self.flaw == Flaw::EarlyAck && self.saves_requested > saves_before {
            self.step_replica(now, Input::Saved(self.saves_requested), out);
        }
    }

    /// Handles a command. With [`Flaw::LocalRead`] a leader answers queries at once.
    fn handle_command(&mut self, now: Time, command: Command<S>, out: &mut Effects<'_, Self>) {
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

impl<S: StateMachine> Protocol for FlawedReplica<S> {
    type Command = Command<S>;
    type Message = Message;
    type Timer = Timer;
    type Event = Event<S>;
    type Durable = Durable;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { mut durable, incarnation } => {
                self.saves_requested = 0;
                if self.flaw == Flaw::AppliedTwice {
                    rewind_checkpoint(&mut durable);
                }
                self.step_replica(now, Input::Start { durable, incarnation }, out);
            }
            Input::Command(command) => self.handle_command(now, command, out),
            Input::Message { from, message } => self.step_replica(now, Input::Message { from, message }, out),
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
struct FaultySink<'a, 'b, S: StateMachine> {
    flaw: Flaw,
    saves_requested: &'a mut u64,
    out: &'a mut Effects<'b, FlawedReplica<S>>,
}

impl<S: StateMachine> Sink<Replica<S>> for FaultySink<'_, '_, S> {
    fn effect(&mut self, effect: Effect<Replica<S>>) {
        let early_order = |order| if self.flaw == Flaw::EarlyAck { Order::Ahead } else { order };
        self.out.put(match effect {
            Effect::Send { to, message, order } => Effect::Send { to, message, order: early_order(order) },
            Effect::Multicast { to, message, order } => Effect::Multicast { to, message, order: early_order(order) },
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
