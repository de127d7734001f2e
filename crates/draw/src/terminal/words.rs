//! Texts of a line, shortened to the available width.

use super::TextStyle;
use super::text::display_width;
use quorate_journal::words::TextKind;

/// Separator between two texts.
pub(super) const SEPARATOR: &str = " · ";

/// Prefixes of texts about local effects.
const LOCAL_PREFIXES: [&str; 3] = ["saves ", "sets timer ", "cancels timer "];

/// Merges sends, and shortens texts towards `max_columns` columns, but never drops inputs and
/// client events. Control effects (control messages, saves, timers) are dropped first; then sends
/// (the arrows show them), if there is a rule or an event; then the notes of rules except their
/// ids, if there is an event.
pub(super) fn shorten(texts: &[(TextStyle, String)], max_columns: usize) -> Vec<(TextStyle, String)> {
    let mut texts = merge_sends(texts);
    if total_width(&texts) > max_columns {
        texts.retain(|(style, _)| *style != TextStyle::Part(TextKind::Control));
    }
    let has = |kind| texts.iter().any(|(style, _)| *style == TextStyle::Part(kind));
    let (has_rules, has_events) = (has(TextKind::Rule), has(TextKind::Event));
    if total_width(&texts) > max_columns && (has_rules || has_events) {
        texts.retain(|(style, _)| *style != TextStyle::Part(TextKind::Send));
    }
    for index in (0..texts.len()).rev() {
        if total_width(&texts) <= max_columns {
            break;
        }
        if let Some((TextStyle::Part(TextKind::Rule), text)) = texts.get_mut(index)
            && let Some(end) = text.find(' ').filter(|_| has_events)
        {
            text.truncate(end);
        }
    }
    texts
}

fn total_width(texts: &[(TextStyle, String)]) -> usize {
    let total: usize = texts.iter().map(|(_, text)| display_width(text) + display_width(SEPARATOR)).sum();
    total.saturating_sub(display_width(SEPARATOR))
}

/// Merges consecutive sends of messages of the same name, ignoring control effects in between.
fn merge_sends(texts: &[(TextStyle, String)]) -> Vec<(TextStyle, String)> {
    let mut merged: Vec<(TextStyle, String)> = Vec::with_capacity(texts.len());
    for (style, text) in texts {
        match split_receivers(*style, text).and_then(|(kind, to)| Some((previous_send(&mut merged, *style, kind)?, to)))
        {
            Some((previous, to)) => {
                previous.push(',');
                previous.push_str(to);
            }
            None => merged.push((*style, text.clone())),
        }
    }
    merged
}

/// Returns the last send of messages of this name (`kind`), if only control effects follow it.
fn previous_send<'a>(merged: &'a mut [(TextStyle, String)], style: TextStyle, kind: &str) -> Option<&'a mut String> {
    for (last_style, last) in merged.iter_mut().rev() {
        if *last_style == style && split_receivers(style, last).is_some_and(|(last_kind, _)| last_kind == kind) {
            return Some(last);
        }
        if *last_style != TextStyle::Part(TextKind::Control) {
            return None;
        }
    }
    None
}

/// Splits the text of a send into message and receivers; `None` if it is no send. A message may
/// have any name; its receivers come last and are numbers.
fn split_receivers(style: TextStyle, text: &str) -> Option<(&str, &str)> {
    let is_send = match style {
        TextStyle::Part(TextKind::Send) => true,
        // The text of a local effect is arbitrary. A message whose name looks like one is not
        // merged.
        TextStyle::Part(TextKind::Control) => !LOCAL_PREFIXES.iter().any(|prefix| text.starts_with(prefix)),
        TextStyle::Part(TextKind::Input | TextKind::Rule | TextKind::Queue | TextKind::Event | TextKind::World)
        | TextStyle::Role(_)
        | TextStyle::Message
        | TextStyle::Control
        | TextStyle::Alarm
        | TextStyle::Faint
        | TextStyle::Heading => false,
    };
    text.rsplit_once(" → ").filter(|_| is_send)
}

#[cfg(test)]
mod tests {
    use super::merge_sends;
    use crate::terminal::TextStyle;
    use quorate_core::{Class, Duration, NodeId, Span};
    use quorate_journal::moment::{Body, MessageId, ObservedEffect, Sent};
    use quorate_journal::words::describe_effect;

    fn merged(effects: &[ObservedEffect<'_, String>]) -> Vec<String> {
        let texts: Vec<_> =
            effects.iter().filter_map(describe_effect).map(|(kind, text)| (TextStyle::Part(kind), text)).collect();
        merge_sends(&texts).into_iter().map(|(_, text)| text).collect()
    }

    fn sent<'a>(to: usize, kind: &'a str, class: Class) -> ObservedEffect<'a, String> {
        let id = MessageId { sender: NodeId::from_index(0), number: to as u64 };
        let sent = Sent {
            id,
            kind,
            label: None,
            class,
            on_behalf_of: None,
            bytes: 1,
            payload_id: None,
            is_retransmission: false,
            body: &1,
        };
        ObservedEffect::Send { to: NodeId::from_index(to), sent }
    }

    #[test]
    fn sends_of_messages_of_the_same_name_are_merged() {
        for class in [Class::Algorithm, Class::Control] {
            assert_eq!(merged(&[sent(1, "ack", class), sent(2, "ack", class)]), ["ack → 2,3"]);
            assert_eq!(merged(&[sent(1, "a → b", class), sent(2, "a → c", class)]), ["a → b → 2", "a → c → 3"]);
        }
    }

    #[test]
    fn local_effects_are_never_merged_as_messages() {
        let (one, other): (Body<'_>, Body<'_>) = (&"a → 2", &"a → 3");
        assert_eq!(merged(&[ObservedEffect::Save(one), ObservedEffect::Save(other)]), ["saves a → 2", "saves a → 3"]);
        assert_eq!(merged(&[ObservedEffect::CancelTimer(one), ObservedEffect::CancelTimer(other)]).len(), 2);
        let set = |timer| ObservedEffect::SetTimer { timer, span: Span::exactly(Duration::ZERO) };
        assert_eq!(merged(&[set(one), set(other)]).len(), 2);
    }
}
