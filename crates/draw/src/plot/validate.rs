//! Validates a figure before it is drawn.

use super::ticks::format_number;
use super::{Axis, Figure, Plot, Point, Scale, Series};
use quorate_journal::words::escape_controls;
use thiserror::Error;

/// Why a figure cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlotError {
    #[error("a figure needs at least one plot.")]
    NoPlots,
    #[error("a figure can have at most {max} plots; got {plots}. Split it into several figures.")]
    TooManyPlots { plots: usize, max: usize },
    #[error("a plot can have at most {max} series; '{plot}' has {series}.")]
    TooManySeries { plot: String, series: usize, max: usize },
    #[error("a series can have at most {max} points; '{series}' in '{plot}' has {points}. Aggregate them.")]
    TooManyPoints { plot: String, series: String, points: usize, max: usize },
    /// A value that is infinite or not a number.
    #[error(
        "values must be finite; {value_name} of '{series}' in '{plot}' is {value}. Leave out missing measurements."
    )]
    NotFinite { plot: String, series: String, value_name: &'static str, value: String },
    #[error(
        "a logarithmic axis has no negative values; {value_name} of '{series}' in '{plot}' is {value}. Use a linear axis."
    )]
    Negative { plot: String, series: String, value_name: &'static str, value: String },
    #[error(
        "absolute values must be between 1e-250 and 1e250; {value_name} of '{series}' in '{plot}' is {value}. Use another unit."
    )]
    OutOfRange { plot: String, series: String, value_name: &'static str, value: String },
    #[error("the low end of a range must not exceed the high end; '{series}' in '{plot}' has {low} to {high}.")]
    ReversedRange { plot: String, series: String, low: String, high: String },
    #[error("cannot draw the figure: {0}.")]
    Drawing(String),
}

pub(super) const MAX_PLOTS: usize = 12;
pub(super) const MAX_SERIES: usize = 48;
pub(super) const MAX_POINTS: usize = 20_000;

/// Absolute values far enough from the limits of floating-point numbers to compute with.
const ALLOWED_MAGNITUDES: std::ops::RangeInclusive<f64> = 1e-250..=1e250;

pub(super) fn validate(figure: &Figure) -> Result<(), PlotError> {
    match figure.plots.len() {
        0 => Err(PlotError::NoPlots),
        plots if plots > MAX_PLOTS => Err(PlotError::TooManyPlots { plots, max: MAX_PLOTS }),
        _ => figure.plots.iter().try_for_each(|plot| check_plot(figure, plot)),
    }
}

fn check_plot(figure: &Figure, plot: &Plot) -> Result<(), PlotError> {
    let mut names = [&plot.title, &figure.title, &plot.y.name].into_iter();
    let name = names.find(|name| !name.is_empty()).map_or("the plot".into(), |name| escape_controls(name).into_owned());
    if plot.series.len() > MAX_SERIES {
        return Err(PlotError::TooManySeries { plot: name, series: plot.series.len(), max: MAX_SERIES });
    }
    for series in &plot.series {
        Validator { plot: &name, series: &escape_controls(&series.name), x: &plot.x, y: &plot.y }
            .check_series(series)?;
    }
    for axis in [&plot.x, &plot.y] {
        let validator = Validator { plot: &name, series: &escape_controls(&axis.name), x: &plot.x, y: &plot.y };
        axis.included_values.iter().try_for_each(|value| validator.check_value(axis, "an included value", *value))?;
    }
    Ok(())
}

/// Validates the values of one series, or those that an axis must include.
struct Validator<'a> {
    /// Name of the plot, for errors.
    plot: &'a str,
    /// Name of the series or of the axis, for errors.
    series: &'a str,
    x: &'a Axis,
    y: &'a Axis,
}

impl Validator<'_> {
    fn check_series(&self, series: &Series) -> Result<(), PlotError> {
        let formula_points = series.formula.iter().flat_map(|formula| &formula.points);
        let points = series.points.len() + formula_points.clone().count();
        if points > MAX_POINTS {
            let (plot, series) = (self.plot.to_owned(), self.series.to_owned());
            return Err(PlotError::TooManyPoints { plot, series, points, max: MAX_POINTS });
        }
        for (x, y) in formula_points {
            self.check_value(self.x, "the formula's x", *x)?;
            self.check_value(self.y, "the formula's y", *y)?;
        }
        series.points.iter().try_for_each(|point| self.check_point(point))
    }

    fn check_point(&self, point: &Point) -> Result<(), PlotError> {
        self.check_value(self.x, "a point's x", point.x)?;
        self.check_value(self.y, "a point's y", point.y)?;
        for range in point.range.iter().chain(&point.interval) {
            self.check_value(self.y, "the end of a range", range.low)?;
            self.check_value(self.y, "the end of a range", range.high)?;
            if range.low > range.high {
                let (plot, series) = (self.plot.to_owned(), self.series.to_owned());
                let (low, high) = (format_number(range.low), format_number(range.high));
                return Err(PlotError::ReversedRange { plot, series, low, high });
            }
        }
        Ok(())
    }

    fn check_value(&self, axis: &Axis, value_name: &'static str, value: f64) -> Result<(), PlotError> {
        let (plot, series) = (self.plot.to_owned(), self.series.to_owned());
        if !value.is_finite() {
            return Err(PlotError::NotFinite { plot, series, value_name, value: value.to_string() });
        }
        let is_log = axis.scale == Scale::Log;
        if is_log && value < 0.0 {
            return Err(PlotError::Negative { plot, series, value_name, value: format_number(value) });
        }
        // A logarithmic axis shows zero in a section of its own. A linear axis also allows tiny
        // values, because it needs no ratios.
        let is_within = value == 0.0 || ALLOWED_MAGNITUDES.contains(&value.abs()) || (!is_log && value.abs() < 1.0);
        if is_within {
            return Ok(());
        }
        Err(PlotError::OutOfRange { plot, series, value_name, value: format_number(value) })
    }
}
