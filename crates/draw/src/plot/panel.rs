//! Draws one plot of a figure: grid, lines, marks and texts.

use super::axis::ScaledAxis;
use super::canvas::{Anchor, Canvas, Dashes, MarkerStyle, Pen, Suffix, TextRun, UNIT, rgb};
use super::element::{Draw, ErrorBar, Marker, Placed, Stroke};
use super::layout::{AXIS_GAP, Cell, HEADING, LABEL, TICK};
use super::offsets::MarkOffsets;
use super::series_style::{SeriesStyle, SeriesStyles};
use super::text::{bold, fit, width};
use super::ticks::number;
use super::{Axis, Key, Mark, Plot, PlotError, Point, Range, Series};
use crate::style::{FAINT, INK, PAPER, RULE};
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::{Cartesian2d, MeshLine};
use plotters::coord::ranged1d::Ranged;
use plotters::drawing::DrawingArea;
use plotters::style::ShapeStyle;
use std::collections::BTreeMap;

pub(super) type Page = DrawingArea<Canvas, Shift>;
type Chart<'a> = ChartContext<'a, Canvas, Cartesian2d<ScaledAxis, ScaledAxis>>;

/// Radius of marks and rings, in units.
pub(super) const DOT_RADIUS: i32 = 55;
pub(super) const RING_RADIUS: i32 = 92;
/// Dashes of a line whose colour another series has too.
pub(super) const DASHES: Dashes = Dashes { dash: 60, gap: 30, skip: 0 };
/// Length of the dashes of several lines at the same place.
const STRIPE_LENGTH: i32 = 120;

/// A plot with its layout.
pub(super) struct Panel<'a> {
    plot: &'a Plot,
    key: &'a Key,
    cell: &'a Cell,
    styles: Vec<SeriesStyle>,
    offsets: MarkOffsets,
}

pub(super) fn drawing_error(error: impl std::fmt::Display) -> PlotError {
    PlotError::Drawing(error.to_string())
}

pub(super) fn draw_at<E: Draw>(page: &Page, points: Vec<(i32, i32)>, element: E) -> Result<(), PlotError> {
    page.draw(&Placed { points, element }).map_err(drawing_error)
}

/// Draws text at a position in pixels.
pub(super) fn draw_text(page: &Page, (x, y): (i32, i32), text_run: TextRun) -> Result<(), PlotError> {
    draw_at(page, vec![(x * UNIT, y * UNIT)], text_run)
}

/// Returns the name and the unit of an axis, truncated to `room` pixels.
fn name(axis: &Axis, room: i32) -> TextRun {
    if axis.name.is_empty() || axis.unit.is_empty() {
        let full = format!("{}{}", axis.name, axis.unit);
        let (text, is_whole) = fit(&full, LABEL, room);
        return TextRun { hover: (!is_whole).then_some(full), ..TextRun::new(text, LABEL, FAINT) };
    }
    let (unit, is_unit_whole) = fit(&format!(", in {}", axis.unit), LABEL, room / 2);
    let (text, is_whole) = fit(&axis.name, LABEL, room - width(&unit, LABEL));
    let hover = (!is_whole || !is_unit_whole).then(|| format!("{}, in {}", axis.name, axis.unit));
    TextRun { suffix: Some(Suffix { text: unit, colour: FAINT, gap: 0 }), hover, ..TextRun::new(text, LABEL, FAINT) }
}

impl<'a> Panel<'a> {
    pub(super) fn new(plot: &'a Plot, key: &'a Key, cell: &'a Cell, styles: &SeriesStyles<'_>) -> Self {
        let styles = plot.series.iter().map(|series| styles.style(series)).collect();
        let (wide, high) = (cell.frame.width * UNIT, cell.frame.height * UNIT);
        let offsets = MarkOffsets::new(plot, wide, |x| cell.x.map(&x, (0, wide)), |y| cell.y.map(&y, (high, 0)));
        Self { plot, key, cell, styles, offsets }
    }

    pub(super) fn has_offsets(&self) -> bool {
        self.offsets.has_moved()
    }

    fn shift(&self, series: &Series, point: &Point) -> i32 {
        self.offsets.shift(self.plot, series, units(self.cell, point))
    }

