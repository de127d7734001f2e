//! Builds the data of a picture from a run, observed live or read from its journal.
//!
//! Memory use does not grow with the length of the run: the sketch keeps the window (until it is
//! too full for a scene), the messages in flight, and the state of every node.

mod bands;
mod clocks;
mod draft;
mod flights;
mod lanes;
mod queues;
mod views;

use crate::Window;
use crate::overview::{Overview, Survey};
use crate::scene::{Arrow, Blow, Breach, Cause, Head, Heading, Mark, Place, Scene, Tail};
use bands::Bands;
use clocks::Clocks;
use draft::Draft;
use flights::{Flight, Flights, Letter};
use lanes::{Lanes, Stand};
use queues::{Queues, Waiting};
use quorate_core::{NodeId, Time};
use quorate_journal::moment::{Done, Happening, MessageId, Moment, Observer, Sent, Taken, receivers};
use quorate_journal::record::Header;
use quorate_journal::role::{Roles, Stands};
use quorate_journal::words;
use std::fmt::Display;
use views::Views;

/// Which part of a run to show, and how much detail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub window: Window,
    /// Whether to show steps without visible effect, such as a tick or a disk confirmation.
    pub quiet: bool,
    /// Maximum number of steps and marks in a scene; a longer run becomes an overview.
    pub most: usize,
    /// Whether to build an overview even of a short run.
    pub overview: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { window: Window::default(), quiet: false, most: MOST_STEPS, overview: false }
    }
}

/// Default maximum number of steps and marks in a scene; a larger diagram is unreadable.
pub const MOST_STEPS: usize = 400;

/// Maximum number of messages in a scene; more arrows are unreadable.
pub const MOST_ARROWS: usize = 1_200;
/// Maximum number of lanes in a scene; more do not fit on a page.
pub const MOST_LANES: usize = 100;

/// A finished picture's data.
#[derive(Clone, Debug)]
pub enum Drawing {
    Scene(Box<Scene>),
    /// A summary over time, because the run is too long for a scene.
    Overview(Box<Overview>),
}

impl Drawing {
    /// Marks where a property was violated.
    pub fn blame(&mut self, breach: Breach) {
        match self {
            Self::Scene(scene) => scene.breaches.push(breach),
            Self::Overview(overview) => overview.breaches.push(breach),
        }
    }
}

/// Observes a run and builds a [`Drawing`] of it.
pub struct Sketch<C, E> {
    options: Options,
    scene: Scene,
    roles: Roles<C, E>,
    clocks: Clocks,
    lanes: Lanes,
    bands: Bands,
    views: Views,
    queues: Queues,
    flights: Flights,
    survey: Survey,
    /// The current step, if it is in the window.
    draft: Option<Draft>,
    /// The current journal line; the header is line 1.
    line: u64,
    /// Whether the run is too large for a scene.
    full: bool,
    /// Whether the window has begun.
    begun: bool,
    /// Time of the last line in the window.
    last: Option<Time>,
}

impl<C: Display, E: Display> Sketch<C, E> {
    pub fn new(header: &Header, heading: Heading, stands: Stands<C, E>, options: Options) -> Self {
        let members = options.window.members(header.nodes);
        let scene = Scene { heading, origin: Time::from_nanos(header.origin), ..Scene::default() };
        Self {
            lanes: Lanes::new(&members, header.nodes),
            survey: Survey::new(&members, header.nodes),
            clocks: Clocks::new(header.nodes, header.live.is_some()),
            roles: Roles::new(header.nodes, stands),
            bands: Bands::default(),
            views: Views::new(&members),
            queues: Queues::default(),
            flights: Flights::default(),
            draft: None,
            line: 1,
            full: options.overview,
            begun: false,
            last: None,
            scene,
            options,
        }
    }

    /// Returns the scene, or an overview if the run was too large for one.
    pub fn finish(mut self) -> Drawing {
        self.close_step();
        self.begin_window();
        let window = &self.options.window;
        let first = self.survey.first().unwrap_or_default();
        let from = window.from.unwrap_or(first);
        let to = self.last.map_or(from, |last| last.max(from));
        let Scene { heading, origin, beyond, .. } = &self.scene;
        if self.full {
            let (heading, beyond) = (heading.clone(), *beyond);
            let bands = self.bands.finish();
            return Drawing::Overview(Box::new(self.survey.finish(heading, *origin, (from, to), bands, beyond)));
        }
        let mut scene = self.scene;
        let count = scene.steps.len() + scene.marks.len();
        (scene.from, scene.to) = (from, to);
        scene.bands = self.bands.finish();
        scene.arrows = self.flights.finish();
        scene.lanes = self.lanes.finish(Place { time: from, order: 0 }, Place { time: to, order: count });
        self.views.finish(&mut scene);
        self.queues.finish(&mut scene, Place { time: to, order: count });
        // Nodes that the caller selected are always shown.
        if self.options.window.nodes.is_empty() {
            lanes::drop_idle(&mut scene);
        }
        if scene.lanes.len() > MOST_LANES {
            let Scene { heading, origin, bands, beyond, .. } = scene;
            return Drawing::Overview(Box::new(self.survey.finish(heading, origin, (from, to), bands, beyond)));
        }
        Drawing::Scene(Box::new(scene))
    }

