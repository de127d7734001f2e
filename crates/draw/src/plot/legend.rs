//! The legend below the plots: names, formulas, and the meaning of marks and lines.

use super::canvas::{Pen, Stamp, UNIT, Words};
use super::cast::{Cast, Look};
use super::layout::{LABEL, TICK};
use super::panel::{DASHES, DOT, Page, RING, put, stamp, write};
use super::place::{Dot, Ends, Stroke};
use super::text::{fit, width};
use super::{Figure, Key, Mark, Plot, PlotError, Series};
use crate::style::{FAINT, INK, PAPER};

/// Height of a line.
const LINE: i32 = 25;
/// Width of a sample of a line with its mark.
const SAMPLE: i32 = 30;
/// Distance between a sample and its text.
const GAP: i32 = 10;
/// Distance between two entries side by side.
const BETWEEN: i32 = 36;
/// Distance between a name and its formula, and between the formulas of two plots.
const COLUMN_GAP: i32 = 20;
const WIDEST_NAME: i32 = 300;
const WIDEST_FORMULA: i32 = 190;

/// The legend, with every piece at its position relative to the upper left corner.
pub(super) struct Legend {
    pieces: Vec<((i32, i32), Piece)>,
    pub(super) height: i32,
}

enum Piece {
    Entry { look: Look, has_line: bool },
    Sample(Sample),
    Words(Words),
}

/// A sample of a mark or line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sample {
    Solid,
    Ring,
    Formula,
    Reach,
    Interval,
    /// Text only.
    Remark,
}

impl Legend {
    pub(super) fn of(figure: &Figure, cast: &Cast<'_>, room: i32, are_all_named: bool, is_crowded: bool) -> Self {
        let mut legend = Self { pieces: Vec::new(), height: 0 };
        if !are_all_named {
            legend.names(figure, cast, room);
        }
        legend.key(&samples(figure, is_crowded), room);
        legend
    }

    /// Lays out a table with a line per series and a column per plot that has formulas.
    fn names(&mut self, figure: &Figure, cast: &Cast<'_>, room: i32) {
        let plots: Vec<_> = figure.plots.iter().filter(|plot| plot.series.iter().any(has_text)).collect();
        let name = cast.names().iter().map(|name| width(&fit(name, LABEL, WIDEST_NAME).0, LABEL)).max();
        let name = name.unwrap_or_default() + SAMPLE + GAP;
        let columns: Vec<_> = plots.iter().map(|plot| column_width(plot, plots.len() > 1)).collect();
        let block = name + columns.iter().map(|width| width + COLUMN_GAP).sum::<i32>();
        let entries = cast.names().len() as i32;
        // A few short lines are more readable than one long line.
        let wanted = if plots.len() > 1 { (entries + 3) / 4 } else { (entries + 2) / 3 };
        let blocks = ((room + BETWEEN) / (block + BETWEEN)).clamp(1, wanted.max(1));
        let rows = (entries + blocks - 1) / blocks.max(1);
        let head = if plots.len() > 1 { LINE - 3 } else { 0 };
        for (place, (who, look)) in cast.all().enumerate() {
            let (left, row) = ((place as i32 / rows.max(1)) * (block + BETWEEN), place as i32 % rows.max(1));
            let has_line = figure.plots.iter().flat_map(|plot| &plot.series).any(|series| is_line(series, who));
            let y = head + row * LINE + LINE / 2;
            self.pieces.push(((left, y), Piece::Entry { look, has_line }));
            let (text, is_whole) = fit(if who.is_empty() { "–" } else { who }, LABEL, WIDEST_NAME);
            let hover = (!is_whole).then(|| who.to_owned());
            self.say((left + SAMPLE + GAP, y + 5), Words { hover, ..Words::new(text, LABEL, INK) });
            let mut x = left + name + COLUMN_GAP;
            for (plot, width) in plots.iter().zip(&columns) {
                if row == 0 && head > 0 {
                    let (text, _) = fit(&plot.title, TICK, WIDEST_FORMULA);
                    self.say((x, LINE - 10), Words::new(text, TICK, FAINT));
                }
                self.formula(plot, who, (x, y + 5));
                x += width + COLUMN_GAP;
            }
        }
        self.height = head + rows * LINE;
    }

