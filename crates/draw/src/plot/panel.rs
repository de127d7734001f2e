//! Draws one plot of a figure: grid, lines, marks and texts.

use super::axis::ScaledAxis;
use super::canvas::{Anchor, Canvas, Dashes, MarkerStyle, Pen, Suffix, TextRun, UNITS_PER_PIXEL, rgb};
use super::element::{Draw, ErrorBar, Marker, Placed, Polyline};
use super::layout::{AXIS_GAP, Cell, HEADING_SIZE, LABEL_SIZE, TICK_SIZE};
use super::offsets::MarkOffsets;
use super::series_style::{SeriesStyle, SeriesStyles};
use super::text::{fit, regular_size_of_bold, text_width};
use super::ticks::format_number;
use super::{Axis, Key, Plot, PlotError, Point, PointMark, Range, Series};
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

/// Radius of solid marks and of rings, in plotters units (tenths of a pixel).
pub(super) const DOT_RADIUS: i32 = 55;
pub(super) const RING_RADIUS: i32 = 92;
/// Widths of lines, in plotters units.
pub(super) const FORMULA_WIDTH: i32 = 16;
pub(super) const RANGE_WIDTH: i32 = 14;
pub(super) const INTERVAL_WIDTH: i32 = 18;
const JOIN_WIDTH: i32 = 18;
/// Half length of the lines across the ends of an interval, in plotters units.
pub(super) const INTERVAL_HALF_LENGTH: i32 = 45;
/// Dashes of a line whose colour an earlier series also has.
pub(super) const DASHES: Dashes = Dashes { dash: 60, gap: 30, skip: 0 };
/// Length of the dashes of several lines at the same place, in plotters units.
const STRIPE_LENGTH: i32 = 120;
/// Distances from the middle of a tick's text and of a line's label to their baselines, in plotters
/// units.
const TICK_BASELINE: i32 = 45;
const LABEL_BASELINE: i32 = 50;
/// Distances from the bottom of a plot's area to the baselines of the ticks and of the axis name
/// below it, in pixels.
const TICKS_BELOW: i32 = 20;
const NAME_BELOW: i32 = 41;

/// A plot with its layout.
pub(super) struct Panel<'a> {
    plot: &'a Plot,
    /// The figure's legend texts for the kinds of marks and lines.
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
    draw_at(page, vec![(x * UNITS_PER_PIXEL, y * UNITS_PER_PIXEL)], text_run)
}

/// Returns the name and the unit of an axis, truncated to `max_width` pixels.
fn axis_name(axis: &Axis, max_width: i32) -> TextRun {
    if axis.name.is_empty() || axis.unit.is_empty() {
        let full_text = format!("{}{}", axis.name, axis.unit);
        let (text, is_whole) = fit(&full_text, LABEL_SIZE, max_width);
        return TextRun { tooltip: (!is_whole).then_some(full_text), ..TextRun::new(text, LABEL_SIZE, FAINT) };
    }
    let (unit, is_unit_whole) = fit(&format!(", in {}", axis.unit), LABEL_SIZE, max_width / 2);
    let (text, is_whole) = fit(&axis.name, LABEL_SIZE, max_width - text_width(&unit, LABEL_SIZE));
    let tooltip = (!is_whole || !is_unit_whole).then(|| format!("{}, in {}", axis.name, axis.unit));
    TextRun {
        suffix: Some(Suffix { text: unit, colour: FAINT, gap: 0 }),
        tooltip,
        ..TextRun::new(text, LABEL_SIZE, FAINT)
    }
}

impl<'a> Panel<'a> {
    pub(super) fn new(plot: &'a Plot, key: &'a Key, cell: &'a Cell, styles: &SeriesStyles<'_>) -> Self {
        let styles = plot.series.iter().map(|series| styles.style(series)).collect();
        let (width, height) = (cell.frame.width * UNITS_PER_PIXEL, cell.frame.height * UNITS_PER_PIXEL);
        let offsets = MarkOffsets::new(plot, width, |x| cell.x.map(&x, (0, width)), |y| cell.y.map(&y, (height, 0)));
        Self { plot, key, cell, styles, offsets }
    }

    pub(super) fn has_offsets(&self) -> bool {
        self.offsets.has_moved()
    }

    fn shift(&self, series: &Series, point: &Point) -> i32 {
        self.offsets.shift(self.plot, series, position_in_units(self.cell, point))
    }

