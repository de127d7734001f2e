//! The explorer against a second one that is slower and simpler: it follows every schedule to its end, and remembers
//! nothing of where others have been.

use super::super::{End, LOCKINGS, Locking, Race, Run, Schedule, State, Thread, explore};
use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};
use std::collections::{BTreeMap, BTreeSet};

/// What becomes of a race, found by following every schedule.
#[derive(Default)]
struct Wanderer {
    /// How many schedules lead to each value, and how long the shortest is.
    endings: BTreeMap<i64, (u64, usize)>,
    states: BTreeSet<State>,
    two_inside: Option<usize>,
    stuck: Option<usize>,
}

impl Wanderer {
    fn follow(&mut self, race: &Race, state: &State, steps: usize) {
        self.states.insert(state.clone());
        if race.inside(state) > 1 {
            self.two_inside = Some(self.two_inside.map_or(steps, |least| least.min(steps)));
        }
        let mut goes_on = false;
        for thread in race.threads() {
            let mut next = state.clone();
            if race.step(&mut next, thread).is_some() && next != *state {
                goes_on = true;
                self.follow(race, &next, steps + 1);
            }
        }
        if race.is_over(state) {
            let (count, least) = self.endings.entry(state.memory().counter).or_insert((0, steps));
            *count += 1;
            *least = (*least).min(steps);
        } else if !goes_on {
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
        let mut wanderer = Wanderer::default();
        wanderer.follow(&race, &race.begin(), 0);
        let outcomes = explore(&race);
        let endings = outcomes.endings.iter();
        let endings = endings.map(|(value, ending)| (*value, (ending.interleavings, ending.schedule.0.len())));
        assert_eq!(endings.collect::<BTreeMap<_, _>>(), wanderer.endings);
        assert_eq!(outcomes.states, wanderer.states.len());
        assert_eq!(length(&outcomes.two_inside), wanderer.two_inside);
        assert_eq!(length(&outcomes.stuck), wanderer.stuck);
    }
}

#[test]
fn every_schedule_replays_to_its_ending() {
    for locking in LOCKINGS.into_iter().chain([Locking::TestThenSet]) {
        let race = Race::new(locking);
        for (value, ending) in explore(&race).endings {
            let Run { schedule, end, counter, .. } = race.play(&ending.schedule);
            assert_eq!((schedule, end, counter), (ending.schedule, End::Over, value), "{locking}");
        }
    }
}

#[test]
fn the_schedule_to_two_inside_leads_there() {
    for locking in [Locking::None, Locking::TestThenSet] {
        let race = Race::new(locking);
        let schedule = explore(&race).two_inside.expect("nothing keeps them apart");
        let mut state = race.begin();
        for thread in schedule.0 {
            assert!(race.step(&mut state, thread).is_some(), "{locking}");
        }
        assert_eq!(race.inside(&state), 2, "{locking}");
    }
}

proptest! {
    #[test]
    fn a_run_by_chance_ends_as_the_explorer_says(
        locking in prop::sample::select(&LOCKINGS[..]),
        choices in prop::collection::vec(any::<usize>(), 400),
    ) {
        let race = Race::new(locking);
        let mut choices = choices.into_iter();
        // When the choices are used up, threads take turns, so that nobody spins for ever.
        let mut turn = 0;
        let run = race.run(|ready| { turn += 1; choices.next().unwrap_or(turn) % ready.len() }, 1_000);
        prop_assert_eq!(run.end, End::Over);
        prop_assert!(explore(&race).endings.contains_key(&run.counter));
        prop_assert_eq!(race.play(&run.schedule), run);
    }

    /// A schedule that makes no sense ends the run where it stops making sense.
    #[test]
    fn any_schedule_can_be_played(
        locking in prop::sample::select(&LOCKINGS[..]),
        threads in prop::collection::vec(0..4_usize, 0..40),
    ) {
        let schedule = Schedule(threads.into_iter().map(Thread::from_index).collect::<Vec<_>>());
        let run = Race::new(locking).play(&schedule);
        prop_assert!(schedule.0.starts_with(&run.schedule.0));
    }
}
