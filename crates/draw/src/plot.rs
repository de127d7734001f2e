//! Plots of what was measured, with the formula behind it.
//!
//! A [`Plot`] says what is shown, never how: points with a name, the formula that they are held against, two axes. A
//! [`Figure`] puts several of them side by side, with one legend for all. Whatever has the same name has the same colour
//! and the same mark in every plot of a figure, and marks differ in shape too, so that they are told apart in grey.
//!
//! ```
//! use quorate_draw::plot::{Axis, Plot, Point, Series};
//! use quorate_draw::style::Theme;
//!
//! let nodes = [2.0, 4.0, 8.0];
//! let plot = Plot::new("Messages an entry")
//!     .x(Axis::log("nodes").at_points())
//!     .y(Axis::log("messages"))
//!     .with(
//!         Series::new("ricart-agrawala")
//!             .points(nodes.map(|n| Point::new(n, 2.0 * (n - 1.0))))
//!             .formula("2(n−1)", nodes.map(|n| (n, 2.0 * (n - 1.0)))),
//!     );
//! assert!(plot.svg(Theme::Auto)?.contains("2(n−1)"));
//! # Ok::<(), quorate_draw::plot::PlotError>(())
//! ```
//!
//! Scales, areas and the order of drawing are those of plotters; what it draws on is a canvas of our own, which writes
//! text as text, tenths of a pixel, names on hover, and the colours of [`style`](crate::style) for light and dark.

mod axis;
mod canvas;
mod cast;
mod crowd;
mod figure;
mod layout;
mod legend;
mod panel;
mod place;
mod shape;
mod sound;
#[cfg(test)]
mod tests;
mod text;
mod ticks;

pub use sound::PlotError;

use crate::style::Theme;

/// Plots that belong together, with one legend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// What it is about; may be empty.
    pub title: String,
    /// What a reader must know of how it was measured; may be empty.
    pub subtitle: String,
    pub key: Key,
    pub plots: Vec<Plot>,
}

/// What the kinds of marks and lines mean. Only those that occur are shown, and of them only those that have words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub solid: String,
    pub ring: String,
    pub formula: String,
    /// The line through all that was measured at a point, such as from the least to the most.
    pub reach: String,
    /// The bar with ends, such as where the mean is with 95 %.
    pub interval: String,
}

impl Default for Key {
    fn default() -> Self {
        Self {
            solid: "measured".into(),
            ring: "measured elsewhere".into(),
            formula: "formula".into(),
            reach: "from the least to the most".into(),
            interval: "where the mean is, with 95 %".into(),
        }
    }
}

/// Some series over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// What it shows; may be empty.
    pub title: String,
    /// What a reader must know of how it was measured, where the plot stands alone; may be empty.
    pub subtitle: String,
    pub x: Axis,
    /// Upwards. Its name stands below the title.
    pub y: Axis,
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub name: String,
    /// In which unit; may be empty.
    pub unit: String,
    pub scale: Scale,
    pub ticks: Ticks,
    /// Values that are in sight even if nothing was measured there.
    pub shown: Vec<f64>,
    /// Values that have names instead of numbers. Where there are any, only these have ticks.
    pub names: Vec<(f64, String)>,
}

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long. Zero has a place of its own, apart from the rest; less than zero has none.
    Log,
}

/// Where an axis has ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ticks {
    Round,
    /// Where points are and at all values to be in sight, if these places are few, else at round numbers.
    AtPoints,
}

/// What was measured of one thing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// What it is called. Series of one name in several plots of a figure are about the same thing.
    pub name: String,
    pub points: Vec<Point>,
    /// Whether the points are joined by a line, in the order given.
    pub is_joined: bool,
    pub formula: Option<Formula>,
}

/// A line that somebody worked out.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// As the book writes it; may be empty.
    pub text: String,
    /// What it comes to, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// Something that was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub mark: Mark,
    pub reach: Option<Range>,
    /// Where it is with the confidence that the key tells of.
    pub interval: Option<Range>,
}

/// How a point is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Solid,
    Ring,
}

/// From one value up to another.
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
    pub fn with(mut self, plot: Plot) -> Self {
        self.plots.push(plot);
        self
    }

    /// The picture. The same figure gives the same bytes.
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
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    pub fn svg(&self, theme: Theme) -> Result<String, PlotError> {
        let mut plot = self.clone();
        let (title, subtitle) = (std::mem::take(&mut plot.title), std::mem::take(&mut plot.subtitle));
        Figure::new(title).subtitle(subtitle).with(plot).svg(theme)
    }
}

impl Axis {
    /// Equal differences are equally long.
    pub fn linear(name: impl Into<String>) -> Self {
        let (name, unit) = (name.into(), String::new());
        Self { name, unit, scale: Scale::Linear, ticks: Ticks::Round, shown: Vec::new(), names: Vec::new() }
    }

    /// Equal ratios are equally long.
    pub fn log(name: impl Into<String>) -> Self {
        Self { scale: Scale::Log, ..Self::linear(name) }
    }

    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = unit.into();
        self
    }

    #[must_use]
    pub fn at_points(mut self) -> Self {
        self.ticks = Ticks::AtPoints;
        self
    }

    #[must_use]
    pub fn showing(mut self, value: f64) -> Self {
        self.shown.push(value);
        self
    }

    #[must_use]
    pub fn naming(mut self, value: f64, name: impl Into<String>) -> Self {
        self.names.push((value, name.into()));
        self.showing(value)
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
        Self { x, y, mark: Mark::Solid, reach: None, interval: None }
    }

    #[must_use]
    pub fn ring(self) -> Self {
        Self { mark: Mark::Ring, ..self }
    }

    #[must_use]
    pub fn reach(self, low: f64, high: f64) -> Self {
        Self { reach: Some(Range { low, high }), ..self }
    }

    /// Within these with the confidence that the key tells of.
    #[must_use]
    pub fn interval(self, low: f64, high: f64) -> Self {
        Self { interval: Some(Range { low, high }), ..self }
    }
}
