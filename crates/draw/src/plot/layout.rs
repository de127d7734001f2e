//! The layout of a figure, in pixels. Plotters units, where mentioned, are tenths of a pixel.

use super::axis::{Direction, ScaledAxis};
use super::canvas::{Suffix, TextRun, UNITS_PER_PIXEL};
use super::offsets;
use super::series_style::SeriesStyles;
use super::text::{fit, regular_size_of_bold, text_width};
use super::{Figure, Plot, Series};
use crate::style::FAINT;
use plotters::coord::ranged1d::Ranged;

/// Font sizes.
pub(super) const TITLE_SIZE: i32 = 24;
pub(super) const SUBTITLE_SIZE: i32 = 15;
pub(super) const HEADING_SIZE: i32 = 17;
pub(super) const LABEL_SIZE: i32 = 14;
pub(super) const TICK_SIZE: i32 = 13;

pub(super) const PAGE_MARGIN: i32 = 36;
/// Distance between plots.
const COLUMN_GAP: i32 = 44;
const ROW_GAP: i32 = 34;
/// Distance between the texts above a plot and its area; a mark at the top may extend into it.
const HEADING_GAP: i32 = 18;
const TICK_LINE_HEIGHT: i32 = 24;
const NAME_LINE_HEIGHT: i32 = 20;
/// Distance between an axis and its labels.
pub(super) const AXIS_GAP: i32 = 10;
/// Margin to the right of a plot without labels there.
const RIGHT_MARGIN: i32 = 12;
/// Minimum distance between labels at the ends of lines.
const MIN_LABEL_DISTANCE: i32 = 19;
const MAX_LABEL_WIDTH: i32 = 230;

/// Maximum number of series in a figure of five or more plots that has three plots in a row. The
/// marks of more series would have too little room side by side.
const MAX_SERIES_IN_NARROW_PLOTS: usize = 6;

/// The area of the page with a plot's points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) left: i32,
    pub(super) top: i32,
    pub(super) width: i32,
    pub(super) height: i32,
}

impl Frame {
    pub(super) fn right(&self) -> i32 {
        self.left + self.width
    }

    pub(super) fn bottom(&self) -> i32 {
        self.top + self.height
    }
}

/// The layout of one plot.
pub(super) struct Cell {
    pub(super) frame: Frame,
    pub(super) x: ScaledAxis,
    pub(super) y: ScaledAxis,
    /// Left edge of the heading, and the baselines of the heading and of the axis name below it.
    pub(super) left: i32,
    pub(super) heading_baseline: i32,
    pub(super) name_baseline: i32,
    pub(super) width: i32,
    /// Labels at the ends of lines, with their vertical positions in plotters units.
    pub(super) labels: Vec<(i32, TextRun)>,
}

/// The layout of a page without its legend.
pub(super) struct Layout {
    pub(super) width: i32,
    pub(super) bottom: i32,
    pub(super) title_baseline: Option<i32>,
    pub(super) subtitle_baseline: Option<i32>,
    pub(super) cells: Vec<Cell>,
    pub(super) are_all_series_labelled: bool,
}

/// The arrangement of plots.
struct Grid {
    columns: i32,
    page_width: i32,
    plot_height: i32,
}

impl Grid {
    /// Chooses the arrangement for these numbers of plots and of different series.
    fn new(plots: usize, series: usize) -> Self {
        match plots {
            5.. if series > MAX_SERIES_IN_NARROW_PLOTS => Self { columns: 2, page_width: 1440, plot_height: 300 },
            0 | 1 => Self { columns: 1, page_width: 960, plot_height: 420 },
            2 => Self { columns: 2, page_width: 1200, plot_height: 340 },
            4 => Self { columns: 2, page_width: 1200, plot_height: 260 },
            3 => Self { columns: 3, page_width: 1440, plot_height: 320 },
            _ => Self { columns: 3, page_width: 1440, plot_height: 260 },
        }
    }

    fn cell_width(&self) -> i32 {
        (self.page_width - 2 * PAGE_MARGIN - (self.columns - 1) * COLUMN_GAP) / self.columns
    }
}

impl Layout {
    pub(super) fn new(figure: &Figure, styles: &SeriesStyles<'_>) -> Self {
        let grid = Grid::new(figure.plots.len(), styles.names().len());
        let mut y = PAGE_MARGIN;
        let mut reserve_line = |is_present: bool, ascent: i32, height: i32| {
            let baseline = y + ascent;
            y += if is_present { height } else { 0 };
            is_present.then_some(baseline)
        };
        let title_baseline = reserve_line(!figure.title.is_empty(), TITLE_SIZE - 5, 34);
        let subtitle_baseline = reserve_line(!figure.subtitle.is_empty(), SUBTITLE_SIZE - 3, 24);
        // The space between these lines and the plots.
        reserve_line(title_baseline.or(subtitle_baseline).is_some(), 0, 18);
        // No margin (0) for marks: overlapping ones are moved only sideways.
        let y_axes: Vec<_> =
            figure.plots.iter().map(|plot| ScaledAxis::new(plot, Direction::Vertical, grid.plot_height, 0)).collect();
        let axis_width =
            y_axes.iter().flat_map(|y_axis| &y_axis.ticks).map(|(_, text)| text_width(text, TICK_SIZE)).max();
        let mut layout = Self {
            width: grid.page_width,
            bottom: y,
            title_baseline,
            subtitle_baseline,
            cells: Vec::new(),
            are_all_series_labelled: false,
        };
        layout.arrange(figure, styles, &grid, y_axes, axis_width.unwrap_or_default() + AXIS_GAP);
        layout
    }

