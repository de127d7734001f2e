//! Arrows as curves.

use super::shape::{Frame, Point};

/// Between an arrow and the box that it begins or ends at.
const TAIL: f64 = 2.0;
const TIP: f64 = 3.5;

/// A curve with one bend, or a loop that leads back to where it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curve {
    /// Its corners: three for a bend, four for a loop.
    corners: Vec<Point>,
    /// Which part of it is drawn: what is in the boxes is not.
    from: f64,
    to: f64,
}

impl Curve {
    /// From one box to another, with a bend of so much of its length to the left.
    pub(super) fn between(from: &Frame, to: &Frame, bend: f64) -> Self {
        let (a, b) = (from.middle, to.middle);
        let middle = a.toward(b, 0.5);
        let control = middle.plus((b.y - a.y) * bend * 2.0, (a.x - b.x) * bend * 2.0);
        let mut curve = Self { corners: vec![a, control, b], from: 0.0, to: 1.0 };
        curve.from = curve.leaves(from, TAIL);
        curve.to = curve.enters(to, TIP);
        curve
    }

    /// From a box back to itself, below it.
    pub(super) fn around(own: &Frame) -> Self {
        let (half, low) = (own.wide * 0.4, own.high + 58.0);
        let at = |x: f64, y: f64| own.middle.plus(x, y);
        let corners = vec![at(-half, 0.0), at(-half - 26.0, low), at(half + 26.0, low), at(half, 0.0)];
        let mut curve = Self { corners, from: 0.0, to: 1.0 };
        curve.from = curve.leaves(own, TAIL);
        curve.to = curve.enters(own, TIP);
        curve
    }

    /// The last moment in a box, from its beginning.
    fn leaves(&self, own: &Frame, margin: f64) -> f64 {
        steps().find(|part| !own.has(self.at(*part), margin)).unwrap_or(0.0)
    }

    /// The first moment in a box, from its end.
    fn enters(&self, own: &Frame, margin: f64) -> f64 {
        steps().map(|part| 1.0 - part).find(|part| !own.has(self.at(*part), margin)).unwrap_or(1.0)
    }

    fn at(&self, part: f64) -> Point {
        let mut level = self.corners.clone();
        while level.len() > 1 {
            level = level.windows(2).filter_map(|pair| Some(pair.first()?.toward(*pair.last()?, part))).collect();
        }
        level.first().copied().unwrap_or(Point::ZERO)
    }

    /// The part that is drawn, in so many pieces.
    pub(super) fn points(&self, pieces: u32) -> Vec<Point> {
        let part = |piece: u32| self.from + (self.to - self.from) * f64::from(piece) / f64::from(pieces);
        (0..=pieces).map(|piece| self.at(part(piece))).collect()
    }

    /// The place so far from where it becomes visible.
    pub(super) fn after(&self, far: f64) -> Point {
        let points = self.points(40);
        let mut gone = 0.0;
        for pair in points.windows(2) {
            let [one, other] = pair else { continue };
            gone += one.distance(*other);
            if gone >= far {
                return *other;
            }
        }
        points.last().copied().unwrap_or(Point::ZERO)
    }

    /// Where it ends, and where it comes from shortly before.
    pub(super) fn end(&self, before: f64) -> (Point, Point) {
        let end = self.at(self.to);
        let back = steps().map(|part| self.to - part).find(|part| self.at(*part).distance(end) >= before);
        (end, self.at(back.unwrap_or(self.from)))
    }

    /// The corners of the part that is drawn: the same curve, cut at both ends.
    pub(super) fn cut(&self, to: f64) -> Vec<Point> {
        let first = split(&self.corners, to).0;
        split(&first, if to > 0.0 { self.from / to } else { 0.0 }).1
    }

    /// The part at which it is so far from its end.
    pub(super) fn short_of_end(&self, far: f64) -> f64 {
        let end = self.at(self.to);
        let back = steps().map(|part| self.to - part).find(|part| self.at(*part).distance(end) >= far);
        back.unwrap_or(self.from).max(self.from)
    }
}

fn steps() -> impl Iterator<Item = f64> {
    (0..=250_u32).map(|step| f64::from(step) / 250.0)
}

/// A curve's two halves (de Casteljau).
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
