//! The bank: without a lock money is lost, with any lock it is not, and who loses it is told how to see it again.

use crate::run::{run, run_in};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/bank.md");

fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().expect("rows")
}

#[test]
fn without_a_lock_money_is_lost_and_with_any_it_is_not() {
    let report = run("bank --json").json(0);
    assert_eq!((&report["expected"], &report["holds"]), (&21_000.into(), &true.into()));
    let (none, locks) = rows(&report).split_first().expect("a row without a lock");
    assert_eq!((&none["lock"], &none["final"], &none["lost"]), (&"none".into(), &11_000.into(), &10_000.into()));
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
fn people_see_who_read_and_wrote_what() {
    let told = run("bank").ok(0);
    for part in [
        "2 tellers deposit 10,000 each into an account of 1,000: 21,000 is right.",
        "reads 1,000\n",
        "writes 11,000 over 11,000 that it never saw\n",
        "  none                               3          11,000          21,000          10,000\n",
        "  ricart-agrawala                    3          21,000          21,000               0\n",
    ] {
        assert!(told.contains(part), "no '{part}' in:\n{told}");
    }
    let alone = run("bank --lock central --tellers 1").ok(0);
    assert!(alone.starts_with("One teller deposits 10,000 into an account of 1,000: 11,000 is right."), "{alone}");
}

#[test]
fn a_lock_that_loses_money_fails_and_says_how_to_see_it_again() {
    for line in ["bank --lock none", "bank --lock no-lock", "bank --lock ricart-agrawala-node-only --seeds 200"] {
        let told = run(line).ok(1);
        let commands: Vec<_> =
            told.lines().filter(|line| line.starts_with("To see ")).filter_map(|line| line.split_once(": ")).collect();
        assert_eq!(commands.len(), 2, "{told}");
        for (_, command) in commands {
            let again = run(command).ok(1);
            assert!(again.contains("that it never saw") || again.contains("was inside"), "{command}:\n{again}");
        }
    }
    // The settings of the run are part of the command.
    let odd = "bank --lock none --tellers 3 --deposit 7 --balance 5 --nodes 4 --latency fixed:2ms";
    let report = run(&format!("{odd} --json")).json(1);
    let again = rows(&report)[0]["again"].as_str().expect("a command").to_owned();
    assert_eq!(run(&format!("{again} --json")).json(1)["rows"], report["rows"]);
}

#[test]
fn many_seeds_are_counted() {
    let report = run("bank --lock none --seeds 50 --seed 9 --json").json(1);
    let row = &rows(&report)[0];
    let [right, losing] = ["right", "losing"].map(|name| row[name].as_u64().expect(name));
    assert!(right + losing == 50 && right > 0 && losing > 20, "{row}");
    assert_eq!((&row["seeds"], &row["most_lost"]), (&50.into(), &10_000.into()));
    assert!(run("bank --lock central --seeds 50").ok(0).contains("lost money in"));
}

/// A lock under which somebody waits for ever loses nothing, and does not come to the right balance either.
#[test]
fn deposits_that_were_never_made_are_told_apart() {
    let report = run("bank --lock toy-embrace --seeds 50 --json").json(1);
    let seed = rows(&report)[0]["first_wrong"].as_u64().expect("a seed");
    assert_eq!(rows(&report)[0]["losing"], 0);
    let told = run(&format!("bank --lock toy-embrace --seed {seed}")).ok(1);
    assert!(told.contains("stuck after "), "{told}");
}

#[test]
fn a_run_of_the_bank_has_a_journal_and_a_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = "bank --lock none --trace bank.journal --svg bank.svg";
    let told = run_in(folder.path(), line).ok(1);
    assert!(told.contains("journal: bank.journal") && told.contains("picture: bank.svg"), "{told}");
    let replayed = run_in(folder.path(), "replay bank.journal --json").json(1);
    assert_eq!((&replayed["identical"], &replayed["algorithm"]), (&true.into(), &"no-lock".into()));
    assert!(std::fs::read_to_string(folder.path().join("bank.svg")).expect("a picture").starts_with("<svg"));
    assert!(run("bank --lock none --svg -").ok(1).starts_with("<svg"));
}

#[test]
fn what_makes_no_sense_is_told() {
    for (line, complaint) in [
        ("bank --lock nobody", "There is no algorithm 'nobody'."),
        ("bank --lock raft", "'raft' is of the election family, and a lock is of the mutex family."),
        ("bank --tellers 0", "A bank without tellers takes no deposits"),
        ("bank --tellers 4 --nodes 3", "4 tellers need a node each, and there are only 3"),
        ("bank --deposit 18446744073709551615", "So much money does not fit"),
        ("bank --seeds 0", "Nothing is deposited in no seed"),
        ("bank --svg all.svg", "A journal or a picture is of one run"),
        ("bank --lock none --seeds 2 --trace x", "A journal or a picture is of one run"),
        ("bank --lock none --latency fixed:0ms", "A latency of zero leaves nothing to measure"),
        ("bank --lock none --svg - --json", "both want standard output"),
        ("bank --theme dark", "--theme says how a picture in SVG looks"),
    ] {
        let told = run(line).complaint();
        assert!(told.contains(complaint), "{line}: {told}");
    }
}

/// What the page shows is what is printed, and its commands run.
#[test]
fn the_page_tells_the_truth() {
    let page = std::fs::read_to_string(PAGE).expect("the page");
    let shown = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an output");
    assert!(run("bank").ok(0).contains(shown), "the page shows:\n{shown}");
    let folder = tempfile::tempdir().expect("a folder");
    let commands = page.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("commands");
    let codes: Vec<_> = commands.lines().map(|line| run_in(folder.path(), line).code).collect();
    assert_eq!(codes, [Some(0), Some(1), Some(0)], "{commands}");
    assert!(Path::new(&folder.path().join("bank.svg")).exists());
}
