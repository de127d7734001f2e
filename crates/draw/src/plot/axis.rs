//! An axis with its value range, its ticks, and the mapping of values to positions.

use super::ticks::{self, Tick, format_number};
use super::{Axis, Plot, Scale, Ticks};
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use std::ops;

/// The direction of an axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Horizontal,
    Vertical,
}

/// An axis with its value range.
#[derive(Clone, Debug)]
pub(super) struct ScaledAxis {
    scale: Scale,
    low: f64,
    high: f64,
    /// Whether a log axis has a separate place for zero.
    has_zero: bool,
    pub(super) ticks: Vec<(f64, String)>,
}

/// Part of a log axis reserved for zero, if zero is among its values.
const ZERO_SECTION: f64 = 0.1;
/// Position of zero within that part.
const ZERO_POSITION: f64 = 0.25;
/// Position, within that part, of the gap between zero and the other values.
const ZERO_GAP_POSITION: f64 = 0.75;
/// Minimum and maximum margin between the outermost values and the ends of an axis, relative to the
/// distance between those values.
const MIN_MARGIN: f64 = 0.05;
const MAX_MARGIN: f64 = 0.15;
/// Relative width below which a range counts as a single value, because floating-point numbers
/// hardly distinguish its ends.
const MIN_RELATIVE_WIDTH: f64 = 1e-9;
/// Maximum number of different values that all get a tick.
const MAX_POINTS_WITH_TICKS: usize = 12;

impl ScaledAxis {
    /// Computes an axis of a plot, `length` pixels long. Its ends have margins of about `margin`
    /// pixels, within limits relative to the length.
    pub(super) fn new(plot: &Plot, direction: Direction, length: i32, margin: i32) -> Self {
        let axis = if direction == Direction::Horizontal { &plot.x } else { &plot.y };
        let values = axis_values(plot, axis, direction);
        let has_zero = axis.scale == Scale::Log && values.contains(&0.0);
        let margin = (f64::from(margin) / f64::from(length.max(1))).clamp(MIN_MARGIN, MAX_MARGIN);
        let (low, high) = match axis.scale {
            Scale::Linear => linear_ends(&values, direction, margin),
            Scale::Log => log_ends(&values, margin),
        };
        let mut scaled_axis = Self { scale: axis.scale, low, high, has_zero, ticks: Vec::new() };
        scaled_axis.ticks = scaled_axis.find_ticks(
            axis,
            tick_values(plot, axis, direction),
            &values,
            max_ticks_for(axis.scale, direction, length),
        );
        scaled_axis
    }

    fn find_ticks(&self, axis: &Axis, tick_values: Vec<f64>, values: &[f64], max_ticks: usize) -> Vec<(f64, String)> {
        if !axis.value_names.is_empty() {
            return axis.value_names.clone();
        }
        let has_ticks_at_points = axis.ticks == Ticks::AtPoints && tick_values.len() <= MAX_POINTS_WITH_TICKS;
        let tick_values =
            tick_values.into_iter().filter(|_| has_ticks_at_points).map(|value| (value, format_number(value)));
        let mut ticks: Vec<_> = tick_values.collect();
        // One tick shows no scale. It is enough only if there is just one value.
        if ticks.len() > 1 || (ticks.len() == 1 && values.iter().all(|value| values.first() == Some(value))) {
            return ticks;
        }
        // Whole values get ticks at whole numbers only, unless the axis is too narrow for those.
        let min_width = match self.scale {
            Scale::Linear => 1.0,
            Scale::Log => 2.0,
        };
        let only_whole = self.high - self.low >= min_width && values.iter().all(|value| value.fract() == 0.0);
        let round_ticks = match self.scale {
            Scale::Linear => ticks::linear(self.low, self.high, max_ticks, only_whole),
            Scale::Log => ticks::log(self.low, self.high, max_ticks, only_whole),
        };
        let zero = self.has_zero.then(|| Tick::from_f64(0.0));
        ticks.extend(zero.into_iter().chain(round_ticks).map(|tick| (tick.value(), tick.text())));
        ticks.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        ticks.dedup_by(|(one, _), (other, _)| one == other);
        ticks
    }

