//! Whether a figure can be drawn at all. What cannot is told before anything is drawn.

use super::ticks::number;
use super::{Axis, Figure, Plot, Point, Scale, Series};
use quorate_journal::words::clean;
use thiserror::Error;

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlotError {
    #[error("A figure without plots is no picture: add at least one.")]
    NoPlots,
    #[error("A figure of {plots} plots is too large to read: at most {most} fit. Make several figures of them.")]
    TooManyPlots { plots: usize, most: usize },
    #[error("'{plot}' has {series} series, and more than {most} cannot be told apart: show fewer of them.")]
    TooManySeries { plot: String, series: usize, most: usize },
    #[error("'{series}' in '{plot}' has {points} points, and more than {most} do not fit into a picture: sum them up.")]
    TooManyPoints { plot: String, series: String, points: usize, most: usize },
    /// It has no place.
    #[error(
        "'{series}' in '{plot}' has {value} as {what}, which has no place on an axis: leave out what was not measured."
    )]
    NoNumber { plot: String, series: String, what: &'static str, value: String },
    #[error("'{series}' in '{plot}' has {value} as {what}, and a log axis ends at zero: use a linear axis.")]
    BelowZero { plot: String, series: String, what: &'static str, value: String },
    #[error("'{series}' in '{plot}' has {value} as {what}, which is beyond all measure: use a larger or smaller unit.")]
    BeyondMeasure { plot: String, series: String, what: &'static str, value: String },
    #[error("'{series}' in '{plot}' has a range from {low} up to {high}: exchange its ends.")]
    UpsideDown { plot: String, series: String, low: String, high: String },
    #[error("The picture could not be drawn: {0}.")]
    Drawing(String),
}

pub(super) const MOST_PLOTS: usize = 12;
pub(super) const MOST_SERIES: usize = 48;
pub(super) const MOST_POINTS: usize = 20_000;

/// Within these, differences and ratios are numbers too, and so are the ends of an axis with room around them.
const REACH: std::ops::RangeInclusive<f64> = 1e-250..=1e250;

pub(super) fn check(figure: &Figure) -> Result<(), PlotError> {
    match figure.plots.len() {
        0 => Err(PlotError::NoPlots),
        plots if plots > MOST_PLOTS => Err(PlotError::TooManyPlots { plots, most: MOST_PLOTS }),
        _ => figure.plots.iter().try_for_each(|plot| check_plot(figure, plot)),
    }
}

fn check_plot(figure: &Figure, plot: &Plot) -> Result<(), PlotError> {
    let mut names = [&plot.title, &figure.title, &plot.y.name].into_iter();
    let name = names.find(|name| !name.is_empty()).map_or("the plot".into(), |name| clean(name).into_owned());
    if plot.series.len() > MOST_SERIES {
        return Err(PlotError::TooManySeries { plot: name, series: plot.series.len(), most: MOST_SERIES });
    }
    for series in &plot.series {
        Judge { plot: &name, series: &clean(&series.name), x: &plot.x, y: &plot.y }.series(series)?;
    }
    for axis in [&plot.x, &plot.y] {
        let judge = Judge { plot: &name, series: &clean(&axis.name), x: &plot.x, y: &plot.y };
        axis.shown.iter().try_for_each(|value| judge.value(axis, "a value to be shown", *value))?;
    }
    Ok(())
}

/// Knows whose values it judges.
struct Judge<'a> {
    plot: &'a str,
    series: &'a str,
    x: &'a Axis,
    y: &'a Axis,
}

impl Judge<'_> {
    fn series(&self, series: &Series) -> Result<(), PlotError> {
        let line = series.formula.iter().flat_map(|formula| &formula.points);
        let points = series.points.len() + line.clone().count();
        if points > MOST_POINTS {
            let (plot, series) = (self.plot.to_owned(), self.series.to_owned());
            return Err(PlotError::TooManyPoints { plot, series, points, most: MOST_POINTS });
        }
        for (x, y) in line {
            self.value(self.x, "x of its formula", *x)?;
            self.value(self.y, "y of its formula", *y)?;
        }
        series.points.iter().try_for_each(|point| self.point(point))
    }

    fn point(&self, point: &Point) -> Result<(), PlotError> {
        self.value(self.x, "x of a point", point.x)?;
        self.value(self.y, "y of a point", point.y)?;
        for range in point.reach.iter().chain(&point.interval) {
            self.value(self.y, "the end of a range", range.low)?;
            self.value(self.y, "the end of a range", range.high)?;
            if range.low > range.high {
                let (plot, series) = (self.plot.to_owned(), self.series.to_owned());
                let (low, high) = (number(range.low), number(range.high));
                return Err(PlotError::UpsideDown { plot, series, low, high });
            }
        }
        Ok(())
    }

    fn value(&self, axis: &Axis, what: &'static str, value: f64) -> Result<(), PlotError> {
        let (plot, series) = (self.plot.to_owned(), self.series.to_owned());
        if !value.is_finite() {
            return Err(PlotError::NoNumber { plot, series, what, value: value.to_string() });
        }
        let is_log = axis.scale == Scale::Log;
        if is_log && value < 0.0 {
            return Err(PlotError::BelowZero { plot, series, what, value: number(value) });
        }
        let is_within = value == 0.0 || REACH.contains(&value.abs()) || (!is_log && value.abs() < 1.0);
        if is_within {
            return Ok(());
        }
        Err(PlotError::BeyondMeasure { plot, series, what, value: number(value) })
    }
}
