//! Histories of multicasts told by hand and by chance, and what the checkers say about them.

mod brute;
mod decks;
mod measures;
mod planted;
mod random;
mod toys;
mod users;

use quorate_core::multicast::{Command, Event, GroupId, MessageId, Payload};
use quorate_core::{Duration, Epoch, Incarnation, NodeId, Stay, Time, View};
use quorate_journal::moment::{Done, Happening, Moment, Observer, Taken};
use quorate_lab::multicast::run::{Promises, Properties, Property};

fn node(number: u32) -> NodeId {
    NodeId::new(number).expect("nodes are numbered from 1")
}

/// Everything but views is watched for.
const WITHOUT_VIEWS: Promises = Promises { views: false, ..Promises::EVERYTHING };

/// The same, and those who die are excused.
const NON_UNIFORM: Promises = Promises { uniform: false, ..WITHOUT_VIEWS };

#[derive(Clone, Debug, PartialEq)]
enum Act {
    /// A node is asked to send this, and does, under that name.
    Sends(NodeId, MessageId, &'static str),
    /// The same, and it delivers it to itself before it says so.
    SendsAndDelivers(NodeId, MessageId, &'static str),
    Delivers(NodeId, MessageId, &'static str),
    Begins(NodeId, View, u64),
    IsOut(NodeId),
    Leaves(NodeId),
    Crashes(NodeId),
    Boots(NodeId, Incarnation),
}

/// Tells an observer of a history, one act a millisecond.
fn tell(observer: &mut impl Observer<Command, Event>, acts: &[Act]) {
    let mut time = Time::ZERO;
    for act in acts {
        time += Duration::from_millis(1);
        tell_act(observer, time, act);
    }
}

fn tell_act(observer: &mut impl Observer<Command, Event>, time: Time, act: &Act) {
    match act {
        Act::Sends(node, id, text) => {
            asks(observer, time, *node, &Command::Send { group: id.group, payload: Payload::from(*text) });
            emits(observer, time, *node, Event::Sent { id: *id });
        }
        Act::SendsAndDelivers(node, id, text) => {
            asks(observer, time, *node, &Command::Send { group: id.group, payload: Payload::from(*text) });
            emits(observer, time, *node, Event::Delivered { id: *id, payload: Payload::from(*text) });
            emits(observer, time, *node, Event::Sent { id: *id });
        }
        Act::Delivers(node, id, text) => {
            input(observer, time, *node, Taken::Saved(1));
            emits(observer, time, *node, Event::Delivered { id: *id, payload: Payload::from(*text) });
        }
        Act::Begins(node, view, state) => {
            input(observer, time, *node, Taken::Saved(1));
            emits(observer, time, *node, Event::View { group: GroupId::ONLY, view: view.clone(), state: *state });
        }
        Act::IsOut(node) => {
            input(observer, time, *node, Taken::Saved(1));
            emits(observer, time, *node, Event::Out { group: GroupId::ONLY });
        }
        Act::Leaves(node) => {
            asks(observer, time, *node, &Command::leave());
            emits(observer, time, *node, Event::Left { group: GroupId::ONLY });
        }
        Act::Crashes(node) => {
            observer.observe(&Moment::World { time, what: Happening::Crashed { node: *node, lost_writes: 0 } });
        }
        Act::Boots(node, incarnation) => {
            input(observer, time, *node, Taken::Start { incarnation: *incarnation, blank: false });
        }
    }
}

fn input(observer: &mut impl Observer<Command, Event>, time: Time, node: NodeId, input: Taken<'_, Command>) {
    observer.observe(&Moment::Input { time, now: time, node, input });
}

fn asks(observer: &mut impl Observer<Command, Event>, time: Time, node: NodeId, command: &Command) {
    input(observer, time, node, Taken::Command(command));
}

fn emits(observer: &mut impl Observer<Command, Event>, time: Time, node: NodeId, event: Event) {
    observer.observe(&Moment::Effect { time, node, effect: Done::Emit(&event) });
}

/// What a message is called in the first view of the only group.
fn id(sender: u32, number: u64) -> MessageId {
    in_view(1, sender, number)
}

fn in_view(view: u64, sender: u32, number: u64) -> MessageId {
    MessageId { group: GroupId::ONLY, view: Epoch(view), sender: node(sender), number }
}

/// The view of this number. Each member is there since the view beside it.
fn view<const N: usize>(epoch: u64, members: [(u32, u64); N]) -> View {
    let stay = |since| Stay { incarnation: Incarnation::FIRST, since: Epoch(since) };
    View::new(Epoch(epoch), members.map(|(number, since)| (node(number), stay(since))))
}

fn sends(sender: u32, number: u64) -> Act {
    Act::Sends(node(sender), id(sender, number), "m")
}

fn delivers(receiver: u32, sender: u32, number: u64) -> Act {
    Act::Delivers(node(receiver), id(sender, number), "m")
}

/// A history in words: `1#2 sent` by node 1 as its second message; `1#2 to 3 1`, delivered by node 3 and then by node 1; `3 crashes`.
fn acts(text: &str) -> Vec<Act> {
    let number = |word: &str| word.parse().unwrap_or_else(|_| panic!("{word} is no number"));
    let told = |part: &str| match part.split(' ').collect::<Vec<_>>()[..] {
        [who, "crashes"] => vec![Act::Crashes(node(number(who)))],
        [name, what, ref receivers @ ..] => {
            let (sender, count) = name.split_once('#').unwrap_or_else(|| panic!("{name} names no message"));
            let (sender, count) = (number(sender), u64::from(number(count)));
            match what {
                "sent" => vec![sends(sender, count)],
                _ => receivers.iter().map(|receiver| delivers(number(receiver), sender, count)).collect(),
            }
        }
        _ => panic!("{part} is no act"),
    };
    text.split(", ").flat_map(told).collect()
}

/// What is wrong with a history of so many nodes: the names of what is breached, and what is said of each.
fn wrongs(nodes: usize, promises: Promises, acts: &[Act]) -> Vec<(Property, String)> {
    let mut properties = Properties::new(nodes, promises);
    tell(&mut properties, acts);
    Property::ALL
        .into_iter()
        .filter_map(|property| Some((property, properties.verdict(property)?.violation?.text)))
        .collect()
}

fn breached(nodes: usize, promises: Promises, acts: &[Act]) -> Vec<Property> {
    wrongs(nodes, promises, acts).into_iter().map(|(property, _)| property).collect()
}
