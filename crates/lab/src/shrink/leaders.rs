//! Leaders sooner: whoever comes to lead after a long wait may as well be told to stand.

use super::search::Search;
use crate::family::FamilyLab;
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::property::Kind;
use quorate_journal::settings::{Direction, Script, TimedCommand};

/// In milliseconds: how long after it stands somebody may come to lead.
const LEADS: [u64; 6] = [0, 1, 2, 4, 8, 16];

/// In milliseconds: how long after the last thing somebody may be told to stand.
const WAITS: [u64; 5] = [0, 1, 10, 90, 100];

impl<F: FamilyLab> Search<'_, F> {
    /// Tells those to stand who came to lead by themselves.
    pub(super) fn sooner_leaders(&mut self) {
        let (Some(word), true) = (F::CANDIDACY_COMMAND, self.best.script.is_some()) else { return };
        let mut place = 0;
        while let Some((time, node)) = self.failure.chosen.get(place).copied()
            && !self.is_tired()
        {
            self.sooner(word, time, node);
            place += 1;
        }
    }

    fn sooner(&mut self, word: &str, time: Time, node: NodeId) -> bool {
        let led = Duration::from_nanos(u64::try_from(time.nanos()).unwrap_or(0));
        let script = self.script();
        let times = script.commands.iter().map(|command| command.at);
        let ends = script.faults.iter().map(|fault| fault.at + fault.lasts.unwrap_or(Duration::ZERO));
        let last = times.chain(ends).filter(|at| *at < led).max().unwrap_or(Duration::ZERO);
        // Whoever is told to stand need not count the time until it would have stood.
        let counting = self.failure.timers(node).partition_point(|set| *set <= Time::ZERO + last) as u64;
        let silent = |number| Direction::Timer { node, number, takes: Duration::from_secs(1) };
        let silences = [None, Some(silent(counting.max(1))), Some(silent(counting + 1))];
        for wait in WAITS.map(Duration::from_millis) {
            let at = last + wait;
            for leads in LEADS.map(Duration::from_millis) {
                if at + leads >= led {
                    continue;
                }
                let told = stands(&script, word, node, at, led, at + leads);
                for silence in silences {
                    let mut told = told.clone();
                    told.directions.retain(|direction| silence.is_none_or(|silence| !silence.contradicts(direction)));
                    told.directions.extend(silence.filter(|_| self.failure.kind == Kind::Always));
                    if self.try_script(told) {
                        return true;
                    }
                }
            }
        }
        false
    }
}

/// The script with one more command, after which all that came later than `led` comes later than `now_led`.
fn stands(script: &Script, word: &str, node: NodeId, at: Duration, led: Duration, now_led: Duration) -> Script {
    let mut script = script.clone();
    let pulled = |time: &mut Duration| {
        if *time >= led {
            *time = super::less(*time, super::less(led, now_led));
        }
    };
    script.commands.iter_mut().for_each(|command| pulled(&mut command.at));
    script.faults.iter_mut().for_each(|fault| pulled(&mut fault.at));
    script.commands.push(TimedCommand { at, node, word: word.into() });
    script.commands.sort_by_key(|command| command.at);
    script
}
