//! What a site knows of its own agents: who of them waits for whom, and who waits for them.

use super::{Agent, Need, Spell, Stake, Wait};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Ledger {
    waits: BTreeMap<Agent, Wait>,
    owed: BTreeSet<(Agent, Agent, Spell)>,
}

impl Ledger {
    pub(super) fn block(&mut self, wait: Wait) {
        self.waits.insert(wait.who, wait);
    }

    /// One of those that somebody waits for has let go, and it would lose this by giving up now.
    pub(super) fn ease(&mut self, who: Agent, by: Agent, stake: Stake) {
        let Some(wait) = self.waits.get_mut(&who) else { return };
        wait.stake = stake;
        if let Need::All(on) = &mut wait.need {
            on.retain(|agent| *agent != by);
        }
    }

    /// It waits no longer. Tells of the wait that is over.
    pub(super) fn run(&mut self, who: Agent) -> Option<Wait> {
        self.waits.remove(&who)
    }

    pub(super) fn owe(&mut self, who: Agent, to: Agent, spell: Spell) {
        self.owed.insert((who, to, spell));
    }

    pub(super) fn pay(&mut self, who: Agent, to: Agent, spell: Spell) {
        self.owed.remove(&(who, to, spell));
    }

    pub(super) fn owes(&self, who: Agent, to: Agent, spell: Spell) -> bool {
        self.owed.contains(&(who, to, spell))
    }

    pub(super) fn wait(&self, who: Agent) -> Option<&Wait> {
        self.waits.get(&who)
    }

    pub(super) fn on(&self, who: Agent) -> Vec<Agent> {
        self.waits.get(&who).map_or_else(Vec::new, |wait| wait.need.on().to_vec())
    }
}
