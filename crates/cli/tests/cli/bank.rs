//! `quorate bank`: lost money, journals and pictures, invalid options and the page.

use crate::run::{run, run_in};
use serde_json::Value;
use std::collections::BTreeSet;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/bank.md");

fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().expect("rows")
}

#[test]
fn money_is_lost_only_without_a_lock() {
    // By default, two tellers deposit 10,000 each into an account of 1,000.
    let report = run("bank --json").json(0);
    assert_eq!((&report["expected"], &report["holds"]), (&21_000.into(), &true.into()));
    let (without_lock, locks) = rows(&report).split_first().expect("a row without a lock");
    assert_eq!(
        (&without_lock["lock"], &without_lock["final"], &without_lock["lost"]),
        (&"none".into(), &11_000.into(), &10_000.into())
    );
    for row in locks {
        assert_eq!((&row["final"], &row["lost"], &row["ending"]), (&21_000.into(), &0.into(), &"done".into()), "{row}");
        assert!(row["again"].is_null(), "{row}");
    }
    let listed = run("list --json").json(0);
    let mutex = listed.as_array().unwrap().iter().filter(|entry| entry["family"] == "mutex");
    assert_eq!(
        locks.iter().map(|row| row["lock"].to_string()).collect::<BTreeSet<_>>(),
        mutex.map(|entry| entry["name"].to_string()).collect::<BTreeSet<_>>()
    );
}

#[test]
fn the_text_shows_reads_and_writes() {
    let printed = run("bank").exits(0);
    for part in [
        "2 tellers deposit 10,000 each into an account of 1,000, so that the final balance should be 21,000.",
        "reads 1,000\n",
        "writes 11,000 over 11,000, which it did not read\n",
        "  none                               3          11,000          21,000          10,000\n",
        "  ricart-agrawala                    3          21,000          21,000               0\n",
    ] {
        assert!(printed.contains(part), "no '{part}' in:\n{printed}");
    }
    let alone = run("bank --lock central --tellers 1").exits(0);
    assert!(
        alone.starts_with(
            "One teller deposits 10,000 into an account of 1,000, so that the final balance should be 11,000."
        ),
        "{alone}"
    );
}

#[test]
fn a_lock_that_loses_money_fails_and_prints_how_to_repeat_it() {
    for line in ["bank --lock none", "bank --lock no-lock", "bank --lock ricart-agrawala-node-only --seeds 200"] {
        let printed = run(line).exits(1);
        let commands: Vec<_> = printed
            .lines()
            .filter(|line| line.starts_with("To see "))
            .filter_map(|line| line.split_once(": "))
            .collect();
        assert_eq!(commands.len(), 2, "{printed}");
        for (_, command) in commands {
            let again = run(command).exits(1);
            assert!(
                again.contains("which it did not read") || again.contains("was in the critical section"),
                "{command}:\n{again}"
            );
        }
    }
    // The printed command contains the settings of the run.
    let unusual_settings = "bank --lock none --tellers 3 --deposit 7 --balance 5 --nodes 4 --latency fixed:2ms";
    let report = run(&format!("{unusual_settings} --json")).json(1);
    let again = rows(&report)[0]["again"].as_str().expect("a command").to_owned();
    assert_eq!(run(&format!("{again} --json")).json(1)["rows"], report["rows"]);
}

#[test]
fn many_seeds_are_counted() {
    let report = run("bank --lock none --seeds 50 --seed 9 --json").json(1);
    let row = &rows(&report)[0];
    let [right, losing] = ["right", "losing"].map(|name| row[name].as_u64().expect(name));
    // About seven seeds in ten lose one of the two deposits.
    assert!(right + losing == 50 && right > 0 && losing > 20, "{row}");
    assert_eq!((&row["seeds"], &row["most_lost"]), (&50.into(), &10_000.into()));
    // The table of several seeds has a column with this heading.
    assert!(run("bank --lock central --seeds 50").exits(0).contains("with a loss"));
}

/// A lock under which a teller waits forever loses no money, but the final balance is wrong too.
#[test]
fn missing_deposits_are_not_counted_as_lost_money() {
    let report = run("bank --lock toy-embrace --seeds 50 --json").json(1);
    let seed = rows(&report)[0]["first_wrong"].as_u64().expect("a seed");
    assert_eq!(rows(&report)[0]["losing"], 0);
    let printed = run(&format!("bank --lock toy-embrace --seed {seed}")).exits(1);
    assert!(printed.contains("blocked after "), "{printed}");
}

#[test]
fn a_run_of_the_bank_has_a_journal_and_a_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = "bank --lock none --trace bank.journal --svg bank.svg";
    let printed = run_in(folder.path(), line).exits(1);
    assert!(printed.contains("journal: bank.journal") && printed.contains("picture: bank.svg"), "{printed}");
    let replayed = run_in(folder.path(), "replay bank.journal --json").json(1);
    assert_eq!((&replayed["identical"], &replayed["algorithm"]), (&true.into(), &"no-lock".into()));
    assert!(std::fs::read_to_string(folder.path().join("bank.svg")).expect("a picture").starts_with("<svg"));
    assert!(run("bank --lock none --svg -").exits(1).starts_with("<svg"));
}

#[test]
fn invalid_options_are_reported() {
    for (line, error) in [
        ("bank --lock unknown", "there is no algorithm 'unknown'."),
        ("bank --lock raft", "'raft' is of the election family; --lock needs an algorithm of the mutex family."),
        ("bank --tellers 0", "--tellers must be at least 1; got 0."),
        ("bank --tellers 4 --nodes 3", "--nodes must be at least 4 for 4 tellers, one node each; got 3."),
        (
            "bank --deposit 18446744073709551615",
            "--balance plus all deposits must be at most 18446744073709551615; got 1000 + 2 × 18446744073709551615.",
        ),
        ("bank --seeds 0", "--seeds must be at least 1; got 0"),
        ("bank --svg all.svg", "a journal or a picture shows a single run"),
        ("bank --lock none --seeds 2 --trace x", "a journal or a picture shows a single run"),
        ("bank --lock none --latency fixed:0ms", "--latency must be greater than 0; got 0ms."),
        ("bank --lock none --svg - --json", "both write to standard output"),
        ("bank --theme dark", "--theme has no effect without an SVG picture"),
    ] {
        let printed = run(line).error();
        assert!(printed.contains(error), "{line}: {printed}");
    }
}

/// The page shows the current output, and its commands run.
#[test]
fn the_page_matches_the_command() {
    let page = std::fs::read_to_string(PAGE).expect("the page");
    let shown = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an output");
    assert!(run("bank").exits(0).contains(shown), "the page shows:\n{shown}");
    let folder = tempfile::tempdir().expect("a folder");
    let commands = page.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("commands");
    let codes: Vec<_> = commands.lines().map(|line| run_in(folder.path(), line).code).collect();
    // The second command of the page runs without a lock.
    assert_eq!(codes, [Some(0), Some(1), Some(0)], "{commands}");
    assert!(folder.path().join("bank.svg").exists());
}
