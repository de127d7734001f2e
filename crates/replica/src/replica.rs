//! The replica: a log and a state machine around tikv's raft (Ongaro and Ousterhout, 2014).
//!
//! The members elect a leader. The leader appends commands to a log that all members replicate, and
//! an entry is committed once a majority has it on disk. Every member applies the same entries in
//! the same order, so all of them have the same state at the same index. A member that was down,
//! slow or partitioned catches up later, by entries or by a snapshot.
//!
//! ```text
//! RP-1   a client proposes       → a leader collects the commands of a turn and appends them as one
//!                                  entry with log time, at most two entries ahead of the commit
//!                                  index
//! RP-2   a turn ends             → save raft's entries and send its messages; a leader's messages
//!                                  go ahead of its disk, a follower's wait for its disk
//! RP-3   the disk confirms       → report it to raft, so that this disk counts
//! RP-4   an entry is committed   → apply it once, and answer the clients that proposed it here; a
//!                                  leader announces it with its next append, or at once if a
//!                                  follower waits for it and no entry is in flight
//! RP-5   a client asks a query   → answer it once a round of heartbeats has confirmed the leader,
//!                                  and everything that it had committed is applied here
//! RP-6   the leader has a lease  → answer queries without a round
//! RP-7   many entries applied    → save a checkpoint, and drop the log before it
//! RP-8   a peer lags too far     → send it a snapshot in pieces; report to raft when it has
//!                                  arrived or is abandoned
//! RP-9   a change of members     → change several by a joint configuration; a new voter must have
//!                                  been a learner that has the log; a leader that leaves hands
//!                                  its leadership over first
//! RP-10  no log on the disk      → take no part; ask for admission, and wait for a snapshot
//!                                  that admits this incarnation as a learner
//! RP-11  the disk is full        → refuse commands and entries, give up the leadership, answer
//!                                  queries from the applied state
//! RP-12  the leader changes      → send repeatable commands again; report that the outcome of all
//!                                  others is unknown
//! RP-13  the leader has crashed  → where leaders have no leases, drop the promise not to vote for
//!                                  others; where they have, keep it until it expires; then
//!                                  campaign, one replica after the other
//! RP-14  a follower has commands → forward repeatable ones to the leader, which does not answer;
//!                                  forward them again until they are applied here
//! RP-15  a session attaches      → after a round, report its unacknowledged outcomes; then report
//!                                  its outcomes of every entry that is applied here
//! RP-16  a deadline passes       → the leader proposes an empty entry, unless other entries move
//!                                  log time
//! RP-17  a member reports        → record its address and format level; commands that not all
//!                                  members understand are refused
//! RP-18  the leadership moves    → offer it to another voter, which may lead at any time from then
//!                                  on; a replica that retires does not campaign
//! RP-19  a leader's message      → promise for some time not to vote for others, whether leaders
//!                                  have leases or not
//! ```
//!
//! Cost: with a leader, one round to a majority and one save there for all commands of an entry:
//! 2(n−1) messages, and heartbeats.
//!
//! Assumes: a majority of the voters is connected from time to time; disks keep what they
//! confirmed; no node lies. Clocks are trusted only for leases, within the drift bound.
//!
//! When it fails: a minority answers nothing and loses nothing. Any number of members may crash and
//! restart with their disks. A member that lost its disk is admitted again as a learner.

use crate::batch::Image;
use crate::command::{Command, Event, Refusal};
use crate::directory::Directory;
use crate::durable::{Checkpoint, Durable};
use crate::log::FOUNDING;
use crate::machine::{LogTime, StateMachine};
use crate::members::Configuration;
use crate::message::Message;
use crate::running::{Question, RunningReplica};
use crate::settings::Settings;
use quorate_core::{Effects, Incarnation, Input, NodeId, Protocol, Span, Time};
use serde::{Deserialize, Serialize};

/// One replica of a replicated log, with its state machine.
pub struct Replica<S: StateMachine> {
    me: NodeId,
    settings: Settings,
    state: State<S>,
}

enum State<S: StateMachine> {
    NotStarted,
    Running(Box<RunningReplica<S>>),
    /// The replica could not decode an entry or a snapshot, or found its log inconsistent.
    Halted,
}

/// The timers of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timer {
    Tick,
    /// This peer's acknowledgement of a piece of a snapshot is overdue.
    Piece(NodeId),
    /// It is this replica's turn to stand for a lost leader.
    Campaign,
}

/// Why a replica stops for good, as a sentence.
pub(crate) struct Halt(pub(crate) String);

impl<S: StateMachine> Replica<S> {
    /// Creates a replica that has not started yet.
    pub fn new(me: NodeId, settings: Settings) -> Self {
        Self { me, settings, state: State::NotStarted }
    }

    /// The state machine after all applied entries; `None` if the replica is not running.
    pub fn machine(&self) -> Option<&S> {
        match &self.state {
            State::Running(running) => Some(running.machine()),
            State::NotStarted | State::Halted => None,
        }
    }

