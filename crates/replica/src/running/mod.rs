//! A running replica, with one method per rule.

mod applying;
mod messages;
mod requests;
mod snapshots;

use crate::batch::{Admitted, Image};
use crate::clock::{Lease, LogClock};
use crate::command::{Event, Refusal, Ticket};
use crate::durable::{Checkpoint, Durable, Write};
use crate::engine::{Engine, RaftOutput, Role};
use crate::log::Log;
use crate::machine::{At, StateMachine};
use crate::members::Members;
use crate::pieces::{SnapshotReceiver, SnapshotSender};
use crate::reads::Queries;
use crate::replica::{Halt, Replica, Timer};
use crate::settings::{Reads, Settings};
use quorate_core::{Effects, Incarnation, NodeId, Time};
use std::collections::BTreeMap;

type Out<'a, S> = Effects<'a, Replica<S>>;

pub(crate) struct Running<S: StateMachine> {
    me: NodeId,
    settings: Settings,
    engine: Engine,
    role: Role,
    machine: S,
    /// The position of the last applied entry.
    at: At,
    applied_term: u64,
    /// Proposals made here that are not applied yet: by the entry's index, its term and the tickets
    /// that wait for it.
    proposals: BTreeMap<u64, (u64, Vec<Ticket>)>,
    queries: Queries<S::Query>,
    change: Option<PendingChange>,
    admitted: Admitted,
    /// Learners whose admission this leader has proposed and not applied yet.
    admitting: Admitted,
    /// The incarnation with which this replica waits for its admission, if it does.
    born: Option<Incarnation>,
    /// Number of times this leader offered its leadership because its disk is full.
    offers: usize,
    /// For each learner, the index of the entry that made it a learner. It may have lost entries
    /// that it acknowledged before.
    learners: BTreeMap<NodeId, u64>,
    clock: LogClock,
    lease: Lease,
    should_extend_lease: bool,
    /// The time until which this replica votes for no other candidate, because the leader relies on
    /// it.
    promised_until: Time,
    sending: BTreeMap<NodeId, SnapshotSender>,
    receiving: SnapshotReceiver,
    is_disk_full: bool,
    /// Whether this replica must save its initial state, because its disk was empty when it
    /// started.
    is_new: bool,
}

/// A pending change of members. It is complete when this entry is applied and the members are
/// these.
struct PendingChange {
    ticket: Ticket,
    members: Members,
    index: u64,
}

impl<S: StateMachine> Running<S> {
    pub(crate) fn start(
        me: NodeId,
        settings: Settings,
        now: Time,
        durable: Durable,
        founding: Option<Checkpoint>,
        incarnation: Incarnation,
    ) -> Result<Self, Halt> {
        // Promises of an earlier incarnation still hold.
        let has_run_before = durable != Durable::default();
        let born = durable.born;
        let log = Log::open(durable, founding);
        let (image, index, term) = match log.checkpoint() {
            Some(Checkpoint { image, index, term, .. }) => (read_image(image)?, *index, *term),
            None => (Image::default(), 0, 0),
        };
        let engine = Engine::start(me, settings.seed, config(&settings), log)
            .map_err(|error| Halt(format!("the log on the disk is inconsistent: {error}. No data was changed.")))?;
        let tick = settings.tick;
        let learners = engine.configuration().incoming.learners;
        Ok(Self {
            learners: learners.into_iter().map(|learner| (learner, index)).collect(),
            me,
            role: engine.role(),
            engine,
            machine: image.machine,
            at: At { index, time: image.time },
            applied_term: term,
            proposals: BTreeMap::new(),
            queries: Queries::new(me, incarnation),
            change: None,
            admitted: image.admitted,
            admitting: Admitted::new(),
            born: (index == 0).then(|| born.unwrap_or(incarnation)),
            offers: 0,
            clock: LogClock::start(now, image.time, tick),
            lease: Lease::default(),
            should_extend_lease: false,
            promised_until: if has_run_before { now + settings.promise() } else { now },
            sending: BTreeMap::new(),
            receiving: SnapshotReceiver::default(),
            is_disk_full: false,
            is_new: !has_run_before || (index == 0 && born.is_none()),
            settings,
        })
    }

    /// RP-10. Saves the founding state, or the incarnation that waits for its admission, so that
    /// later incarnations do not decide differently.
    pub(crate) fn save_initial_state(&mut self, out: &mut Out<'_, S>) {
        match self.engine.log().checkpoint() {
            Some(founding) if self.is_new => self.engine.save_checkpoint(founding.clone(), 0, out),
            Some(_) => {}
            None => {
                if let Some(born) = self.born.filter(|_| self.is_new) {
                    self.engine.request_save(Write::Born(born), out);
                }
            }
        }
    }

