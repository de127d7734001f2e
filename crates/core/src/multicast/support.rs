//! Helpers for the tests of single rules: scripted groups, a sink that records messages, and
//! surveys of a view's end.

use super::{
    Causes, GroupId, HoldBack, Member, MessageId, OrderMessage, OrderReport, OrderSink, Ordering, Plan, Position,
    Survey, Window,
};
use crate::group::Group;
use crate::node::NodeId;
use crate::testing::ScriptGroup;
use crate::view::View;
use crate::wrap::InViews;
use alloc::sync::Arc;
use core::fmt;
use std::string::{String, ToString};
use std::vec::Vec;

/// Returns the id of the node with this number, from 1.
pub(super) fn node(number: usize) -> NodeId {
    NodeId::from_index(number - 1)
}

/// Returns the id of a message in the first view.
pub(super) fn id(sender: usize, number: u64) -> MessageId {
    MessageId { group: GroupId::ONLY, view: View::FIRST, sender: node(sender), number }
}

/// Runs a script in a group with this plan and without views. Returns the trace.
pub(super) fn run_script<O: Ordering>(plan: &Plan, script: &str) -> String {
    let mut script_group = script_group::<O>(plan);
    script_group.run(script);
    script_group.trace
}

pub(super) fn script_group<O: Ordering>(plan: &Plan) -> ScriptGroup<Member<()>> {
    let plan = Arc::new(plan.clone());
    ScriptGroup::new(plan.members.len(), |me, _| Member::new(me, Arc::clone(&plan), O::boxed))
}

/// Returns the ids of the messages that a node delivers in a trace, in order.
pub(super) fn delivered_by(trace: &str, node: usize) -> Vec<String> {
    let lines = trace.lines().filter(|line| line.starts_with(&node.to_string()));
    let messages = lines.flat_map(|line| line.split("; ").flat_map(|part| part.split(": ")));
    let delivered = messages.filter_map(|message| message.strip_prefix("DELIVERS "));
    delivered.filter_map(|message| message.split(' ').next()).map(Into::into).collect()
}

/// Asserts that each node from 1 to `nodes` delivers exactly these messages, in this order.
#[track_caller]
pub(super) fn assert_all_deliver(trace: &str, nodes: usize, expected: &[&str]) {
    for node in 1..=nodes {
        assert_eq!(delivered_by(trace, node), expected, "{trace}");
    }
}

/// Lets three members multicast many messages with small windows. Asserts that in the end they keep
/// no messages and know no positions. Returns the trace. `known_positions` counts the positions in
/// a report of the ordering.
pub(super) fn assert_forgets<O: Ordering>(known_positions: fn(&OrderReport) -> Option<usize>) -> String {
    let mut script_group = script_group::<O>(&Plan { window: Window { messages: 2, bytes: 100 }, ..default_plan(3) });
    for _ in 0..20 {
        script_group.run("1 send; 2 send; 3 send; rest");
    }
    for node in &script_group.nodes {
        let remaining =
            node.report().begun_holdings.map(|holdings| (holdings.held.len(), known_positions(&holdings.order_report)));
        assert_eq!(remaining, Some((0, Some(0))));
    }
    assert_eq!(delivered_by(&script_group.trace, 1).len(), 60);
    script_group.trace
}

/// Returns the default plan for a group of this size.
pub(super) fn default_plan(nodes: usize) -> Plan {
    Plan::new(Group::of_size(nodes))
}

/// Records the messages that an ordering sends, and the rules that it applies.
pub(super) struct RecordingSink {
    pub(super) messages: Vec<OrderMessage>,
    pub(super) rules: Vec<&'static str>,
}

impl RecordingSink {
    pub(super) const fn new() -> Self {
        Self { messages: Vec::new(), rules: Vec::new() }
    }
}

impl OrderSink for RecordingSink {
    fn send(&mut self, _to: NodeId, message: OrderMessage) {
        self.messages.push(message);
    }
    fn multicast(&mut self, message: OrderMessage) {
        self.messages.push(message);
    }
    fn forward(&mut self, position: Position) {
        self.messages.push(OrderMessage::Position(position));
    }
    fn note(&mut self, rule: &'static str, _text: fmt::Arguments<'_>) {
        self.rules.push(rule);
    }
}

/// Returns an empty hold-back queue of the first view.
pub(super) fn queue(nodes: usize) -> HoldBack {
    HoldBack::new(GroupId::ONLY, View::FIRST, Group::of_size(nodes))
}

/// Returns these messages, given as sender and number, with empty tags.
pub(super) fn without_causes<const N: usize>(ids: [(usize, u64); N]) -> [(MessageId, Causes); N] {
    ids.map(|(sender, number)| (id(sender, number), Causes::none()))
}

/// Returns a survey of a view of three members: the messages that survivors hold, the number of
/// each sender's messages that all members hold, and the order report of each survivor.
pub(super) fn survey(
    held: impl IntoIterator<Item = (MessageId, Causes)>,
    stable_counts: [u64; 3],
    order_reports: impl IntoIterator<Item = (usize, OrderReport)>,
) -> Survey {
    Survey {
        held: held.into_iter().collect(),
        stable_counts: (1..).map(node).zip(stable_counts).collect(),
        order_reports: order_reports.into_iter().map(|(number, report)| (node(number), report)).collect(),
    }
}

/// Returns the order that an ordering in a group of three settles for this survey.
pub(super) fn settle<O: Ordering>(survey: &Survey) -> Vec<MessageId> {
    ordering_of_node_3::<O>().settle(survey)
}

/// Returns the part of a settled order that an ordering in a group of three keeps.
pub(super) fn prune<O: Ordering>(settled: impl Into<Vec<MessageId>>, survey: &Survey) -> Vec<MessageId> {
    ordering_of_node_3::<O>().prune(settled.into(), survey)
}

fn ordering_of_node_3<O: Ordering>() -> O {
    O::create(&default_plan(3), node(3), &default_plan(3).members)
}
