//! The nodes themselves: works out what an input does to a local state, and numbers what comes of it.

use crate::action::MOST_MOVES;
use crate::content::{content, mix};
use crate::deaths::{Deaths, crier};
use crate::expand::Oracle;
use crate::findings::Setup;
use crate::hands::{Hands, Step};
use crate::interner::Interner;
use crate::local::{Armed, Checked, Local, reached, shown};
use crate::membership::{Lease, Roll, herald};
use crate::past;
use crate::tables::{
    Beat, Cargo, Consequences, Deadline, EnvelopeInfo, LocalDetail, LocalInfo, MoveDetail, MoveKind, NOTHING, Obituary,
    Outcome, Postmark, Tables,
};
use crate::users::{News, Story, Users};
use quorate_core::{Describe, Incarnation, Input, NodeId, Protocol, Span, Time, View};
use quorate_journal::disk::Disk;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Makes a node, at boot and at every restart.
pub type Make<P> = Arc<dyn Fn(NodeId) -> P + Send + Sync>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Envelope<M> {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) content: Content<M>,
    /// When it may and must arrive, where that is bounded.
    pub(crate) due: Option<Deadline>,
}

/// Where nothing is bounded, fingerprints are those of the rest alone.
impl<M: Hash> Hash for Envelope<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.from.hash(state);
        self.to.hash(state);
        self.content.hash(state);
        if let Some(due) = self.due {
            due.hash(state);
        }
    }
}

/// What is on its way to a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Content<M> {
    Message(M),
    View(View),
    /// Word that the process of a node is gone.
    Gone(NodeId),
    /// Word that it is back.
    Back(NodeId),
}

/// Something that a node can do by itself.
pub(crate) enum Own<C, T> {
    Command(C),
    Timer(T),
    /// The disk is done with all that was saved.
    Sync,
    /// The node goes down, and so many of its unsynced writes survive.
    Crash {
        survivors: u64,
    },
    Restart,
    /// The membership lets the node have its lease up to here.
    Lease {
        until: Time,
    },
}

type OwnOf<P> = Own<<P as Protocol>::Command, <P as Protocol>::Timer>;

/// The nodes of a group, each local state kept once.
pub(crate) struct Stage<P: Checked, U: Users<Command = P::Command, Event = P::Event>> {
    make: Make<P>,
    users: U,
    nodes: usize,
    timed: bool,
    delay: Option<Span>,
    deaths: Deaths,
    prompt_disks: bool,
    locals: Interner<Local<P, U::User>>,
    envelopes: Interner<Envelope<P::Message>>,
    moves: Vec<OwnOf<P>>,
    /// Whether a node had more moves to choose from than can be told apart.
    overflow: bool,
}

pub(crate) fn delivery_obligation(envelope: &EnvelopeInfo) -> u64 {
    mix(envelope.fingerprint ^ 0x6d65_7373)
}

/// A lease of which the end is not in sight, and one that has ended, where time stands still.
pub(crate) const VALID: Time = Time::NEVER;
const ENDED: Time = Time::ZERO;

const OF_USER: u8 = 1;
const OF_TIMER: u8 = 2;
const OF_DISK: u8 = 3;

