//! Plots of measurements, with the formulas they are compared with.
//!
//! A [`Plot`] describes contents, not layout: named series of points, the formulas they are
//! compared with, two axes. A [`Figure`] combines several plots, with one legend. Series of the
//! same name have the same colour and mark in every plot of a figure. The marks of up to twelve
//! series also differ in shape, so that they can be distinguished without colours.
//!
//! ```
//! use quorate_draw::plot::{Axis, Plot, Point, Series};
//! use quorate_draw::style::Theme;
//!
//! let nodes = [2.0, 4.0, 8.0];
//! let plot = Plot::new("Messages per entry")
//!     .x(Axis::log("nodes").at_points())
//!     .y(Axis::log("messages"))
//!     .with_series(
//!         Series::new("ricart-agrawala")
//!             .points(nodes.map(|n| Point::new(n, 2.0 * (n - 1.0))))
//!             .formula("2(n−1)", nodes.map(|n| (n, 2.0 * (n - 1.0)))),
//!     );
//! assert!(plot.svg(Theme::Auto)?.contains("2(n−1)"));
//! # Ok::<(), quorate_draw::plot::PlotError>(())
//! ```
//!
//! The plotters crate provides drawing areas, charts and grids. It draws on an SVG canvas of this
//! crate, which writes selectable text, coordinates to a tenth of a pixel, tooltips, and the
//! colours of [`style`](crate::style) for light and dark themes.

mod axis;
mod canvas;
mod element;
mod figure;
mod layout;
mod legend;
mod offsets;
mod panel;
mod series_style;
mod shape;
#[cfg(test)]
mod tests;
mod text;
mod ticks;
mod validate;

pub use validate::PlotError;

use crate::style::Theme;

/// Plots that belong together, with one legend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Title; may be empty.
    pub title: String,
    /// How the data was measured; may be empty.
    pub subtitle: String,
    pub key: Key,
    pub plots: Vec<Plot>,
}

/// Legend texts for the kinds of marks and lines. The legend leaves out a kind that does not occur
/// or whose text is empty, and a text that would be the only one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub solid: String,
    pub ring: String,
    pub formula: String,
    /// The line through all measurements at a point, such as from minimum to maximum.
    pub range: String,
    /// The error bar, such as a 95 % confidence interval.
    pub interval: String,
}

impl Default for Key {
    fn default() -> Self {
        Self {
            solid: "measured".into(),
            ring: "measured elsewhere".into(),
            formula: "formula".into(),
            range: "minimum to maximum".into(),
            interval: "95 % confidence interval".into(),
        }
    }
}

/// Series over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Title; may be empty.
    pub title: String,
    /// How the data was measured, if the plot is drawn alone; may be empty.
    pub subtitle: String,
    pub x: Axis,
    /// Vertical axis. Its name is below the title.
    pub y: Axis,
    pub series: Vec<Series>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub name: String,
    /// Unit of the values; may be empty.
    pub unit: String,
    pub scale: Scale,
    pub ticks: Ticks,
    /// Values that the axis includes even if no point has them.
    pub included_values: Vec<f64>,
    /// Values with names instead of numbers. If there are any, only these values have ticks.
    pub value_names: Vec<(f64, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal distances are equal differences.
    Linear,
    /// Equal distances are equal ratios. Zero has a separate place; negative values are not
    /// allowed.
    Log,
}

/// Where an axis has ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ticks {
    /// At round numbers.
    Round,
    /// At all points and `included_values` if these are few, else at round numbers.
    AtPoints,
}

/// Measurements of one thing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Series of the same name in several plots of a figure are about the same thing.
    pub name: String,
    pub points: Vec<Point>,
    /// Whether a line joins the points, in the order given.
    pub is_joined: bool,
    pub formula: Option<Formula>,
}

/// A computed line.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// The formula as text, in the notation of the literature; may be empty.
    pub text: String,
    /// Points of the line, from left to right.
    pub points: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub mark: PointMark,
    /// A range of the measurements at this point, if it is shown; [`Key::range`] names the range.
    pub range: Option<Range>,
    /// Confidence interval, if it is shown; [`Key::interval`] names its level.
    pub interval: Option<Range>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointMark {
    Solid,
    Ring,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
}