    /// Returns the position of the next step or mark.
    fn place(&self, time: Time) -> Place {
        Place { time, order: self.scene.steps.len() + self.scene.marks.len() }
    }

    /// Whether a scene shows this instant.
    fn shows(&self, time: Time) -> bool {
        !self.full && self.options.window.shows(time)
    }

    /// Begins a journal line.
    fn begin_line(&mut self, time: Time) {
        self.close_step();
        self.line += 1;
        let window = &self.options.window;
        if window.is_before(time) {
            self.scene.beyond.before += 1;
            self.views.pass(self.place(time));
            return;
        }
        let after = window.is_after(time);
        self.begin_window();
        if after {
            self.scene.beyond.after += 1;
        } else {
            self.last = Some(self.last.map_or(time, |last| last.max(time)));
            self.views.pass(self.place(time));
        }
        self.check_size();
    }

    fn begin_window(&mut self) {
        if !std::mem::replace(&mut self.begun, true) {
            self.lanes.begin(|node| Stand::of(&self.roles, node));
            self.views.begin();
            self.queues.begin(Place { time: self.options.window.from.unwrap_or_default(), order: 0 });
        }
    }

    /// Completes the current step. A step without visible effect is dropped, unless the options ask
    /// for it.
    fn close_step(&mut self) {
        let Some(draft) = self.draft.take() else { return };
        let node = draft.node;
        let Some(lane) = self.lanes.index(node) else { return };
        let stand = Stand::of(&self.roles, node);
        let is_new = self.options.quiet || self.lanes.stand(lane) != stand;
        if !is_new && draft.is_plain(self.views.is_founding(node)) {
            return;
        }
        if !is_new && draft.is_quiet() {
            // Every node starts once; that is not worth counting.
            self.scene.beyond.quiet += u64::from(draft.cause != Cause::Start { again: false });
            return;
        }
        let step = draft.finish(lane, stand.role, self.clocks.logical(node), self.clocks.vector(node));
        self.lanes.change(lane, stand, step.place);
        self.scene.steps.push(step);
    }

    /// Discards the scene's data once it is too large to draw.
    fn check_size(&mut self) {
        let things = self.scene.steps.len() + self.scene.marks.len() + self.bands.count();
        if !self.full && (things > self.options.most || self.flights.arrows() > MOST_ARROWS) {
            self.full = true;
            self.scene.steps = Vec::new();
            self.scene.marks = Vec::new();
            self.flights = Flights::default();
            self.lanes.forget();
            self.views.forget();
            self.queues.forget();
        }
    }

    fn input(&mut self, time: Time, node: NodeId, input: &Taken<'_, C>) {
        if let Taken::Start { .. } = input {
            self.holds(time, node, Waiting::default());
        }
        if !self.shows(time) {
            if let Taken::Message { id, .. } = input {
                self.flights.land(*id, node);
            }
            return;
        }
        let mut draft = Draft::new(self.line, self.place(time), node, input);
        if let Taken::Message { id, .. } = input {
            draft.cause = Cause::Message(self.receive(*id, node));
        }
        self.draft = self.lanes.index(node).map(|_| draft);
    }

    /// Records the contents of a node's hold-back queue after the current step or mark.
    fn holds(&mut self, time: Time, node: NodeId, waiting: Waiting) {
        if !self.options.window.is_after(time)
            && let Some(lane) = self.lanes.index(node)
        {
            self.queues.change(lane, self.place(time), waiting);
        }
    }

    /// Ends a message at the current step. Returns its arrow, unless its other end is not shown.
    fn receive(&mut self, id: MessageId, node: NodeId) -> Option<usize> {
        let (flight, repeated) = self.flights.land(id, node)?;
        self.end_flight(id, &flight, repeated, Head::Step(self.scene.steps.len()))
    }

    /// Ends a message. A duplicate gets an arrow of its own. Returns the arrow, unless an end is
    /// not shown.
    fn end_flight(&mut self, id: MessageId, flight: &Flight, repeated: bool, head: Head) -> Option<usize> {
        let arrow = flight.arrow(&self.lanes, id, flight.tail.unwrap_or(Tail::Before), head)?;
        match flight.arrow.filter(|_| !repeated) {
            Some(index) => {
                self.flights.end(index, head);
                Some(index)
            }
            None => Some(self.flights.push(Arrow { copy: repeated, ..arrow })),
        }
    }

