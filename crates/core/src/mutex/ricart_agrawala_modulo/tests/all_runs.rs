//! An exhaustive search of all runs of small groups: clients give commands forever, in any order,
//! and messages arrive in any order.
//!
//! The clock readings in requests wrap around, so a group has finitely many states, and the search
//! visits each of them.

#![allow(clippy::disallowed_types, reason = "states have no order, and the order of visits does not matter")]

use super::super::{AfterAnswers, Message, Phase, Reading, RicartAgrawalaModulo};
use crate::effects::Effect;
use crate::mutex::COMMANDS;
use crate::mutex::prelude::*;
use std::collections::HashSet;

/// A global state: all nodes and the messages in transit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    nodes: Vec<RicartAgrawalaModulo>,
    /// The messages in transit, by sender, receiver and kind.
    in_transit: BTreeMap<(NodeId, NodeId, &'static str), Message>,
}

impl State {
    fn of_size(size: usize) -> Self {
        let group = Group::of_size(size);
        let nodes = group.iter().map(|me| RicartAgrawalaModulo::new(me, group.clone())).collect();
        Self { nodes, in_transit: BTreeMap::new() }
    }

    /// Returns the state after each possible command or delivery.
    fn successors(&self, commands: &[Command]) -> Vec<Self> {
        let ids = (0..self.nodes.len()).map(NodeId::from_index);
        let commands = ids.flat_map(|node| commands.iter().map(move |command| (node, *command)));
        let after_commands = commands.map(|(node, command)| self.clone().step(node, Input::Command(command)));
        let after_deliveries = self.in_transit.iter().map(|(key @ (from, to, _), message)| {
            let mut state = self.clone();
            state.in_transit.remove(key);
            state.step(*to, Input::Message { from: *from, message: *message })
        });
        after_commands.chain(after_deliveries).collect()
    }

    fn step(mut self, node: NodeId, input: Input<RicartAgrawalaModulo>) -> Self {
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
        let earlier = self.in_transit.insert((from, to, message.kind()), message);
        assert_eq!(earlier, None, "two messages of a kind are in transit from {from} to {to}:\n{self:#?}");
    }

    /// Asserts that at most one node is in the critical section, and that while a node waits,
    /// another one is in the critical section or a message is in transit.
    fn assert_safe_and_deadlock_free(&self) {
        let holders = self.nodes.iter().filter(|node| node.phase == Phase::Inside).count();
        assert!(holders <= 1, "{holders} nodes are in the critical section:\n{self:#?}");
        let has_waiter = self.nodes.iter().any(|node| {
            matches!(node.phase, Phase::Asking { after_answers: AfterAnswers::Enter | AfterAnswers::Request, .. })
        });
        assert!(!has_waiter || holders > 0 || !self.in_transit.is_empty(), "a node waits forever:\n{self:#?}");
    }
}

/// Checks all reachable states. Returns their number, and the number of different states of a
/// single node in them.
fn explore(size: usize, commands: &[Command]) -> (usize, usize) {
    let (states, nodes) = visit(size, commands);
    (states.len(), nodes.len())
}

/// Checks and returns all reachable states, and the different states of single nodes in them.
fn visit(size: usize, commands: &[Command]) -> (HashSet<State>, HashSet<RicartAgrawalaModulo>) {
    let start = State::of_size(size);
    let mut visited = HashSet::from([start.clone()]);
    let mut nodes = HashSet::new();
    let mut frontier = Vec::from([start]);
    while let Some(state) = frontier.pop() {
        state.assert_safe_and_deadlock_free();
        nodes.extend(state.nodes.iter().cloned());
        for next in state.successors(commands) {
            if !visited.contains(&next) {
                visited.insert(next.clone());
                frontier.push(next);
            }
        }
    }
    (visited, nodes)
}

/// Groups of 2 and 3 nodes that request, enter and release forever. The numbers of states, of the
/// group and of a single node, are results of this search; they reveal a change of the code that
/// makes the search visit more or fewer.
#[test]
fn at_most_one_node_enters_and_no_state_is_a_deadlock() {
    let commands = [Command::Acquire, Command::Release];
    assert_eq!(explore(2, &commands), (69, 27));
    assert_eq!(explore(3, &commands), (12_810, 365));
}

/// A group of 3 with all commands has 2,544,740 states, too many for this test.
#[test]
fn with_tries_and_cancellations_at_most_one_node_enters_and_no_state_is_a_deadlock() {
    assert_eq!(explore(1, &COMMANDS), (2, 2));
    assert_eq!(explore(2, &COMMANDS), (1_110, 75));
}

/// Each step checks the node's own assertions. The senders include the node itself and nodes
/// outside its group.
#[test]
fn no_peer_message_fails_an_assertion() {
    let requests = [Reading::default(), Reading::INVALID].map(|reading| Message::Request { reading });
    let messages = [Message::Try, Message::Reply, Message::Denied].into_iter().chain(requests);
    let inputs: Vec<_> =
        messages.flat_map(|message| (0..4).map(move |from| (NodeId::from_index(from), message))).collect();
    let (_, nodes) = visit(3, &[Command::Acquire, Command::Release]);
    let (_, nodes_of_two) = visit(2, &COMMANDS);
    for node in nodes.into_iter().chain(nodes_of_two) {
        for (from, message) in &inputs {
            let input = Input::Message { from: *from, message: *message };
            node.clone().step(Time::ZERO, input, &mut Effects::new(&mut Vec::new()));
        }
    }
}
