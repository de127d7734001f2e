//! Points and boxes.

/// A position in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

impl Point {
    pub(super) const ZERO: Self = Self { x: 0.0, y: 0.0 };

    pub(super) fn plus(self, x: f64, y: f64) -> Self {
        Self { x: self.x + x, y: self.y + y }
    }

    /// Returns the point at this fraction of the line to another point.
    pub(super) fn toward(self, other: Self, fraction: f64) -> Self {
        Self { x: self.x + (other.x - self.x) * fraction, y: self.y + (other.y - self.y) * fraction }
    }

    pub(super) fn distance(self, other: Self) -> f64 {
        (self.x - other.x).hypot(self.y - other.y)
    }
}

/// A box, given by its middle and half its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NodeBox {
    pub(super) middle: Point,
    pub(super) half_width: f64,
    pub(super) half_height: f64,
}

impl NodeBox {
    pub(super) fn contains(&self, point: Point, margin: f64) -> bool {
        (point.x - self.middle.x).abs() < self.half_width + margin
            && (point.y - self.middle.y).abs() < self.half_height + margin
    }

    /// Whether both gaps to another box are smaller than these.
    pub(super) fn is_near(&self, other: &Self, (horizontal_gap, vertical_gap): (f64, f64)) -> bool {
        let (x, y) = ((self.middle.x - other.middle.x).abs(), (self.middle.y - other.middle.y).abs());
        x < self.half_width + other.half_width + horizontal_gap
            && y < self.half_height + other.half_height + vertical_gap
    }

    pub(super) fn moved_to(self, middle: Point) -> Self {
        Self { middle, ..self }
    }
}

/// Returns the bounding box of some boxes: its upper left and lower right corners; both are zero if
/// there are no boxes.
pub(super) fn enclosing_corners<'a>(boxes: impl Iterator<Item = &'a NodeBox>) -> (Point, Point) {
    let (mut low, mut high) = (Point::ZERO, Point::ZERO);
    for (index, node_box) in boxes.enumerate() {
        let (from, to) = (
            node_box.middle.plus(-node_box.half_width, -node_box.half_height),
            node_box.middle.plus(node_box.half_width, node_box.half_height),
        );
        let is_first = index == 0;
        low = Point {
            x: if is_first { from.x } else { low.x.min(from.x) },
            y: if is_first { from.y } else { low.y.min(from.y) },
        };
        high = Point {
            x: if is_first { to.x } else { high.x.max(to.x) },
            y: if is_first { to.y } else { high.y.max(to.y) },
        };
    }
    (low, high)
}

/// Whether two line segments cross; segments that only touch do not.
pub(super) fn do_segments_cross((a, b): (Point, Point), (c, d): (Point, Point)) -> bool {
    let side = |from: Point, to: Point, point: Point| {
        (to.x - from.x) * (point.y - from.y) - (to.y - from.y) * (point.x - from.x)
    };
    side(a, b, c) * side(a, b, d) < 0.0 && side(c, d, a) * side(c, d, b) < 0.0
}
