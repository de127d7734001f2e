//! Test of the number of messages: the token takes the shortest path from each holder to the next,
//! and one request crosses each edge of that path.

use crate::mutex::Raymond;
use crate::mutex::prelude::*;
use crate::testing::ScriptGroup;
use crate::tree::Tree;
use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};
use std::vec;

/// A group whose clients acquire and release, but never try or cancel.
struct Run {
    group: ScriptGroup<Raymond>,
    /// Whether each client waits or is in the critical section.
    is_busy: Vec<bool>,
    /// The node in the critical section.
    node_inside: Option<NodeId>,
    /// The first holder of the token, then every node that has entered, in order.
    holders: Vec<NodeId>,
    /// Number of delivered messages.
    delivered_count: u64,
}

impl Run {
    fn new(nodes: usize) -> Self {
        let group = ScriptGroup::new(nodes, Raymond::new);
        Self {
            group,
            is_busy: vec![false; nodes],
            node_inside: None,
            holders: Vec::from([NodeId::from_index(0)]),
            delivered_count: 0,
        }
    }

    /// Performs one of the possible actions, which `choice` selects: delivers a message, lets a
    /// client release or, if `may_request`, lets an idle client request. Does nothing if no action
    /// is possible.
    fn act(&mut self, choice: usize, may_request: bool) {
        let idle: Vec<_> = (0..self.is_busy.len()).filter(|node| may_request && !self.is_busy[*node]).collect();
        let messages = self.group.in_flight_count();
        let actions = messages + idle.len() + usize::from(self.node_inside.is_some());
        if actions == 0 {
            return;
        }
        let choice = choice % actions;
        let (node, events) = if choice < messages {
            self.delivered_count += 1;
            self.group.deliver(choice)
        } else if let Some(node) = idle.get(choice - messages) {
            self.is_busy[*node] = true;
            let node = NodeId::from_index(*node);
            (node, self.group.command(node, Command::Acquire))
        } else {
            let node = self.node_inside.take().expect("a node in the critical section");
            self.is_busy[node.index()] = false;
            (node, self.group.command(node, Command::Release))
        };
        if events.iter().any(|event| matches!(event, Event::Entered { .. })) {
            self.node_inside = Some(node);
            self.holders.push(node);
        }
    }

    fn is_finished(&self) -> bool {
        self.group.in_flight_count() == 0 && self.node_inside.is_none()
    }
}

proptest! {
    /// This holds in any order of message arrivals, so an entry costs at most 2D messages, where D
    /// is the diameter of the tree.
    #[test]
    fn messages_are_twice_the_distances_between_consecutive_holders(
        nodes in 1..=12_usize,
        choices in prop::collection::vec(any::<usize>(), 0..200),
    ) {
        let mut run = Run::new(nodes);
        for choice in choices {
            let may_request = true;
            run.act(choice, may_request);
        }
        // More steps than any run needs to serve all pending requests.
        for _ in 0..1_000 {
            let may_request = false;
            run.act(0, may_request);
        }
        prop_assert!(run.is_finished() && run.is_busy.iter().all(|busy| !busy), "a client waits:\n{}", run.group.trace);
        let tree = Tree::of(Group::of_size(nodes));
        let distances = run.holders.windows(2).filter_map(|pair| tree.distance(pair[0], pair[1]));
        prop_assert_eq!(run.delivered_count, 2 * distances.sum::<u64>(), "\n{}", run.group.trace);
    }
}
