//! tikv's raft, driven by inputs and effects: carries out the saves and sends that raft requests,
//! in an order that keeps its guarantees.

use crate::convert;
use crate::durable::{Ballot, Checkpoint, Durable, Write};
use crate::fingerprint::mix_bits;
use crate::heartbeats::Heartbeats;
use crate::log::Log;
use crate::members::{Change, Configuration, node_of_raft_id, raft_id};
use crate::message::{Entry, Message, Round};
use crate::write_order::ordered_writes;
use bytes::Bytes;
use quorate_core::{Effect, Effects, NodeId, Order, Protocol};
use raft::eraftpb::{ConfChangeV2, Message as RaftMessage, MessageType, Snapshot};
use raft::prelude::{RawNode, Ready};
use raft::{Config, SnapshotStatus, StateRole};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A protocol whose durable state is raft's.
pub(crate) trait RaftProtocol: Protocol<Durable = Durable> {}

impl<P: Protocol<Durable = Durable>> RaftProtocol for P {}

/// Raft's state machine, with deterministic election timeouts.
pub(crate) struct Engine {
    node: RawNode<Log>,
    me: NodeId,
    seed: u64,
    /// Number of campaigns that a timeout or a command began. The election timeout depends on it.
    campaign_count: u64,
    /// A change of the commit index alone, which is saved together with the next save.
    deferred_ballot: Option<Ballot>,
    /// The last ballot given to the disk.
    saved_ballot: Ballot,
    /// The number of the save that contains the latest vote.
    vote_save_number: u64,
    /// Number of saves requested since the start.
    saves_requested: u64,
    /// Number of saves that are durable.
    saves_durable: u64,
    /// The outputs of raft (`Ready`s) whose saves may not be durable yet, oldest first.
    unconfirmed: VecDeque<UnconfirmedReady>,
    heartbeats: Heartbeats,
    /// Number of ticks since the start.
    tick_count: u64,
    /// For each member, the last tick before its last message.
    last_heard: BTreeMap<NodeId, u64>,
}

/// A `Ready` to confirm to raft once `required_saves` saves are durable.
struct UnconfirmedReady {
    required_saves: u64,
    ready_number: u64,
    /// The index of the snapshot that the `Ready` installs, if any.
    installed_index: Option<u64>,
}

/// The output of raft that the replica has to handle, beyond saves and messages.
#[derive(Default)]
pub(crate) struct RaftOutput {
    /// Whether the role, the leader or the term may be different.
    pub(crate) role_may_have_changed: bool,
    /// Successful rounds of heartbeats, which confirm the leader; each with the index that must be
    /// applied before its queries are answered.
    pub(crate) rounds: Vec<(Round, u64)>,
    /// A leader's snapshot that replaces the state.
    pub(crate) installed: Option<Checkpoint>,
    pub(crate) committed: Vec<Entry>,
    /// Snapshots to send, each with its receiver.
    pub(crate) snapshots: Vec<(NodeId, Snapshot)>,
}

/// A replica's role, and the leader it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) leads: bool,
    pub(crate) leader: Option<NodeId>,
    pub(crate) term: u64,
}

impl Engine {
    /// Starts raft on this log. Fails if the log is inconsistent.
    pub(crate) fn start(me: NodeId, seed: u64, config: Config, log: Log) -> raft::Result<Self> {
        let applied = log.checkpoint().map_or(0, |checkpoint| checkpoint.index);
        let config = Config { id: raft_id(me), applied, ..config };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let node = RawNode::new(&config, log, &logger)?;
        let saved_ballot = Ballot { term: node.raft.term, vote: node.raft.vote, commit: node.raft.raft_log.committed };
        let mut engine = Self {
            node,
            me,
            seed,
            campaign_count: 0,
            deferred_ballot: None,
            saved_ballot,
            vote_save_number: 0,
            saves_requested: 0,
            saves_durable: 0,
            unconfirmed: VecDeque::new(),
            heartbeats: Heartbeats::default(),
            tick_count: 0,
            last_heard: BTreeMap::new(),
        };
        engine.set_election_timeout();
        Ok(engine)
    }

