//! Seeded violations of each kind in hand-written histories, and histories without violations.
//!
//! In histories, `1#2` is the second message of node 1, and `1#2 to 3 1` says that node 3 and then
//! node 1 deliver it. `delivers(2, 1, 3)` says that node 2 delivers 1#3, and `id(1, 3)` is the id
//! of 1#3; both mean messages of view 1, while `in_view(2, 1, 3)` is an id in view 2. Views such as
//! `view(2, [(1, 1), (3, 2)])` have a number and members: node 1 since view 1, node 3 since view 2.
//! `WITHOUT_VIEWS` is every property but view synchrony; `NON_UNIFORM` leaves out uniformity too.

use super::{
    Action, NON_UNIFORM, WITHOUT_VIEWS, actions, delivers, id, in_view, node, observe_all, observe_event,
    observe_input, sends, view, violated_properties, violation_texts,
};
use quorate_core::multicast::{Command, Event, GroupId, Payload};
use quorate_core::{Group, Incarnation, Time};
use quorate_journal::moment::ObservedInput;
use quorate_lab::multicast::run::{Properties, Property, PropertySet};

/// Formats each violation as `property: text`.
fn format_violations(violation_texts: Vec<(Property, String)>) -> Vec<String> {
    violation_texts.into_iter().map(|(property, text)| format!("{}: {text}", property.name())).collect()
}

#[test]
fn a_message_that_all_deliver_violates_nothing() {
    assert_eq!(violated_properties(2, WITHOUT_VIEWS, &actions("1#1 sent, 1#1 to 1 2")), []);
    let at_once = [Action::SendsAndDelivers(node(1), id(1, 1), "m"), delivers(2, 1, 1)];
    assert_eq!(violated_properties(2, WITHOUT_VIEWS, &at_once), []);
}

/// Asserts that exactly these violations are found.
#[track_caller]
fn assert_caught(nodes: usize, promises: PropertySet, actions: &[Action], expected: &[&str]) {
    assert_eq!(format_violations(violation_texts(nodes, promises, actions)), expected);
}

#[test]
fn a_second_delivery_is_caught_even_after_all_have_delivered() {
    assert_caught(2, WITHOUT_VIEWS, &actions("1#1 sent, 1#1 to 1 2 2"), &["integrity: node 2 delivers 1#1 twice"]);
}

#[test]
fn delivering_an_unsent_message_is_caught() {
    let unsent = actions("1#1 sent, 1#1 to 1 2, 1#2 to 2");
    assert_caught(2, WITHOUT_VIEWS, &unsent, &["integrity: node 2 delivers 1#2, which node 1 has not sent"]);
    // Only the sender may deliver a message before it reports the send, and only in the same step.
    assert_eq!(violated_properties(2, WITHOUT_VIEWS, &actions("1#1 to 1, 1#1 sent, 1#1 to 2")), [Property::Integrity]);
    let never_sent = actions("1#1 to 1 2");
    assert_caught(
        2,
        WITHOUT_VIEWS,
        &never_sent,
        &["integrity: node 1 delivers 1#1, but does not report that it sent it"],
    );
}

#[test]
fn a_changed_payload_is_caught() {
    let changed = [sends(1, 1), delivers(1, 1, 1), Action::Delivers(node(2), id(1, 1), "n")];
    let expected = "integrity: node 2 delivers 1#1 as \"n\", but it was sent as \"m\"";
    assert_caught(2, WITHOUT_VIEWS, &changed, &[expected]);
}

/// Requests are answered in order: a request that waits or is refused has no id, and the next
/// answer is about the next request.
#[test]
fn the_payload_of_an_id_is_known_from_the_order_of_requests() {
    let send = |text: &str| Command::send(text);
    let judge = |delivered: &str| {
        let mut properties = Properties::new(1, NON_UNIFORM);
        for text in ["a", "b", "c"] {
            observe_input(&mut properties, Time::ZERO, node(1), ObservedInput::Command(&send(text)));
        }
        let wait = Event::Wait { group: GroupId::ONLY, slow: Group::of_size(1) };
        for event in [wait, Event::Refused(quorate_core::multicast::Refusal::TooLong), Event::Sent { id: id(1, 1) }] {
            observe_event(&mut properties, Time::ZERO, node(1), event);
        }
        let payload = Payload::from(delivered);
        observe_event(&mut properties, Time::ZERO, node(1), Event::Delivered { id: id(1, 1), payload });
        properties.verdicts().iter().all(|verdict| verdict.holds == Some(true))
    };
    assert!(judge("c"));
    assert!(!judge("a") && !judge("b"));
}

