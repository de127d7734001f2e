//! Builds the data of a picture from a run that is observed live or read from its journal.
//!
//! The builder keeps the messages in flight, the state of every node and, unless it is too large
//! for a scene, the part of the run to show (the [`Window`]). It does not keep the rest of the run.

mod bands;
mod clocks;
mod in_flight;
mod lanes;
mod pending_step;
mod queues;
mod views;

use crate::Window;
use crate::overview::{Overview, OverviewBuilder};
use crate::scene::{Arrow, Cause, Head, Heading, Mark, MarkKind, Scene, Tail, TimePosition, Violation};
use bands::Bands;
use clocks::Clocks;
use in_flight::{InFlightMessage, InFlightMessages, SentMessage};
use lanes::{LaneState, Lanes};
use pending_step::PendingStep;
use queues::{HoldBackQueues, QueueContents};
use quorate_core::{NodeId, Time};
use quorate_journal::moment::{
    MessageId, Moment, ObservedEffect, ObservedInput, Observer, Sent, WorldEvent, receivers,
};
use quorate_journal::record::Header;
use quorate_journal::role::{RoleUpdate, Roles};
use quorate_journal::words;
use std::fmt::Display;
use views::ViewTracker;

/// Which part of a run to show, and how much detail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub window: Window,
    /// Whether to show steps without visible effect, such as a timer or a disk confirmation.
    pub shows_quiet_steps: bool,
    /// Limit on the steps, marks and lasting faults (bands) of a scene together. It is checked when
    /// the next journal line begins; a run that exceeds it then becomes an overview.
    pub max_steps: usize,
    /// Whether to build an overview even of a short run.
    pub forces_overview: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { window: Window::default(), shows_quiet_steps: false, max_steps: MAX_STEPS, forces_overview: false }
    }
}

/// Default of [`Options::max_steps`]; a larger diagram is unreadable.
pub const MAX_STEPS: usize = 400;

/// Limit on the messages of a scene, applied like [`Options::max_steps`]; more arrows are
/// unreadable.
pub const MAX_ARROWS: usize = 1_200;
/// Maximum number of lanes in a scene; more do not fit on a page.
pub const MAX_LANES: usize = 100;

/// A finished picture's data.
#[derive(Clone, Debug)]
pub enum Drawing {
    Scene(Box<Scene>),
    /// A summary over time: the run is too large for a scene, or the options ask for a summary.
    Overview(Box<Overview>),
}

impl Drawing {
    /// Marks where a property was violated.
    pub fn add_violation(&mut self, violation: Violation) {
        match self {
            Self::Scene(scene) => scene.violations.push(violation),
            Self::Overview(overview) => overview.violations.push(violation),
        }
    }
}

/// Observes a run and builds a [`Drawing`] of it.
pub struct SceneBuilder<C, E> {
    options: Options,
    scene: Scene,
    roles: Roles<C, E>,
    clocks: Clocks,
    lanes: Lanes,
    bands: Bands,
    views: ViewTracker,
    hold_back_queues: HoldBackQueues,
    in_flight: InFlightMessages,
    overview: OverviewBuilder,
    /// The current step, if a scene shows its time and its node has a lane.
    pending_step: Option<PendingStep>,
    /// The current journal line; the header is line 1.
    line: u64,
    /// Whether the run is too large for a scene, or the options ask for an overview.
    needs_overview: bool,
    has_window_begun: bool,
    /// Latest time of a line in the window.
    last_time: Option<Time>,
}

impl<C: Display, E: Display> SceneBuilder<C, E> {
    pub fn new(header: &Header, heading: Heading, role_update: RoleUpdate<C, E>, options: Options) -> Self {
        let shown_nodes = options.window.shown_nodes(header.nodes);
        let scene = Scene { heading, origin: Time::from_nanos(header.origin), ..Scene::default() };
        Self {
            lanes: Lanes::new(&shown_nodes, header.nodes),
            overview: OverviewBuilder::new(&shown_nodes, header.nodes),
            clocks: Clocks::new(header.nodes, header.live.is_some()),
            roles: Roles::new(header.nodes, role_update),
            bands: Bands::default(),
            views: ViewTracker::new(&shown_nodes),
            hold_back_queues: HoldBackQueues::default(),
            in_flight: InFlightMessages::default(),
            pending_step: None,
            line: 1,
            needs_overview: options.forces_overview,
            has_window_begun: false,
            last_time: None,
            scene,
            options,
        }
    }