    /// Records a message that is sent. It is kept only if it can have an arrow.
    fn sent(&mut self, time: Time, from: NodeId, sent: &Sent<'_>, to: impl Iterator<Item = (NodeId, MessageId)>) {
        if self.full || self.options.window.is_after(time) {
            return;
        }
        if self.lanes.index(from).is_none() {
            let shows = self.options.window.shows(time);
            let seen = to.filter(|(to, _)| shows && self.lanes.index(*to).is_some()).count();
            self.scene.beyond.messages += seen as u64;
            return;
        }
        let tail = self.options.window.shows(time).then_some(Tail::Step(self.scene.steps.len()));
        let letter = Letter::new(from, sent, self.views.of(from), tail.is_some());
        for (to, id) in to {
            if self.lanes.index(to).is_none() {
                self.scene.beyond.messages += u64::from(tail.is_some());
                continue;
            }
            let mut flight = Flight::new(to, &letter, tail);
            let drawn = tail.and_then(|tail| flight.arrow(&self.lanes, id, tail, Head::Open));
            flight.arrow = drawn.map(|arrow| self.flights.push(arrow));
            self.flights.launch(id, flight);
        }
    }

    fn world(&mut self, time: Time, what: &Happening<'_>) {
        // The hold-back queue is in memory, so a crash empties it.
        if let Happening::Crashed { node, .. } | Happening::Ended { node } = what {
            self.holds(time, *node, Waiting::default());
        }
        match what {
            Happening::Lost { id, to, why } => {
                let at = self.place(time);
                if let Some((flight, repeated)) = self.flights.land(*id, *to)
                    && self.shows(time)
                {
                    self.end_flight(*id, &flight, repeated, Head::Lost { why: *why, at });
                }
            }
            Happening::Duplicated { id } => self.flights.double(*id),
            Happening::Crashed { node, .. } => self.mark(time, Some(*node), Blow::Crashed, what),
            Happening::Ended { node } => self.mark(time, Some(*node), Blow::Ended, what),
            Happening::Paused { node } => self.mark(time, Some(*node), Blow::Paused, what),
            Happening::Resumed { node } => self.mark(time, Some(*node), Blow::Resumed, what),
            Happening::Changed { text } => {
                let (place, before) = (self.place(time), self.options.window.is_before(time));
                let noted = self.options.window.is_after(time) || self.bands.note(text, place, before);
                self.scene.beyond.bands = self.bands.left_out();
                if !noted {
                    self.mark(time, None, Blow::Changed, what);
                }
            }
        }
    }

    fn mark(&mut self, time: Time, node: Option<NodeId>, blow: Blow, what: &Happening<'_>) {
        let lane = node.and_then(|node| self.lanes.index(node));
        if !self.shows(time) || (node.is_some() && lane.is_none()) {
            return;
        }
        let place = self.place(time);
        self.scene.marks.push(Mark { line: self.line, place, lane, what: blow, text: words::world(what) });
        if let (Some(lane), Some(node)) = (lane, node) {
            self.lanes.change(lane, Stand::of(&self.roles, node), place);
        }
    }

    fn effect(&mut self, time: Time, node: NodeId, effect: &Done<'_, E>) {
        match effect {
            Done::Send { to, sent } => self.sent(time, node, sent, [(*to, sent.id)].into_iter()),
            Done::Multicast { to, sent } => self.sent(time, node, sent, receivers(to, sent.id)),
            Done::Save(_)
            | Done::SetTimer { .. }
            | Done::CancelTimer(_)
            | Done::Emit(_)
            | Done::Rule { .. }
            | Done::Handed { .. }
            | Done::Told(_) => {}
            Done::HoldBack { count, names } => self.holds(time, node, Waiting::new(*count, &names.to_string())),
        }
        if let Some(draft) = &mut self.draft {
            draft.add(effect);
        }
    }
}

impl<C: Display, E: Display> Observer<C, E> for Sketch<C, E> {
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        let time = moment.time();
        if !matches!(moment, Moment::Effect { .. }) {
            self.begin_line(time);
        }
        self.roles.observe(moment);
        self.clocks.observe(moment);
        if self.options.window.shows(time) {
            self.survey.observe(moment, &self.roles);
        }
        if !self.options.window.is_after(time) {
            self.views.observe(moment, self.place(time));
        }
        match moment {
            Moment::Input { time, node, input, .. } => self.input(*time, *node, input),
            Moment::Effect { time, node, effect } => self.effect(*time, *node, effect),
            Moment::World { time, what } => self.world(*time, what),
        }
    }
}