    pub(super) fn draw(&self, page: &Page) -> Result<(), PlotError> {
        let frame = &self.cell.frame;
        let area =
            page.clone().shrink((frame.left * UNIT, frame.top * UNIT), (frame.width * UNIT, frame.height * UNIT));
        let (x, y) = (self.cell.x.clone(), self.cell.y.clone());
        let mut chart = ChartBuilder::on(&area).build_cartesian_2d(x, y).map_err(drawing_error)?;
        self.head(page)?;
        if self.plot.series.iter().all(|series| series.points.is_empty() && series.formula.is_none()) {
            return self.no_data(page);
        }
        self.grid(page, &chart)?;
        self.formulas(&mut chart)?;
        self.ranges(&mut chart)?;
        self.joins(&mut chart)?;
        self.marks(&mut chart, Mark::Ring)?;
        self.marks(&mut chart, Mark::Solid)?;
        self.labels(page)
    }

    fn head(&self, page: &Page) -> Result<(), PlotError> {
        let Cell { left, heading, name: line, width, frame, .. } = *self.cell;
        let (text, is_whole) = fit(&self.plot.title, bold(HEADING), width);
        let hover = (!is_whole).then(|| self.plot.title.clone());
        draw_text(page, (left, heading), TextRun { is_bold: true, hover, ..TextRun::new(text, HEADING, INK) })?;
        draw_text(page, (left, line), name(&self.plot.y, width))?;
        let text_run = TextRun { anchor: Anchor::Middle, ..name(&self.plot.x, frame.width) };
        draw_text(page, (frame.left + frame.width / 2, frame.bottom() + 41), text_run)
    }

    fn no_data(&self, page: &Page) -> Result<(), PlotError> {
        let frame = &self.cell.frame;
        let (left, bottom, right) = (frame.left * UNIT, frame.bottom() * UNIT, frame.right() * UNIT);
        draw_at(page, vec![(left, bottom), (right, bottom)], stroke(Pen::new(RULE, UNIT)))?;
        let text_run = TextRun { anchor: Anchor::Middle, ..TextRun::new("no data", LABEL, FAINT) };
        draw_text(page, (frame.left + frame.width / 2, frame.top + frame.height / 2), text_run)
    }

    fn grid(&self, page: &Page, chart: &Chart<'_>) -> Result<(), PlotError> {
        let style = ShapeStyle { color: rgb(RULE).into(), filled: false, stroke_width: UNIT.unsigned_abs() };
        let rule = |canvas: &mut Canvas, line: MeshLine<'_, ScaledAxis, ScaledAxis>| line.draw(canvas, &style);
        chart
            .plotting_area()
            .draw_mesh(rule, self.cell.y.ticks.len(), self.cell.x.ticks.len())
            .map_err(drawing_error)?;
        let frame = &self.cell.frame;
        let (left, bottom, right) = (frame.left * UNIT, frame.bottom() * UNIT, frame.right() * UNIT);
        draw_at(page, vec![(left, bottom), (right, bottom)], stroke(Pen::new(FAINT, UNIT)))?;
        self.zero_gaps(page)?;
        self.ticks(page)
    }

    /// Draws the gap between zero and the rest of a log axis.
    fn zero_gaps(&self, page: &Page) -> Result<(), PlotError> {
        let frame = &self.cell.frame;
        let (left, bottom, right, top) =
            (frame.left * UNIT, frame.bottom() * UNIT, frame.right() * UNIT, frame.top * UNIT);
        let dashes = Some(Dashes { dash: 30, gap: 40, skip: 0 });
        let pen = Pen { dashes, ..Pen::new(FAINT, UNIT) };
        let along = |length: i32, part: f64| (f64::from(length * UNIT) * part).round() as i32;
        if let Some(part) = self.cell.y.gap() {
            let y = bottom - along(frame.height, part);
            draw_at(page, vec![(left, y), (right, y)], stroke(pen))?;
        }
        if let Some(part) = self.cell.x.gap() {
            let x = left + along(frame.width, part);
            draw_at(page, vec![(x, top), (x, bottom)], stroke(pen))?;
        }
        Ok(())
    }

