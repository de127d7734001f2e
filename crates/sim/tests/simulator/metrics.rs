//! Counting messages by the conventions of the book's tables.

use crate::common::{Act, Message, Stage, multicast, ping, send, send_message};
use quorate_core::{Class, Duration, Group};
use quorate_journal::metrics::{Delay, MessageSummary, Messages, Samples};

fn counted(stage: &Stage) -> Messages {
    stage.watched(Messages::new(stage.setup.nodes))
}

fn summary(stage: &Stage) -> MessageSummary {
    counted(stage).summary()
}

fn of_class(class: Class) -> Message {
    Message { class, on_behalf_of: None, then: vec![] }
}

#[test]
fn a_message_to_oneself_costs_nothing() {
    let summary = summary(&Stage::of(2).tell("0ms", 1, [send(1), send(1)]));
    assert_eq!((summary.total, summary.bytes, summary.control), (0, 0, 0));
    assert!(summary.by_kind.is_empty(), "{:?}", summary.by_kind);
    assert_eq!(summary.busiest_share, 0.0);
}

/// Whether it arrives is the network's affair: down, cut, lost or doubled, it was sent once.
#[test]
fn a_message_counts_when_it_is_sent() {
    let stage = Stage::of(2).tell("1ms", 1, [send(2)]);
    for stage in [
        stage.clone().fault("crash 2"),
        stage.clone().fault("cut 1 | 2"),
        stage.clone().loss("1"),
        stage.clone().duplicate("1"),
        stage,
    ] {
        assert_eq!(summary(&stage).total, 1);
    }
}

#[test]
fn a_multicast_costs_one_message_for_each_of_the_others() {
    let all = summary(&Stage::of(5).tell("0ms", 2, [multicast(5)]));
    assert_eq!((all.total, all.by_kind["ping"]), (4, 4));
    // The sender is no member of this group.
    let group: Group = [4, 5].map(crate::common::node).into_iter().collect();
    let some = Act::Multicast { to: group, message: ping([]), ahead: false };
    assert_eq!(summary(&Stage::of(5).tell("0ms", 2, [some])).total, 2);
    let alone = summary(&Stage::of(1).tell("0ms", 1, [multicast(1)]));
    assert_eq!((alone.total, alone.by_kind.len()), (0, 0));
}

#[test]
fn control_traffic_is_counted_apart() {
    let [algorithm, news, beat] = [Class::Algorithm, Class::Announcement, Class::Control].map(of_class);
    let beats = Act::Multicast { to: Group::of_size(3), message: beat.clone(), ahead: false };
    let stage =
        Stage::of(3).tell("0ms", 1, [send_message(2, algorithm), send_message(2, news), beats, send_message(3, beat)]);
    let summary = summary(&stage);
    assert_eq!((summary.total, summary.control), (2, 3));
    let kinds: Vec<_> = summary.by_kind.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(kinds, [("news", 1), ("ping", 1)]);
}

#[test]
fn bytes_are_those_of_the_encoding_on_the_wire() {
    let [long, beat] = [ping(vec![send(1); 9]), of_class(Class::Control)];
    let length = |message: &Message| postcard::to_stdvec(message).unwrap().len() as u64;
    let (long_length, beat_length) = (length(&long), length(&beat));
    assert!(long_length > 9 * 3);
    let group = Act::Multicast { to: Group::of_size(3), message: long.clone(), ahead: false };
    let summary = summary(&Stage::of(3).tell("0ms", 1, [send_message(2, long), group, send_message(2, beat)]));
    // The nine replies of each of the three receivers are short.
    let reply_length = length(&ping([]));
    assert_eq!(summary.bytes, 3 * long_length + 2 * 9 * reply_length + 9 * reply_length);
    assert_eq!(summary.control_bytes, beat_length);
}

#[test]
fn costs_are_told_apart_by_who_caused_them() {
    let serving = |number| Message { on_behalf_of: Some(crate::common::node(number)), ..ping([]) };
    let group = Act::Multicast { to: Group::of_size(3), message: serving(3), ahead: false };
    let beat = Message { class: Class::Control, ..serving(3) };
    let stage = Stage::of(3).tell("0ms", 1, [send_message(2, serving(2)), group, send(2), send_message(2, beat)]);
    let messages = counted(&stage);
    assert_eq!([1, 2, 3].map(|number| messages.caused_by(crate::common::node(number))), [0, 1, 2]);
    assert_eq!(messages.total(), 4);
}

#[test]
fn the_busiest_node_is_the_one_that_most_messages_pass() {
    // Everything passes node 1: a star.
    let star = Stage::of(4).tell("0ms", 1, [multicast(4)]).tell("5ms", 2, [send(1)]).tell("5ms", 3, [send(1)]);
    assert_eq!(counted(&star).busiest_share(), 1.0);
    // Each of four on a ring passes two of the four messages.
    let ring = (1..=4).fold(Stage::of(4), |stage, from| stage.tell("0ms", from, [send(1 + from % 4)]));
    assert_eq!(counted(&ring).busiest_share(), 0.5);
    // Control traffic makes nobody busy.
    let beats = vec![send_message(3, of_class(Class::Control)); 9];
    assert_eq!(counted(&ring.tell("0ms", 2, beats)).busiest_share(), 0.5);
}

#[test]
fn delays_have_a_mean_and_a_maximum() {
    let mut samples = Samples::default();
    assert_eq!(samples.in_unit(Duration::from_millis(1)), None);
    [1, 2, 6].map(Duration::from_millis).into_iter().for_each(|length| samples.add(length));
    assert_eq!(samples.in_unit(Duration::from_millis(2)), Some(Delay { mean: 1.5, max: 3.0, samples: 3 }));
    assert_eq!(samples.count(), 3);
}
