//! Tests of the measures of multicasts on hand-written histories, with one action a millisecond:
//! `1#2 sent, 1#2 to 3 1` says that node 1 sends its second message, and then node 3 and then node
//! 1 deliver it. `view(2, [(1, 1)])` is view 2, with node 1 as a member since view 1.

use super::{Action, actions, delivers, id, in_view, node, observe_all, observe_event, view};
use quorate_core::multicast::{Event, GroupId};
use quorate_core::{Class, Duration, Group, Incarnation, Time};
use quorate_journal::metrics::MessageCounts;
use quorate_journal::moment::{MessageId as Transmission, Moment, ObservedEffect, Observer, Sent};
use quorate_lab::multicast::run::{Measures, MulticastSummary};

fn summary(measures: &Measures) -> MulticastSummary {
    measures.summary(&MessageCounts::new(3), Duration::from_millis(1), "ms")
}

#[test]
fn a_delay_is_from_the_send_to_each_delivery() {
    let mut measures = Measures::new(3);
    observe_all(&mut measures, &actions("1#1 sent, 1#1 to 1 2 3"));
    let summary = summary(&measures);
    let delay = summary.delay.expect("it was delivered");
    assert_eq!((delay.mean, delay.max, delay.samples), (2.0, 3.0, 3));
    assert_eq!((summary.sent, summary.delivered, measures.in_flight()), (1, 3, 0));
    let slowest: Vec<_> = summary.slowest.iter().map(|receiver| receiver.node.number()).collect();
    assert_eq!(slowest, [3, 2, 1]);
}

#[test]
fn nodes_that_others_wait_for_are_listed_first() {
    let mut measures = Measures::new(3);
    observe_all(&mut measures, &actions("1#1 sent, 1#1 to 1 2 3"));
    let slow = Group::from(vec![node(2)]);
    observe_event(&mut measures, Time::ZERO, node(1), Event::Wait { group: GroupId::ONLY, slow });
    measures.record_held_back(node(2), 4);
    measures.record_held_back(node(2), 3);
    let summary = summary(&measures);
    assert_eq!((summary.waits, summary.max_held_back), (1, 4));
    let first = summary.slowest.first().expect("there are receivers");
    assert_eq!((first.node, first.waited_for, first.max_held_back), (node(2), 1, 4));
}

#[test]
fn a_retransmission_counts_for_each_receiver() {
    let mut measures = Measures::new(3);
    let group = Group::of_size(3);
    for is_retransmission in [false, true] {
        let id = Transmission { sender: node(1), number: 1 };
        let (kind, class, on_behalf_of, bytes, payload_id) = ("text", Class::Control, None, 0, None);
        let sent = Sent { id, kind, label: None, class, on_behalf_of, bytes, payload_id, is_retransmission, body: &() };
        let effect = ObservedEffect::Multicast { to: &group, sent };
        measures.observe(&Moment::Effect { time: Time::ZERO, node: node(1), effect });
    }
    // The second multicast is a retransmission to the two other members.
    assert_eq!(summary(&measures).retransmitted, 2);
}

#[test]
fn messages_that_no_node_can_deliver_are_forgotten() {
    let mut measures = Measures::new(3);
    observe_all(&mut measures, &actions("1#1 sent, 1#1 to 1 2"));
    assert_eq!(measures.in_flight(), 1);
    // Without views, a node that was down is no longer a member, even after its restart.
    observe_all(&mut measures, &[Action::Crashes(node(3)), Action::Restarts(node(3), Incarnation(1))]);
    assert_eq!(measures.in_flight(), 0);
    observe_all(&mut measures, &[Action::SendsAndDelivers(node(1), id(1, 2), "m"), delivers(2, 1, 2)]);
    assert_eq!(measures.in_flight(), 0);
}

#[test]
fn views_and_the_recovery_time_are_reported() {
    let mut measures = Measures::new(2);
    let first = view(1, [(1, 1), (2, 1)]);
    let second = view(2, [(1, 1)]);
    observe_all(&mut measures, &[1, 2].map(|number| Action::Begins(node(number), first.clone(), 0)));
    observe_all(&mut measures, &actions("1#1 sent, 2 crashes, 1#1 to 1"));
    let in_second_view = in_view(2, 1, 1);
    let sender = node(1);
    observe_all(
        &mut measures,
        &[
            Action::Begins(sender, second, 0),
            Action::Sends(sender, in_second_view, "m"),
            Action::Delivers(sender, in_second_view, "m"),
        ],
    );
    let views = summary(&measures).views.expect("there are views");
    // A removal counts when the removed node learns of it, which node 2 never does. The recovery
    // takes from the crash to the next delivery, one action later.
    assert_eq!((views.epoch, views.begun, views.removals, views.leaves), (2, 2, 0, 0));
    assert_eq!((views.recovery_ns, measures.in_flight()), (Some(1_000_000), 0));
}

#[test]
fn the_json_names_are_stable() {
    let mut measures = Measures::new(1);
    observe_all(&mut measures, &actions("1#1 sent, 1#1 to 1"));
    let json = serde_json::to_value(summary(&measures)).expect("serializable");
    for name in ["sent", "delivered", "messages_per_multicast", "delay", "held_back_max", "retransmitted", "waits"] {
        assert!(json.get(name).is_some(), "{name} is missing in {json}");
    }
    assert_eq!(json["delay"]["mean"], 1.0);
    assert_eq!(json["delay"]["max"], 1.0);
}
