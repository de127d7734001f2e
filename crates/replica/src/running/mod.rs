//! A running replica. Its methods name the rules (`RP-…`, at the head of `replica.rs`) that they
//! implement.

mod applying;
mod messages;
mod requests;
mod snapshots;

use crate::batch::{AdmittedLearners, Image};
use crate::clock::{Lease, LogClock};
use crate::command::{Event, Refusal, Ticket};
use crate::durable::{Checkpoint, Durable, Write};
use crate::engine::{Engine, RaftOutput, Role};
use crate::log::Log;
use crate::machine::{LogPosition, StateMachine};
use crate::members::Members;
use crate::pieces::{SnapshotReceiver, SnapshotSender};
use crate::reads::Queries;
use crate::replica::{Halt, Replica, Timer};
use crate::settings::{ReadMode, Settings};
use quorate_core::{Effects, Incarnation, NodeId, Time};
use std::collections::BTreeMap;

type Out<'a, S> = Effects<'a, Replica<S>>;

/// The state of a replica that is running.
pub(crate) struct RunningReplica<S: StateMachine> {
    me: NodeId,
    settings: Settings,
    engine: Engine,
    /// The role after the last handled output of raft. The engine's own role may be newer.
    role: Role,
    machine: S,
    /// The position of the last applied entry.
    position: LogPosition,
    applied_term: u64,
    /// Proposals made here that are not applied yet: for the index of each entry, its term and the
    /// tickets that wait for it.
    proposals: BTreeMap<u64, (u64, Vec<Ticket>)>,
    queries: Queries<S::Query>,
    pending_change: Option<PendingChange>,
    /// The members that the applied entries admitted as learners. Some may be voters by now.
    admitted: AdmittedLearners,
    /// Learners whose admission this leader has proposed and not applied yet.
    proposed_admissions: AdmittedLearners,
    /// The incarnation with which this replica waits for its admission, if it does.
    joining_incarnation: Option<Incarnation>,
    /// Number of times that this replica offered its leadership because its disk was full. Each
    /// offer goes to the next successor.
    offer_count: usize,
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
            role: engine.role(),
            engine,
            machine: image.machine,
            position: LogPosition { index, time: image.time },
            applied_term: term,
            proposals: BTreeMap::new(),
            queries: Queries::new(me, incarnation),
            pending_change: None,
            admitted: image.admitted,
            proposed_admissions: AdmittedLearners::new(),
            joining_incarnation: (index == 0).then(|| joining_incarnation.unwrap_or(incarnation)),
            offer_count: 0,
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

    /// Handles a tick. A replica that waits for its disk or its admission, or has a full disk, does
    /// not campaign.
    pub(crate) fn tick(&mut self, now: Time, out: &mut Out<'_, S>) {
        let may_campaign = self.engine.has_saved_all() && !self.is_joining() && !self.is_disk_full;
        if self.engine.leads() || may_campaign {
            self.engine.tick();
        }
        if self.role.leads {
            self.clock.advance_to(now);
            self.should_extend_lease = self.settings.reads == ReadMode::Lease;
        }
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

    /// RP-11. A leader with a full disk offers the leadership to each successor in turn, because an
    /// offer can be lost, and the successor's disk may be full too.
    fn offer_leadership(&mut self, out: &mut Out<'_, S>) {
        let successors = self.engine.successors();
        if !self.is_disk_full || !self.role.leads || self.engine.is_transferring_leadership() || successors.is_empty() {
            return;
        }
        let successor = successors[self.offer_count % successors.len()];
        self.offer_count += 1;
        self.transfer(successor, out);
    }

    /// RP-11. Takes commands and entries again.
    pub(crate) fn handle_disk_free(&mut self, out: &mut Out<'_, S>) {
        self.is_disk_full = false;
        out.note("RP-11", format_args!("its disk has room again"));
    }

    /// Handles raft's output until there is none left.
    pub(crate) fn settle(&mut self, now: Time, out: &mut Out<'_, S>) -> Result<(), Halt> {
        loop {
            while let Some(output) = self.engine.process_ready(out, |message| message) {
                self.handle_output(now, output, out)?;
            }
            self.answer_queries(out);
            let extends_lease = self.take_lease_extension();
            let Some(round) = self.queries.next_round(now, extends_lease) else { break };
            self.engine.begin_round(round);
        }
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

    /// RP-12. A new leader continues the log's time. A replica that loses the leadership does not
    /// know the outcome of its proposals.
    fn update_role(&mut self, now: Time, out: &mut Out<'_, S>) {
        let previous = std::mem::replace(&mut self.role, self.engine.role());
        let Role { leads, leader, term } = self.role;
        if self.role == previous {
            return;
        }
        if previous.leads {
            self.stop_leading(out);
        }
        if leads {
            self.lease.end();
            self.clock = LogClock::start(now, self.highest_log_time(), self.settings.tick);
            out.emit_ahead(Event::Leads { term });
        } else {
            out.emit_ahead(Event::Follows { leader, term });
        }
    }

    /// Ends all pending requests before this replica stops: queries are refused, and the outcome of
    /// proposals is unknown.
    pub(crate) fn abandon_requests(&mut self, out: &mut Out<'_, S>) {
        self.stop_leading(out);
        for ticket in self.queries.remove_all() {
            out.emit_ahead(Event::Refused { ticket, refusal: Refusal::Halted });
        }
    }

    /// Ends everything that only a leader does, and reports that the outcome of its proposals is
    /// unknown.
    fn stop_leading(&mut self, out: &mut Out<'_, S>) {
        let proposed = std::mem::take(&mut self.proposals).into_values().flat_map(|(_, tickets)| tickets);
        let change = self.pending_change.take().map(|change| change.ticket);
        for ticket in proposed.chain(change) {
            out.emit_ahead(Event::Unknown { ticket });
        }
        self.proposed_admissions.clear();
        for to in std::mem::take(&mut self.snapshot_senders).into_keys() {
            out.cancel_timer(Timer::Piece(to));
        }
        self.lease.end();
    }
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
        // Raft refuses a limit below `max_size_per_msg`.
        max_uncommitted_size: settings.uncommitted_bytes.max(settings.message_bytes),
        ..raft::Config::default()
    }
}

fn read_image<S: StateMachine>(bytes: &[u8]) -> Result<Image<S>, Halt> {
    Image::read(bytes).map_err(|error| Halt(error.to_string()))
}
