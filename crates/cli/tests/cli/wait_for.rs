//! `quorate wait-for`: reports, victims, invalid graphs, pictures and the page.

use crate::draw::parse_picture;
use crate::run::{quorate, run, run_in};
use expect_test::expect;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs the command with a graph on standard input. Returns the exit code, standard output and
/// standard error.
fn run_with_input(text: &[u8], words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = quorate(Path::new("."));
    command.arg("wait-for").arg("-").args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The command may reject the text before it has read all of it.
    let _ = child.stdin.take().unwrap().write_all(text);
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_cycle_of_two_is_reported() {
    expect![[r#"
        deadlock: a cycle of 2
          P1 waits for scanner, which P2 holds
          P2 waits for printer, which P1 holds
        blocked behind it: P3 (waits for printer, which P1 holds and P2 wanted first)
        free: P4

        victim by fewest-locks: P2
          holds the fewest locks: 1; all are tied, and its name sorts last
          is aborted, and releases scanner
        then these continue: P1, P3
        a new search finds no deadlock
    "#]]
    .assert_eq(&run("wait-for --example printer-and-scanner").exits(1));
}

#[test]
fn a_cycle_without_a_deadlock_is_not_reported() {
    expect![[r#"
        no deadlock: every process continues eventually
        waiting, but will continue: P1 (waits for P2 or P4), P2 (waits for P3), P3 (waits for P1), P5 (waits for P2 and P3)
        free: P4
    "#]]
    .assert_eq(&run("wait-for --example or-cycle").exits(0));
}

#[test]
fn a_knot_is_reported() {
    expect![[r#"
        deadlock: a knot of 4
          P1 waits for P2 or P3
          P2 waits for P3 or P4
          P3 waits for P4
          P4 waits for P1 or P2
        blocked behind it: P5 (waits for P1 or P3)
        waiting, but will continue: P6 (waits for P1 or P7)
        free: P7

        victim by fewest-locks: P4
          holds no locks; all are tied, and its name sorts last
          is aborted, and releases everything that others wait for
        then these continue: P1, P2, P3, P5
        a new search finds no deadlock
    "#]]
    .assert_eq(&run("wait-for --example knot").exits(1));
}

#[test]
fn a_cycle_through_a_semaphore_with_another_holder_is_no_deadlock() {
    expect![[r#"
        no deadlock: every process continues eventually
        waiting, but will continue: Auditor (waits for a permit of pool, which Reader and Writer hold), Writer (waits for table:employees;row:15, which Auditor holds)
        free: Reader
    "#]]
    .assert_eq(&run("wait-for --example semaphore").exits(0));
}

/// P3 and P4 wait for each other too, but P3 also waits for P1. A search counts only one reason for
/// each stuck process, here the wait for P1, so only the second search finds the cycle of P3, P4.
#[test]
fn several_deadlocks_have_one_victim_each() {
    let text = b"P1 -> P2\nP2 -> P1\nP3 -> P1, P4\nP4 -> P3\nQ1 -> Q2\nQ2 -> Q1\n";
    let (code, printed, error) = run_with_input(text, &[]);
    assert_eq!((code, error.as_str()), (Some(1), ""));
    assert_eq!(printed.matches("deadlock: a cycle of 2").count(), 2, "{printed}");
    assert!(
        printed.contains("a new search finds one more deadlock\n\nnext search\nvictim by fewest-locks: P4"),
        "{printed}"
    );
    assert!(printed.ends_with("a new search finds no deadlock\n"), "{printed}");
}

#[test]
fn victims_follow_the_policy_and_its_data_is_required() {
    let line = "wait-for --example printer-and-scanner";
    let victim =
        |policy: &str| run(&format!("{line} --victim {policy} --json")).json(1)["rounds"][0]["victims"][0].clone();
    assert_eq!((&victim("youngest")["who"], &victim("youngest")["why"]), (&"P2".into(), &"began last, at 30".into()));
    assert_eq!(victim("lowest-priority")["who"], "P1");
    assert_eq!(
        run("wait-for --example knot --victim youngest").error(),
        "error: the victim cannot be chosen by 'youngest': the text does not say when P1 began. Add a line such as 'P1 began 12'.\n"
    );
}

#[test]
fn the_json_report_has_waits_victims_and_rounds() {
    let report = run("wait-for --example printer-and-scanner --json").json(1);
    assert_eq!(report["deadlocks"][0]["shape"], "cycle");
    let first = &report["deadlocks"][0]["waits"][0];
    assert_eq!(
        *first,
        serde_json::json!({"who": "P1", "for": {"all": ["P2"]}, "resource": "scanner", "held_by": ["P2"]})
    );
    assert_eq!(report["free"], serde_json::json!(["P4"]));
    assert_eq!(report["policy"], "fewest-locks");
    let round = &report["rounds"][0];
    assert_eq!((&round["freed"], &round["left"]), (&serde_json::json!(["P1", "P3"]), &0.into()));
}

#[test]
fn errors_name_line_and_column() {
    let error = |text: &[u8]| {
        let (code, printed, error) = run_with_input(text, &[]);
        assert_eq!((code, printed.as_str()), (Some(2), ""));
        error
    };
    assert_eq!(
        error(b"P1 -> P2\nP1 hodls printer\n"),
        "error: in standard input: line 2, column 4: found 'hodls', expected '->', 'waits for', 'holds', 'wants', 'has' or 'began'. \
         Did you mean 'holds'?\n"
    );
    assert_eq!(error(b"P1 \xff"), "error: in standard input: line 1: the text is not valid UTF-8.\n");
    let long = error(&vec![b' '; 3 << 20]);
    assert_eq!(long, "error: in standard input: the text is too long: at most 1048576 bytes are allowed.\n");
    let nowhere = run("wait-for nowhere.txt").error();
    assert!(nowhere.starts_with("error: cannot read the graph nowhere.txt: "), "{nowhere}");
    assert_eq!(run("wait-for").code, Some(2));
    assert_eq!(
        run("wait-for --example knot --theme dark").error(),
        "error: --theme has no effect without an SVG picture; add --svg FILE.\n"
    );
}

#[test]
fn an_empty_graph_has_no_deadlock_and_a_misspelling_is_noted() {
    assert_eq!(run_with_input(b"", &[]).1, "no deadlock: every process continues eventually\n");
    let (code, printed, _) = run_with_input(b"P1 holds printer\nP2 wants pritner\n", &[]);
    assert_eq!(code, Some(0));
    assert!(printed.starts_with("note: No process holds pritner. Did you mean 'printer'?\n"), "{printed}");
}

#[test]
fn the_picture_marks_the_deadlock() {
    let folder = tempfile::tempdir().unwrap();
    let printed = run_in(folder.path(), "wait-for --example philosophers --svg table.svg").exits(1);
    assert!(printed.contains("deadlock: a cycle of 5") && printed.ends_with("  picture: table.svg\n"), "{printed}");
    let svg = fs::read_to_string(folder.path().join("table.svg")).unwrap();
    parse_picture(&svg);
    // Five philosophers and five forks, each with one arrow to the next.
    assert_eq!(svg.matches("<g class=\"node in-deadlock\"").count(), 10);
    assert_eq!((svg.matches("<g class=\"arrow marked\"").count(), svg.matches("<g class=\"arrow\"").count()), (10, 0));
    let (_, out, _) = run_with_input(b"P1 -> P2\nP2 -> P1\nP3 -> P1\n", &["--svg", "-", "--theme", "dark"]);
    parse_picture(&out);
    assert!(out.contains(">Deadlock: a cycle of 2<") && out.contains("node behind"), "{out}");
}

#[test]
fn a_large_graph_is_reported_but_not_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = (0..200).map(|number| format!("P{number} -> P{}\n", (number + 1) % 200)).collect();
    fs::write(folder.path().join("large"), text).unwrap();
    let result = run_in(folder.path(), "wait-for large --svg large.svg");
    assert!(result.out.starts_with("deadlock: a cycle of 200\n"), "{}", result.out);
    assert!(result.error_after_output().starts_with(
        "error: a picture can have at most 80 processes and resources and 240 arrows; this graph has 200 and 200."
    ));
    assert!(!folder.path().join("large.svg").exists());
}

/// The page shows the current output, and its commands work.
#[test]
fn the_page_on_deadlocks_is_current() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/deadlocks.md")).unwrap();
    let printed = run("wait-for --example printer-and-scanner").exits(1);
    assert!(page.contains(&format!("```text\n{printed}```")), "the page does not show:\n{printed}");
    let folder = tempfile::tempdir().unwrap();
    let graphs = fs::canonicalize(Path::new(ROOT).join("docs/wait-for")).unwrap();
    let commands: Vec<_> = page.lines().filter(|line| line.starts_with("quorate wait-for ")).collect();
    assert!(commands.len() >= 3, "{commands:?}");
    for line in commands {
        let here = line.replace("docs/wait-for", &graphs.to_string_lossy());
        let result = run_in(folder.path(), &here);
        assert!(matches!(result.code, Some(0 | 1)) && result.err.is_empty(), "{line}: {result:?}");
    }
}