impl<P, U> Stage<P, U>
where
    P: Checked,
    U: Users<Command = P::Command, Event = P::Event>,
{
    pub(crate) fn new(make: Make<P>, users: U, setup: &Setup) -> Self {
        Self {
            make,
            users,
            nodes: setup.nodes,
            timed: setup.timing.is_some(),
            delay: setup.timing.and_then(|timing| timing.delay),
            deaths: setup.deaths,
            prompt_disks: setup.prompt_disks && setup.restarts == 0,
            locals: Interner::new(),
            envelopes: Interner::new(),
            moves: Vec::new(),
            overflow: false,
        }
    }

    pub(crate) fn make(&self, node: NodeId) -> P {
        (self.make)(node)
    }

    pub(crate) fn envelope(&self, number: u32) -> &Envelope<P::Message> {
        self.envelopes.get(number)
    }

    pub(crate) fn own_move(&self, number: u32) -> &OwnOf<P> {
        &self.moves[number as usize]
    }

    /// Whether nodes are told of deaths, and not only their users.
    pub(crate) fn tells_nodes(&self) -> bool {
        self.deaths == Deaths::ToNodes
    }

    pub(crate) fn has_prompt_disks(&self) -> bool {
        self.prompt_disks
    }

    pub(crate) fn local(&self, number: u32) -> &Local<P, U::User> {
        self.locals.get(number)
    }

    /// Boots every node, each with a clock of its own rate: the local states, and the messages under way.
    pub(crate) fn begin(&mut self, tables: &mut Tables, rates: &[i32], founding: Option<Roll>) -> (Vec<u32>, Vec<u32>) {
        let mut locals = Vec::new();
        let mut under_way = Vec::new();
        for (index, rate) in rates.iter().enumerate() {
            let node = NodeId::from_index(index);
            let local = Local {
                node,
                protocol: Some(self.make(node)),
                incarnation: Incarnation::FIRST,
                timers: Vec::new(),
                disk: Disk::default(),
                rate: *rate,
                lease: if founding.is_some() { Lease::Valid } else { Lease::Unneeded },
                user: self.users.begin(node),
            };
            let start = Input::Start { durable: P::Durable::default(), incarnation: Incarnation::FIRST };
            let founding = founding.map(|roll| [Input::View(roll.view()), Input::Lease(VALID)]);
            let mut local = local;
            for input in std::iter::once(start).chain(founding.into_iter().flatten()) {
                let step = self.step(local, Time::ZERO, Some(input), Story::at(Time::ZERO));
                local = step.local;
                under_way.extend(step.sends.into_iter().map(|envelope| self.number_envelope(tables, envelope)));
            }
            locals.push(self.number_local(tables, local));
        }
        (locals, under_way)
    }

    fn step(&self, mut local: Local<P, U::User>, time: Time, input: Option<Input<P>>, story: Story) -> Step<P, U> {
        let now = shown(time, local.rate);
        let beats = story.past.iter().copied().map(Beat::Past).collect();
        let mut protocol = local.protocol.take();
        let mut hands = Hands {
            users: &self.users,
            timed: self.timed,
            now,
            due: self.delay.map(|span| Deadline { earliest: time + span.earliest, latest: time + span.latest }),
            step: Step { local, sends: Vec::new(), beats, sets: Vec::new(), story },
            nodes: self.nodes,
        };
        if let (Some(protocol), Some(input)) = (&mut protocol, input) {
            hands.give(protocol, input);
            while self.prompt_disks
                && let Some(count) = hands.step.local.disk.unsynced()
            {
                hands.step.local.disk.sync(count);
                hands.give(protocol, Input::Saved(count));
            }
        }
        let mut step = hands.step;
        step.local.protocol = protocol;
        step.local.timers.sort_by_key(|armed| armed.fingerprint);
        step
    }

    fn move_by_itself(&self, mut local: Local<P, U::User>, time: Time, own: &OwnOf<P>) -> Step<P, U> {
        let mut story = Story::at(time);
        let input = match own {
            Own::Command(command) => {
                self.users.hear(&mut local.user, News::Commands(command), &mut story);
                Some(Input::Command(command.clone()))
            }
            Own::Timer(timer) => {
                local.timers.retain(|armed| armed.timer != *timer);
                Some(Input::Timer(timer.clone()))
            }
            Own::Sync => local.disk.unsynced().map(|count| {
                local.disk.sync(count);
                Input::Saved(count)
            }),
            Own::Crash { survivors } => {
                local.protocol = None;
                local.lease = local.lease.lost();
                local.timers.clear();
                local.disk.crash(*survivors);
                self.users.hear(&mut local.user, News::Crashed, &mut story);
                None
            }
            Own::Restart => {
                local.incarnation = local.incarnation.next();
                local.protocol = Some(self.make(local.node));
                self.users.hear(&mut local.user, News::Restarted, &mut story);
                Some(Input::Start { durable: local.disk.contents(), incarnation: local.incarnation })
            }
            Own::Lease { until } => {
                local.lease = if *until == VALID { Lease::Valid } else { Lease::Over };
                Some(Input::Lease(*until))
            }
        };
        self.step(local, time, input, story)
    }

    /// Numbers what a step led to.
    fn conclude(&mut self, tables: &mut Tables, before: u32, step: Step<P, U>) -> u32 {
        let Step { local, sends, beats, sets, story } = step;
        let next = self.number_local(tables, local);
        let sends: Box<[u32]> = sends.into_iter().map(|envelope| self.number_envelope(tables, envelope)).collect();
        let (old, new) = (&tables.local_details[before as usize], &tables.local_details[next as usize]);
        let visible = (old.facet, old.term) != (new.facet, new.term) || story.breach.is_some();
        let sent = sends.iter().map(|number| tables.envelopes[*number as usize].fingerprint);
        let delta = sent.fold(new.fingerprint.wrapping_sub(old.fingerprint), u64::wrapping_add);
        let receivers = sends.iter().fold(0, |nodes, number| nodes | 1 << tables.envelopes[*number as usize].to);
        let beats = beats.into_iter().map(|beat| match beat {
            // What is told of a message in passing is its place among those sent.
            Beat::Sent(place) => Beat::Sent(sends[place as usize]),
            Beat::Handed(_) | Beat::Past(_) => beat,
        });
        let beats = beats.collect();
        let consequences = Consequences { sends, beats, sets: sets.into() };
        tables.add_outcome(Outcome::new(delta, next, receivers, story.breach, visible), consequences)
    }

    /// Numbers all that nodes can be told of each other's lives, where anybody is told.
    pub(crate) fn number_obituaries(&mut self, tables: &mut Tables) {
        if !self.deaths.are_told() {
            return;
        }
        for of in (0..self.nodes).map(NodeId::from_index) {
            for to in (0..self.nodes).map(NodeId::from_index) {
                let mut letter = |content| match of == to {
                    true => NOTHING,
                    false => self.number_envelope(tables, Envelope { from: crier(of), to, content, due: None }),
                };
                let (gone, back) = (letter(Content::Gone(of)), letter(Content::Back(of)));
                tables.obituaries.push(Obituary { gone, back });
            }
        }
    }

    fn number_envelope(&mut self, tables: &mut Tables, envelope: Envelope<P::Message>) -> u32 {
        let (from, to) = (envelope.from.index() as u8, envelope.to.index() as u8);
        let message = match &envelope.content {
            Content::Message(message) => Some(message),
            Content::View(_) | Content::Gone(_) | Content::Back(_) => None,
        };
        let wrapped = message.is_some_and(Describe::wrapped);
        let first_copy = message.filter(|message| !message.again());
        let parcel = first_copy.and_then(Describe::parcel);
        let parcel = parcel.map(|parcel| past::packed(envelope.from, envelope.to, parcel));
        let due = envelope.due;
        let undated = due.map(|_| Envelope { due: None, ..envelope.clone() });
        let says = undated.map(|undated| self.number_envelope(tables, undated));
        let (number, fingerprint, new) = self.envelopes.intern(envelope);
        if new {
            tables.envelopes.push(EnvelopeInfo { fingerprint, from, to });
            tables.cargo.push(Cargo { wrapped, parcel });
            tables.postmarks.push(Postmark { due, says: says.unwrap_or(number) });
        }
        number
    }

    fn number_local(&mut self, tables: &mut Tables, local: Local<P, U::User>) -> u32 {
        let (number, fingerprint, new) = self.locals.intern(local);
        if !new {
            return number;
        }
        let local = self.locals.get(number);
        let deadline = |armed: &Armed<P::Timer>| Deadline {
            earliest: reached(armed.earliest, local.rate),
            latest: reached(armed.latest, local.rate),
        };
        let deadlines = if self.timed { local.timers.iter().map(deadline).collect() } else { Box::default() };
        // Whoever may not act is not owed anything, whatever its user has not heard yet.
        let acts = local.lease.lets_act();
        let facet = self.users.facet(&local.user, acts);
        let term = if acts && self.timed { self.users.term(&local.user) } else { None };
        let term = term.map_or(Time::ZERO, |until| reached(until, local.rate));
        tables.local_details.push(LocalDetail { fingerprint, facet, term, deadlines });
        let moves = self.moves_of(local);
        let crashes = moves.iter().filter(|(own, _)| matches!(own, Own::Crash { .. })).count();
        let info = LocalInfo {
            first_move: self.moves.len() as u32,
            moves: moves.len().min(MOST_MOVES) as u16,
            crashes: crashes.min(MOST_MOVES) as u16,
            waits: acts && self.users.waits(&local.user),
            up: local.protocol.is_some(),
            leased: local.lease == Lease::Valid,
        };
        tables.locals.push(info);
        self.overflow |= moves.len() > MOST_MOVES;
        for (own, detail) in moves {
            tables.add_move(own.kind(), detail);
            self.moves.push(own);
        }
        number
    }

    /// What a node can do by itself; crashes come last.
    fn moves_of(&self, local: &Local<P, U::User>) -> Vec<(OwnOf<P>, MoveDetail)> {
        let node = local.node.index();
        let mut moves = Vec::new();
        let mut add = |own, obligation, ready| moves.push((own, MoveDetail { obligation, ready }));
        if local.protocol.is_none() {
            add(Own::Restart, None, Time::ZERO);
            return moves;
        }
        for offer in self.users.offers(&local.user) {
            let obligation = offer.obliged.then(|| content(&(node, OF_USER)));
            add(Own::Command(offer.command), obligation, Time::ZERO);
        }
        for armed in &local.timers {
            // By the node's own clock another one must have fired before, though both may be due by now.
            if self.timed && local.timers.iter().any(|other| other.latest < armed.earliest) {
                continue;
            }
            let ready = if self.timed { reached(armed.earliest, local.rate) } else { Time::ZERO };
            add(Own::Timer(armed.timer.clone()), Some(timer_obligation(node, armed.fingerprint)), ready);
        }
        if local.disk.pending() > 0 {
            add(Own::Sync, Some(content(&(node, OF_DISK))), Time::ZERO);
        }
        match local.lease {
            Lease::Valid => add(Own::Lease { until: ENDED }, None, Time::ZERO),
            Lease::Over => add(Own::Lease { until: VALID }, None, Time::ZERO),
            Lease::Unneeded | Lease::Out => {}
        }
        for survivors in 0..=local.disk.pending() {
            add(Own::Crash { survivors }, None, Time::ZERO);
        }
        moves
    }
}

