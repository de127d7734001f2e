//! The steps, marks, faults, losses, views and violations of a scene in one total order.

use crate::scene::{Head, Scene, TimePosition, Violation};

/// The kind of an item, with its index in the scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    Violation(usize),
    View(usize),
    BandStart(usize),
    /// The run records the loss of a message.
    Loss(usize),
    BandEnd(usize),
    Mark(usize),
    Step(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimelineItem {
    pub(crate) position: TimePosition,
    pub(crate) kind: ItemKind,
}

/// Returns the items of a scene in order, except the starts of faults and views before it. The
/// order of an item is the number of steps and marks before it. Steps and marks keep their order;
/// any other item comes before the step or mark with the same order.
pub(crate) fn timeline(scene: &Scene) -> Vec<TimelineItem> {
    let steps = (0..)
        .zip(&scene.steps)
        .map(|(index, step)| TimelineItem { position: step.position, kind: ItemKind::Step(index) });
    let marks = (0..)
        .zip(&scene.marks)
        .map(|(index, mark)| TimelineItem { position: mark.position, kind: ItemKind::Mark(index) });
    let starts = (0..).zip(&scene.bands).filter(|(_, band)| band.from.time >= scene.from);
    let starts = starts.map(|(index, band)| TimelineItem { position: band.from, kind: ItemKind::BandStart(index) });
    let ends = (0..).zip(&scene.bands);
    let ends =
        ends.filter_map(|(index, band)| Some(TimelineItem { position: band.to?, kind: ItemKind::BandEnd(index) }));
    let losses = (0..).zip(&scene.arrows).filter_map(|(index, arrow)| match arrow.head {
        Head::Lost { position, .. } => Some(TimelineItem { position, kind: ItemKind::Loss(index) }),
        Head::Step(_) | Head::InFlight => None,
    });
    let view_spans = (0..).zip(&scene.view_spans).filter(|(_, view_span)| view_span.from.time >= scene.from);
    let view_spans =
        view_spans.map(|(index, view_span)| TimelineItem { position: view_span.from, kind: ItemKind::View(index) });
    let violations = (0..).zip(&scene.violations);
    let violations = violations.filter_map(|(index, violation)| {
        Some(TimelineItem { position: violation_position(scene, violation)?, kind: ItemKind::Violation(index) })
    });
    let mut items: Vec<TimelineItem> =
        violations.chain(view_spans).chain(starts).chain(losses).chain(ends).chain(marks).chain(steps).collect();
    // A stable sort keeps the scene's order between equal keys.
    items.sort_by_key(|item| {
        let is_step_or_mark = matches!(item.kind, ItemKind::Step(_) | ItemKind::Mark(_));
        (item.position.order, is_step_or_mark, item.position.time, order_at_same_position(scene, item.kind))
    });
    items
}

/// Returns the position after the last step or mark up to the violation's journal line; `None` if
/// the scene does not show it.
fn violation_position(scene: &Scene, violation: &Violation) -> Option<TimePosition> {
    scene.order_of(violation).map(|order| TimePosition { time: violation.time, order: order + 1 })
}

/// Returns the rank of an item among those at the same position. Faults that began earlier end
/// before other faults begin; a fault that begins and ends at this position begins before it ends.
fn order_at_same_position(scene: &Scene, kind: ItemKind) -> u8 {
    match kind {
        ItemKind::Violation(_) => 0,
        ItemKind::BandEnd(band) if scene.bands.get(band).is_some_and(|band| band.to != Some(band.from)) => 1,
        ItemKind::BandStart(_) => 2,
        ItemKind::Loss(_) => 3,
        ItemKind::BandEnd(_) => 4,
        ItemKind::View(_) => 5,
        ItemKind::Mark(_) | ItemKind::Step(_) => 6,
    }
}
