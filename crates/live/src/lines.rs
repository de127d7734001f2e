//! What `quorate node --json` says, a line each.

use quorate_core::Incarnation;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

#[derive(Debug, PartialEq)]
pub(crate) enum Said<E> {
    /// It takes connections at this address, and wants to know those of all others.
    Listening(String),
    Started(Incarnation),
    Event(E),
    Refused(String),
    Stopped,
    Aside,
}

#[derive(Deserialize)]
#[serde(bound = "E: DeserializeOwned")]
struct Line<E> {
    listening: Option<String>,
    started: Option<Started>,
    event: Option<E>,
    refused: Option<String>,
    stopped: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Started {
    incarnation: Incarnation,
}

/// Reads a line; none that is no JSON object, or has an event of another family.
pub(crate) fn read<E: DeserializeOwned>(line: &str) -> Option<Said<E>> {
    let line: Line<E> = serde_json::from_str(line).ok()?;
    Some(match line {
        Line { event: Some(event), .. } => Said::Event(event),
        Line { listening: Some(address), .. } => Said::Listening(address),
        Line { started: Some(Started { incarnation }), .. } => Said::Started(incarnation),
        Line { refused: Some(why), .. } => Said::Refused(why),
        Line { stopped: Some(IgnoredAny), .. } => Said::Stopped,
        Line { .. } => Said::Aside,
    })
}

#[cfg(test)]
mod tests {
    use super::{Said, read};
    use quorate_core::Incarnation;
    use quorate_core::mutex::Event;

    #[test]
    fn every_line_of_a_node_is_understood() {
        let said = |line| read::<Event>(line);
        assert_eq!(said(r#"{"listening":"127.0.0.1:41234"}"#), Some(Said::Listening("127.0.0.1:41234".into())));
        assert_eq!(said(r#"{"started":{"incarnation":2}}"#), Some(Said::Started(Incarnation(2))));
        assert_eq!(said(r#"{"event":"left","time":12}"#), Some(Said::Event(Event::Left)));
        assert_eq!(said(r#"{"refused":"what?"}"#), Some(Said::Refused("what?".into())));
        assert_eq!(said(r#"{"stopped":{"messages":3}}"#), Some(Said::Stopped));
        assert_eq!(said(r#"{"met":{"node":3}}"#), Some(Said::Aside));
        for garbage in ["", "{", "listening", "[]", r#"{"event":{"risen":1}}"#, r#"{"started":7}"#] {
            assert_eq!(said(garbage), None, "{garbage}");
        }
    }
}
