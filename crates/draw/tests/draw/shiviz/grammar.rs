//! The rules that ShiViz applies to a log, after its `parser.js`, `vectorTimestamp.js` and
//! `modelGraph.js`; and one that ShiViz contains but does not apply ([`check_causal_closure`]).

use std::collections::BTreeMap;

/// An event as ShiViz reads it.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) host: String,
    pub(crate) clock: BTreeMap<String, u64>,
    pub(crate) time: String,
    pub(crate) text: String,
}

/// Parses a file, or returns the rule that it breaks.
pub(crate) fn parse(file: &str) -> Result<Vec<Event>, String> {
    let mut lines = file.splitn(3, '\n');
    if lines.next() != Some(r"(?<host>\S*) (?<clock>{.*})\n(?<time>\S*) (?<event>.*)") {
        return Err("the first line is not the regular expression that is read here".into());
    }
    if lines.next() != Some("") {
        return Err("the second line would split the log".into());
    }
    let events = match_events(lines.next().unwrap_or_default().trim())?;
    check_clocks(&events)?;
    Ok(events)
}

/// Returns the matches of the regular expression, each from the start of a line to the end of the
/// next. They must cover the whole log.
fn match_events(log: &str) -> Result<Vec<Event>, String> {
    if log.is_empty() {
        return Err("there are no events".into());
    }
    // In JavaScript, `.` does not match these line ends.
    let lines: Vec<&str> = log.split(['\n', '\r', '\u{2028}', '\u{2029}']).collect();
    let pairs = lines.chunks(2).map(|pair| match pair {
        [head, body] => parse_event(head, body),
        _ => Err(format!("half an event: {pair:?}")),
    });
    pairs.collect()
}

fn parse_event(head: &str, body: &str) -> Result<Event, String> {
    let (host, clock) = head.split_once(' ').ok_or_else(|| format!("no host: {head:?}"))?;
    let (time, text) = body.split_once(' ').ok_or_else(|| format!("no time: {body:?}"))?;
    if host.is_empty() || time.contains(char::is_whitespace) {
        return Err(format!("invalid host or time: {head:?} {body:?}"));
    }
    let clock = serde_json::from_str(clock).map_err(|error| format!("no clock: {clock:?}: {error}"))?;
    Ok(Event { host: host.into(), clock, time: time.into(), text: text.into() })
}

fn check_clocks(events: &[Event]) -> Result<(), String> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for event in events {
        let own_count = event.clock.get(&event.host).ok_or_else(|| format!("the host is missing from {event:?}"))?;
        let count = counts.entry(&event.host).or_default();
        *count += 1;
        if own_count != count {
            return Err(format!("event {count} of its host, but the clock says {own_count}: {event:?}"));
        }
    }
    for event in events {
        for (host, time) in &event.clock {
            match counts.get(host.as_str()) {
                Some(count) if (1..=*count).contains(time) => {}
                _ => return Err(format!("the clock includes {host}:{time}, which does not exist: {event:?}")),
            }
        }
    }
    check_causal_closure(events)
}

/// Checks that a clock that includes an event includes all its causes. ShiViz contains this check
/// but does not call it.
fn check_causal_closure(events: &[Event]) -> Result<(), String> {
    let clocks: BTreeMap<(&str, u64), &BTreeMap<String, u64>> =
        events.iter().map(|event| ((event.host.as_str(), event.clock[&event.host]), &event.clock)).collect();
    for event in events {
        let previous = event.clock[&event.host].checked_sub(1).map(|count| (event.host.as_str(), count));
        let others = event.clock.iter().filter(|(host, _)| **host != event.host);
        let parents = others.map(|(host, time)| (host.as_str(), *time)).chain(previous);
        for parent in parents.filter_map(|parent| clocks.get(&parent)) {
            if parent.iter().any(|(host, time)| event.clock.get(host).is_none_or(|known| known < time)) {
                return Err(format!("the clock lacks causes of an event it includes: {event:?}, {parent:?}"));
            }
        }
    }
    Ok(())
}
