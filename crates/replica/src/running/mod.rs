//! A running replica. Its methods name the rules (`RP-…`, at the head of `replica.rs`) that they
//! implement.

mod applying;
mod directory;
mod fail_over;
mod messages;
mod proposing;
mod requests;
mod sessions;
mod snapshots;

use crate::batch::{Batch, Image, Origin, ProposalGroup};
use crate::clock::{Lease, LogClock};
use crate::command::{Event, Refusal, Ticket};
use crate::directory::{Addresses, Directory, Notice};
use crate::durable::{Checkpoint, Durable, Write};
use crate::engine::{Engine, RaftOutput, Role};
use crate::log::Log;
use crate::machine::{LogPosition, Outbox, SessionId, StateMachine};
use crate::members::Members;
use crate::message::Round;
use crate::pieces::{SnapshotReceiver, SnapshotSender};
use crate::proposals::{EndedProposals, Proposals};
use crate::reads::Queries;
use crate::replica::{Halt, Replica, Timer};
use crate::settings::{ReadMode, Settings};
use quorate_core::{Effects, Incarnation, NodeId, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

type Out<'a, S> = Effects<'a, Replica<S>>;

/// The state of a replica that is running.
pub(crate) struct RunningReplica<S: StateMachine> {
    me: NodeId,
    incarnation: Incarnation,
    settings: Settings,
    engine: Engine,
    /// The role after the last handled output of raft. The engine's own role may be newer.
    role: Role,
    /// Number of saves that must be durable before the role is reported.
    role_save_count: u64,
    machine: S,
    /// Outcomes of the machine, empty between calls.
    outbox: Outbox<S::Outcome>,
    /// The position of the last applied entry.
    position: LogPosition,
    applied_term: u64,
    /// The commands that were proposed here and are not applied yet.
    proposals: Proposals<S::Command>,
    /// Commands that followers have forwarded to this leader, for its next entries.
    forwarded: VecDeque<ForwardedCommands<S::Command>>,
    /// The entries with commands that this leader has appended and not applied yet, by index. It
    /// need not decode them to apply them.
    appended: BTreeMap<u64, AppendedEntry<S::Command>>,
    /// The highest commit index that this leader has sent to its followers.
    announced_commit: u64,
    /// The index of the last applied entry that a follower may be waiting for: it answers a
    /// client there, has an outcome for a session, or changes the members.
    awaited_index: u64,
    queries: Queries<Question<S::Query>>,
    /// The last round of each follower that this leader has not begun yet.
    follower_rounds: BTreeMap<NodeId, Round>,
    /// The sessions whose outcomes this replica reports.
    attached: BTreeSet<SessionId>,
    pending_change: Option<PendingChange>,
    directory: Directory,
    /// Notices that this leader has proposed and not applied yet.
    proposed_notices: Vec<Notice>,
    /// The members that may be of a release that does not understand all entries.
    outdated_members: BTreeSet<NodeId>,
    /// Whether the members, their addresses or the level of the group may have changed since this
    /// replica last reported them.
    has_new_configuration: bool,
    /// The last report of them.
    reported_configuration: Option<(Members, Addresses, u32)>,
    /// The incarnation with which this replica waits for its admission, if it does.
    joining_incarnation: Option<Incarnation>,
    /// Number of times that this replica offered its leadership because its disk was full, its
    /// process is about to end, or it is to be removed. Each offer goes to the next successor.
    offer_count: usize,
    /// Number of these offers in this term because the replica is to be removed.
    leaving_offers: usize,
    /// Number of ticks for which this replica does not campaign, because its process is about to
    /// end.
    retirement_ticks: usize,
    /// Whether the client waits for the report that this replica has retired.
    must_report_retirement: bool,
    /// The peers whose process seems to have ended, and since when.
    suspected: BTreeMap<NodeId, Time>,
    /// Whether this replica stands for a leader whose process has ended, until there is another.
    is_standing: bool,
    /// For each learner, the index of the entry that made it a learner, or of a later checkpoint.
    /// The learner may become a voter once it has acknowledged this index: earlier acknowledgements
    /// may be from before it lost its disk.
    learner_since: BTreeMap<NodeId, u64>,
    clock: LogClock,
    lease: Lease,
    /// Whether the next round may begin without queries, to extend the lease.
    should_extend_lease: bool,
    /// The time until which this replica promised its leader to vote for no other candidate.
    promised_until: Time,
    /// The snapshots that this leader sends, by receiver.
    snapshot_senders: BTreeMap<NodeId, SnapshotSender>,
    snapshot_receiver: SnapshotReceiver,
    is_disk_full: bool,
    /// Whether this replica must save its initial state, because its disk had none when it started.
    must_save_initial_state: bool,
}

/// The commands of one message of a follower.
struct ForwardedCommands<C> {
    groups: Vec<ProposalGroup<C>>,
    /// Length of the message.
    bytes: usize,
}

impl<C> ForwardedCommands<C> {
    fn count(&self) -> usize {
        self.groups.iter().map(|group| group.commands.len()).sum()
    }
}

/// An entry that this leader appended in `term`.
struct AppendedEntry<C> {
    term: u64,
    batch: Batch<C>,
}

/// A request that needs the present state.
pub(crate) enum Question<Q> {
    Query(Q),
    /// A session attaches to this replica.
    Attach(SessionId),
}

/// A pending change of members. It is complete when the entry at `index` is applied and the group
/// has these `members`.
struct PendingChange {
    ticket: Ticket,
    members: Members,
    index: u64,
}

impl<S: StateMachine> RunningReplica<S> {
    pub(crate) fn start(
        me: NodeId,
        settings: Settings,
        now: Time,
        durable: Durable,
        founding: Option<Checkpoint>,
        incarnation: Incarnation,
    ) -> Result<Self, Halt> {
        // An earlier incarnation may have made a promise that still holds.
        let has_run_before = durable != Durable::default();
        let joining_incarnation = durable.joining_incarnation;
        let log = Log::open(durable, founding);
        let (image, index, term) = match log.checkpoint() {
            Some(Checkpoint { image, index, term, .. }) => (read_image(image)?, *index, *term),
            None => (Image::default(), 0, 0),
        };
        let engine = Engine::start(me, settings.seed, raft_config(&settings), log)
            .map_err(|error| Halt(format!("the log on the disk is inconsistent: {error}. No data was changed.")))?;
        let tick = settings.tick;
        let learners = engine.configuration().incoming.learners;
        Ok(Self {
            learner_since: learners.into_iter().map(|learner| (learner, index)).collect(),
            me,
            incarnation,
            role: engine.role(),
            role_save_count: 0,
            engine,
            machine: image.machine,
            outbox: Outbox::default(),
            position: LogPosition { index, time: image.time },
            applied_term: term,
            proposals: Proposals::new(Origin { node: me, incarnation }),
            forwarded: VecDeque::new(),
            appended: BTreeMap::new(),
            announced_commit: 0,
            awaited_index: 0,
            queries: Queries::new(me, incarnation),
            follower_rounds: BTreeMap::new(),
            attached: BTreeSet::new(),
            pending_change: None,
            directory: image.directory,
            proposed_notices: Vec::new(),
            outdated_members: BTreeSet::new(),
            has_new_configuration: true,
            reported_configuration: None,
            joining_incarnation: (index == 0).then(|| joining_incarnation.unwrap_or(incarnation)),
            offer_count: 0,
            leaving_offers: 0,
            retirement_ticks: 0,
            must_report_retirement: false,
            suspected: BTreeMap::new(),
            is_standing: false,
            clock: LogClock::start(now, image.time, tick),
            lease: Lease::default(),
            should_extend_lease: false,
            promised_until: if has_run_before { now + settings.promise_duration() } else { now },
            snapshot_senders: BTreeMap::new(),
            snapshot_receiver: SnapshotReceiver::default(),
            is_disk_full: false,
            must_save_initial_state: !has_run_before || (index == 0 && joining_incarnation.is_none()),
            settings,
        })
    }

    /// RP-10. Saves the founding state, or the incarnation with which this replica waits for its
    /// admission, so that later incarnations continue with the same one.
    pub(crate) fn save_initial_state(&mut self, out: &mut Out<'_, S>) {
        match self.engine.log().checkpoint() {
            Some(founding) if self.must_save_initial_state => self.engine.save_checkpoint(founding.clone(), 0, out),
            Some(_) => {}
            None => {
                if let Some(incarnation) = self.joining_incarnation.filter(|_| self.must_save_initial_state) {
                    self.engine.request_save(Write::JoiningIncarnation(incarnation), out);
                }
            }
        }
    }

    pub(crate) fn machine(&self) -> &S {
        &self.machine
    }

    pub(crate) fn applied_index(&self) -> u64 {
        self.position.index
    }

    pub(crate) fn leads(&self) -> bool {
        self.role.leads
    }

    /// RP-10. Whether this replica was never admitted, or lost its disk.
    fn is_joining(&self) -> bool {
        self.engine.log().checkpoint().is_none()
    }

    /// The newest format level that this replica understands.
    fn known_level(&self) -> u32 {
        self.settings.known_level(S::LEVEL, self.incarnation)
    }

    /// Handles a tick. A replica that waits for its disk, has a full disk or is about to end does
    /// not campaign. Nor does one that waits for its admission, because it knows no members.
    pub(crate) fn tick(&mut self, now: Time, out: &mut Out<'_, S>) {
        if self.engine.leads() || self.may_campaign() {
            self.engine.tick();
        }
        self.retirement_ticks = self.retirement_ticks.saturating_sub(1);
        if self.role.leads {
            self.clock.advance_to(now);
            self.should_extend_lease = self.settings.reads == ReadMode::Lease;
            self.record_own_report(now, out);
            self.request_reports(out);
            self.propose_if_deadline_passed(out);
        } else {
            self.report_to_leader(out);
        }
        self.proposals.tick(self.settings.election_ticks as u64);
        self.queries.tick(2 * self.settings.heartbeat_ticks);
        self.offer_leadership(out);
    }

    /// RP-3. Records that the first `count` saves since the start are durable.
    pub(crate) fn record_saved(&mut self, count: u64) {
        self.engine.record_saved(count);
    }

    /// RP-11. Stops taking commands and entries until the disk has space.
    pub(crate) fn handle_disk_full(&mut self, out: &mut Out<'_, S>) {
        self.is_disk_full = true;
        out.note("RP-11", format_args!("its disk is full: takes no commands and no entries"));
        self.offer_leadership(out);
    }

    /// RP-11. Takes commands and entries again.
    pub(crate) fn handle_disk_free(&mut self, out: &mut Out<'_, S>) {
        self.is_disk_full = false;
        out.note("RP-11", format_args!("its disk has room again"));
    }

    /// RP-2. Ends a turn: sends what waits, and handles raft's output until there is none left. A
    /// leader appends first, so that the append carries the commit index; without an append, the
    /// commit index has messages of its own.
    pub(crate) fn end_turn(&mut self, now: Time, out: &mut Out<'_, S>) -> Result<(), Halt> {
        loop {
            self.append_entry(now, out);
            self.announce_commit();
            self.begin_follower_rounds();
            while let Some(output) = self.engine.process_ready(out, |message| message, &self.outdated_members) {
                self.handle_output(now, output, out)?;
            }
            self.answer_questions(out);
            let extends_lease = self.take_lease_extension();
            if self.engine.may_begin_round()
                && let Some(round) = self.queries.next_round(now, extends_lease)
            {
                self.engine.begin_round(round);
            } else if !self.may_append() && !self.must_announce_commit() && !self.may_begin_follower_rounds() {
                break;
            }
        }
        self.forward_proposals(out);
        self.report_configuration(out);
        self.report_retirement(out);
        self.checkpoint_if_due(out);
        Ok(())
    }

    fn handle_output(&mut self, now: Time, output: RaftOutput, out: &mut Out<'_, S>) -> Result<(), Halt> {
        if let Some(checkpoint) = output.installed {
            self.install(&checkpoint, out)?;
        }
        for entry in &output.committed {
            self.apply(entry, out)?;
        }
        if let Some(last) = output.committed.last() {
            self.engine.mark_applied(last.index);
        }
        for (round, index) in output.rounds {
            if let Some(began_at) = self.queries.complete_round(round, index)
                && self.engine.leads()
                && self.role.leads
            {
                self.lease.extend(began_at, self.settings.lease_duration());
            }
        }
        if output.role_may_have_changed {
            self.update_role(now, out);
        }
        for (to, snapshot) in output.snapshots {
            self.send_snapshot(to, &snapshot, out);
        }
        Ok(())
    }

    /// RP-12. A new leader continues the log's time. A replica whose leader has changed does not
    /// know the outcome of what it has sent.
    fn update_role(&mut self, now: Time, out: &mut Out<'_, S>) {
        let previous = std::mem::replace(&mut self.role, self.engine.role());
        let Role { leads, leader, term } = self.role;
        if self.role == previous {
            return;
        }
        if previous.leads {
            self.stop_leading(out);
        }
        self.end_proposals(out);
        if leads {
            self.stop_standing(out);
            self.lease.end();
            // The entry by which raft begins the term carries the commit index.
            self.announced_commit = self.engine.commit_index();
            self.clock = LogClock::start(now, self.highest_log_time(), self.settings.tick);
            self.report_role(Event::Leads { term }, out);
        } else {
            self.report_role(Event::Follows { leader, term }, out);
        }
    }

    /// RP-12. Reports the role. A leader that is the only voter leads before its vote is saved, and
    /// without the vote it could help another leader into the same term. So that report waits, and
    /// those after it wait too.
    fn report_role(&mut self, role: Event<S>, out: &mut Out<'_, S>) {
        if self.role.leads && !self.engine.has_saved_vote() {
            self.role_save_count = self.engine.saves_requested();
        }
        if self.engine.has_saved(self.role_save_count) {
            out.emit_ahead(role);
        } else {
            out.emit(role);
        }
    }

    /// RP-12. Repeatable proposals are sent again, and all others end: no leader has received them,
    /// or their outcome is unknown.
    fn end_proposals(&mut self, out: &mut Out<'_, S>) {
        let ended = self.proposals.change_leader();
        report_ended(ended, Refusal::NotLeader { leader: self.role.leader }, out);
    }

    /// Ends all requests that wait here. Those that no leader has received are refused for this
    /// reason, and the outcome of others is unknown.
    fn end_all_requests(&mut self, refusal: Refusal, out: &mut Out<'_, S>) {
        let mut ended = self.proposals.end_all();
        ended.never_sent.extend(self.queries.remove_all());
        report_ended(ended, refusal, out);
    }

    /// Ends all pending requests before this replica stops.
    pub(crate) fn abandon_requests(&mut self, out: &mut Out<'_, S>) {
        self.stop_leading(out);
        self.end_all_requests(Refusal::Halted, out);
    }

    /// Ends everything that only a leader does. The outcome of a change of members is unknown.
    fn stop_leading(&mut self, out: &mut Out<'_, S>) {
        if let Some(PendingChange { ticket, .. }) = self.pending_change.take() {
            out.emit_ahead(Event::Unknown { ticket });
        }
        self.forwarded.clear();
        self.appended.clear();
        self.proposed_notices.clear();
        self.announced_commit = 0;
        self.leaving_offers = 0;
        self.follower_rounds.clear();
        for to in std::mem::take(&mut self.snapshot_senders).into_keys() {
            out.cancel_timer(Timer::Piece(to));
        }
        self.lease.end();
    }
}

fn report_ended<S: StateMachine>(ended: EndedProposals, refusal: Refusal, out: &mut Out<'_, S>) {
    ended.unknown.into_iter().for_each(|ticket| out.emit_ahead(Event::Unknown { ticket }));
    ended.never_sent.into_iter().for_each(|ticket| out.emit_ahead(Event::Refused { ticket, refusal }));
}

fn raft_config(settings: &Settings) -> raft::Config {
    raft::Config {
        election_tick: settings.election_ticks,
        heartbeat_tick: settings.heartbeat_ticks,
        max_size_per_msg: settings.message_bytes,
        max_inflight_msgs: 256,
        check_quorum: true,
        pre_vote: true,
        batch_append: true,
        // The replica announces the commit index, by the next append if there is one.
        skip_bcast_commit: true,
        // The replica limits the number and length of the entries that are not committed.
        max_uncommitted_size: raft::NO_LIMIT,
        ..raft::Config::default()
    }
}

fn read_image<S: StateMachine>(bytes: &[u8]) -> Result<Image<S>, Halt> {
    Image::read(bytes).map_err(|error| Halt(error.to_string()))
}