    fn ticks(&self, page: &Page) -> Result<(), PlotError> {
        let frame = &self.cell.frame;
        let (across, up) = (&self.cell.x, &self.cell.y);
        let rows =
            up.ticks.iter().map(|(value, text)| (up.map(value, (frame.bottom() * UNIT, frame.top * UNIT)), text));
        for (y, text) in spaced(rows.collect(), |_| TICK + 5) {
            let text_run = TextRun { anchor: Anchor::End, ..TextRun::new(text, TICK, FAINT) };
            draw_at(page, vec![((frame.left - AXIS_GAP) * UNIT, y + 45)], text_run)?;
        }
        let columns = across.ticks.iter();
        let columns = columns.map(|(value, text)| (across.map(value, (frame.left * UNIT, frame.right() * UNIT)), text));
        for (x, text) in spaced(columns.collect(), |text| width(text, TICK) + 8) {
            let text_run = TextRun { anchor: Anchor::Middle, ..TextRun::new(text, TICK, FAINT) };
            draw_at(page, vec![(x, (frame.bottom() + 20) * UNIT)], text_run)?;
        }
        Ok(())
    }

    /// Draws the formulas. Lines at exactly the same place alternate in dashes.
    fn formulas(&self, chart: &mut Chart<'_>) -> Result<(), PlotError> {
        let mut paths: BTreeMap<Vec<(i32, i32)>, Vec<usize>> = BTreeMap::new();
        for (index, series) in self.plot.series.iter().enumerate() {
            if let Some(formula) = &series.formula {
                paths
                    .entry(formula.points.iter().map(|point| chart.backend_coord(point)).collect())
                    .or_default()
                    .push(index);
            }
        }
        for (index, (series, style)) in self.plot.series.iter().zip(&self.styles).enumerate() {
            let Some(formula) = series.formula.as_ref().filter(|formula| !formula.points.is_empty()) else { continue };
            let overlapping = paths.values().find(|indices| indices.contains(&index)).map_or(&[][..], Vec::as_slice);
            let rank = overlapping.iter().position(|other| *other == index).unwrap_or_default() as i32;
            let dashes = match (overlapping.len() as i32, style.is_dashed) {
                (0 | 1, false) => None,
                (0 | 1, true) => Some(DASHES),
                (count, _) => {
                    Some(Dashes { dash: STRIPE_LENGTH, gap: STRIPE_LENGTH * (count - 1), skip: STRIPE_LENGTH * rank })
                }
            };
            let pen = Pen { dashes, opacity: 70, ..Pen::new(style.colour, 16) };
            let hover = [series.name.as_str(), self.key.formula.as_str(), formula.text.as_str()];
            let hover = hover.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
            let line = Placed { points: formula.points.clone(), element: Stroke { pen, shift: 0, hover } };
            chart.draw_series([line]).map_err(drawing_error)?;
        }
        Ok(())
    }

    fn ranges(&self, chart: &mut Chart<'_>) -> Result<(), PlotError> {
        for (series, style) in self.plot.series.iter().zip(&self.styles) {
            for point in &series.points {
                let ends = |range: Range| vec![(point.x, range.low), (point.x, range.high)];
                let shift = self.shift(series, point);
                let pen = Pen { opacity: 55, ..Pen::new(style.colour, 14) };
                let range_line = point
                    .range
                    .map(|range| Placed { points: ends(range), element: Stroke { pen, shift, hover: String::new() } });
                chart.draw_series(range_line).map_err(drawing_error)?;
                let pen = Pen::new(style.colour, 18);
                let interval = point
                    .interval
                    .map(|range| Placed { points: ends(range), element: ErrorBar { pen, shift, half_length: 45 } });
                chart.draw_series(interval).map_err(drawing_error)?;
            }
        }
        Ok(())
    }

    fn joins(&self, chart: &mut Chart<'_>) -> Result<(), PlotError> {
        for (series, style) in self.plot.series.iter().zip(&self.styles).filter(|(series, _)| series.is_joined) {
            let points = series.points.iter().map(|point| (point.x, point.y)).collect();
            let dashes = style.is_dashed.then_some(DASHES);
            let line = stroke(Pen { dashes, ..Pen::new(style.colour, 18) });
            chart.draw_series([Placed { points, element: line }]).map_err(drawing_error)?;
        }
        Ok(())
    }

