//! Texts beside a lane: commands and events above it, rules below it, and clocks.

use super::Clocks;
use super::axis::Axis;
use super::layout::NoteDetail;
use super::text::{bold, mono, shortened, width};
use crate::scene::{Cause, MarkKind, Scene, Step};
use std::borrow::Cow;

/// Maximum length of a text in characters; the tooltip of the step has the full text.
const MAX_CHARS: usize = 56;

/// A text beside a lane, before it has a row.
pub(super) struct LaneText {
    pub(super) class: &'static str,
    pub(super) text: String,
    /// Horizontal position of the step it describes.
    pub(super) x: f64,
    pub(super) left: f64,
    pub(super) width: f64,
    pub(super) size: f64,
}

impl LaneText {
    fn new(class: &'static str, text: &str, x: f64, size: f64, max_chars: usize) -> Self {
        let text = shortened(text, max_chars);
        let width = if class == "rule" { width(&text, size) } else { bold(&text, size) };
        Self { class, text, x, left: x - 5.0, width, size }
    }

    fn centred(class: &'static str, text: String, x: f64, size: f64) -> Self {
        let width = mono(&text, size);
        Self { class, text, x, left: x - width / 2.0, width, size }
    }
}

fn steps(scene: &Scene, lane: usize) -> impl Iterator<Item = &Step> {
    scene.steps.iter().filter(move |step| step.lane == lane)
}

/// Returns the texts above a lane: commands, client events and faults.
pub(super) fn above(scene: &Scene, lane: usize, axis: &Axis) -> Vec<LaneText> {
    let mut texts = Vec::new();
    for step in steps(scene, lane) {
        let x = axis.x_of(step.position.order);
        let input = match step.cause {
            // The members of a view are written above all lanes.
            Cause::Membership if !scene.view_spans.is_empty() && step.input.starts_with("view ") => {
                step.input.split(" of ").next()
            }
            Cause::Command | Cause::Membership | Cause::Start { is_restart: true } => Some(step.input.as_str()),
            Cause::Start { is_restart: false } | Cause::Message(_) | Cause::Timer | Cause::Disk => None,
        };
        let events = step.events.iter().map(|event| brief(scene, event));
        let parts: Vec<_> = input.map(Cow::Borrowed).into_iter().chain(events).collect();
        if !parts.is_empty() {
            let class = match input {
                _ if step.revoked => "mark",
                Some(_) => "label",
                None => "event",
            };
            texts.push(LaneText::new(class, &parts.join(" · "), x, 12.5, MAX_CHARS));
        }
    }
    for mark in scene.marks.iter().filter(|mark| mark.lane == Some(lane)) {
        let word = match mark.kind {
            MarkKind::Crashed => "crash",
            MarkKind::Ended => "stopped",
            MarkKind::Paused => "pause",
            MarkKind::Resumed => "resumes",
            MarkKind::Changed => continue,
        };
        texts.push(LaneText::new("mark", word, axis.x_of(mark.position.order), 12.5, MAX_CHARS));
    }
    texts.sort_by(|one, other| one.left.total_cmp(&other.left));
    texts
}

/// Returns the short form of an event. The lease line shows how long it is valid.
fn brief<'a>(scene: &Scene, event: &'a str) -> Cow<'a, str> {
    let shown = event.split_once(", until ").filter(|_| !scene.view_spans.is_empty());
    match shown.and_then(|(before, after)| Some((before, after.split_once(" of its clock")?))) {
        Some((before, (_, after))) => Cow::Owned(format!("{before}{after}")),
        None => Cow::Borrowed(event),
    }
}

pub(super) fn below(scene: &Scene, lane: usize, detail: NoteDetail, axis: &Axis) -> Vec<LaneText> {
    let text = |(rule, text): &(String, String)| match detail {
        NoteDetail::Full(_) => format!("{rule} {text}"),
        NoteDetail::Names | NoteDetail::None => rule.clone(),
    };
    let max_chars = if let NoteDetail::Full(max_chars) = detail { max_chars } else { MAX_CHARS };
    let parts = steps(scene, lane).filter(|step| detail != NoteDetail::None && !step.rules.is_empty());
    parts
        .map(|step| {
            let rules: Vec<_> = step.rules.iter().map(text).collect();
            LaneText::new("rule", &rules.join(" · "), axis.x_of(step.position.order), 11.5, max_chars)
        })
        .collect()
}

pub(super) fn clocks(scene: &Scene, lane: usize, clocks: Clocks, axis: &Axis) -> Vec<LaneText> {
    let mut texts: Vec<_> = steps(scene, lane)
        .map(|step| {
            let vector = || vector(step);
            let text = match clocks {
                Clocks::None => String::new(),
                Clocks::Logical => step.logical.to_string(),
                Clocks::Vector => vector(),
                Clocks::Both => format!("{} {}", step.logical, vector()),
            };
            LaneText::centred("clock mono", text, axis.x_of(step.position.order), 11.5)
        })
        .collect();
    texts.sort_by(|one, other| one.left.total_cmp(&other.left));
    texts
}

pub(super) fn vector(step: &Step) -> String {
    let Some(clock) = &step.vector else { return "–".into() };
    let counts: Vec<_> = clock.iter().map(u64::to_string).collect();
    format!("[{}]", counts.join(","))
}
