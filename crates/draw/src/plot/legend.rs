//! The legend below the plots: names, formulas, and the meaning of marks and lines.

use super::canvas::{MarkerStyle, Pen, TextRun, UNITS_PER_PIXEL};
use super::element::{ErrorBar, Marker, Polyline};
use super::layout::{LABEL_SIZE, TICK_SIZE};
use super::panel::{
    DASHES, DOT_RADIUS, FORMULA_WIDTH, INTERVAL_HALF_LENGTH, INTERVAL_WIDTH, Page, RANGE_WIDTH, RING_RADIUS, draw_at,
    draw_text, marker_style,
};
use super::series_style::{SeriesStyle, SeriesStyles};
use super::text::{fit, text_width};
use super::{Figure, Key, Plot, PlotError, PointMark, Series};
use crate::style::{FAINT, INK, PAPER};

/// Height of a row of text, in pixels, as are all sizes here.
const ROW_HEIGHT: i32 = 25;
/// Width of a sample of a line with its mark.
const SAMPLE_WIDTH: i32 = 30;
/// Distance between a sample and its text.
const SAMPLE_GAP: i32 = 10;
/// Distance between two blocks of names side by side.
const BLOCK_GAP: i32 = 36;
/// Distance between two items of the key (the meaning of marks and lines) side by side.
const KEY_ITEM_GAP: i32 = 26;
/// Distance between a name and its formula, and between the formulas of two plots.
const COLUMN_GAP: i32 = 20;
/// Distance from the middle of a row down to the baseline of its text.
const TEXT_BASELINE: i32 = 5;
const MAX_NAME_WIDTH: i32 = 300;
const MAX_FORMULA_WIDTH: i32 = 190;

/// The legend, with every piece at its position relative to the upper left corner.
pub(super) struct Legend {
    pieces: Vec<((i32, i32), Piece)>,
    pub(super) height: i32,
}

enum Piece {
    SeriesSample { style: SeriesStyle, has_line: bool },
    Sample(Sample),
    TextRun(TextRun),
}

/// A sample of a mark or line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sample {
    Solid,
    Ring,
    Formula,
    Range,
    Interval,
    /// Text only.
    Remark,
}

impl Legend {
    pub(super) fn new(
        figure: &Figure,
        styles: &SeriesStyles<'_>,
        max_width: i32,
        are_all_series_labelled: bool,
        has_offsets: bool,
    ) -> Self {
        let mut legend = Self { pieces: Vec::new(), height: 0 };
        if !are_all_series_labelled {
            legend.add_names(figure, styles, max_width);
        }
        legend.add_key(&samples(figure, has_offsets), max_width);
        legend
    }

    /// Lays out a table with a row per name of a series and a column per plot that has formulas. A
    /// long table continues in further blocks beside the first.
    fn add_names(&mut self, figure: &Figure, styles: &SeriesStyles<'_>, max_width: i32) {
        let plots: Vec<_> = figure.plots.iter().filter(|plot| plot.series.iter().any(has_formula_text)).collect();
        let name_width =
            styles.names().iter().map(|name| text_width(&fit(name, LABEL_SIZE, MAX_NAME_WIDTH).0, LABEL_SIZE)).max();
        let name_width = name_width.unwrap_or_default() + SAMPLE_WIDTH + SAMPLE_GAP;
        let columns: Vec<_> = plots.iter().map(|plot| column_width(plot, plots.len() > 1)).collect();
        let block_width = name_width + columns.iter().map(|width| width + COLUMN_GAP).sum::<i32>();
        let series_count = styles.names().len() as i32;
        // A few short rows are more readable than one long row, so there is at most one block per
        // four names, or per three if blocks are narrow.
        let max_blocks = if plots.len() > 1 { (series_count + 3) / 4 } else { (series_count + 2) / 3 };
        let blocks = ((max_width + BLOCK_GAP) / (block_width + BLOCK_GAP)).clamp(1, max_blocks.max(1));
        let rows = (series_count + blocks - 1) / blocks.max(1);
        let head_height = if plots.len() > 1 { ROW_HEIGHT - 3 } else { 0 };
        for (index, (series_name, style)) in styles.named_styles().enumerate() {
            let (left, row) = ((index as i32 / rows.max(1)) * (block_width + BLOCK_GAP), index as i32 % rows.max(1));
            let has_line = figure
                .plots
                .iter()
                .flat_map(|plot| &plot.series)
                .any(|series| series.name == series_name && is_drawn_with_line(series));
            let y = head_height + row * ROW_HEIGHT + ROW_HEIGHT / 2;
            self.pieces.push(((left, y), Piece::SeriesSample { style, has_line }));
            let (text, is_whole) =
                fit(if series_name.is_empty() { "–" } else { series_name }, LABEL_SIZE, MAX_NAME_WIDTH);
            let tooltip = (!is_whole).then(|| series_name.to_owned());
            self.add_text(
                (left + SAMPLE_WIDTH + SAMPLE_GAP, y + TEXT_BASELINE),
                TextRun { tooltip, ..TextRun::new(text, LABEL_SIZE, INK) },
            );
            let mut x = left + name_width + COLUMN_GAP;
            for (plot, width) in plots.iter().zip(&columns) {
                if row == 0 && head_height > 0 {
                    let (text, _) = fit(&plot.title, TICK_SIZE, MAX_FORMULA_WIDTH);
                    self.add_text((x, ROW_HEIGHT - 10), TextRun::new(text, TICK_SIZE, FAINT));
                }
                self.add_formula(plot, series_name, (x, y + TEXT_BASELINE));
                x += width + COLUMN_GAP;
            }
        }
        self.height = head_height + rows * ROW_HEIGHT;
    }

