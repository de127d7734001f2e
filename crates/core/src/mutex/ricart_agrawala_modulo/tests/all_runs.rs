//! Every run there is: users ask what they like for ever, and messages arrive in any order.
//!
//! Readings come round, so a group has finitely many states, and a search can visit each of them.

#![allow(clippy::disallowed_types, reason = "states have no order, and that of a visit does not show")]

use super::super::{Message, Phase, Reading, RicartAgrawalaModulo, Then};
use crate::effects::Effect;
use crate::mutex::COMMANDS;
use crate::mutex::prelude::*;
use std::collections::HashSet;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Scene {
    nodes: Vec<RicartAgrawalaModulo>,
    /// What is under way, by sender, receiver and kind.
    under_way: BTreeMap<(NodeId, NodeId, &'static str), Message>,
}

impl Scene {
    fn of_size(size: usize) -> Self {
        let group = Group::of_size(size);
        let nodes = group.iter().map(|me| RicartAgrawalaModulo::new(me, group.clone())).collect();
        Self { nodes, under_way: BTreeMap::new() }
    }

    fn next(&self, commands: &[Command]) -> Vec<Self> {
        let ids = (0..self.nodes.len()).map(NodeId::from_index);
        let asked = ids.flat_map(|node| commands.iter().map(move |command| (node, *command)));
        let asked = asked.map(|(node, command)| self.clone().after(node, Input::Command(command)));
        let heard = self.under_way.iter().map(|(key, message)| {
            let mut scene = self.clone();
            scene.under_way.remove(key);
            scene.after(key.1, Input::Message { from: key.0, message: *message })
        });
        asked.chain(heard).collect()
    }

    fn after(mut self, node: NodeId, input: Input<RicartAgrawalaModulo>) -> Self {
        let mut effects = Vec::new();
        self.nodes[node.index()].step(Time::ZERO, input, &mut Effects::new(&mut effects));
        for effect in effects {
            match effect {
                Effect::Send { to, message, .. } => self.send(node, to, message),
                Effect::Multicast { to, message, .. } => to.others(node).for_each(|to| self.send(node, to, message)),
                Effect::Emit { .. } | Effect::Save(_) | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
            }
        }
        self
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: Message) {
        let earlier = self.under_way.insert((from, to, message.kind()), message);
        assert_eq!(earlier, None, "two messages of a kind are under way from {from} to {to}:\n{self:#?}");
    }

    fn check(&self) {
        let inside = self.nodes.iter().filter(|node| node.phase == Phase::Inside).count();
        assert!(inside <= 1, "{inside} are inside:\n{self:#?}");
        let waits =
            self.nodes.iter().any(|node| matches!(node.phase, Phase::Asking { then: Then::Enter | Then::Ask, .. }));
        assert!(!waits || inside > 0 || !self.under_way.is_empty(), "somebody waits for nothing:\n{self:#?}");
    }
}

fn explore(size: usize, commands: &[Command]) -> (usize, usize) {
    let (scenes, nodes) = visit(size, commands);
    (scenes.len(), nodes.len())
}

fn visit(size: usize, commands: &[Command]) -> (HashSet<Scene>, HashSet<RicartAgrawalaModulo>) {
    let start = Scene::of_size(size);
    let mut seen = HashSet::from([start.clone()]);
    let mut nodes = HashSet::new();
    let mut open = Vec::from([start]);
    while let Some(scene) = open.pop() {
        scene.check();
        nodes.extend(scene.nodes.iter().cloned());
        for next in scene.next(commands) {
            if !seen.contains(&next) {
                seen.insert(next.clone());
                open.push(next);
            }
        }
    }
    (seen, nodes)
}

/// Groups of 2 and 3 nodes that ask, enter and leave for ever.
#[test]
fn at_most_one_is_inside_and_nobody_waits_for_nothing() {
    let commands = [Command::Acquire, Command::Release];
    assert_eq!(explore(2, &commands), (69, 27));
    assert_eq!(explore(3, &commands), (12_810, 365));
}

/// A group of 3 with all commands has 2,544,740 states.
#[test]
fn nor_do_tries_and_giving_up_change_that() {
    assert_eq!(explore(1, &COMMANDS), (2, 2));
    assert_eq!(explore(2, &COMMANDS), (1_110, 75));
}

/// Each step asserts what the node itself answers for.
#[test]
fn nothing_that_a_peer_sends_trips_an_assertion() {
    let readings = [Reading::default(), Reading::ODD].map(|reading| Message::Request { reading });
    let messages = [Message::Try, Message::Reply, Message::Denied].into_iter().chain(readings);
    let odd: Vec<_> =
        messages.flat_map(|message| (0..4).map(move |from| (NodeId::from_index(from), message))).collect();
    let (_, nodes) = visit(3, &[Command::Acquire, Command::Release]);
    let (_, more) = visit(2, &COMMANDS);
    for node in nodes.into_iter().chain(more) {
        for (from, message) in &odd {
            let input = Input::Message { from: *from, message: *message };
            node.clone().step(Time::ZERO, input, &mut Effects::new(&mut Vec::new()));
        }
    }
}
