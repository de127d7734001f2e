//! Compares the explorer with a slower and simpler one, which follows every schedule to its end,
//! even through states that it has visited.

use super::super::{DEFAULT_LOCKINGS, End, Locking, Race, Run, Schedule, State, Thread, explore};
use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};
use std::collections::{BTreeMap, BTreeSet};

/// The outcomes of a race, found by following every schedule.
#[derive(Default)]
struct BruteForce {
    /// For each value, the number of schedules that lead to it and the length of the shortest.
    endings: BTreeMap<i64, (u64, usize)>,
    states: BTreeSet<State>,
    /// The length of a shortest schedule after which two threads are in the critical section;
    /// `None` if there is no such schedule.
    overlap_length: Option<usize>,
    /// The length of a shortest schedule after which no thread can continue although some have not
    /// ended; `None` if there is no such schedule.
    stuck_length: Option<usize>,
}

impl BruteForce {
    /// Follows every schedule from this state, which `steps` steps have led to.
    fn follow(&mut self, race: &Race, state: &State, steps: usize) {
        self.states.insert(state.clone());
        if race.count_threads_inside(state) > 1 {
            self.overlap_length = Some(self.overlap_length.map_or(steps, |shortest| shortest.min(steps)));
        }
        let mut can_continue = false;
        for thread in race.threads() {
            let mut next = state.clone();
            // A thread that only spins is not followed, since it could do so forever.
            if race.step(&mut next, thread).is_some() && next != *state {
                can_continue = true;
                self.follow(race, &next, steps + 1);
            }
        }
        if race.is_over(state) {
            let (count, shortest) = self.endings.entry(state.memory().counter).or_insert((0, steps));
            *count += 1;
            *shortest = (*shortest).min(steps);
        } else if !can_continue {
            self.stuck_length = Some(self.stuck_length.map_or(steps, |shortest| shortest.min(steps)));
        }
    }
}

fn schedule_length(schedule: &Option<Schedule>) -> Option<usize> {
    schedule.as_ref().map(|schedule| schedule.0.len())
}

#[test]
fn the_explorer_agrees_with_following_every_schedule() {
    let with_two_threads = DEFAULT_LOCKINGS.into_iter().chain([Locking::TestThenSet]).map(Race::new);
    // The counter begins at 0, and its value shows which of the changes 1, 2 and 4 were lost.
    let with_three_threads = [Locking::None, Locking::TestAndSet, Locking::Semaphore]
        .map(|locking| Race::with_changes(locking, 0, &[1, 2, 4]));
    for race in with_two_threads.chain(with_three_threads) {
        let mut brute_force = BruteForce::default();
        brute_force.follow(&race, &race.initial_state(), 0);
        let outcomes = explore(&race);
        let endings = outcomes.endings.iter();
        let endings = endings.map(|(value, ending)| (*value, (ending.interleavings, ending.schedule.0.len())));
        assert_eq!(endings.collect::<BTreeMap<_, _>>(), brute_force.endings);
        assert_eq!(outcomes.states, brute_force.states.len());
        assert_eq!(schedule_length(&outcomes.overlap_schedule), brute_force.overlap_length);
        assert_eq!(schedule_length(&outcomes.stuck_schedule), brute_force.stuck_length);
    }
}

#[test]
fn every_schedule_replays_to_its_ending() {
    for locking in DEFAULT_LOCKINGS.into_iter().chain([Locking::TestThenSet]) {
        let race = Race::new(locking);
        for (value, ending) in explore(&race).endings {
            let Run { schedule, end, counter, .. } = race.run_schedule(&ending.schedule);
            assert_eq!((schedule, end, counter), (ending.schedule, End::Completed, value), "{locking}");
        }
    }
}

#[test]
fn the_overlap_schedule_leads_to_two_threads_in_the_critical_section() {
    for locking in [Locking::None, Locking::TestThenSet] {
        let race = Race::new(locking);
        let schedule = explore(&race).overlap_schedule.expect("two threads in the critical section");
        let mut state = race.initial_state();
        for thread in schedule.0 {
            assert!(race.step(&mut state, thread).is_some(), "{locking}");
        }
        assert_eq!(race.count_threads_inside(&state), 2, "{locking}");
    }
}

proptest! {
    #[test]
    fn a_random_run_ends_as_the_explorer_predicts(
        locking in prop::sample::select(&DEFAULT_LOCKINGS[..]),
        choices in prop::collection::vec(any::<usize>(), 400),
    ) {
        let race = Race::new(locking);
        let mut choices = choices.into_iter();
        // When the choices are used up, threads take turns, so that no thread spins forever.
        let mut turn = 0;
        let run = race.run(|ready| { turn += 1; choices.next().unwrap_or(turn) % ready.len() }, 1_000);
        prop_assert_eq!(run.end, End::Completed);
        prop_assert!(explore(&race).endings.contains_key(&run.counter));
        prop_assert_eq!(race.run_schedule(&run.schedule), run);
    }

    #[test]
    fn a_schedule_ends_the_run_at_its_first_invalid_step(
        locking in prop::sample::select(&DEFAULT_LOCKINGS[..]),
        threads in prop::collection::vec(0..4_usize, 0..40),
    ) {
        let schedule = Schedule(threads.into_iter().map(Thread::from_index).collect::<Vec<_>>());
        let race = Race::new(locking);
        let run = race.run_schedule(&schedule);
        prop_assert!(schedule.0.starts_with(&run.schedule.0));
        let mut state = race.initial_state();
        for thread in &run.schedule.0 {
            prop_assert!(race.step(&mut state, *thread).is_some());
        }
        let next_thread = schedule.0.get(run.schedule.0.len());
        prop_assert!(next_thread.is_none_or(|thread| race.step(&mut state, *thread).is_none()));
    }
}
