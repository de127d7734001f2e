//! Where everything stands: how wide the time is, how far apart the nodes are, how much is left for words.

use super::label;
use super::text::width;
use crate::scene::{Band, Head, Place, Scene};
use crate::timeline::Moment;
use quorate_journal::words::millis;

/// More bars than this beside each other nobody can tell apart. What has none is still told where it begins and ends.
const MOST_BARS: usize = 3;
/// Nodes that are further apart than this make arrows that the eye loses.
const WIDEST_PITCH: usize = 18;
/// With less between two nodes there is no room for an arrow.
const NARROWEST_PITCH: usize = 2;
/// What a picture is laid out for if nothing limits its width. Words may then be longer.
const USUAL_WIDTH: usize = 120;

/// Where everything stands.
pub(super) struct Layout {
    /// How wide the picture may be.
    pub(super) limit: Option<usize>,
    /// How wide the times are.
    pub(super) time: usize,
    pub(super) bars: Vec<Option<usize>>,
    /// The column of each lane; none if they do not fit.
    pub(super) lanes: Vec<usize>,
    pub(super) words: usize,
}

impl Layout {
    pub(super) fn new(scene: &Scene, moments: &[Moment], limit: Option<usize>) -> Self {
        let available = limit.unwrap_or(USUAL_WIDTH);
        let times = moments.iter().map(|moment| millis(scene.shown(moment.place.time)).len());
        let time = times.chain(["time".len()]).max().unwrap_or_default() + 1;
        let bars = bars(scene);
        let bar_columns = bars.iter().flatten().max().map_or(0, |last| last + 2);
        // Before the first lane and behind the last one there is room for a node's number.
        let first = time + 1 + bar_columns + 1;
        let least_words = (available * 2 / 5).clamp(24, 48);
        let gaps = scene.lanes.len().saturating_sub(1);
        let room = available.saturating_sub(first + 4 + least_words);
        let pitch = room.checked_div(gaps).unwrap_or(WIDEST_PITCH).min(wanted_pitch(scene));
        if pitch < NARROWEST_PITCH {
            return Self { limit, time, bars, lanes: Vec::new(), words: first };
        }
        let lanes: Vec<usize> = (0..scene.lanes.len()).map(|lane| first + lane * pitch).collect();
        let words = first + gaps * pitch + 4;
        Self { limit, time, bars, lanes, words }
    }

    /// How many columns the words may take.
    pub(super) fn room(&self) -> usize {
        self.limit.map_or(usize::MAX, |limit| limit.saturating_sub(self.words))
    }

    pub(super) fn lane(&self, lane: usize) -> Option<usize> {
        self.lanes.get(lane).copied()
    }

    pub(super) fn bar(&self, band: usize) -> Option<usize> {
        Some(self.time + 1 + self.bars.get(band).copied().flatten()?)
    }
}

/// A pitch at which the names of all messages find room on an arrow to the next node.
fn wanted_pitch(scene: &Scene) -> usize {
    let needed = scene.arrows.iter().map(|arrow| match arrow.head {
        Head::Step(_) | Head::Open => width(&label(arrow)) + 4,
        // It does not go all the way.
        Head::Lost { .. } => width(&label(arrow)) + 5,
    });
    needed.max().unwrap_or_default().clamp(8, WIDEST_PITCH)
}

/// Gives each band the first bar that is free while it lasts.
fn bars(scene: &Scene) -> Vec<Option<usize>> {
    let mut busy: [Option<Option<Place>>; MOST_BARS] = [None; MOST_BARS];
    let free = |busy: Option<Option<Place>>, from: Place| match busy {
        None => true,
        Some(until) => until.is_some_and(|until| until <= from),
    };
    let bar = |band: &Band| {
        let bar = busy.iter().position(|bar| free(*bar, band.from))?;
        busy[bar] = Some(band.to);
        Some(bar)
    };
    scene.bands.iter().map(bar).collect()
}
