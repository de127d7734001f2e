//! The beginning of a search: fewer of everything while chance is left, then a script that says what chance decided.

use super::nodes::Gone;
use super::search::Search;
use super::size::tidied;
use super::{explicit, fast, fewer, is_explicit, note, scripted, smaller};
use crate::chaos::FaultMix;
use crate::family::FamilyLab;
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_journal::settings::{Chance, Fault, Latency, Script, TimedCommand, TimedFault};

/// How many seeds are tried where chance is left: few at first, more where that does not help.
const SEEDS: [u64; 3] = [8, 40, 200];
/// How many seeds the first script is given that says what users do.
const FIRST_SEEDS: u64 = 20;

impl<F: FamilyLab> Search<'_, F> {
    /// Fewer of everything, while chance is left: other seeds may fail where this one does not.
    pub(super) fn make_fewer(&mut self) {
        let tidy = tidied(&self.best, &self.failure);
        self.try_spec(tidy);
        if is_explicit(&self.best) {
            return;
        }
        self.loosely(|search| search.rougher().into_iter().any(|candidate| search.try_spec(candidate)));
    }

    /// Tries something with chance left again and again, with more seeds if it does not help.
    fn loosely(&mut self, mut act: impl FnMut(&mut Self) -> bool) {
        self.is_loose = true;
        let mut level = 0;
        while let Some(seeds) = SEEDS.get(level)
            && !self.is_tired()
        {
            self.seeds = *seeds;
            level = if act(self) { 0 } else { level + 1 };
        }
        self.is_loose = false;
    }

    /// Writes down what users do and what goes wrong, so that some of it can be left out while chance decides the rest.
    pub(super) fn make_scripted(&mut self) {
        if is_explicit(&self.best) {
            return;
        }
        if self.begin_scripted() {
            self.leave_out_loosely();
        }
    }

    /// Takes a script for the best run that says what users do and what goes wrong in it.
    pub(super) fn begin_scripted(&mut self) -> bool {
        [false, true].into_iter().any(|is_full| {
            let said = scripted(&self.best, note(&self.best, &self.failure), is_full);
            self.begin_script(&said)
        })
    }

    /// Takes the first script for the best run that fails at all. Users whom a script speaks for ask only once, so what a
    /// crash would swallow is left out if it must be.
    fn begin_script(&mut self, said: &Spec<F>) -> bool {
        let Some(script) = &said.script else { return false };
        let unhurt = [0, 1, 10].map(|seconds| unhurt(script, Duration::from_secs(seconds)));
        let only = |script: &Script, word: &str| {
            let commands = script
                .commands
                .iter()
                .filter(|command| word.split(' ').next() == Some(command.name()))
                .cloned()
                .collect();
            Script { commands, ..script.clone() }
        };
        let alone = F::COMMANDS.iter().flat_map(|word| unhurt.iter().map(move |script| only(script, word)));
        let scripts: Vec<_> = unhurt.iter().cloned().chain(alone).collect();
        let seeds = std::iter::once(said.seed).chain(1..=FIRST_SEEDS);
        for (seed, script) in seeds.flat_map(|seed| scripts.iter().map(move |script| (seed, script))) {
            let candidate = Spec { seed, script: Some(script.clone()), ..said.clone() };
            if let Some(failure) = self.fails(&candidate) {
                self.accept(candidate, failure);
                return true;
            }
        }
        false
    }

    fn leave_out_loosely(&mut self) {
        self.loosely(|search| {
            let before = search.size.bulk();
            search.fewer_nodes();
            search.fewer_lines();
            search.less_time();
            search.size.bulk() < before
        });
    }

    fn rougher(&self) -> Vec<Spec<F>> {
        let spec = &self.best;
        let nodes = fewer(spec.nodes as u64);
        let nodes = nodes.map(|nodes| Gone { from: nodes as usize, until: spec.nodes }.without(spec));
        let still = Latency::Fixed(Duration::ZERO);
        let simple = [
            Spec { processing: still, ..spec.clone() },
            Spec { fifo: false, ..spec.clone() },
            Spec { loss: Chance::NEVER, ..spec.clone() },
            Spec { duplicate: Chance::NEVER, ..spec.clone() },
        ];
        // Another seed may fail sooner.
        let others = simple.into_iter().filter(|candidate| candidate != spec).chain([spec.clone()]);
        nodes.chain(smaller(spec)).chain(others).collect()
    }

    /// Writes down everything that chance decided.
    pub(super) fn make_explicit(&mut self) {
        if is_explicit(&self.best) {
            return;
        }
        let said = explicit(&self.best, note(&self.best, &self.failure), &self.failure);
        for candidate in fast(said) {
            if let Some(failure) = self.fails(&candidate) {
                return self.accept(candidate, failure);
            }
        }
    }

    /// Where no script says what users do, one may still say what goes wrong.
    pub(super) fn make_faulted(&mut self) {
        if self.best.script.is_some() {
            return;
        }
        let spec = &self.best;
        let mut faults = spec.every_fault();
        if faults.is_empty() {
            return;
        }
        faults.sort_by_key(|timed| timed.at);
        let candidate = Spec {
            faults: Vec::new(),
            script: Some(Script { faults, ..Script::default() }),
            script_path: None,
            random_faults: FaultMix::default(),
            settings: F::calm(&spec.settings),
            ..spec.clone()
        };
        if let Some(failure) = self.fails(&candidate) {
            self.accept(candidate, failure);
        }
    }
}

/// A script without the commands to nodes that go down soon after.
fn unhurt(script: &Script, soon: Duration) -> Script {
    let mut script = script.clone();
    let crashes: Vec<_> = script.faults.iter().filter(|timed| matches!(timed.fault, Fault::Crash { .. })).collect();
    let is_hurt = |command: &TimedCommand| {
        let soon = |crash: &&TimedFault| (command.at..command.at + soon).contains(&crash.at);
        crashes.iter().any(|crash| crash.fault.node() == Some(command.node) && soon(crash))
    };
    let commands = script.commands.iter().filter(|command| !is_hurt(command)).cloned().collect();
    script.commands = commands;
    script
}
