//! One seeded violation of each kind, in a history that is otherwise correct.

use super::{
    Action, NON_UNIFORM, WITHOUT_VIEWS, actions, delivers, emits, id, in_view, input, node, observe_all, sends, view,
    violated, violation_texts,
};
use quorate_core::multicast::{Command, Event, GroupId, Payload};
use quorate_core::{Group, Incarnation, Time};
use quorate_journal::moment::ObservedInput;
use quorate_lab::multicast::run::{Properties, Property, PropertySet};

fn texts(violation_texts: Vec<(Property, String)>) -> Vec<String> {
    violation_texts.into_iter().map(|(property, text)| format!("{}: {text}", property.name())).collect()
}

#[test]
fn a_message_that_all_deliver_violates_nothing() {
    assert_eq!(violated(2, WITHOUT_VIEWS, &actions("1#1 sent, 1#1 to 1 2")), []);
    let at_once = [Action::SendsAndDelivers(node(1), id(1, 1), "m"), delivers(2, 1, 1)];
    assert_eq!(violated(2, WITHOUT_VIEWS, &at_once), []);
}

#[track_caller]
fn assert_caught(nodes: usize, promises: PropertySet, actions: &[Action], expected: &[&str]) {
    assert_eq!(texts(violation_texts(nodes, promises, actions)), expected);
}

#[test]
fn a_second_delivery_is_caught_even_after_all_have_delivered() {
    assert_caught(2, WITHOUT_VIEWS, &actions("1#1 sent, 1#1 to 1 2 2"), &["integrity: node 2 delivers 1#1 twice"]);
}

#[test]
fn delivering_an_unsent_message_is_caught() {
    let unsent = actions("1#1 sent, 1#1 to 1 2, 1#2 to 2");
    assert_caught(2, WITHOUT_VIEWS, &unsent, &["integrity: node 2 delivers 1#2, which node 1 has not sent"]);
    // Its own sender may deliver it first, but only in the step in which it sends it.
    assert_eq!(violated(2, WITHOUT_VIEWS, &actions("1#1 to 1, 1#1 sent, 1#1 to 2")), [Property::Integrity]);
    let never = actions("1#1 to 1 2");
    assert_caught(2, WITHOUT_VIEWS, &never, &["integrity: node 1 delivers 1#1, but does not report that it sent it"]);
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
            input(&mut properties, Time::ZERO, node(1), ObservedInput::Command(&send(text)));
        }
        let wait = Event::Wait { group: GroupId::ONLY, slow: Group::of_size(1) };
        for event in [wait, Event::Refused(quorate_core::multicast::Refusal::TooLong), Event::Sent { id: id(1, 1) }] {
            emits(&mut properties, Time::ZERO, node(1), event);
        }
        let payload = Payload::from(delivered);
        emits(&mut properties, Time::ZERO, node(1), Event::Delivered { id: id(1, 1), payload });
        properties.verdicts().iter().all(|verdict| verdict.holds == Some(true))
    };
    assert!(judge("c"));
    assert!(!judge("a") && !judge("b"));
}

#[test]
fn an_id_that_is_used_twice_or_belongs_to_another_sender_is_caught() {
    assert_eq!(violated(1, WITHOUT_VIEWS, &actions("1#1 sent, 1#1 to 1, 1#1 sent")), [Property::Integrity]);
    let anothers = [Action::Sends(node(1), id(2, 1), "m")];
    assert_eq!(violated(2, WITHOUT_VIEWS, &anothers), [Property::Integrity]);
}

#[test]
fn missing_what_another_node_delivered_is_caught() {
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
    let found = violation_texts(2, NON_UNIFORM, &actions("1#1 sent, 1#1 to 2"));
    assert!(texts(found).contains(&"validity: node 1 has sent 1#1, but never delivers it itself".to_owned()));
    let promises = PropertySet { delivered: true, ..PropertySet::NONE };
    let lost = actions("1#1 sent, 1#1 to 1");
    assert_caught(2, promises, &lost, &["delivered: node 1 has sent 1#1, but node 2 never delivers it"]);
}

#[test]
fn a_request_without_an_answer_is_caught() {
    let mut properties = Properties::new(2, PropertySet::RELIABLE);
    observe_all(&mut properties, &actions("1#1 sent, 1#1 to 1 2"));
    input(&mut properties, Time::ZERO, node(2), ObservedInput::Command(&Command::send("x")));
    let texts: Vec<_> = properties.verdicts().into_iter().filter_map(|verdict| verdict.violation).collect();
    assert_eq!(texts.len(), 1);
    assert_eq!(texts[0].text, "node 2 received a request to send \"x\", but never answers");
}

#[test]
fn a_later_message_first_is_caught() {
    let turned = actions("1#1 sent, 1#2 sent, 1#1 to 1, 1#2 to 1 2, 1#1 to 2");
    let promises = PropertySet { fifo: true, ..PropertySet::RELIABLE };
    assert_caught(2, promises, &turned, &["fifo: node 2 delivers 1#2 before an earlier message of node 1"]);
}

