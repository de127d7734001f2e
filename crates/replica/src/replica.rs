//! The replica: a replicated log with a state machine on top, around tikv's raft (Ongaro and Ousterhout, 2014).
//!
//! Members elect a leader; the leader puts commands into a log that all of them keep, and an entry counts once a majority has it on
//! disk. Every member applies the same entries in the same order, so all of them have the same state at the same index. A member that
//! is down, slow or cut off is caught up later, by entries or by a snapshot.
//!
//! ```text
//! RP-1   asked to propose        → if leading, stamp the commands with log time and put them into the log as one entry; else refuse
//! RP-2   raft has entries        → save them; the leader's messages go ahead of its own disk, everyone else's wait for theirs
//! RP-3   the disk confirms       → tell raft, so that this disk counts
//! RP-4   an entry is committed   → apply it once, and answer whoever proposed it here
//! RP-5   asked a query           → answer once the leader knows that it still leads, and all it knew as committed is applied here
//! RP-6   under a lease           → the leader answers by itself; those who heard from it promise no vote to others meanwhile
//! RP-7   many entries applied    → keep the state, and let the log before it go
//! RP-8   a peer lags too far     → send it the state in pieces; report to raft when it arrived, or when it never will
//! RP-9   asked for other members → exchange them jointly; who votes must have been a learner that holds the log
//! RP-10  nothing on the disk     → take no part; knock, and wait for a snapshot that lets this very life in as a learner
//! RP-11  the disk is full        → refuse commands, take no entries, offer the leadership around, answer queries from what is there
//! RP-12  the leadership moved    → say of everything proposed here that its fate is unknown
//! RP-13  the leader is gone      → if its process is seen to be gone, owe it no vote; under a lease its promise stands all the same
//! ```
//!
//! Cost: with a leader, one round to a majority and one save there for all commands that wait: 2(n−1) messages, and heartbeats.
//!
//! Assumes: a majority of the voters can talk to each other now and then; disks keep what they confirmed; nobody lies. Clocks are
//! trusted for leases alone, within the drift bound.
//!
//! When it fails: a minority answers nothing and loses nothing. Any number of members may crash and come back with their disks. A
//! member that lost its disk is let in anew as a learner.

use crate::batch::{Admitted, Image};
use crate::command::{Command, Event, Refusal};
use crate::durable::{Checkpoint, Durable};
use crate::log::FOUNDING;
use crate::machine::{LogTime, StateMachine};
use crate::members::Configuration;
use crate::message::Message;
use crate::running::Running;
use crate::settings::Settings;
use quorate_core::{Effects, Incarnation, Input, NodeId, Protocol, Span, Time};
use serde::{Deserialize, Serialize};

/// One replica.
pub struct Replica<S: StateMachine> {
    me: NodeId,
    settings: Settings,
    state: State<S>,
}

enum State<S: StateMachine> {
    Off,
    Running(Box<Running<S>>),
    /// It was given something that it cannot read, and takes no part any more.
    Halted,
}

/// What a replica waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timer {
    Tick,
    Piece(NodeId),
}

/// What stops a replica for good: a sentence.
pub(crate) struct Halt(pub(crate) String);

impl<S: StateMachine> Replica<S> {
    /// A replica with these settings.
    pub fn new(me: NodeId, settings: Settings) -> Self {
        Self { me, settings, state: State::Off }
    }

    /// The state machine, as far as it is applied.
    pub fn machine(&self) -> Option<&S> {
        match &self.state {
            State::Running(running) => Some(running.machine()),
            State::Off | State::Halted => None,
        }
    }

    /// The last index that is applied.
    pub fn applied(&self) -> u64 {
        match &self.state {
            State::Running(running) => running.applied(),
            State::Off | State::Halted => 0,
        }
    }

    /// Whether this replica takes itself for the leader.
    pub fn leads(&self) -> bool {
        matches!(&self.state, State::Running(running) if running.leads())
    }

