//! The two armies: both models of time, one run, and what they do not take. And all outcomes of the race.

use crate::json::shape;
use crate::run::run;
use expect_test::expect;

#[test]
fn who_leads_needs_no_bound_on_delay() {
    expect![[r#""#]].assert_eq(&run("check armies").ok(0));
    for strengths in ["5,3", "4,4", "0,4294967295"] {
        run(&format!("check armies --fifo --strengths {strengths}")).ok(0);
    }
}

#[test]
fn when_to_attack_holds_within_max_minus_min_and_not_a_nanosecond_less() {
    expect![[r#""#]].assert_eq(&run("check armies --delay 2ms..5ms").ok(0));
    expect![[r#""#]].assert_eq(&run("check armies --delay 2ms..5ms --within 2999999ns").ok(1));
    run("check armies --delay 2ms..5ms --within 3ms").ok(0);
    run("check armies --delay 4ms..4ms --within 0ms").ok(0);
    run("check armies --delay 4ms..4ms --drift 1000ppm --within 0ms").ok(1);
    run("check armies --delay 4ms..4ms --drift 1000ppm").ok(0);
}

#[test]
fn without_bounds_every_bound_on_when_is_exceeded() {
    expect![[r#""#]].assert_eq(&run("check armies --within 1h").ok(1));
    for (within, nanos) in [("0ms", 0), ("1ms", 1_000_000), ("1s", 1_000_000_000), ("2m", 120_000_000_000_u64)] {
        let report = run(&format!("check armies --within {within} --json")).json(1);
        let broken: Vec<_> =
            report["properties"].as_array().unwrap().iter().filter(|row| row["holds"] == false).collect();
        assert_eq!((broken.len(), &broken[0]["name"], &report["complete"]), (1, &"when".into(), &true.into()));
        assert!(broken[0]["counterexample"]["gap_ns"].as_u64().unwrap() > nanos, "{within}");
    }
}

#[test]
fn json_of_a_check_and_of_a_run() {
    expect![[r#""#]].assert_eq(&shape(&run("check armies --delay 2ms..5ms --within 1ms --json").json(1)));
    expect![[r#""#]].assert_eq(&shape(&run("sim armies --delay 2ms..5ms --json").json(0)));
}

#[test]
fn a_run_is_told_by_its_times() {
    expect![[r#""#]].assert_eq(&run("sim armies --delay 2ms..5ms --seed 3").ok(0));
    assert_eq!(run("sim armies --seed 9"), run("sim armies --seed 9"), "the same seed, the same run");
}

#[test]
fn they_are_listed_and_explained() {
    assert!(run("list").ok(0).lines().any(|line| line.starts_with("armies ") && line.contains("who leads")));
    let told = run("explain armies").ok(0);
    for part in ["AR-5", "army 2", "To run it yourself: quorate sim armies --delay 2ms..5ms"] {
        assert!(told.contains(part), "no '{part}' in:\n{told}");
    }
}

#[test]
fn what_they_do_not_take_is_told() {
    let complaints = [
        "check --nodes 2 armies",
        "sim --seed 3 race",
        "check armies --within 11y",
        "check armies --within 100000h",
        "check armies --delay 5ms..1ms",
        "check armies --strengths 3",
        "explain armies --svg armies.svg",
    ];
    let told = complaints.map(|line| format!("$ quorate {line}\n{}", run(line).complaint()));
    expect![[r#""#]].assert_eq(&told.concat());
    for line in ["check armies --drift 5ppm", "sim armies --within 1s", "check armies --delay 5ms"] {
        assert_eq!(run(line).code, Some(2), "{line}");
    }
}

#[test]
fn the_race_shows_every_outcome_and_a_way_to_it() {
    expect![[r#""#]].assert_eq(&run("sim race").ok(0));
    let told = run("sim race --lock none --start 0").ok(1);
    for value in [-1, 0, 1] {
        assert!(told.contains(&format!("A shortest way to {value} without a lock")), "{told}");
    }
    run("sim race --lock semaphore").ok(0);
    run("sim race --lock test-then-set").ok(1);
    assert_eq!(run("sim race --json").out, run("check local --json").out, "the same in figures");
}
