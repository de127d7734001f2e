//! A replica at work: one method a rule.

mod applying;
mod hearing;
mod requests;
mod snapshots;

use crate::batch::{Admitted, Image};
use crate::clock::{Lease, LogClock};
use crate::command::{Event, Refusal, Ticket};
use crate::durable::{Checkpoint, Durable, Write};
use crate::engine::{Engine, News, Role};
use crate::log::Log;
use crate::machine::{At, StateMachine};
use crate::members::Members;
use crate::pieces::{Receiving, Sending};
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
    at: At,
    applied_term: u64,
    /// What was proposed here and is not applied yet: the entry's index, its term, and who waits for it.
    proposals: BTreeMap<u64, (u64, Vec<Ticket>)>,
    queries: Queries<S::Query>,
    change: Option<Changing>,
    admitted: Admitted,
    /// Who is being let in: the entry is in the log and not applied yet.
    admitting: Admitted,
    /// The name by which this replica waits to be let in, if it does.
    born: Option<Incarnation>,
    /// How often this leader offered its place because its disk is full.
    offers: usize,
    /// Since which entry each learner is one. What it acknowledged before that, it may have lost with its disk.
    learners: BTreeMap<NodeId, u64>,
    clock: LogClock,
    lease: Lease,
    lease_is_due: bool,
    /// Until when this replica votes for nobody, because a leader may rely on that.
    promised_until: Time,
    sending: BTreeMap<NodeId, Sending>,
    receiving: Receiving,
    is_full: bool,
    /// Whether there was nothing on its disk when it started.
    is_new: bool,
}

/// A change of members that was asked for: it is done when this entry is applied and the members are these.
struct Changing {
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
        // What was promised in an earlier life holds in this one.
        let has_lived = durable != Durable::default();
        let born = durable.born;
        let log = Log::open(durable, founding);
        let (image, index, term) = match log.checkpoint() {
            Some(Checkpoint { image, index, term, .. }) => (read_image(image)?, *index, *term),
            None => (Image::default(), 0, 0),
        };
        let engine = Engine::start(me, settings.seed, config(&settings), log)
            .map_err(|error| Halt(format!("The log on the disk makes no sense: {error}. Nothing was changed.")))?;
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
            lease_is_due: false,
            promised_until: if has_lived { now + settings.promise() } else { now },
            sending: BTreeMap::new(),
            receiving: Receiving::default(),
            is_full: false,
            is_new: !has_lived || (index == 0 && born.is_none()),
            settings,
        })
    }

    /// RP-10. Who founds a group, and by which name one waits to be let in, must not be told otherwise in another life.
    pub(crate) fn save_beginning(&mut self, out: &mut Out<'_, S>) {
        match self.engine.log().checkpoint() {
            Some(founding) if self.is_new => self.engine.keep(founding.clone(), 0, out),
            Some(_) => {}
            None => {
                if let Some(born) = self.born.filter(|_| self.is_new) {
                    self.engine.ask(Write::Born(born), out);
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

    /// RP-10. Whether this replica was never let in, or lost its disk.
    fn is_joining(&self) -> bool {
        self.engine.log().checkpoint().is_none()
    }

    /// The beat. Who waits for its disk, or was never let in, does not stand for election.
    pub(crate) fn tick(&mut self, now: Time, out: &mut Out<'_, S>) {
        let may_stand = self.engine.is_saved() && !self.is_joining() && !self.is_full;
        if self.engine.leads() || may_stand {
            self.engine.tick();
        }
        if self.role.leads {
            self.clock.at(now);
            self.lease_is_due = self.settings.reads == Reads::Lease;
        }
        self.queries.tick(2 * self.settings.heartbeat_ticks);
        self.offer_place(out);
    }

    /// RP-3.
    pub(crate) fn saved(&mut self, count: u64) {
        self.engine.saved(count);
    }

    /// RP-11.
    pub(crate) fn disk_full(&mut self, out: &mut Out<'_, S>) {
        self.is_full = true;
        out.note("RP-11", format_args!("its disk is full: takes no commands and no entries"));
        self.offer_place(out);
    }

    /// RP-11. An offer can be lost, and who gets it may be no better off: it is made again, to one after the other.
    fn offer_place(&mut self, out: &mut Out<'_, S>) {
        let successors = self.engine.successors();
        if !self.is_full || !self.role.leads || self.engine.is_handing_over() || successors.is_empty() {
            return;
        }
        let successor = successors[self.offers % successors.len()];
        self.offers += 1;
        self.transfer(successor, out);
    }

    /// RP-11.
    pub(crate) fn disk_free(&mut self, out: &mut Out<'_, S>) {
        self.is_full = false;
        out.note("RP-11", format_args!("its disk has room again"));
    }

    /// Carries out all that raft wants, until it wants nothing more.
    pub(crate) fn settle(&mut self, now: Time, out: &mut Out<'_, S>) -> Result<(), Halt> {
        loop {
            while let Some(news) = self.engine.next(out, |message| message) {
                self.digest(now, news, out)?;
            }
            self.answer_queries(out);
            let renew = self.takes_lease();
            let Some(round) = self.queries.next_round(now, renew) else { break };
            self.engine.begin_round(round);
        }
        self.keep_state(out);
        Ok(())
    }

    fn digest(&mut self, now: Time, news: News, out: &mut Out<'_, S>) -> Result<(), Halt> {
        if let Some(checkpoint) = news.installed {
            self.install(&checkpoint, out)?;
        }
        for entry in &news.committed {
            self.apply(entry, out)?;
        }
        if let Some(last) = news.committed.last() {
            self.engine.applied(last.index);
        }
        for (round, index) in news.rounds {
            if let Some(began) = self.queries.succeed(round, index)
                && self.engine.leads()
                && self.role.leads
            {
                self.lease.extend(began, self.settings.lease());
            }
        }
        if news.role {
            self.take_role(now, out);
        }
        for (to, snapshot) in news.snapshots {
            self.send_snapshot(to, &snapshot, out);
        }
        Ok(())
    }

    /// RP-12. Who gains the leadership goes on with the log's time; who loses it cannot tell what becomes of proposals.
    fn take_role(&mut self, now: Time, out: &mut Out<'_, S>) {
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
            self.clock = LogClock::start(now, self.largest_log_time(), self.settings.tick);
            out.emit_ahead(Event::Leads { term });
        } else {
            out.emit_ahead(Event::Follows { leader, term });
        }
    }

    /// This replica takes no part any more: nobody waits for it in vain.
    pub(crate) fn abandon(&mut self, out: &mut Out<'_, S>) {
        self.resign(out);
        for ticket in self.queries.all() {
            out.emit_ahead(Event::Refused { ticket, why: Refusal::Halted });
        }
    }

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