    fn formula(&mut self, plot: &Plot, who: &str, at: (i32, i32)) {
        let found = plot.series.iter().filter(|series| series.name == who).find_map(|series| series.formula.as_ref());
        let Some(formula) = found.filter(|formula| !formula.text.is_empty()) else { return };
        let (text, is_whole) = fit(&formula.text, LABEL, WIDEST_FORMULA);
        let hover = (!is_whole).then(|| formula.text.clone());
        self.say(at, Words { hover, ..Words::new(text, LABEL, FAINT) });
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
            let before = if *sample == Sample::Remark { 0 } else { SAMPLE + GAP };
            let (text, _) = fit(text, TICK, room - before);
            let size = before + width(&text, TICK);
            if x > 0 && x + size > room {
                (x, row) = (0, row + 1);
            }
            let y = top + row * LINE + LINE / 2;
            self.pieces.push(((x, y), Piece::Sample(*sample)));
            self.say((x + before, y + 5), Words::new(text, TICK, FAINT));
            x += size + BETWEEN / 2 + 8;
        }
        self.height = top + (row + 1) * LINE;
    }

    fn say(&mut self, at: (i32, i32), words: Words) {
        self.pieces.push((at, Piece::Words(words)));
    }

    pub(super) fn draw(self, page: &Page, (left, top): (i32, i32)) -> Result<(), PlotError> {
        for ((x, y), piece) in self.pieces {
            let (x, y) = (left + x, top + y);
            match piece {
                Piece::Words(words) => write(page, (x, y), words)?,
                Piece::Entry { look, has_line } => {
                    if has_line {
                        let dashes = look.is_dashed.then_some(DASHES);
                        let pen = Pen { opacity: 70, dashes, ..Pen::new(look.colour, 16) };
                        across(page, (x, y), pen)?;
                    }
                    dot(page, (x, y), stamp(&look, Mark::Solid))?;
                }
                Piece::Sample(sample) => draw_sample(page, (x, y), sample)?,
            }
        }
        Ok(())
    }
}

fn column_width(plot: &Plot, has_head: bool) -> i32 {
    let formulas = plot.series.iter().filter_map(|series| series.formula.as_ref());
    let texts = formulas.map(|formula| width(&fit(&formula.text, LABEL, WIDEST_FORMULA).0, LABEL));
    let head = if has_head { width(&fit(&plot.title, TICK, WIDEST_FORMULA).0, TICK) } else { 0 };
    texts.max().unwrap_or_default().max(head)
}

fn has_text(series: &Series) -> bool {
    series.formula.as_ref().is_some_and(|formula| !formula.text.is_empty())
}

fn is_line(series: &Series, who: &str) -> bool {
    series.name == who && (series.is_joined || series.formula.is_some())
}

fn samples(figure: &Figure, is_crowded: bool) -> Vec<(Sample, &str)> {
    let Key { solid, ring, formula, reach, interval } = &figure.key;
    let series = || figure.plots.iter().flat_map(|plot| &plot.series);
    let points = || series().flat_map(|series| &series.points);
    let found = [
        (Sample::Solid, solid, points().any(|point| point.mark == Mark::Solid)),
        (Sample::Ring, ring, points().any(|point| point.mark == Mark::Ring)),
        (Sample::Formula, formula, series().any(|series| series.formula.is_some())),
        (Sample::Reach, reach, points().any(|point| point.reach.is_some())),
        (Sample::Interval, interval, points().any(|point| point.interval.is_some())),
    ];
    let found = found.into_iter().filter(|(_, words, occurs)| *occurs && !words.is_empty());
    let remark = is_crowded.then_some((Sample::Remark, "overlapping marks are drawn side by side"));
    found.map(|(sample, words, _)| (sample, words.as_str())).chain(remark).collect()
}

fn draw_sample(page: &Page, (x, y): (i32, i32), sample: Sample) -> Result<(), PlotError> {
    let shape = super::shape::Shape::Circle;
    let middle = (x + SAMPLE / 2) * UNIT;
    let (above, below) = ((y - 9) * UNIT, (y + 9) * UNIT);
    match sample {
        Sample::Solid => dot(page, (x, y), Stamp { shape, colour: FAINT, radius: DOT, rim: Some(PAPER) }),
        Sample::Ring => dot(page, (x, y), Stamp { shape, colour: FAINT, radius: RING - 15, rim: None }),
        Sample::Formula => across(page, (x, y), Pen::new(FAINT, 16)),
        Sample::Reach => {
            let pen = Pen { opacity: 70, ..Pen::new(FAINT, 14) };
            put(page, vec![(middle, above), (middle, below)], Stroke { pen, shift: 0, hover: String::new() })
        }
        Sample::Interval => {
            let ends = Ends { pen: Pen::new(FAINT, 18), shift: 0, half: 45 };
            put(page, vec![(middle, above), (middle, below)], ends)
        }
        Sample::Remark => Ok(()),
    }
}

fn across(page: &Page, (x, y): (i32, i32), pen: Pen) -> Result<(), PlotError> {
    let at = vec![(x * UNIT, y * UNIT), ((x + SAMPLE) * UNIT, y * UNIT)];
    put(page, at, Stroke { pen, shift: 0, hover: String::new() })
}

fn dot(page: &Page, (x, y): (i32, i32), stamp: Stamp) -> Result<(), PlotError> {
    put(page, vec![((x + SAMPLE / 2) * UNIT, y * UNIT)], Dot { stamp, shift: 0, hover: String::new() })
}
