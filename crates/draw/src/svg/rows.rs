//! Splits a long scene into rows, like lines of text.

use crate::scene::{
    Arrow, Band, Cause, Head, InactiveSpan, Lane, Lease, Mark, Queue, RoleSpan, Scene, Step, Tail, TimePosition,
    ViewSpan,
};
use quorate_core::Time;
use quorate_journal::moment::Loss;
use std::ops::Range;

/// One row of a diagram, as a scene of its own.
pub(super) struct SceneRow {
    pub(super) scene: Scene,
    /// For each of its arrows, the index of that arrow in the whole scene.
    pub(super) arrow_indices: Vec<usize>,
}

/// Splits a scene into rows. Each of `cuts` is the order of the first step or mark of a new row:
/// the number of steps and marks before it. A message between two rows has an arrow in both: one
/// leaves the earlier row, the other enters the later one.
pub(super) fn split_scene(scene: &Scene, cuts: &[usize]) -> Vec<SceneRow> {
    let event_count = scene.steps.len() + scene.marks.len();
    let begins = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([event_count]);
    begins.zip(ends).map(|(begin, end)| SceneSlice::new(scene, begin..end).to_row()).collect()
}

/// The part of a scene that becomes one row.
struct SceneSlice<'a> {
    scene: &'a Scene,
    /// Orders of the row's steps and marks in the whole scene.
    orders: Range<usize>,
    /// Index of the row's first step in the whole scene.
    first_step: usize,
    from: Time,
    to: Time,
    is_last: bool,
}

impl<'a> SceneSlice<'a> {
    fn new(scene: &'a Scene, orders: Range<usize>) -> Self {
        let times = |orders: &Range<usize>| {
            let steps = scene.steps.iter().map(|step| step.position);
            let marks = scene.marks.iter().map(|mark| mark.position);
            let orders = orders.clone();
            steps.chain(marks).filter(move |position| orders.contains(&position.order)).map(|position| position.time)
        };
        let from = if orders.start == 0 { scene.from } else { times(&orders).min().unwrap_or(scene.from) };
        let to = times(&orders).max().unwrap_or(scene.to);
        let first_step = scene.steps.iter().filter(|step| step.position.order < orders.start).count();
        let is_last = orders.end == scene.steps.len() + scene.marks.len();
        Self { scene, from, to, first_step, is_last, orders }
    }

    fn to_row(&self) -> SceneRow {
        let Scene { heading, origin, .. } = self.scene;
        let (arrows, arrow_indices) = self.arrows();
        let renumbered = |step: &Step| {
            let cause = match step.cause {
                Cause::Message(Some(arrow)) => Cause::Message(arrow_indices.binary_search(&arrow).ok()),
                cause => cause,
            };
            Step { position: self.row_position(step.position), cause, ..step.clone() }
        };
        let is_inside = |position: &TimePosition| self.orders.contains(&position.order);
        let is_in_row = |order: usize| self.orders.contains(&order);
        let violations = self.scene.violations.iter();
        let violations = violations.filter(|violation| self.scene.order_of(violation).is_some_and(is_in_row));
        let scene = Scene {
            heading: heading.clone(),
            origin: *origin,
            from: self.from,
            to: if self.is_last { self.scene.to } else { self.to },
            lanes: self.scene.lanes.iter().map(|lane| self.lane(lane)).collect(),
            steps: self.scene.steps.iter().filter(|step| is_inside(&step.position)).map(renumbered).collect(),
            marks: self
                .scene
                .marks
                .iter()
                .filter(|mark| is_inside(&mark.position))
                .map(|mark| Mark { position: self.row_position(mark.position), ..mark.clone() })
                .collect(),
            arrows,
            bands: self.scene.bands.iter().filter_map(|band| self.band(band)).collect(),
            view_spans: self.scene.view_spans.iter().filter_map(|view_span| self.view_span(view_span)).collect(),
            violations: violations.cloned().collect(),
            omitted: self.scene.omitted,
        };
        SceneRow { scene, arrow_indices }
    }

    /// Converts a position of the whole scene to this row: its order is clamped to the row's edges.
    fn row_position(&self, position: TimePosition) -> TimePosition {
        let order = position.order.clamp(self.orders.start, self.orders.end) - self.orders.start;
        TimePosition { time: position.time, order }
    }

