//! Raft's election (Ongaro and Ousterhout, 2014).
//!
//! A candidate asks everyone for its vote in a new term, and a majority makes it leader. A node votes once a term, for somebody whose
//! log is no older than its own, and saves its vote before it gives it. Terms only grow, so there is at most one leader in each. This
//! is the very engine of the replicated log, seen through the commands and events of the family, with PreVote and CheckQuorum off.
//!
//! ```text
//! RF-1  asked to campaign       → begin the next term, vote for oneself, save that, and ask everyone
//! RF-2  asked for a vote        → the first who asks in a term gets it, if its log is no older; save it, then answer
//! RF-3  a majority has voted    → lead, and tell everyone by an empty entry
//! RF-4  an entry of a leader    → follow it
//! RF-5  nobody wins for a while → begin anew, after a time that differs from node to node
//! RF-6  all have acknowledged   → rest: no heartbeat is sent, and a silent leader is for others to notice
//! ```
//!
//! Cost: 2(n−1) messages to elect and n−1 to announce, when one node starts. Acknowledgements of the announcement and repetitions are
//! counted as control.
//!
//! Assumes: a majority is up and can talk; disks keep what they confirmed. Timing matters for progress only.
//!
//! When it fails: nodes may crash and come back with their disks. Without a majority nobody is elected. Candidates who split the votes
//! try again.
//!
//! Departs from the paper: a leader that everybody knows sends no heartbeats, so that an election ends and can be counted.

use crate::batch::{Admitted, Image};
use crate::durable::{Checkpoint, Durable};
use crate::engine::{Engine, Role};
use crate::guard;
use crate::log::{FOUNDING, Log};
use crate::machine::LogTime;
use crate::members::{Configuration, Members};
use crate::message::Message;
use crate::registers::Registers;
use quorate_core::about::Profile;
use quorate_core::election::{Book, Command, Cost, Counts, Event, Facts, Plan, Refusal, Shape};
use quorate_core::{Class, Describe, Duration, Effects, Epoch, Group, Input, NodeId, Protocol, Span, Time};
use serde::{Deserialize, Serialize};

/// The line of the book's table.
pub const FACTS: Facts = Facts { tolerates_loss: true, ..Facts::new(PROFILE, Shape::Votes, COST) };

const PROFILE: Profile = Profile {
    name: "raft",
    class: "by majority",
    summary: "a majority of saved votes in a term makes a leader",
    source: include_str!("election.rs"),
    flaw: None,
    checkable: false,
};

const COST: Cost = Cost {
    formula: "2(n−1) + (n−1)",
    book: |case| {
        let lone = case.dead == 0 && case.starting.is_one();
        lone.then(|| Book::exactly(Counts::WithAnnouncement, 3.0 * case.live.saturating_sub(1) as f64))
    },
};

/// One node of a group that elects a leader as raft does.
pub struct RaftElection {
    me: NodeId,
    group: Group,
    seed: u64,
    tick: Duration,
    engine: Option<Box<Engine>>,
    role: Role,
    is_ticking: bool,
}

/// What a node waits for: the end of one beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timer {
    Tick,
}

/// Raft's message, counted as elections are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counted(pub Message);

impl Describe for Counted {
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
            | Message::Knock { .. }
            | Message::Piece(_)
            | Message::PieceReply { .. } => Class::Control,
        }
    }
}

/// A vote is awaited for so many beats at least, and a leader that is not known to all is heard of at every one.
const ELECTION_TICKS: usize = 5;

impl RaftElection {
    /// One node of a group. Nodes of one group share the seed, from which their waits follow.
    pub fn new(me: NodeId, plan: &Plan) -> Self {
        let Plan { group, seed, bounds, .. } = plan.clone();
        let tick = (bounds.message + bounds.processing).times(4);
        let role = Role { leads: false, leader: None, term: 0 };
        Self { me, group, seed, tick, engine: None, role, is_ticking: false }
    }

