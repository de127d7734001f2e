//! Chooses the layout of one row of a diagram, and draws the row.

use super::Options;
use super::arrows::{self, MessageKinds, PlacedArrow};
use super::axis::Scale;
use super::bands::{self, Annotation};
use super::canvas::{Anchor, Canvas};
use super::lanes;
use super::layout::{BAND_ROW_HEIGHT, Layout, MARGIN, NoteDetail};
use super::rows::SceneRow;
use super::text::text_width;
use super::trays;
use crate::scene::Scene;
use quorate_core::Time;
use quorate_journal::words::format_millis;

/// Horizontal stretch factors that are tried until every text fits.
const STRETCHES: [f64; 5] = [1.0, 1.2, 1.45, 1.75, 2.1];

/// One row of a diagram with its layout.
pub(super) struct RowLayout<'a> {
    row: &'a SceneRow,
    scene: &'a Scene,
    layout: Layout,
    annotations: Vec<Annotation>,
    annotation_rows: usize,
    arrows: Vec<PlacedArrow<'a>>,
    omitted_texts: usize,
}

impl<'a> RowLayout<'a> {
    /// Returns the narrowest layout in which every text fits. If there is none within `max_width`,
    /// returns the one that omits the fewest texts. Only the unstretched layout may be wider than
    /// `max_width`.
    pub(super) fn fit(row: &'a SceneRow, options: &Options, detail: NoteDetail, scale: Scale, max_width: f64) -> Self {
        let mut best: Option<Self> = None;
        for stretch in STRETCHES {
            let candidate = Self::lay_out(row, options, scale.with_stretch(stretch), detail);
            if candidate.right_edge() > max_width && best.is_some() {
                break;
            }
            let is_complete = candidate.omitted_texts == 0;
            if best.as_ref().is_none_or(|best| candidate.omitted_texts < best.omitted_texts) {
                best = Some(candidate);
            }
            if is_complete {
                break;
            }
        }
        best.unwrap_or_else(|| Self::lay_out(row, options, scale, detail))
    }

    fn lay_out(row: &'a SceneRow, options: &Options, scale: Scale, detail: NoteDetail) -> Self {
        let scene = &row.scene;
        // The height of the annotations above the lanes is known only after they are placed once.
        let draft = Layout::new(scene, options, 0.0, scale, detail);
        let (_, annotation_rows) = bands::place(scene, &draft);
        let mut layout = Layout::new(scene, options, annotation_rows as f64 * BAND_ROW_HEIGHT, scale, detail);
        let (annotations, _) = bands::place(scene, &layout);
        let (arrows, omitted_names) = arrows::place_arrows(scene, &mut layout);
        let omitted_texts = layout.omitted_texts + omitted_names;
        Self { row, scene, layout, annotations, annotation_rows, arrows, omitted_texts }
    }

    pub(super) fn omitted_texts(&self) -> usize {
        self.omitted_texts
    }

    pub(super) fn right_edge(&self) -> f64 {
        self.layout.right_edge.max(bands::right_edge(&self.annotations)).max(self.layout.axis.right_edge())
    }

    /// Draws the row, which is a part of `full_scene`. Returns its height.
    pub(super) fn draw(&self, canvas: &mut Canvas, full_scene: &Scene, kinds: &MessageKinds) -> f64 {
        let Self { row, scene, layout, annotations, annotation_rows, arrows, .. } = self;
        bands::draw(canvas, scene, layout, annotations, *annotation_rows);
        let bottom = self.draw_times(canvas);
        lanes::draw(canvas, scene, layout);
        for text in &layout.texts {
            if let Some((from, to)) = text.connector {
                canvas.line("connector", from, to);
            }
        }
        trays::draw(canvas, scene, layout);
        arrows::draw(canvas, full_scene, &row.arrow_indices, kinds, arrows);
        trays::draw_chips(canvas, layout);
        lanes::draw_steps(canvas, scene, layout);
        for text in &layout.texts {
            canvas.text(text.class, text.position, Anchor::Start, &text.text);
        }
        arrows::draw_names(canvas, kinds, arrows);
        bottom
    }

    /// Draws the time axis below the lanes, with as many times as fit. Returns its lower edge.
    fn draw_times(&self, canvas: &mut Canvas) -> f64 {
        let (scene, layout) = (self.scene, &self.layout);
        let y = layout.bottom + 8.0;
        canvas.line("axis", (layout.axis.left_edge(), y), (layout.axis.right_edge(), y));
        let mut last_label_end = f64::MIN;
        for (time, x) in &layout.axis.instants {
            let text = short_millis(scene.relative(*time));
            let half_width = text_width(&text, 11.5) / 2.0;
            if x - half_width < last_label_end + 9.0 {
                continue;
            }
            last_label_end = x + half_width;
            canvas.line("grid", (*x, layout.top), (*x, y));
            canvas.line("axis", (*x, y), (*x, y + 4.0));
            canvas.text("time", (*x, y + 17.0), Anchor::Middle, &text);
        }
        for x in &layout.axis.breaks {
            canvas.line("break", (x - 5.0, y), (x + 5.0, y));
            canvas.line("axis", (x - 8.0, y + 5.0), (x - 2.0, y - 5.0));
            canvas.line("axis", (x + 2.0, y + 5.0), (x + 8.0, y - 5.0));
        }
        canvas.text("time", (MARGIN, y + 17.0), Anchor::Start, "time in ms");
        y + 30.0
    }
}

/// Formats a time in milliseconds, without trailing zeros after the point.
pub(super) fn short_millis(time: Time) -> String {
    let text = format_millis(time);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