    /// Returns the scene, or an overview if the run is too large for a scene or the options ask for
    /// an overview.
    pub fn finish(mut self) -> Drawing {
        self.close_step();
        self.begin_window();
        let window = &self.options.window;
        let start = self.overview.start().unwrap_or_default();
        let from = window.from.unwrap_or(start);
        let to = self.last_time.map_or(from, |last| last.max(from));
        let Scene { heading, origin, omitted, .. } = &self.scene;
        if self.needs_overview {
            let (heading, omitted) = (heading.clone(), *omitted);
            let bands = self.bands.finish();
            return Drawing::Overview(Box::new(self.overview.finish(heading, *origin, (from, to), bands, omitted)));
        }
        let mut scene = self.scene;
        let order_end = scene.steps.len() + scene.marks.len();
        (scene.from, scene.to) = (from, to);
        scene.bands = self.bands.finish();
        scene.arrows = self.in_flight.finish();
        scene.lanes =
            self.lanes.finish(TimePosition { time: from, order: 0 }, TimePosition { time: to, order: order_end });
        self.views.finish(&mut scene);
        self.hold_back_queues.finish(&mut scene, TimePosition { time: to, order: order_end });
        // Nodes that the caller selected are always shown.
        if self.options.window.nodes.is_empty() {
            lanes::drop_idle_lanes(&mut scene);
        }
        if scene.lanes.len() > MAX_LANES {
            let Scene { heading, origin, bands, omitted, .. } = scene;
            return Drawing::Overview(Box::new(self.overview.finish(heading, origin, (from, to), bands, omitted)));
        }
        Drawing::Scene(Box::new(scene))
    }

    /// Returns the position of the next step or mark.
    fn position(&self, time: Time) -> TimePosition {
        TimePosition { time, order: self.scene.steps.len() + self.scene.marks.len() }
    }

    /// Whether a scene shows this instant.
    fn shows(&self, time: Time) -> bool {
        !self.needs_overview && self.options.window.shows(time)
    }

    /// Begins a journal line.
    fn begin_line(&mut self, time: Time) {
        self.close_step();
        self.line += 1;
        let window = &self.options.window;
        if window.starts_after(time) {
            self.scene.omitted.lines_before += 1;
            self.views.expire_leases(self.position(time));
            return;
        }
        let is_after = window.ends_before(time);
        self.begin_window();
        if is_after {
            self.scene.omitted.lines_after += 1;
        } else {
            self.last_time = Some(self.last_time.map_or(time, |last| last.max(time)));
            self.views.expire_leases(self.position(time));
        }
        self.check_limits();
    }

    fn begin_window(&mut self) {
        if !std::mem::replace(&mut self.has_window_begun, true) {
            self.lanes.begin_window(|node| LaneState::new(&self.roles, node));
            self.views.begin_window();
            self.hold_back_queues
                .begin_window(TimePosition { time: self.options.window.from.unwrap_or_default(), order: 0 });
        }
    }

    /// Completes the current step. Unless the options ask for all steps, drops a step that changes
    /// no role if it has no visible effect, or if the picture already shows it as a lease or view.
    fn close_step(&mut self) {
        let Some(pending) = self.pending_step.take() else { return };
        let node = pending.node;
        let Some(lane) = self.lanes.index(node) else { return };
        let state = LaneState::new(&self.roles, node);
        let is_always_shown = self.options.shows_quiet_steps || self.lanes.state(lane) != state;
        // A step that the picture shows as a lease or view does not count as omitted. Nor does a
        // step by which a member enters the group's first view.
        if !is_always_shown && pending.is_shown_elsewhere(self.views.is_in_first_view(node)) {
            return;
        }
        if !is_always_shown && pending.is_quiet() {
            // Every node starts once, and every turn ends; that is not worth counting.
            let is_counted = !matches!(pending.cause, Cause::Start { is_restart: false } | Cause::EndOfTurn);
            self.scene.omitted.quiet_steps += u64::from(is_counted);
            return;
        }
        let step = pending.finish(lane, state.role, self.clocks.logical_clock(node), self.clocks.vector_clock(node));
        self.lanes.record_change(lane, state, step.position);
        self.scene.steps.push(step);
    }