    fn start(&mut self, durable: Durable) {
        let founding = self.group.contains(self.me).then(|| Checkpoint {
            index: FOUNDING.index,
            term: FOUNDING.term,
            members: Configuration::founding(Members::voters(&self.group)),
            image: Image::write(LogTime::ZERO, &Admitted::new(), &Registers::default()),
        });
        let config = raft::Config {
            election_tick: ELECTION_TICKS,
            heartbeat_tick: 1,
            max_size_per_msg: 1 << 20,
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
        let Some(engine) = self.engine.as_mut().filter(|engine| engine.configuration().votes(self.me)) else {
            return out.emit(Event::Refused(Refusal::NotEligible));
        };
        if engine.leads() {
            out.emit(Event::Refused(Refusal::AlreadyLeading));
        } else if engine.stands() || !engine.is_saved() {
            out.emit(Event::Refused(Refusal::AlreadyRunning));
        } else {
            out.note("RF-1", format_args!("stands in term {}", engine.role().term + 1));
            engine.campaign();
        }
    }

    /// The textbook's raft knows no handover.
    fn resign(&self, out: &mut Effects<'_, Self>) {
        let leads = self.engine.as_ref().is_some_and(|engine| engine.leads());
        out.emit(Event::Refused(if leads { Refusal::CannotResign } else { Refusal::NotLeading }));
    }

    /// RF-2, RF-3 and RF-4 are raft's own.
    fn hear(&mut self, from: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        let Some(engine) = &mut self.engine else { return };
        if let Some(objection) = guard::objection(engine, self.me, from, &message) {
            return out.note("RF-2", format_args!("ignores what {from} sent: {objection}"));
        }
        engine.step(from, message);
    }

    /// RF-5. Who waits for its disk does not stand.
    fn tick(&mut self) {
        self.is_ticking = false;
        if let Some(engine) = &mut self.engine
            && (engine.leads() || engine.is_saved())
        {
            engine.tick();
        }
    }

    /// Carries out what raft wants, tells what changed, and waits for the next beat if there is anything to wait for.
    fn settle(&mut self, out: &mut Effects<'_, Self>) {
        let Some(engine) = &mut self.engine else { return };
        while let Some(news) = engine.next(out, Counted) {
            if let Some(last) = news.committed.last() {
                engine.applied(last.index);
            }
        }
        let before = std::mem::replace(&mut self.role, engine.role());
        let Role { leader, term, .. } = self.role;
        let epoch = Epoch(term);
        if term != before.term {
            out.emit(Event::Began { epoch });
        }
        if self.role.leads && !before.leads {
            // The wait for votes is over; that for acknowledgements begins now.
            self.is_ticking = false;
        }
        if let Some(leader) = leader.filter(|_| (leader, term) != (before.leader, before.term)) {
            out.note(if leader == self.me { "RF-3" } else { "RF-4" }, format_args!("{leader} leads in term {term}"));
            out.emit(Event::elected(leader, epoch));
        }
        self.rest_or_wait(out);
    }

    /// RF-6.
    fn rest_or_wait(&mut self, out: &mut Effects<'_, Self>) {
        let Some(engine) = &self.engine else { return };
        let began = self.role.term > FOUNDING.term;
        let waits = if engine.leads() { !engine.is_known_to_all() } else { began && self.role.leader.is_none() };
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
    type Message = Counted;
    type Timer = Timer;
    type Event = Event;
    type Durable = Durable;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, incarnation: _ } => self.start(durable),
            Input::Command(Command::Campaign) => self.campaign(out),
            Input::Command(Command::Resign) => self.resign(out),
            Input::Message { from, message: Counted(message) } => self.hear(from, message, out),
            Input::Timer(Timer::Tick) => self.tick(),
            Input::Saved(count) => {
                if let Some(engine) = &mut self.engine {
                    engine.saved(count);
                }
            }
            Input::DiskFull
            | Input::DiskFree
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::View(_)
            | Input::Lease(_) => {}
        }
        self.settle(out);
    }
}
