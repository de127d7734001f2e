//! Malformed journals of the mutex family. Observers may reach any verdict on them, but must not
//! panic.

use proptest::prelude::{ProptestConfig, any, prop, proptest};
use quorate_core::Duration;
use quorate_core::mutex::{Command, Event};
use quorate_journal::metrics::MessageCounts;
use quorate_journal::record::{Journal, Writer};
use quorate_lab::mutex::run::{Expectations, Measures, OrderCheck, Properties};

const HEADER: &str = r#"{"journal":1,"algorithm":"scripted","family":"toys","nodes":3,"seed":1,"run":null}"#;

/// Feeds a journal to every observer of the mutex family, up to the first line that cannot be read.
fn observe(text: &[u8]) {
    let Ok(mut journal) = Journal::open(text) else { return };
    let header = journal.header().clone();
    let nodes = header.nodes;
    // Observers of a large group would make the test slow.
    if nodes > 1_000 {
        return;
    }
    let expectations = Expectations {
        has_fences: true,
        order: OrderCheck::Promised,
        expects_contention: true,
        ..Expectations::default()
    };
    let mut measures = Measures::new(nodes, None, Duration::ZERO);
    let mut properties = Properties::new(nodes, expectations);
    let mut messages = MessageCounts::new(nodes);
    let mut writer = Writer::new(Vec::new(), &header);
    let mut observers = ((&mut measures, &mut properties), (&mut messages, &mut writer));
    let _ = journal.show_all::<Command, Event>(&mut observers);
    let _ = (properties.verdicts(), measures.summary(&messages, &properties, Duration::from_millis(1), "T"));
}

/// A hand-written journal with the largest possible numbers.
#[test]
fn the_largest_numbers_make_no_observer_panic() {
    let lines = [
        r#"{"time":9223372036854775807,"node":1,"input":{"start":{"incarnation":18446744073709551615}},"effects":[{"multicast":{"id":"1.18446744073709551615","to":[1,2,3],"kind":"ping","bytes":18446744073709551615,"body":1}},{"multicast":{"id":"1.18446744073709551615","to":[1,2,3],"kind":"ping","bytes":18446744073709551615,"class":"control","body":1}}]}"#,
        r#"{"time":-9223372036854775808,"node":1,"clock":9223372036854775807,"input":{"saved":18446744073709551615},"effects":[{"send":{"id":"1.18446744073709551615","to":4294967295,"kind":"ping","bytes":18446744073709551615,"body":1}},{"emit":{"entered":{"fence":{"epoch":18446744073709551615,"counter":18446744073709551615}}}}]}"#,
        r#"{"time":0,"node":2,"input":{"command":"acquire"},"effects":[{"emit":"left"},{"emit":"left"},{"emit":"denied"}]}"#,
        r#"{"time":0,"world":{"crashed":{"node":1,"lost_writes":18446744073709551615}}}"#,
        r#"{"time":0,"world":{"duplicated":{"id":"1.18446744073709551615"}}}"#,
    ];
    observe(format!("{HEADER}\n{}\n", lines.join("\n")).as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_bytes_make_an_observer_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), has_header in any::<bool>()) {
        let mut text = if has_header { format!("{HEADER}\n").into_bytes() } else { Vec::new() };
        text.extend(bytes);
        observe(&text);
    }
}
