//! tikv's raft, driven by inputs and effects: what it wants saved is saved, what it wants sent is sent, in an order that
//! keeps its promises.

use crate::convert;
use crate::durable::{Ballot, Checkpoint, Durable, Write};
use crate::log::Log;
use crate::members::{Change, Configuration, id, node};
use crate::message::{Entry, Message, Round};
use crate::order::in_order;
use bytes::Bytes;
use quorate_core::{Effects, NodeId, Protocol};
use raft::eraftpb::{ConfChangeV2, Message as RaftMessage, MessageType, Snapshot};
use raft::prelude::{RawNode, Ready};
use raft::{Config, SnapshotStatus, StateRole};
use std::collections::VecDeque;

/// A protocol whose saves are raft's.
pub(crate) trait Raft: Protocol<Durable = Durable> {}

impl<P: Protocol<Durable = Durable>> Raft for P {}

/// Raft's state machine, its dice replaced by ours.
pub(crate) struct Engine {
    node: RawNode<Log>,
    me: NodeId,
    seed: u64,
    attempts: u64,
    /// How far the log is committed, where that alone changed: it goes to the disk with the next save.
    unsaved: Option<Ballot>,
    /// What the disk was last told of votes and commits, and how many saves it took until it knew the vote.
    told: Ballot,
    voted: u64,
    /// How many saves were asked for since the start, and how many of them are durable.
    asked: u64,
    saved: u64,
    awaiting: VecDeque<Awaiting>,
}

/// Something raft handed out, which it must be told of once so many saves are durable.
struct Awaiting {
    saves: u64,
    ready: u64,
    installed: Option<u64>,
}

/// What raft handed out, beyond what was saved and sent.
#[derive(Default)]
pub(crate) struct News {
    /// Whether role, leader or term may have changed.
    pub(crate) role: bool,
    /// Rounds that succeeded, each with the index from which on its queries may be answered.
    pub(crate) rounds: Vec<(Round, u64)>,
    pub(crate) installed: Option<Checkpoint>,
    pub(crate) committed: Vec<Entry>,
    pub(crate) snapshots: Vec<(NodeId, Snapshot)>,
}

/// Who a replica takes itself and others for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) leads: bool,
    pub(crate) leader: Option<NodeId>,
    pub(crate) term: u64,
}

impl Engine {
    /// Raft on this log. It fails if the log makes no sense.
    pub(crate) fn start(me: NodeId, seed: u64, config: Config, log: Log) -> raft::Result<Self> {
        let applied = log.checkpoint().map_or(0, |checkpoint| checkpoint.index);
        let config = Config { id: id(me), applied, ..config };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let node = RawNode::new(&config, log, &logger)?;
        let told = Ballot { term: node.raft.term, vote: node.raft.vote, commit: node.raft.raft_log.committed };
        let mut engine = Self {
            node,
            me,
            seed,
            attempts: 0,
            unsaved: None,
            told,
            voted: 0,
            asked: 0,
            saved: 0,
            awaiting: VecDeque::new(),
        };
        engine.redraw();
        Ok(engine)
    }

    /// Saves and sends what raft wants saved and sent, and hands out the rest; nothing if raft wants nothing. Messages
    /// go out in the protocol's own wrapping.
    pub(crate) fn next<P: Raft>(&mut self, out: &mut Effects<'_, P>, wrap: fn(Message) -> P::Message) -> Option<News> {
        if !self.node.has_ready() {
            return None;
        }
        let mut ready = self.node.ready();
        let ahead = ready.take_messages();
        let after = ready.take_persisted_messages();
        let mut news = News {
            role: ready.ss().is_some() || ready.hs().is_some(),
            rounds: rounds(&mut ready),
            committed: ready.take_committed_entries().iter().map(Entry::of).collect(),
            ..News::default()
        };
        news.installed = self.save(&mut ready, out);
        let installed = news.installed.as_ref().map(|checkpoint| checkpoint.index);
        self.awaiting.push_back(Awaiting { saves: self.asked, ready: ready.number(), installed });
        self.node.advance_append_async(ready);
        // A leader's messages need not wait: its own disk counts like that of any other member. But one that leads by its own
        // vote alone must not forget it.
        let (ahead, wait) = if self.has_saved_vote() { (ahead, Vec::new()) } else { (Vec::new(), ahead) };
        for message in ahead {
            news.route(message, |to, message| out.send_ahead(to, wrap(message)));
        }
        for message in wait.into_iter().chain(after) {
            news.route(message, |to, message| out.send(to, wrap(message)));
        }
        self.confirm();
        Some(news)
    }

