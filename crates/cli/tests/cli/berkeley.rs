//! The Berkeley algorithm: table, JSON, picture, invalid options and the page.

use crate::run::{run, run_in};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/elections.md");
const LEADER_CRASH: &str =
    "sim berkeley --nodes 5 --skew 500ms --drift 200ppm --every 1s --for 20s --fault 'crash 5 at 8s'";

#[test]
fn the_table_shows_the_spread_around_a_crash() {
    let printed = run(LEADER_CRASH).exits(0);
    let mut rest = printed.as_str();
    for part in [
        "start",
        "node 5 is elected in epoch 1",
        "after the first round of node 5",
        "node 5, the leader, crashes",
        "node 4 is elected in epoch 2, ",
        "after the first round of node 4",
        "\n  end ",
        "node 5 in epoch 1",
        "node 5: no answer (rounds 1 to ",
    ] {
        let (_, after) =
            rest.split_once(part).unwrap_or_else(|| panic!("no '{part}' after the parts before it in:\n{printed}"));
        rest = after;
    }
    assert_eq!(run(LEADER_CRASH).exits(0), printed, "the same seed prints the same");
}

#[test]
fn json_has_milestones_rounds_and_samples() {
    let report = run(&format!("{LEADER_CRASH} --json")).json(0);
    let milestones = report["milestones"].as_array().expect("milestones");
    let spread_ns = |milestone: &str, leader: Option<u64>| {
        let is_wanted =
            |row: &&serde_json::Value| row["what"] == milestone && leader.is_none_or(|leader| row["leader"] == leader);
        milestones.iter().find(is_wanted).and_then(|row| row["spread_ns"].as_u64()).expect(milestone)
    };
    let uncertainty_ns = report["uncertainty_ns"].as_u64().expect("a duration");
    assert!(
        spread_ns("begins", None) > 100 * uncertainty_ns
            && spread_ns("first-round", Some(5)) <= uncertainty_ns
            && spread_ns("first-round", Some(4)) <= uncertainty_ns
    );
    // In 20 s there is a round every second, except during the two elections, and the spread is
    // sampled up to 10 times between two rounds.
    assert!(report["rounds"].as_array().is_some_and(|rounds| rounds.len() > 15));
    assert!(report["samples"].as_array().is_some_and(|samples| samples.len() > 100));
    assert_eq!((&report["scenario"], &report["nodes"]), (&"berkeley".into(), &5.into()));
}

#[test]
fn nodes_left_out_of_the_average_are_listed() {
    let printed = run("sim berkeley --fault 'skew 2 by 1h'").exits(0);
    assert!(printed.contains("node 2: too far off (round 1 of node 5)"), "{printed}");
    assert!(run("sim berkeley").exits(0).contains("left out    none"));
}

#[test]
fn the_spread_is_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let printed = run_in(folder.path(), &format!("{LEADER_CRASH} --svg clocks.svg"));
    assert!(printed.out.contains("picture: clocks.svg"), "{}", printed.out);
    let svg = std::fs::read_to_string(folder.path().join("clocks.svg")).expect("a picture");
    for part in ["Clock synchronization by an elected leader", "the leader crashes", "largest spread after a round"] {
        assert!(svg.contains(part), "no '{part}'");
    }
    assert_eq!(run(&format!("{LEADER_CRASH} --svg -")).exits(0), svg);
}

#[test]
fn invalid_options_are_reported() {
    for (line, error) in [
        ("--nodes 1", "--nodes must be at least 2; got 1."),
        ("--latency long-tail:2ms", "has no upper bound, but the election needs one to detect a late answer"),
        ("--every 1ms", "--every must be at least 6.001203ms, the length of a round; got 1ms."),
        ("--drift -200ppm", "is not an option"),
        ("--drift=-200ppm", "got -200ppm. Use 200ppm."),
        ("--fault 'crash 9 at 1s'", "node 9"),
        ("--svg - --json", "both write to standard output"),
    ] {
        let result = run(&format!("sim berkeley {line}"));
        assert!(result.code == Some(2) && result.err.contains(error), "{line}: {}", result.err);
    }
}

#[test]
fn the_page_shows_the_printed_table() {
    let page = std::fs::read_to_string(PAGE).expect("the page");
    for line in run(LEADER_CRASH).exits(0).lines().filter(|line| !line.is_empty()) {
        assert!(page.contains(line.trim_end()), "the page does not show:\n{line}");
    }
}