    fn lane(&self, lane: &Lane) -> Lane {
        // A span whose lease has expired may begin after the last step or mark; no other row would
        // show it.
        let touches = |span: &&RoleSpan| {
            let begins = span.from.order < self.orders.end || (span.is_lease_expired && self.is_last);
            begins && span.to.order >= self.orders.start
        };
        let span =
            |span: &RoleSpan| RoleSpan { from: self.row_position(span.from), to: self.row_position(span.to), ..*span };
        let lease =
            |lease: &Lease| self.clip_with_end(lease.from, lease.to).map(|(from, to)| Lease { from, to, ..*lease });
        let inactive_span = |inactive: &InactiveSpan| {
            self.clip_with_end(inactive.from, inactive.to).map(|(from, to)| InactiveSpan { from, to, ..*inactive })
        };
        let queue = |queue: &Queue| {
            let (from, to) = self.clip_with_end(queue.from, queue.to)?;
            // A hold-back queue that ends with the row's first event belongs to the previous row.
            (self.orders.start == 0 || to.order > 0).then(|| Queue { from, to, ..queue.clone() })
        };
        Lane {
            node: lane.node,
            spans: lane.spans.iter().filter(touches).map(span).collect(),
            leases: lane.leases.iter().filter_map(lease).collect(),
            inactive_spans: lane.inactive_spans.iter().filter_map(inactive_span).collect(),
            queues: lane.queues.iter().filter_map(queue).collect(),
        }
    }

    /// Returns the part of a time range that is in this row, or `None`. A part that continues after
    /// the row ends at the row's edge.
    fn clip_with_end(&self, from: TimePosition, to: TimePosition) -> Option<(TimePosition, TimePosition)> {
        let (from, end) = self.clip(from, Some(to))?;
        Some((from, end.unwrap_or_else(|| self.row_position(to))))
    }

    fn view_span(&self, view_span: &ViewSpan) -> Option<ViewSpan> {
        let (from, to) = self.clip(view_span.from, view_span.to)?;
        Some(ViewSpan { view: view_span.view.clone(), from, to })
    }

    /// Returns the part of a time range that is in this row, or `None`. The end of the part is
    /// `None` if the range continues after the row.
    fn clip(&self, from: TimePosition, to: Option<TimePosition>) -> Option<(TimePosition, Option<TimePosition>)> {
        let has_ended = to.is_some_and(|to| to.order < self.orders.start);
        if has_ended || from.order >= self.orders.end && !self.is_last {
            return None;
        }
        let to = to.filter(|to| self.is_last || to.order < self.orders.end).map(|to| self.row_position(to));
        Some((self.row_position(from), to))
    }

    fn band(&self, band: &Band) -> Option<Band> {
        let (from, to) = self.clip(band.from, band.to)?;
        Some(Band { from, to, ..band.clone() })
    }

    /// Returns the arrows that begin or end in this row, and their indices in the whole scene.
    fn arrows(&self) -> (Vec<Arrow>, Vec<usize>) {
        let in_row = |(index, arrow): (usize, &Arrow)| {
            let (tail, head) = match (self.tail(arrow), self.head(arrow)) {
                (None, None) => return None,
                (Some(tail), head) => (tail, head.unwrap_or(Head::InFlight)),
                (None, Some(head)) => (Tail::BeforeWindow, head),
            };
            Some((Arrow { tail, head, ..arrow.clone() }, index))
        };
        self.scene.arrows.iter().enumerate().filter_map(in_row).unzip()
    }

    /// Returns the index in this row of a step of the whole scene; `None` if it is in another row.
    fn row_step(&self, index: usize) -> Option<usize> {
        let step = self.scene.steps.get(index)?;
        self.orders.contains(&step.position.order).then(|| index - self.first_step)
    }

    fn tail(&self, arrow: &Arrow) -> Option<Tail> {
        match arrow.tail {
            Tail::Step(step) => self.row_step(step).map(Tail::Step),
            // The arrow begins before all rows, so only the row in which it ends shows it.
            Tail::BeforeWindow => None,
        }
    }

    fn head(&self, arrow: &Arrow) -> Option<Head> {
        match arrow.head {
            Head::Step(step) => self.row_step(step).map(Head::Step),
            Head::Lost { cause, position } => {
                let is_in_row = match (cause, arrow.tail) {
                    // A message that the network drops is drawn beside the step that sends it, and
                    // so in the row of that step, even if the loss is recorded in a later row.
                    (Loss::Chance, Tail::Step(step)) => self.row_step(step).is_some(),
                    (_, _) => {
                        self.orders.contains(&position.order) || (self.is_last && position.order >= self.orders.end)
                    }
                };
                is_in_row.then(|| Head::Lost { cause, position: self.row_position(position) })
            }
            Head::InFlight => None,
        }
    }
}
