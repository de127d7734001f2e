//! Finds free areas for texts.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Area {
    /// The area of a text of this width and font size whose baseline starts here. Letters extend
    /// above and below the baseline by these parts of the font size.
    pub(super) fn of_text((x, y): (f64, f64), width: f64, size: f64) -> Self {
        Self { left: x, top: y - size * 0.82, right: x + width, bottom: y + size * 0.24 }
    }

    /// Whether a line from one point to another crosses the area.
    pub(super) fn is_crossed_by(&self, from: (f64, f64), to: (f64, f64)) -> bool {
        // The part of the line within the area, from 0 at its start to 1 at its end.
        let (mut from_part, mut to_part) = (0.0_f64, 1.0_f64);
        let sides = [(from.0, to.0, self.left, self.right), (from.1, to.1, self.top, self.bottom)];
        for (begin, end, low, high) in sides {
            let extent = end - begin;
            if extent == 0.0 {
                if begin < low || begin > high {
                    return false;
                }
                continue;
            }
            let (at_low, at_high) = ((low - begin) / extent, (high - begin) / extent);
            from_part = from_part.max(at_low.min(at_high));
            to_part = to_part.min(at_low.max(at_high));
        }
        from_part <= to_part
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }
}

/// Occupied areas, listed by column, so that an area is only compared with others nearby.
#[derive(Default)]
pub(super) struct OccupiedAreas {
    columns: std::collections::BTreeMap<i64, Vec<Area>>,
}

/// Width of a column in pixels.
const COLUMN_WIDTH: f64 = 80.0;

impl OccupiedAreas {
    /// Whether an area overlaps no occupied one.
    pub(super) fn is_free(&self, area: &Area) -> bool {
        columns_of(area.left, area.right).all(|column| {
            self.columns.get(&column).is_none_or(|occupied| occupied.iter().all(|other| !other.overlaps(area)))
        })
    }

    pub(super) fn occupy(&mut self, area: Area) {
        for column in columns_of(area.left, area.right) {
            self.columns.entry(column).or_default().push(area);
        }
    }
}

/// Returns the numbers of the columns that a horizontal range touches.
pub(super) fn columns_of(left: f64, right: f64) -> impl Iterator<Item = i64> + use<> {
    (left / COLUMN_WIDTH).floor() as i64..=(right / COLUMN_WIDTH).floor() as i64
}

#[cfg(test)]
mod tests {
    use super::Area;

    #[test]
    fn a_line_crosses_the_areas_in_its_way() {
        let area = Area { left: 10.0, top: 10.0, right: 20.0, bottom: 20.0 };
        assert!(area.is_crossed_by((0.0, 0.0), (30.0, 30.0)));
        assert!(area.is_crossed_by((15.0, 0.0), (15.0, 30.0)));
        assert!(area.is_crossed_by((12.0, 12.0), (13.0, 13.0)), "a line inside");
        assert!(!area.is_crossed_by((0.0, 0.0), (9.0, 30.0)));
        assert!(!area.is_crossed_by((0.0, 25.0), (30.0, 25.0)));
        assert!(!area.is_crossed_by((0.0, 0.0), (8.0, 8.0)), "a line that ends before");
    }
}
