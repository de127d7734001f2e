//! Raft's election (Ongaro and Ousterhout, 2014).
//!
//! A candidate requests the votes of all nodes in a new term, and a majority of votes makes it
//! leader. A node votes once per term, for a candidate whose log is at least as up to date as its
//! own, and saves its vote before it answers. Terms only grow, so there is at most one leader in
//! each. The nodes run the raft engine of the replicated log with the commands and events of the
//! election family, and without raft's options PreVote and CheckQuorum.
//!
//! ```text
//! RF-1  the client asks to campaign → begin the next term, vote for itself, save the vote, request
//!                                     votes from all
//! RF-2  a vote is requested         → grant it to the first candidate of a term whose log is up to
//!                                     date; save, then reply
//! RF-3  a majority has voted        → become leader, and announce it to all nodes with an empty
//!                                     entry
//! RF-4  an entry of a leader        → follow the leader
//! RF-5  no candidate wins in time   → begin the next term, after a timeout that differs from node
//!                                     to node
//! RF-6  all acknowledged the entry  → stop: send no heartbeats; other layers have to detect a
//!                                     crashed leader
//! ```
//!
//! Cost: 2(n−1) messages to elect and n−1 to announce, when one node campaigns and all are up.
//! Acknowledgements of the announcement and retransmissions count as control messages.
//!
//! Assumes: a majority is up and connected; disks keep what they confirmed. Timing matters for
//! progress only.
//!
//! When it fails: nodes may crash and restart with their disks. Without a majority no leader is
//! elected. Candidates that split the votes try again.
//!
//! Departs from the paper: a leader that all nodes know sends no heartbeats, so that an election
//! ends and its messages can be counted.

use crate::batch::Image;
use crate::directory::Directory;
use crate::durable::{Checkpoint, Durable};
use crate::engine::{Engine, Role};
use crate::guard;
use crate::log::{FOUNDING, Log};
use crate::machine::LogTime;
use crate::members::{Configuration, Members};
use crate::message::Message;
use crate::registers::Registers;
use quorate_core::about::Profile;
use quorate_core::election::{Command, Cost, Counts, Event, ExpectedMessages, Facts, Plan, Refusal, Structure};
use quorate_core::{Class, Describe, Duration, Effects, Epoch, Group, Input, NodeId, Protocol, Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Facts about the algorithm for tables and costs.
pub const FACTS: Facts = Facts { tolerates_loss: true, ..Facts::new(PROFILE, Structure::Votes, COST) };

const PROFILE: Profile = Profile {
    name: "raft",
    class: "by majority",
    summary: "a majority of saved votes in a term makes a leader",
    source: include_str!("election.rs"),
    flaw: None,
    is_checkable: false,
};

const COST: Cost = Cost {
    formula: "2(n−1) + (n−1)",
    expected_messages: |case| {
        let is_formula_exact = case.dead_nodes == 0 && case.starting.is_one();
        is_formula_exact.then(|| {
            ExpectedMessages::exactly(Counts::WithAnnouncement, 3.0 * case.live_nodes.saturating_sub(1) as f64)
        })
    },
};

/// One node of a group that elects a leader by raft's election.
pub struct RaftElection {
    me: NodeId,
    group: Group,
    seed: u64,
    tick: Duration,
    /// `None` before the start, or if the log on the disk is inconsistent.
    engine: Option<Box<Engine>>,
    role: Role,
    /// Whether the timer is set.
    is_ticking: bool,
}

/// The timer of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timer {
    /// The end of one tick.
    Tick,
}

/// Raft's message, classified for the message counts of elections.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ElectionMessage(pub Message);

impl Describe for ElectionMessage {
    fn kind(&self) -> &'static str {
        self.0.kind()
    }

    fn class(&self) -> Class {
        match &self.0 {
            Message::Vote { .. } | Message::VoteReply { .. } => Class::Algorithm,
            Message::Append { entries, .. } if !entries.is_empty() => Class::Announcement,
            Message::Append { .. }
            | Message::AppendReply { .. }
            | Message::Heartbeat { .. }
            | Message::HeartbeatReply { .. }
            | Message::TimeoutNow { .. }
            | Message::ReadIndex { .. }
            | Message::ReadIndexReply { .. }
            | Message::AdmissionRequest { .. }
            | Message::Report(_)
            | Message::ReportRequest
            | Message::NotMember { .. }
            | Message::Forward(_)
            | Message::Piece(_)
            | Message::PieceReply { .. } => Class::Control,
        }
    }
}

/// Minimum election timeout in ticks. A leader that is not known to all nodes sends a heartbeat at
/// every tick.
const ELECTION_TICKS: usize = 5;

impl RaftElection {
    /// One node of a group. The nodes of a group share the seed, from which their timeouts are
    /// derived.
    pub fn new(me: NodeId, plan: &Plan) -> Self {
        let Plan { group, seed, bounds, .. } = plan.clone();
        // Twice the time of a request and its reply, each of which takes a message and its
        // processing.
        let tick = (bounds.message + bounds.processing).times(4);
        let role = Role { leads: false, leader: None, term: 0 };
        Self { me, group, seed, tick, engine: None, role, is_ticking: false }
    }

