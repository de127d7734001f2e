//! A stage for tests of detectors: a script goes in, a readable trace comes out.
//!
//! ```text
//! 1 ask-P2+P3          the process of site 1 asks those of 2 and 3, and waits for both
//! 1 ask-P2|P3          it waits for any of them
//! 1 ask-R2@1           its second process asks for the resource of site 2
//! 1 answer-P2          it lets the process of site 2 go on
//! 1 give-up            it waits no longer
//! 1 look               it has a look
//! 1 > 2                the oldest message in flight from 1 to 2 arrives; the rest is in `testing`
//! ```

use super::{Agent, Detector, Locks, Need, Plan, Requests, Spell, Stake, Wait};
use crate::describe::Describe;
use crate::group::Group;
use crate::node::NodeId;
use crate::protocol::Protocol;
use crate::testing::{ScriptCommand, ScriptGroup};
use alloc::sync::Arc;
use core::fmt::Display;
use std::string::String;

pub(crate) fn process(site: usize) -> Agent {
    Agent::process(node(site), 0)
}

pub(crate) fn resource(site: usize) -> Agent {
    Agent::resource(node(site), 0)
}

pub(crate) fn node(number: usize) -> NodeId {
    NodeId::from_index(number - 1)
}

pub(crate) fn wait(who: Agent, on: Agent) -> Wait {
    Wait { who, spell: Spell(1), need: Need::All([on].into()), stake: Stake::default() }
}

/// Makes the site of a group whose processes ask each other, by the plan for a group of its size.
pub(crate) fn asks<D: Detector>(
    plan: impl Fn(usize) -> Plan,
    detector: fn(NodeId, &Plan) -> D,
) -> impl Fn(NodeId, Group) -> Requests<D> {
    move |me, group| {
        let plan = Arc::new(plan(group.len()));
        Requests::new(me, Arc::clone(&plan), detector(me, &plan))
    }
}

pub(crate) fn asking<D>(plan: &Plan, detector: fn(NodeId, &Plan) -> D) -> ScriptGroup<Requests<D>>
where
    D: Detector<Message: Describe>,
{
    ScriptGroup::new(plan.sites, asks(|_| plan.clone(), detector))
}

/// Delivers messages that nobody has sent, each with its sender and receiver. No node may change by them.
#[track_caller]
pub(crate) fn assert_ignored<P>(mut stage: ScriptGroup<P>, forged: impl IntoIterator<Item = (usize, usize, P::Message)>)
where
    P: Protocol<Command: ScriptCommand, Event: Display, Message: Describe> + Clone + PartialEq,
{
    let before = stage.nodes.clone();
    for (from, to, message) in forged {
        stage.forge(node(from), node(to), message);
    }
    assert!(stage.nodes == before, "{}", stage.trace);
}

pub(crate) fn ask<D>(plan: &Plan, detector: fn(NodeId, &Plan) -> D, script: &str) -> String
where
    D: Detector<Message: Describe>,
{
    let mut stage = asking(plan, detector);
    stage.run(script);
    stage.trace
}

/// Makes the site of a group whose processes ask for resources, one of each of these coordinators.
pub(crate) fn locks<D: Detector>(
    coordinators: &[usize],
    detector: fn(NodeId, &Plan) -> D,
) -> impl Fn(NodeId, Group) -> Locks<D> {
    move |me, group| {
        let resources = coordinators.iter().map(|site| node(*site)).collect();
        let plan = Arc::new(Plan { resources, ..Plan::new(group.len()) });
        Locks::new(me, Arc::clone(&plan), detector(me, &plan))
    }
}