    /// Who founded the group is asked once: a replica that has lived finds it on its disk.
    fn start(&self, now: Time, durable: Durable, incarnation: Incarnation) -> Result<Running<S>, Halt> {
        let founders = &self.settings.founders;
        let founds = durable == Durable::default() && founders.voters.contains(&self.me);
        let founding = founds.then(|| Checkpoint {
            index: FOUNDING.index,
            term: FOUNDING.term,
            members: Configuration::founding(founders.clone()),
            image: Image::write(LogTime::ZERO, &Admitted::new(), &S::default()),
        });
        Running::start(self.me, self.settings.clone(), now, durable, founding, incarnation)
    }

    fn ask(&mut self, now: Time, command: Command<S>, out: &mut Effects<'_, Self>) -> Result<(), Halt> {
        let State::Running(running) = &mut self.state else {
            refuse_all(command, out);
            return Ok(());
        };
        match command {
            Command::Propose(proposals) => running.propose(now, proposals, out),
            Command::Query { ticket, query } => running.query(now, ticket, query, out),
            Command::Change { ticket, members } => running.change(now, ticket, members, out),
            Command::Transfer(to) => running.transfer(to, out),
            Command::Campaign => running.campaign(now, out),
        }
        running.settle(now, out)
    }

    fn with(
        &mut self,
        now: Time,
        out: &mut Effects<'_, Self>,
        act: impl FnOnce(&mut Running<S>, &mut Effects<'_, Self>),
    ) -> Result<(), Halt> {
        let State::Running(running) = &mut self.state else { return Ok(()) };
        act(running, out);
        running.settle(now, out)
    }
}

impl<S: StateMachine> Protocol for Replica<S> {
    type Command = Command<S>;
    type Message = Message;
    type Timer = Timer;
    type Event = Event<S>;
    type Durable = Durable;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        let outcome = match input {
            Input::Start { durable, incarnation } => {
                out.set_timer(Timer::Tick, Span::exactly(self.settings.tick));
                self.start(now, durable, incarnation).and_then(|mut running| {
                    running.save_beginning(out);
                    running.tell_restored(out);
                    let outcome = running.settle(now, out);
                    self.state = State::Running(Box::new(running));
                    outcome
                })
            }
            Input::Command(command) => self.ask(now, command, out),
            Input::Message { from, message } => {
                self.with(now, out, |running, out| running.hear(now, from, message, out))
            }
            Input::Timer(Timer::Tick) => {
                out.set_timer(Timer::Tick, Span::exactly(self.settings.tick));
                self.with(now, out, |running, out| running.tick(now, out))
            }
            Input::Timer(Timer::Piece(to)) => self.with(now, out, |running, out| running.piece_overdue(to, out)),
            Input::Saved(count) => self.with(now, out, |running, _| running.saved(count)),
            Input::DiskFull => self.with(now, out, |running, out| running.disk_full(out)),
            Input::DiskFree => self.with(now, out, |running, out| running.disk_free(out)),
            Input::Suspect(node) => self.with(now, out, |running, out| running.miss(now, node, out)),
            // Raft has a detector of its own, and members of its own.
            Input::Trust(_) | Input::View(_) | Input::Lease(_) => Ok(()),
        };
        if let Err(Halt(reason)) = outcome {
            if let State::Running(mut running) = std::mem::replace(&mut self.state, State::Halted) {
                running.abandon(out);
            }
            out.cancel_timer(Timer::Tick);
            out.emit(Event::Halted { reason });
        }
    }
}

fn refuse_all<S: StateMachine>(command: Command<S>, out: &mut Effects<'_, Replica<S>>) {
    let tickets = match command {
        Command::Propose(proposals) => proposals.iter().map(|proposal| proposal.ticket).collect(),
        Command::Query { ticket, .. } | Command::Change { ticket, .. } => vec![ticket],
        Command::Transfer(_) | Command::Campaign => Vec::new(),
    };
    for ticket in tickets {
        out.emit_ahead(Event::Refused { ticket, why: Refusal::Halted });
    }
}
