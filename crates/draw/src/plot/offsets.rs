//! Moves overlapping marks sideways, so that their vertical positions stay exact.

use super::canvas::UNIT;
use super::{Mark, Plot, Point, Series};
use std::collections::{BTreeMap, BTreeSet};

/// Vertical extent of a mark and of a ring from the middle, in units.
const DOT_EXTENT: i32 = 43;
const RING_EXTENT: i32 = 100;
/// Preferred horizontal distance between moved marks, in units.
const DOT_STEP: i32 = 125;
const RING_STEP: i32 = 215;
/// Maximum part of the distance to the next column that they take, in tenths.
const MAX_SHARE: i32 = 8;

/// Sideways offsets of a plot's marks.
pub(super) struct MarkOffsets {
    /// Offsets by position and series.
    shifts: BTreeMap<(i32, i32, usize), i32>,
    /// Horizontal positions of marks, numbered from the left.
    columns: BTreeMap<i32, usize>,
}

/// A mark in its column, with the vertical extent of its ranges.
struct Member {
    y: i32,
    top: i32,
    bottom: i32,
    series: usize,
    mark: Mark,
}

impl Member {
    fn new(point: &Point, series: usize, upwards: impl Fn(f64) -> i32) -> Self {
        let y = upwards(point.y);
        let extent = if point.mark == Mark::Ring { RING_EXTENT } else { DOT_EXTENT };
        let ranges = [point.range, point.interval].into_iter().flatten();
        let ends = ranges.flat_map(|range| [upwards(range.low), upwards(range.high)]);
        let (mut top, mut bottom) = (y - extent, y + extent);
        for end in ends {
            (top, bottom) = (top.min(end), bottom.max(end));
        }
        Self { y, top, bottom, series, mark: point.mark }
    }
}

impl MarkOffsets {
    /// Computes the offsets for a plot that is `width` units wide, with `across` and `upwards` as
    /// its axes.
    pub(super) fn new(plot: &Plot, width: i32, across: impl Fn(f64) -> i32, upwards: impl Fn(f64) -> i32) -> Self {
        let mut columns: BTreeMap<i32, Vec<Member>> = BTreeMap::new();
        for series in &plot.series {
            let first = first_series_of_name(plot, series);
            for point in &series.points {
                columns.entry(across(point.x)).or_default().push(Member::new(point, first, &upwards));
            }
        }
        let mut offsets = Self { shifts: BTreeMap::new(), columns: columns.keys().copied().zip(0..).collect() };
        for (x, members) in columns {
            let room = offsets.room(x, width);
            for group in groups(members) {
                offsets.separate(plot, x, &group, room);
            }
        }
        offsets
    }

    /// Returns the width available to the marks of a column.
    fn room(&self, x: i32, width: i32) -> i32 {
        let left = self.columns.range(..x).next_back().map(|(left, _)| x - left);
        let right = self.columns.range(x + 1..).next().map(|(right, _)| right - x);
        let gap = left.into_iter().chain(right).min().unwrap_or(width / 3).min(width / 3);
        let edge = x.min(width - x) + DOT_EXTENT;
        (gap * MAX_SHARE / 10).min(2 * edge)
    }

    fn separate(&mut self, plot: &Plot, x: i32, group: &[Member], room: i32) {
        let mut series_indices: Vec<usize> = group.iter().map(|member| member.series).collect();
        series_indices.sort_unstable();
        series_indices.dedup();
        // A mark on a line is not moved.
        series_indices.retain(|series| plot.series.get(*series).is_some_and(|series| !series.is_joined));
        let has_ring = group.iter().any(|member| member.mark == Mark::Ring);
        let count = series_indices.len() as i32;
        let step = (if has_ring { RING_STEP } else { DOT_STEP }).min(room / count.max(1));
        for Member { y, series, .. } in group {
            let rank = series_indices.iter().position(|other| other == series).map(|rank| rank as i32);
            let shift = rank.map_or(0, |rank| step * (2 * rank - (count - 1)) / 2);
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
    pub(super) fn size(&self) -> i32 {
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

/// Groups marks that overlap vertically, from top to bottom.
fn groups(mut members: Vec<Member>) -> Vec<Vec<Member>> {
    members.sort_by_key(|member| (member.top, member.series));
    let mut groups: Vec<Vec<Member>> = Vec::new();
    let mut bottom = i32::MIN;
    for member in members {
        let (is_apart, below) = (member.top >= bottom, member.bottom);
        match groups.last_mut().filter(|_| !is_apart) {
            Some(group) => group.push(member),
            None => groups.push(vec![member]),
        }
        bottom = bottom.max(below);
    }
    groups
}

/// Returns the first series of the same name; they count as one.
fn first_series_of_name(plot: &Plot, series: &Series) -> usize {
    plot.series.iter().position(|other| other.name == series.name).unwrap_or_default()
}

/// Returns the preferred width of the widest group of overlapping marks, in pixels. Marks with
/// ranges count as overlapping in their whole column.
pub(super) fn widest(plot: &Plot) -> i32 {
    let points = || plot.series.iter().flat_map(|series| &series.points);
    let has_ranges = points().any(|point| point.range.or(point.interval).is_some());
    let mut series_at: BTreeMap<[u64; 2], BTreeSet<usize>> = BTreeMap::new();
    for series in plot.series.iter().filter(|series| !series.is_joined) {
        let first = first_series_of_name(plot, series);
        for point in &series.points {
            let y = if has_ranges { 0 } else { point.y.to_bits() };
            series_at.entry([point.x.to_bits(), y]).or_default().insert(first);
        }
    }
    let step = if points().any(|point| point.mark == Mark::Ring) { RING_STEP } else { DOT_STEP };
    series_at.values().map(|series_indices| series_indices.len() as i32).max().unwrap_or_default() * step / UNIT
}

#[cfg(test)]
mod tests {
    use super::MarkOffsets;
    use crate::plot::{Plot, Point, Series};

    fn shifts(plot: &Plot, width: i32) -> Vec<i32> {
        let place = |point: &Point| (point.x as i32, point.y as i32);
        let offsets = MarkOffsets::new(plot, width, |x| x as i32, |y| y as i32);
        let points = plot.series.iter().flat_map(|series| series.points.iter().map(move |point| (series, point)));
        points.map(|(series, point)| offsets.shift(plot, series, place(point))).collect()
    }

    fn plot(names: &str) -> Plot {
        let series = |name: char| Series::new(name).points([Point::new(1000.0, 500.0), Point::new(1000.0, 900.0)]);
        names.chars().map(series).fold(Plot::new("p"), Plot::with)
    }

    #[test]
    fn overlapping_marks_are_drawn_side_by_side() {
        assert_eq!(shifts(&plot("a"), 4000), [0, 0]);
        assert_eq!(shifts(&plot("ab"), 4000), [-62, -62, 62, 62]);
        assert_eq!(shifts(&plot("abc"), 4000), [-125, -125, 0, 0, 125, 125]);
    }

    #[test]
    fn series_of_one_name_stay_together() {
        assert_eq!(shifts(&plot("aa"), 4000), [0, 0, 0, 0]);
    }

    #[test]
    fn many_marks_share_the_available_room() {
        let shifts = shifts(&plot("abcdefghijkl"), 4000);
        assert!(shifts.iter().all(|shift| shift.abs() <= 4000 / 3 / 2), "{shifts:?}");
        let mut first: Vec<_> = shifts.iter().step_by(2).collect();
        first.dedup();
        assert_eq!(first.len(), 12, "{shifts:?}");
    }

    /// A mark whose range reaches another mark is moved aside.
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
