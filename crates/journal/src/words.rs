//! Moments as text, used alike in traces, diagrams and exports to other tools.
//!
//! A journal may come from an untrusted source. Names of messages and rules are therefore escaped:
//! a character that controls a terminal or changes the text direction appears as its code point.

use crate::moment::{Body, Done, Happening, Sent, Taken};
use quorate_core::{Class, Duration, Group, Time};
use std::borrow::Cow;
use std::fmt::{Display, Write};

/// The kind of moment that a text describes, used to colour it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    Input,
    Rule,
    Send,
    /// An acknowledgement, a retransmission, a timer or a save: not part of the algorithm itself.
    Control,
    Queue,
    Event,
    World,
}

/// Describes an input.
pub fn input(input: &Taken<'_, impl Display>) -> String {
    match input {
        Taken::Start { incarnation, blank: false } if incarnation.0 == 0 => "starts".into(),
        Taken::Start { incarnation, blank } => {
            format!("restarts (incarnation {incarnation}{})", if *blank { ", empty disk" } else { "" })
        }
        Taken::Command(command) => clean(&command.to_string()).into_owned(),
        Taken::Message { id, kind, .. } => format!("{} from {}", clean(kind), id.sender),
        Taken::Timer(timer) => format!("timer {}", json(timer)),
        Taken::Saved(count) => format!("save {count} is durable"),
        Taken::Suspect(node) => format!("suspects {node}"),
        Taken::Trust(node) => format!("trusts {node}"),
        Taken::DiskFull => "disk full".into(),
        Taken::DiskFree => "disk free".into(),
        Taken::View(view) => view.to_string(),
        Taken::Lease(Time::NEVER) => "lease without expiry".into(),
        Taken::Lease(until) => format!("lease until {}", millis(*until)),
    }
}

/// A timer set for longer than this (100 years) is shown as one that never fires.
const LONGEST_TIMER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Describes an effect. Returns `None` for effects that a rule note already describes.
pub fn effect(effect: &Done<'_, impl Display>) -> Option<(Sort, String)> {
    Some(match effect {
        Done::Send { to, sent } => transmission(sent, &to.to_string()),
        Done::Multicast { to, sent } => {
            let others: Group = to.others(sent.id.sender).collect();
            transmission(sent, &others.to_string())
        }
        Done::Save(write) => (Sort::Control, format!("saves {}", json(write))),
        // A timer for the end of a lease without expiry is set but never fires.
        Done::SetTimer { timer, span } if span.earliest > LONGEST_TIMER => {
            (Sort::Control, format!("sets timer {} (never fires)", json(timer)))
        }
        Done::SetTimer { timer, span } => (Sort::Control, format!("sets timer {} ({span})", json(timer))),
        Done::CancelTimer(timer) => (Sort::Control, format!("cancels timer {}", json(timer))),
        Done::Emit(event) => (Sort::Event, clean(&event.to_string()).into_owned()),
        Done::Rule { rule, text } => (Sort::Rule, format!("{} {}", clean(rule), clean(&text.to_string()))),
        Done::HoldBack { count, names } => (Sort::Queue, queue(*count, &names.to_string())),
        // A rule note describes these.
        Done::Handed { .. } | Done::Told(_) => return None,
    })
}

/// Maximum number of characters shown of the names in a hold-back queue.
const MAX_QUEUE_CHARS: usize = 120;

fn queue(count: usize, names: &str) -> String {
    match names.char_indices().nth(MAX_QUEUE_CHARS) {
        _ if count == 0 => "holds back no messages".into(),
        Some((end, _)) => format!("holds back {count} messages: {}…", clean(&names[..end])),
        None => format!("holds back {}", clean(names)),
    }
}

