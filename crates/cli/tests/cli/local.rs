//! `local`, the race between two threads of one process: every order, one order, and invalid
//! options.

use crate::json::shape;
use crate::run::run;
use expect_test::expect;
use serde_json::Value;
use std::collections::BTreeSet;

fn counters(report: &Value, lock: &str) -> Vec<i64> {
    let locks = report["locks"].as_array().unwrap();
    let row = locks.iter().find(|row| row["lock"] == lock).unwrap();
    row["outcomes"].as_array().unwrap().iter().map(|outcome| outcome["counter"].as_i64().unwrap()).collect()
}

#[test]
fn a_check_shows_the_outcomes_of_each_lock() {
    expect![[r#"
        local · counter++ and counter-- in two threads, from 5, in every order

          lock                results      interleavings   states   both inside  deadlock
          none                4, 5, 6                 20       23   possible     never
          test-and-set        5                        2       21   never        never
          semaphore           5                        2       21   never        never
          condition-variable  5                       22       65   never        never

        A shortest interleaving that results in 4 without a lock (9 of 20 interleavings):

          step   thread 1           thread 2
             1   loads 5
             2   adds 1 and has 6
             3                      loads 5
             4   stores 6
             5                      subtracts 1 and has 4
             6                      stores 4

        A shortest interleaving that results in 6 without a lock (9 of 20 interleavings):

          step   thread 1           thread 2
             1   loads 5
             2   adds 1 and has 6
             3                      loads 5
             4                      subtracts 1 and has 4
             5                      stores 4
             6   stores 6

        One order: quorate sim local --seed 1
    "#]]
    .assert_eq(&run("check local").exits(0));
}

/// `test-then-set` is faulty on purpose: it tests its flag and sets it in two steps.
#[test]
fn a_check_of_one_lock_fails_if_updates_are_lost() {
    for (lock, code) in
        [("none", 1), ("test-and-set", 0), ("semaphore", 0), ("condition-variable", 0), ("test-then-set", 1)]
    {
        let printed = run(&format!("check local --lock {lock}")).exits(code);
        assert_eq!(printed.contains("A shortest interleaving that results in 4"), code == 1, "{printed}");
    }
}

#[test]
fn json_of_a_check_has_every_outcome() {
    let report = run("check local --json").json(0);
    assert_eq!(counters(&report, "none"), [4, 5, 6]);
    for lock in ["test-and-set", "semaphore", "condition-variable"] {
        assert_eq!(counters(&report, lock), [5]);
    }
    expect![[r#"
        algorithm: string
        holds: bool
        locks[].holds: bool
        locks[].lock: string
        locks[].outcomes[].counter: integer
        locks[].outcomes[].interleavings: integer
        locks[].outcomes[].schedule[]: integer
        locks[].outcomes[].steps[]: string
        locks[].right: integer
        locks[].states: integer
        locks[].stuck: null
        locks[].transitions: integer
        locks[].two_inside: null
        locks[].two_inside[]: integer
    "#]]
    .assert_eq(&shape(&report));
    let broken = run("check local --lock test-then-set --json").json(1);
    assert_eq!((counters(&broken, "test-then-set"), &broken["holds"]), (vec![4, 5, 6], &false.into()));
}

#[test]
fn a_run_shows_the_steps_of_both_threads() {
    expect![[r#"
        local · lock: none · seed 2

          step   thread 1           thread 2
             1   loads 5
             2                      loads 5
             3   adds 1 and has 6
             4   stores 6
             5                      subtracts 1 and has 4
             6                      stores 4

          The counter is 4 and should be 5: one update is lost.

        With a lock: quorate sim local --seed 2 --lock semaphore
        Every order: quorate check local
    "#]]
    .assert_eq(&run("sim local --seed 2").out);
    expect![[r#"
        local · lock: test-and-set · seed 2

          step   thread 1                                      thread 2
             1   atomically finds the flag clear and sets it
             2                                                 finds the flag set and tries again
             3   loads 5
             4   adds 1 and has 6
             5                                                 finds the flag set and tries again
             6                                                 finds the flag set and tries again
             7                                                 finds the flag set and tries again
             8                                                 finds the flag set and tries again
             9                                                 finds the flag set and tries again
            10                                                 finds the flag set and tries again
            11   stores 6
            12                                                 finds the flag set and tries again
            13                                                 finds the flag set and tries again
            14   clears the flag
            15                                                 atomically finds the flag clear and sets it
            16                                                 loads 6
            17                                                 subtracts 1 and has 5
            18                                                 stores 5
            19                                                 clears the flag

          The counter is 5, which is correct.
        Every order: quorate check local
    "#]]
    .assert_eq(&run("sim local --seed 2 --lock test-and-set").exits(0));
}

/// Random runs find exactly the results that the check finds.
#[test]
fn seeds_and_the_check_find_the_same_results() {
    for (lock, expected) in [("none", &[4, 5, 6][..]), ("semaphore", &[5]), ("condition-variable", &[5])] {
        let final_counter = |seed: u64| {
            let report = run(&format!("sim local --seed {seed} --lock {lock} --json"));
            let is_correct = report.code == Some(0);
            let report: Value = serde_json::from_str(&report.out).unwrap();
            assert_eq!((&report["holds"], &report["ending"]), (&is_correct.into(), &"done".into()));
            report["counter"].as_i64().unwrap()
        };
        let found: BTreeSet<_> = (1..=40).map(final_counter).collect();
        assert_eq!(found, expected.iter().copied().collect(), "{lock}");
    }
}

#[test]
fn json_of_a_run_has_every_step() {
    let line = "sim local --seed 7 --lock semaphore --json";
    expect![[r#"
        algorithm: string
        counter: integer
        ending: string
        holds: bool
        lock: string
        right: integer
        schedule[]: integer
        seed: integer
        steps[]: string
    "#]]
    .assert_eq(&shape(&run(line).json(0)));
    assert_eq!(run(line).out, run(line).out, "the same seed, the same run");
}

#[test]
fn the_race_is_listed_and_explained() {
    assert!(run("list").exits(0).lines().any(|line| line.starts_with("local ") && line.contains("counter++")));
    assert!(!run("list --fixtures").exits(0).lines().any(|line| line.starts_with("local")));
    let printed = run("explain local").exits(0);
    for part in ["LO-3", "test-and-set", "thread 2", "To run it yourself: quorate check local"] {
        assert!(printed.contains(part), "no '{part}' in:\n{printed}");
    }
    let json = run("explain local --json").json(0);
    assert_eq!((&json["family"], json["rules"].as_array().unwrap().len()), (&Value::Null, 5));
}

/// `local` rejects commands and options for groups of nodes, options before its name, and invalid
/// values.
#[test]
fn invalid_commands_and_options_are_rejected() {
    let errors =
        ["sweep local", "sim --seed 3 local", "check --nodes 2 local", "shrink local", "explain local --svg local.svg"];
    let printed = errors.map(|line| format!("$ quorate {line}\n{}", run(line).error()));
    expect![[r#"
        $ quorate sweep local
        error: 'local' is a demonstration with threads of one process, not an algorithm. Write 'quorate check local', 'quorate sim local' or 'quorate explain local', and its own options after it.
        $ quorate sim --seed 3 local
        error: 'local' is a demonstration with threads of one process, not an algorithm. Write 'quorate check local', 'quorate sim local' or 'quorate explain local', and its own options after it.
        $ quorate check --nodes 2 local
        error: 'local' is a demonstration with threads of one process, not an algorithm. Write 'quorate check local', 'quorate sim local' or 'quorate explain local', and its own options after it.
        $ quorate shrink local
        error: 'local' is a demonstration with threads of one process, not an algorithm, and there is no file of this name. Write 'quorate check local', 'quorate sim local' or 'quorate explain local', and its own options after it.
        $ quorate explain local --svg local.svg
        error: there is no picture of 'local': its threads send no messages.
    "#]].assert_eq(&printed.concat());
    for line in ["sim local --nodes 3", "check local --rounds 2", "sim local --lock mutex", "sim local --seed -1"] {
        let printed = run(line);
        assert!(printed.code == Some(2) && printed.err.starts_with("error: "), "{line}: {printed:?}");
    }
}