    /// Discards the scene's data once it is too large to draw.
    fn check_limits(&mut self) {
        let count = self.scene.steps.len() + self.scene.marks.len() + self.bands.count();
        if !self.needs_overview && (count > self.options.max_steps || self.in_flight.arrow_count() > MAX_ARROWS) {
            self.needs_overview = true;
            self.scene.steps = Vec::new();
            self.scene.marks = Vec::new();
            self.in_flight = InFlightMessages::default();
            self.lanes.stop_recording();
            self.views.stop_recording();
            self.hold_back_queues.stop_recording();
        }
    }

    fn observe_input(&mut self, time: Time, node: NodeId, input: &ObservedInput<'_, C>) {
        if let ObservedInput::Start { .. } = input {
            self.set_queue(time, node, QueueContents::default());
        }
        if !self.shows(time) {
            if let ObservedInput::Message { id, .. } = input {
                self.in_flight.end_copy(*id, node);
            }
            return;
        }
        let mut pending = PendingStep::new(self.line, self.position(time), node, input);
        if let ObservedInput::Message { id, .. } = input {
            pending.cause = Cause::Message(self.receive(*id, node));
        }
        self.pending_step = self.lanes.index(node).map(|_| pending);
    }

    /// Records the contents of a node's hold-back queue after the current step or mark.
    fn set_queue(&mut self, time: Time, node: NodeId, contents: QueueContents) {
        if !self.options.window.ends_before(time)
            && let Some(lane) = self.lanes.index(node)
        {
            self.hold_back_queues.record_change(lane, self.position(time), contents);
        }
    }

    /// Ends the arrow of a message at the current step. Returns its index; `None` if there is none.
    fn receive(&mut self, id: MessageId, node: NodeId) -> Option<usize> {
        let (message, is_duplicate) = self.in_flight.end_copy(id, node)?;
        self.end_message(id, &message, is_duplicate, Head::Step(self.scene.steps.len()))
    }

    /// Sets the head of a message's arrow. Adds the arrow if the message is a duplicate or was sent
    /// before the window. Returns its index; `None` if the sender or the receiver has no lane.
    fn end_message(
        &mut self,
        id: MessageId,
        message: &InFlightMessage,
        is_duplicate: bool,
        head: Head,
    ) -> Option<usize> {
        let arrow = message.make_arrow(&self.lanes, id, message.tail.unwrap_or(Tail::BeforeWindow), head)?;
        match message.arrow_index.filter(|_| !is_duplicate) {
            Some(index) => {
                self.in_flight.set_head(index, head);
                Some(index)
            }
            None => Some(self.in_flight.add_arrow(Arrow { is_duplicate, ..arrow })),
        }
    }

    /// Records a message that is sent. It is kept only if it can have an arrow.
    fn record_send(
        &mut self,
        time: Time,
        from: NodeId,
        sent: &Sent<'_>,
        to: impl Iterator<Item = (NodeId, MessageId)>,
    ) {
        if self.needs_overview || self.options.window.ends_before(time) {
            return;
        }
        if self.lanes.index(from).is_none() {
            let is_in_window = self.options.window.shows(time);
            let shown_receivers = to.filter(|(to, _)| is_in_window && self.lanes.index(*to).is_some()).count();
            self.scene.omitted.messages += shown_receivers as u64;
            return;
        }
        let tail = self.options.window.shows(time).then_some(Tail::Step(self.scene.steps.len()));
        let sent_message = SentMessage::new(from, sent, self.views.view_of(from), tail.is_some());
        for (to, id) in to {
            if self.lanes.index(to).is_none() {
                self.scene.omitted.messages += u64::from(tail.is_some());
                continue;
            }
            let mut message = InFlightMessage::new(to, &sent_message, tail);
            let arrow = tail.and_then(|tail| message.make_arrow(&self.lanes, id, tail, Head::InFlight));
            message.arrow_index = arrow.map(|arrow| self.in_flight.add_arrow(arrow));
            self.in_flight.insert(id, message);
        }
    }

