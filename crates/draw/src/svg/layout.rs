//! The layout of a scene: vertical positions of lanes, and positions of the texts beside them.
//!
//! The scene is the whole diagram or, if a wide one is broken like lines of text, one strip of it
//! (a [`SceneRow`](super::rows::SceneRow)). In this file, rows are rows of texts.

use super::areas::{Area, OccupiedAreas};
use super::axis::{Axis, Scale};
use super::notes::{self, LaneText};
use super::text::text_width;
use super::trays::{self, Chips};
use super::{Clocks, Options};
use crate::scene::Scene;
use quorate_journal::words::format_millis;

/// Margin around the diagram, in pixels, as are all sizes here.
pub(super) const MARGIN: f64 = 26.0;
pub(super) const RIBBON_HALF_HEIGHT: f64 = 9.0;
/// Distance between the texts of two lanes, for arrows and their names.
const LANE_DISTANCE: f64 = 66.0;
/// The same distance in a large group, whose diagram would be too high otherwise.
const LARGE_GROUP_LANE_DISTANCE: f64 = 38.0;
/// Maximum number of lanes in a group that is not large.
const MAX_SMALL_GROUP: usize = 8;
const TEXT_ROW_HEIGHT: f64 = 16.0;
/// Maximum numbers of rows of texts above and below a lane; its clocks may take another
/// `MAX_ROWS_ABOVE` rows above it.
const MAX_ROWS_ABOVE: usize = 3;
const MAX_ROWS_BELOW: usize = 4;
/// Minimum horizontal gap between two texts of a row.
const TEXT_GAP: f64 = 7.0;
/// Height of a row of annotations above the lanes.
pub(super) const BAND_ROW_HEIGHT: f64 = 21.0;

/// Height reserved for the lease line below a lane, if the group has views.
const LEASE_HEIGHT: f64 = 6.0;

/// Detail of the rule notes below each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoteDetail {
    /// Ids and notes; those of one step are truncated together to this many characters.
    Full(usize),
    RuleIds,
    None,
}

pub(super) struct Layout {
    pub(super) axis: Axis,
    /// Vertical position of the middle of each lane.
    pub(super) lanes: Vec<f64>,
    pub(super) texts: Vec<Text>,
    pub(super) omitted_texts: usize,
    /// Upper and lower edge of the lanes.
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) occupied_areas: OccupiedAreas,
    pub(super) right_edge: f64,
    /// Names of held-back messages that fit into their trays, the rectangles of hold-back queues.
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
    pub(super) connector: Option<Connector>,
}

/// The end points of a thin line.
type Connector = ((f64, f64), (f64, f64));

impl Layout {
    pub(super) fn new(scene: &Scene, options: &Options, top: f64, scale: Scale, detail: NoteDetail) -> Self {
        let name_width = |lane: &crate::scene::Lane| text_width(&format!("node {}", lane.node), 15.0);
        let max_name_width = scene.lanes.iter().map(name_width).fold(0.0, f64::max);
        // Half of the first time label below the lanes may extend to the left of the axis.
        let half_first_label = text_width(&format_millis(scene.relative(scene.from)), 11.5) / 2.0;
        let axis = Axis::new(scene, MARGIN + max_name_width.max(64.0) + half_first_label.max(30.0) + 10.0, scale);
        let has_clocks = options.clocks != Clocks::None;
        let mut layout = Self {
            right_edge: axis.right,
            axis,
            lanes: Vec::new(),
            texts: Vec::new(),
            omitted_texts: 0,
            top,
            bottom: top,
            occupied_areas: OccupiedAreas::default(),
            chips: Vec::new(),
            lease_height: if scene.view_spans.is_empty() { 0.0 } else { LEASE_HEIGHT },
        };
        for lane in 0..scene.lanes.len() {
            let clock_texts =
                if has_clocks { notes::clock_texts(scene, lane, options.clocks, &layout.axis) } else { Vec::new() };
            let above = notes::texts_above(scene, lane, &layout.axis);
            let below = notes::rule_texts(scene, lane, detail, &layout.axis);
            let distance = if scene.lanes.len() > MAX_SMALL_GROUP { LARGE_GROUP_LANE_DISTANCE } else { LANE_DISTANCE };
            layout.add_lane(clock_texts, above, below, (distance, trays::reserved_height(scene, lane)));
        }
        layout.bottom += 14.0;
        layout
    }

