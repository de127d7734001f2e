//! A comparison as plots, in the form of data. The program that draws it chooses colours, marks and
//! positions.

/// Related plots with one legend.
pub struct Chart {
    pub title: &'static str,
    pub subtitle: String,
    pub legend: Legend,
    pub plots: Vec<Plot>,
}

/// The meaning of marks and lines. Only those that occur are shown.
pub struct Legend {
    pub measured: &'static str,
    pub expected: &'static str,
    pub sample_range: &'static str,
}

pub struct Plot {
    pub title: String,
    pub horizontal_axis: HorizontalAxis,
    pub vertical_axis: VerticalAxis,
    pub series: Vec<Series>,
}

/// A horizontal axis. It shows all of these values, measured or not.
pub enum HorizontalAxis {
    /// The sizes of groups.
    Sizes(Vec<usize>),
    /// Names, at 0, 1, 2 and so on.
    Names(Vec<String>),
}

#[derive(Clone, Default)]
pub struct VerticalAxis {
    pub name: String,
    /// May be empty.
    pub unit: &'static str,
    pub is_logarithmic: bool,
    /// Values that the axis includes even if nothing was measured there.
    pub included_values: Vec<f64>,
}

impl VerticalAxis {
    pub(crate) fn linear(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    pub(crate) fn log(name: impl Into<String>) -> Self {
        Self { is_logarithmic: true, ..Self::linear(name) }
    }
}

/// The measurements of one algorithm.
pub struct Series {
    pub name: String,
    pub dots: Vec<Dot>,
    /// Whether a line joins the dots.
    pub is_joined: bool,
    pub expected: Option<ExpectedCurve>,
}

/// The expected curve from the literature.
pub struct ExpectedCurve {
    /// The formula as the literature writes it; may be empty.
    pub text: String,
    pub points: Vec<(f64, f64)>,
}

/// One measured value.
pub struct Dot {
    pub x: f64,
    pub y: f64,
    /// Whether real processes produced it.
    pub is_real: bool,
    /// The range of samples to show at the dot, such as from the smallest to the largest.
    pub sample_range: Option<(f64, f64)>,
}

impl Dot {
    pub(crate) fn new(x: f64, y: f64) -> Self {
        Self { x, y, is_real: false, sample_range: None }
    }
}
