//! Moments as text, used alike in traces, diagrams and exports to other tools.
//!
//! A journal may come from an untrusted source. All its texts are therefore escaped: a character
//! that controls a terminal or changes the text direction appears as its code point.

use crate::moment::{Body, ObservedEffect, ObservedInput, Sent, WorldEvent};
use quorate_core::{Class, Duration, Group, Time};
use std::borrow::Cow;
use std::fmt::{Display, Write};

/// The kind of moment that a text describes, used to colour it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TextKind {
    Input,
    Rule,
    Send,
    /// A control message (such as an acknowledgement or a heartbeat), a timer or a save: not part
    /// of the algorithm itself.
    Control,
    /// The content of a hold-back queue.
    Queue,
    Event,
    World,
}

/// Describes an input in a few words, without control characters.
pub fn describe_input(input: &ObservedInput<'_, impl Display>) -> String {
    match input {
        ObservedInput::Start { incarnation, is_disk_blank: false } if incarnation.0 == 0 => "starts".into(),
        ObservedInput::Start { incarnation, is_disk_blank } => {
            format!("restarts (incarnation {incarnation}{})", if *is_disk_blank { ", empty disk" } else { "" })
        }
        ObservedInput::Command(command) => escape_controls(&command.to_string()).into_owned(),
        ObservedInput::Message { id, kind, .. } => format!("{} from {}", escape_controls(kind), id.sender),
        ObservedInput::Timer(timer) => format!("timer {}", format_body(timer)),
        ObservedInput::Saved(count) => format!("save {count} is durable"),
        ObservedInput::Suspect(node) => format!("suspects {node}"),
        ObservedInput::Trust(node) => format!("trusts {node}"),
        ObservedInput::DiskFull => "disk full".into(),
        ObservedInput::DiskFree => "disk free".into(),
        ObservedInput::View(view) => view.to_string(),
        ObservedInput::Lease(Time::NEVER) => "lease without expiry".into(),
        ObservedInput::Lease(until) => format!("lease until {}", format_millis(*until)),
        ObservedInput::EndOfTurn => "ends its turn".into(),
    }
}

/// A timer set for longer than this (100 years) is shown as one that never fires.
const MAX_SHOWN_TIMER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Describes an effect. Returns `None` for effects that other texts of the step already show.
pub fn describe_effect(effect: &ObservedEffect<'_, impl Display>) -> Option<(TextKind, String)> {
    Some(match effect {
        ObservedEffect::Send { to, sent } => describe_transmission(sent, &to.to_string()),
        ObservedEffect::Multicast { to, sent } => {
            let others: Group = to.others(sent.id.sender).collect();
            describe_transmission(sent, &others.to_string())
        }
        ObservedEffect::Save(write) => (TextKind::Control, format!("saves {}", format_body(write))),
        // A timer for the end of a lease without expiry is set but never fires.
        ObservedEffect::SetTimer { timer, span } if span.earliest > MAX_SHOWN_TIMER => {
            (TextKind::Control, format!("sets timer {} (never fires)", format_body(timer)))
        }
        ObservedEffect::SetTimer { timer, span } => {
            (TextKind::Control, format!("sets timer {} ({span})", format_body(timer)))
        }
        ObservedEffect::CancelTimer(timer) => (TextKind::Control, format!("cancels timer {}", format_body(timer))),
        ObservedEffect::Emit(event) => (TextKind::Event, escape_controls(&event.to_string()).into_owned()),
        ObservedEffect::Rule { rule, text } => {
            (TextKind::Rule, format!("{} {}", escape_controls(rule), escape_controls(&text.to_string())))
        }
        ObservedEffect::HoldBack { count, names } => (TextKind::Queue, describe_queue(*count, &names.to_string())),
        // The next effects show a delivery; a rule note describes a view or a lease.
        ObservedEffect::Delivered { .. } | ObservedEffect::Membership(_) => return None,
    })
}

/// Maximum number of characters shown of the message names in a hold-back queue.
const MAX_QUEUE_CHARS: usize = 120;

