//! The curves along which arrows are drawn.

use super::shape::{NodeBox, Point};

/// Distances in pixels between an arrow and the boxes at its start and its end.
const TAIL_GAP: f64 = 2.0;
const TIP_GAP: f64 = 3.5;

/// A Bézier curve with one bend, or a loop back to its start.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curve {
    /// Three control points for a bend, four for a loop.
    control_points: Vec<Point>,
    /// Start and end of the visible part, between 0 and 1: the parts in the boxes are not drawn.
    start_parameter: f64,
    end_parameter: f64,
}

impl Curve {
    /// Creates a curve between two boxes that bends to the left by `bend` times the distance
    /// between them.
    pub(super) fn between(start_box: &NodeBox, end_box: &NodeBox, bend: f64) -> Self {
        let (a, b) = (start_box.middle, end_box.middle);
        let middle = a.toward(b, 0.5);
        // The curve comes only halfway to its control point, hence the factor of 2.
        let control = middle.plus((b.y - a.y) * bend * 2.0, (a.x - b.x) * bend * 2.0);
        let mut curve = Self { control_points: vec![a, control, b], start_parameter: 0.0, end_parameter: 1.0 };
        curve.start_parameter = curve.exit_parameter(start_box, TAIL_GAP);
        curve.end_parameter = curve.entry_parameter(end_box, TIP_GAP);
        curve
    }

    /// Creates a loop from a box to itself, below it. The loop's two lower control points lie 58
    /// pixels below the box, and 26 pixels further from its middle than the loop's ends.
    pub(super) fn around(node_box: &NodeBox) -> Self {
        let (end_offset, depth) = (node_box.half_width * 0.4, node_box.half_height + 58.0);
        let offset = |x: f64, y: f64| node_box.middle.plus(x, y);
        let control_points = vec![
            offset(-end_offset, 0.0),
            offset(-end_offset - 26.0, depth),
            offset(end_offset + 26.0, depth),
            offset(end_offset, 0.0),
        ];
        let mut curve = Self { control_points, start_parameter: 0.0, end_parameter: 1.0 };
        curve.start_parameter = curve.exit_parameter(node_box, TAIL_GAP);
        curve.end_parameter = curve.entry_parameter(node_box, TIP_GAP);
        curve
    }

    /// Returns the parameter at which the curve leaves its first box.
    fn exit_parameter(&self, node_box: &NodeBox, margin: f64) -> f64 {
        parameters().find(|parameter| !node_box.contains(self.point_at(*parameter), margin)).unwrap_or(0.0)
    }

    /// Returns the parameter at which the curve enters its last box.
    fn entry_parameter(&self, node_box: &NodeBox, margin: f64) -> f64 {
        parameters()
            .map(|parameter| 1.0 - parameter)
            .find(|parameter| !node_box.contains(self.point_at(*parameter), margin))
            .unwrap_or(1.0)
    }

    fn point_at(&self, parameter: f64) -> Point {
        let mut points = self.control_points.clone();
        while points.len() > 1 {
            points =
                points.windows(2).filter_map(|pair| Some(pair.first()?.toward(*pair.last()?, parameter))).collect();
        }
        points.first().copied().unwrap_or(Point::ZERO)
    }

    /// Returns the end points of `pieces` line segments that approximate the visible part.
    pub(super) fn segment_points(&self, pieces: u32) -> Vec<Point> {
        let visible_length = self.end_parameter - self.start_parameter;
        let parameter = |piece: u32| self.start_parameter + visible_length * f64::from(piece) / f64::from(pieces);
        (0..=pieces).map(|piece| self.point_at(parameter(piece))).collect()
    }

    /// Returns a point about this far along the visible part, or its end if the part is shorter.
    pub(super) fn point_after(&self, distance: f64) -> Point {
        let points = self.segment_points(40);
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

    /// Returns the visible end, and the last point of the whole curve before it that is at least
    /// `distance` away; the visible start if there is none.
    pub(super) fn end_and_point_before(&self, distance: f64) -> (Point, Point) {
        let end = self.point_at(self.end_parameter);
        let back = parameters()
            .map(|parameter| self.end_parameter - parameter)
            .find(|parameter| self.point_at(*parameter).distance(end) >= distance);
        (end, self.point_at(back.unwrap_or(self.start_parameter)))
    }

    /// Returns the control points of the visible part up to this parameter.
    pub(super) fn control_points_up_to(&self, parameter: f64) -> Vec<Point> {
        let first = split(&self.control_points, parameter).0;
        split(&first, if parameter > 0.0 { self.start_parameter / parameter } else { 0.0 }).1
    }

    /// Returns the parameter of a point about this far from the visible end, but not before the
    /// visible start.
    pub(super) fn parameter_before_end(&self, distance: f64) -> f64 {
        let end = self.point_at(self.end_parameter);
        let back = parameters()
            .map(|parameter| self.end_parameter - parameter)
            .find(|parameter| self.point_at(*parameter).distance(end) >= distance);
        back.unwrap_or(self.start_parameter).max(self.start_parameter)
    }
}

/// Evenly spaced parameters from 0 to 1.
fn parameters() -> impl Iterator<Item = f64> {
    (0..=250_u32).map(|step| f64::from(step) / 250.0)
}

/// Splits a curve at a parameter by de Casteljau's algorithm. Returns the control points of the two
/// parts.
fn split(control_points: &[Point], parameter: f64) -> (Vec<Point>, Vec<Point>) {
    let mut points = control_points.to_vec();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    while let (Some(first), Some(last)) = (points.first().copied(), points.last().copied()) {
        before.push(first);
        after.push(last);
        points = points.windows(2).filter_map(|pair| Some(pair.first()?.toward(*pair.last()?, parameter))).collect();
    }
    after.reverse();
    (before, after)
}