    /// Takes raft's next output, which raft calls a `Ready`. Carries out the saves and sends in it,
    /// and returns the rest; `None` if there is no output. `wrap` converts messages to the
    /// protocol's own type. Members that may be outdated are sent appends without their entries;
    /// raft sends them again after the next heartbeat.
    pub(crate) fn process_ready<P: RaftProtocol>(
        &mut self,
        out: &mut Effects<'_, P>,
        wrap: fn(Message) -> P::Message,
        outdated_members: &BTreeSet<NodeId>,
    ) -> Option<RaftOutput> {
        if !self.node.has_ready() {
            return None;
        }
        let mut ready = self.node.ready();
        let leader_messages = ready.take_messages();
        if ready.ss().is_some() {
            self.heartbeats = Heartbeats::default();
        }
        let messages_after_saves = ready.take_persisted_messages();
        let mut output = RaftOutput {
            role_may_have_changed: ready.ss().is_some() || ready.hs().is_some(),
            rounds: take_rounds(&mut ready),
            committed: ready.take_committed_entries().iter().map(Entry::from_raft).collect(),
            ..RaftOutput::default()
        };
        output.installed = self.save(&mut ready, out);
        self.unconfirmed.push_back(UnconfirmedReady {
            required_saves: self.saves_requested,
            ready_number: ready.number(),
            installed_index: output.installed.as_ref().map(|checkpoint| checkpoint.index),
        });
        self.node.advance_append_async(ready);
        // A leader's messages need not wait for its disk: like any other member, the leader counts
        // towards the majority of an entry only once its own disk has the entry. But a leader must
        // first save its own vote: in a group of one it leads by that vote alone.
        let leader_order = if self.has_saved_vote() { Order::Ahead } else { Order::AfterSaves };
        for (messages, order) in [(leader_messages, leader_order), (messages_after_saves, Order::AfterSaves)] {
            let mut messages = output.take_snapshots(messages);
            let outdated = messages.iter_mut().filter(|(to, _)| outdated_members.contains(to));
            outdated.for_each(|(_, message)| message.remove_entries());
            messages.retain(|(to, message)| self.heartbeats.should_send(*to, message));
            send_together(messages, |to, message| {
                // A question promises nothing, so it need not wait even for a full disk.
                let order = if matches!(message, Message::ReadIndex { .. }) { Order::Ahead } else { order };
                match &to[..] {
                    [to] => out.put(Effect::Send { to: *to, message: wrap(message), order }),
                    _ => out.put(Effect::Multicast { to: to.into_iter().collect(), message: wrap(message), order }),
                }
            });
        }
        self.confirm_saved();
        Some(output)
    }

