//! Tests the rules of the race by schedules, and the outcomes of all schedules together.

mod exhaustive;

use super::{DEFAULT_LOCKINGS, End, Locking, Outcomes, Race, Schedule, Thread, explore};
use crate::rules::rule_tests;
use expect_test::{Expect, expect};

/// Runs a schedule, and compares the printed steps with the expected ones. The schedule `1 1 2` has
/// two steps of thread 1, then one of thread 2.
fn check(locking: Locking, schedule: &str, expected: Expect) {
    expected.assert_eq(&trace(&Race::new(locking), schedule));
}

fn trace(race: &Race, schedule: &str) -> String {
    let numbers = schedule.split_whitespace().map(|word| word.parse::<usize>().expect("a thread's number"));
    let schedule = Schedule(numbers.map(|number| Thread::from_index(number - 1)).collect());
    let run = race.run_schedule(&schedule);
    let steps: String = run.steps.iter().map(|step| format!("{step}\n")).collect();
    let unused_steps = schedule.0.len() - run.steps.len();
    let end = match run.end {
        End::Completed => format!("the counter is {}", run.counter),
        End::Stuck => "no thread can continue".into(),
        End::Unfinished if unused_steps > 0 => format!("thread {} cannot continue", schedule.0[run.steps.len()]),
        End::Unfinished => "and so on".into(),
    };
    format!("{steps}{end}\n")
}

/// The possible final values of the counter, and the number of interleavings that lead to each.
fn interleavings_by_value(outcomes: &Outcomes) -> Vec<(i64, u64)> {
    outcomes.endings.iter().map(|(value, ending)| (*value, ending.interleavings)).collect()
}

