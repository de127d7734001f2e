//! Texts beside a lane: commands and events above it, rules below it, and clocks.

use super::Clocks;
use super::axis::Axis;
use super::layout::NoteDetail;
use super::text::{bold_width, mono_width, text_width, truncate};
use crate::scene::{Cause, MarkKind, Scene, Step};
use std::borrow::Cow;

/// Maximum number of characters of a text. Full rule notes have their own limit
/// ([`NoteDetail::Full`]), and clocks have none. The step's tooltip has the full text.
const MAX_CHARS: usize = 56;

/// A text beside a lane, before it has a row.
pub(super) struct LaneText {
    pub(super) class: &'static str,
    pub(super) text: String,
    /// Horizontal position of the step or mark it describes.
    pub(super) x: f64,
    pub(super) left: f64,
    pub(super) width: f64,
    pub(super) size: f64,
}

impl LaneText {
    fn new(class: &'static str, text: &str, x: f64, size: f64, max_chars: usize) -> Self {
        let text = truncate(text, max_chars);
        let width = if class == "rule" { text_width(&text, size) } else { bold_width(&text, size) };
        Self { class, text, x, left: x - 5.0, width, size }
    }

    /// Creates a text in a monospaced font, centred above its step.
    fn centred(class: &'static str, text: String, x: f64, size: f64) -> Self {
        let width = mono_width(&text, size);
        Self { class, text, x, left: x - width / 2.0, width, size }
    }
}

fn steps(scene: &Scene, lane: usize) -> impl Iterator<Item = &Step> {
    scene.steps.iter().filter(move |step| step.lane == lane)
}

/// Returns the texts above a lane: commands, restarts, membership inputs, client events and marks.
pub(super) fn texts_above(scene: &Scene, lane: usize, axis: &Axis) -> Vec<LaneText> {
    let mut texts = Vec::new();
    for step in steps(scene, lane) {
        let x = axis.x_of_event(step.position.order);
        let input = match step.cause {
            // The members of a view are written above all lanes.
            Cause::Membership if !scene.view_spans.is_empty() && step.input.starts_with("view ") => {
                step.input.split(" of ").next()
            }
            Cause::Command | Cause::Membership | Cause::Start { is_restart: true } => Some(step.input.as_str()),
            Cause::Start { is_restart: false } | Cause::Message(_) | Cause::Timer | Cause::Disk | Cause::EndOfTurn => {
                None
            }
        };
        let events = step.events.iter().map(|event| shorten_event(scene, event));
        let parts: Vec<_> = input.map(Cow::Borrowed).into_iter().chain(events).collect();
        if !parts.is_empty() {
            let class = match input {
                _ if step.reports_revocation => "mark",
                Some(_) => "label",
                None => "event",
            };
            texts.push(LaneText::new(class, &parts.join(" · "), x, 12.5, MAX_CHARS));
        }
    }
    for mark in scene.marks.iter().filter(|mark| mark.lane == Some(lane)) {
        let word = match mark.kind {
            MarkKind::Crashed => "crash",
            MarkKind::Stopped => "stopped",
            MarkKind::Paused => "pause",
            MarkKind::Resumed => "resumes",
            // Any other change, such as `skew 2 by 3ms`, has no lane. `bands` names it above all
            // lanes.
            MarkKind::Changed => continue,
        };
        texts.push(LaneText::new("mark", word, axis.x_of_event(mark.position.order), 12.5, MAX_CHARS));
    }
    texts.sort_by(|one, other| one.left.total_cmp(&other.left));
    texts
}

/// Returns the text of a client event. In a group with views, it leaves out when the entry or
/// leadership expires, because the lease lines show that.
fn shorten_event<'a>(scene: &Scene, event: &'a str) -> Cow<'a, str> {
    let validity = event.split_once(", until ").filter(|_| !scene.view_spans.is_empty());
    match validity.and_then(|(before, after)| Some((before, after.split_once(" of its clock")?))) {
        Some((before, (_, after))) => Cow::Owned(format!("{before}{after}")),
        None => Cow::Borrowed(event),
    }
}

/// Returns the texts below a lane: the rules that its steps applied.
pub(super) fn rule_texts(scene: &Scene, lane: usize, detail: NoteDetail, axis: &Axis) -> Vec<LaneText> {
    let text = |(rule, text): &(String, String)| match detail {
        NoteDetail::Full(_) => format!("{rule} {text}"),
        NoteDetail::RuleIds | NoteDetail::None => rule.clone(),
    };
    let max_chars = if let NoteDetail::Full(max_chars) = detail { max_chars } else { MAX_CHARS };
    let steps_with_rules = steps(scene, lane).filter(|step| detail != NoteDetail::None && !step.rules.is_empty());
    steps_with_rules
        .map(|step| {
            let rules: Vec<_> = step.rules.iter().map(text).collect();
            LaneText::new("rule", &rules.join(" · "), axis.x_of_event(step.position.order), 11.5, max_chars)
        })
        .collect()
}

/// Returns the clocks of a lane's steps.
pub(super) fn clock_texts(scene: &Scene, lane: usize, clocks: Clocks, axis: &Axis) -> Vec<LaneText> {
    let mut texts: Vec<_> = steps(scene, lane)
        .map(|step| {
            let vector = || format_vector_clock(step);
            let text = match clocks {
                Clocks::None => String::new(),
                Clocks::Logical => step.logical_clock.to_string(),
                Clocks::Vector => vector(),
                Clocks::Both => format!("{} {}", step.logical_clock, vector()),
            };
            LaneText::centred("clock mono", text, axis.x_of_event(step.position.order), 11.5)
        })
        .collect();
    texts.sort_by(|one, other| one.left.total_cmp(&other.left));
    texts
}

pub(super) fn format_vector_clock(step: &Step) -> String {
    let Some(clock) = &step.vector_clock else { return "–".into() };
    let counts: Vec<_> = clock.iter().map(u64::to_string).collect();
    format!("[{}]", counts.join(","))
}
