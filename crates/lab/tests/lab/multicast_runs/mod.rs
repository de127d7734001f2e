//! Tests of multicast clients, measures and properties, mostly on hand-written or random histories.

mod clients;
mod lecture;
mod measures;
mod random;
mod reference;
mod toys;
mod violations;

use quorate_core::multicast::{Command, Event, GroupId, MessageId, Payload};
use quorate_core::{Duration, Epoch, Incarnation, NodeId, Stay, Time, View};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer, WorldEvent};
use quorate_lab::multicast::run::{Properties, Property, PropertySet};

fn node(number: u32) -> NodeId {
    NodeId::new(number).expect("nodes are numbered from 1")
}

/// Every property except view synchrony.
const WITHOUT_VIEWS: PropertySet = PropertySet { views: false, ..PropertySet::ALL };

/// Every property except view synchrony and uniformity, so that deliveries of crashed nodes do not
/// count.
const NON_UNIFORM: PropertySet = PropertySet { uniform: false, ..WITHOUT_VIEWS };

#[derive(Clone, Debug, PartialEq)]
enum Action {
    /// A client requests that a node sends this payload, and the node sends it with this id.
    Sends(NodeId, MessageId, &'static str),
    /// Like `Sends`, but the node delivers its message before it confirms the send.
    SendsAndDelivers(NodeId, MessageId, &'static str),
    Delivers(NodeId, MessageId, &'static str),
    /// A member begins a view with this state.
    Begins(NodeId, View, u64),
    /// A node learns that it is no longer a member.
    IsExcluded(NodeId),
    /// A member leaves on request of its client.
    Leaves(NodeId),
    Crashes(NodeId),
    Restarts(NodeId, Incarnation),
}

/// Passes a history to an observer, one action per millisecond, the first at 1 ms.
fn observe_all(observer: &mut impl Observer<Command, Event>, actions: &[Action]) {
    let mut time = Time::ZERO;
    for action in actions {
        time += Duration::from_millis(1);
        observe_action(observer, time, action);
    }
}

fn observe_action(observer: &mut impl Observer<Command, Event>, time: Time, action: &Action) {
    match action {
        Action::Sends(node, id, text) => {
            observe_command(observer, time, *node, &Command::Send { group: id.group, payload: Payload::from(*text) });
            observe_event(observer, time, *node, Event::Sent { id: *id });
        }
        Action::SendsAndDelivers(node, id, text) => {
            observe_command(observer, time, *node, &Command::Send { group: id.group, payload: Payload::from(*text) });
            observe_event(observer, time, *node, Event::Delivered { id: *id, payload: Payload::from(*text) });
            observe_event(observer, time, *node, Event::Sent { id: *id });
        }
        Action::Delivers(node, id, text) => {
            // Here and below, `Saved` only begins the step in which the node emits its event.
            observe_input(observer, time, *node, ObservedInput::Saved(1));
            observe_event(observer, time, *node, Event::Delivered { id: *id, payload: Payload::from(*text) });
        }
        Action::Begins(node, view, state) => {
            observe_input(observer, time, *node, ObservedInput::Saved(1));
            observe_event(
                observer,
                time,
                *node,
                Event::View { group: GroupId::ONLY, view: view.clone(), state: *state },
            );
        }
        Action::IsExcluded(node) => {
            observe_input(observer, time, *node, ObservedInput::Saved(1));
            observe_event(observer, time, *node, Event::Excluded { group: GroupId::ONLY });
        }
        Action::Leaves(node) => {
            observe_command(observer, time, *node, &Command::leave());
            observe_event(observer, time, *node, Event::Left { group: GroupId::ONLY });
        }
        Action::Crashes(node) => {
            observer.observe(&Moment::World { time, event: WorldEvent::Crashed { node: *node, lost_writes: 0 } });
        }
        Action::Restarts(node, incarnation) => {
            observe_input(
                observer,
                time,
                *node,
                ObservedInput::Start { incarnation: *incarnation, is_disk_blank: false },
            );
        }
    }
}

fn observe_input(
    observer: &mut impl Observer<Command, Event>,
    time: Time,
    node: NodeId,
    input: ObservedInput<'_, Command>,
) {
    observer.observe(&Moment::Input { time, now: time, node, input });
}

fn observe_command(observer: &mut impl Observer<Command, Event>, time: Time, node: NodeId, command: &Command) {
    observe_input(observer, time, node, ObservedInput::Command(command));
}

fn observe_event(observer: &mut impl Observer<Command, Event>, time: Time, node: NodeId, event: Event) {
    observer.observe(&Moment::Effect { time, node, effect: ObservedEffect::Emit(&event) });
}

/// Returns the id of a message in the first view of the only group.
fn id(sender: u32, number: u64) -> MessageId {
    in_view(1, sender, number)
}

/// Returns the id of a message in this view of the only group.
fn in_view(view: u64, sender: u32, number: u64) -> MessageId {
    MessageId { group: GroupId::ONLY, view: Epoch(view), sender: node(sender), number }
}

/// Returns a view with these members, each with the view it joined in.
fn view<const N: usize>(epoch: u64, members: [(u32, u64); N]) -> View {
    let stay = |since| Stay { incarnation: Incarnation::FIRST, since: Epoch(since) };
    View::new(Epoch(epoch), members.map(|(number, since)| (node(number), stay(since))))
}

fn sends(sender: u32, number: u64) -> Action {
    Action::Sends(node(sender), id(sender, number), "m")
}

fn delivers(receiver: u32, sender: u32, number: u64) -> Action {
    Action::Delivers(node(receiver), id(sender, number), "m")
}

/// Parses a history, such as `1#2 sent, 1#2 to 3 1, 3 crashes`: node 1 sends its second message,
/// node 3 and then node 1 deliver it, node 3 crashes.
fn actions(text: &str) -> Vec<Action> {
    let number = |word: &str| word.parse().unwrap_or_else(|_| panic!("{word} is not a number"));
    let parse = |part: &str| match part.split(' ').collect::<Vec<_>>()[..] {
        [id, "crashes"] => vec![Action::Crashes(node(number(id)))],
        [id, verb, ref receivers @ ..] => {
            let (sender, message) = id.split_once('#').unwrap_or_else(|| panic!("{id} is not a message id"));
            let (sender, message) = (number(sender), u64::from(number(message)));
            match verb {
                "sent" => vec![sends(sender, message)],
                _ => receivers.iter().map(|receiver| delivers(number(receiver), sender, message)).collect(),
            }
        }
        _ => panic!("{part} is not an action"),
    };
    text.split(", ").flat_map(parse).collect()
}

/// Returns the violated properties of a history of this many nodes, with their texts.
fn violation_texts(nodes: usize, promises: PropertySet, actions: &[Action]) -> Vec<(Property, String)> {
    let mut properties = Properties::new(nodes, promises);
    observe_all(&mut properties, actions);
    Property::ALL
        .into_iter()
        .filter_map(|property| Some((property, properties.verdict(property)?.violation?.text)))
        .collect()
}

fn violated_properties(nodes: usize, promises: PropertySet, actions: &[Action]) -> Vec<Property> {
    violation_texts(nodes, promises, actions).into_iter().map(|(property, _)| property).collect()
}