fn describe_queue(count: usize, names: &str) -> String {
    match names.char_indices().nth(MAX_QUEUE_CHARS) {
        _ if count == 0 => "holds back no messages".into(),
        Some((end, _)) => format!("holds back {count} messages: {}…", escape_controls(&names[..end])),
        None => format!("holds back {}", escape_controls(names)),
    }
}

fn describe_transmission(sent: &Sent<'_>, to: &str) -> (TextKind, String) {
    let kind = match sent.label {
        Some(label) => Cow::Owned(format!("{} {}", escape_controls(sent.kind), escape_controls(&label.to_string()))),
        None => escape_controls(sent.kind),
    };
    match (sent.class, sent.is_retransmission) {
        (Class::Control, true) => (TextKind::Control, format!("{kind} (retransmitted) → {to}")),
        (Class::Control, false) => (TextKind::Control, format!("{kind} → {to}")),
        (Class::Algorithm | Class::Announcement, _) => (TextKind::Send, format!("{kind} → {to}")),
    }
}

/// Describes a fault or another world event in a few words.
pub fn describe_world_event(event: &WorldEvent<'_>) -> String {
    match event {
        WorldEvent::Lost { id, to, cause } => format!("message {id} to {to}: {cause}"),
        WorldEvent::Duplicated { id } => format!("message {id} is duplicated"),
        WorldEvent::Crashed { node, lost_writes: 0 } => format!("node {node} crashes"),
        WorldEvent::Crashed { node, lost_writes: 1 } => format!("node {node} crashes and loses 1 write"),
        WorldEvent::Crashed { node, lost_writes } => format!("node {node} crashes and loses {lost_writes} writes"),
        WorldEvent::Ended { node } => format!("node {node} shuts down"),
        WorldEvent::Paused { node } => format!("node {node} is paused"),
        WorldEvent::Resumed { node } => format!("node {node} resumes"),
        WorldEvent::Changed { text } => escape_controls(text).into_owned(),
    }
}

/// Formats a message, timer or write as JSON without the quotation marks around names and texts.
pub fn format_body(body: &Body<'_>) -> String {
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
    escape_controls(&text).into_owned()
}

/// Formats a time in milliseconds with three decimal places.
pub fn format_millis(time: Time) -> String {
    let micros = time.nanos() / 1_000;
    let sign = if micros < 0 { "-" } else { "" };
    format!("{sign}{}.{:03}", micros.abs() / 1_000, micros.abs() % 1_000)
}

/// Escapes control and formatting characters as code points: `\u{1b}`.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    if !text.chars().any(needs_escape) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if needs_escape(character) {
            let _ = write!(escaped, "{}", character.escape_unicode());
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
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
    use super::{TextKind, describe_effect, escape_controls};
    use crate::moment::ObservedEffect;

    fn describe(effect: &ObservedEffect<'_, String>) -> Option<(TextKind, String)> {
        describe_effect(effect)
    }

    fn describe_hold_back(count: usize, names: &str) -> String {
        match describe(&ObservedEffect::HoldBack { count, names: format_args!("{names}") }) {
            Some((TextKind::Queue, text)) => text,
            other => panic!("expected a hold-back queue, got {other:?}"),
        }
    }

    #[test]
    fn a_long_hold_back_queue_is_truncated() {
        assert_eq!(describe_hold_back(2, "2#1, 3#2"), "holds back 2#1, 3#2");
        assert_eq!(describe_hold_back(0, ""), "holds back no messages");
        let text = describe_hold_back(900, &"2#1, ".repeat(900));
        assert!(
            text.starts_with("holds back 900 messages: 2#1, ") && text.ends_with('…') && text.len() < 160,
            "{text}"
        );
    }

    #[test]
    fn a_body_loses_only_the_quotation_marks_of_json() {
        let body = serde_json::json!({ "name": "a \"b\" \\ c\n" });
        assert_eq!(super::format_body(&(&body as _)), r#"{name:a "b" \ c\n}"#);
    }

    #[test]
    fn control_and_direction_characters_are_escaped() {
        assert_eq!(escape_controls("a\u{1b}[31mb\u{202e}c\nd"), r"a\u{1b}[31mb\u{202e}c\u{a}d");
        assert_eq!(escape_controls("<b>&\"'שלום→"), "<b>&\"'שלום→");
    }
}
