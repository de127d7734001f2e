//! Removes parts of a script, and draws all other choices again at random.

use super::nodes::RemovedNodes;
use super::search::Search;
use super::times::compress_times;
use crate::family::FamilyLab;
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_journal::property::PropertyKind;
use quorate_journal::settings::{Latency, Script, TimedCommand};
use std::collections::BTreeSet;

/// A script with at most this many commands is small: the search also removes pairs of its commands
/// and delays single ones.
const SMALL_SCRIPT: usize = 8;
/// Number of seeds for each candidate.
const SEEDS_PER_CANDIDATE: u64 = 20;
/// Number of seeds for sparse scripts and for those with one delayed command.
const DELAYED_SEEDS: u64 = 4;

impl<F: FamilyLab> Search<'_, F> {
    /// Removes a node, commands or nothing, and draws all other choices again. The first failing
    /// run whose shrunk result is smaller becomes the best run. Returns whether there is one.
    pub(super) fn reduce_and_redraw(&mut self) -> bool {
        if !self.best.is_scripted() {
            return false;
        }
        let script = Script { directions: Vec::new(), ..self.script() };
        let full_spec = Spec { script: Some(script.clone()), ..self.best.clone() };
        let without_node = (0..full_spec.nodes)
            .rev()
            .map(|index| RemovedNodes { from: index, until: index + 1 }.remove_from(&full_spec));
        let with_fewer_commands = scripts_with_fewer_commands(&script)
            .into_iter()
            .map(|script| Spec { script: Some(script), ..full_spec.clone() });
        let candidates: Vec<_> = without_node
            .filter(|spec| spec.nodes > 0)
            .chain(with_fewer_commands)
            .chain(std::iter::once(full_spec.clone()))
            .collect();
        candidates.into_iter().any(|candidate| {
            let has_requests = candidate.is_scripted() || F::has_idle_clients(&candidate.settings);
            has_requests && !self.has_ended() && self.try_seeds(&candidate)
        })
    }

    /// Tries a candidate with several seeds and several spacings of its commands, until a run fails
    /// whose shrunk result is smaller than the best run. Returns whether there is one.
    fn try_seeds(&mut self, candidate: &Spec<F>) -> bool {
        let millis = Duration::from_millis;
        let latency = Latency::Uniform { min: millis(1), max: millis(5) };
        let Some(script) = &candidate.script else { return false };
        // Dense, sparse and delayed commands lead to different interleavings.
        let sparse = compress_times(script, millis(20));
        let mut scripts = vec![script.clone(), compress_times(script, millis(1)), sparse.clone()];
        if script.commands.len() <= SMALL_SCRIPT {
            scripts.extend((0..script.commands.len()).map(|index| with_delayed_command(&sparse, index, millis(5))));
        }
        // The first two scripts are tried with all seeds.
        let scripts_for = |seed| scripts.iter().take(if seed <= DELAYED_SEEDS { usize::MAX } else { 2 }).cloned();
        for (seed, script) in (1..=SEEDS_PER_CANDIDATE)
            .flat_map(|seed| scripts_for(seed).map(move |script| (seed, script)).collect::<Vec<_>>())
        {
            let until = self.best.until.filter(|_| self.failure.kind != PropertyKind::Always);
            let candidate = Spec { seed, latency, until, script: Some(script), ..candidate.clone() };
            if self.try_shrunk(candidate) {
                return true;
            }
        }
        false
    }
}

/// The script with one command slightly later.
fn with_delayed_command(script: &Script, index: usize, by: Duration) -> Script {
    let mut script = script.clone();
    if let Some(command) = script.commands.get_mut(index) {
        command.at = command.at + by;
    }
    script.commands.sort_by_key(|command| command.at);
    script
}

/// The script with fewer commands: without any, without one kind or all others, without many at
/// once, without one or two.
fn scripts_with_fewer_commands(script: &Script) -> Vec<Script> {
    let count = script.commands.len();
    let without = |is_removed: &dyn Fn(usize) -> bool| {
        let kept = script.commands.iter().enumerate().filter(|(index, _)| !is_removed(*index));
        Script { commands: kept.map(|(_, command)| command.clone()).collect(), ..script.clone() }
    };
    let names: BTreeSet<_> = script.commands.iter().map(TimedCommand::name).collect();
    let has_name = |index: usize, name: &str| script.commands.get(index).is_some_and(|command| command.name() == name);
    let mut scripts = vec![without(&|_| true)];
    scripts.extend(names.iter().map(|name| without(&|index| !has_name(index, name))));
    scripts.extend(names.iter().map(|name| without(&|index| has_name(index, name))));
    let mut chunk = count / 2;
    while chunk > 0 {
        scripts.extend((0..count).step_by(chunk).map(|from| without(&|index| (from..from + chunk).contains(&index))));
        chunk /= 2;
    }
    if count <= SMALL_SCRIPT {
        let pairs = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
        scripts.extend(pairs.map(|(one, other)| without(&|index| index == one || index == other)));
    }
    scripts.retain(|fewer| fewer.commands.len() < count);
    scripts
}
