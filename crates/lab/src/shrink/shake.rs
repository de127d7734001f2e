//! Shaking: what cannot be left out one thing at a time may be left out if everything else falls anew.

use super::nodes::Gone;
use super::search::Search;
use super::times::compressed;
use crate::family::FamilyLab;
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_journal::property::Kind;
use quorate_journal::settings::{Latency, Script, TimedCommand};
use std::collections::BTreeSet;

/// Of more commands than this, not every two are left out together.
const MOST_PAIRS: usize = 8;
const SEEDS: u64 = 20;
/// How many seeds a run is given in which somebody is late.
const LATE_SEEDS: u64 = 4;

impl<F: FamilyLab> Search<'_, F> {
    /// Leaves nodes or commands out and lets chance decide all else anew. Tells whether anything smaller came of it.
    pub(super) fn shake(&mut self) -> bool {
        if !self.best.is_scripted() {
            return false;
        }
        let script = Script { directions: Vec::new(), ..self.script() };
        let whole = Spec { script: Some(script.clone()), ..self.best.clone() };
        let alone = (0..whole.nodes).rev().map(|index| Gone { from: index, until: index + 1 }.without(&whole));
        let fewer = fewer_commands(&script).into_iter().map(|script| Spec { script: Some(script), ..whole.clone() });
        let candidates: Vec<_> =
            alone.filter(|spec| spec.nodes > 0).chain(fewer).chain(std::iter::once(whole.clone())).collect();
        candidates.into_iter().any(|candidate| {
            let asks = candidate.is_scripted() || F::is_silent(&candidate.settings);
            asks && !self.is_over() && self.settles(&candidate)
        })
    }

    /// Whether some seed makes a candidate fail, and something smaller than the best comes of that.
    fn settles(&mut self, candidate: &Spec<F>) -> bool {
        let millis = Duration::from_millis;
        let latency = Latency::Uniform { least: millis(1), most: millis(5) };
        let Some(script) = &candidate.script else { return false };
        // Things close together fall into place otherwise than things far apart, or than if somebody is late.
        let wide = compressed(script, millis(20));
        let mut scripts = vec![script.clone(), compressed(script, millis(1)), wide.clone()];
        if script.commands.len() <= MOST_PAIRS {
            scripts.extend((0..script.commands.len()).map(|place| late(&wide, place, millis(5))));
        }
        let tries = |seed| scripts.iter().take(if seed <= LATE_SEEDS { usize::MAX } else { 2 }).cloned();
        for (seed, script) in
            (1..=SEEDS).flat_map(|seed| tries(seed).map(move |script| (seed, script)).collect::<Vec<_>>())
        {
            let until = self.best.until.filter(|_| self.failure.kind != Kind::Always);
            let candidate = Spec { seed, latency, until, script: Some(script), ..candidate.clone() };
            if self.settle(candidate) {
                return true;
            }
        }
        false
    }
}

/// The script with one command a little later.
fn late(script: &Script, place: usize, by: Duration) -> Script {
    let mut script = script.clone();
    if let Some(command) = script.commands.get_mut(place) {
        command.at = command.at + by;
    }
    script.commands.sort_by_key(|command| command.at);
    script
}

/// The script with fewer commands: none of a kind, many at once, then one or two.
fn fewer_commands(script: &Script) -> Vec<Script> {
    let count = script.commands.len();
    let without = |gone: &dyn Fn(usize) -> bool| {
        let kept = script.commands.iter().enumerate().filter(|(place, _)| !gone(*place));
        Script { commands: kept.map(|(_, command)| command.clone()).collect(), ..script.clone() }
    };
    let words: BTreeSet<_> = script.commands.iter().map(TimedCommand::name).collect();
    let is = |place: usize, word: &str| script.commands.get(place).is_some_and(|command| command.name() == word);
    let mut scripts = vec![without(&|_| true)];
    scripts.extend(words.iter().map(|word| without(&|place| !is(place, word))));
    scripts.extend(words.iter().map(|word| without(&|place| is(place, word))));
    let mut chunk = count / 2;
    while chunk > 0 {
        scripts.extend((0..count).step_by(chunk).map(|from| without(&|place| (from..from + chunk).contains(&place))));
        chunk /= 2;
    }
    if count <= MOST_PAIRS {
        let pairs = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
        scripts.extend(pairs.map(|(one, other)| without(&|place| place == one || place == other)));
    }
    scripts.retain(|fewer| fewer.commands.len() < count);
    scripts
}
