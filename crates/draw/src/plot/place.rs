//! Elements with their points, as plotters draws them.

use super::canvas::{Canvas, Pen, Stamp, Words};
use plotters::element::{Drawable, PointCollection};
use plotters_backend::{BackendCoord, DrawingErrorKind};
use std::convert::Infallible;

/// An element that can be drawn once its points on the canvas are known.
pub(super) trait Ink {
    fn draw(&self, at: &[(i32, i32)], canvas: &mut Canvas);
}

/// An element with its points, in chart or canvas coordinates.
pub(super) struct Placed<C, I> {
    pub(super) at: Vec<C>,
    pub(super) ink: I,
}

impl<'a, C, I> PointCollection<'a, C> for &'a Placed<C, I> {
    type Point = &'a C;
    type IntoIter = &'a [C];

    fn point_iter(self) -> &'a [C] {
        &self.at
    }
}

impl<C, I: Ink> Drawable<Canvas> for Placed<C, I> {
    fn draw<A: Iterator<Item = BackendCoord>>(
        &self,
        at: A,
        canvas: &mut Canvas,
        _size: (u32, u32),
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        self.ink.draw(&at.collect::<Vec<_>>(), canvas);
        Ok(())
    }
}

/// A line through its points.
pub(super) struct Stroke {
    pub(super) pen: Pen,
    /// Shift to the right, in units.
    pub(super) shift: i32,
    pub(super) hover: String,
}

impl Ink for Stroke {
    fn draw(&self, at: &[(i32, i32)], canvas: &mut Canvas) {
        let at: Vec<_> = at.iter().map(|(x, y)| (x + self.shift, *y)).collect();
        canvas.line(&at, &self.pen, &self.hover);
    }
}

/// An error bar from its first point to its last, with a short line across each end.
pub(super) struct Ends {
    pub(super) pen: Pen,
    pub(super) shift: i32,
    /// Half length of the lines across the ends, in units.
    pub(super) half: i32,
}

impl Ink for Ends {
    fn draw(&self, at: &[(i32, i32)], canvas: &mut Canvas) {
        let [(x, from), .., (_, to)] = *at else { return };
        let x = x + self.shift;
        canvas.line(&[(x, from), (x, to)], &self.pen, "");
        for y in [from, to] {
            canvas.line(&[(x - self.half, y), (x + self.half, y)], &self.pen, "");
        }
    }
}

/// A mark at each of its points.
pub(super) struct Dot {
    pub(super) stamp: Stamp,
    pub(super) shift: i32,
    pub(super) hover: String,
}

impl Ink for Dot {
    fn draw(&self, at: &[(i32, i32)], canvas: &mut Canvas) {
        for (x, y) in at {
            canvas.stamp((x + self.shift, *y), &self.stamp, &self.hover);
        }
    }
}

impl Ink for Words {
    fn draw(&self, at: &[(i32, i32)], canvas: &mut Canvas) {
        for place in at {
            canvas.words(*place, self);
        }
    }
}