#[test]
fn an_id_that_is_used_twice_or_belongs_to_another_sender_is_caught() {
    assert_eq!(violated_properties(1, WITHOUT_VIEWS, &actions("1#1 sent, 1#1 to 1, 1#1 sent")), [Property::Integrity]);
    let id_of_other_sender = [Action::Sends(node(1), id(2, 1), "m")];
    assert_eq!(violated_properties(2, WITHOUT_VIEWS, &id_of_other_sender), [Property::Integrity]);
}

#[test]
fn missing_a_message_that_another_node_delivered_is_caught() {
    let missed = actions("1#1 sent, 1#1 to 1 2, 1 crashes");
    assert_caught(3, NON_UNIFORM, &missed, &["agreement: node 2 has delivered 1#1, but node 3 never does"]);
}

#[test]
fn deliveries_of_crashed_nodes_count_only_if_delivery_is_uniform() {
    let actions = actions("1#1 sent, 1#1 to 1, 1 crashes");
    assert_caught(3, NON_UNIFORM, &actions, &[]);
    assert_caught(3, WITHOUT_VIEWS, &actions, &["uniform: node 1 has delivered 1#1, but node 2 never does"]);
}

#[test]
fn a_sender_that_does_not_deliver_its_own_message_is_caught() {
    let violations = violation_texts(2, NON_UNIFORM, &actions("1#1 sent, 1#1 to 2"));
    assert!(
        format_violations(violations)
            .contains(&"validity: node 1 has sent 1#1, but never delivers it itself".to_owned())
    );
    let promises = PropertySet { delivered: true, ..PropertySet::NONE };
    let lost = actions("1#1 sent, 1#1 to 1");
    assert_caught(2, promises, &lost, &["delivered: node 1 has sent 1#1, but node 2 never delivers it"]);
}

#[test]
fn a_request_without_an_answer_is_caught() {
    let mut properties = Properties::new(2, PropertySet::RELIABLE);
    observe_all(&mut properties, &actions("1#1 sent, 1#1 to 1 2"));
    observe_input(&mut properties, Time::ZERO, node(2), ObservedInput::Command(&Command::send("x")));
    let texts: Vec<_> = properties.verdicts().into_iter().filter_map(|verdict| verdict.violation).collect();
    assert_eq!(texts.len(), 1);
    assert_eq!(texts[0].text, "node 2 received a request to send \"x\", but never answers");
}

#[test]
fn delivering_a_later_message_first_is_caught() {
    let reordered = actions("1#1 sent, 1#2 sent, 1#1 to 1, 1#2 to 1 2, 1#1 to 2");
    let promises = PropertySet { fifo: true, ..PropertySet::RELIABLE };
    assert_caught(2, promises, &reordered, &["fifo: node 2 delivers 1#2 before an earlier message of node 1"]);
}

#[test]
fn delivering_a_reply_before_its_cause_is_caught() {
    let reordered = actions("1#1 sent, 1#1 to 1 2, 2#1 sent, 2#1 to 2 1 3, 1#1 to 3");
    let promises = PropertySet { fifo: true, causal: true, ..PropertySet::RELIABLE };
    assert_caught(3, promises, &reordered, &["causal: node 3 delivers 2#1 before 1#1, which happened before it"]);
}

/// Node 4 delivers a reply, and a reply to that reply, without the original, which is a cause of
/// both.
#[test]
fn delivering_replies_without_the_original_is_caught() {
    let actions =
        actions("1#1 sent, 1#1 to 1 2, 2#1 sent, 2#1 to 2, 1#1 to 3, 2#1 to 3, 3#1 sent, 3#1 to 3, 2#1 to 4, 3#1 to 4");
    let promises = PropertySet { causal: true, ..PropertySet::NONE };
    assert_eq!(violated_properties(4, promises, &actions), [Property::Causal]);
}

const TWO_ORDERS: &str = "1#1 sent, 2#1 sent, 1#1 to 1, 2#1 to 1 2, 1#1 to 2";

#[test]
fn two_orders_are_caught_unless_one_of_the_nodes_crashes() {
    let two_orders = actions(TWO_ORDERS);
    assert_caught(
        2,
        NON_UNIFORM,
        &two_orders,
        &["total: node 2 delivers 2#1 before 1#1, but node 1 delivers 1#1 before 2#1"],
    );
    let with_crash = actions(&format!("{TWO_ORDERS}, 1 crashes"));
    // Only if delivery is uniform do the deliveries of the crashed node count.
    assert_eq!(violated_properties(2, NON_UNIFORM, &with_crash), []);
    assert_eq!(violated_properties(2, WITHOUT_VIEWS, &with_crash), [Property::Total]);
}