    pub(super) fn draw(&self, page: &Page) -> Result<(), PlotError> {
        let frame = &self.cell.frame;
        let area = page.clone().shrink(
            (frame.left * UNITS_PER_PIXEL, frame.top * UNITS_PER_PIXEL),
            (frame.width * UNITS_PER_PIXEL, frame.height * UNITS_PER_PIXEL),
        );
        let (x, y) = (self.cell.x.clone(), self.cell.y.clone());
        let mut chart = ChartBuilder::on(&area).build_cartesian_2d(x, y).map_err(drawing_error)?;
        self.draw_texts(page)?;
        if self.plot.series.iter().all(|series| series.points.is_empty() && series.formula.is_none()) {
            return self.draw_no_data(page);
        }
        self.draw_grid(page, &chart)?;
        self.draw_formulas(&mut chart)?;
        self.draw_ranges(&mut chart)?;
        self.draw_joins(&mut chart)?;
        self.draw_marks(&mut chart, PointMark::Ring)?;
        self.draw_marks(&mut chart, PointMark::Solid)?;
        self.draw_labels(page)
    }

    fn draw_texts(&self, page: &Page) -> Result<(), PlotError> {
        let Cell { left, heading_baseline, name_baseline, width, frame, .. } = *self.cell;
        let (text, is_whole) = fit(&self.plot.title, regular_size_of_bold(HEADING_SIZE), width);
        let tooltip = (!is_whole).then(|| self.plot.title.clone());
        draw_text(
            page,
            (left, heading_baseline),
            TextRun { is_bold: true, tooltip, ..TextRun::new(text, HEADING_SIZE, INK) },
        )?;
        draw_text(page, (left, name_baseline), axis_name(&self.plot.y, width))?;
        let text_run = TextRun { anchor: Anchor::Middle, ..axis_name(&self.plot.x, frame.width) };
        draw_text(page, (frame.left + frame.width / 2, frame.bottom() + NAME_BELOW), text_run)
    }

    fn draw_no_data(&self, page: &Page) -> Result<(), PlotError> {
        let frame = &self.cell.frame;
        let (left, bottom, right) =
            (frame.left * UNITS_PER_PIXEL, frame.bottom() * UNITS_PER_PIXEL, frame.right() * UNITS_PER_PIXEL);
        draw_at(page, vec![(left, bottom), (right, bottom)], plain_line(Pen::new(RULE, UNITS_PER_PIXEL)))?;
        let text_run = TextRun { anchor: Anchor::Middle, ..TextRun::new("no data", LABEL_SIZE, FAINT) };
        draw_text(page, (frame.left + frame.width / 2, frame.top + frame.height / 2), text_run)
    }

    fn draw_grid(&self, page: &Page, chart: &Chart<'_>) -> Result<(), PlotError> {
        let style = ShapeStyle { color: rgb(RULE).into(), filled: false, stroke_width: UNITS_PER_PIXEL.unsigned_abs() };
        let rule = |canvas: &mut Canvas, line: MeshLine<'_, ScaledAxis, ScaledAxis>| line.draw(canvas, &style);
        chart
            .plotting_area()
            .draw_mesh(rule, self.cell.y.ticks.len(), self.cell.x.ticks.len())
            .map_err(drawing_error)?;
        let frame = &self.cell.frame;
        let (left, bottom, right) =
            (frame.left * UNITS_PER_PIXEL, frame.bottom() * UNITS_PER_PIXEL, frame.right() * UNITS_PER_PIXEL);
        draw_at(page, vec![(left, bottom), (right, bottom)], plain_line(Pen::new(FAINT, UNITS_PER_PIXEL)))?;
        self.draw_zero_gaps(page)?;
        self.draw_ticks(page)
    }

    /// Draws the gap between zero and the rest of a log axis.
    fn draw_zero_gaps(&self, page: &Page) -> Result<(), PlotError> {
        let frame = &self.cell.frame;
        let (left, bottom, right, top) = (
            frame.left * UNITS_PER_PIXEL,
            frame.bottom() * UNITS_PER_PIXEL,
            frame.right() * UNITS_PER_PIXEL,
            frame.top * UNITS_PER_PIXEL,
        );
        let dashes = Some(Dashes { dash: 30, gap: 40, skip: 0 });
        let pen = Pen { dashes, ..Pen::new(FAINT, UNITS_PER_PIXEL) };
        let distance = |length: i32, part: f64| (f64::from(length * UNITS_PER_PIXEL) * part).round() as i32;
        if let Some(part) = self.cell.y.zero_gap() {
            let y = bottom - distance(frame.height, part);
            draw_at(page, vec![(left, y), (right, y)], plain_line(pen))?;
        }
        if let Some(part) = self.cell.x.zero_gap() {
            let x = left + distance(frame.width, part);
            draw_at(page, vec![(x, top), (x, bottom)], plain_line(pen))?;
        }
        Ok(())
    }

