//! What the tests of one rule share: a stage for a script, a desk that keeps what is said, and surveys of what is left of a view.

use super::{Desk, GroupId, HoldBack, Member, MessageId, Ordering, Plan, Survey};
use crate::group::Group;
use crate::node::NodeId;
use crate::testing::ScriptGroup;
use crate::view::View;
use alloc::sync::Arc;
use core::fmt;
use std::string::{String, ToString};
use std::vec::Vec;

/// The node with this number.
pub(super) fn node(number: usize) -> NodeId {
    NodeId::from_index(number - 1)
}

/// A message of the first view.
pub(super) fn id(sender: usize, number: u64) -> MessageId {
    MessageId { group: GroupId::ONLY, view: View::FIRST, sender: node(sender), number }
}

/// Plays a script to a group without views, set up like this.
pub(super) fn play<O: Ordering>(plan: &Plan, script: &str) -> String {
    let mut stage = stage::<O>(plan);
    stage.run(script);
    stage.trace
}

/// A group without views, set up like this.
pub(super) fn stage<O: Ordering>(plan: &Plan) -> ScriptGroup<Member<O, ()>> {
    let plan = Arc::new(plan.clone());
    ScriptGroup::new(plan.members.len(), |me, _| Member::new(me, Arc::clone(&plan)))
}

/// The names of what a node delivers in a trace, in order.
pub(super) fn heard(trace: &str, node: usize) -> Vec<String> {
    let lines = trace.lines().filter(|line| line.starts_with(&node.to_string()));
    let words = lines.flat_map(|line| line.split("; ").flat_map(|part| part.split(": ")));
    let delivered = words.filter_map(|word| word.strip_prefix("DELIVERS "));
    delivered.filter_map(|word| word.split(' ').next()).map(Into::into).collect()
}

/// A group of so many, as usual.
pub(super) fn group(nodes: usize) -> Plan {
    Plan::new(Group::of_size(nodes))
}

/// A desk that keeps what is said.
pub(super) struct Notebook<W> {
    pub(super) words: Vec<W>,
    pub(super) rules: Vec<&'static str>,
}

impl<W> Notebook<W> {
    pub(super) const fn new() -> Self {
        Self { words: Vec::new(), rules: Vec::new() }
    }
}

impl<W> Desk<W> for Notebook<W> {
    fn send(&mut self, _to: NodeId, word: W) {
        self.words.push(word);
    }
    fn multicast(&mut self, word: W) {
        self.words.push(word);
    }
    fn forward(&mut self, _id: MessageId, word: W) {
        self.words.push(word);
    }
    fn note(&mut self, rule: &'static str, _text: fmt::Arguments<'_>) {
        self.rules.push(rule);
    }
}

/// An empty queue of a group of so many.
pub(super) fn queue<T>(nodes: usize) -> HoldBack<T> {
    HoldBack::new(GroupId::ONLY, View::FIRST, Group::of_size(nodes))
}

/// What is left of a view of three: what anybody holds, up to which message of each everyone holds all, and what each one knows.
pub(super) fn survey<O: Ordering>(
    held: impl IntoIterator<Item = (MessageId, O::Tag)>,
    floor: [u64; 3],
    notes: impl IntoIterator<Item = (usize, O::Notes)>,
) -> Survey<O> {
    Survey {
        held: held.into_iter().collect(),
        floor: (1..).map(node).zip(floor).collect(),
        notes: notes.into_iter().map(|(number, notes)| (node(number), notes)).collect(),
    }
}