rule_tests! { check;
    lo_1_a_change_of_the_counter_is_three_instructions(Locking::None, "1 1 1 2 2 2", expect![[r#"
        thread 1 loads 5
        thread 1 adds 1 and has 6
        thread 1 stores 6
        thread 2 loads 6
        thread 2 subtracts 1 and has 5
        thread 2 stores 5
        the counter is 5
    "#]]);

    lo_2_any_thread_may_be_next_and_so_a_store_is_lost(Locking::None, "1 1 2 2 1 2", expect![[r#"
        thread 1 loads 5
        thread 1 adds 1 and has 6
        thread 2 loads 5
        thread 2 subtracts 1 and has 4
        thread 1 stores 6
        thread 2 stores 4
        the counter is 4
    "#]]);

    lo_2_a_thread_that_has_ended_cannot_continue(Locking::None, "1 1 1 1", expect![[r#"
        thread 1 loads 5
        thread 1 adds 1 and has 6
        thread 1 stores 6
        thread 1 cannot continue
    "#]]);

    lo_3_a_thread_that_finds_the_flag_set_tries_again(Locking::TestAndSet, "1 2 1 1 2 1 1 2 2 2 2 2", expect![[r#"
        thread 1 atomically finds the flag clear and sets it
        thread 2 finds the flag set and tries again
        thread 1 loads 5
        thread 1 adds 1 and has 6
        thread 2 finds the flag set and tries again
        thread 1 stores 6
        thread 1 clears the flag
        thread 2 atomically finds the flag clear and sets it
        thread 2 loads 6
        thread 2 subtracts 1 and has 5
        thread 2 stores 5
        thread 2 clears the flag
        the counter is 5
    "#]]);

    lo_3_a_flag_that_is_tested_and_set_by_two_instructions_is_no_lock(
        Locking::TestThenSet, "1 2 1 2 1 2 1 2 1 2 1 2", expect![[r#"
        thread 1 finds the flag clear
        thread 2 finds the flag clear
        thread 1 sets the flag
        thread 2 sets the flag
        thread 1 loads 5
        thread 2 loads 5
        thread 1 adds 1 and has 6
        thread 2 subtracts 1 and has 4
        thread 1 stores 6
        thread 2 stores 4
        thread 1 clears the flag
        thread 2 clears the flag
        the counter is 4
    "#]]);

    lo_4_a_thread_is_blocked_while_the_permit_is_taken(Locking::Semaphore, "1 1 2", expect![[r#"
        thread 1 waits on the semaphore and has its permit
        thread 1 loads 5
        thread 2 cannot continue
    "#]]);

    lo_4_a_blocked_thread_continues_when_the_permit_is_back(Locking::Semaphore, "1 1 1 1 1 2 2 2 2 2", expect![[r#"
        thread 1 waits on the semaphore and has its permit
        thread 1 loads 5
        thread 1 adds 1 and has 6
        thread 1 stores 6
        thread 1 signals the semaphore and returns its permit
        thread 2 waits on the semaphore and has its permit
        thread 2 loads 6
        thread 2 subtracts 1 and has 5
        thread 2 stores 5
        thread 2 signals the semaphore and returns its permit
        the counter is 5
    "#]]);

    lo_5_a_thread_that_finds_the_counter_in_use_sleeps_until_the_signal_and_tests_again(
        Locking::ConditionVariable, "1 1 1 1 2 2 1 1 1 1 1 1 1 2 2 2 2 2 2 2 2 2 2 2", expect![[r#"
            thread 1 enters the monitor
            thread 1 finds the counter free
            thread 1 marks the counter as in use
            thread 1 leaves the monitor
            thread 2 enters the monitor
            thread 2 finds the counter in use, leaves the monitor and sleeps
            thread 1 loads 5
            thread 1 adds 1 and has 6
            thread 1 stores 6
            thread 1 enters the monitor
            thread 1 marks the counter as free
            thread 1 signals, and thread 2 wakes
            thread 1 leaves the monitor
            thread 2 enters the monitor
            thread 2 finds the counter free
            thread 2 marks the counter as in use
            thread 2 leaves the monitor
            thread 2 loads 6
            thread 2 subtracts 1 and has 5
            thread 2 stores 5
            thread 2 enters the monitor
            thread 2 marks the counter as free
            thread 2 signals, and no thread sleeps
            thread 2 leaves the monitor
            the counter is 5
        "#]]);

    lo_5_a_monitor_admits_one_thread_at_a_time(Locking::ConditionVariable, "1 2", expect![[r#"
        thread 1 enters the monitor
        thread 2 cannot continue
    "#]]);

    lo_5_a_sleeping_thread_cannot_continue(Locking::ConditionVariable, "1 1 1 1 2 2 2", expect![[r#"
        thread 1 enters the monitor
        thread 1 finds the counter free
        thread 1 marks the counter as in use
        thread 1 leaves the monitor
        thread 2 enters the monitor
        thread 2 finds the counter in use, leaves the monitor and sleeps
        thread 2 cannot continue
    "#]]);
}

/// The signal wakes thread 2, but thread 3 enters first. Without a second test, both would be in
/// the critical section.
#[test]
fn lo_5_a_woken_thread_finds_the_counter_in_use_and_sleeps_again() {
    let race = Race::with_changes(Locking::ConditionVariable, 0, &[1, 2, 4]);
    expect![[r#"
        thread 1 enters the monitor
        thread 1 finds the counter free
        thread 1 marks the counter as in use
        thread 1 leaves the monitor
        thread 2 enters the monitor
        thread 2 finds the counter in use, leaves the monitor and sleeps
        thread 1 loads 0
        thread 1 adds 1 and has 1
        thread 1 stores 1
        thread 1 enters the monitor
        thread 1 marks the counter as free
        thread 1 signals, and thread 2 wakes
        thread 1 leaves the monitor
        thread 3 enters the monitor
        thread 3 finds the counter free
        thread 3 marks the counter as in use
        thread 3 leaves the monitor
        thread 2 enters the monitor
        thread 2 finds the counter in use, leaves the monitor and sleeps
        thread 2 cannot continue
    "#]]
    .assert_eq(&trace(&race, "1 1 1 1 2 2 1 1 1 1 1 1 1 3 3 3 3 2 2 2"));
}

#[test]
fn unlocked_the_counter_can_be_4_5_or_6() {
    let outcomes = explore(&Race::new(Locking::None));
    // In 2 of the 20 interleavings, one thread ends before the other begins. In the others, both
    // load 5 and the second store wins: thread 1's in half of them, thread 2's in the other half.
    assert_eq!(interleavings_by_value(&outcomes), [(4, 9), (5, 2), (6, 9)]);
    assert!(outcomes.overlap_schedule.is_some() && outcomes.stuck_schedule.is_none());
    assert!(!outcomes.are_race_free_with(5));
}

#[test]
fn with_any_lock_the_counter_is_5_and_threads_exclude_each_other() {
    for locking in DEFAULT_LOCKINGS.into_iter().filter(|locking| locking.prevents_race()) {
        let race = Race::new(locking);
        let outcomes = explore(&race);
        assert!(outcomes.are_race_free_with(5), "{locking}: {outcomes:?}");
        assert_eq!(race.expected_counter(), 5);
    }
}

#[test]
fn with_a_flag_that_is_tested_and_then_set_stores_are_lost() {
    let outcomes = explore(&Race::new(Locking::TestThenSet));
    assert_eq!(outcomes.endings.keys().copied().collect::<Vec<_>>(), [4, 5, 6]);
    assert!(outcomes.overlap_schedule.is_some() && !outcomes.are_race_free_with(5));
}

/// A third thread can enter before one that a signal woke. The changes are powers of two, so the
/// final value shows which stores were lost.
#[test]
fn locks_hold_for_three_threads() {
    for locking in DEFAULT_LOCKINGS {
        let outcomes = explore(&Race::with_changes(locking, 0, &[1, 2, 4]));
        assert_eq!(outcomes.are_race_free_with(7), locking.prevents_race(), "{locking}: {outcomes:?}");
    }
    let unlocked = explore(&Race::with_changes(Locking::None, 0, &[1, 2, 4]));
    assert_eq!(
        unlocked.endings.keys().copied().collect::<Vec<_>>(),
        [1, 2, 3, 4, 5, 6, 7],
        "any stores can be lost, but not all"
    );
}

#[test]
fn one_thread_alone_has_one_outcome() {
    for locking in DEFAULT_LOCKINGS.into_iter().chain([Locking::TestThenSet]) {
        let outcomes = explore(&Race::with_changes(locking, 5, &[1]));
        assert!(outcomes.are_race_free_with(6), "{locking}: {outcomes:?}");
        assert_eq!(interleavings_by_value(&outcomes), [(6, 1)]);
    }
}

#[test]
fn a_race_without_threads_ends_in_its_initial_state() {
    let outcomes = explore(&Race::with_changes(Locking::None, 5, &[]));
    assert!(outcomes.are_race_free_with(5) && outcomes.states == 1 && outcomes.transitions == 0);
}

#[test]
fn the_states_of_each_locking_are_counted() {
    let counts = DEFAULT_LOCKINGS.into_iter().chain([Locking::TestThenSet]).map(|locking| {
        let outcomes = explore(&Race::new(locking));
        let endings: Vec<_> = outcomes
            .endings
            .iter()
            .map(|(value, ending)| {
                format!("{value} ({} interleavings, e.g. {})", ending.interleavings, ending.schedule)
            })
            .collect();
        format!("{locking}: {} states, {} transitions; {}\n", outcomes.states, outcomes.transitions, endings.join("; "))
    });
    expect![[r#"
        none: 23 states, 28 transitions; 4 (9 interleavings, e.g. 1 1 2 1 2 2); 5 (2 interleavings, e.g. 1 1 1 2 2 2); 6 (9 interleavings, e.g. 1 1 2 2 2 1)
        test-and-set: 21 states, 20 transitions; 5 (2 interleavings, e.g. 1 1 1 1 1 2 2 2 2 2)
        semaphore: 21 states, 20 transitions; 5 (2 interleavings, e.g. 1 1 1 1 1 2 2 2 2 2)
        condition-variable: 65 states, 78 transitions; 5 (22 interleavings, e.g. 1 1 1 1 1 1 1 1 1 1 1 2 2 2 2 2 2 2 2 2 2 2)
        test-then-set: 77 states, 108 transitions; 4 (200 interleavings, e.g. 1 2 1 1 1 2 2 1 1 2 2 2); 5 (106 interleavings, e.g. 1 1 1 1 1 1 2 2 2 2 2 2); 6 (200 interleavings, e.g. 1 2 1 1 1 2 2 2 2 1 1 2)
    "#]].assert_eq(&counts.collect::<String>());
}
