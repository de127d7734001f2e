//! Earlier leaders: a node that becomes the leader after a long wait can be made a candidate
//! earlier.

use super::search::Search;
use crate::family::FamilyLab;
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::property::PropertyKind;
use quorate_journal::settings::{Direction, Script, TimedCommand};

/// Possible delays from candidacy to leadership, in milliseconds.
const LEADERSHIP_DELAYS: [u64; 6] = [0, 1, 2, 4, 8, 16];

/// Possible delays from the last command or fault to candidacy, in milliseconds.
const CANDIDACY_DELAYS: [u64; 5] = [0, 1, 10, 90, 100];

impl<F: FamilyLab> Search<'_, F> {
    /// Tries to give each node that became the leader a command that makes it a candidate earlier.
    pub(super) fn try_earlier_leaders(&mut self) {
        let (Some(candidacy_command), true) = (F::CANDIDACY_COMMAND, self.best.script.is_some()) else { return };
        let mut index = 0;
        while let Some((time, node)) = self.failure.chosen_nodes.get(index).copied()
            && !self.should_stop()
        {
            self.try_earlier_leader(candidacy_command, time, node);
            index += 1;
        }
    }

    /// Tries to make one node the leader earlier. Returns whether a smaller run fails.
    fn try_earlier_leader(&mut self, candidacy_command: &str, time: Time, node: NodeId) -> bool {
        let elected_at = Duration::from_nanos(u64::try_from(time.nanos()).unwrap_or(0));
        let script = self.script();
        let times = script.commands.iter().map(|command| command.at);
        let fault_ends = script.faults.iter().map(|fault| fault.at + fault.duration.unwrap_or(Duration::ZERO));
        let last_event_at = times.chain(fault_ends).filter(|at| *at < elected_at).max().unwrap_or(Duration::ZERO);
        // The node's own election timer is not needed any more, so it is postponed. It may be the
        // latest timer that the node has set by the last event, or the next one.
        let running_timer_number =
            self.failure.timer_set_times(node).partition_point(|set| *set <= Time::ZERO + last_event_at) as u64;
        let postponed = |number| Direction::Timer { node, number, delay: Duration::from_secs(1) };
        let postponements =
            [None, Some(postponed(running_timer_number.max(1))), Some(postponed(running_timer_number + 1))];
        for candidacy_delay in CANDIDACY_DELAYS.map(Duration::from_millis) {
            let at = last_event_at + candidacy_delay;
            for leadership_delay in LEADERSHIP_DELAYS.map(Duration::from_millis) {
                if at + leadership_delay >= elected_at {
                    continue;
                }
                let candidate = with_candidacy(&script, candidacy_command, node, at, elected_at, at + leadership_delay);
                for postponement in postponements {
                    let mut candidate = candidate.clone();
                    candidate.directions.retain(|direction| {
                        postponement.is_none_or(|postponement| !postponement.contradicts(direction))
                    });
                    // In a liveness failure, a postponed timer would only be a new reason to fail.
                    candidate.directions.extend(postponement.filter(|_| self.failure.kind == PropertyKind::Always));
                    if self.try_script(candidate) {
                        return true;
                    }
                }
            }
        }
        false
    }
}

/// The script with a command at `at` that makes `node` a candidate. Everything from `elected_at` on
/// moves earlier, so that it begins at `new_election_at`.
fn with_candidacy(
    script: &Script,
    candidacy_command: &str,
    node: NodeId,
    at: Duration,
    elected_at: Duration,
    new_election_at: Duration,
) -> Script {
    let mut script = script.clone();
    let move_earlier = |time: &mut Duration| {
        if *time >= elected_at {
            *time = super::saturating_difference(*time, super::saturating_difference(elected_at, new_election_at));
        }
    };
    script.commands.iter_mut().for_each(|command| move_earlier(&mut command.at));
    script.faults.iter_mut().for_each(|fault| move_earlier(&mut fault.at));
    script.commands.push(TimedCommand { at, node, command: candidacy_command.into() });
    script.commands.sort_by_key(|command| command.at);
    script
}