    pub(crate) fn machine(&self) -> &S {
        &self.machine
    }

    pub(crate) fn applied(&self) -> u64 {
        self.at.index
    }

    pub(crate) fn leads(&self) -> bool {
        self.role.leads
    }

    /// RP-10. Whether this replica was never admitted, or lost its disk.
    fn is_joining(&self) -> bool {
        self.engine.log().checkpoint().is_none()
    }

    /// Handles a tick. A replica that waits for its disk, or was never admitted, does not campaign.
    pub(crate) fn tick(&mut self, now: Time, out: &mut Out<'_, S>) {
        let may_campaign = self.engine.has_saved_all() && !self.is_joining() && !self.is_disk_full;
        if self.engine.leads() || may_campaign {
            self.engine.tick();
        }
        if self.role.leads {
            self.clock.at(now);
            self.should_extend_lease = self.settings.reads == Reads::Lease;
        }
        self.queries.tick(2 * self.settings.heartbeat_ticks);
        self.offer_leadership(out);
    }

    /// RP-3.
    pub(crate) fn saved(&mut self, count: u64) {
        self.engine.saved(count);
    }

    /// RP-11.
    pub(crate) fn disk_full(&mut self, out: &mut Out<'_, S>) {
        self.is_disk_full = true;
        out.note("RP-11", format_args!("its disk is full: takes no commands and no entries"));
        self.offer_leadership(out);
    }

    /// RP-11. Offers the leadership to each successor in turn, because an offer can be lost, and
    /// the successor's disk may be full too.
    fn offer_leadership(&mut self, out: &mut Out<'_, S>) {
        let successors = self.engine.successors();
        if !self.is_disk_full || !self.role.leads || self.engine.is_handing_over() || successors.is_empty() {
            return;
        }
        let successor = successors[self.offers % successors.len()];
        self.offers += 1;
        self.transfer(successor, out);
    }

    /// RP-11.
    pub(crate) fn disk_free(&mut self, out: &mut Out<'_, S>) {
        self.is_disk_full = false;
        out.note("RP-11", format_args!("its disk has room again"));
    }

    /// Handles raft's output until there is none left.
    pub(crate) fn settle(&mut self, now: Time, out: &mut Out<'_, S>) -> Result<(), Halt> {
        loop {
            while let Some(output) = self.engine.next(out, |message| message) {
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
            if let Some(began) = self.queries.complete_round(round, index)
                && self.engine.leads()
                && self.role.leads
            {
                self.lease.extend(began, self.settings.lease());
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
        let before = std::mem::replace(&mut self.role, self.engine.role());
        let Role { leads, leader, term } = self.role;
        if self.role == before {
            return;
        }
        if before.leads {
            self.resign(out);
        }
        if leads {
            self.lease.end();
            self.clock = LogClock::start(now, self.highest_log_time(), self.settings.tick);
            out.emit_ahead(Event::Leads { term });
        } else {
            out.emit_ahead(Event::Follows { leader, term });
        }
    }

    /// Stops this replica and answers all pending requests.
    pub(crate) fn abandon(&mut self, out: &mut Out<'_, S>) {
        self.resign(out);
        for ticket in self.queries.remove_all() {
            out.emit_ahead(Event::Refused { ticket, why: Refusal::Halted });
        }
    }

    /// Ends everything that only a leader does. The outcome of its proposals is unknown.
    fn resign(&mut self, out: &mut Out<'_, S>) {
        let proposed = std::mem::take(&mut self.proposals).into_values().flat_map(|(_, tickets)| tickets);
        let change = self.change.take().map(|change| change.ticket);
        for ticket in proposed.chain(change) {
            out.emit_ahead(Event::Unknown { ticket });
        }
        self.admitting.clear();
        for to in std::mem::take(&mut self.sending).into_keys() {
            out.cancel_timer(Timer::Piece(to));
        }
        self.lease.end();
    }
}

fn config(settings: &Settings) -> raft::Config {
    raft::Config {
        election_tick: settings.election_ticks,
        heartbeat_tick: settings.heartbeat_ticks,
        max_size_per_msg: settings.message_bytes,
        max_inflight_msgs: 256,
        check_quorum: true,
        pre_vote: true,
        batch_append: true,
        max_uncommitted_size: settings.uncommitted_bytes.max(settings.message_bytes),
        ..raft::Config::default()
    }
}

fn read_image<S: StateMachine>(bytes: &[u8]) -> Result<Image<S>, Halt> {
    Image::read(bytes).map_err(|error| Halt(error.to_string()))
}