    fn observe_world_event(&mut self, time: Time, event: &WorldEvent<'_>) {
        // The hold-back queue is in memory, so a crash and a clean shutdown empty it.
        if let WorldEvent::Crashed { node, .. } | WorldEvent::Ended { node } = event {
            self.set_queue(time, *node, QueueContents::default());
        }
        match event {
            WorldEvent::Lost { id, to, cause } => {
                let position = self.position(time);
                if let Some((message, is_duplicate)) = self.in_flight.end_copy(*id, *to)
                    && self.shows(time)
                {
                    self.end_message(*id, &message, is_duplicate, Head::Lost { cause: *cause, position });
                }
            }
            WorldEvent::Duplicated { id } => self.in_flight.duplicate(*id),
            WorldEvent::Crashed { node, .. } => self.add_mark(time, Some(*node), MarkKind::Crashed, event),
            WorldEvent::Ended { node } => self.add_mark(time, Some(*node), MarkKind::Stopped, event),
            WorldEvent::Paused { node } => self.add_mark(time, Some(*node), MarkKind::Paused, event),
            WorldEvent::Resumed { node } => self.add_mark(time, Some(*node), MarkKind::Resumed, event),
            // A fault, its end, or a remark of the checker.
            WorldEvent::Changed { text } => {
                let (position, is_before) = (self.position(time), self.options.window.starts_after(time));
                // Bands do not record changes after the window, and no mark shows them.
                let needs_mark =
                    !self.options.window.ends_before(time) && !self.bands.record(text, position, is_before);
                self.scene.omitted.bands = self.bands.omitted_count();
                if needs_mark {
                    self.add_mark(time, None, MarkKind::Changed, event);
                }
            }
        }
    }

    fn add_mark(&mut self, time: Time, node: Option<NodeId>, kind: MarkKind, event: &WorldEvent<'_>) {
        let lane = node.and_then(|node| self.lanes.index(node));
        if !self.shows(time) || (node.is_some() && lane.is_none()) {
            return;
        }
        let position = self.position(time);
        self.scene.marks.push(Mark { line: self.line, position, lane, kind, text: words::describe_world_event(event) });
        if let (Some(lane), Some(node)) = (lane, node) {
            self.lanes.record_change(lane, LaneState::new(&self.roles, node), position);
        }
    }

    fn observe_effect(&mut self, time: Time, node: NodeId, effect: &ObservedEffect<'_, E>) {
        match effect {
            ObservedEffect::Send { to, sent } => self.record_send(time, node, sent, [(*to, sent.id)].into_iter()),
            ObservedEffect::Multicast { to, sent } => self.record_send(time, node, sent, receivers(to, sent.id)),
            ObservedEffect::Save(_)
            | ObservedEffect::SetTimer { .. }
            | ObservedEffect::CancelTimer(_)
            | ObservedEffect::Emit(_)
            | ObservedEffect::Rule { .. }
            | ObservedEffect::Delivered { .. }
            | ObservedEffect::Membership(_) => {}
            ObservedEffect::HoldBack { count, names } => {
                self.set_queue(time, node, QueueContents::new(*count, &names.to_string()));
            }
        }
        if let Some(pending) = &mut self.pending_step {
            pending.add_effect(effect);
        }
    }
}

impl<C: Display, E: Display> Observer<C, E> for SceneBuilder<C, E> {
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        let time = moment.time();
        if !matches!(moment, Moment::Effect { .. }) {
            self.begin_line(time);
        }
        self.roles.observe(moment);
        self.clocks.observe(moment);
        if self.options.window.shows(time) {
            self.overview.observe(moment, &self.roles);
        }
        if !self.options.window.ends_before(time) {
            self.views.observe(moment, self.position(time));
        }
        match moment {
            Moment::Input { time, node, input, .. } => self.observe_input(*time, *node, input),
            Moment::Effect { time, node, effect } => self.observe_effect(*time, *node, effect),
            Moment::World { time, event } => self.observe_world_event(*time, event),
        }
    }
}