    /// Draws the marks from left to right. Where marks overlap, the one in front differs from
    /// column to column, so that all can be seen.
    fn marks(&self, chart: &mut Chart<'_>, mark: Mark) -> Result<(), PlotError> {
        let mut dots = Vec::new();
        let count = self.plot.series.len();
        for (index, (series, style)) in self.plot.series.iter().zip(&self.styles).enumerate() {
            for point in series.points.iter().filter(|point| point.mark == mark) {
                let column = self.offsets.column(units(self.cell, point).0);
                let mut marker_style = marker_style(style, mark);
                marker_style.radius = marker_style.radius * self.offsets.size() / 100;
                let dot =
                    Marker { style: marker_style, shift: self.shift(series, point), hover: self.hover(series, point) };
                dots.push((
                    (column, (index + column) % count),
                    Placed { points: vec![(point.x, point.y)], element: dot },
                ));
            }
        }
        dots.sort_by_key(|(rank, _)| *rank);
        chart.draw_series(dots.into_iter().map(|(_, dot)| dot)).map_err(drawing_error)?;
        Ok(())
    }

    fn hover(&self, series: &Series, point: &Point) -> String {
        let value = |axis: &Axis, value: f64| {
            let unit = if axis.unit.is_empty() { String::new() } else { format!(" {}", axis.unit) };
            let name = if axis.name.is_empty() { String::new() } else { format!("{} ", axis.name) };
            match axis.names.iter().find(|(named, _)| *named == value) {
                Some((_, known)) => format!("{name}{known}"),
                None => format!("{name}{}{unit}", number(value)),
            }
        };
        let kind = if point.mark == Mark::Ring { &self.key.ring } else { &self.key.solid };
        let mut parts =
            vec![series.name.clone(), kind.clone(), value(&self.plot.x, point.x), value(&self.plot.y, point.y)];
        for (range, label) in [(point.range, &self.key.range), (point.interval, &self.key.interval)] {
            parts.extend(range.map(|Range { low, high }| format!("{label}: {} to {}", number(low), number(high))));
        }
        parts.retain(|part| !part.is_empty());
        parts.join(" · ")
    }

    fn labels(&self, page: &Page) -> Result<(), PlotError> {
        let frame = &self.cell.frame;
        for (y, text_run) in &self.cell.labels {
            draw_at(page, vec![((frame.right() + AXIS_GAP) * UNIT, frame.top * UNIT + y + 50)], text_run.clone())?;
        }
        Ok(())
    }
}

/// Returns the position of a point in its plot, in units.
fn units(cell: &Cell, point: &Point) -> (i32, i32) {
    let (width, height) = (cell.frame.width * UNIT, cell.frame.height * UNIT);
    (cell.x.map(&point.x, (0, width)), cell.y.map(&point.y, (height, 0)))
}

pub(super) fn marker_style(style: &SeriesStyle, mark: Mark) -> MarkerStyle {
    let (radius, rim) = if mark == Mark::Ring { (RING_RADIUS, None) } else { (DOT_RADIUS, Some(PAPER)) };
    MarkerStyle { shape: style.shape, colour: style.colour, radius, rim }
}

fn stroke(pen: Pen) -> Stroke {
    Stroke { pen, shift: 0, hover: String::new() }
}

/// Selects the labels along an axis that fit: the last one, then from the first on.
fn spaced(positions: Vec<(i32, &String)>, size: impl Fn(&str) -> i32) -> Vec<(i32, &str)> {
    let mut written: Vec<(i32, &str)> = Vec::new();
    let first = positions.len().saturating_sub(1);
    let order = positions.iter().skip(first).chain(positions.iter().take(first));
    for (position, text) in order {
        let half = size(text) * UNIT / 2;
        let has_room = |(other, beside): &(i32, &str)| (position - other).abs() >= half + size(beside) * UNIT / 2;
        if written.iter().all(has_room) {
            written.push((*position, text));
        }
    }
    written
}