    fn start(&mut self, durable: Durable) {
        let founding = self.group.contains(self.me).then(|| Checkpoint {
            index: FOUNDING.index,
            term: FOUNDING.term,
            members: Configuration::founding(Members::voters(&self.group)),
            // A checkpoint needs a state machine, although an election applies nothing to it.
            image: Image::write(LogTime::ZERO, &Directory::default(), &Registers::default()),
        });
        let config = raft::Config {
            election_tick: ELECTION_TICKS,
            heartbeat_tick: 1,
            max_size_per_msg: 1 << 20,
            // No node applies anything, so the commit of the announcement is not worth a message.
            skip_bcast_commit: true,
            ..raft::Config::default()
        };
        let engine = Engine::start(self.me, self.seed, config, Log::open(durable, founding)).ok();
        if let Some(engine) = &engine {
            self.role = engine.role();
        }
        self.engine = engine.map(Box::new);
    }

    /// RF-1.
    fn campaign(&mut self, out: &mut Effects<'_, Self>) {
        let Some(engine) = self.engine.as_mut().filter(|engine| engine.configuration().is_voter(self.me)) else {
            return out.emit(Event::Refused(Refusal::NotEligible));
        };
        if engine.leads() {
            out.emit(Event::Refused(Refusal::AlreadyLeading));
        // A pending save is a term, a vote or an announcement, so an election is running.
        } else if engine.is_candidate() || !engine.has_saved_all() {
            out.emit(Event::Refused(Refusal::AlreadyRunning));
        } else {
            out.note("RF-1", format_args!("campaigns in term {}", engine.role().term + 1));
            engine.campaign();
        }
    }

    /// Refuses: raft's election as published has no leadership transfer.
    fn resign(&self, out: &mut Effects<'_, Self>) {
        let leads = self.engine.as_ref().is_some_and(|engine| engine.leads());
        out.emit(Event::Refused(if leads { Refusal::CannotResign } else { Refusal::NotLeading }));
    }

    /// Passes a message to raft, which implements RF-2, RF-3 and RF-4.
    fn receive(&mut self, from: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        let Some(engine) = &mut self.engine else { return };
        if let Some(objection) = guard::find_objection(engine, self.me, from, &message) {
            return out.note("RF-2", format_args!("ignores a message from {from}: {objection}"));
        }
        engine.step(from, message);
    }

    /// RF-5. A node that waits for its disk does not become a candidate.
    fn tick(&mut self) {
        self.is_ticking = false;
        if let Some(engine) = &mut self.engine
            && (engine.leads() || engine.has_saved_all())
        {
            engine.tick();
        }
    }

    /// Carries out raft's effects, emits events about changes, and sets the timer if this node
    /// waits for votes, a leader or acknowledgements.
    fn settle(&mut self, out: &mut Effects<'_, Self>) {
        let Some(engine) = &mut self.engine else { return };
        while let Some(output) = engine.process_ready(out, ElectionMessage, &BTreeSet::new()) {
            if let Some(last) = output.committed.last() {
                engine.mark_applied(last.index);
            }
        }
        let previous = std::mem::replace(&mut self.role, engine.role());
        let Role { leader, term, .. } = self.role;
        let epoch = Epoch(term);
        if term != previous.term {
            out.emit(Event::Began { epoch });
        }
        if self.role.leads && !previous.leads {
            // The wait for votes has ended; the wait for acknowledgements begins now.
            self.is_ticking = false;
        }
        if let Some(leader) = leader.filter(|_| (leader, term) != (previous.leader, previous.term)) {
            out.note(
                if leader == self.me { "RF-3" } else { "RF-4" },
                format_args!("node {leader} leads in term {term}"),
            );
            out.emit(Event::elected(leader, epoch));
        }
        self.wait_or_stop(out);
    }

    /// RF-6. Sets the timer while this node waits for votes, a leader or acknowledgements.
    fn wait_or_stop(&mut self, out: &mut Effects<'_, Self>) {
        let Some(engine) = &self.engine else { return };
        // The log begins with the founding term; every later term is that of an election.
        let has_begun = self.role.term > FOUNDING.term;
        let waits =
            if engine.leads() { !engine.is_log_acknowledged_by_all() } else { has_begun && self.role.leader.is_none() };
        match (waits, self.is_ticking) {
            (true, false) => out.set_timer(Timer::Tick, Span::exactly(self.tick)),
            (false, true) => out.cancel_timer(Timer::Tick),
            (true, true) | (false, false) => {}
        }
        self.is_ticking = waits;
    }
}

impl Protocol for RaftElection {
    type Command = Command;
    type Message = ElectionMessage;
    type Timer = Timer;
    type Event = Event;
    type Durable = Durable;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, incarnation: _ } => self.start(durable),
            Input::Command(Command::Campaign) => self.campaign(out),
            Input::Command(Command::Resign) => self.resign(out),
            Input::Message { from, message: ElectionMessage(message) } => self.receive(from, message, out),
            Input::Timer(Timer::Tick) => self.tick(),
            Input::Saved(count) => {
                if let Some(engine) = &mut self.engine {
                    engine.record_saved(count);
                }
            }
            Input::DiskFull
            | Input::DiskFree
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::View(_)
            | Input::Lease(_)
            | Input::EndOfTurn => {}
        }
        self.settle(out);
    }
}
