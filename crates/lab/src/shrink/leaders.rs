//! Earlier leaders: a node that becomes the leader after a long wait can be made a candidate
//! earlier.

use super::search::Search;
use crate::family::FamilyLab;
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::property::Kind;
use quorate_journal::settings::{Direction, Script, TimedCommand};

/// Possible delays from candidacy to leadership, in milliseconds.
const LEADERSHIP_DELAYS: [u64; 6] = [0, 1, 2, 4, 8, 16];

/// Possible delays from the last event to candidacy, in milliseconds.
const CANDIDACY_DELAYS: [u64; 5] = [0, 1, 10, 90, 100];

impl<F: FamilyLab> Search<'_, F> {
    /// Makes nodes candidates that became leaders spontaneously.
    pub(super) fn earlier_leaders(&mut self) {
        let (Some(word), true) = (F::CANDIDACY_COMMAND, self.best.script.is_some()) else { return };
        let mut index = 0;
        while let Some((time, node)) = self.failure.chosen.get(index).copied()
            && !self.is_exhausted()
        {
            self.earlier_leader(word, time, node);
            index += 1;
        }
    }

    /// Tries to make one node the leader earlier.
    fn earlier_leader(&mut self, word: &str, time: Time, node: NodeId) -> bool {
        let led = Duration::from_nanos(u64::try_from(time.nanos()).unwrap_or(0));
        let script = self.script();
        let times = script.commands.iter().map(|command| command.at);
        let ends = script.faults.iter().map(|fault| fault.at + fault.lasts.unwrap_or(Duration::ZERO));
        let last = times.chain(ends).filter(|at| *at < led).max().unwrap_or(Duration::ZERO);
        // The node's own election timer is not needed any more.
        let counting = self.failure.timers(node).partition_point(|set| *set <= Time::ZERO + last) as u64;
        let silent = |number| Direction::Timer { node, number, takes: Duration::from_secs(1) };
        let silences = [None, Some(silent(counting.max(1))), Some(silent(counting + 1))];
        for wait in CANDIDACY_DELAYS.map(Duration::from_millis) {
            let at = last + wait;
            for leads in LEADERSHIP_DELAYS.map(Duration::from_millis) {
                if at + leads >= led {
                    continue;
                }
                let candidate = with_candidacy(&script, word, node, at, led, at + leads);
                for silence in silences {
                    let mut candidate = candidate.clone();
                    candidate
                        .directions
                        .retain(|direction| silence.is_none_or(|silence| !silence.contradicts(direction)));
                    candidate.directions.extend(silence.filter(|_| self.failure.kind == Kind::Always));
                    if self.try_script(candidate) {
                        return true;
                    }
                }
            }
        }
        false
    }
}

/// The script with one more command. Everything from `led` on moves with the leadership to
/// `now_led`.
fn with_candidacy(script: &Script, word: &str, node: NodeId, at: Duration, led: Duration, now_led: Duration) -> Script {
    let mut script = script.clone();
    let pulled = |time: &mut Duration| {
        if *time >= led {
            *time = super::saturating_difference(*time, super::saturating_difference(led, now_led));
        }
    };
    script.commands.iter_mut().for_each(|command| pulled(&mut command.at));
    script.faults.iter_mut().for_each(|fault| pulled(&mut fault.at));
    script.commands.push(TimedCommand { at, node, word: word.into() });
    script.commands.sort_by_key(|command| command.at);
    script
}
