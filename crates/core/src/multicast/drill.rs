//! What the tests of one rule share: a stage for a script, a desk that keeps what is said, and surveys of what is left of a view.

use super::{Causes, Desk, GroupId, HoldBack, Member, MessageId, Notes, Ordering, Place, Plan, Survey, Window, Word};
use crate::group::Group;
use crate::node::NodeId;
use crate::testing::ScriptGroup;
use crate::view::View;
use crate::wrap::InViews;
use alloc::sync::Arc;
use core::fmt;
use std::string::{String, ToString};
use std::vec::Vec;

pub(super) fn node(number: usize) -> NodeId {
    NodeId::from_index(number - 1)
}

pub(super) fn id(sender: usize, number: u64) -> MessageId {
    MessageId { group: GroupId::ONLY, view: View::FIRST, sender: node(sender), number }
}

/// Plays a script to a group without views, set up like this.
pub(super) fn play<O: Ordering>(plan: &Plan, script: &str) -> String {
    let mut stage = stage::<O>(plan);
    stage.run(script);
    stage.trace
}

pub(super) fn stage<O: Ordering>(plan: &Plan) -> ScriptGroup<Member<()>> {
    let plan = Arc::new(plan.clone());
    ScriptGroup::new(plan.members.len(), |me, _| Member::new(me, Arc::clone(&plan), O::boxed))
}

/// The names of what a node delivers in a trace, in order.
pub(super) fn heard(trace: &str, node: usize) -> Vec<String> {
    let lines = trace.lines().filter(|line| line.starts_with(&node.to_string()));
    let words = lines.flat_map(|line| line.split("; ").flat_map(|part| part.split(": ")));
    let delivered = words.filter_map(|word| word.strip_prefix("DELIVERS "));
    delivered.filter_map(|word| word.split(' ').next()).map(Into::into).collect()
}

/// Every one of so many nodes delivers exactly these, in this order.
#[track_caller]
pub(super) fn assert_all_hear(trace: &str, nodes: usize, expected: &[&str]) {
    for node in 1..=nodes {
        assert_eq!(heard(trace, node), expected, "{trace}");
    }
}

/// A group of three whose members have sent each other many messages in small windows, and hold none of them any more. Nor do they know
/// anything of their places, as `known` counts it.
pub(super) fn assert_forgets<O: Ordering>(known: fn(&Notes) -> Option<usize>) -> String {
    let mut stage = stage::<O>(&Plan { window: Window { messages: 2, bytes: 100 }, ..group(3) });
    for _ in 0..20 {
        stage.run("1 send; 2 send; 3 send; rest");
    }
    for node in &stage.nodes {
        let left = node.report().begun.map(|begun| (begun.held.len(), known(&begun.notes)));
        assert_eq!(left, Some((0, Some(0))));
    }
    assert_eq!(heard(&stage.trace, 1).len(), 60);
    stage.trace
}

pub(super) fn group(nodes: usize) -> Plan {
    Plan::new(Group::of_size(nodes))
}

pub(super) struct Notebook {
    pub(super) words: Vec<Word>,
    pub(super) rules: Vec<&'static str>,
}

impl Notebook {
    pub(super) const fn new() -> Self {
        Self { words: Vec::new(), rules: Vec::new() }
    }
}

impl Desk for Notebook {
    fn send(&mut self, _to: NodeId, word: Word) {
        self.words.push(word);
    }
    fn multicast(&mut self, word: Word) {
        self.words.push(word);
    }
    fn forward(&mut self, place: Place) {
        self.words.push(Word::Place(place));
    }
    fn note(&mut self, rule: &'static str, _text: fmt::Arguments<'_>) {
        self.rules.push(rule);
    }
}

pub(super) fn queue(nodes: usize) -> HoldBack {
    HoldBack::new(GroupId::ONLY, View::FIRST, Group::of_size(nodes))
}

pub(super) fn bare<const N: usize>(ids: [(usize, u64); N]) -> [(MessageId, Causes); N] {
    ids.map(|(sender, number)| (id(sender, number), Causes::none()))
}

/// What is left of a view of three: what anybody holds, up to which message of each everyone holds all, and what each one knows.
pub(super) fn survey(
    held: impl IntoIterator<Item = (MessageId, Causes)>,
    floor: [u64; 3],
    notes: impl IntoIterator<Item = (usize, Notes)>,
) -> Survey {
    Survey {
        held: held.into_iter().collect(),
        floor: (1..).map(node).zip(floor).collect(),
        notes: notes.into_iter().map(|(number, notes)| (node(number), notes)).collect(),
    }
}

/// How an order in a group of three settles this, whoever it is there.
pub(super) fn settle<O: Ordering>(survey: &Survey) -> Vec<MessageId> {
    third::<O>().settle(survey)
}

/// What an order in a group of three leaves of what was settled before.
pub(super) fn prune<O: Ordering>(settled: impl Into<Vec<MessageId>>, survey: &Survey) -> Vec<MessageId> {
    third::<O>().prune(settled.into(), survey)
}

fn third<O: Ordering>() -> O {
    O::begin(&group(3), node(3), &group(3).members)
}