    /// Saves what a `Ready` wants saved, in an order that a torn disk cannot make a lie.
    fn save<P: Raft>(&mut self, ready: &mut Ready, out: &mut Effects<'_, P>) -> Option<Checkpoint> {
        if let Some(state) = ready.hs() {
            self.unsaved = Some(Ballot { term: state.term, vote: state.vote, commit: state.commit });
        }
        if !ready.must_sync() {
            return None;
        }
        let installed = checkpoint_of(ready.snapshot());
        if let Some(checkpoint) = &installed {
            self.node.mut_store().install(checkpoint.clone());
        }
        let entries = ready.take_entries();
        if !entries.is_empty() {
            self.node.mut_store().append(&entries);
        }
        let entries = entries.iter().map(Entry::of).collect();
        let (writes, rest) = in_order(self.unsaved.take(), self.told.commit, installed.clone(), entries);
        self.unsaved = rest;
        for write in writes {
            if let Write::Ballot(ballot) = &write {
                let is_vote = (ballot.term, ballot.vote) != (self.told.term, self.told.vote);
                self.voted = if is_vote { self.asked + 1 } else { self.voted };
                self.told = *ballot;
            }
            self.ask(write, out);
        }
        installed
    }

    /// The log's checkpoint does not tell all that it should any more.
    pub(crate) fn outdate(&mut self) {
        self.node.mut_store().outdate();
    }

    pub(crate) fn ask<P: Raft>(&mut self, write: Write, out: &mut Effects<'_, P>) {
        self.asked += 1;
        out.save(write);
    }

    pub(crate) fn saved(&mut self, count: u64) {
        self.saved = self.saved.max(count);
        self.confirm();
    }

    fn confirm(&mut self) {
        let mut last = None;
        while self.awaiting.front().is_some_and(|awaiting| awaiting.saves <= self.saved)
            && let Some(awaiting) = self.awaiting.pop_front()
        {
            last = Some(awaiting.ready);
            if let Some(index) = awaiting.installed {
                self.node.on_persist_ready(awaiting.ready);
                self.node.advance_apply_to(index);
            }
        }
        if let Some(ready) = last {
            self.node.on_persist_ready(ready);
            self.redraw();
        }
    }

    pub(crate) fn is_saved(&self) -> bool {
        self.awaiting.is_empty()
    }

    pub(crate) fn persisted(&self) -> u64 {
        self.node.raft.raft_log.persisted
    }

    /// Whether every entry of the log is durable, which raft takes for granted where a candidate wins.
    pub(crate) fn has_log_on_disk(&self) -> bool {
        let log = &self.node.raft.raft_log;
        log.persisted >= log.last_index()
    }

    pub(crate) fn has_saved_vote(&self) -> bool {
        self.saved >= self.voted
    }

    pub(crate) fn applied(&mut self, index: u64) {
        self.node.advance_apply_to(index);
        self.redraw();
    }

    pub(crate) fn tick(&mut self) {
        let stood = self.node.tick() && !self.leads();
        self.attempts += u64::from(stood);
        self.redraw();
    }

    /// A message of a peer, already judged harmless. Raft may still find it pointless.
    pub(crate) fn step(&mut self, from: NodeId, message: Message) {
        if let Some(message) = convert::incoming(self.me, from, message) {
            let _ = self.node.step(message);
            self.redraw();
        }
    }

