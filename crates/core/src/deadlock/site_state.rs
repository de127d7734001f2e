//! A site's knowledge of its own agents: their waits, and the waits of others for them.

use super::{AbortCost, Agent, Need, Wait, WaitId};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SiteState {
    waits: BTreeMap<Agent, Wait>,
    /// The waits for agents here: the agent, the waiter, and the number of its wait.
    waiters: BTreeSet<(Agent, Agent, WaitId)>,
}

impl SiteState {
    pub(super) fn block(&mut self, wait: Wait) {
        self.waits.insert(wait.who, wait);
    }

    /// Records that one of the agents that `who` waits for has released, and the new cost of
    /// aborting `who`.
    pub(super) fn release_dependency(&mut self, who: Agent, by: Agent, abort_cost: AbortCost) {
        let Some(wait) = self.waits.get_mut(&who) else { return };
        wait.abort_cost = abort_cost;
        if let Need::All(on) = &mut wait.need {
            on.retain(|agent| *agent != by);
        }
    }

    /// Ends a wait and returns it, if there is one.
    pub(super) fn unblock(&mut self, who: Agent) -> Option<Wait> {
        self.waits.remove(&who)
    }

    pub(super) fn add_waiter(&mut self, who: Agent, waiter: Agent, wait_id: WaitId) {
        self.waiters.insert((who, waiter, wait_id));
    }

    pub(super) fn remove_waiter(&mut self, who: Agent, waiter: Agent, wait_id: WaitId) {
        self.waiters.remove(&(who, waiter, wait_id));
    }

    pub(super) fn has_waiter(&self, who: Agent, waiter: Agent, wait_id: WaitId) -> bool {
        self.waiters.contains(&(who, waiter, wait_id))
    }

    pub(super) fn wait(&self, who: Agent) -> Option<&Wait> {
        self.waits.get(&who)
    }

    /// Returns the agents that `who` waits for.
    pub(super) fn awaited_by(&self, who: Agent) -> Vec<Agent> {
        self.waits.get(&who).map_or_else(Vec::new, |wait| wait.need.on().to_vec())
    }
}