    fn add_formula(&mut self, plot: &Plot, series_name: &str, at: (i32, i32)) {
        let found =
            plot.series.iter().filter(|series| series.name == series_name).find_map(|series| series.formula.as_ref());
        let Some(formula) = found.filter(|formula| !formula.text.is_empty()) else { return };
        let (text, is_whole) = fit(&formula.text, LABEL_SIZE, MAX_FORMULA_WIDTH);
        let tooltip = (!is_whole).then(|| formula.text.clone());
        self.add_text(at, TextRun { tooltip, ..TextRun::new(text, LABEL_SIZE, FAINT) });
    }

    /// Lays out the key: the meaning of marks and lines, as many side by side as fit.
    fn add_key(&mut self, samples: &[(Sample, &str)], max_width: i32) {
        // A single kind needs no explanation.
        if samples.len() < 2 {
            return;
        }
        let top = self.height + if self.height > 0 { 8 } else { 0 };
        let (mut x, mut row) = (0, 0);
        for (sample, text) in samples {
            let sample_width = if *sample == Sample::Remark { 0 } else { SAMPLE_WIDTH + SAMPLE_GAP };
            let (text, _) = fit(text, TICK_SIZE, max_width - sample_width);
            let item_width = sample_width + text_width(&text, TICK_SIZE);
            if x > 0 && x + item_width > max_width {
                (x, row) = (0, row + 1);
            }
            let y = top + row * ROW_HEIGHT + ROW_HEIGHT / 2;
            self.pieces.push(((x, y), Piece::Sample(*sample)));
            self.add_text((x + sample_width, y + TEXT_BASELINE), TextRun::new(text, TICK_SIZE, FAINT));
            x += item_width + KEY_ITEM_GAP;
        }
        self.height = top + (row + 1) * ROW_HEIGHT;
    }

    fn add_text(&mut self, at: (i32, i32), text_run: TextRun) {
        self.pieces.push((at, Piece::TextRun(text_run)));
    }

    pub(super) fn draw(self, page: &Page, (left, top): (i32, i32)) -> Result<(), PlotError> {
        for ((x, y), piece) in self.pieces {
            let (x, y) = (left + x, top + y);
            match piece {
                Piece::TextRun(text_run) => draw_text(page, (x, y), text_run)?,
                Piece::SeriesSample { style, has_line } => {
                    if has_line {
                        let dashes = style.is_dashed.then_some(DASHES);
                        let pen = Pen { opacity_percent: 70, dashes, ..Pen::new(style.colour, FORMULA_WIDTH) };
                        draw_sample_line(page, (x, y), pen)?;
                    }
                    draw_dot(page, (x, y), marker_style(&style, PointMark::Solid))?;
                }
                Piece::Sample(sample) => draw_sample(page, (x, y), sample)?,
            }
        }
        Ok(())
    }
}

