//! Shaking: what cannot be left out one thing at a time may be left out if everything else falls anew.

use super::Progress;
use super::nodes::Gone;
use super::search::Search;
use super::times::compressed;
use crate::family::FamilyLab;
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_sim::property::Kind;
use quorate_sim::settings::{Latency, Script};
use std::collections::BTreeSet;

/// Of more commands than this, not every two are left out together.
const MOST_PAIRS: usize = 8;
/// How many seeds a shaken run is given.
const SEEDS: u64 = 20;

impl<F: FamilyLab, P: FnMut(&Progress) -> bool> Search<F, P> {
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
        let scripts = [script.clone(), compressed(script, millis(1))];
        for (seed, script) in (1..=SEEDS).flat_map(|seed| scripts.iter().map(move |script| (seed, script))) {
            let until = self.best.until.filter(|_| self.failure.kind != Kind::Always);
            let candidate = Spec { seed, latency, until, script: Some(script.clone()), ..candidate.clone() };
            if self.settle(candidate) {
                return true;
            }
        }
        false
    }
}

/// The script with fewer commands: none of a kind, many at once, then one or two.
fn fewer_commands(script: &Script) -> Vec<Script> {
    let count = script.commands.len();
    let without = |gone: &dyn Fn(usize) -> bool| {
        let kept = script.commands.iter().enumerate().filter(|(place, _)| !gone(*place));
        Script { commands: kept.map(|(_, command)| command.clone()).collect(), ..script.clone() }
    };
    let words: BTreeSet<_> = script.commands.iter().map(|command| command.word.as_str()).collect();
    let is = |place: usize, word: &str| script.commands.get(place).is_some_and(|command| command.word == word);
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
