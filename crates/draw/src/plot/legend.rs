//! The legend below the plots: names, formulas, and the meaning of marks and lines.

use super::canvas::{MarkerStyle, Pen, TextRun, UNIT};
use super::element::{ErrorBar, Marker, Stroke};
use super::layout::{LABEL, TICK};
use super::panel::{DASHES, DOT_RADIUS, Page, RING_RADIUS, draw_at, draw_text, marker_style};
use super::series_style::{SeriesStyle, SeriesStyles};
use super::text::{fit, width};
use super::{Figure, Key, Mark, Plot, PlotError, Series};
use crate::style::{FAINT, INK, PAPER};

/// Height of a line.
const LINE_HEIGHT: i32 = 25;
/// Width of a sample of a line with its mark.
const SAMPLE_WIDTH: i32 = 30;
/// Distance between a sample and its text.
const SAMPLE_GAP: i32 = 10;
/// Distance between two entries side by side.
const ENTRY_GAP: i32 = 36;
/// Distance between a name and its formula, and between the formulas of two plots.
const COLUMN_GAP: i32 = 20;
const MAX_NAME_WIDTH: i32 = 300;
const MAX_FORMULA_WIDTH: i32 = 190;

/// The legend, with every piece at its position relative to the upper left corner.
pub(super) struct Legend {
    pieces: Vec<((i32, i32), Piece)>,
    pub(super) height: i32,
}

enum Piece {
    Entry { style: SeriesStyle, has_line: bool },
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
        room: i32,
        are_all_named: bool,
        has_offsets: bool,
    ) -> Self {
        let mut legend = Self { pieces: Vec::new(), height: 0 };
        if !are_all_named {
            legend.names(figure, styles, room);
        }
        legend.key(&samples(figure, has_offsets), room);
        legend
    }

    /// Lays out a table with a line per series and a column per plot that has formulas.
    fn names(&mut self, figure: &Figure, styles: &SeriesStyles<'_>, room: i32) {
        let plots: Vec<_> = figure.plots.iter().filter(|plot| plot.series.iter().any(has_text)).collect();
        let name_width = styles.names().iter().map(|name| width(&fit(name, LABEL, MAX_NAME_WIDTH).0, LABEL)).max();
        let name_width = name_width.unwrap_or_default() + SAMPLE_WIDTH + SAMPLE_GAP;
        let columns: Vec<_> = plots.iter().map(|plot| column_width(plot, plots.len() > 1)).collect();
        let block_width = name_width + columns.iter().map(|width| width + COLUMN_GAP).sum::<i32>();
        let entries = styles.names().len() as i32;
        // A few short lines are more readable than one long line.
        let max_blocks = if plots.len() > 1 { (entries + 3) / 4 } else { (entries + 2) / 3 };
        let blocks = ((room + ENTRY_GAP) / (block_width + ENTRY_GAP)).clamp(1, max_blocks.max(1));
        let rows = (entries + blocks - 1) / blocks.max(1);
        let head_height = if plots.len() > 1 { LINE_HEIGHT - 3 } else { 0 };
        for (index, (series_name, style)) in styles.all().enumerate() {
            let (left, row) = ((index as i32 / rows.max(1)) * (block_width + ENTRY_GAP), index as i32 % rows.max(1));
            let has_line = figure.plots.iter().flat_map(|plot| &plot.series).any(|series| is_line(series, series_name));
            let y = head_height + row * LINE_HEIGHT + LINE_HEIGHT / 2;
            self.pieces.push(((left, y), Piece::Entry { style, has_line }));
            let (text, is_whole) = fit(if series_name.is_empty() { "–" } else { series_name }, LABEL, MAX_NAME_WIDTH);
            let hover = (!is_whole).then(|| series_name.to_owned());
            self.add_text(
                (left + SAMPLE_WIDTH + SAMPLE_GAP, y + 5),
                TextRun { hover, ..TextRun::new(text, LABEL, INK) },
            );
            let mut x = left + name_width + COLUMN_GAP;
            for (plot, width) in plots.iter().zip(&columns) {
                if row == 0 && head_height > 0 {
                    let (text, _) = fit(&plot.title, TICK, MAX_FORMULA_WIDTH);
                    self.add_text((x, LINE_HEIGHT - 10), TextRun::new(text, TICK, FAINT));
                }
                self.formula(plot, series_name, (x, y + 5));
                x += width + COLUMN_GAP;
            }
        }
        self.height = head_height + rows * LINE_HEIGHT;
    }

    fn formula(&mut self, plot: &Plot, series_name: &str, at: (i32, i32)) {
        let found =
            plot.series.iter().filter(|series| series.name == series_name).find_map(|series| series.formula.as_ref());
        let Some(formula) = found.filter(|formula| !formula.text.is_empty()) else { return };
        let (text, is_whole) = fit(&formula.text, LABEL, MAX_FORMULA_WIDTH);
        let hover = (!is_whole).then(|| formula.text.clone());
        self.add_text(at, TextRun { hover, ..TextRun::new(text, LABEL, FAINT) });
    }

    /// Lays out the meaning of marks and lines, as many side by side as fit.
    fn key(&mut self, samples: &[(Sample, &str)], room: i32) {
        // A single kind needs no explanation.
        if samples.len() < 2 {
            return;
        }
        let top = self.height + if self.height > 0 { 8 } else { 0 };
        let (mut x, mut row) = (0, 0);
        for (sample, text) in samples {
            let sample_width = if *sample == Sample::Remark { 0 } else { SAMPLE_WIDTH + SAMPLE_GAP };
            let (text, _) = fit(text, TICK, room - sample_width);
            let size = sample_width + width(&text, TICK);
            if x > 0 && x + size > room {
                (x, row) = (0, row + 1);
            }
            let y = top + row * LINE_HEIGHT + LINE_HEIGHT / 2;
            self.pieces.push(((x, y), Piece::Sample(*sample)));
            self.add_text((x + sample_width, y + 5), TextRun::new(text, TICK, FAINT));
            x += size + ENTRY_GAP / 2 + 8;
        }
        self.height = top + (row + 1) * LINE_HEIGHT;
    }

    fn add_text(&mut self, at: (i32, i32), text_run: TextRun) {
        self.pieces.push((at, Piece::TextRun(text_run)));
    }

    pub(super) fn draw(self, page: &Page, (left, top): (i32, i32)) -> Result<(), PlotError> {
        for ((x, y), piece) in self.pieces {
            let (x, y) = (left + x, top + y);
            match piece {
                Piece::TextRun(text_run) => draw_text(page, (x, y), text_run)?,
                Piece::Entry { style, has_line } => {
                    if has_line {
                        let dashes = style.is_dashed.then_some(DASHES);
                        let pen = Pen { opacity: 70, dashes, ..Pen::new(style.colour, 16) };
                        draw_sample_line(page, (x, y), pen)?;
                    }
                    draw_dot(page, (x, y), marker_style(&style, Mark::Solid))?;
                }
                Piece::Sample(sample) => draw_sample(page, (x, y), sample)?,
            }
        }
        Ok(())
    }
}