fn column_width(plot: &Plot, has_head: bool) -> i32 {
    let formulas = plot.series.iter().filter_map(|series| series.formula.as_ref());
    let texts = formulas.map(|formula| text_width(&fit(&formula.text, LABEL_SIZE, MAX_FORMULA_WIDTH).0, LABEL_SIZE));
    let head_width =
        if has_head { text_width(&fit(&plot.title, TICK_SIZE, MAX_FORMULA_WIDTH).0, TICK_SIZE) } else { 0 };
    texts.max().unwrap_or_default().max(head_width)
}

fn has_formula_text(series: &Series) -> bool {
    series.formula.as_ref().is_some_and(|formula| !formula.text.is_empty())
}

fn is_drawn_with_line(series: &Series) -> bool {
    series.is_joined || series.formula.is_some()
}

fn samples(figure: &Figure, has_offsets: bool) -> Vec<(Sample, &str)> {
    let Key { solid, ring, formula, range, interval } = &figure.key;
    let series = || figure.plots.iter().flat_map(|plot| &plot.series);
    let points = || series().flat_map(|series| &series.points);
    let kinds = [
        (Sample::Solid, solid, points().any(|point| point.mark == PointMark::Solid)),
        (Sample::Ring, ring, points().any(|point| point.mark == PointMark::Ring)),
        (Sample::Formula, formula, series().any(|series| series.formula.is_some())),
        (Sample::Range, range, points().any(|point| point.range.is_some())),
        (Sample::Interval, interval, points().any(|point| point.interval.is_some())),
    ];
    let kinds = kinds.into_iter().filter(|(_, text, occurs)| *occurs && !text.is_empty());
    let remark = has_offsets.then_some((Sample::Remark, "overlapping marks are drawn side by side"));
    kinds.map(|(sample, text, _)| (sample, text.as_str())).chain(remark).collect()
}

fn draw_sample(page: &Page, (x, y): (i32, i32), sample: Sample) -> Result<(), PlotError> {
    let shape = super::shape::Shape::Circle;
    let middle = (x + SAMPLE_WIDTH / 2) * UNITS_PER_PIXEL;
    let (above, below) = ((y - 9) * UNITS_PER_PIXEL, (y + 9) * UNITS_PER_PIXEL);
    match sample {
        Sample::Solid => {
            draw_dot(page, (x, y), MarkerStyle { shape, colour: FAINT, radius: DOT_RADIUS, rim: Some(PAPER) })
        }
        Sample::Ring => {
            // In a row of text, a ring is a little smaller than in a plot.
            draw_dot(page, (x, y), MarkerStyle { shape, colour: FAINT, radius: RING_RADIUS - 15, rim: None })
        }
        Sample::Formula => draw_sample_line(page, (x, y), Pen::new(FAINT, FORMULA_WIDTH)),
        Sample::Range => {
            let pen = Pen { opacity_percent: 70, ..Pen::new(FAINT, RANGE_WIDTH) };
            draw_at(page, vec![(middle, above), (middle, below)], Polyline { pen, shift: 0, tooltip: String::new() })
        }
        Sample::Interval => {
            let error_bar =
                ErrorBar { pen: Pen::new(FAINT, INTERVAL_WIDTH), shift: 0, half_length: INTERVAL_HALF_LENGTH };
            draw_at(page, vec![(middle, above), (middle, below)], error_bar)
        }
        Sample::Remark => Ok(()),
    }
}

fn draw_sample_line(page: &Page, (x, y): (i32, i32), pen: Pen) -> Result<(), PlotError> {
    let points =
        vec![(x * UNITS_PER_PIXEL, y * UNITS_PER_PIXEL), ((x + SAMPLE_WIDTH) * UNITS_PER_PIXEL, y * UNITS_PER_PIXEL)];
    draw_at(page, points, Polyline { pen, shift: 0, tooltip: String::new() })
}

fn draw_dot(page: &Page, (x, y): (i32, i32), marker_style: MarkerStyle) -> Result<(), PlotError> {
    draw_at(
        page,
        vec![((x + SAMPLE_WIDTH / 2) * UNITS_PER_PIXEL, y * UNITS_PER_PIXEL)],
        Marker { style: marker_style, shift: 0, tooltip: String::new() },
    )
}
