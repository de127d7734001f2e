//! Curves of arrows.

use super::shape::{NodeBox, Point};

/// Distances between an arrow and the boxes at its start and its end.
const TAIL: f64 = 2.0;
const TIP: f64 = 3.5;

/// A Bézier curve with one bend, or a loop back to its start.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curve {
    /// Control points: three for a bend, four for a loop.
    corners: Vec<Point>,
    /// The visible part: the parts inside the boxes are not drawn.
    from: f64,
    to: f64,
}

impl Curve {
    /// Creates a curve between two boxes that bends to the left by `bend` of its length.
    pub(super) fn between(from: &NodeBox, to: &NodeBox, bend: f64) -> Self {
        let (a, b) = (from.middle, to.middle);
        let middle = a.toward(b, 0.5);
        let control = middle.plus((b.y - a.y) * bend * 2.0, (a.x - b.x) * bend * 2.0);
        let mut curve = Self { corners: vec![a, control, b], from: 0.0, to: 1.0 };
        curve.from = curve.leaves(from, TAIL);
        curve.to = curve.enters(to, TIP);
        curve
    }

    /// Creates a loop from a box to itself, below it.
    pub(super) fn around(own: &NodeBox) -> Self {
        let (half, low) = (own.half_width * 0.4, own.half_height + 58.0);
        let at = |x: f64, y: f64| own.middle.plus(x, y);
        let corners = vec![at(-half, 0.0), at(-half - 26.0, low), at(half + 26.0, low), at(half, 0.0)];
        let mut curve = Self { corners, from: 0.0, to: 1.0 };
        curve.from = curve.leaves(own, TAIL);
        curve.to = curve.enters(own, TIP);
        curve
    }

    /// Returns where the curve leaves its first box.
    fn leaves(&self, own: &NodeBox, margin: f64) -> f64 {
        steps().find(|part| !own.contains(self.at(*part), margin)).unwrap_or(0.0)
    }

    /// Returns where the curve enters its last box.
    fn enters(&self, own: &NodeBox, margin: f64) -> f64 {
        steps().map(|part| 1.0 - part).find(|part| !own.contains(self.at(*part), margin)).unwrap_or(1.0)
    }

    fn at(&self, part: f64) -> Point {
        let mut level = self.corners.clone();
        while level.len() > 1 {
            level = level.windows(2).filter_map(|pair| Some(pair.first()?.toward(*pair.last()?, part))).collect();
        }
        level.first().copied().unwrap_or(Point::ZERO)
    }

    /// Returns the visible part as `pieces` line segments.
    pub(super) fn points(&self, pieces: u32) -> Vec<Point> {
        let part = |piece: u32| self.from + (self.to - self.from) * f64::from(piece) / f64::from(pieces);
        (0..=pieces).map(|piece| self.at(part(piece))).collect()
    }

    /// Returns the point at this distance from the visible start.
    pub(super) fn point_after(&self, distance: f64) -> Point {
        let points = self.points(40);
        let mut travelled = 0.0;
        for pair in points.windows(2) {
            let [one, other] = pair else { continue };
            travelled += one.distance(*other);
            if travelled >= distance {
                return *other;
            }
        }
        points.last().copied().unwrap_or(Point::ZERO)
    }

    /// Returns the visible end, and an earlier point at least `distance` away from it.
    pub(super) fn end(&self, distance: f64) -> (Point, Point) {
        let end = self.at(self.to);
        let back = steps().map(|part| self.to - part).find(|part| self.at(*part).distance(end) >= distance);
        (end, self.at(back.unwrap_or(self.from)))
    }

    /// Returns the control points of the visible part up to `to`.
    pub(super) fn cut(&self, to: f64) -> Vec<Point> {
        let first = split(&self.corners, to).0;
        split(&first, if to > 0.0 { self.from / to } else { 0.0 }).1
    }

    /// Returns the parameter of the point at this distance from the end.
    pub(super) fn parameter_before_end(&self, distance: f64) -> f64 {
        let end = self.at(self.to);
        let back = steps().map(|part| self.to - part).find(|part| self.at(*part).distance(end) >= distance);
        back.unwrap_or(self.from).max(self.from)
    }
}

fn steps() -> impl Iterator<Item = f64> {
    (0..=250_u32).map(|step| f64::from(step) / 250.0)
}

/// Splits a curve in two (de Casteljau).
fn split(corners: &[Point], part: f64) -> (Vec<Point>, Vec<Point>) {
    let mut level = corners.to_vec();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    while let (Some(first), Some(last)) = (level.first().copied(), level.last().copied()) {
        before.push(first);
        after.push(last);
        level = level.windows(2).filter_map(|pair| Some(pair.first()?.toward(*pair.last()?, part))).collect();
    }
    after.reverse();
    (before, after)
}
