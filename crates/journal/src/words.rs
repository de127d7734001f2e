//! What happens in a run, in words: the same ones in a trace, in a diagram and in the log of a tool of others.
//!
//! A journal may come from anywhere, so that what it calls a message or a rule is shown as text whatever it is: a
//! character that would steer a terminal or turn the direction of a line is shown by its number.

use crate::moment::{Body, Done, Happening, Sent, Taken};
use quorate_core::{Class, Duration, Group, Time};
use std::borrow::Cow;
use std::fmt::{Display, Write};

/// What sort of thing a piece of text tells of, for those who colour it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    Input,
    Rule,
    Send,
    /// An acknowledgement, a repetition, a timer: what the algorithm itself does not see.
    Control,
    Queue,
    Event,
    World,
}

/// What a node takes.
pub fn input(input: &Taken<'_, impl Display>) -> String {
    match input {
        Taken::Start { incarnation, blank: false } if incarnation.0 == 0 => "starts".into(),
        Taken::Start { incarnation, blank } => {
            format!("starts again (life {incarnation}{})", if *blank { ", with an empty disk" } else { "" })
        }
        Taken::Command(command) => clean(&command.to_string()).into_owned(),
        Taken::Message { id, kind, .. } => format!("{} from {}", clean(kind), id.sender),
        Taken::Timer(timer) => format!("timer {}", json(timer)),
        Taken::Saved(count) => format!("{count} saved"),
        Taken::Suspect(node) => format!("suspects {node}"),
        Taken::Trust(node) => format!("trusts {node}"),
        Taken::DiskFull => "disk full".into(),
        Taken::DiskFree => "disk free".into(),
        Taken::View(view) => view.to_string(),
        Taken::Lease(Time::NEVER) => "lease without end".into(),
        Taken::Lease(until) => format!("lease until {}", millis(*until)),
    }
}

/// Nobody watches a run for longer.
const LIFETIME: Duration = Duration::from_secs(100 * 365 * 86_400);

/// What a node does. A parcel that is handed on is no news to a person.
pub fn effect(effect: &Done<'_, impl Display>) -> Option<(Sort, String)> {
    Some(match effect {
        Done::Send { to, sent } => transmission(sent, &to.to_string()),
        Done::Multicast { to, sent } => {
            let others: Group = to.others(sent.id.sender).collect();
            transmission(sent, &others.to_string())
        }
        Done::Save(write) => (Sort::Control, format!("saves {}", json(write))),
        // What waits for a lease without end is set, but nobody will see it fire.
        Done::SetTimer { timer, span } if span.earliest > LIFETIME => {
            (Sort::Control, format!("sets timer {} (without end)", json(timer)))
        }
        Done::SetTimer { timer, span } => (Sort::Control, format!("sets timer {} ({span})", json(timer))),
        Done::CancelTimer(timer) => (Sort::Control, format!("cancels timer {}", json(timer))),
        Done::Emit(event) => (Sort::Event, clean(&event.to_string()).into_owned()),
        Done::Rule { rule, text } => (Sort::Rule, format!("{} {}", clean(rule), clean(&text.to_string()))),
        Done::HoldBack { count, names } => (Sort::Queue, queue(*count, &names.to_string())),
        // A rule says it in words.
        Done::Handed { .. } | Done::Told(_) => return None,
    })
}

/// Nobody reads more letters of a queue in a line.
const MOST_NAMES: usize = 120;

fn queue(count: usize, names: &str) -> String {
    match names.char_indices().nth(MOST_NAMES) {
        _ if count == 0 => "holds back nothing".into(),
        Some((end, _)) => format!("holds back {count}: {}…", clean(&names[..end])),
        None => format!("holds back {}", clean(names)),
    }
}