#[test]
fn a_reply_before_the_original_is_caught() {
    let turned = actions("1#1 sent, 1#1 to 1 2, 2#1 sent, 2#1 to 2 1 3, 1#1 to 3");
    let promises = PropertySet { fifo: true, causal: true, ..PropertySet::RELIABLE };
    assert_caught(3, promises, &turned, &["causal: node 3 delivers 2#1 before 1#1, which happened before it"]);
}

/// A reply to a reply: the original is not its immediate cause, and the chain is caught all the
/// same.
#[test]
fn causes_are_transitive() {
    let actions =
        actions("1#1 sent, 1#1 to 1 2, 2#1 sent, 2#1 to 2, 1#1 to 3, 2#1 to 3, 3#1 sent, 3#1 to 3, 2#1 to 4, 3#1 to 4");
    let promises = PropertySet { causal: true, ..PropertySet::NONE };
    assert_eq!(violated(4, promises, &actions), [Property::Causal]);
}

const TWO_ORDERS: &str = "1#1 sent, 2#1 sent, 1#1 to 1, 2#1 to 1 2, 1#1 to 2";

#[test]
fn two_orders_are_caught_unless_one_of_the_nodes_crashes() {
    let both = actions(TWO_ORDERS);
    assert_caught(
        2,
        NON_UNIFORM,
        &both,
        &["total: node 2 delivers 2#1 before 1#1, but node 1 delivers 1#1 before 2#1"],
    );
    let one = actions(&format!("{TWO_ORDERS}, 1 crashes"));
    assert_eq!(violated(2, NON_UNIFORM, &one), []);
    assert_eq!(violated(2, WITHOUT_VIEWS, &one), [Property::Total]);
}

/// A gap is not a different order: the two nodes have no two messages in common.
#[test]
fn gaps_are_not_a_second_order() {
    let gaps = "1#1 sent, 2#1 sent, 2#1 to 1, 1#1 to 2, 2#1 to 2";
    let promises = PropertySet { total: true, ..PropertySet::NONE };
    assert_eq!(violated(2, promises, &actions(gaps)), []);
    assert_eq!(violated(2, promises, &actions(&format!("{gaps}, 1#1 to 1"))), [Property::Total]);
}

#[test]
fn a_property_that_is_not_promised_does_not_fail_and_can_be_queried() {
    let mut properties = Properties::new(2, PropertySet::RELIABLE).also_judging(WITHOUT_VIEWS);
    observe_all(&mut properties, &actions(TWO_ORDERS));
    assert!(properties.verdicts().iter().all(|verdict| verdict.holds == Some(true)));
    assert!(properties.verdicts().iter().all(|verdict| verdict.name != "total"));
    let total = properties.verdict(Property::Total).expect("it was watched");
    assert!(total.is_violated());
    assert_eq!((properties.violation_count(Property::Total), properties.violation_count(Property::Fifo)), (1, 0));
    assert_eq!(properties.verdict(Property::ViewSynchrony), None);
}

/// Without views, a restarted node is not a member: it may start to deliver in the middle, and has
/// no obligations.
#[test]
fn a_restarted_node_is_a_different_member() {
    let (before, boots) = (actions("1#1 sent, 1#1 to 1 2, 2 crashes"), Action::Boots(node(2), Incarnation(1)));
    let all = [before, vec![boots], actions("1#1 to 2, 1#2 sent, 1#2 to 1")].concat();
    assert_eq!(violated(2, NON_UNIFORM, &all), []);
}

fn begins(number: u32, view: quorate_core::View) -> Action {
    Action::Begins(node(number), view, 7)
}

fn founded() -> Vec<Action> {
    (1..=3).map(|number| begins(number, view(1, [(1, 1), (2, 1), (3, 1)]))).collect()
}

fn in_views(actions: impl IntoIterator<Item = Action>) -> Vec<String> {
    let actions: Vec<_> = founded().into_iter().chain(actions).collect();
    let promises = PropertySet { uniform: false, ..PropertySet::ALL };
    texts(violation_texts(3, promises, &actions))
}

fn second() -> quorate_core::View {
    view(2, [(1, 1), (2, 1)])
}

#[test]
fn members_that_continue_together_have_delivered_the_same() {
    let common = [actions("3#1 sent, 3#1 to 3, 3 crashes, 3#1 to 1"), vec![begins(1, second())]].concat();
    let right = common.iter().cloned().chain([delivers(2, 3, 1), begins(2, second())]);
    assert_eq!(in_views(right), Vec::<String>::new());
    let wrong = common.iter().cloned().chain([begins(2, second())]);
    assert_eq!(
        in_views(wrong),
        [
            "agreement: node 1 has delivered 3#1, but node 2 never does",
            "view-synchrony: nodes 1 and 2 move together from view 1 to view 2, but only node 1 has delivered 3#1",
        ]
    );
}

