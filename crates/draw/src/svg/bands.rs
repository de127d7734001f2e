//! Draws lasting faults, other changes of the whole group, views and violations as bands or lines
//! over all lanes, with labels above.

use super::canvas::{Anchor, Canvas};
use super::layout::{BAND_ROW_HEIGHT, Layout};
use super::text::{bold_width, truncate};
use super::views;
use crate::scene::{MarkKind, Scene, TimePosition, ViewSpan};
use quorate_journal::words::{self, format_millis};

const FONT_SIZE: f64 = 12.5;
/// Maximum number of characters of a label; the end of a longer one is cut off.
const MAX_CHARS: usize = 60;

/// The kind of an annotation above the lanes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnnotationKind {
    Partition,
    /// Any other lasting fault, or another change of the whole group.
    OtherChange,
    Violation,
    /// A view. Views with odd and even numbers have different tints.
    View {
        is_even: bool,
    },
}

impl AnnotationKind {
    /// Returns the CSS classes of the annotation's area, its edges and its label. A violation has
    /// no area.
    fn classes(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Partition => ("partition", "partition-edge", "partition-label"),
            Self::OtherChange => ("other-change", "other-change-edge", "other-change-label"),
            Self::Violation => ("", "violation", "violation-label"),
            Self::View { is_even: false } => ("view-odd", "view-edge", "view-label"),
            Self::View { is_even: true } => ("view-even", "view-edge", "view-label"),
        }
    }
}

/// A label above the lanes, with its line or area.
pub(super) struct Annotation {
    label: String,
    from: f64,
    /// Right edge, if the annotated event lasts for some time.
    to: Option<f64>,
    kind: AnnotationKind,
    row: usize,
    tooltip: String,
}

impl Annotation {
    fn is_view(&self) -> bool {
        matches!(self.kind, AnnotationKind::View { .. })
    }
}

/// Creates the annotations, each in a row in which its label overlaps no other, and counts the
/// rows.
pub(super) fn place(scene: &Scene, layout: &Layout) -> (Vec<Annotation>, usize) {
    let axis = &layout.axis;
    let mut annotations: Vec<Annotation> =
        scene.view_spans.iter().map(|view_span| view_annotation(scene, layout, view_span)).collect();
    for band in &scene.bands {
        let from = if band.from.time < scene.from { axis.left_edge() } else { axis.x_at(band.from) };
        let to = band.to.map_or(axis.right_edge(), |position| axis.x_at(position)).max(from + 4.0);
        let tooltip = format!("{}, {}", band.text, format_time_range(scene, band.from, band.to));
        annotations.push(Annotation {
            label: truncate(&band.text, MAX_CHARS),
            from,
            to: Some(to),
            kind: if band.is_partition { AnnotationKind::Partition } else { AnnotationKind::OtherChange },
            row: 0,
            tooltip,
        });
    }
    for mark in scene.marks.iter().filter(|mark| mark.kind == MarkKind::Changed) {
        let tooltip = format!("{} ms: {}", format_millis(scene.relative(mark.position.time)), mark.text);
        let from = axis.x_of_event(mark.position.order);
        annotations.push(Annotation {
            label: truncate(&mark.text, MAX_CHARS),
            from,
            to: None,
            kind: AnnotationKind::OtherChange,
            row: 0,
            tooltip,
        });
    }
    for violation in &scene.violations {
        let Some(order) = scene.order_of(violation) else { continue };
        let tooltip = format!("{} ms: {}", format_millis(scene.relative(violation.time)), violation.text);
        annotations.push(Annotation {
            label: truncate(&violation.text, MAX_CHARS),
            from: axis.x_of_event(order),
            to: None,
            kind: AnnotationKind::Violation,
            row: 0,
            tooltip,
        });
    }
    annotations.sort_by(|one, other| one.from.total_cmp(&other.from));
    let mut row_ends: Vec<f64> = Vec::new();
    for annotation in &mut annotations {
        // The areas of two views do not overlap, so a view needs room only for its label.
        let area_end = annotation.to.filter(|_| !annotation.is_view()).unwrap_or_default();
        let end = (annotation.from + bold_width(&annotation.label, FONT_SIZE)).max(area_end) + 12.0;
        let free_row = row_ends.iter().position(|row_end| *row_end <= annotation.from);
        annotation.row = free_row.unwrap_or(row_ends.len());
        match row_ends.get_mut(annotation.row) {
            Some(row_end) => *row_end = end,
            None => row_ends.push(end),
        }
    }
    (annotations, row_ends.len())
}

fn view_annotation(scene: &Scene, layout: &Layout, view_span: &ViewSpan) -> Annotation {
    let axis = &layout.axis;
    // The area of a view that begins at the first event or earlier, or does not end, reaches to the
    // edge.
    let from = if view_span.from.order == 0 { axis.left_edge() } else { axis.x_at(view_span.from) };
    let to = view_span.to.map_or(axis.right_edge(), |position| axis.x_at(position)).max(from);
    let tooltip = format!("{}, active {}", view_span.view, format_time_range(scene, view_span.from, view_span.to));
    let kind = AnnotationKind::View { is_even: view_span.view.epoch().0.is_multiple_of(2) };
    Annotation {
        label: truncate(&words::escape_controls(&view_span.label()), MAX_CHARS),
        from,
        to: Some(to),
        kind,
        row: 0,
        tooltip,
    }
}

fn format_time_range(scene: &Scene, from: TimePosition, to: Option<TimePosition>) -> String {
    let millis = |position: TimePosition| format_millis(scene.relative(position.time));
    let end = to.map_or_else(|| "on".into(), |to| format!("to {} ms", millis(to)));
    format!("from {} ms {end}", millis(from))
}

/// Returns the right edge of the rightmost label.
pub(super) fn right_edge(annotations: &[Annotation]) -> f64 {
    annotations.iter().map(|annotation| annotation.from + bold_width(&annotation.label, FONT_SIZE)).fold(0.0, f64::max)
}

pub(super) fn draw(canvas: &mut Canvas, scene: &Scene, layout: &Layout, annotations: &[Annotation], rows: usize) {
    let (views, others): (Vec<&Annotation>, Vec<&Annotation>) =
        annotations.iter().partition(|annotation| annotation.is_view());
    draw_annotations(canvas, layout, &views, rows);
    // Erases the areas of views around nodes that are not members. Faults are drawn later, over all
    // lanes.
    views::draw_holes(canvas, scene, layout);
    draw_annotations(canvas, layout, &others, rows);
}

fn draw_annotations(canvas: &mut Canvas, layout: &Layout, annotations: &[&Annotation], rows: usize) {
    let bottom = layout.bottom;
    for annotation in annotations {
        let y = layout.top - (rows - annotation.row) as f64 * BAND_ROW_HEIGHT;
        let (area_class, edge_class, label_class) = annotation.kind.classes();
        canvas.group_with_tooltip("annotation", &annotation.tooltip, |canvas| {
            if let Some(to) = annotation.to {
                canvas.rectangle(
                    area_class,
                    (annotation.from, y + 18.0),
                    (to - annotation.from, bottom - y - 18.0),
                    0.0,
                );
                if !annotation.is_view() {
                    canvas.line(edge_class, (to, y + 4.0), (to, bottom));
                }
            }
            canvas.line(edge_class, (annotation.from, y + 4.0), (annotation.from, bottom));
            canvas.text(label_class, (annotation.from + 5.0, y + 14.0), Anchor::Start, &annotation.label);
        });
    }
}