    /// Returns the position of the gap between zero and the rest, from 0 at the start of the axis
    /// to 1 at its end, if zero has a separate place.
    pub(super) fn zero_gap(&self) -> Option<f64> {
        self.has_zero.then_some(ZERO_SECTION * ZERO_GAP_POSITION)
    }

    /// Returns the position of a value, from 0 at the start of the axis to 1 at its end.
    fn fraction(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log if value <= 0.0 => ZERO_POSITION * ZERO_SECTION,
            Scale::Log => {
                let log_fraction = (value.log10() - self.low.log10()) / (self.high.log10() - self.low.log10());
                if self.has_zero { ZERO_SECTION + log_fraction * (1.0 - ZERO_SECTION) } else { log_fraction }
            }
        }
    }
}

impl Ranged for ScaledAxis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        from + (f64::from(to - from) * self.fraction(*value)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks.iter().map(|(value, _)| *value).collect()
    }

    fn range(&self) -> ops::Range<f64> {
        self.low..self.high
    }
}

/// Returns the maximum number of round numbers with ticks on an axis of this length in pixels.
fn max_ticks_for(scale: Scale, direction: Direction, length: i32) -> usize {
    // Each tick has 64, 40 or 34 pixels for its label; even a short axis gets two ticks.
    let max_ticks = match (direction, scale) {
        (Direction::Horizontal, _) => (length / 64).clamp(2, 12),
        (Direction::Vertical, Scale::Linear) => (length / 40).clamp(2, 7),
        (Direction::Vertical, Scale::Log) => (length / 34).clamp(2, 12),
    };
    max_ticks.unsigned_abs() as usize
}

fn axis_values(plot: &Plot, axis: &Axis, direction: Direction) -> Vec<f64> {
    let mut values = axis.included_values.clone();
    for series in &plot.series {
        let line = series.formula.iter().flat_map(|formula| &formula.points);
        match direction {
            Direction::Horizontal => {
                values.extend(line.map(|(x, _)| x));
                values.extend(series.points.iter().map(|point| point.x));
            }
            Direction::Vertical => {
                values.extend(line.map(|(_, y)| y));
                let ranges = |point: &super::Point| [point.range, point.interval];
                let ends = series.points.iter().flat_map(ranges).flatten();
                values.extend(ends.flat_map(|range| [range.low, range.high]));
                values.extend(series.points.iter().map(|point| point.y));
            }
        }
    }
    values
}

/// Returns the values of points and those that the axis must include, in ascending order.
fn tick_values(plot: &Plot, axis: &Axis, direction: Direction) -> Vec<f64> {
    let points = plot.series.iter().flat_map(|series| &series.points);
    let points = points.map(|point| if direction == Direction::Horizontal { point.x } else { point.y });
    let mut tick_values: Vec<_> = points.chain(axis.included_values.iter().copied()).collect();
    tick_values.sort_by(f64::total_cmp);
    tick_values.dedup();
    tick_values
}

fn lowest_and_highest(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.map(|value| (value, value)).reduce(|(low, high), (value, _)| (low.min(value), high.max(value)))
}

fn linear_ends(values: &[f64], direction: Direction, margin: f64) -> (f64, f64) {
    let (mut low, mut high) = lowest_and_highest(values.iter().copied()).unwrap_or((0.0, 1.0));
    let magnitude = low.abs().max(high.abs());
    if high - low <= MIN_RELATIVE_WIDTH * magnitude || magnitude == 0.0 {
        // A single value is in the middle of a range of its own magnitude; zero is at the start of
        // its range.
        let half_range = if magnitude == 0.0 { 1.0 } else { magnitude / 2.0 };
        (low, high) = if low == 0.0 { (0.0, half_range) } else { (low - half_range, high + half_range) };
    }
    let margin = margin * (high - low);
    // A vertical axis has no margin at zero, so that heights can be compared.
    let starts_at_zero = low == 0.0 && direction == Direction::Vertical;
    let ends_at_zero = high == 0.0 && direction == Direction::Vertical;
    (if starts_at_zero { low } else { low - margin }, if ends_at_zero { high } else { high + margin })
}