/// A crash in a later view does not excuse a violation in an earlier one.
#[test]
fn a_later_crash_changes_nothing() {
    let first = actions("3#1 sent, 3#1 to 3, 3 crashes, 3#1 to 1");
    let all = [first, vec![begins(1, second()), begins(2, second())], actions("1 crashes, 2 crashes")].concat();
    assert_eq!(in_views(all).len(), 2);
}

#[test]
fn a_message_out_of_its_view_is_caught() {
    let first = actions("3#1 sent, 3#1 to 3, 3 crashes");
    let all = [first, vec![begins(1, second()), begins(2, second()), delivers(1, 3, 1)]].concat();
    assert_eq!(in_views(all), ["view-synchrony: node 1 delivers 3#1 in view 2, but it was sent in view 1"]);
}

#[test]
fn states_that_differ_are_caught() {
    let actions = [Action::Crashes(node(3)), begins(1, second()), Action::Begins(node(2), second(), 8)];
    assert_eq!(in_views(actions), ["view-synchrony: nodes 1 and 2 begin view 2 with different states"]);
}

#[test]
fn members_that_differ_are_caught() {
    let actions = [begins(1, view(2, [(1, 1), (2, 1)])), begins(2, view(2, [(1, 1), (2, 1), (3, 1)]))];
    assert_eq!(in_views(actions), ["view-synchrony: view 2 has members 1,2 for node 1, but 1,2,3 for node 2"]);
}

#[test]
fn going_back_to_an_earlier_view_and_missing_a_view_are_caught() {
    let back = [begins(1, second()), begins(2, second()), begins(1, view(1, [(1, 1), (2, 1), (3, 1)]))];
    assert_eq!(in_views(back), ["view-synchrony: node 1 begins view 1, but was in view 2 before"]);
    assert_eq!(in_views([begins(1, second())]), ["delivered: node 2 is a member of view 2, but never begins it"]);
}

#[test]
fn a_removed_member_has_no_obligations_and_returns_as_a_different_member() {
    let out = vec![sends(3, 1), Action::IsOut(node(3)), begins(1, second()), begins(2, second())];
    let back = [1, 2, 3].map(|number| begins(number, view(3, [(1, 1), (2, 1), (3, 3)])));
    let sends = Action::Sends(node(3), in_view(3, 3, 1), "m");
    let delivers = [1, 2, 3].map(|receiver| Action::Delivers(node(receiver), in_view(3, 3, 1), "m"));
    assert_eq!(in_views(out.into_iter().chain(back).chain([sends]).chain(delivers)), Vec::<String>::new());
}

#[test]
fn messages_of_a_member_that_left_cleanly_must_be_delivered() {
    let actions = [sends(3, 1), delivers(3, 3, 1), Action::Leaves(node(3)), begins(1, second()), begins(2, second())];
    assert_eq!(in_views(actions), ["delivered: node 3 has sent 3#1, but node 1 never delivers it"]);
}

/// After ten thousand delivered messages, nothing is remembered of them.
#[test]
fn memory_does_not_grow_with_the_run() {
    let mut properties = Properties::new(3, WITHOUT_VIEWS);
    for number in 1..=10_000_u32 {
        let sender = number % 2 + 1;
        let count = u64::from(number.div_ceil(2));
        observe_all(&mut properties, &[sends(sender, count)]);
        observe_all(&mut properties, &[1, 2, 3].map(|receiver| delivers(receiver, sender, count)));
        assert_eq!(properties.remembered_messages(), 0);
    }
    assert!(properties.verdicts().iter().all(|verdict| verdict.holds == Some(true)));
}

/// A node that never sends does not accumulate causes.
#[test]
fn a_node_that_never_sends_keeps_few_causes() {
    let mut properties = Properties::new(2, WITHOUT_VIEWS);
    for number in 1..=1_000 {
        observe_all(&mut properties, &[sends(1, number), delivers(1, 1, number), delivers(2, 1, number)]);
    }
    assert!(properties.remembered_causes() < 200, "{} causes are remembered", properties.remembered_causes());
}

#[test]
fn groups_are_independent() {
    let other = GroupId(1);
    let named = |sender, number| quorate_core::multicast::MessageId { group: other, ..id(sender, number) };
    let sends = [1, 2].map(|sender| Action::Sends(node(sender), named(sender, 1), "m"));
    let delivers = [(1, 2), (1, 1), (2, 2), (2, 1)];
    let delivers = delivers.map(|(receiver, sender)| Action::Delivers(node(receiver), named(sender, 1), "m"));
    let first = actions("1#1 sent, 2#1 sent, 1#1 to 1, 2#1 to 1, 1#1 to 2, 2#1 to 2");
    let all: Vec<_> = first.into_iter().chain(sends).chain(delivers).collect();
    assert_eq!(violated(2, WITHOUT_VIEWS, &all), []);
    let mut properties = Properties::new(3, PropertySet::RELIABLE).with_members(GroupId::ONLY, Group::of_size(2));
    observe_all(&mut properties, &actions("1#1 sent, 1#1 to 1 2"));
    assert!(properties.verdicts().iter().all(|verdict| verdict.holds == Some(true)));
}