    /// The index of the last applied entry; 0 if the replica is not running.
    pub fn applied_index(&self) -> u64 {
        match &self.state {
            State::Running(running) => running.applied_index(),
            State::NotStarted | State::Halted => 0,
        }
    }

    /// Whether this replica believes that it is the leader.
    pub fn leads(&self) -> bool {
        matches!(&self.state, State::Running(running) if running.leads())
    }

    /// Starts from the durable state. The settings' founders matter only at the first start of a
    /// replica; later its disk has the members.
    fn start(&mut self, now: Time, durable: Durable, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        let founders = &self.settings.founders;
        // A replica that lost its disk starts from `Durable::wiped()`, which is not the default. So
        // it does not found the group again.
        let is_founder = durable == Durable::default() && founders.voters.contains(&self.me);
        let founding = is_founder.then(|| Checkpoint {
            index: FOUNDING.index,
            term: FOUNDING.term,
            members: Configuration::founding(founders.clone()),
            image: Image::write(LogTime::ZERO, &Directory::default(), &S::default()),
        });
        match RunningReplica::start(self.me, self.settings.clone(), now, durable, founding, incarnation) {
            Ok(mut running) => {
                running.save_initial_state(out);
                running.record_new_configuration();
                running.report_restored(out);
                self.state = State::Running(Box::new(running));
            }
            Err(halt) => self.halt(halt, out),
        }
    }

    fn if_running(&mut self, act: impl FnOnce(&mut RunningReplica<S>)) {
        if let State::Running(running) = &mut self.state {
            act(running);
        }
    }

    fn end_turn(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        if let State::Running(running) = &mut self.state
            && let Err(halt) = running.end_turn(now, out)
        {
            self.halt(halt, out);
        }
    }

    fn halt(&mut self, Halt(reason): Halt, out: &mut Effects<'_, Self>) {
        if let State::Running(mut running) = std::mem::replace(&mut self.state, State::Halted) {
            running.abandon_requests(out);
        }
        out.cancel_timer(Timer::Tick);
        out.cancel_timer(Timer::Campaign);
        out.emit(Event::Halted { reason });
    }

    /// Gives a running replica a command. A replica that is not running refuses the command.
    fn handle_command(&mut self, now: Time, command: Command<S>, out: &mut Effects<'_, Self>) {
        let State::Running(running) = &mut self.state else { return refuse_all(command, out) };
        match command {
            Command::Propose(proposals) => running.propose(now, proposals, out),
            Command::Query { ticket, query } => running.ask(now, ticket, Question::Query(query), out),
            Command::Attach { ticket, session } => running.ask(now, ticket, Question::Attach(session), out),
            Command::Detach(session) => running.detach(session, out),
            Command::Change { ticket, members, addresses } => {
                running.propose_change(now, ticket, (members, addresses), out);
            }
            Command::Transfer(to) => running.transfer(to, out),
            Command::Retire => running.retire(out),
            Command::Campaign => running.campaign(now, out),
        }
    }
}

impl<S: StateMachine> Protocol for Replica<S> {
    type Command = Command<S>;
    type Message = Message;
    type Timer = Timer;
    type Event = Event<S>;
    type Durable = Durable;

    fn uses_end_of_turn(&self) -> bool {
        true
    }

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, incarnation } => {
                out.set_timer(Timer::Tick, Span::exactly(self.settings.tick));
                self.start(now, durable, incarnation, out);
            }
            Input::Command(command) => self.handle_command(now, command, out),
            Input::Message { from, message } => self.if_running(|running| running.receive(now, from, message, out)),
            Input::Timer(Timer::Tick) => {
                out.set_timer(Timer::Tick, Span::exactly(self.settings.tick));
                self.if_running(|running| running.tick(now, out));
            }
            Input::Timer(Timer::Piece(to)) => self.if_running(|running| running.handle_piece_timeout(to, out)),
            Input::Timer(Timer::Campaign) => self.if_running(|running| running.stand(now, out)),
            Input::Saved(count) => self.if_running(|running| running.record_saved(count)),
            Input::DiskFull => self.if_running(|running| running.handle_disk_full(out)),
            Input::DiskFree => self.if_running(|running| running.handle_disk_free(out)),
            Input::Suspect(node) => self.if_running(|running| running.handle_suspicion(now, node, out)),
            Input::EndOfTurn => self.end_turn(now, out),
            Input::Trust(node) => self.if_running(|running| running.handle_trust(node)),
            // Raft has its own members.
            Input::View(_) | Input::Lease(_) => {}
        }
    }
}

/// Refuses the requests in a command to a replica that is not running.
fn refuse_all<S: StateMachine>(command: Command<S>, out: &mut Effects<'_, Replica<S>>) {
    let tickets = match command {
        Command::Propose(proposals) => proposals.iter().map(|proposal| proposal.ticket).collect(),
        Command::Query { ticket, .. } | Command::Change { ticket, .. } | Command::Attach { ticket, .. } => vec![ticket],
        Command::Detach(_) | Command::Transfer(_) | Command::Retire | Command::Campaign => Vec::new(),
    };
    for ticket in tickets {
        out.emit_ahead(Event::Refused { ticket, refusal: Refusal::Halted });
    }
}
