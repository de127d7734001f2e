//! `quorate voting-risk`: the default example, simulation beside the formula, invalid options and
//! the page.

use crate::run::run;
use std::collections::BTreeSet;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/voting.md");
const EXAMPLE: &str = "voting-risk --replicas 32 --majority 24 --lifetime 3h --interval 10s";

#[test]
fn the_default_example_is_correct_in_text_and_json() {
    let report = run(&format!("{EXAMPLE} --json")).json(0);
    let fields: BTreeSet<_> = report.as_object().expect("an object").keys().map(String::as_str).collect();
    let expected = ["replicas", "majority", "p", "violation_probability", "log10", "simulated"];
    assert_eq!(fields, BTreeSet::from(expected));
    let number = |name: &str| report[name].as_f64().expect(name);
    // The sum of C(24,k) p^k (1−p)^(24−k) over k from 24 + 24 − 32 = 16, the voters that two
    // majorities share at least, to 24. Lectures state 10^-40 for this example, and a common
    // misprint of the formula gives 2.005e-67; the command prints both.
    assert!((number("violation_probability") / 2.131_848_882_196_178e-43 - 1.0).abs() < 1e-12, "{report}");
    assert!((number("log10") + 42.671_243_583_864_2).abs() < 1e-9, "{report}");
    // p = interval / lifetime = 10 s / 3 h = 1/1080.
    assert!((number("p") * 1080.0 - 1.0).abs() < 1e-15 && report["simulated"].is_null());
    let printed = run(EXAMPLE).exits(0);
    for part in ["24 of 32 votes admit a node", "16 or more of those voters", "2.132e-43", "2.005e-67", "10^-40"] {
        assert!(printed.contains(part), "no '{part}' in:\n{printed}");
    }
    // The example is the default.
    assert_eq!(run("voting-risk").exits(0), printed);
}

#[test]
fn a_likely_violation_is_simulated_too() {
    for method in ["nodes", "draws"] {
        assert_simulation_matches_formula(method);
    }
}

fn assert_simulation_matches_formula(method: &str) {
    let line = "voting-risk --replicas 9 --majority 7 --lifetime 1m --interval 20s --trials 2000 --seed 3";
    let line = format!("{line} --method {method}");
    let report = run(&format!("{line} --json")).json(0);
    let simulated = &report["simulated"];
    let number = |name: &str| simulated[name].as_f64().expect(name);
    assert_eq!((&simulated["trials"], number("level")), (&2_000.into(), 0.99));
    assert_eq!(number("frequency"), number("violations") / 2_000.0);
    let predicted = report["violation_probability"].as_f64().expect("a number");
    assert!(number("low") < predicted && predicted < number("high"), "{report}");
    assert_eq!(run(&format!("{line} --json")).json(0), report, "the same seed draws the same");
    assert_eq!(simulated["by"], method);
    let printed = run(&line).exits(0);
    assert!(printed.contains("of 2,000 ") && printed.contains("with 99 % confidence (Wilson)"), "{printed}");
}

#[test]
fn simulation_can_be_forced_or_skipped() {
    let never = run("voting-risk --replicas 3 --majority 2 --interval 1h --simulate never --json").json(0);
    assert!(never["simulated"].is_null() && never["violation_probability"].as_f64().is_some_and(|chance| chance > 0.5));
    let always = run(&format!("{EXAMPLE} --simulate always --trials 100 --json")).json(0);
    assert_eq!((&always["simulated"]["violations"], &always["simulated"]["low"]), (&0.into(), &0.0.into()));
    assert!(
        always["simulated"]["high"].as_f64().is_some_and(|high| high > 0.05),
        "a hundred trials give a wide interval"
    );
}

#[test]
fn extreme_probabilities_are_accurate() {
    let value = |line: &str| {
        let report = run(&format!("voting-risk {line} --simulate never --json")).json(0);
        (report["violation_probability"].as_f64().expect("a number"), report["log10"].as_f64())
    };
    assert_eq!(value("--interval 0s"), (0.0, None));
    assert_eq!(value("--interval 3h"), (1.0, Some(0.0)));
    // A violation requires that the only voter forgets its vote: p = 10 s / 3 h = 1/1080.
    let (chance, log10) = value("--replicas 1");
    assert!((chance * 1_080.0 - 1.0).abs() < 1e-12, "{chance}");
    assert!(log10.is_some_and(|log10| (log10 + 1_080.0_f64.log10()).abs() < 1e-12), "{log10:?}");
    // A violation requires that all 5000 voters forget theirs: log10 of (1/1080)^5000.
    let (chance, log10) = value("--replicas 5000 --majority 5000");
    assert!(chance == 0.0 && log10.is_some_and(|log10| (log10 + 15_167.118_777_434_7).abs() < 1e-6), "{log10:?}");
}

#[test]
fn invalid_options_are_reported() {
    for (line, error) in [
        ("--replicas 32 --majority 16", "--majority must be at least 17 of 32 replicas; got 16"),
        ("--replicas 32 --majority 33", "--majority must be at most 32, the number of replicas; got 33."),
        ("--replicas 0", "--replicas must be at least 1; got 0"),
        ("--replicas 18446744073709551615", "--replicas must be at most 1000000; got 18446744073709551615."),
        ("--interval 4h", "--interval must be at most --lifetime, 3h; got 4h"),
        ("--lifetime 0s --interval 0s", "--lifetime must be greater than 0"),
        ("--lifetime banana", "--lifetime: 'banana' is not a duration"),
        ("--replicas 1001 --method nodes", "--replicas must be at most 1000 with --method nodes; got 1001"),
        ("--trials 0", "--trials must be at least 1; got 0"),
    ] {
        let printed = run(&format!("voting-risk {line}")).error();
        assert!(printed.contains(error), "{line}: {printed}");
    }
}

/// Every row of the page's table matches the output of the command, and the page's commands run.
#[test]
fn the_page_matches_the_command() {
    let page = std::fs::read_to_string(PAGE).expect("the page");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")).filter(|row| row.contains(" of "));
    let mut checked = 0;
    for row in rows.filter(|row| row.starts_with(|first: char| first.is_ascii_digit())) {
        let [replicas, majority, times, overlap, chance] =
            row.trim_end_matches(" |").split(" | ").collect::<Vec<_>>()[..]
        else {
            panic!("this row has other columns: {row}");
        };
        let (interval, lifetime) = times.split_once(" of ").expect("two durations");
        let line = format!("voting-risk --replicas {replicas} --majority {majority} --simulate never");
        let printed = run(&format!("{line} --interval {interval} --lifetime {lifetime}")).exits(0);
        let formula_row = printed.lines().find(|line| line.contains("  formula")).expect("the formula");
        assert!(formula_row.contains(&format!(" {chance} ")), "the page says {chance} of {row}:\n{printed}");
        assert!(
            printed.contains(&format!("{overlap} or more of those voters"))
                || printed.contains("\nall of those voters"),
            "{row}:\n{printed}"
        );
        checked += 1;
    }
    assert!(checked >= 12, "only {checked} rows were found");
    for line in page.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("commands").lines() {
        run(line).exits(0);
    }
}
