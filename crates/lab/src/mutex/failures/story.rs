//! A run before anything fails, and what is left of it afterwards.

use super::{Harm, MESSAGE, Victim, fault};
use crate::mutex::Mutex;
use crate::mutex::run::{Change, Standing, change};
use crate::{Spec, experiment};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::dice::{Dice, Stream};
use quorate_journal::moment::{Happening, Moment, Observer};
use quorate_journal::settings::TimedFault;

/// How everyone stood, from each change to the next.
pub(super) struct Story {
    seed: u64,
    keeper: Option<NodeId>,
    scenes: Vec<Scene>,
}

struct Scene {
    from: Time,
    to: Time,
    standings: Vec<Standing>,
}

/// A struck node is back after one of these, in message times.
const ABSENCES: [u64; 4] = [1, 3, 8, 20];

impl Story {
    /// The run of this experiment. Only its first half is told: what is struck later shows little.
    pub(super) fn of(spec: &Spec<Mutex>, keeper: Option<NodeId>) -> Self {
        let mut scenes = experiment::play(spec, Scenes::new(spec.nodes)).observer.done;
        let end = scenes.last().map_or(Time::ZERO, |scene| scene.to);
        scenes.retain(|scene| scene.to.since(Time::ZERO) <= end.since(scene.to));
        Self { seed: spec.seed, keeper, scenes }
    }

    /// A fault that hits such a victim, at an instant that the seed chooses.
    pub(super) fn strike(&self, victim: Victim, harm: Harm) -> Option<TimedFault> {
        // Whatever the victim, the same seed must not always choose alike.
        let mut dice = Dice::new(self.seed.wrapping_mul(8).wrapping_add(victim as u64), Stream::Faults);
        let fit: Vec<_> = self.scenes.iter().filter_map(|scene| Some((scene, self.victims(scene, victim)?))).collect();
        let (scene, victims) = fit.get(usize::try_from(dice.below(fit.len() as u64)).ok()?)?;
        let node = victims.get(usize::try_from(dice.below(victims.len() as u64)).ok()?)?;
        // Strictly between two changes, so that nothing else happens at that very instant.
        let inner = scene.to.since(scene.from).nanos().checked_sub(2)?;
        let at = scene.from.since(Time::ZERO) + Duration::from_nanos(1 + dice.below(inner + 1));
        let absence = ABSENCES.get(usize::try_from(dice.below(ABSENCES.len() as u64)).ok()?)?;
        Some(match harm {
            Harm::Dies => fault(*node, at, None),
            Harm::Restarts => fault(*node, at, Some(MESSAGE.times(*absence))),
        })
    }

    /// Who could be such a victim in a scene that has all that it takes; nothing if nobody could.
    fn victims(&self, scene: &Scene, victim: Victim) -> Option<Vec<NodeId>> {
        let all = || scene.standings.iter().enumerate().map(|(index, standing)| (NodeId::from_index(index), *standing));
        let those = |wanted: Standing| {
            let is_meant =
                move |(node, standing): &(NodeId, Standing)| *standing == wanted && self.keeper != Some(*node);
            all().filter(is_meant).map(|(node, _)| node).collect::<Vec<_>>()
        };
        let (inside, waiting, idle) = (those(Standing::Inside), those(Standing::Waiting), those(Standing::Outside));
        let is_keeper_idle = |keeper: &NodeId| scene.standings.get(keeper.index()) == Some(&Standing::Outside);
        let found = match victim {
            Victim::Coordinator if !inside.is_empty() && !waiting.is_empty() => {
                self.keeper.filter(is_keeper_idle).into_iter().collect()
            }
            Victim::Holder if !waiting.is_empty() => inside,
            Victim::Idle if !inside.is_empty() => idle,
            Victim::Waiter => waiting,
            Victim::Coordinator | Victim::Holder | Victim::Idle => Vec::new(),
        };
        (!found.is_empty() && scene.to.since(scene.from).nanos() >= 2).then_some(found)
    }
}

struct Scenes {
    standings: Vec<Standing>,
    since: Time,
    done: Vec<Scene>,
}

impl Scenes {
    fn new(nodes: usize) -> Self {
        Self { standings: vec![Standing::Outside; nodes], since: Time::ZERO, done: Vec::new() }
    }
}

impl Observer<Command, Event> for Scenes {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        let Some((time, node, change)) = change(moment) else { return };
        if time > self.since {
            self.done.push(Scene { from: self.since, to: time, standings: self.standings.clone() });
            self.since = time;
        }
        if let Some(standing) = self.standings.get_mut(node.index()) {
            *standing = standing.after(change);
        }
    }
}

/// Notes who asked after the fault, among those who are up.
pub(super) struct Aftermath {
    /// For each node, whether it still has to be heard of.
    unheard: Vec<bool>,
    struck: bool,
}

impl Aftermath {
    pub(super) fn new(nodes: usize) -> Self {
        Self { unheard: vec![true; nodes], struck: false }
    }

    /// Whether there was a fault, and everyone who was up then has asked since.
    pub(super) fn has_heard_all(&self) -> bool {
        self.struck && self.unheard.iter().all(|unheard| !unheard)
    }
}

impl Observer<Command, Event> for Aftermath {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        let heard = match (moment, change(moment)) {
            // One that restarts is not waited for: it has asked others for nothing.
            (Moment::World { what: Happening::Crashed { node, .. }, .. }, _) => {
                self.struck = true;
                Some(*node)
            }
            (_, Some((_, node, Change::Asks(..)))) if self.struck => Some(node),
            (Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. }, _) => None,
        };
        if let Some(unheard) = heard.and_then(|node| self.unheard.get_mut(node.index())) {
            *unheard = false;
        }
    }
}
