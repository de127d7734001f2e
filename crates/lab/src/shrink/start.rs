//! The start of a search: smaller runs with random choices left, then a script that fixes the
//! random choices.

use super::nodes::RemovedNodes;
use super::search::Search;
use super::size::without_unused_parts;
use super::{
    fix_choices, has_fixed_choices, record_choices, smaller_counts, with_fast_messages, with_script,
    with_smaller_settings,
};
use crate::chaos::FaultMix;
use crate::experiment::simulate;
use crate::family::FamilyLab;
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_journal::settings::{Chance, Fault, Latency, Script, TimedCommand, TimedFault};

/// Numbers of seeds to try with random choices left: few at first, more if these find no smaller
/// failing run.
const SEED_LEVELS: [u64; 3] = [8, 40, 200];
/// Number of seeds for the first script of commands and faults.
const FIRST_SCRIPT_SEEDS: u64 = 20;

impl<F: FamilyLab> Search<'_, F> {
    /// Tries smaller runs with random choices left, each also with other seeds.
    pub(super) fn reduce_random_run(&mut self) {
        let reduced = without_unused_parts(&self.best, &self.failure);
        self.try_spec(reduced);
        if has_fixed_choices(&self.best) {
            return;
        }
        self.repeat_with_random_choices(|search| {
            search.smaller_random_specs().into_iter().any(|candidate| search.try_spec(candidate))
        });
    }

    /// Repeats an action with random choices left, with more seeds if it does not succeed.
    fn repeat_with_random_choices(&mut self, mut act: impl FnMut(&mut Self) -> bool) {
        self.has_random_choices = true;
        let mut level = 0;
        while let Some(seeds) = SEED_LEVELS.get(level)
            && !self.should_stop()
        {
            self.seeds_per_candidate = *seeds;
            level = if act(self) { 0 } else { level + 1 };
        }
        self.has_random_choices = false;
    }

    /// Writes commands and faults as a script, so that some can be removed while all other choices
    /// stay random.
    pub(super) fn script_and_reduce(&mut self) {
        if has_fixed_choices(&self.best) {
            return;
        }
        if self.script_commands_and_faults() {
            self.remove_parts_with_random_choices();
        }
    }

    /// Replaces the best run with a script of its commands and faults, if a run of the script
    /// fails. Returns whether one does.
    pub(super) fn script_commands_and_faults(&mut self) -> bool {
        [false, true].into_iter().any(|with_implied_faults| {
            let script = with_script(&self.best, record_choices(&self.best, &self.failure), with_implied_faults);
            self.accept_failing_script(&script)
        })
    }

    /// Makes the first failing script the best run, and returns whether there is one. Tries the
    /// script itself, scripts without the commands that a crash would lose, because clients of a
    /// script do not retry, and scripts with one kind of command.
    fn accept_failing_script(&mut self, scripted: &Spec<F>) -> bool {
        let Some(script) = &scripted.script else { return false };
        // With 0 seconds, this is the script itself.
        let without_lost = [0, 1, 10].map(|seconds| without_crashed_commands(script, Duration::from_secs(seconds)));
        let only_command = |script: &Script, word: &str| {
            let commands = script
                .commands
                .iter()
                .filter(|command| word.split(' ').next() == Some(command.name()))
                .cloned()
                .collect();
            Script { commands, ..script.clone() }
        };
        let with_one_kind =
            F::COMMANDS.iter().flat_map(|word| without_lost.iter().map(move |script| only_command(script, word)));
        let scripts: Vec<_> = without_lost.iter().cloned().chain(with_one_kind).collect();
        let seeds = std::iter::once(scripted.seed).chain(1..=FIRST_SCRIPT_SEEDS);
        for (seed, script) in seeds.flat_map(|seed| scripts.iter().map(move |script| (seed, script))) {
            let candidate = Spec { seed, script: Some(script.clone()), ..scripted.clone() };
            if let Some(failure) = self.run_candidate(&candidate) {
                self.accept(candidate, failure);
                return true;
            }
        }
        false
    }

    fn remove_parts_with_random_choices(&mut self) {
        self.repeat_with_random_choices(|search| {
            let before = search.size.leading_parts();
            search.try_fewer_nodes();
            search.try_fewer_lines();
            search.shorten_times();
            search.size.leading_parts() < before
        });
    }

    /// Smaller experiments with random choices left.
    fn smaller_random_specs(&self) -> Vec<Spec<F>> {
        let spec = &self.best;
        let nodes = smaller_counts(spec.nodes as u64);
        let nodes = nodes.map(|nodes| RemovedNodes { from: nodes as usize, until: spec.nodes }.remove_from(spec));
        let zero = Latency::Fixed(Duration::ZERO);
        let simple = [
            Spec { processing: zero, ..spec.clone() },
            Spec { fifo: false, ..spec.clone() },
            Spec { loss: Chance::NEVER, ..spec.clone() },
            Spec { duplicate: Chance::NEVER, ..spec.clone() },
        ];
        // Another seed may fail earlier.
        let others = simple.into_iter().filter(|candidate| candidate != spec).chain([spec.clone()]);
        nodes.chain(with_smaller_settings(spec)).chain(others).collect()
    }

    /// Replaces the best run with a script of all its random choices, if the script's run fails.
    pub(super) fn fix_random_choices(&mut self) {
        if has_fixed_choices(&self.best) {
            return;
        }
        let fixed_spec = fix_choices(&self.best, record_choices(&self.best, &self.failure), &self.failure);
        for candidate in with_fast_messages(fixed_spec) {
            if let Some(failure) = self.run_candidate(&candidate) {
                return self.accept(candidate, failure);
            }
        }
    }

    /// Replaces a best run without a script with one whose script contains the faults, if the new
    /// run fails. Its clients keep their workload.
    pub(super) fn script_faults_only(&mut self) {
        if self.best.script.is_some() {
            return;
        }
        let spec = &self.best;
        // The clients may have aimed some of the faults at what the run did.
        let mut faults = simulate(spec, ()).faults;
        if faults.is_empty() {
            return;
        }
        faults.sort_by_key(|timed| timed.at);
        let candidate = Spec {
            faults: Vec::new(),
            script: Some(Script { faults, ..Script::default() }),
            script_path: None,
            random_faults: FaultMix::default(),
            settings: F::without_random_faults(&spec.settings),
            ..spec.clone()
        };
        if let Some(failure) = self.run_candidate(&candidate) {
            self.accept(candidate, failure);
        }
    }
}

/// A script without the commands to nodes that crash less than `within` after the command.
fn without_crashed_commands(script: &Script, within: Duration) -> Script {
    let mut script = script.clone();
    let crashes: Vec<_> = script.faults.iter().filter(|timed| matches!(timed.fault, Fault::Crash { .. })).collect();
    let is_lost = |command: &TimedCommand| {
        let is_soon = |crash: &&TimedFault| (command.at..command.at + within).contains(&crash.at);
        crashes.iter().any(|crash| crash.fault.node() == Some(command.node) && is_soon(crash))
    };
    let commands = script.commands.iter().filter(|command| !is_lost(command)).cloned().collect();
    script.commands = commands;
    script
}
