//! Test helpers for detectors: a script goes in, a readable trace comes out.
//!
//! ```text
//! 1 ask-P2+P3          the process of site 1 asks those of 2 and 3, and waits for both
//! 1 ask-P2|P3          the process of site 1 asks both, and waits for either
//! 1 ask-R2@1           the second process of site 1 requests the resource of site 2
//! 1 answer-P2          the process of site 1 answers that of site 2
//! 1 give-up            the process of site 1 cancels its wait
//! 1 look               the process of site 1 starts a check
//! 1 > 2                the oldest message in flight from 1 to 2 arrives
//! ```
//!
//! [`testing`](crate::testing) lists the other steps.

use super::{AbortCost, Agent, Detector, Locks, Need, Plan, Requests, Wait, WaitId};
use crate::describe::Describe;
use crate::group::Group;
use crate::node::NodeId;
use crate::protocol::Protocol;
use crate::testing::{ScriptCommand, ScriptGroup};
use alloc::sync::Arc;
use core::fmt::Display;
use std::string::String;

/// Returns the first process of a site. Sites are numbered from 1, here and below.
pub(crate) fn process(site: usize) -> Agent {
    Agent::process(node(site), 0)
}

/// Returns the first resource of a site.
pub(crate) fn resource(site: usize) -> Agent {
    Agent::resource(node(site), 0)
}

pub(crate) fn node(number: usize) -> NodeId {
    NodeId::from_index(number - 1)
}

/// Returns the first wait of an agent, for one other agent.
pub(crate) fn wait(agent: Agent, awaited: Agent) -> Wait {
    Wait { agent, wait_id: WaitId(1), need: Need::All([awaited].into()), abort_cost: AbortCost::default() }
}

/// Returns a constructor for the sites of a group whose processes ask each other. `plan` returns
/// the plan for a number of sites.
pub(crate) fn request_sites<D: Detector>(
    plan: impl Fn(usize) -> Plan,
    detector: fn(NodeId, &Plan) -> D,
) -> impl Fn(NodeId, Group) -> Requests<D> {
    move |me, group| {
        let plan = Arc::new(plan(group.len()));
        Requests::new(me, Arc::clone(&plan), detector(me, &plan))
    }
}

/// Returns a group whose processes ask each other.
pub(crate) fn request_group<D>(plan: &Plan, detector: fn(NodeId, &Plan) -> D) -> ScriptGroup<Requests<D>>
where
    D: Detector<Message: Describe>,
{
    ScriptGroup::new(plan.sites, request_sites(|_| plan.clone(), detector))
}

/// Delivers forged messages, each given with its claimed sender and its receiver, and asserts that
/// no node changes its state.
#[track_caller]
pub(crate) fn assert_ignored<P>(mut group: ScriptGroup<P>, forged: impl IntoIterator<Item = (usize, usize, P::Message)>)
where
    P: Protocol<Command: ScriptCommand, Event: Display, Message: Describe> + Clone + PartialEq,
{
    let before = group.nodes.clone();
    for (from, to, message) in forged {
        group.forge(node(from), node(to), message);
    }
    assert!(group.nodes == before, "{}", group.trace);
}

/// Runs a script on a group whose processes ask each other, and returns the trace.
pub(crate) fn request_trace<D>(plan: &Plan, detector: fn(NodeId, &Plan) -> D, script: &str) -> String
where
    D: Detector<Message: Describe>,
{
    let mut group = request_group(plan, detector);
    group.run(script);
    group.trace
}

/// Returns a constructor for the sites of a group whose processes lock resources: one resource for
/// each coordinator in the list.
pub(crate) fn lock_sites<D: Detector>(
    coordinators: &[usize],
    detector: fn(NodeId, &Plan) -> D,
) -> impl Fn(NodeId, Group) -> Locks<D> {
    move |me, group| {
        let resource_coordinators = coordinators.iter().map(|site| node(*site)).collect();
        let plan = Arc::new(Plan { resource_coordinators, ..Plan::new(group.len()) });
        Locks::new(me, Arc::clone(&plan), detector(me, &plan))
    }
}