    pub(crate) fn step_snapshot(&mut self, from: NodeId, term: u64, checkpoint: Checkpoint) {
        let Checkpoint { index, term: log_term, members, image } = checkpoint;
        let mut message = RaftMessage { from: id(from), to: id(self.me), term, ..RaftMessage::default() };
        message.set_msg_type(MessageType::MsgSnapshot);
        message.set_snapshot(convert::snapshot(index, log_term, &members, image));
        let _ = self.node.step(message);
        self.redraw();
    }

    /// Puts an entry into the log and tells its index, unless raft takes no more.
    pub(crate) fn propose(&mut self, data: Bytes) -> Option<u64> {
        let proposed = self.node.propose(Vec::new(), data.into());
        self.redraw();
        proposed.ok().map(|()| self.node.raft.raft_log.last_index())
    }

    /// Puts a change of members into the log and tells its index, unless one is under way.
    pub(crate) fn propose_change(&mut self, context: Bytes, change: &Change) -> Option<u64> {
        if change.is_empty() || self.has_change_under_way() || self.configuration().is_joint() {
            return None;
        }
        let proposed = self.node.propose_conf_change(context.into(), change.to_raft());
        self.redraw();
        proposed.ok().map(|()| self.node.raft.raft_log.last_index())
    }

    /// Whether the log may hold a change of members that is not applied yet.
    pub(crate) fn has_change_under_way(&self) -> bool {
        self.node.raft.has_pending_conf()
    }

    /// Applies a change of members that is committed; none is the end of an exchange.
    pub(crate) fn apply_change(&mut self, change: Option<&Change>) -> Configuration {
        let change = change.map_or_else(ConfChangeV2::default, Change::to_raft);
        // A change that raft refuses now it refused everywhere: the members stay as they are.
        let _ = self.node.apply_conf_change(&change);
        let configuration = self.configuration();
        self.node.mut_store().outdate();
        if self.leads() && !configuration.votes(self.me) {
            // Raft would go on to lead a group that it is not in.
            let term = self.node.raft.term;
            self.node.raft.become_follower(term, raft::INVALID_ID);
        }
        self.redraw();
        configuration
    }

    pub(crate) fn campaign(&mut self) {
        self.attempts += 1;
        let _ = self.node.campaign();
        self.redraw();
    }

    /// Follows nobody from now on, until it hears of a leader.
    pub(crate) fn forget_leader(&mut self) {
        let term = self.node.raft.term;
        if self.node.raft.state == StateRole::Follower {
            self.node.raft.become_follower(term, raft::INVALID_ID);
        }
        self.redraw();
    }

    pub(crate) fn transfer(&mut self, to: NodeId) {
        self.node.transfer_leader(id(to));
        self.redraw();
    }

    pub(crate) fn begin_round(&mut self, round: Round) {
        self.node.read_index(round.to_bytes());
        self.redraw();
    }

    /// A snapshot arrived as a whole, or never will.
    pub(crate) fn report_snapshot(&mut self, to: NodeId, arrived: bool) {
        let status = if arrived { SnapshotStatus::Finish } else { SnapshotStatus::Failure };
        self.node.report_snapshot(id(to), status);
        self.redraw();
    }

    /// Keeps the state at an index, saves it, and lets entries before it go.
    pub(crate) fn keep<P: Raft>(&mut self, checkpoint: Checkpoint, entries: u64, out: &mut Effects<'_, P>) {
        let cut = self.node.mut_store().keep(checkpoint.clone(), entries);
        self.ask(Write::Checkpoint { checkpoint, cut }, out);
    }

    pub(crate) fn log(&self) -> &Log {
        self.node.store()
    }

    pub(crate) fn leads(&self) -> bool {
        self.node.raft.state == StateRole::Leader
    }

    pub(crate) fn stands(&self) -> bool {
        matches!(self.node.raft.state, StateRole::Candidate | StateRole::PreCandidate)
    }

