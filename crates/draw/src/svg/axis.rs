//! The horizontal axis: events in order, with gaps that grow with their duration. The order of a
//! step or mark is the number of steps and marks before it.

use crate::scene::{Scene, TimePosition};
use quorate_core::Time;
use std::collections::BTreeMap;

/// Distances in pixels between two instants before they are stretched: minimum, for the median time
/// between instants, and maximum.
const MIN_GAP: f64 = 30.0;
const MEDIAN_GAP: f64 = 62.0;
const MAX_GAP: f64 = 120.0;
/// A gap that would be wider than this in proportion to its duration is drawn with a break.
const MIN_BREAK_GAP: f64 = 4.0 * MAX_GAP;
/// Distance in pixels between two events of one node at the same instant, before it is stretched.
const SAME_INSTANT_GAP: f64 = 27.0;

/// Horizontal scale of time.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    /// The median time between two instants, in nanoseconds.
    median_gap_nanos: i64,
    /// Factor by which the distances between events are stretched.
    stretch: f64,
}

impl Scale {
    pub(super) fn new(scene: &Scene) -> Self {
        Self { median_gap_nanos: median_gap(&events_in_order(scene)).max(1), stretch: 1.0 }
    }

    pub(super) fn with_stretch(self, stretch: f64) -> Self {
        Self { stretch, ..self }
    }
}

/// Horizontal positions of all steps and marks.
pub(super) struct Axis {
    /// Time and position of each step and mark, by order.
    event_positions: Vec<(Time, f64)>,
    /// Every instant, with the position of its first event.
    pub(super) instants: Vec<(Time, f64)>,
    /// Middle of each gap that is drawn much shorter than its duration.
    pub(super) breaks: Vec<f64>,
    pub(super) left: f64,
    pub(super) right: f64,
}

impl Axis {
    pub(super) fn new(scene: &Scene, left: f64, scale: Scale) -> Self {
        let events = events_in_order(scene);
        let Scale { median_gap_nanos, stretch } = scale;
        let mut event_positions = Vec::with_capacity(events.len());
        let mut instants: Vec<(Time, f64)> = Vec::new();
        let mut same_instant: BTreeMap<Option<usize>, u32> = BTreeMap::new();
        let mut furthest = left;
        let mut breaks = Vec::new();
        for (time, lane) in events {
            let first_x = match instants.last() {
                Some((last, x)) if *last == time => *x,
                Some((last, _)) => {
                    same_instant.clear();
                    let gap = time.nanos().saturating_sub(last.nanos()) as f64 / median_gap_nanos as f64 * MEDIAN_GAP;
                    let x = furthest + gap.clamp(MIN_GAP, MAX_GAP) * stretch;
                    if gap > MIN_BREAK_GAP {
                        breaks.push(f64::midpoint(furthest, x));
                    }
                    instants.push((time, x));
                    x
                }
                None => {
                    instants.push((time, left));
                    left
                }
            };
            let earlier_events = same_instant.entry(lane).or_default();
            let x = first_x + f64::from(*earlier_events) * SAME_INSTANT_GAP * stretch;
            *earlier_events += 1;
            furthest = furthest.max(x);
            event_positions.push((time, x));
        }
        Self { event_positions, instants, breaks, left, right: furthest + MEDIAN_GAP }
    }

    /// Returns the order and the position of the first event at each instant.
    pub(super) fn instant_starts(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let mut previous_time = None;
        let start_of_instant = move |(order, (time, x)): (usize, &(Time, f64))| {
            let is_first = previous_time.replace(*time) != Some(*time);
            is_first.then_some((order, *x))
        };
        self.event_positions.iter().enumerate().filter_map(start_of_instant)
    }

    /// Returns the left edge of lanes and areas, which begin before the first event.
    pub(super) fn left_edge(&self) -> f64 {
        self.left - 24.0
    }

    /// Returns the right edge of lanes and areas, which end after the last event.
    pub(super) fn right_edge(&self) -> f64 {
        self.right + 12.0
    }

    /// Returns the horizontal position of the step or mark with this order.
    pub(super) fn x_of_event(&self, order: usize) -> f64 {
        self.event_positions.get(order).map_or(self.right, |(_, x)| *x)
    }

    /// Returns the horizontal position of an item that is neither a step nor a mark, such as the
    /// end of a fault: between the events before and after it, in proportion to its time.
    pub(super) fn x_at(&self, position: TimePosition) -> f64 {
        match self.event_positions.get(position.order) {
            Some((time, x)) if *time == position.time => *x,
            Some((time, x)) => {
                let Some((earlier, start)) =
                    position.order.checked_sub(1).and_then(|last| self.event_positions.get(last))
                else {
                    return self.left - MEDIAN_GAP / 2.0;
                };
                let gap_nanos = time.nanos().saturating_sub(earlier.nanos()).max(1) as f64;
                let part = position.time.nanos().saturating_sub(earlier.nanos()) as f64 / gap_nanos;
                start + (x - start) * part.clamp(0.0, 1.0)
            }
            None => self.right,
        }
    }
}

/// Returns the time and lane of all steps and marks in order.
fn events_in_order(scene: &Scene) -> Vec<(Time, Option<usize>)> {
    let steps = scene.steps.iter().map(|step| (step.position.order, (step.position.time, Some(step.lane))));
    let marks = scene.marks.iter().map(|mark| (mark.position.order, (mark.position.time, mark.lane)));
    let by_order: BTreeMap<_, _> = steps.chain(marks).collect();
    by_order.into_values().collect()
}

/// Returns the median gap between instants.
fn median_gap(events: &[(Time, Option<usize>)]) -> i64 {
    let mut gaps: Vec<i64> = events
        .windows(2)
        .filter_map(|pair| match pair {
            [(before, _), (after, _)] => Some(after.nanos().saturating_sub(before.nanos())),
            _ => None,
        })
        .filter(|gap| *gap > 0)
        .collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied().unwrap_or(1)
}