    /// Adds a lane with these texts, `distance` below the texts of the previous lane, and reserves
    /// `tray_height` for its hold-back queue.
    fn add_lane(
        &mut self,
        clocks: Vec<LaneText>,
        above: Vec<LaneText>,
        below: Vec<LaneText>,
        (distance, tray_height): (f64, f64),
    ) {
        let (clock_rows, clock_row_count) = assign_rows(&clocks, MAX_ROWS_ABOVE);
        let (above_rows, above_row_count) = assign_rows(&above, MAX_ROWS_ABOVE);
        let (below_rows, below_row_count) = assign_rows(&below, MAX_ROWS_BELOW);
        let gap = if self.lanes.is_empty() { 14.0 } else { distance };
        let y = self.bottom + gap + RIBBON_HALF_HEIGHT + (clock_row_count + above_row_count) as f64 * TEXT_ROW_HEIGHT;
        let bottom = y + RIBBON_HALF_HEIGHT + self.lease_height;
        self.occupied_areas.occupy(Area {
            left: 0.0,
            right: self.axis.right + 30.0,
            top: y - RIBBON_HALF_HEIGHT,
            bottom,
        });
        let y_above = |text_row: usize| y - RIBBON_HALF_HEIGHT - 5.0 - text_row as f64 * TEXT_ROW_HEIGHT;
        let below_ribbon = self.lease_height + tray_height;
        let y_below =
            |text_row: usize| y + RIBBON_HALF_HEIGHT + below_ribbon + 14.0 + text_row as f64 * TEXT_ROW_HEIGHT;
        let connector_above = |x: f64, text_row: usize| {
            (text_row > 0).then(|| ((x, y - RIBBON_HALF_HEIGHT), (x, y_above(text_row) + 3.0)))
        };
        let connector_below = |x: f64, text_row: usize| {
            (text_row > 0).then(|| ((x, y + RIBBON_HALF_HEIGHT), (x, y_below(text_row) - 11.0)))
        };
        self.place_texts(clocks, clock_rows, |x, text_row| (y_above(text_row), connector_above(x, text_row)));
        self.place_texts(above, above_rows, |x, text_row| {
            let text_row = text_row + clock_row_count;
            (y_above(text_row), connector_above(x, text_row))
        });
        self.place_texts(below, below_rows, |x, text_row| (y_below(text_row), connector_below(x, text_row)));
        self.lanes.push(y);
        self.bottom = y + RIBBON_HALF_HEIGHT + below_ribbon + below_row_count as f64 * TEXT_ROW_HEIGHT + 6.0;
    }

    /// Places texts into their rows, and counts the texts that have no row.
    fn place_texts(
        &mut self,
        texts: Vec<LaneText>,
        rows: Vec<Option<usize>>,
        place_in_row: impl Fn(f64, usize) -> (f64, Option<Connector>),
    ) {
        for (lane_text, text_row) in texts.into_iter().zip(rows) {
            let Some(text_row) = text_row else {
                self.omitted_texts += 1;
                continue;
            };
            let LaneText { class, text, x, left, width, size } = lane_text;
            let (y, connector) = place_in_row(x, text_row);
            let area = Area::of_text((left, y), width, size);
            self.right_edge = self.right_edge.max(area.right);
            self.occupied_areas.occupy(area);
            self.texts.push(Text { class, text, position: (left, y), connector });
        }
    }
}

/// Assigns each text to the first row in which it overlaps no earlier text. Returns the row of each
/// text (`None` if it does not fit into `max_rows` rows) and the number of rows used.
fn assign_rows(texts: &[LaneText], max_rows: usize) -> (Vec<Option<usize>>, usize) {
    let mut row_ends: Vec<f64> = Vec::new();
    let mut rows = Vec::with_capacity(texts.len());
    for text in texts {
        let free_row = row_ends.iter().position(|end| *end + TEXT_GAP <= text.left);
        let row = match free_row {
            Some(row) => Some(row),
            None if row_ends.len() < max_rows => {
                row_ends.push(f64::MIN);
                Some(row_ends.len() - 1)
            }
            None => None,
        };
        if let Some(end) = row.and_then(|row| row_ends.get_mut(row)) {
            *end = text.left + text.width;
        }
        rows.push(row);
    }
    (rows, row_ends.len())
}
