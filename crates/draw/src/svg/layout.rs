//! The layout of one row: heights of lanes, and positions of the texts beside them.

use super::areas::{Area, OccupiedAreas};
use super::axis::{Axis, Scale};
use super::notes::{self, LaneText};
use super::text::width;
use super::trays::{self, Chips};
use super::{Clocks, Options};
use crate::scene::Scene;
use quorate_journal::words::millis;

/// Margin around the diagram.
pub(super) const MARGIN: f64 = 26.0;
/// Half the height of a lane's ribbon.
pub(super) const RIBBON: f64 = 9.0;
/// Distance between the texts of two lanes, for arrows and their names.
const LANE_DISTANCE: f64 = 66.0;
/// The same in a large group, whose diagram would be too high otherwise.
const LARGE_GROUP_LANE_DISTANCE: f64 = 38.0;
const LARGE_GROUP: usize = 8;
/// Height of a row of texts.
const TEXT_ROW: f64 = 16.0;
/// Maximum numbers of rows of texts above and below a lane.
const MAX_ROWS_ABOVE: usize = 3;
const MAX_ROWS_BELOW: usize = 4;
/// Minimum horizontal gap between two texts of a row.
const TEXT_GAP: f64 = 7.0;
/// Height of a row of annotations above the lanes.
pub(super) const BAND_ROW: f64 = 21.0;

/// Height reserved for the lease line below a lane.
const LEASE_HEIGHT: f64 = 6.0;

/// Detail of the rule notes below each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoteDetail {
    /// Ids and notes, truncated to this many characters.
    Full(usize),
    Names,
    None,
}

/// The layout of a scene.
pub(super) struct Layout {
    pub(super) axis: Axis,
    /// Vertical position of each lane.
    pub(super) lanes: Vec<f64>,
    pub(super) texts: Vec<Text>,
    pub(super) omitted_texts: usize,
    /// Upper and lower edge of the lanes.
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) occupied: OccupiedAreas,
    pub(super) right_edge: f64,
    /// Names of held-back messages that have room.
    pub(super) chips: Vec<Chips>,
    /// Height reserved for leases below each lane.
    pub(super) lease_height: f64,
}

/// A text beside a lane.
pub(super) struct Text {
    pub(super) class: &'static str,
    pub(super) text: String,
    pub(super) position: (f64, f64),
    /// A thin line from the step to the text, if they are not adjacent.
    pub(super) leader: Option<Leader>,
}

/// The end points of a thin line.
type Leader = ((f64, f64), (f64, f64));

impl Layout {
    pub(super) fn new(scene: &Scene, options: &Options, top: f64, scale: Scale, detail: NoteDetail) -> Self {
        let name = |lane: &crate::scene::Lane| width(&format!("node {}", lane.node), 15.0);
        let names = scene.lanes.iter().map(name).fold(0.0, f64::max);
        // The first time below the lanes may be wide.
        let first = width(&millis(scene.relative(scene.from)), 11.5) / 2.0;
        let axis = Axis::new(scene, MARGIN + names.max(64.0) + first.max(30.0) + 10.0, scale);
        let clocks = options.clocks != Clocks::None;
        let mut layout = Self {
            right_edge: axis.right,
            axis,
            lanes: Vec::new(),
            texts: Vec::new(),
            omitted_texts: 0,
            top,
            bottom: top,
            occupied: OccupiedAreas::default(),
            chips: Vec::new(),
            lease_height: if scene.view_spans.is_empty() { 0.0 } else { LEASE_HEIGHT },
        };
        for lane in 0..scene.lanes.len() {
            let clock_texts =
                if clocks { notes::clocks(scene, lane, options.clocks, &layout.axis) } else { Vec::new() };
            let above = notes::above(scene, lane, &layout.axis);
            let below = notes::below(scene, lane, detail, &layout.axis);
            let distance = if scene.lanes.len() > LARGE_GROUP { LARGE_GROUP_LANE_DISTANCE } else { LANE_DISTANCE };
            layout.add_lane(clock_texts, above, below, (distance, trays::height(scene, lane)));
        }
        layout.bottom += 14.0;
        layout
    }