/// As long as two nodes have delivered only one common message, their orders do not differ.
#[test]
fn gaps_are_not_a_second_order() {
    let gaps = "1#1 sent, 2#1 sent, 2#1 to 1, 1#1 to 2, 2#1 to 2";
    let promises = PropertySet { total: true, ..PropertySet::NONE };
    assert_eq!(violated_properties(2, promises, &actions(gaps)), []);
    assert_eq!(violated_properties(2, promises, &actions(&format!("{gaps}, 1#1 to 1"))), [Property::Total]);
}

#[test]
fn a_property_that_is_not_promised_does_not_fail_and_can_be_queried() {
    let mut properties = Properties::new(2, PropertySet::RELIABLE).also_judging(WITHOUT_VIEWS);
    observe_all(&mut properties, &actions(TWO_ORDERS));
    assert!(properties.verdicts().iter().all(|verdict| verdict.holds == Some(true)));
    assert!(properties.verdicts().iter().all(|verdict| verdict.name != "total"));
    let total = properties.verdict(Property::Total).expect("it was judged");
    assert!(total.is_violated());
    assert_eq!((properties.violation_count(Property::Total), properties.violation_count(Property::Fifo)), (1, 0));
    assert_eq!(properties.verdict(Property::ViewSynchrony), None);
}

/// Without views, a restarted node is not a member: it may start to deliver in the middle, and has
/// no obligations.
#[test]
fn without_views_a_restarted_node_has_no_obligations() {
    let (before, restart) = (actions("1#1 sent, 1#1 to 1 2, 2 crashes"), Action::Restarts(node(2), Incarnation(1)));
    let history = [before, vec![restart], actions("1#1 to 2, 1#2 sent, 1#2 to 1")].concat();
    assert_eq!(violated_properties(2, NON_UNIFORM, &history), []);
}

/// The node begins a view with state 7.
fn begin_view(number: u32, view: quorate_core::View) -> Action {
    Action::Begins(node(number), view, 7)
}

fn begin_first_view() -> Vec<Action> {
    (1..=3).map(|number| begin_view(number, view(1, [(1, 1), (2, 1), (3, 1)]))).collect()
}

/// The violations in a history that begins with a view of nodes 1 to 3.
fn violations_in_views(actions: impl IntoIterator<Item = Action>) -> Vec<String> {
    let actions: Vec<_> = begin_first_view().into_iter().chain(actions).collect();
    let promises = PropertySet { uniform: false, ..PropertySet::ALL };
    format_violations(violation_texts(3, promises, &actions))
}

fn second_view() -> quorate_core::View {
    view(2, [(1, 1), (2, 1)])
}

#[test]
fn members_that_continue_together_have_delivered_the_same() {
    let common = [actions("3#1 sent, 3#1 to 3, 3 crashes, 3#1 to 1"), vec![begin_view(1, second_view())]].concat();
    let correct = common.iter().cloned().chain([delivers(2, 3, 1), begin_view(2, second_view())]);
    assert_eq!(violations_in_views(correct), Vec::<String>::new());
    let incorrect = common.iter().cloned().chain([begin_view(2, second_view())]);
    assert_eq!(
        violations_in_views(incorrect),
        [
            "agreement: node 1 has delivered 3#1, but node 2 never does",
            "view-synchrony: nodes 1 and 2 move together from view 1 to view 2, but only node 1 has delivered 3#1",
        ]
    );
}

#[test]
fn a_violation_counts_even_if_its_nodes_crash_later() {
    let in_first_view = actions("3#1 sent, 3#1 to 3, 3 crashes, 3#1 to 1");
    let history = [
        in_first_view,
        vec![begin_view(1, second_view()), begin_view(2, second_view())],
        actions("1 crashes, 2 crashes"),
    ]
    .concat();
    // Node 2 misses 3#1, which violates agreement and view synchrony.
    assert_eq!(violations_in_views(history).len(), 2);
}

#[test]
fn a_delivery_in_another_view_is_caught() {
    let in_first_view = actions("3#1 sent, 3#1 to 3, 3 crashes");
    let history =
        [in_first_view, vec![begin_view(1, second_view()), begin_view(2, second_view()), delivers(1, 3, 1)]].concat();
    assert_eq!(
        violations_in_views(history),
        ["view-synchrony: node 1 delivers 3#1 in view 2, but it was sent in view 1"]
    );
}