fn column_width(plot: &Plot, has_head: bool) -> i32 {
    let formulas = plot.series.iter().filter_map(|series| series.formula.as_ref());
    let texts = formulas.map(|formula| width(&fit(&formula.text, LABEL, MAX_FORMULA_WIDTH).0, LABEL));
    let head_height = if has_head { width(&fit(&plot.title, TICK, MAX_FORMULA_WIDTH).0, TICK) } else { 0 };
    texts.max().unwrap_or_default().max(head_height)
}

fn has_text(series: &Series) -> bool {
    series.formula.as_ref().is_some_and(|formula| !formula.text.is_empty())
}

fn is_line(series: &Series, series_name: &str) -> bool {
    series.name == series_name && (series.is_joined || series.formula.is_some())
}

fn samples(figure: &Figure, has_offsets: bool) -> Vec<(Sample, &str)> {
    let Key { solid, ring, formula, range, interval } = &figure.key;
    let series = || figure.plots.iter().flat_map(|plot| &plot.series);
    let points = || series().flat_map(|series| &series.points);
    let found = [
        (Sample::Solid, solid, points().any(|point| point.mark == Mark::Solid)),
        (Sample::Ring, ring, points().any(|point| point.mark == Mark::Ring)),
        (Sample::Formula, formula, series().any(|series| series.formula.is_some())),
        (Sample::Range, range, points().any(|point| point.range.is_some())),
        (Sample::Interval, interval, points().any(|point| point.interval.is_some())),
    ];
    let found = found.into_iter().filter(|(_, text, occurs)| *occurs && !text.is_empty());
    let remark = has_offsets.then_some((Sample::Remark, "overlapping marks are drawn side by side"));
    found.map(|(sample, text, _)| (sample, text.as_str())).chain(remark).collect()
}

fn draw_sample(page: &Page, (x, y): (i32, i32), sample: Sample) -> Result<(), PlotError> {
    let shape = super::shape::Shape::Circle;
    let middle = (x + SAMPLE_WIDTH / 2) * UNIT;
    let (above, below) = ((y - 9) * UNIT, (y + 9) * UNIT);
    match sample {
        Sample::Solid => {
            draw_dot(page, (x, y), MarkerStyle { shape, colour: FAINT, radius: DOT_RADIUS, rim: Some(PAPER) })
        }
        Sample::Ring => {
            draw_dot(page, (x, y), MarkerStyle { shape, colour: FAINT, radius: RING_RADIUS - 15, rim: None })
        }
        Sample::Formula => draw_sample_line(page, (x, y), Pen::new(FAINT, 16)),
        Sample::Range => {
            let pen = Pen { opacity: 70, ..Pen::new(FAINT, 14) };
            draw_at(page, vec![(middle, above), (middle, below)], Stroke { pen, shift: 0, hover: String::new() })
        }
        Sample::Interval => {
            let ends = ErrorBar { pen: Pen::new(FAINT, 18), shift: 0, half_length: 45 };
            draw_at(page, vec![(middle, above), (middle, below)], ends)
        }
        Sample::Remark => Ok(()),
    }
}

fn draw_sample_line(page: &Page, (x, y): (i32, i32), pen: Pen) -> Result<(), PlotError> {
    let points = vec![(x * UNIT, y * UNIT), ((x + SAMPLE_WIDTH) * UNIT, y * UNIT)];
    draw_at(page, points, Stroke { pen, shift: 0, hover: String::new() })
}

fn draw_dot(page: &Page, (x, y): (i32, i32), marker_style: MarkerStyle) -> Result<(), PlotError> {
    draw_at(
        page,
        vec![((x + SAMPLE_WIDTH / 2) * UNIT, y * UNIT)],
        Marker { style: marker_style, shift: 0, hover: String::new() },
    )
}