    fn arrange(
        &mut self,
        figure: &Figure,
        styles: &SeriesStyles<'_>,
        grid: &Grid,
        y_axes: Vec<ScaledAxis>,
        axis_width: i32,
    ) {
        let has_any = |has: fn(&Plot) -> bool| figure.plots.iter().any(has);
        let heading_height = if has_any(|plot| !plot.title.is_empty()) { 26 } else { 0 };
        let name_height =
            if has_any(|plot| !plot.y.name.is_empty() || !plot.y.unit.is_empty()) { NAME_LINE_HEIGHT } else { 0 };
        let height_below = TICK_LINE_HEIGHT
            + if has_any(|plot| !plot.x.name.is_empty() || !plot.x.unit.is_empty()) { NAME_LINE_HEIGHT } else { 0 };
        let top = self.bottom;
        let height = heading_height + name_height + HEADING_GAP + grid.plot_height + height_below;
        for (index, (plot, y)) in figure.plots.iter().zip(y_axes).enumerate() {
            let index = index as i32;
            let left = PAGE_MARGIN + (index % grid.columns) * (grid.cell_width() + COLUMN_GAP);
            let top = top + (index / grid.columns) * (height + ROW_GAP);
            self.bottom = self.bottom.max(top + height);
            let labels =
                if figure.plots.len() == 1 { end_labels(plot, styles, &y, grid.plot_height) } else { Vec::new() };
            self.are_all_series_labelled = labels.len() == styles.names().len() && !labels.is_empty();
            let right_margin = labels
                .iter()
                .map(|(_, text_run)| label_width(text_run))
                .max()
                .map_or(RIGHT_MARGIN, |width| width + 2 * AXIS_GAP);
            let frame = Frame {
                left: left + axis_width,
                top: top + heading_height + name_height + HEADING_GAP,
                width: grid.cell_width() - axis_width - right_margin,
                height: grid.plot_height,
            };
            // Overlapping marks at an end of the axis are moved by up to half the width of their
            // set.
            let x = ScaledAxis::new(plot, Direction::Horizontal, frame.width, offsets::max_set_width(plot) / 2);
            let (heading_baseline, name_baseline) = (top + HEADING_SIZE - 2, top + heading_height + TICK_SIZE);
            self.cells.push(Cell {
                frame,
                x,
                y,
                left,
                heading_baseline,
                name_baseline,
                width: grid.cell_width(),
                labels,
            });
        }
    }
}

fn label_width(text_run: &TextRun) -> i32 {
    text_width(&text_run.text, regular_size_of_bold(LABEL_SIZE))
        + text_run
            .suffix
            .as_ref()
            .map_or(0, |suffix| suffix.gap + text_width(" ", LABEL_SIZE) + text_width(&suffix.text, LABEL_SIZE))
}

/// Returns labels and their vertical positions in plotters units, for the series that end at the
/// rightmost x of the plot. Leaves out a repeated name, and a label that would overlap an earlier
/// one.
fn end_labels(plot: &Plot, styles: &SeriesStyles<'_>, y: &ScaledAxis, height: i32) -> Vec<(i32, TextRun)> {
    let rightmost = plot.series.iter().filter_map(right_end).map(|(x, _)| x).fold(f64::NEG_INFINITY, f64::max);
    let mut labelled: Vec<(i32, &Series)> = Vec::new();
    for series in &plot.series {
        let is_repeated = labelled.iter().any(|(_, other)| other.name == series.name);
        let Some((_, value)) = right_end(series).filter(|(x, _)| *x == rightmost && !is_repeated) else { continue };
        let position = y.map(&value, (height * UNITS_PER_PIXEL, 0));
        if labelled.iter().all(|(other, _)| (other - position).abs() >= MIN_LABEL_DISTANCE * UNITS_PER_PIXEL) {
            labelled.push((position, series));
        }
    }
    labelled.into_iter().map(|(position, series)| (position, label(series, styles))).collect()
}

fn label(series: &Series, styles: &SeriesStyles<'_>) -> TextRun {
    let (text, is_whole) = fit(&series.name, regular_size_of_bold(LABEL_SIZE), MAX_LABEL_WIDTH);
    let formula = series.formula.as_ref().map(|formula| fit(&formula.text, LABEL_SIZE, MAX_LABEL_WIDTH / 2).0);
    let suffix = formula.filter(|text| !text.is_empty()).map(|text| Suffix { text, colour: FAINT, gap: 4 });
    let tooltip = (!is_whole).then(|| series.name.clone());
    TextRun { suffix, tooltip, is_bold: true, ..TextRun::new(text, LABEL_SIZE, styles.style(series).colour) }
}

fn right_end(series: &Series) -> Option<(f64, f64)> {
    let line = series.formula.iter().flat_map(|formula| formula.points.last().copied());
    line.chain(series.points.iter().map(|point| (point.x, point.y))).reduce(|last, next| {
        // Of equal x, the formula's end takes precedence over a point, and an earlier point over a
        // later one.
        if next.0 > last.0 { next } else { last }
    })
}
