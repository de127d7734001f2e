//! A site's knowledge of its own agents: their waits, and the waits of others for them.

use super::{AbortCost, Agent, Need, Wait, WaitId};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SiteState {
    waits: BTreeMap<Agent, Wait>,
    /// The waits for agents here: the agent, the waiter, and the number of the waiter's wait.
    waiters: BTreeSet<(Agent, Agent, WaitId)>,
}

impl SiteState {
    pub(super) fn block(&mut self, wait: Wait) {
        self.waits.insert(wait.agent, wait);
    }

    /// Records that `by` has released what `agent` needs from it, and the new cost of aborting
    /// `agent`. Does nothing if `agent` does not wait.
    pub(super) fn release_dependency(&mut self, agent: Agent, by: Agent, abort_cost: AbortCost) {
        let Some(wait) = self.waits.get_mut(&agent) else { return };
        wait.abort_cost = abort_cost;
        if let Need::All(awaited) = &mut wait.need {
            awaited.retain(|other| *other != by);
        }
    }

    /// Ends an agent's wait and returns it; `None` if the agent does not wait.
    pub(super) fn unblock(&mut self, agent: Agent) -> Option<Wait> {
        self.waits.remove(&agent)
    }

    pub(super) fn add_waiter(&mut self, agent: Agent, waiter: Agent, wait_id: WaitId) {
        self.waiters.insert((agent, waiter, wait_id));
    }

    pub(super) fn remove_waiter(&mut self, agent: Agent, waiter: Agent, wait_id: WaitId) {
        self.waiters.remove(&(agent, waiter, wait_id));
    }

    pub(super) fn has_waiter(&self, agent: Agent, waiter: Agent, wait_id: WaitId) -> bool {
        self.waiters.contains(&(agent, waiter, wait_id))
    }

    pub(super) fn wait(&self, agent: Agent) -> Option<&Wait> {
        self.waits.get(&agent)
    }

    /// Returns the agents that `agent` waits for.
    pub(super) fn awaited_by(&self, agent: Agent) -> Vec<Agent> {
        self.waits.get(&agent).map_or_else(Vec::new, |wait| wait.need.awaited().to_vec())
    }
}
