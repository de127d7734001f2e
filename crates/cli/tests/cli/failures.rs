//! `quorate compare --failures`: whether the other nodes continue, stop or are unsafe.

use crate::run::run;
use serde_json::{Value, json};
use std::path::Path;

fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().unwrap()
}

fn read_page() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE)).unwrap()
}

const PAGE: &str = "../../docs/failures.md";

/// The rows of some algorithms on the page are current. The columns of a wide table are split into
/// several blocks, so the cells of a row are collected from all of them.
#[test]
fn the_table_in_the_documents_is_current_for_some_algorithms() {
    let page = read_page();
    for name in ["central", "lamport", "ricart-agrawala-implicit", "token-ring", "token-request", "raymond"] {
        let cells = |text: &str| -> Vec<String> {
            let rows = text.lines().filter_map(|line| line.strip_prefix(&format!("  {name} ")));
            rows.flat_map(|line| line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()).collect()
        };
        let printed = run(&format!("compare mutex --failures --algorithms {name}")).exits(0);
        // For each of the two kinds of failure, the number of nodes and at least three results.
        assert!(cells(&printed).len() >= 8, "{printed}");
        assert_eq!(cells(&page), cells(&printed), "docs/failures.md is not current; ./fix golden writes it");
    }
}

/// The whole table on the page is current.
#[test]
#[ignore = "long: ./check long"]
fn the_table_in_the_documents_is_current() {
    let page = read_page();
    let printed = run("compare mutex --failures --forms").exits(0);
    let block = |text: &str| format!("```text\n{text}```\n");
    if page.contains(&block(&printed)) {
        return;
    }
    assert!(
        std::env::var_os("UPDATE_EXPECT").is_some(),
        "docs/failures.md is not current; ./fix golden writes it:\n{printed}"
    );
    let (before, rest) = page.split_once("```text\n").expect("the start of the table");
    let (_, after) = rest.split_once("```\n").expect("the end of the table");
    std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE), format!("{before}{}{after}", block(&printed)))
        .unwrap();
}

/// The counts of each row add up, and the row's command shows the row's result.
#[test]
fn every_row_names_the_command_that_shows_it() {
    let report = run("compare mutex --failures --algorithms central,lamport,token-ring --nodes 4 --json").json(0);
    assert_eq!((&report["complete"], &report["seed"], &report["left_out"]), (&json!(true), &json!(1), &json!([])));
    // Each of the three algorithms has two kinds of failure (a crash for good, a restart without
    // state) of three nodes (holder, waiter, idle node); `central` also has its coordinator.
    assert_eq!(rows(&report).len(), 3 * 6 + 2);
    for row in rows(&report) {
        let [continuing_runs, stopping_runs, unsafe_runs] =
            ["goes_on", "stops", "unsafe"].map(|fate| row[fate].as_u64().unwrap());
        assert_eq!(
            (continuing_runs + stopping_runs + unsafe_runs, row["nodes"].as_u64()),
            (row["runs"].as_u64().unwrap(), Some(4)),
            "{row}"
        );
        let fate = if unsafe_runs > 0 {
            "unsafe"
        } else if stopping_runs > 0 {
            "stops"
        } else {
            "goes-on"
        };
        assert_eq!(row["fate"], fate, "{row}");
        assert_eq!(row["why"].is_string(), fate != "goes-on", "{row}");
        let shown = run(&format!("{} --json", row["command"].as_str().unwrap()));
        let shown: Value = serde_json::from_str(&shown.out).unwrap();
        let exclusion = shown["properties"].as_array().unwrap().iter().find(|property| property["name"] == "exclusion");
        assert_eq!(exclusion.unwrap()["holds"], json!(fate != "unsafe"), "{row}");
        assert!(fate != "stops" || shown["ending"] != "done", "{row}");
        assert!(fate != "goes-on" || shown["ending"] == "done", "{row}");
    }
}

#[test]
fn columns_distinguish_the_failed_node() {
    let printed = run("compare mutex --failures --algorithms central --nodes 3,5").exits(0);
    let cells: Vec<Vec<_>> = printed
        .lines()
        .filter_map(|line| line.strip_prefix("  central "))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let [of_3_nodes, of_5_nodes, ..] = &cells[..] else { panic!("{printed}") };
    // The number of nodes, and the result of a crash of the coordinator, of the holder, of a waiter
    // and of an idle node.
    assert_eq!(of_3_nodes[..5], ["3", "stops", "stops", "stops", "continues"], "{printed}");
    assert_eq!(of_5_nodes[0], "5", "{printed}");
    let longest = printed.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(120), "a line has more than 120 columns:\n{printed}");
}

/// The same seed gives the same instants of failures, and another seed gives others.
#[test]
fn the_seed_determines_the_instants() {
    let line = |seed| format!("compare mutex --failures --algorithms ricart-agrawala --nodes 4 --seed {seed} --json");
    let [one, again, other] = [1, 1, 5].map(|seed| run(&line(seed)).json(0));
    assert_eq!(one, again);
    assert_ne!(rows(&one), rows(&other));
}