impl Figure {
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    #[must_use]
    pub fn subtitle(mut self, subtitle: impl Into<String>) -> Self {
        self.subtitle = subtitle.into();
        self
    }

    #[must_use]
    pub fn key(mut self, key: Key) -> Self {
        self.key = key;
        self
    }

    #[must_use]
    pub fn with_plot(mut self, plot: Plot) -> Self {
        self.plots.push(plot);
        self
    }

    /// Returns the figure as an SVG document. Equal figures give equal bytes. Fails if the figure
    /// has too much data or invalid values.
    pub fn svg(&self, theme: Theme) -> Result<String, PlotError> {
        figure::draw(self, theme)
    }
}

impl Plot {
    pub fn new(title: impl Into<String>) -> Self {
        let (title, subtitle) = (title.into(), String::new());
        Self { title, subtitle, x: Axis::linear(""), y: Axis::linear(""), series: Vec::new() }
    }

    #[must_use]
    pub fn subtitle(mut self, subtitle: impl Into<String>) -> Self {
        self.subtitle = subtitle.into();
        self
    }

    #[must_use]
    pub fn x(mut self, axis: Axis) -> Self {
        self.x = axis;
        self
    }

    #[must_use]
    pub fn y(mut self, axis: Axis) -> Self {
        self.y = axis;
        self
    }

    #[must_use]
    pub fn with_series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Returns the plot alone as an SVG document, like [`Figure::svg`].
    pub fn svg(&self, theme: Theme) -> Result<String, PlotError> {
        let mut plot = self.clone();
        let (title, subtitle) = (std::mem::take(&mut plot.title), std::mem::take(&mut plot.subtitle));
        Figure::new(title).subtitle(subtitle).with_plot(plot).svg(theme)
    }
}

impl Axis {
    /// Creates an axis with a linear scale.
    pub fn linear(name: impl Into<String>) -> Self {
        let (name, unit) = (name.into(), String::new());
        Self {
            name,
            unit,
            scale: Scale::Linear,
            ticks: Ticks::Round,
            included_values: Vec::new(),
            value_names: Vec::new(),
        }
    }

    /// Creates an axis with a logarithmic scale.
    pub fn log(name: impl Into<String>) -> Self {
        Self { scale: Scale::Log, ..Self::linear(name) }
    }

    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = unit.into();
        self
    }

    /// Puts ticks at the points, if these are few, instead of at round numbers.
    #[must_use]
    pub fn at_points(mut self) -> Self {
        self.ticks = Ticks::AtPoints;
        self
    }

    /// Makes the axis include this value.
    #[must_use]
    pub fn including(mut self, value: f64) -> Self {
        self.included_values.push(value);
        self
    }

    /// Shows a name instead of a number at this value.
    #[must_use]
    pub fn naming(mut self, value: f64, name: impl Into<String>) -> Self {
        self.value_names.push((value, name.into()));
        self.including(value)
    }
}

impl Series {
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    #[must_use]
    pub fn points(mut self, points: impl IntoIterator<Item = Point>) -> Self {
        self.points.extend(points);
        self
    }

    #[must_use]
    pub fn joined(mut self) -> Self {
        self.is_joined = true;
        self
    }

    #[must_use]
    pub fn formula(mut self, text: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.formula = Some(Formula { text: text.into(), points: points.into_iter().collect() });
        self
    }
}

impl Point {
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, mark: PointMark::Solid, range: None, interval: None }
    }

    #[must_use]
    pub fn ring(self) -> Self {
        Self { mark: PointMark::Ring, ..self }
    }

    /// Adds the range of all measurements at this point, such as minimum to maximum.
    #[must_use]
    pub fn range(self, low: f64, high: f64) -> Self {
        Self { range: Some(Range { low, high }), ..self }
    }

    /// Adds a confidence interval; [`Key::interval`] names its level.
    #[must_use]
    pub fn interval(self, low: f64, high: f64) -> Self {
        Self { interval: Some(Range { low, high }), ..self }
    }
}