#[test]
fn beginning_a_view_with_different_states_is_caught() {
    let actions = [Action::Crashes(node(3)), begin_view(1, second_view()), Action::Begins(node(2), second_view(), 8)];
    assert_eq!(violations_in_views(actions), ["view-synchrony: nodes 1 and 2 begin view 2 with different states"]);
}

#[test]
fn different_members_of_one_view_are_caught() {
    let actions = [begin_view(1, view(2, [(1, 1), (2, 1)])), begin_view(2, view(2, [(1, 1), (2, 1), (3, 1)]))];
    assert_eq!(
        violations_in_views(actions),
        ["view-synchrony: view 2 has members 1,2 for node 1, but 1,2,3 for node 2"]
    );
}

#[test]
fn going_back_to_an_earlier_view_and_missing_a_view_are_caught() {
    let going_back =
        [begin_view(1, second_view()), begin_view(2, second_view()), begin_view(1, view(1, [(1, 1), (2, 1), (3, 1)]))];
    assert_eq!(violations_in_views(going_back), ["view-synchrony: node 1 begins view 1, but was in view 2 before"]);
    assert_eq!(
        violations_in_views([begin_view(1, second_view())]),
        ["delivered: node 2 is a member of view 2, but never begins it"]
    );
}

#[test]
fn a_removed_member_has_no_obligations_and_returns_as_a_different_member() {
    let before_third_view =
        vec![sends(3, 1), Action::IsExcluded(node(3)), begin_view(1, second_view()), begin_view(2, second_view())];
    let third_view = [1, 2, 3].map(|number| begin_view(number, view(3, [(1, 1), (2, 1), (3, 3)])));
    let sends = Action::Sends(node(3), in_view(3, 3, 1), "m");
    let delivers = [1, 2, 3].map(|receiver| Action::Delivers(node(receiver), in_view(3, 3, 1), "m"));
    assert_eq!(
        violations_in_views(before_third_view.into_iter().chain(third_view).chain([sends]).chain(delivers)),
        Vec::<String>::new()
    );
}

#[test]
fn messages_of_a_member_that_left_cleanly_must_be_delivered() {
    let actions = [
        sends(3, 1),
        delivers(3, 3, 1),
        Action::Leaves(node(3)),
        begin_view(1, second_view()),
        begin_view(2, second_view()),
    ];
    assert_eq!(violations_in_views(actions), ["delivered: node 3 has sent 3#1, but node 1 never delivers it"]);
}

#[test]
fn messages_that_all_nodes_delivered_are_not_remembered() {
    let mut properties = Properties::new(3, WITHOUT_VIEWS);
    for round in 1..=10_000_u32 {
        let sender = round % 2 + 1;
        let number = u64::from(round.div_ceil(2));
        observe_all(&mut properties, &[sends(sender, number)]);
        observe_all(&mut properties, &[1, 2, 3].map(|receiver| delivers(receiver, sender, number)));
        assert_eq!(properties.remembered_messages(), 0);
    }
    assert!(properties.verdicts().iter().all(|verdict| verdict.holds == Some(true)));
}

#[test]
fn a_node_that_never_sends_does_not_accumulate_causes() {
    let mut properties = Properties::new(2, WITHOUT_VIEWS);
    for number in 1..=1_000 {
        observe_all(&mut properties, &[sends(1, number), delivers(1, 1, number), delivers(2, 1, number)]);
    }
    // All members have delivered these causes, so the properties forget them, many at once.
    assert!(properties.remembered_causes() < 200, "{} causes are remembered", properties.remembered_causes());
}

#[test]
fn groups_are_independent() {
    let other_group = GroupId(1);
    let id_in_other_group =
        |sender, number| quorate_core::multicast::MessageId { group: other_group, ..id(sender, number) };
    let sends = [1, 2].map(|sender| Action::Sends(node(sender), id_in_other_group(sender, 1), "m"));
    let delivers = [(1, 2), (1, 1), (2, 2), (2, 1)];
    let delivers =
        delivers.map(|(receiver, sender)| Action::Delivers(node(receiver), id_in_other_group(sender, 1), "m"));
    let in_only_group = actions("1#1 sent, 2#1 sent, 1#1 to 1, 2#1 to 1, 1#1 to 2, 2#1 to 2");
    let history: Vec<_> = in_only_group.into_iter().chain(sends).chain(delivers).collect();
    assert_eq!(violated_properties(2, WITHOUT_VIEWS, &history), []);
    let mut properties = Properties::new(3, PropertySet::RELIABLE).with_members(GroupId::ONLY, Group::of_size(2));
    observe_all(&mut properties, &actions("1#1 sent, 1#1 to 1 2"));
    assert!(properties.verdicts().iter().all(|verdict| verdict.holds == Some(true)));
}
