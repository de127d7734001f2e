//! The layout of the picture: widths of times, lanes and texts.

use super::symbols::label;
use super::text::display_width;
use crate::scene::{Band, Head, Scene, TimePosition};
use crate::timeline::TimelineItem;
use quorate_journal::words::format_millis;

/// Maximum number of vertical bars of lasting faults side by side. A fault without a bar still has
/// lines where it begins and ends.
const MAX_BARS: usize = 3;
/// Maximum distance between two lanes, in columns; longer arrows are hard to follow.
const MAX_PITCH: usize = 18;
/// Minimum distance between two lanes, in columns; less leaves no room for an arrow.
const MIN_PITCH: usize = 2;
/// Distance between the last lane and the texts, in columns.
const TEXT_GAP: usize = 4;
/// Width used for the layout if there is no limit. Texts may then be longer.
const DEFAULT_WIDTH: usize = 120;

/// The columns of times, bars, lanes and texts.
pub(super) struct Layout {
    /// Maximum width of a line, in columns; `None` for no limit.
    pub(super) max_width: Option<usize>,
    /// Width of the times, in columns.
    pub(super) time_width: usize,
    /// For each band (lasting fault), the index of its bar from the left; `None` if it has none.
    pub(super) bars: Vec<Option<usize>>,
    /// Column of each lane; empty if the lanes do not fit.
    pub(super) lanes: Vec<usize>,
    pub(super) text_column: usize,
}

impl Layout {
    pub(super) fn new(scene: &Scene, items: &[TimelineItem], max_width: Option<usize>) -> Self {
        let available = max_width.unwrap_or(DEFAULT_WIDTH);
        let times = items.iter().map(|item| format_millis(scene.relative(item.position.time)).len());
        let time_width = times.chain(["time".len()]).max().unwrap_or_default() + 1;
        let bars = assign_bars(scene);
        let bar_columns = bars.iter().flatten().max().map_or(0, |last| last + 2);
        // A node's number has room before the first lane and after the last.
        let first_lane = time_width + 1 + bar_columns + 1;
        let min_text_width = (available * 2 / 5).clamp(24, 48);
        let gaps = scene.lanes.len().saturating_sub(1);
        let lanes_width = available.saturating_sub(first_lane + TEXT_GAP + min_text_width);
        let pitch = lanes_width.checked_div(gaps).unwrap_or(MAX_PITCH).min(wanted_pitch(scene));
        if pitch < MIN_PITCH {
            return Self { max_width, time_width, bars, lanes: Vec::new(), text_column: first_lane };
        }
        let lanes: Vec<usize> = (0..scene.lanes.len()).map(|lane| first_lane + lane * pitch).collect();
        let text_column = first_lane + gaps * pitch + TEXT_GAP;
        Self { max_width, time_width, bars, lanes, text_column }
    }

    /// Returns the number of columns left for texts.
    pub(super) fn text_room(&self) -> usize {
        self.max_width.map_or(usize::MAX, |max_width| max_width.saturating_sub(self.text_column))
    }

    pub(super) fn lane_column(&self, lane: usize) -> Option<usize> {
        self.lanes.get(lane).copied()
    }

    pub(super) fn bar_column(&self, band: usize) -> Option<usize> {
        Some(self.time_width + 1 + self.bars.get(band).copied().flatten()?)
    }
}

/// Returns the distance between lanes at which every message name fits on an arrow to the next
/// node, but at least 8 columns and at most `MAX_PITCH`.
fn wanted_pitch(scene: &Scene) -> usize {
    // Besides the label, the lane, the head and some of the shaft take columns.
    let needed = scene.arrows.iter().map(|arrow| match arrow.head {
        Head::Step(_) | Head::InFlight => display_width(&label(arrow)) + 4,
        // The arrow of a lost message is shorter.
        Head::Lost { .. } => display_width(&label(arrow)) + 5,
    });
    needed.max().unwrap_or_default().clamp(8, MAX_PITCH)
}

/// Gives each band the first bar that no earlier band occupies any more; `None` if all are
/// occupied.
fn assign_bars(scene: &Scene) -> Vec<Option<usize>> {
    // `None` for an unused bar, `Some(None)` for the bar of a band that does not end.
    let mut occupied_until: [Option<Option<TimePosition>>; MAX_BARS] = [None; MAX_BARS];
    let is_free = |bar: Option<Option<TimePosition>>, from: TimePosition| match bar {
        None => true,
        Some(until) => until.is_some_and(|until| until <= from),
    };
    let assign_bar = |band: &Band| {
        let bar = occupied_until.iter().position(|bar| is_free(*bar, band.from))?;
        occupied_until[bar] = Some(band.to);
        Some(bar)
    };
    scene.bands.iter().map(assign_bar).collect()
}