    fn draw_ticks(&self, page: &Page) -> Result<(), PlotError> {
        let frame = &self.cell.frame;
        let (x_axis, y_axis) = (&self.cell.x, &self.cell.y);
        let rows = y_axis.ticks.iter().map(|(value, text)| {
            (y_axis.map(value, (frame.bottom() * UNITS_PER_PIXEL, frame.top * UNITS_PER_PIXEL)), text)
        });
        for (y, text) in select_spaced(rows.collect(), |_| TICK_SIZE + 5) {
            let text_run = TextRun { anchor: Anchor::End, ..TextRun::new(text, TICK_SIZE, FAINT) };
            draw_at(page, vec![((frame.left - AXIS_GAP) * UNITS_PER_PIXEL, y + TICK_BASELINE)], text_run)?;
        }
        let columns = x_axis.ticks.iter();
        let columns = columns.map(|(value, text)| {
            (x_axis.map(value, (frame.left * UNITS_PER_PIXEL, frame.right() * UNITS_PER_PIXEL)), text)
        });
        for (x, text) in select_spaced(columns.collect(), |text| text_width(text, TICK_SIZE) + 8) {
            let text_run = TextRun { anchor: Anchor::Middle, ..TextRun::new(text, TICK_SIZE, FAINT) };
            draw_at(page, vec![(x, (frame.bottom() + TICKS_BELOW) * UNITS_PER_PIXEL)], text_run)?;
        }
        Ok(())
    }

