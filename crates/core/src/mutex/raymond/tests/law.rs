//! What the token costs: it goes the shortest way from each holder to the next, and is asked for once an edge.

use crate::mutex::Raymond;
use crate::mutex::prelude::*;
use crate::testing::ScriptGroup;
use crate::tree::Tree;
use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};
use std::vec;

/// A group whose users wait their turn, and who was inside so far.
struct Run {
    stage: ScriptGroup<Raymond>,
    /// Whether each user wants in, or is inside.
    busy: Vec<bool>,
    inside: Option<NodeId>,
    holders: Vec<NodeId>,
    arrived: u64,
}

impl Run {
    fn new(nodes: usize) -> Self {
        let stage = ScriptGroup::new(nodes, Raymond::new);
        Self { stage, busy: vec![false; nodes], inside: None, holders: Vec::from([NodeId::from_index(0)]), arrived: 0 }
    }

    /// One of all that can happen does: a message arrives, a user leaves, a user asks.
    fn go_on(&mut self, choice: usize, asks: bool) {
        let idle: Vec<_> = (0..self.busy.len()).filter(|node| asks && !self.busy[*node]).collect();
        let letters = self.stage.in_flight();
        let choices = letters + idle.len() + usize::from(self.inside.is_some());
        if choices == 0 {
            return;
        }
        let choice = choice % choices;
        let (node, events) = if choice < letters {
            self.arrived += 1;
            self.stage.deliver(choice)
        } else if let Some(node) = idle.get(choice - letters) {
            self.busy[*node] = true;
            let node = NodeId::from_index(*node);
            (node, self.stage.command(node, Command::Acquire))
        } else {
            let node = self.inside.take().expect("somebody inside");
            self.busy[node.index()] = false;
            (node, self.stage.command(node, Command::Release))
        };
        if events.iter().any(|event| matches!(event, Event::Entered { .. })) {
            self.inside = Some(node);
            self.holders.push(node);
        }
    }

    fn is_over(&self) -> bool {
        self.stage.in_flight() == 0 && self.inside.is_none()
    }
}

proptest! {
    /// Whatever the order in which messages arrive, and so at most 2D messages an entry.
    #[test]
    fn messages_are_twice_the_distances_between_those_who_enter(
        nodes in 1..=12_usize,
        choices in prop::collection::vec(any::<usize>(), 0..200),
    ) {
        let mut run = Run::new(nodes);
        for choice in choices {
            run.go_on(choice, true);
        }
        for _ in 0..1_000 {
            run.go_on(0, false);
        }
        prop_assert!(run.is_over() && run.busy.iter().all(|busy| !busy), "somebody waits:\n{}", run.stage.trace);
        let tree = Tree::of(Group::of_size(nodes));
        let ways = run.holders.windows(2).filter_map(|pair| tree.distance(pair[0], pair[1]));
        prop_assert_eq!(run.arrived, 2 * ways.sum::<u64>(), "\n{}", run.stage.trace);
    }
}
