//! Moves overlapping marks sideways, so that their vertical positions stay exact.

use super::canvas::UNITS_PER_PIXEL;
use super::{Plot, Point, PointMark, Series};
use std::collections::{BTreeMap, BTreeSet};

/// Half the height of the area around a solid mark and around a ring, in plotters units
/// (tenths of a pixel); marks whose areas overlap are moved apart. Solid marks, of radius 55, may
/// cover each other a little.
const DOT_EXTENT: i32 = 43;
const RING_EXTENT: i32 = 100;
/// Preferred horizontal distance between moved marks, in plotters units.
const DOT_STEP: i32 = 125;
const RING_STEP: i32 = 215;
/// Maximum part of the distance to the next column that moved marks take, in tenths.
const MAX_SHARE: i32 = 8;

/// Sideways offsets of a plot's marks.
pub(super) struct MarkOffsets {
    /// Offsets in plotters units, by position and series.
    shifts: BTreeMap<(i32, i32, usize), i32>,
    /// Horizontal positions of marks, numbered from the left.
    columns: BTreeMap<i32, usize>,
}

/// A mark in its column, with the vertical extent of the mark and its ranges.
struct ColumnMark {
    y: i32,
    top: i32,
    bottom: i32,
    series: usize,
    mark: PointMark,
}

impl ColumnMark {
    fn new(point: &Point, series: usize, y_of: impl Fn(f64) -> i32) -> Self {
        let y = y_of(point.y);
        let extent = if point.mark == PointMark::Ring { RING_EXTENT } else { DOT_EXTENT };
        let ranges = [point.range, point.interval].into_iter().flatten();
        let ends = ranges.flat_map(|range| [y_of(range.low), y_of(range.high)]);
        let (mut top, mut bottom) = (y - extent, y + extent);
        for end in ends {
            (top, bottom) = (top.min(end), bottom.max(end));
        }
        Self { y, top, bottom, series, mark: point.mark }
    }
}

impl MarkOffsets {
    /// Computes the offsets for a plot that is `width` plotters units wide. `x_of` and `y_of` map
    /// values to positions.
    pub(super) fn new(plot: &Plot, width: i32, x_of: impl Fn(f64) -> i32, y_of: impl Fn(f64) -> i32) -> Self {
        let mut columns: BTreeMap<i32, Vec<ColumnMark>> = BTreeMap::new();
        for series in &plot.series {
            let first_series = first_series_of_name(plot, series);
            for point in &series.points {
                columns.entry(x_of(point.x)).or_default().push(ColumnMark::new(point, first_series, &y_of));
            }
        }
        let mut offsets = Self { shifts: BTreeMap::new(), columns: columns.keys().copied().zip(0..).collect() };
        for (x, marks) in columns {
            let max_width = offsets.available_width(x, width);
            for overlapping in overlapping_sets(marks) {
                offsets.separate(plot, x, &overlapping, max_width);
            }
        }
        offsets
    }

    /// Returns the width available to the marks of the column at `x`, in a plot of this width.
    fn available_width(&self, x: i32, width: i32) -> i32 {
        let left_gap = self.columns.range(..x).next_back().map(|(left, _)| x - left);
        let right_gap = self.columns.range(x + 1..).next().map(|(right, _)| right - x);
        let gap = left_gap.into_iter().chain(right_gap).min().unwrap_or(width / 3).min(width / 3);
        // Moved marks may extend a little beyond the edge of the plot.
        let room_to_edge = x.min(width - x) + DOT_EXTENT;
        (gap * MAX_SHARE / 10).min(2 * room_to_edge)
    }

    /// Moves overlapping marks side by side within a width of `max_width`.
    fn separate(&mut self, plot: &Plot, x: i32, overlapping: &[ColumnMark], max_width: i32) {
        let mut series_indices: Vec<usize> = overlapping.iter().map(|mark| mark.series).collect();
        series_indices.sort_unstable();
        series_indices.dedup();
        // A mark on a line is not moved.
        series_indices.retain(|series| plot.series.get(*series).is_some_and(|series| !series.is_joined));
        let has_ring = overlapping.iter().any(|mark| mark.mark == PointMark::Ring);
        let count = series_indices.len() as i32;
        let step = (if has_ring { RING_STEP } else { DOT_STEP }).min(max_width / count.max(1));
        for ColumnMark { y, series, .. } in overlapping {
            let index = series_indices.iter().position(|other| other == series).map(|index| index as i32);
            let shift = index.map_or(0, |index| step * (2 * index - (count - 1)) / 2);
            if shift != 0 {
                self.shifts.insert((x, *y, *series), shift);
            }
        }
    }

    pub(super) fn has_moved(&self) -> bool {
        !self.shifts.is_empty()
    }

    /// Returns the size of marks in hundredths of the usual size: smaller if there are many
    /// columns.
    pub(super) fn mark_size_percent(&self) -> i32 {
        match self.columns.len() {
            0..=20 => 100,
            21..=40 => 80,
            41.. => 65,
        }
    }

    pub(super) fn column(&self, x: i32) -> usize {
        self.columns.get(&x).copied().unwrap_or_default()
    }