    /// Adds a lane with these texts at a distance of `distance` from the previous one, with `tray`
    /// reserved for its hold-back queue.
    fn add_lane(
        &mut self,
        clocks: Vec<LaneText>,
        above: Vec<LaneText>,
        below: Vec<LaneText>,
        (distance, tray): (f64, f64),
    ) {
        let (clock_rows, clock_levels) = assign_rows(&clocks, MAX_ROWS_ABOVE);
        let (above_rows, above_levels) = assign_rows(&above, MAX_ROWS_ABOVE);
        let (below_rows, below_levels) = assign_rows(&below, MAX_ROWS_BELOW);
        let gap = if self.lanes.is_empty() { 14.0 } else { distance };
        let y = self.bottom + gap + RIBBON + (clock_levels + above_levels) as f64 * TEXT_ROW;
        let bottom = y + RIBBON + self.lease_height;
        self.occupied.occupy(Area { left: 0.0, right: self.axis.right + 30.0, top: y - RIBBON, bottom });
        let y_above = |level: usize| y - RIBBON - 5.0 - level as f64 * TEXT_ROW;
        let below_ribbon = self.lease_height + tray;
        let y_below = |level: usize| y + RIBBON + below_ribbon + 14.0 + level as f64 * TEXT_ROW;
        let leader_above = |x: f64, level: usize| (level > 0).then(|| ((x, y - RIBBON), (x, y_above(level) + 3.0)));
        let leader_below = |x: f64, level: usize| (level > 0).then(|| ((x, y + RIBBON), (x, y_below(level) - 11.0)));
        self.place_texts(clocks, clock_rows, |x, level| (y_above(level), leader_above(x, level)));
        self.place_texts(above, above_rows, |x, level| {
            let level = level + clock_levels;
            (y_above(level), leader_above(x, level))
        });
        self.place_texts(below, below_rows, |x, level| (y_below(level), leader_below(x, level)));
        self.lanes.push(y);
        self.bottom = y + RIBBON + below_ribbon + below_levels as f64 * TEXT_ROW + 6.0;
    }

    /// Places texts into their rows, and counts the texts that have no row.
    fn place_texts(
        &mut self,
        texts: Vec<LaneText>,
        rows: Vec<Option<usize>>,
        row: impl Fn(f64, usize) -> (f64, Option<Leader>),
    ) {
        for (lane_text, level) in texts.into_iter().zip(rows) {
            let Some(level) = level else {
                self.omitted_texts += 1;
                continue;
            };
            let LaneText { class, text, x, left, width, size } = lane_text;
            let (y, leader) = row(x, level);
            let area = Area::of_text((left, y), width, size);
            self.right_edge = self.right_edge.max(area.right);
            self.occupied.occupy(area);
            self.texts.push(Text { class, text, position: (left, y), leader });
        }
    }
}

/// Assigns texts to as few rows as possible without overlaps. Returns the row of each text,
/// `None` if it does not fit into `max_rows` rows, and the number of rows used.
fn assign_rows(texts: &[LaneText], max_rows: usize) -> (Vec<Option<usize>>, usize) {
    let mut ends: Vec<f64> = Vec::new();
    let mut rows = Vec::with_capacity(texts.len());
    for text in texts {
        let free = ends.iter().position(|end| *end + TEXT_GAP <= text.left);
        let row = match free {
            Some(row) => Some(row),
            None if ends.len() < max_rows => {
                ends.push(f64::MIN);
                Some(ends.len() - 1)
            }
            None => None,
        };
        if let Some(end) = row.and_then(|row| ends.get_mut(row)) {
            *end = text.left + text.width;
        }
        rows.push(row);
    }
    (rows, ends.len())
}