fn log_ends(values: &[f64], margin: f64) -> (f64, f64) {
    let (low, high) = lowest_and_highest(values.iter().copied().filter(|value| *value > 0.0)).unwrap_or((1.0, 10.0));
    if high / low <= 1.0 + MIN_RELATIVE_WIDTH {
        return (low / 2.0, high * 2.0);
    }
    let margin = 10_f64.powf(margin * (high.log10() - low.log10()));
    (low / margin, high * margin)
}

#[cfg(test)]
mod tests {
    use super::{Direction, ScaledAxis};
    use crate::plot::{Axis, Plot, Point, Scale, Series};
    use plotters::coord::ranged1d::Ranged;

    fn scaled_axis(scale: Scale, values: &[f64]) -> ScaledAxis {
        let axis = Axis { scale, ..Axis::linear("") };
        let series = Series::new("s").points(values.iter().map(|value| Point::new(1.0, *value)));
        let (length, margin) = (300, 0);
        ScaledAxis::new(&Plot::new("p").y(axis).with_series(series), Direction::Vertical, length, margin)
    }

    /// No larger value is below a smaller one, all values and ticks are within the axis, and there
    /// is at least one tick. Positions count downwards: from 4000 at the start of the axis to 0 at
    /// its end.
    #[test]
    fn every_value_has_a_position_on_the_axis() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in [
                &[][..],
                &[0.0],
                &[7.0],
                &[1e250],
                &[1e-250, 1e250],
                &[0.0, 1e-250],
                &[0.0, 0.5, 1e250],
                &[1.0, 1.0 + 1e-12],
                &[2.0, 6.0, 14.0],
            ] {
                let scaled_axis = scaled_axis(scale, values);
                let positions: Vec<_> = values.iter().map(|value| scaled_axis.map(value, (4000, 0))).collect();
                assert!(
                    positions.iter().all(|position| (0..=4000).contains(position)),
                    "{scale:?} {values:?}: {positions:?}"
                );
                assert!(positions.windows(2).all(|pair| pair[0] >= pair[1]), "{scale:?} {values:?}: {positions:?}");
                assert!(!scaled_axis.ticks.is_empty(), "{scale:?} {values:?}");
                let ticks: Vec<_> =
                    scaled_axis.ticks.iter().map(|(value, _)| scaled_axis.map(value, (4000, 0))).collect();
                assert!(ticks.iter().all(|tick| (0..=4000).contains(tick)), "{scale:?} {values:?}: {scaled_axis:?}");
            }
        }
    }

    #[test]
    fn zero_has_a_separate_place_on_a_log_axis() {
        let scaled_axis = scaled_axis(Scale::Log, &[0.0, 1.0, 100.0]);
        // Positions on a vertical axis count downwards: from 1000 at its start to 0 at its end.
        let [zero, one, hundred] = [0.0, 1.0, 100.0].map(|value| scaled_axis.map(&value, (1000, 0)));
        assert!(zero < 1000 && zero - one > 60 && one - hundred > 700, "{zero} {one} {hundred}");
        assert_eq!(scaled_axis.ticks.first().map(|(_, text)| text.as_str()), Some("0"));
    }

    #[test]
    fn few_points_have_a_tick_each_and_many_have_ticks_at_round_numbers() {
        let plot = |xs: std::ops::Range<u32>| {
            let points = xs.map(|x| Point::new(f64::from(x), 1.0));
            Plot::new("p").x(Axis::log("nodes").at_points()).with_series(Series::new("s").points(points))
        };
        let texts = |plot: &Plot| {
            let scaled_axis = ScaledAxis::new(plot, Direction::Horizontal, 520, 0);
            scaled_axis.ticks.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(texts(&plot(3..7)), "3 4 5 6");
        assert_eq!(texts(&plot(3..5).x(Axis::log("nodes").at_points().including(8.0).including(2.0))), "2 3 4 8");
        assert_eq!(texts(&plot(2..40)), "2 5 10 20");
        assert_eq!(texts(&plot(7..8)), "7");
        let named = Axis::linear("load").naming(3.0, "idle").naming(5.0, "busy");
        assert_eq!(texts(&plot(3..7).x(named)), "idle busy");
        let formula = Series::new("s").formula("f", [(4.0, 1.0), (14.0, 1.0)]);
        assert_eq!(texts(&plot(7..8).with_series(formula)), "4 6 7 8 10 12 14");
    }
}