    pub(super) fn shift(&self, plot: &Plot, series: &Series, (x, y): (i32, i32)) -> i32 {
        self.shifts.get(&(x, y, first_series_of_name(plot, series))).copied().unwrap_or_default()
    }
}

/// Splits the marks of a column into sets that overlap vertically, from top to bottom.
fn overlapping_sets(mut marks: Vec<ColumnMark>) -> Vec<Vec<ColumnMark>> {
    marks.sort_by_key(|mark| (mark.top, mark.series));
    let mut sets: Vec<Vec<ColumnMark>> = Vec::new();
    let mut lowest_bottom = i32::MIN;
    for mark in marks {
        let (is_apart, bottom) = (mark.top >= lowest_bottom, mark.bottom);
        match sets.last_mut().filter(|_| !is_apart) {
            Some(set) => set.push(mark),
            None => sets.push(vec![mark]),
        }
        lowest_bottom = lowest_bottom.max(bottom);
    }
    sets
}

/// Returns the index of the first series of the same name; series of one name count as one.
fn first_series_of_name(plot: &Plot, series: &Series) -> usize {
    plot.series.iter().position(|other| other.name == series.name).unwrap_or_default()
}

/// Returns the preferred width of the widest set of overlapping marks, in pixels. Marks at the same
/// point count as overlapping or, if any mark of the plot has a range, those at the same x.
pub(super) fn max_set_width(plot: &Plot) -> i32 {
    let points = || plot.series.iter().flat_map(|series| &series.points);
    let has_ranges = points().any(|point| point.range.or(point.interval).is_some());
    let mut series_at: BTreeMap<[u64; 2], BTreeSet<usize>> = BTreeMap::new();
    for series in plot.series.iter().filter(|series| !series.is_joined) {
        let first_series = first_series_of_name(plot, series);
        for point in &series.points {
            let y = if has_ranges { 0 } else { point.y.to_bits() };
            series_at.entry([point.x.to_bits(), y]).or_default().insert(first_series);
        }
    }
    let step = if points().any(|point| point.mark == PointMark::Ring) { RING_STEP } else { DOT_STEP };
    series_at.values().map(|series_indices| series_indices.len() as i32).max().unwrap_or_default() * step
        / UNITS_PER_PIXEL
}

#[cfg(test)]
mod tests {
    use super::MarkOffsets;
    use crate::plot::{Plot, Point, Series};

    fn shifts(plot: &Plot, width: i32) -> Vec<i32> {
        let position = |point: &Point| (point.x as i32, point.y as i32);
        let offsets = MarkOffsets::new(plot, width, |x| x as i32, |y| y as i32);
        let points = plot.series.iter().flat_map(|series| series.points.iter().map(move |point| (series, point)));
        points.map(|(series, point)| offsets.shift(plot, series, position(point))).collect()
    }

    /// A series per letter, each with points at the heights 500 and 900 of one column. Values are
    /// positions in plotters units.
    fn plot(names: &str) -> Plot {
        let series = |name: char| Series::new(name).points([Point::new(1000.0, 500.0), Point::new(1000.0, 900.0)]);
        names.chars().map(series).fold(Plot::new("p"), Plot::with_series)
    }

    #[test]
    fn overlapping_marks_are_drawn_side_by_side() {
        // Half of `DOT_STEP` is 62.
        assert_eq!(shifts(&plot("a"), 4000), [0, 0]);
        assert_eq!(shifts(&plot("ab"), 4000), [-62, -62, 62, 62]);
        assert_eq!(shifts(&plot("abc"), 4000), [-125, -125, 0, 0, 125, 125]);
    }

    #[test]
    fn series_of_one_name_are_not_separated() {
        assert_eq!(shifts(&plot("aa"), 4000), [0, 0, 0, 0]);
    }

    #[test]
    fn many_marks_share_the_available_room() {
        let shifts = shifts(&plot("abcdefghijkl"), 4000);
        // The marks of a single column take at most a third of the width.
        assert!(shifts.iter().all(|shift| shift.abs() <= 4000 / 3 / 2), "{shifts:?}");
        let mut first_shifts: Vec<_> = shifts.iter().step_by(2).collect();
        first_shifts.dedup();
        assert_eq!(first_shifts.len(), 12, "{shifts:?}");
    }

    /// Two marks are moved apart if the range of one reaches the other.
    #[test]
    fn ranges_do_not_cover_marks() {
        let mut plot = plot("ab");
        plot.series[1].points.truncate(1);
        plot.series[0].points.remove(0);
        assert_eq!(shifts(&plot, 4000), [0, 0]);
        plot.series[1].points[0] = Point::new(1000.0, 500.0).range(400.0, 870.0);
        assert_eq!(shifts(&plot, 4000), [-62, 62]);
    }

    #[test]
    fn a_mark_on_a_line_stays_there() {
        let mut plot = plot("abc");
        plot.series[1].is_joined = true;
        assert_eq!(shifts(&plot, 4000), [-62, -62, 0, 0, 62, 62]);
    }
}
