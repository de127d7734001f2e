//! Message counts by the conventions of the literature: a message of a node to itself does not
//! count, and control messages count separately. Also statistics of delays.

use crate::common::{Action, Message, Scenario, multicast, ping, send, send_message};
use quorate_core::{Class, Duration, Group};
use quorate_journal::metrics::{Delay, DelaySamples, MessageCounts, MessageSummary};

fn count_messages(scenario: &Scenario) -> MessageCounts {
    scenario.run_observed(MessageCounts::new(scenario.setup.nodes))
}

fn summarize(scenario: &Scenario) -> MessageSummary {
    count_messages(scenario).summary()
}

fn message_of_class(class: Class) -> Message {
    Message { class, on_behalf_of: None, then: vec![] }
}

#[test]
fn a_message_of_a_node_to_itself_does_not_count() {
    let summary = summarize(&Scenario::new(2).command("0ms", 1, [send(1), send(1)]));
    assert_eq!((summary.total, summary.bytes, summary.control), (0, 0, 0));
    assert!(summary.by_kind.is_empty(), "{:?}", summary.by_kind);
    assert_eq!(summary.busiest_share, 0.0);
}

/// A message counts once when it is sent, whether it is lost, cut, duplicated or sent to a node
/// that is down.
#[test]
fn a_message_counts_when_it_is_sent() {
    let scenario = Scenario::new(2).command("1ms", 1, [send(2)]);
    for scenario in [
        scenario.clone().fault("crash 2"),
        scenario.clone().fault("cut 1 | 2"),
        scenario.clone().loss("1"),
        scenario.clone().duplicate("1"),
        scenario,
    ] {
        assert_eq!(summarize(&scenario).total, 1);
    }
}

#[test]
fn a_multicast_costs_one_message_for_each_of_the_others() {
    let to_all = summarize(&Scenario::new(5).command("0ms", 2, [multicast(5)]));
    assert_eq!((to_all.total, to_all.by_kind["ping"]), (4, 4));
    // The sender is not a member of this group.
    let group: Group = [4, 5].map(crate::common::node).into_iter().collect();
    let to_two_others = Action::Multicast { to: group, message: ping([]), ahead: false };
    assert_eq!(summarize(&Scenario::new(5).command("0ms", 2, [to_two_others])).total, 2);
    let alone = summarize(&Scenario::new(1).command("0ms", 1, [multicast(1)]));
    assert_eq!((alone.total, alone.by_kind.len()), (0, 0));
}

#[test]
fn control_messages_are_counted_separately() {
    let [algorithm, news, beat] = [Class::Algorithm, Class::Announcement, Class::Control].map(message_of_class);
    let beats = Action::Multicast { to: Group::of_size(3), message: beat.clone(), ahead: false };
    let scenario = Scenario::new(3).command(
        "0ms",
        1,
        [send_message(2, algorithm), send_message(2, news), beats, send_message(3, beat)],
    );
    let summary = summarize(&scenario);
    assert_eq!((summary.total, summary.control), (2, 3));
    let kinds: Vec<_> = summary.by_kind.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(kinds, [("news", 1), ("ping", 1)]);
}

#[test]
fn bytes_are_those_of_the_encoding_on_the_wire() {
    let [long, beat] = [ping(vec![send(1); 9]), message_of_class(Class::Control)];
    let length = |message: &Message| postcard::to_stdvec(message).unwrap().len() as u64;
    let (long_length, beat_length) = (length(&long), length(&beat));
    assert!(long_length > 9 * 3, "the encoding must contain the nine actions");
    let group = Action::Multicast { to: Group::of_size(3), message: long.clone(), ahead: false };
    let summary = summarize(&Scenario::new(3).command("0ms", 1, [send_message(2, long), group, send_message(2, beat)]));
    // Each of the three copies of the long message causes nine short replies.
    let reply_length = length(&ping([]));
    assert_eq!(summary.bytes, 3 * (long_length + 9 * reply_length));
    assert_eq!(summary.control_bytes, beat_length);
}

#[test]
fn messages_are_attributed_to_the_requesting_node() {
    let serving = |number| Message { on_behalf_of: Some(crate::common::node(number)), ..ping([]) };
    let group = Action::Multicast { to: Group::of_size(3), message: serving(3), ahead: false };
    let beat = Message { class: Class::Control, ..serving(3) };
    let scenario =
        Scenario::new(3).command("0ms", 1, [send_message(2, serving(2)), group, send(2), send_message(2, beat)]);
    let messages = count_messages(&scenario);
    assert_eq!([1, 2, 3].map(|number| messages.caused_by(crate::common::node(number))), [0, 1, 2]);
    assert_eq!(messages.total(), 4);
}

#[test]
fn the_busiest_node_handles_the_most_messages() {
    // A star: node 1 sends or receives every message.
    let star =
        Scenario::new(4).command("0ms", 1, [multicast(4)]).command("5ms", 2, [send(1)]).command("5ms", 3, [send(1)]);
    assert_eq!(count_messages(&star).busiest_share(), 1.0);
    // A ring of four: each node handles two of the four messages.
    let ring = (1..=4).fold(Scenario::new(4), |scenario, from| scenario.command("0ms", from, [send(1 + from % 4)]));
    assert_eq!(count_messages(&ring).busiest_share(), 0.5);
    // Control messages do not count.
    let beats = vec![send_message(3, message_of_class(Class::Control)); 9];
    assert_eq!(count_messages(&ring.command("0ms", 2, beats)).busiest_share(), 0.5);
}

#[test]
fn delays_have_a_mean_and_a_maximum() {
    let mut samples = DelaySamples::default();
    assert_eq!(samples.in_units_of(Duration::from_millis(1)), None);
    [1, 2, 6].map(Duration::from_millis).into_iter().for_each(|delay| samples.add(delay));
    assert_eq!(samples.in_units_of(Duration::from_millis(2)), Some(Delay { mean: 1.5, max: 3.0, samples: 3 }));
    assert_eq!(samples.count(), 3);
}
