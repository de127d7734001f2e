//! `armies`, which agree on a leader and attack: both models of time, one run, and invalid options.
//! Also all outcomes of `race`, two threads that change a counter.

use crate::json::shape;
use crate::run::run;
use expect_test::expect;

#[test]
fn agreement_on_a_leader_needs_no_bound_on_delays() {
    expect![[r#"
        armies · strengths 3 and 5 · asynchronous: messages take any time, in any order

          same-leader   holds              armies that know a leader know the same one
          both-know     holds              eventually both know who leads
          both-attack   holds              eventually both attack

        complete: every state was explored, 30 in total
        To check a bound on the time between the attacks: quorate check armies --within 1s
    "#]]
    .assert_eq(&run("check armies").exits(0));
    for strengths in ["5,3", "4,4", "0,4294967295"] {
        run(&format!("check armies --fifo --strengths {strengths}")).exits(0);
    }
}

#[test]
fn the_attacks_are_at_most_max_minus_min_delay_apart() {
    expect![[r#"
        armies · strengths 3 and 5 · synchronous: messages take 2ms..5ms, in any order

          same-leader   holds              armies that know a leader know the same one
          both-know     holds              eventually both know who leads
          both-attack   holds              eventually both attack
          within-bound  holds              the second attack comes at most 3ms after the first

        complete: every state was explored, 80 in total
    "#]]
    .assert_eq(&run("check armies --delay 2ms..5ms").exits(0));
    expect![[r#"
        armies · strengths 3 and 5 · synchronous: messages take 2ms..5ms, in any order

          same-leader   holds              armies that know a leader know the same one
          both-know     holds              eventually both know who leads
          both-attack   holds              eventually both attack
          within-bound  FAILS in 8 steps   the second attack comes at most 2.999999ms after the first

        A shortest run that violates 'within-bound':

          time   army 1                                    army 2
           0ms   AR-1 sends its strength, 3
           0ms                                             AR-1 sends its strength, 5
           2ms                                             receives 'strength' after 2ms
           2ms                                             AR-2 compares its strength 5 with 3
           2ms                                             knows that army 2 leads
           2ms                                             is ordered to attack
           2ms                                             AR-3 sends the order and waits for 2ms
           4ms                                             AR-4 has waited and attacks
           4ms   receives 'strength' after 4ms
           4ms   AR-2 compares its strength 3 with 5
           4ms   knows that army 2 leads
           7ms   receives 'attack' after 5ms
           7ms   AR-5 has received the order and attacks

          Army 2 attacks at 4ms, army 1 at 7ms: 3ms later, 1ns more than the accepted 2.999999ms.

        complete: every state was explored, 80 in total
    "#]]
    .assert_eq(&run("check armies --delay 2ms..5ms --within 2999999ns").exits(1));
    run("check armies --delay 2ms..5ms --within 3ms").exits(0);
    run("check armies --delay 4ms..4ms --within 0ms").exits(0);
    // Clocks that drift apart allow a larger distance. Without --within it is the bound.
    run("check armies --delay 4ms..4ms --drift 1000ppm --within 0ms").exits(1);
    run("check armies --delay 4ms..4ms --drift 1000ppm").exits(0);
}

#[test]
fn without_bounded_delays_every_bound_is_exceeded() {
    expect![[r#"
        armies · strengths 3 and 5 · asynchronous: messages take any time, in any order

          same-leader   holds              armies that know a leader know the same one
          both-know     holds              eventually both know who leads
          both-attack   holds              eventually both attack
          within-bound  FAILS in 5 steps   the second attack comes at most 1h after the first

        A shortest run that violates 'within-bound':

          time   army 1                                    army 2
           0ms   AR-1 sends its strength, 3
           0ms                                             AR-1 sends its strength, 5
           0ms                                             receives 'strength' after 0ms
           0ms                                             AR-2 compares its strength 5 with 3
           0ms                                             knows that army 2 leads
           0ms                                             is ordered to attack
           0ms                                             AR-3 sends the order and waits for 0ms
           0ms                                             AR-4 has waited and attacks
            2h   receives 'attack' after 2h
            2h   AR-5 has received the order and attacks

          Army 2 attacks at 0ms, army 1 at 2h: 2h later, 1h more than the accepted 1h.

        complete: every state was explored, 102 in total
    "#]]
    .assert_eq(&run("check armies --within 1h").exits(1));
    for (within, within_ns) in [("0ms", 0), ("1ms", 1_000_000), ("1s", 1_000_000_000), ("2m", 120_000_000_000_u64)] {
        let report = run(&format!("check armies --within {within} --json")).json(1);
        let failing: Vec<_> =
            report["properties"].as_array().unwrap().iter().filter(|row| row["holds"] == false).collect();
        assert_eq!(
            (failing.len(), &failing[0]["name"], &report["complete"]),
            (1, &"within-bound".into(), &true.into())
        );
        assert!(failing[0]["counterexample"]["gap_ns"].as_u64().unwrap() > within_ns, "{within}");
    }
}

#[test]
fn the_fields_of_a_check_and_of_a_run_are_unchanged() {
    expect![[r#"
        algorithm: string
        complete: bool
        delay_ns[]: integer
        drift_ppm: integer
        fifo: bool
        guarantee_ns: integer
        model: string
        properties[].counterexample.gap_ns: integer
        properties[].counterexample.steps[].army: integer
        properties[].counterexample.steps[].time_ns: integer
        properties[].counterexample.steps[].what: string
        properties[].holds: bool
        properties[].name: string
        states: integer
        strengths[]: integer
        within_ns: integer
    "#]]
    .assert_eq(&shape(&run("check armies --delay 2ms..5ms --within 1ms --json").json(1)));
    expect![[r#"
        algorithm: string
        delay_ns[]: integer
        drift_ppm: integer
        fifo: bool
        gap_ns: integer
        guarantee_ns: integer
        model: string
        seed: integer
        steps[].army: integer
        steps[].time_ns: integer
        steps[].what: string
        strengths[]: integer
    "#]]
    .assert_eq(&shape(&run("sim armies --delay 2ms..5ms --json").json(0)));
}

#[test]
fn a_run_is_printed_with_its_times() {
    expect![[r#"
        armies · strengths 3 and 5 · synchronous: messages take 2ms..5ms, in any order · seed 3

                time   army 1                                    army 2
                 0ms   AR-1 sends its strength, 3
                 0ms                                             AR-1 sends its strength, 5
                 0ms   is ordered to attack
                 0ms                                             is ordered to attack
          2.680507ms   receives 'strength' after 2.680507ms
          2.680507ms   AR-2 compares its strength 3 with 5
          2.680507ms   knows that army 2 leads
           4.17145ms                                             receives 'strength' after 4.17145ms
           4.17145ms                                             AR-2 compares its strength 5 with 3
           4.17145ms                                             knows that army 2 leads
           4.17145ms                                             AR-3 sends the order and waits for 2ms
           6.17145ms                                             AR-4 has waited and attacks
          8.485028ms   receives 'attack' after 4.313578ms
          8.485028ms   AR-5 has received the order and attacks

          Army 2 attacks at 6.17145ms, army 1 at 8.485028ms: 2.313578ms later.
        In no run are the attacks further apart than 3ms: quorate check armies --delay 2ms..5ms
    "#]]
    .assert_eq(&run("sim armies --delay 2ms..5ms --seed 3").exits(0));
    assert_eq!(run("sim armies --seed 9"), run("sim armies --seed 9"), "the same seed, the same run");
}

#[test]
fn the_armies_are_listed_and_explained() {
    assert!(run("list").exits(0).lines().any(|line| line.starts_with("armies ") && line.contains("who leads")));
    let printed = run("explain armies").exits(0);
    for part in ["AR-5", "army 2", "To run it yourself: quorate sim armies --delay 2ms..5ms"] {
        assert!(printed.contains(part), "no '{part}' in:\n{printed}");
    }
}

#[test]
fn invalid_options_are_reported() {
    let errors = [
        "check --nodes 2 armies",
        "sim --seed 3 race",
        "check armies --within 11y",
        "check armies --within 100000h",
        "check armies --delay 5ms..1ms",
        "check armies --strengths 3",
        "explain armies --svg armies.svg",
    ];
    let printed = errors.map(|line| format!("$ quorate {line}\n{}", run(line).error()));
    expect![[r#"
        $ quorate check --nodes 2 armies
        error: 'armies' is a demonstration, not an algorithm. Write 'quorate check armies', 'quorate sim armies' or 'quorate explain armies', and its own options after it.
        $ quorate sim --seed 3 race
        error: 'race' is a demonstration, not an algorithm. Write 'quorate sim race' and its own options after it.
        $ quorate check armies --within 11y
        error: --within: 'y' is not a unit of time. Units are ns, us, ms, s, m, h.
        $ quorate check armies --within 100000h
        error: --delay and --within must be at most ten years; got 100000h.
        $ quorate check armies --delay 5ms..1ms
        error: --delay: '5ms..1ms' has its bounds in the wrong order; write 1ms..5ms.
        $ quorate check armies --strengths 3
        error: --strengths: '3' is not a pair of strengths; write for example 3,5.
        $ quorate explain armies --svg armies.svg
        error: there is no picture of 'armies'; 'quorate sim armies' prints a run.
    "#]].assert_eq(&printed.concat());
    for line in ["check armies --drift 5ppm", "sim armies --within 1s", "check armies --delay 5ms"] {
        assert_eq!(run(line).code, Some(2), "{line}");
    }
}

#[test]
fn the_race_shows_every_result_and_an_interleaving() {
    expect![[r#"
        race · counter++ and counter-- in two threads, from 5, in every order

          lock                   result 4   result 5   result 6   interleavings
          none                          9          2          9              20
          test-and-set                  –          2          –               2
          semaphore                     –          2          –               2
          condition-variable            –         22          –              22

        A shortest interleaving that results in 4 without a lock (9 of 20 interleavings):

          step   thread 1           thread 2
             1   loads 5
             2   adds 1 and has 6
             3                      loads 5
             4   stores 6
             5                      subtracts 1 and has 4
             6                      stores 4

        A shortest interleaving that results in 5 without a lock (2 of 20 interleavings):

          step   thread 1           thread 2
             1   loads 5
             2   adds 1 and has 6
             3   stores 6
             4                      loads 6
             5                      subtracts 1 and has 5
             6                      stores 5

        A shortest interleaving that results in 6 without a lock (9 of 20 interleavings):

          step   thread 1           thread 2
             1   loads 5
             2   adds 1 and has 6
             3                      loads 5
             4                      subtracts 1 and has 4
             5                      stores 4
             6   stores 6

        A shortest interleaving that results in 5 with test-and-set (2 of 2 interleavings):

          step   thread 1                                      thread 2
             1   atomically finds the flag clear and sets it
             2   loads 5
             3   adds 1 and has 6
             4   stores 6
             5   clears the flag
             6                                                 atomically finds the flag clear and sets it
             7                                                 loads 6
             8                                                 subtracts 1 and has 5
             9                                                 stores 5
            10                                                 clears the flag

        A shortest interleaving that results in 5 with semaphore (2 of 2 interleavings):

          step   thread 1                                       thread 2
             1   waits on the semaphore and has its permit
             2   loads 5
             3   adds 1 and has 6
             4   stores 6
             5   signals the semaphore and returns its permit
             6                                                  waits on the semaphore and has its permit
             7                                                  loads 6
             8                                                  subtracts 1 and has 5
             9                                                  stores 5
            10                                                  signals the semaphore and returns its permit

        A shortest interleaving that results in 5 with condition-variable (22 of 22 interleavings):

          step   thread 1                        thread 2
             1   enters the monitor
             2   finds the counter free
             3   marks the counter as in use
             4   leaves the monitor
             5   loads 5
             6   adds 1 and has 6
             7   stores 6
             8   enters the monitor
             9   marks the counter as free
            10   signals, and no thread sleeps
            11   leaves the monitor
            12                                   enters the monitor
            13                                   finds the counter free
            14                                   marks the counter as in use
            15                                   leaves the monitor
            16                                   loads 6
            17                                   subtracts 1 and has 5
            18                                   stores 5
            19                                   enters the monitor
            20                                   marks the counter as free
            21                                   signals, and no thread sleeps
            22                                   leaves the monitor
    "#]]
    .assert_eq(&run("sim race").exits(0));
    let printed = run("sim race --lock none --start 0").exits(1);
    for value in [-1, 0, 1] {
        assert!(
            printed.contains(&format!("A shortest interleaving that results in {value} without a lock")),
            "{printed}"
        );
    }
    run("sim race --lock semaphore").exits(0);
    run("sim race --lock test-then-set").exits(1);
    assert_eq!(run("sim race --json").out, run("check local --json").out, "both commands print the same JSON");
}