impl<C, T> Own<C, T> {
    fn kind(&self) -> MoveKind {
        match self {
            Self::Command(_) => MoveKind::Command,
            Self::Timer(_) => MoveKind::Timer,
            Self::Sync => MoveKind::Sync,
            Self::Crash { .. } => MoveKind::Crash,
            Self::Restart => MoveKind::Restart,
            Self::Lease { until: VALID } => MoveKind::LeaseRenewed,
            Self::Lease { .. } => MoveKind::LeaseEnds,
        }
    }
}

pub(crate) fn timer_obligation(node: usize, fingerprint: u64) -> u64 {
    content(&(node, OF_TIMER, fingerprint))
}

impl<P, U> Oracle for Stage<P, U>
where
    P: Checked,
    U: Users<Command = P::Command, Event = P::Event>,
{
    fn deliver(&mut self, tables: &mut Tables, local: u32, envelope: u32, time: Time) -> u32 {
        let Envelope { from, content, .. } = self.envelopes.get(envelope).clone();
        let mut node = self.locals.get(local).clone();
        let mut story = Story::at(time);
        let is_told = self.tells_nodes();
        let input = match content {
            Content::Message(message) => Some(Input::Message { from, message }),
            Content::View(view) => {
                if view.stay(node.node).is_none_or(|stay| stay.incarnation != node.incarnation) {
                    node.lease = node.lease.lost();
                }
                Some(Input::View(view))
            }
            Content::Gone(other) => {
                self.users.hear(&mut node.user, News::Gone(other), &mut story);
                is_told.then_some(Input::Suspect(other))
            }
            Content::Back(other) => {
                self.users.hear(&mut node.user, News::Back(other), &mut story);
                is_told.then_some(Input::Trust(other))
            }
        };
        let step = self.step(node, time, input, story);
        self.conclude(tables, local, step)
    }

    fn view(&mut self, tables: &mut Tables, roll: Roll) -> u32 {
        let from = herald(self.nodes, roll.epoch());
        let letter = |to| Envelope { from, to: NodeId::from_index(to), content: Content::View(roll.view()), due: None };
        let letters = (0..self.nodes).map(|to| self.number_envelope(tables, letter(to))).collect();
        tables.learn_view(roll, letters)
    }

    fn own(&mut self, tables: &mut Tables, local: u32, number: u32, time: Time) -> u32 {
        let step = self.move_by_itself(self.locals.get(local).clone(), time, &self.moves[number as usize]);
        self.conclude(tables, local, step)
    }

    fn is_overrun(&self) -> bool {
        self.overflow
    }
}
