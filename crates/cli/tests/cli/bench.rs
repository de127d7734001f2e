//! `quorate bench`: its figures, and what is said where something is missing.

use crate::json::shape;
use crate::run::{Run, run};
use expect_test::expect;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

#[test]
fn of_the_simulator() {
    let report = run("bench sim --events 1000 --turns 1 --json");
    let verdict = report.code;
    let report = report.json(verdict.unwrap_or_default());
    assert_eq!(verdict, Some(if report["holds"] == true { 0 } else { 1 }));
    expect![[r#"
        bytes_per_node: float
        cost_growth: float
        events: integer
        holds: bool
        large.bare_events_per_second: float
        large.nodes: integer
        large.share: float
        large.sim_events_per_second: float
        small.bare_events_per_second: float
        small.nodes: integer
        small.share: float
        small.sim_events_per_second: float
    "#]]
    .assert_eq(&shape(&report));
}

#[test]
fn of_the_wait_for_graph() {
    let report = run("bench deadlock --waiters 100,300 --turns 1 --json");
    let verdict = report.code;
    let report = report.json(verdict.unwrap_or_default());
    assert_eq!(verdict, Some(if report["holds"] == true { 0 } else { 1 }));
    let graphs = report["graphs"].as_array().unwrap();
    let waiters: Vec<_> = graphs.iter().map(|graph| graph["waiters"].as_u64().unwrap()).collect();
    assert_eq!(waiters, [100, 300].repeat(5));
    assert!(graphs.iter().all(|graph| graph["refused"].as_u64().unwrap() > 0), "{report}");
    let told = run("bench deadlock --waiters 64 --turns 1").out;
    for part in ["short chains", "one long queue", "random, sparse", "an answer with 64 waiters, median"] {
        assert!(told.contains(part), "no '{part}' in:\n{told}");
    }
    expect![[r#"
        graphs[].answer_99_percent_us: float
        graphs[].answer_median_us: float
        graphs[].asked: integer
        graphs[].insertions_per_second: float
        graphs[].petgraph_insertions_per_second: float
        graphs[].refused: integer
        graphs[].shape: string
        graphs[].times_petgraph: float
        graphs[].waiters: integer
        holds: bool
    "#]]
    .assert_eq(&shape(&report));
}

/// Lets a shell write a program, since a file that this process has open cannot be started.
fn shell(folder: &Path, script: &str, word: &str) {
    let done = Command::new("sh").current_dir(folder).args(["-c", script, "sh", word]).status().unwrap();
    assert!(done.success(), "{script}");
}

/// A folder in which quorate lies alone.
fn alone() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    shell(folder.path(), "cp \"$1\" quorate", env!("CARGO_BIN_EXE_quorate"));
    folder
}

fn bench(folder: &Path, flags: &[&str]) -> Run {
    let words = [&["bench", "check", "--turns", "1"], flags].concat();
    let output = Command::new(folder.join("quorate")).args(words).output().unwrap();
    Run {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn of_the_checker_alone() {
    let folder = alone();
    let ended = bench(folder.path(), &["--json"]);
    let code = ended.code;
    let report = ended.json(code.unwrap_or_default());
    assert_eq!(code, Some(if report["holds"] == true { 0 } else { 1 }));
    assert_eq!((&report["states"], &report["compared"]), (&506_546.into(), &false.into()));
    expect![[r#"
        compared: bool
        contenders[].bytes_per_state: float
        contenders[].checker: string
        contenders[].kept_bytes_per_state: float
        contenders[].model: string
        contenders[].search: string
        contenders[].seconds: float
        contenders[].states_per_second: float
        contenders[].threads: integer
        contenders[].times_stateright: null
        gain: float
        holds: bool
        states: integer
    "#]]
    .assert_eq(&shape(&report));
}

/// Where the build of the other checker puts it.
const RIVAL: &str = "rivals/target/release/quorate-rivals";

/// A stand-in for the other checker at this path, which says what it is told to say.
fn with_a_rival(folder: &Path, path: &str, says: &str) {
    fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
    let write = format!("rm -f {path} && printf '#!/bin/sh\\n%s\\n' \"$1\" > {path} && chmod +x {path}");
    shell(folder, &write, says);
}

#[test]
fn of_the_checker_beside_another() {
    let folder = alone();
    with_a_rival(
        folder.path(),
        RIVAL,
        "echo \"$@\" >> \"$0.log\"\n\
         case \"$3 $9\" in 'actors dfs') seconds=1e9;; *) seconds=2e9;; esac\n\
         echo '{\"states\":506546,\"seconds\":'$seconds',\"bytes_per_state\":21.5,\"model\":\"x\"}'",
    );
    let told = bench(folder.path(), &[]).out;
    let row = |begins: &str| told.lines().find(|line| line.starts_with(begins)).unwrap_or_else(|| panic!("{told}"));
    assert!(told.contains("\ntimes stateright's depth-first search of its own actors with one thread)\n"), "{told}");
    assert!(row("stateright depth first, its actors   ").ends_with("21.5               1.0"), "{told}");
    assert!(row("stateright breadth first, its actors ").ends_with("21.5               0.5"), "{told}");
    assert!(row("stateright depth first, tuned model  ").ends_with("21.5               0.5"), "{told}");
    assert!(row("times stateright's depth-first search of its own actors: ").ends_with("(at least 4.0)  ok"), "{told}");
    assert!(!told.contains("cargo build"), "{told}");
    expect![[r#"
        check --model actors --nodes 3 --rounds 2 --checker dfs --threads 1
        check --model actors --nodes 3 --rounds 2 --checker bfs --threads 1
        check --model nodes --nodes 3 --rounds 2 --checker dfs --threads 1
        check --model nodes --nodes 3 --rounds 2 --checker bfs --threads 1
        check --model nodes --nodes 3 --rounds 2 --checker dfs --threads 2
        check --model packed --nodes 3 --rounds 2 --checker dfs --threads 1
    "#]]
    .assert_eq(&fs::read_to_string(folder.path().join(format!("{RIVAL}.log"))).unwrap());
}

/// Our own checker has its turn before the other one's figures are missed.
fn is_missed(says: &str, complaint: &str) {
    let folder = alone();
    with_a_rival(folder.path(), "quorate-rivals", says);
    let refusal = bench(folder.path(), &["--json"]).complaint();
    assert!(refusal.contains("quorate-rivals gave no figures; build it anew: cargo build"), "{refusal}");
    assert!(refusal.contains(complaint), "{refusal}");
}

#[test]
fn of_the_checker_beside_one_that_finds_something_else() {
    is_missed(
        "echo '{\"states\":7,\"seconds\":1.0,\"bytes_per_state\":null}'",
        "It found 7 states where there are 506,546.",
    );
}

#[test]
#[ignore = "long: ./check long"]
fn of_the_checker_beside_one_that_fails() {
    is_missed("echo 'no such model' >&2; exit 2", "It ended with exit status: 2: no such model");
    is_missed("echo hello", "expected value");
}

#[test]
fn mistakes() {
    assert_eq!(run("bench check --turns 0").complaint(), "error: Each contender needs at least one turn: --turns 5.\n");
    let complaint = "error: --events is for 'bench sim' alone; the other benchmarks take --turns.\n";
    assert_eq!(run("bench check --events 5000").complaint(), complaint);
    let complaint = "error: --events is for 'bench sim' alone; the other benchmarks take --turns.\n";
    assert_eq!(run("bench replica --events 5").complaint(), complaint);
    assert_eq!(run("bench net --waiters 5").complaint(), "error: --waiters is for 'bench deadlock' alone.\n");
    let complaint = "error: A graph has between 1 and 1000000 waiters: --waiters 1000,10000.\n";
    assert_eq!(run("bench deadlock --waiters 10,0").complaint(), complaint);
    let complaint = "error: --folder is for 'bench replica', which alone writes to a disk.\n";
    assert_eq!(run("bench sim --folder .").complaint(), complaint);
    let complaint = run("bench replica --turns 1 --folder no-such-folder").complaint();
    assert!(complaint.starts_with("error: no-such-folder/quorate-bench-"), "{complaint}");
    assert!(complaint.contains("could not be created"), "{complaint}");
}
