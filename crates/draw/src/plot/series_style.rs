//! Styles of series: a name has one colour and one shape in all plots of a figure.

use super::shape::Shape;
use super::{Figure, Series};
use crate::style::{Colour, SERIES};

/// The look of a series' marks and lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeriesStyle {
    pub(super) colour: Colour,
    pub(super) shape: Shape,
    /// Whether the lines are dashed. The first series of each colour have solid lines, the next
    /// ones dashed lines, and so on in turn.
    pub(super) is_dashed: bool,
}

/// The names of a figure's series in order of first appearance, which determines their styles.
pub(super) struct SeriesStyles<'a>(Vec<&'a str>);

impl<'a> SeriesStyles<'a> {
    pub(super) fn new(figure: &'a Figure) -> Self {
        let mut names: Vec<&str> = Vec::new();
        for series in figure.plots.iter().flat_map(|plot| &plot.series) {
            if !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        Self(names)
    }

    pub(super) fn names(&self) -> &[&'a str] {
        &self.0
    }

    pub(super) fn style(&self, series: &Series) -> SeriesStyle {
        style(self.0.iter().position(|name| *name == series.name).unwrap_or_default())
    }

    pub(super) fn named_styles(&self) -> impl Iterator<Item = (&'a str, SeriesStyle)> + '_ {
        self.0.iter().enumerate().map(|(index, name)| (*name, style(index)))
    }
}

fn style(index: usize) -> SeriesStyle {
    let (colour, shape) = (SERIES.get(index % SERIES.len()), Shape::ALL.get(index % Shape::ALL.len()));
    SeriesStyle {
        colour: colour.copied().unwrap_or(crate::style::INK),
        shape: shape.copied().unwrap_or(Shape::Circle),
        is_dashed: (index / SERIES.len()) % 2 == 1,
    }
}
