//! The output lines of `quorate node --json`.

use quorate_core::Incarnation;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

/// One output line, parsed.
#[derive(Debug, PartialEq)]
pub(crate) enum NodeLine<E> {
    /// The node listens at this address and waits for the addresses of its peers.
    Listening(String),
    Started(Incarnation),
    Event(E),
    /// The node refused a command, for this reason.
    Refused(String),
    Stopped,
    /// A valid line that a live run does not use.
    Other,
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

/// Parses a line. `None` if it is not a JSON object, or a known field has an invalid value, such as
/// an event of another family.
pub(crate) fn parse<E: DeserializeOwned>(line: &str) -> Option<NodeLine<E>> {
    let line: Line<E> = serde_json::from_str(line).ok()?;
    Some(match line {
        Line { event: Some(event), .. } => NodeLine::Event(event),
        Line { listening: Some(address), .. } => NodeLine::Listening(address),
        Line { started: Some(Started { incarnation }), .. } => NodeLine::Started(incarnation),
        Line { refused: Some(reason), .. } => NodeLine::Refused(reason),
        Line { stopped: Some(IgnoredAny), .. } => NodeLine::Stopped,
        Line { .. } => NodeLine::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::{NodeLine, parse};
    use quorate_core::Incarnation;
    use quorate_core::mutex::Event;

    #[test]
    fn every_line_of_a_node_is_parsed() {
        let parsed = |line| parse::<Event>(line);
        assert_eq!(parsed(r#"{"listening":"127.0.0.1:41234"}"#), Some(NodeLine::Listening("127.0.0.1:41234".into())));
        assert_eq!(parsed(r#"{"started":{"incarnation":2}}"#), Some(NodeLine::Started(Incarnation(2))));
        assert_eq!(parsed(r#"{"event":"left","time":12}"#), Some(NodeLine::Event(Event::Left)));
        assert_eq!(parsed(r#"{"refused":"what?"}"#), Some(NodeLine::Refused("what?".into())));
        assert_eq!(parsed(r#"{"stopped":{"messages":3}}"#), Some(NodeLine::Stopped));
        assert_eq!(parsed(r#"{"met":{"node":3}}"#), Some(NodeLine::Other));
        for garbage in ["", "{", "listening", "[]", r#"{"event":{"risen":1}}"#, r#"{"started":7}"#] {
            assert_eq!(parsed(garbage), None, "{garbage}");
        }
    }
}
