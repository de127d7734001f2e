//! Elements with their points, which the plotters crate draws. Its units are tenths of a pixel.
//! Overlapping marks are shifted apart sideways, each with its error bar and range.

use super::canvas::{Canvas, MarkerStyle, Pen, TextRun};
use plotters::element::{Drawable, PointCollection};
use plotters_backend::{BackendCoord, DrawingErrorKind};
use std::convert::Infallible;

/// An element that can be drawn once its points on the canvas are known.
pub(super) trait Draw {
    fn draw(&self, points: &[(i32, i32)], canvas: &mut Canvas);
}

/// An element with its points, in chart or canvas coordinates.
pub(super) struct Placed<C, E> {
    pub(super) points: Vec<C>,
    pub(super) element: E,
}

impl<'a, C, E> PointCollection<'a, C> for &'a Placed<C, E> {
    type Point = &'a C;
    type IntoIter = &'a [C];

    fn point_iter(self) -> &'a [C] {
        &self.points
    }
}

impl<C, E: Draw> Drawable<Canvas> for Placed<C, E> {
    fn draw<A: Iterator<Item = BackendCoord>>(
        &self,
        points: A,
        canvas: &mut Canvas,
        _size: (u32, u32),
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        self.element.draw(&points.collect::<Vec<_>>(), canvas);
        Ok(())
    }
}

/// A line through its points.
pub(super) struct Polyline {
    pub(super) pen: Pen,
    /// Shift to the right, in plotters units.
    pub(super) shift: i32,
    pub(super) tooltip: String,
}

impl Draw for Polyline {
    fn draw(&self, points: &[(i32, i32)], canvas: &mut Canvas) {
        let points: Vec<_> = points.iter().map(|(x, y)| (x + self.shift, *y)).collect();
        canvas.line(&points, &self.pen, &self.tooltip);
    }
}

/// An error bar from its first point to its last, with a short line across each end.
pub(super) struct ErrorBar {
    pub(super) pen: Pen,
    /// Shift to the right, in plotters units.
    pub(super) shift: i32,
    /// Half length of the lines across the ends, in plotters units.
    pub(super) half_length: i32,
}

impl Draw for ErrorBar {
    fn draw(&self, points: &[(i32, i32)], canvas: &mut Canvas) {
        let [(x, from), .., (_, to)] = *points else { return };
        let x = x + self.shift;
        let no_tooltip = "";
        canvas.line(&[(x, from), (x, to)], &self.pen, no_tooltip);
        for y in [from, to] {
            canvas.line(&[(x - self.half_length, y), (x + self.half_length, y)], &self.pen, no_tooltip);
        }
    }
}

/// A mark at each of its points.
pub(super) struct Marker {
    pub(super) style: MarkerStyle,
    /// Shift to the right, in plotters units.
    pub(super) shift: i32,
    pub(super) tooltip: String,
}

impl Draw for Marker {
    fn draw(&self, points: &[(i32, i32)], canvas: &mut Canvas) {
        for (x, y) in points {
            canvas.marker((x + self.shift, *y), &self.style, &self.tooltip);
        }
    }
}

impl Draw for TextRun {
    fn draw(&self, points: &[(i32, i32)], canvas: &mut Canvas) {
        for point in points {
            canvas.text_run(*point, self);
        }
    }
}
