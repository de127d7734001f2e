//! The shapes of marks, which distinguish series without colours.

/// The shape of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
    TriangleDown,
    Star,
    Plus,
    Pentagon,
    Hourglass,
    TriangleLeft,
    TriangleRight,
}

impl Shape {
    pub(super) const ALL: [Self; 12] = [
        Self::Circle,
        Self::Square,
        Self::Triangle,
        Self::Diamond,
        Self::Cross,
        Self::TriangleDown,
        Self::Star,
        Self::Plus,
        Self::Pentagon,
        Self::Hourglass,
        Self::TriangleLeft,
        Self::TriangleRight,
    ];

    /// Returns the corners relative to the middle, in hundredths of the radius; none for a circle.
    /// All shapes have about the same area.
    pub(super) fn corners(self) -> &'static [(i32, i32)] {
        match self {
            Self::Circle => &[],
            Self::Square => &[(-88, -88), (88, -88), (88, 88), (-88, 88)],
            Self::Triangle => &[(0, -122), (112, 76), (-112, 76)],
            Self::TriangleDown => &[(0, 122), (112, -76), (-112, -76)],
            Self::TriangleLeft => &[(-122, 0), (76, -112), (76, 112)],
            Self::TriangleRight => &[(122, 0), (-76, -112), (-76, 112)],
            Self::Diamond => &[(0, -128), (112, 0), (0, 128), (-112, 0)],
            Self::Pentagon => &[(0, -112), (107, -35), (66, 91), (-66, 91), (-107, -35)],
            Self::Hourglass => &[(-96, -104), (96, -104), (30, 0), (96, 104), (-96, 104), (-30, 0)],
            Self::Plus => &[
                (-36, -116),
                (36, -116),
                (36, -36),
                (116, -36),
                (116, 36),
                (36, 36),
                (36, 116),
                (-36, 116),
                (-36, 36),
                (-116, 36),
                (-116, -36),
                (-36, -36),
            ],
            Self::Cross => &[
                (-64, -112),
                (0, -48),
                (64, -112),
                (112, -64),
                (48, 0),
                (112, 64),
                (64, 112),
                (0, 48),
                (-64, 112),
                (-112, 64),
                (-48, 0),
                (-112, -64),
            ],
            Self::Star => &[
                (0, -134),
                (34, -47),
                (127, -41),
                (55, 18),
                (79, 108),
                (0, 58),
                (-79, 108),
                (-55, 18),
                (-127, -41),
                (-34, -47),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;

    #[test]
    fn no_two_marks_look_alike_and_all_are_about_equally_large() {
        for (index, shape) in Shape::ALL.iter().enumerate() {
            assert!(Shape::ALL.iter().skip(index + 1).all(|other| other.corners() != shape.corners()));
            let corners = shape.corners();
            let next = corners.iter().cycle().skip(1);
            let doubled_area: i32 =
                corners.iter().zip(next).map(|((x, y), (right, below))| x * below - right * y).sum();
            // A circle of radius 100 has an area of 100² π.
            let area = if corners.is_empty() { 31_416 } else { doubled_area.abs() / 2 };
            assert!((17_000..35_000).contains(&area), "{shape:?}: {area}");
        }
    }
}