    /// Saves the contents of a `Ready`, in an order that stays consistent if a crash loses the last
    /// writes. Returns the snapshot that it installs, if any.
    fn save<P: RaftProtocol>(&mut self, ready: &mut Ready, out: &mut Effects<'_, P>) -> Option<Checkpoint> {
        if let Some(state) = ready.hs() {
            self.deferred_ballot = Some(Ballot { term: state.term, vote: state.vote, commit: state.commit });
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
        let entries = entries.iter().map(Entry::from_raft).collect();
        let (writes, deferred) =
            ordered_writes(self.deferred_ballot.take(), self.saved_ballot.commit, installed.clone(), entries);
        self.deferred_ballot = deferred;
        for write in writes {
            if let Write::Ballot(ballot) = &write {
                let is_new_vote = (ballot.term, ballot.vote) != (self.saved_ballot.term, self.saved_ballot.vote);
                self.vote_save_number = if is_new_vote { self.saves_requested + 1 } else { self.vote_save_number };
                self.saved_ballot = *ballot;
            }
            self.request_save(write, out);
        }
        installed
    }

    /// Marks the checkpoint as outdated, because members or admissions changed after it. Peers then
    /// wait for a newer snapshot.
    pub(crate) fn mark_checkpoint_outdated(&mut self) {
        self.node.mut_store().mark_checkpoint_outdated();
    }

    pub(crate) fn request_save<P: RaftProtocol>(&mut self, write: Write, out: &mut Effects<'_, P>) {
        self.saves_requested += 1;
        out.save(write);
    }

    /// Records that the first `count` saves since the start are durable.
    pub(crate) fn record_saved(&mut self, count: u64) {
        self.saves_durable = self.saves_durable.max(count);
        self.confirm_saved();
    }

    /// Confirms to raft each `Ready` whose saves are durable.
    fn confirm_saved(&mut self) {
        let mut last = None;
        while self.unconfirmed.front().is_some_and(|ready| ready.required_saves <= self.saves_durable)
            && let Some(ready) = self.unconfirmed.pop_front()
        {
            last = Some(ready.ready_number);
            // An installed snapshot is applied as soon as it is saved. Raft panics on an earlier
            // call to `advance_apply_to`.
            if let Some(index) = ready.installed_index {
                self.node.on_persist_ready(ready.ready_number);
                self.node.advance_apply_to(index);
            }
        }
        if let Some(ready_number) = last {
            self.node.on_persist_ready(ready_number);
            self.set_election_timeout();
        }
    }

    /// Whether every `Ready` so far is confirmed.
    pub(crate) fn has_saved_all(&self) -> bool {
        self.unconfirmed.is_empty()
    }

    pub(crate) fn persisted_index(&self) -> u64 {
        self.node.raft.raft_log.persisted
    }

    /// Whether every entry of the log is durable, which raft assumes of a candidate that wins.
    pub(crate) fn has_log_on_disk(&self) -> bool {
        let log = &self.node.raft.raft_log;
        log.persisted >= log.last_index()
    }

    /// Whether the latest vote is durable.
    pub(crate) fn has_saved_vote(&self) -> bool {
        self.has_saved(self.vote_save_number)
    }

    /// Whether this many saves since the start are durable.
    pub(crate) fn has_saved(&self, count: u64) -> bool {
        self.saves_durable >= count
    }

    /// Number of saves requested since the start.
    pub(crate) fn saves_requested(&self) -> u64 {
        self.saves_requested
    }

    /// Tells raft that the entries up to this index are applied.
    pub(crate) fn mark_applied(&mut self, index: u64) {
        self.node.advance_apply_to(index);
        self.set_election_timeout();
    }

    pub(crate) fn tick(&mut self) {
        self.tick_count += 1;
        // Raft returns whether the tick had an effect: heartbeats of a leader, or a campaign.
        let has_campaigned = self.node.tick() && !self.leads();
        self.campaign_count += u64::from(has_campaigned);
        self.set_election_timeout();
    }

    /// Passes a peer's message, which the guard has accepted, to raft. Raft may still ignore it.
    pub(crate) fn step(&mut self, from: NodeId, message: Message) {
        self.last_heard.insert(from, self.tick_count);
        self.heartbeats.record_received(from, &message);
        let message = self.keep_rejection(message);
        if let Some(message) = convert::to_raft_message(self.me, from, message) {
            let _ = self.node.step(message);
            self.set_election_timeout();
        }
    }

    /// Raft ignores replies of earlier terms. But a replica that refuses its vote also says what is
    /// committed, and the candidate may have to know, for example that it is the only voter by now.
    fn keep_rejection(&self, mut message: Message) -> Message {
        if let Message::VoteReply { term, is_pre_vote: true, is_granted: false, .. } = &mut message {
            *term = self.node.raft.term.max(*term);
        }
        message
    }

    /// Passes a leader's snapshot to raft, which decides whether to install it.
    pub(crate) fn step_snapshot(&mut self, from: NodeId, term: u64, checkpoint: Checkpoint) {
        let Checkpoint { index, term: log_term, members, image } = checkpoint;
        let mut message = RaftMessage { from: raft_id(from), to: raft_id(self.me), term, ..RaftMessage::default() };
        message.set_msg_type(MessageType::MsgSnapshot);
        message.set_snapshot(convert::build_snapshot(index, log_term, &members, image));
        let _ = self.node.step(message);
        self.set_election_timeout();
    }

    /// Appends an entry to the log and returns its index; `None` if raft accepts no more entries.
    pub(crate) fn propose(&mut self, data: Bytes) -> Option<u64> {
        let proposed = self.node.propose(Vec::new(), data.into());
        self.set_election_timeout();
        proposed.ok().map(|()| self.node.raft.raft_log.last_index())
    }

    /// Appends a change of members to the log and returns its index; `None` if the change is empty,
    /// another one is in progress, or raft accepts no more entries.
    pub(crate) fn propose_change(&mut self, context: Bytes, change: &Change) -> Option<u64> {
        if change.is_empty() || self.has_pending_change() || self.configuration().is_joint() {
            return None;
        }
        let proposed = self.node.propose_conf_change(context.into(), change.to_raft());
        self.set_election_timeout();
        proposed.ok().map(|()| self.node.raft.raft_log.last_index())
    }

    /// Whether the log may hold a change of members that is not applied yet.
    pub(crate) fn has_pending_change(&self) -> bool {
        self.node.raft.has_pending_conf()
    }

    /// Applies a committed change of members; `None` ends a joint configuration.
    pub(crate) fn apply_change(&mut self, change: Option<&Change>) -> Configuration {
        let change = change.map_or_else(ConfChangeV2::default, Change::to_raft);
        // If raft rejects the change, it does so on every replica, and the members stay the same.
        let _ = self.node.apply_conf_change(&change);
        let configuration = self.configuration();
        self.last_heard.retain(|node, _| configuration.contains(*node));
        self.node.mut_store().mark_checkpoint_outdated();
        if self.leads() && !configuration.is_voter(self.me) {
            // Otherwise this replica would continue to lead a group in which it is no voter. It did
            // not hand over before, if an earlier leader has proposed the change.
            if let Some(successor) = self.successors().first() {
                self.node.raft.send_timeout_now(raft_id(*successor));
            }
            let term = self.node.raft.term;
            self.node.raft.become_follower(term, raft::INVALID_ID);
        }
        self.set_election_timeout();
        configuration
    }

    pub(crate) fn campaign(&mut self) {
        self.campaign_count += 1;
        let _ = self.node.campaign();
        self.set_election_timeout();
    }

    /// Forgets the leader until a message from a leader arrives.
    pub(crate) fn forget_leader(&mut self) {
        let term = self.node.raft.term;
        if self.node.raft.state == StateRole::Follower {
            self.node.raft.become_follower(term, raft::INVALID_ID);
        }
        self.set_election_timeout();
    }

    pub(crate) fn transfer(&mut self, to: NodeId) {
        self.node.transfer_leader(raft_id(to));
        self.set_election_timeout();
    }

    /// Sends all members the commit index, if they do not have it, by appends without entries.
    pub(crate) fn broadcast_commit(&mut self) {
        self.node.raft.bcast_append();
        self.set_election_timeout();
    }

    /// Asks raft to confirm the leader by a round of heartbeats.
    pub(crate) fn begin_round(&mut self, round: Round) {
        self.node.read_index(round.to_bytes());
        self.set_election_timeout();
    }

    /// Reports to raft that a snapshot arrived, or that it never will.
    pub(crate) fn report_snapshot(&mut self, to: NodeId, has_arrived: bool) {
        let status = if has_arrived { SnapshotStatus::Finish } else { SnapshotStatus::Failure };
        self.node.report_snapshot(raft_id(to), status);
        self.set_election_timeout();
    }

    /// Saves a checkpoint and drops entries before it, except for the last `keep_entries`.
    pub(crate) fn save_checkpoint<P: RaftProtocol>(
        &mut self,
        checkpoint: Checkpoint,
        keep_entries: u64,
        out: &mut Effects<'_, P>,
    ) {
        let log_start = self.node.mut_store().store_checkpoint(checkpoint.clone(), keep_entries);
        self.request_save(Write::Checkpoint { checkpoint, log_start }, out);
    }

    pub(crate) fn log(&self) -> &Log {
        self.node.store()
    }

    pub(crate) fn leads(&self) -> bool {
        self.node.raft.state == StateRole::Leader
    }

    /// Whether this replica is a candidate and not only asks whether it could win.
    pub(crate) fn requests_votes(&self) -> bool {
        self.node.raft.state == StateRole::Candidate
    }

    pub(crate) fn is_candidate(&self) -> bool {
        matches!(self.node.raft.state, StateRole::Candidate | StateRole::PreCandidate)
    }

    pub(crate) fn is_log_acknowledged_by_all(&self) -> bool {
        let last = self.last_index();
        self.node.raft.prs().iter().all(|(_, progress)| progress.matched >= last)
    }

    pub(crate) fn role(&self) -> Role {
        Role { leads: self.leads(), leader: node_of_raft_id(self.node.raft.leader_id), term: self.node.raft.term }
    }

    pub(crate) fn commit_index(&self) -> u64 {
        self.node.raft.raft_log.committed
    }

    /// Whether an entry of the leader's own term is committed. Only then does the leader know the
    /// group's commit index.
    pub(crate) fn has_committed_in_term(&self) -> bool {
        self.node.raft.commit_to_current_term()
    }

    /// Whether a round may begin here now. Raft drops a round without a leader, and one that begins
    /// before the leader knows the group's commit index.
    pub(crate) fn may_begin_round(&self) -> bool {
        self.node.raft.leader_id != raft::INVALID_ID && (!self.leads() || self.has_committed_in_term())
    }

    pub(crate) fn last_index(&self) -> u64 {
        self.node.raft.raft_log.last_index()
    }

    pub(crate) fn is_transferring_leadership(&self) -> bool {
        self.node.raft.lead_transferee.is_some()
    }

    pub(crate) fn configuration(&self) -> Configuration {
        Configuration::from_raft(&self.node.raft.prs().conf().to_conf_state())
    }

    /// The index of the last entry that a member has acknowledged to this leader.
    pub(crate) fn acknowledged_index(&self, member: NodeId) -> u64 {
        self.node.raft.prs().get(raft_id(member)).map_or(0, |progress| progress.matched)
    }

    /// Resets the progress of a member that lost its disk, whatever it acknowledged before.
    pub(crate) fn reset_progress(&mut self, member: NodeId) {
        if self.leads()
            && let Some(progress) = self.node.raft.mut_prs().get_mut(raft_id(member))
            && progress.matched > 0
        {
            progress.matched = 0;
            progress.become_probe();
        }
    }

    /// The other voters from which a message arrived within an election timeout, those with most
    /// of the log first. Raft keeps such a record too, but clears it once per election timeout. A
    /// voter that has lost its disk acknowledges nothing, and cannot lead.
    pub(crate) fn successors(&self) -> Vec<NodeId> {
        let earliest = self.tick_count.saturating_sub(self.node.raft.election_timeout() as u64);
        let has_sent = |voter: &NodeId| self.last_heard.get(voter).is_some_and(|tick| *tick >= earliest);
        let voters = self.configuration().incoming.voters.into_iter();
        let can_lead = |voter: &NodeId| *voter != self.me && has_sent(voter) && self.acknowledged_index(*voter) > 0;
        let mut active: Vec<_> = voters.filter(can_lead).collect();
        active.sort_by_key(|voter| std::cmp::Reverse(self.acknowledged_index(*voter)));
        active
    }

    /// Derives the election timeout from seed, node, term and number of campaigns, so that a seed
    /// repeats a run exactly. Must follow every call to raft, which draws the timeout from the
    /// system's random source.
    fn set_election_timeout(&mut self) {
        let min_ticks = self.node.raft.election_timeout();
        let words = [self.seed, raft_id(self.me), self.node.raft.term, self.campaign_count];
        // The initial value is the increment of splitmix64.
        let draw = words.into_iter().fold(0x9E37_79B9_7F4A_7C15, |state: u64, word| mix_bits(state ^ mix_bits(word)));
        let added_ticks = usize::try_from(draw % min_ticks.max(1) as u64).unwrap_or(0);
        self.node.raft.set_randomized_election_timeout(min_ticks + added_ticks);
    }
}

impl RaftOutput {
    /// Takes the snapshots out of these messages, because the replica sends them in pieces, and
    /// converts the other messages.
    fn take_snapshots(&mut self, messages: Vec<RaftMessage>) -> Vec<(NodeId, Message)> {
        let mut others = Vec::new();
        for message in messages {
            if message.get_msg_type() == MessageType::MsgSnapshot {
                let to = node_of_raft_id(message.to);
                self.snapshots.extend(to.map(|to| (to, message.get_snapshot().clone())));
            } else {
                others.extend(convert::from_raft_message(&message));
            }
        }
        others
    }
}

/// Sends messages in their order. Neighbouring equal messages go to all their receivers together,
/// so that a driver encodes an append once.
fn send_together(messages: Vec<(NodeId, Message)>, mut send: impl FnMut(Vec<NodeId>, Message)) {
    let mut pending: Option<(Vec<NodeId>, Message)> = None;
    for (to, message) in messages {
        match &mut pending {
            Some((receivers, earlier)) if *earlier == message && !receivers.contains(&to) => receivers.push(to),
            _ => {
                if let Some((receivers, earlier)) = pending.replace((vec![to], message)) {
                    send(receivers, earlier);
                }
            }
        }
    }
    if let Some((receivers, last)) = pending {
        send(receivers, last);
    }
}

/// Takes the rounds of heartbeats that succeeded, each with the index that its queries wait for.
fn take_rounds(ready: &mut Ready) -> Vec<(Round, u64)> {
    let states = ready.take_read_states();
    states.iter().filter_map(|state| Some((Round::from_bytes(&state.request_ctx)?, state.index))).collect()
}

/// The checkpoint in a snapshot; `None` for the empty snapshot by which raft says that there is
/// none.
pub(crate) fn checkpoint_of(snapshot: &Snapshot) -> Option<Checkpoint> {
    let metadata = snapshot.get_metadata();
    (metadata.index > 0).then(|| Checkpoint {
        index: metadata.index,
        term: metadata.term,
        members: Configuration::from_raft(metadata.get_conf_state()),
        image: snapshot.data.clone(),
    })
}
