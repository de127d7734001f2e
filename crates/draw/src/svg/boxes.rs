//! Keeps texts apart.

/// A place that something takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Area {
    /// A text of this width and size whose base line begins here.
    pub(super) fn of_text((x, y): (f64, f64), width: f64, size: f64) -> Self {
        Self { left: x, top: y - size * 0.82, right: x + width, bottom: y + size * 0.24 }
    }

    fn meets(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }
}

/// Places that are taken, in columns, so that only neighbours are compared.
#[derive(Default)]
pub(super) struct Boxes {
    columns: std::collections::BTreeMap<i64, Vec<Area>>,
}

const COLUMN: f64 = 80.0;

impl Boxes {
    /// Whether nothing is here yet.
    pub(super) fn is_free(&self, area: &Area) -> bool {
        columns(area)
            .all(|column| self.columns.get(&column).is_none_or(|taken| taken.iter().all(|other| !other.meets(area))))
    }

    /// Something is here from now on.
    pub(super) fn take(&mut self, area: Area) {
        for column in columns(&area) {
            self.columns.entry(column).or_default().push(area);
        }
    }
}

fn columns(area: &Area) -> impl Iterator<Item = i64> + use<> {
    (area.left / COLUMN).floor() as i64..=(area.right / COLUMN).floor() as i64
}
