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
use crate::node::NodeId;
use crate::testing::ScriptGroup;
use alloc::sync::Arc;
use std::string::String;

/// The first process of a site.
pub(crate) fn process(site: usize) -> Agent {
    Agent::process(node(site), 0)
}

/// The first resource of a site.
pub(crate) fn resource(site: usize) -> Agent {
    Agent::resource(node(site), 0)
}

pub(crate) fn node(number: usize) -> NodeId {
    NodeId::from_index(number - 1)
}

/// Somebody's first wait, for one other.
pub(crate) fn wait(who: Agent, on: Agent) -> Wait {
    Wait { who, spell: Spell(1), need: Need::All([on].into()), stake: Stake::default() }
}

pub(crate) fn asking<D>(plan: &Plan, detector: fn(NodeId, &Plan) -> D) -> ScriptGroup<Requests<D>>
where
    D: Detector<Message: Describe>,
{
    let plan = Arc::new(plan.clone());
    ScriptGroup::new(plan.sites, |me, _| Requests::new(me, Arc::clone(&plan), detector(me, &plan)))
}

pub(crate) fn ask<D>(plan: &Plan, detector: fn(NodeId, &Plan) -> D, script: &str) -> String
where
    D: Detector<Message: Describe>,
{
    let mut stage = asking(plan, detector);
    stage.run(script);
    stage.trace
}

pub(crate) fn locking<D>(plan: &Plan, detector: fn(NodeId, &Plan) -> D) -> ScriptGroup<Locks<D>>
where
    D: Detector<Message: Describe>,
{
    let plan = Arc::new(plan.clone());
    ScriptGroup::new(plan.sites, |me, _| Locks::new(me, Arc::clone(&plan), detector(me, &plan)))
}

/// Plays a script to sites whose processes ask for resources, one of each of these coordinators.
pub(crate) fn lock<D>(plan: &Plan, detector: fn(NodeId, &Plan) -> D, script: &str) -> String
where
    D: Detector<Message: Describe>,
{
    let mut stage = locking(plan, detector);
    stage.run(script);
    stage.trace
}

pub(crate) fn resources(sites: usize, coordinators: &[usize]) -> Plan {
    Plan { resources: coordinators.iter().map(|site| node(*site)).collect(), ..Plan::new(sites) }
}