    /// Draws the formulas. Lines at exactly the same place alternate in dashes.
    fn draw_formulas(&self, chart: &mut Chart<'_>) -> Result<(), PlotError> {
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
            let position = overlapping.iter().position(|other| *other == index).unwrap_or_default() as i32;
            let dashes = match (overlapping.len() as i32, style.is_dashed) {
                (0 | 1, false) => None,
                (0 | 1, true) => Some(DASHES),
                (count, _) => Some(Dashes {
                    dash: STRIPE_LENGTH,
                    gap: STRIPE_LENGTH * (count - 1),
                    skip: STRIPE_LENGTH * position,
                }),
            };
            let pen = Pen { dashes, opacity_percent: 70, ..Pen::new(style.colour, FORMULA_WIDTH) };
            let tooltip = [series.name.as_str(), self.key.formula.as_str(), formula.text.as_str()];
            let tooltip = tooltip.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
            let line = Placed { points: formula.points.clone(), element: Polyline { pen, shift: 0, tooltip } };
            chart.draw_series([line]).map_err(drawing_error)?;
        }
        Ok(())
    }

    fn draw_ranges(&self, chart: &mut Chart<'_>) -> Result<(), PlotError> {
        for (series, style) in self.plot.series.iter().zip(&self.styles) {
            for point in &series.points {
                let ends = |range: Range| vec![(point.x, range.low), (point.x, range.high)];
                let shift = self.shift(series, point);
                let pen = Pen { opacity_percent: 55, ..Pen::new(style.colour, RANGE_WIDTH) };
                let range_line = point.range.map(|range| Placed {
                    points: ends(range),
                    element: Polyline { pen, shift, tooltip: String::new() },
                });
                chart.draw_series(range_line).map_err(drawing_error)?;
                let pen = Pen::new(style.colour, INTERVAL_WIDTH);
                let interval = point.interval.map(|range| Placed {
                    points: ends(range),
                    element: ErrorBar { pen, shift, half_length: INTERVAL_HALF_LENGTH },
                });
                chart.draw_series(interval).map_err(drawing_error)?;
            }
        }
        Ok(())
    }

    /// Draws the lines that join the points of a series.
    fn draw_joins(&self, chart: &mut Chart<'_>) -> Result<(), PlotError> {
        for (series, style) in self.plot.series.iter().zip(&self.styles).filter(|(series, _)| series.is_joined) {
            let points = series.points.iter().map(|point| (point.x, point.y)).collect();
            let dashes = style.is_dashed.then_some(DASHES);
            let line = plain_line(Pen { dashes, ..Pen::new(style.colour, JOIN_WIDTH) });
            chart.draw_series([Placed { points, element: line }]).map_err(drawing_error)?;
        }
        Ok(())
    }

    /// Draws the marks of this kind from left to right. Where marks overlap, the one in front
    /// differs from column to column, so that it is not always of the same series.
    fn draw_marks(&self, chart: &mut Chart<'_>, mark: PointMark) -> Result<(), PlotError> {
        let mut markers = Vec::new();
        let count = self.plot.series.len();
        for (index, (series, style)) in self.plot.series.iter().zip(&self.styles).enumerate() {
            for point in series.points.iter().filter(|point| point.mark == mark) {
                let column = self.offsets.column(position_in_units(self.cell, point).0);
                let mut marker_style = marker_style(style, mark);
                marker_style.radius = marker_style.radius * self.offsets.mark_size_percent() / 100;
                let marker = Marker {
                    style: marker_style,
                    shift: self.shift(series, point),
                    tooltip: self.tooltip(series, point),
                };
                markers.push((
                    (column, (index + column) % count),
                    Placed { points: vec![(point.x, point.y)], element: marker },
                ));
            }
        }
        markers.sort_by_key(|(order, _)| *order);
        chart.draw_series(markers.into_iter().map(|(_, marker)| marker)).map_err(drawing_error)?;
        Ok(())
    }

    fn tooltip(&self, series: &Series, point: &Point) -> String {
        let describe_value = |axis: &Axis, value: f64| {
            let unit = if axis.unit.is_empty() { String::new() } else { format!(" {}", axis.unit) };
            let name = if axis.name.is_empty() { String::new() } else { format!("{} ", axis.name) };
            match axis.value_names.iter().find(|(named, _)| *named == value) {
                Some((_, known)) => format!("{name}{known}"),
                None => format!("{name}{}{unit}", format_number(value)),
            }
        };
        let kind = if point.mark == PointMark::Ring { &self.key.ring } else { &self.key.solid };
        let mut parts = vec![
            series.name.clone(),
            kind.clone(),
            describe_value(&self.plot.x, point.x),
            describe_value(&self.plot.y, point.y),
        ];
        for (range, label) in [(point.range, &self.key.range), (point.interval, &self.key.interval)] {
            parts.extend(
                range.map(|Range { low, high }| format!("{label}: {} to {}", format_number(low), format_number(high))),
            );
        }
        parts.retain(|part| !part.is_empty());
        parts.join(" · ")
    }

    fn draw_labels(&self, page: &Page) -> Result<(), PlotError> {
        let frame = &self.cell.frame;
        for (y, text_run) in &self.cell.labels {
            draw_at(
                page,
                vec![((frame.right() + AXIS_GAP) * UNITS_PER_PIXEL, frame.top * UNITS_PER_PIXEL + y + LABEL_BASELINE)],
                text_run.clone(),
            )?;
        }
        Ok(())
    }
}

/// Returns the position of a point in its plot, in plotters units.
fn position_in_units(cell: &Cell, point: &Point) -> (i32, i32) {
    let (width, height) = (cell.frame.width * UNITS_PER_PIXEL, cell.frame.height * UNITS_PER_PIXEL);
    (cell.x.map(&point.x, (0, width)), cell.y.map(&point.y, (height, 0)))
}

pub(super) fn marker_style(style: &SeriesStyle, mark: PointMark) -> MarkerStyle {
    let (radius, rim) = if mark == PointMark::Ring { (RING_RADIUS, None) } else { (DOT_RADIUS, Some(PAPER)) };
    MarkerStyle { shape: style.shape, colour: style.colour, radius, rim }
}

fn plain_line(pen: Pen) -> Polyline {
    Polyline { pen, shift: 0, tooltip: String::new() }
}

/// Selects the labels along an axis that fit: the last one, then from the first on. `length` is the
/// length of a label along the axis, in pixels.
fn select_spaced(positions: Vec<(i32, &String)>, length: impl Fn(&str) -> i32) -> Vec<(i32, &str)> {
    let mut selected: Vec<(i32, &str)> = Vec::new();
    let last_index = positions.len().saturating_sub(1);
    let order = positions.iter().skip(last_index).chain(positions.iter().take(last_index));
    for (position, text) in order {
        let half_length = length(text) * UNITS_PER_PIXEL / 2;
        let is_apart = |(other, other_text): &(i32, &str)| {
            (position - other).abs() >= half_length + length(other_text) * UNITS_PER_PIXEL / 2
        };
        if selected.iter().all(is_apart) {
            selected.push((*position, text));
        }
    }
    selected
}