    /// Whether every member holds all that this leader put into the log.
    pub(crate) fn is_known_to_all(&self) -> bool {
        let last = self.last_index();
        self.node.raft.prs().iter().all(|(_, progress)| progress.matched >= last)
    }

    pub(crate) fn role(&self) -> Role {
        Role { leads: self.leads(), leader: node(self.node.raft.leader_id), term: self.node.raft.term }
    }

    pub(crate) fn committed(&self) -> u64 {
        self.node.raft.raft_log.committed
    }

    /// Whether an entry of the leader's own term is committed: only then does it know how far the log is.
    pub(crate) fn has_settled(&self) -> bool {
        self.node.raft.commit_to_current_term()
    }

    pub(crate) fn last_index(&self) -> u64 {
        self.node.raft.raft_log.last_index()
    }

    pub(crate) fn is_handing_over(&self) -> bool {
        self.node.raft.lead_transferee.is_some()
    }

    pub(crate) fn configuration(&self) -> Configuration {
        Configuration::of(&self.node.raft.prs().conf().to_conf_state())
    }

    /// The last entry that a member has acknowledged to this leader.
    pub(crate) fn acknowledged(&self, member: NodeId) -> u64 {
        self.node.raft.prs().get(id(member)).map_or(0, |progress| progress.matched)
    }

    /// A member holds nothing, whatever it acknowledged: it lost its disk since.
    pub(crate) fn begin_anew(&mut self, member: NodeId) {
        if self.leads()
            && let Some(progress) = self.node.raft.mut_prs().get_mut(id(member))
            && progress.matched > 0
        {
            progress.matched = 0;
            progress.become_probe();
        }
    }

    /// The voters that could lead in this leader's place, those that hold most of the log first.
    pub(crate) fn successors(&self) -> Vec<NodeId> {
        let progress = self.node.raft.prs();
        let held = |voter: &NodeId| progress.get(id(*voter)).filter(|progress| progress.recent_active);
        let voters = self.configuration().incoming.voters.into_iter().filter(|voter| *voter != self.me);
        let mut active: Vec<_> = voters.filter(|voter| held(voter).is_some()).collect();
        active.sort_by_key(|voter| std::cmp::Reverse(held(voter).map(|progress| progress.matched)));
        active
    }

    /// Raft's own dice are thrown by the operating system. Ours follow from seed, node, term and attempt, and are set
    /// after every call, so that a run is repeated to the last byte.
    fn redraw(&mut self) {
        let least = self.node.raft.election_timeout();
        let words = [self.seed, id(self.me), self.node.raft.term, self.attempts];
        let draw = words.into_iter().fold(0x9E37_79B9_7F4A_7C15, |state: u64, word| mix(state ^ mix(word)));
        let spread = usize::try_from(draw % least.max(1) as u64).unwrap_or(0);
        self.node.raft.set_randomized_election_timeout(least + spread);
    }
}

impl News {
    /// A snapshot is sent in pieces; everything else goes as it is.
    fn route(&mut self, message: RaftMessage, mut send: impl FnMut(NodeId, Message)) {
        if message.get_msg_type() == MessageType::MsgSnapshot {
            if let Some(to) = node(message.to) {
                self.snapshots.push((to, message.get_snapshot().clone()));
            }
        } else if let Some((to, message)) = convert::outgoing(&message) {
            send(to, message);
        }
    }
}

fn rounds(ready: &mut Ready) -> Vec<(Round, u64)> {
    let states = ready.take_read_states();
    states.iter().filter_map(|state| Some((Round::of_bytes(&state.request_ctx)?, state.index))).collect()
}

pub(crate) fn checkpoint_of(snapshot: &Snapshot) -> Option<Checkpoint> {
    let metadata = snapshot.get_metadata();
    (metadata.index > 0).then(|| Checkpoint {
        index: metadata.index,
        term: metadata.term,
        members: Configuration::of(metadata.get_conf_state()),
        image: snapshot.data.clone(),
    })
}

/// Spreads the bits of a word (the finisher of splitmix64).
pub(crate) const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}