fn transmission(sent: &Sent<'_>, to: &str) -> (Sort, String) {
    let kind = match sent.label {
        Some(label) => Cow::Owned(format!("{} {}", clean(sent.kind), clean(&label.to_string()))),
        None => clean(sent.kind),
    };
    match (sent.class, sent.again) {
        (Class::Control, true) => (Sort::Control, format!("{kind} again → {to}")),
        (Class::Control, false) => (Sort::Control, format!("{kind} → {to}")),
        (Class::Algorithm | Class::Announcement, _) => (Sort::Send, format!("{kind} → {to}")),
    }
}

/// What the world does.
pub fn world(what: &Happening<'_>) -> String {
    match what {
        Happening::Lost { id, to, why } => format!("message {id} to {to}: {why}"),
        Happening::Duplicated { id } => format!("message {id} will arrive twice"),
        Happening::Crashed { node, lost_writes: 0 } => format!("node {node} crashes"),
        Happening::Crashed { node, lost_writes: 1 } => format!("node {node} crashes and loses a write"),
        Happening::Crashed { node, lost_writes } => format!("node {node} crashes and loses {lost_writes} writes"),
        Happening::Ended { node } => format!("node {node} is stopped"),
        Happening::Paused { node } => format!("node {node} stands still"),
        Happening::Resumed { node } => format!("node {node} goes on"),
        Happening::Changed { text } => clean(text).into_owned(),
    }
}

/// A body as a person reads it: JSON without its quotation marks.
pub fn json(body: &Body<'_>) -> String {
    let written = serde_json::to_string(body).unwrap_or_default();
    let mut text = String::with_capacity(written.len());
    let mut letters = written.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {}
            // What is escaped are quotation marks and backslashes of the text itself, and controls, which stay as they are.
            '\\' => match letters.next() {
                Some(mark @ ('"' | '\\')) => text.push(mark),
                Some(other) => text.extend(['\\', other]),
                None => {}
            },
            other => text.push(other),
        }
    }
    clean(&text).into_owned()
}

/// Milliseconds with three places.
pub fn millis(time: Time) -> String {
    let micros = time.nanos() / 1_000;
    let sign = if micros < 0 { "-" } else { "" };
    format!("{sign}{}.{:03}", micros.abs() / 1_000, micros.abs() % 1_000)
}

/// The text with every character by its number that would not show, but do something.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if acts(character) {
            let _ = write!(shown, "{}", character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Controls, line ends of other alphabets, marks that turn or hide what stands around them, and what is no character.
fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(character, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}')
        || matches!(character, '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::{Sort, clean, effect};
    use crate::moment::Done;

    fn told(done: &Done<'_, String>) -> Option<(Sort, String)> {
        effect(done)
    }

    fn queue(count: usize, names: &str) -> String {
        match told(&Done::HoldBack { count, names: format_args!("{names}") }) {
            Some((Sort::Queue, text)) => text,
            other => panic!("{other:?} is no queue"),
        }
    }

    #[test]
    fn what_waits_is_told_by_name_as_far_as_a_line_goes() {
        assert_eq!(queue(2, "2#1, 3#2"), "holds back 2#1, 3#2");
        assert_eq!(queue(0, ""), "holds back nothing");
        let text = queue(900, &"2#1, ".repeat(900));
        assert!(text.starts_with("holds back 900: 2#1, ") && text.ends_with('…') && text.len() < 150, "{text}");
    }

    #[test]
    fn a_body_loses_its_own_quotation_marks_alone() {
        let body = serde_json::json!({ "name": "a \"b\" \\ c\n" });
        assert_eq!(super::json(&(&body as _)), r#"{name:a "b" \ c\n}"#);
    }

    #[test]
    fn what_would_steer_a_terminal_or_turn_a_line_is_shown_by_its_number() {
        assert_eq!(clean("a\u{1b}[31mb\u{202e}c\nd"), r"a\u{1b}[31mb\u{202e}c\u{a}d");
        assert_eq!(clean("<b>&\"'שלום→"), "<b>&\"'שלום→");
    }
}
