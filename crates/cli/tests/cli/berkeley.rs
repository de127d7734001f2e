//! A leader at work, as users meet it: the table, the JSON, the picture, mistakes, and the page.

use crate::run::{run, run_in};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/elections.md");
const CRASH: &str = "sim berkeley --nodes 5 --skew 500ms --drift 200ppm --every 1s --for 20s --fault 'crash 5 at 8s'";

#[test]
fn the_table_tells_how_the_spread_falls_grows_and_falls_again() {
    let told = run(CRASH).ok(0);
    let mut rest = told.as_str();
    for part in [
        "before anything",
        "node 5 is elected in epoch 1",
        "after the first round of node 5",
        "node 5, the leader, crashes",
        "without a leader, 4 is elected in epoch 2",
        "after the first round of node 4",
        "at the end",
        "node 5 in epoch 1",
        "node 5: no answer (rounds 1 to ",
    ] {
        let (_, after) = rest.split_once(part).unwrap_or_else(|| panic!("no '{part}' in its place in:\n{told}"));
        rest = after;
    }
    assert_eq!(run(CRASH).ok(0), told, "the same seed prints the same");
}

#[test]
fn programs_learn_every_round_and_every_sample() {
    let report = run(&format!("{CRASH} --json")).json(0);
    let milestones = report["milestones"].as_array().expect("milestones");
    let spread = |what: &str, leader: u64| {
        let is_it = |row: &&serde_json::Value| row["what"] == what && (leader == 0 || row["leader"] == leader);
        milestones.iter().find(is_it).and_then(|row| row["spread_ns"].as_u64()).expect(what)
    };
    let most = report["uncertainty_ns"].as_u64().expect("a length");
    assert!(spread("begins", 0) > 100 * most && spread("first-round", 5) <= most && spread("first-round", 4) <= most);
    assert!(report["rounds"].as_array().is_some_and(|rounds| rounds.len() > 15));
    assert!(report["samples"].as_array().is_some_and(|samples| samples.len() > 100));
    assert_eq!((&report["scenario"], &report["nodes"]), (&"berkeley".into(), &5.into()));
}

#[test]
fn who_is_left_out_is_named() {
    let told = run("sim berkeley --fault 'skew 2 by 1h'").ok(0);
    assert!(told.contains("node 2: too far off (round 1 of node 5)"), "{told}");
    assert!(run("sim berkeley").ok(0).contains("left out    nobody"));
}

#[test]
fn the_spread_is_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = run_in(folder.path(), &format!("{CRASH} --svg clocks.svg"));
    assert!(told.out.contains("picture: clocks.svg"), "{}", told.out);
    let svg = std::fs::read_to_string(folder.path().join("clocks.svg")).expect("a picture");
    for part in ["A leader keeps clocks together", "the leader crashes", "what a round can leave"] {
        assert!(svg.contains(part), "no '{part}'");
    }
    assert_eq!(run(&format!("{CRASH} --svg -")).ok(0), svg);
}

#[test]
fn what_makes_no_sense_is_told() {
    for (line, complaint) in [
        ("--nodes 1", "use --nodes 2 or more"),
        ("--latency long-tail:2ms", "must know when an answer is late"),
        ("--every 1ms", "there cannot be one every 1ms"),
        ("--drift -200ppm", "unexpected argument"),
        ("--drift=-200ppm", "give 200ppm instead"),
        ("--fault 'crash 9 at 1s'", "node 9"),
        ("--svg - --json", "both want standard output"),
    ] {
        let done = run(&format!("sim berkeley {line}"));
        assert!(done.code == Some(2) && done.err.contains(complaint), "{line}: {}", done.err);
    }
}

#[test]
fn the_page_shows_what_is_printed() {
    let page = std::fs::read_to_string(PAGE).expect("the page");
    for line in run(CRASH).ok(0).lines().filter(|line| !line.is_empty()) {
        assert!(page.contains(line.trim_end()), "the page does not show:\n{line}");
    }
}
