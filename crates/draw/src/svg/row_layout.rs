//! One row of a diagram: chooses its layout and draws it.

use super::Options;
use super::arrows::{self, Kinds, PlacedArrow};
use super::axis::Scale;
use super::bands::{self, Annotation};
use super::canvas::{Anchor, Canvas};
use super::lanes;
use super::layout::{BAND_ROW, Layout, MARGIN, NoteDetail};
use super::rows::SceneRow;
use super::text::width;
use super::trays;
use crate::scene::Scene;
use quorate_core::Time;
use quorate_journal::words::millis;

/// Horizontal stretch factors that are tried until every text fits.
const STRETCHES: [f64; 5] = [1.0, 1.2, 1.45, 1.75, 2.1];

/// One row of a diagram with its layout.
pub(super) struct RowLayout<'a> {
    row: &'a SceneRow,
    scene: &'a Scene,
    layout: Layout,
    annotations: Vec<Annotation>,
    rows: usize,
    arrows: Vec<PlacedArrow<'a>>,
    /// Number of texts that do not fit.
    missing: usize,
}

impl<'a> RowLayout<'a> {
    /// Returns the narrowest layout in which every text fits. If there is none within `most`,
    /// returns the one that leaves out the fewest texts.
    pub(super) fn fit(row: &'a SceneRow, options: &Options, detail: NoteDetail, scale: Scale, most: f64) -> Self {
        let mut best: Option<Self> = None;
        for stretch in STRETCHES {
            let candidate = Self::lay_out(row, options, scale.stretched(stretch), detail);
            let right = candidate.right_edge();
            if right > most && best.is_some() {
                break;
            }
            let enough = candidate.missing == 0;
            if best.as_ref().is_none_or(|known| candidate.missing < known.missing) {
                best = Some(candidate);
            }
            if enough {
                break;
            }
        }
        best.unwrap_or_else(|| Self::lay_out(row, options, scale, detail))
    }

    fn lay_out(row: &'a SceneRow, options: &Options, scale: Scale, detail: NoteDetail) -> Self {
        let scene = &row.scene;
        let first = Layout::new(scene, options, 0.0, scale, detail);
        let (_, rows) = bands::place(scene, &first);
        let mut layout = Layout::new(scene, options, rows as f64 * BAND_ROW, scale, detail);
        let (annotations, _) = bands::place(scene, &layout);
        let (arrows, unnamed) = arrows::place(scene, &mut layout);
        let missing = layout.missing + unnamed;
        Self { row, scene, layout, annotations, rows, arrows, missing }
    }

    pub(super) fn missing(&self) -> usize {
        self.missing
    }

    /// Returns its right edge.
    pub(super) fn right_edge(&self) -> f64 {
        self.layout.right_edge.max(bands::right_edge(&self.annotations)).max(self.layout.axis.right + 12.0)
    }

    /// Draws the row and returns its height.
    pub(super) fn draw(&self, canvas: &mut Canvas, whole: &Scene, kinds: &Kinds) -> f64 {
        let Self { row, scene, layout, annotations, rows, arrows, .. } = self;
        bands::draw(canvas, scene, layout, annotations, *rows);
        let bottom = self.times(canvas);
        lanes::draw(canvas, scene, layout);
        for text in &layout.texts {
            if let Some((from, to)) = text.leader {
                canvas.line("leader", from, to);
            }
        }
        trays::draw(canvas, scene, layout);
        arrows::draw(canvas, whole, &row.arrows, kinds, arrows);
        trays::draw_chips(canvas, layout);
        lanes::draw_steps(canvas, scene, layout);
        for text in &layout.texts {
            canvas.text(text.class, text.at, Anchor::Start, &text.text);
        }
        arrows::draw_names(canvas, kinds, arrows);
        bottom
    }

    /// Draws as many times below the lanes as fit. Returns their lower edge.
    fn times(&self, canvas: &mut Canvas) -> f64 {
        let (scene, layout) = (self.scene, &self.layout);
        let y = layout.bottom + 8.0;
        canvas.line("axis", (layout.axis.left - 24.0, y), (layout.axis.right + 12.0, y));
        let mut end = f64::MIN;
        for (time, x) in &layout.axis.instants {
            let text = short_millis(scene.relative(*time));
            let half = width(&text, 11.5) / 2.0;
            if x - half < end + 9.0 {
                continue;
            }
            end = x + half;
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

/// Formats milliseconds without trailing zeros.
pub(super) fn short_millis(time: Time) -> String {
    let text = millis(time);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