fn transmission(sent: &Sent<'_>, to: &str) -> (Sort, String) {
    let kind = match sent.label {
        Some(label) => Cow::Owned(format!("{} {}", clean(sent.kind), clean(&label.to_string()))),
        None => clean(sent.kind),
    };
    match (sent.class, sent.again) {
        (Class::Control, true) => (Sort::Control, format!("{kind} (retransmitted) → {to}")),
        (Class::Control, false) => (Sort::Control, format!("{kind} → {to}")),
        (Class::Algorithm | Class::Announcement, _) => (Sort::Send, format!("{kind} → {to}")),
    }
}

/// Describes a world event.
pub fn world(what: &Happening<'_>) -> String {
    match what {
        Happening::Lost { id, to, why } => format!("message {id} to {to}: {why}"),
        Happening::Duplicated { id } => format!("message {id} is duplicated"),
        Happening::Crashed { node, lost_writes: 0 } => format!("node {node} crashes"),
        Happening::Crashed { node, lost_writes: 1 } => format!("node {node} crashes and loses 1 write"),
        Happening::Crashed { node, lost_writes } => format!("node {node} crashes and loses {lost_writes} writes"),
        Happening::Ended { node } => format!("node {node} shuts down"),
        Happening::Paused { node } => format!("node {node} is paused"),
        Happening::Resumed { node } => format!("node {node} resumes"),
        Happening::Changed { text } => clean(text).into_owned(),
    }
}

/// Formats a body as JSON without its quotation marks.
pub fn json(body: &Body<'_>) -> String {
    let json = serde_json::to_string(body).unwrap_or_default();
    let mut text = String::with_capacity(json.len());
    let mut characters = json.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => {}
            // Unescape quotation marks and backslashes of the text itself; leave escaped control
            // characters.
            '\\' => match characters.next() {
                Some(mark @ ('"' | '\\')) => text.push(mark),
                Some(other) => text.extend(['\\', other]),
                None => {}
            },
            other => text.push(other),
        }
    }
    clean(&text).into_owned()
}

/// Formats a time in milliseconds with three decimal places.
pub fn millis(time: Time) -> String {
    let micros = time.nanos() / 1_000;
    let sign = if micros < 0 { "-" } else { "" };
    format!("{sign}{}.{:03}", micros.abs() / 1_000, micros.abs() % 1_000)
}

/// Escapes control and formatting characters as code points: `\u{1b}`.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(needs_escape) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if needs_escape(character) {
            let _ = write!(shown, "{}", character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Returns whether a character is a control character, a Unicode line separator, a directional or
/// invisible formatting mark, or a noncharacter.
fn needs_escape(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(character, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}')
        || matches!(character, '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::{Sort, clean, effect};
    use crate::moment::Done;

    fn describe(done: &Done<'_, String>) -> Option<(Sort, String)> {
        effect(done)
    }

    fn queue(count: usize, names: &str) -> String {
        match describe(&Done::HoldBack { count, names: format_args!("{names}") }) {
            Some((Sort::Queue, text)) => text,
            other => panic!("expected a queue, got {other:?}"),
        }
    }

    #[test]
    fn a_long_hold_back_queue_is_truncated() {
        assert_eq!(queue(2, "2#1, 3#2"), "holds back 2#1, 3#2");
        assert_eq!(queue(0, ""), "holds back no messages");
        let text = queue(900, &"2#1, ".repeat(900));
        assert!(
            text.starts_with("holds back 900 messages: 2#1, ") && text.ends_with('…') && text.len() < 160,
            "{text}"
        );
    }

    #[test]
    fn json_drops_only_its_own_quotation_marks() {
        let body = serde_json::json!({ "name": "a \"b\" \\ c\n" });
        assert_eq!(super::json(&(&body as _)), r#"{name:a "b" \ c\n}"#);
    }

    #[test]
    fn control_and_direction_characters_are_escaped() {
        assert_eq!(clean("a\u{1b}[31mb\u{202e}c\nd"), r"a\u{1b}[31mb\u{202e}c\u{a}d");
        assert_eq!(clean("<b>&\"'שלום→"), "<b>&\"'שלום→");
    }
}
