//! Compares the explorer with a slower and simpler one, which follows every schedule to its end and
//! remembers no visited states.

use super::super::{End, LOCKINGS, Locking, Race, Run, Schedule, State, Thread, explore};
use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};
use std::collections::{BTreeMap, BTreeSet};

/// The outcomes of a race, found by following every schedule.
#[derive(Default)]
struct BruteForce {
    /// For each value, the number of schedules that lead to it and the length of the shortest.
    endings: BTreeMap<i64, (u64, usize)>,
    states: BTreeSet<State>,
    two_inside: Option<usize>,
    stuck: Option<usize>,
}

impl BruteForce {
    fn follow(&mut self, race: &Race, state: &State, steps: usize) {
        self.states.insert(state.clone());
        if race.inside(state) > 1 {
            self.two_inside = Some(self.two_inside.map_or(steps, |least| least.min(steps)));
        }
        let mut can_continue = false;
        for thread in race.threads() {
            let mut next = state.clone();
            if race.step(&mut next, thread).is_some() && next != *state {
                can_continue = true;
                self.follow(race, &next, steps + 1);
            }
        }
        if race.is_over(state) {
            let (count, least) = self.endings.entry(state.memory().counter).or_insert((0, steps));
            *count += 1;
            *least = (*least).min(steps);
        } else if !can_continue {
            self.stuck = Some(self.stuck.map_or(steps, |least| least.min(steps)));
        }
    }
}

fn length(schedule: &Option<Schedule>) -> Option<usize> {
    schedule.as_ref().map(|schedule| schedule.0.len())
}

#[test]
fn the_explorer_finds_what_following_every_schedule_finds() {
    let two = LOCKINGS.into_iter().chain([Locking::TestThenSet]).map(Race::new);
    let three =
        [Locking::None, Locking::TestAndSet, Locking::Semaphore].map(|locking| Race::of(locking, 0, &[1, 2, 4]));
    for race in two.chain(three) {
        let mut brute_force = BruteForce::default();
        brute_force.follow(&race, &race.begin(), 0);
        let outcomes = explore(&race);
        let endings = outcomes.endings.iter();
        let endings = endings.map(|(value, ending)| (*value, (ending.interleavings, ending.schedule.0.len())));
        assert_eq!(endings.collect::<BTreeMap<_, _>>(), brute_force.endings);
        assert_eq!(outcomes.states, brute_force.states.len());
        assert_eq!(length(&outcomes.two_inside), brute_force.two_inside);
        assert_eq!(length(&outcomes.stuck), brute_force.stuck);
    }
}

#[test]
fn every_schedule_replays_to_its_ending() {
    for locking in LOCKINGS.into_iter().chain([Locking::TestThenSet]) {
        let race = Race::new(locking);
        for (value, ending) in explore(&race).endings {
            let Run { schedule, end, counter, .. } = race.run_schedule(&ending.schedule);
            assert_eq!((schedule, end, counter), (ending.schedule, End::Over, value), "{locking}");
        }
    }
}

#[test]
fn the_schedule_to_a_violation_leads_there() {
    for locking in [Locking::None, Locking::TestThenSet] {
        let race = Race::new(locking);
        let schedule = explore(&race).two_inside.expect("two threads in the critical section");
        let mut state = race.begin();
        for thread in schedule.0 {
            assert!(race.step(&mut state, thread).is_some(), "{locking}");
        }
        assert_eq!(race.inside(&state), 2, "{locking}");
    }
}

proptest! {
    #[test]
    fn a_random_run_ends_as_the_explorer_predicts(
        locking in prop::sample::select(&LOCKINGS[..]),
        choices in prop::collection::vec(any::<usize>(), 400),
    ) {
        let race = Race::new(locking);
        let mut choices = choices.into_iter();
        // When the choices are used up, threads take turns, so that no thread spins forever.
        let mut turn = 0;
        let run = race.run(|ready| { turn += 1; choices.next().unwrap_or(turn) % ready.len() }, 1_000);
        prop_assert_eq!(run.end, End::Over);
        prop_assert!(explore(&race).endings.contains_key(&run.counter));
        prop_assert_eq!(race.run_schedule(&run.schedule), run);
    }

    /// An invalid schedule ends the run at its first invalid step.
    #[test]
    fn any_schedule_can_be_played(
        locking in prop::sample::select(&LOCKINGS[..]),
        threads in prop::collection::vec(0..4_usize, 0..40),
    ) {
        let schedule = Schedule(threads.into_iter().map(Thread::from_index).collect::<Vec<_>>());
        let run = Race::new(locking).run_schedule(&schedule);
        prop_assert!(schedule.0.starts_with(&run.schedule.0));
    }
}
