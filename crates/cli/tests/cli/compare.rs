//! `quorate compare`: expected, simulated and real figures side by side.

use crate::live::{has_nodes, signal, wait_until};
use crate::run::{quorate, run, run_in};
use crate::xml::{self, Element};
use expect_test::{expect, expect_file};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;

fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().unwrap()
}

/// Asserts that a figure equals the expected one, or is within the expected bounds. A figure that
/// was not measured passes.
#[track_caller]
fn assert_expected(row: &Value, figure: &str) {
    let Some(measured) = row[figure].as_f64() else { return };
    match &row["expected"][figure] {
        Value::Number(exactly) => assert_eq!(Some(measured), exactly.as_f64(), "{figure} of {row}"),
        bounds => {
            let max = bounds["most"].as_f64().unwrap_or(f64::INFINITY);
            let min = bounds["least"].as_f64().unwrap();
            assert!((min..=max).contains(&measured), "{figure} of {row}");
        }
    }
}

/// Returns the algorithms of a comparison, in order.
fn algorithms(report: &Value) -> Vec<&str> {
    let mut names: Vec<_> = rows(report).iter().map(|row| row["algorithm"].as_str().unwrap()).collect();
    names.dedup();
    names
}

fn row<'a>(report: &'a Value, algorithm: &str, nodes: u64, workload: &str) -> &'a Value {
    let matches = |row: &&Value| row["algorithm"] == algorithm && row["nodes"] == nodes && row["workload"] == workload;
    rows(report).iter().find(matches).unwrap_or_else(|| panic!("no {algorithm} with {nodes} under {workload}"))
}

/// The report has every algorithm in every size and under every workload, in order, and every
/// figure is as expected.
#[test]
fn all_algorithms_match_the_expected_figures() {
    let report = run("compare mutex --nodes 2,3,5,12 --entries 60 --json").json(0);
    let [complete, holds, exact, links] = ["complete", "holds", "exact", "links"].map(|field| &report[field]);
    assert_eq!((complete, holds, exact, links), (&json!(true), &json!(true), &json!(true), &Value::Null));
    let workloads = ["single", "pair", "random:1%", "random:10%", "random", "all"];
    let names = algorithms(&report);
    for known in ["central", "lamport", "ricart-agrawala", "token-ring", "token-request", "raymond"] {
        assert!(names.contains(&known), "{known} is not in {names:?}");
    }
    let actual =
        rows(&report).iter().map(|row| [&row["algorithm"], &row["workload"]].map(|cell| cell.as_str().unwrap()));
    let actual = actual.zip(rows(&report).iter().map(|row| row["nodes"].as_u64().unwrap()));
    let sizes = [2, 3, 5, 12];
    let all =
        names.iter().flat_map(|name| sizes.map(|size| workloads.map(|workload| ([*name, workload], size))).concat());
    assert!(actual.eq(all), "rows are missing or in another order");
    for row in rows(&report) {
        assert_eq!((&row["exact"], &row["holds"], &row["entries"]), (&json!(true), &json!(true), &json!(60)), "{row}");
        assert_eq!(row["real"], Value::Null);
        // Every run must have the expected figures.
        assert_eq!(row["expected"]["binding"], json!(true));
        for (figure, samples) in [("client_delay", "client_delay_samples"), ("sync_delay", "sync_delay_samples")] {
            assert_eq!(row[figure].is_number(), row[samples] != 0, "{row}");
        }
        ["messages_per_entry", "client_delay", "sync_delay"].iter().for_each(|figure| assert_expected(row, figure));
    }
}

/// Compares with well-known costs of the algorithms, not with the expected figures in the registry.
#[test]
fn costs_of_idle_and_saturated_workloads_match_the_literature() {
    let report = run("compare mutex --nodes 4,16 --json").json(0);
    let messages =
        |algorithm, nodes, workload| row(&report, algorithm, nodes, workload)["messages_per_entry"].as_f64().unwrap();
    for nodes in [4, 16] {
        let peers = nodes as f64 - 1.0;
        for workload in ["single", "random:1%", "random", "all"] {
            assert_eq!(messages("central", nodes, workload), 3.0);
            assert_eq!(messages("ricart-agrawala", nodes, workload), 2.0 * peers);
            assert_eq!(messages("lamport", nodes, workload), 3.0 * peers);
        }
        // Token ring: one message per entry if all nodes request, and more if fewer do. With a load
        // of 1%, the token is held for one message time and then travels for about 99.
        assert_eq!(messages("token-ring", nodes, "all"), 1.0);
        let ring = ["random:1%", "random:10%", "random", "all"].map(|workload| messages("token-ring", nodes, workload));
        assert!(ring.windows(2).all(|pair| pair[0] > pair[1]) && ring[0] > 50.0, "{ring:?}");
        // Requested token: no message for its holder, and n messages for any other node. A single
        // requester pays them for the first of its 100 entries.
        assert_eq!(messages("token-request", nodes, "single"), nodes as f64 / 100.0);
        assert_eq!(messages("token-request", nodes, "pair"), nodes as f64);
    }
    let busiest = |algorithm| row(&report, algorithm, 16, "all")["busiest_share"].as_f64().unwrap();
    assert!(busiest("central") == 1.0 && busiest("ricart-agrawala") < 0.2);
}

/// The coordinator's own entries cost no messages and are excluded from the mean, which is 3.
#[test]
fn the_table_shows_expected_and_measured_figures() {
    let line = "compare mutex --algorithms ricart-agrawala,central --nodes 5,3 --entries 200 --seed 9 --workload single,random,all";
    let printed = run(line).exits(0);
    expect![[r#"
        mutex · 200 requests a run · seed 9

          messages per entry           single requester    50% load    all request
          algorithm        expected    5  3                5  3        5  3
          ricart-agrawala  2(n−1)      8  4  =             8  4  =     8  4  =
          central          3, own 0    3  3  =             3  3  =     3  3  =

          delays, fairness, load    client delay, in T    sync delay, in T     overtaken    busiest, all request
          algorithm                 expected  5  3        expected  5  3       5  3            5     3              holds
          ricart-agrawala           2T        2  2  =     T         1  1  =    2  2          40%   67%                  ✓
          central                   2T        2  2  =     2T        2  2  =    1  1         100%  100%                  ✓

          after the figures: = exactly as expected   ✓ within the expected bounds   ✗ unexpected   – not judged
          T: one message time, 1 ms in the simulator
          client: from request to entry, without contention   sync: from a release to the next entry
          overtaken: maximum number of later requests granted first   busiest: the busiest node's share of all messages
          10% load: without waiting, the lock would be held a tenth of the time
          own 0: the coordinator's own entries cost nothing, and are counted separately
    "#]]
    .assert_eq(&printed);
    assert_eq!(printed, run(line).exits(0), "the same seed gives a different table");
}

/// Asserts that each command prints several blocks and no line with more than 120 characters.
fn assert_lines_fit(lines: [&str; 2]) {
    for line in lines {
        let printed = run(line).exits(0);
        let longest = printed.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(120), "{longest:?}\n{printed}");
        let central_rows = printed.lines().filter(|line| line.starts_with("  central ")).count();
        assert!(central_rows > 1, "{printed}");
    }
}

#[test]
fn no_line_of_the_table_is_too_long() {
    assert_lines_fit([
        "compare mutex --nodes 2-24 --entries 2 --forms",
        "compare mutex --nodes 90,100 --entries 3 --workload all",
    ]);
}

#[test]
#[ignore = "long: ./check long"]
fn no_line_of_a_large_table_is_too_long() {
    assert_lines_fit([
        "compare mutex --nodes 2-24 --entries 30 --forms",
        "compare mutex --nodes 900,1000 --entries 3 --workload all",
    ]);
}

/// Another form of an algorithm, such as `central-deny`, is compared if --algorithms names it, or
/// with --forms.
#[test]
fn forms_of_algorithms_are_compared_on_demand() {
    let names = |line: &str| {
        let report = run(&format!("compare mutex --nodes 3 --entries 10 --workload random {line} --json")).json(0);
        algorithms(&report).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let (default, all) = (names(""), names("--forms"));
    assert!(default.iter().all(|name| all.contains(name)) && all.len() > default.len());
    for form in ["central-deny", "central-deny-and-queue"] {
        assert!(all.iter().any(|name| name == form) && !default.iter().any(|name| name == form), "{form}");
        assert_eq!(names(&format!("--algorithms {form}")), [form]);
    }
    assert_eq!(names("--algorithms central --forms"), ["central", "central-deny", "central-deny-and-queue"]);
    assert_eq!(
        names("--algorithms central-deny,central --forms"),
        ["central-deny", "central", "central-deny-and-queue"]
    );
}

#[test]
fn real_processes_match_the_expected_figures() {
    assert_real_figures("--entries 6");
}

#[test]
#[ignore = "long: ./check long"]
fn real_processes_of_all_forms_match_the_expected_figures() {
    assert_real_figures("--entries 15 --forms");
}

/// Asserts that real processes send as many messages as expected.
fn assert_real_figures(options: &str) {
    let report = run(&format!("compare mutex --nodes 3 --workload random --real --json {options}")).json(0);
    assert_eq!((&report["complete"], &report["links"]), (&json!(true), &json!("tcp")));
    assert!(algorithms(&report).len() > 6);
    for row in rows(&report) {
        let real = &row["real"];
        assert_eq!(
            (&real["exact"], &real["holds"], &real["ending"]),
            (&json!(true), &json!(true), &json!("done")),
            "{row}"
        );
        assert_eq!(real["entries"], row["entries"], "{row}");
        if row["expected"]["messages_per_entry"].is_number() {
            assert_eq!(real["messages_per_entry"], row["messages_per_entry"], "{row}");
        }
        assert_eq!(real["client_delay_ms"].is_number(), real["client_delay_samples"] != 0, "{row}");
        assert_eq!(real["journal"], Value::Null);
    }
}

#[test]
fn the_table_has_real_figures() {
    let printed =
        run("compare mutex --algorithms central --nodes 3 --workload single --entries 5 --real --tls").exits(0);
    assert!(printed.starts_with("mutex · 5 requests a run · seed 1 · real: TLS on loopback\n"), "{printed}");
    let lines: Vec<Vec<_>> = printed.lines().map(|line| line.split_whitespace().collect()).collect();
    let central_rows: Vec<_> = lines.iter().filter(|words| words.first() == Some(&"central")).collect();
    let [messages, rest @ ..] = &central_rows[..] else { panic!("{printed}") };
    // A wide table continues in the next block.
    let rest: Vec<_> =
        ["central"].into_iter().chain(rest.iter().flat_map(|words| words[1..].iter().copied())).collect();
    assert_eq!(messages[1..], ["3,", "own", "0", "3", "=", "3", "="], "{printed}");
    let [_, client_expected, client, mark, sync_expected, sync, no_mark, real, no_real, tail @ ..] = &rest[..] else {
        panic!("{printed}")
    };
    assert_eq!(
        [*client_expected, *client, *mark, *sync_expected, *sync, *no_mark],
        ["2T", "2", "=", "2T", "–", "–"],
        "{printed}"
    );
    assert!(real.parse::<f64>().is_ok_and(|delay| delay > 0.0) && *no_real == "–", "{printed}");
    // The maximum overtaking and the busiest node's share, first simulated, then real; and whether
    // all holds.
    assert_eq!(tail, ["0", "100%", "0", "100%", "✓"], "{printed}");
    assert!(printed.contains("single requester · real") && printed.contains("client delay, in ms · real"), "{printed}");
}

/// The command of each row repeats its run.
#[test]
fn every_row_has_the_command_that_repeats_it() {
    let report =
        run("compare mutex --algorithms ricart-agrawala,token-ring --nodes 3,6 --entries 30 --seed 4 --json").json(0);
    let (algorithms, sizes, workloads) = (2, 2, 6);
    assert_eq!(rows(&report).len(), algorithms * sizes * workloads);
    for row in rows(&report) {
        let alone = run(&format!("{} --json", row["command"].as_str().unwrap())).json(0);
        assert_eq!(alone["messages"]["busiest_share"], row["busiest_share"]);
        assert_eq!(alone["mutex"]["overtaken_max"], row["overtaken_max"]);
        assert_eq!(alone["mutex"]["sync_delay"]["mean"], row["sync_delay"]);
    }
}

/// A faulty variant fails in the simulator and in real processes. The report gives a command that
/// repeats each failure.
#[test]
fn failures_are_reported_with_a_command() {
    let printed =
        run("compare mutex --algorithms toy-forgetful --nodes 3 --entries 300 --workload all --real").exits(1);
    let commands: Vec<_> = printed.lines().filter_map(|line| line.strip_prefix("To see it: ")).collect();
    let [simulated, real] = commands[..] else { panic!("{printed}") };
    for kind in ["simulated", "real"] {
        assert!(
            printed.contains(&format!("toy-forgetful with 3 nodes, all request, {kind}: 'exclusion' fails: at ")),
            "{printed}"
        );
    }
    assert!(run(simulated).exits(1).contains("FAILS"));
    assert!(run(real).exits(1).contains("FAILS"));
    let journal = real.split_whitespace().find(|word| word.ends_with(".journal")).unwrap();
    fs::remove_file(journal).unwrap();
}

/// Faulty variants and toys have no expected figures, so only their properties are judged. The text
/// report shows only the first five failures.
#[test]
fn a_comparison_of_faulty_variants_fails() {
    let line = "compare mutex --algorithms ricart-agrawala-clock-only,toy-ordered --nodes 3-9 --workload all";
    let printed = run(line).exits(1);
    assert_eq!(printed.matches("To see it: ").count(), 5, "{printed}");
    assert!(printed.contains("\n7 runs have problems in total; --json lists all of them."), "{printed}");
    let report = run(&format!("{line} --json")).json(1);
    assert_eq!((&report["holds"], &report["exact"], &report["complete"]), (&json!(false), &json!(true), &json!(true)));
    for row in rows(&report) {
        let is_correct = row["algorithm"] == "toy-ordered";
        assert_eq!((&row["holds"], &row["exact"]), (&json!(is_correct), &Value::Null), "{row}");
        assert_eq!(row["breaches"].as_array().unwrap().is_empty(), is_correct, "{row}");
    }
}

#[test]
fn invalid_options_are_reported_before_any_run() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        "compare central",
        "compare replica",
        "compare mutx",
        "compare xyzzy",
        "compare mutex --nodes 1",
        "compare mutex --nodes 2,x",
        "compare mutex --nodes -3",
        "compare mutex --nodes 1001",
        "compare mutex --nodes 2,65 --real",
        "compare mutex --algorithms raft",
        "compare mutex --algorithms centrel",
        "compare mutex --algorithms central,central",
        "compare mutex --entries 0",
        "compare mutex --workload",
        "compare mutex --workload rando",
        "compare mutex --workload random:0%",
        "compare mutex --workload random:200%",
        "compare mutex --workload all,random:50%,random",
        "compare mutex --failures --nodes 2",
        "compare mutex --failures --real",
        "compare mutex --failures --workload all",
        "compare mutex --failures --svg x.svg",
        "compare mutex --failures --algorithms centrel",
        "compare mutex --svg no/such/folder.svg",
        "compare mutex --svg .",
        "compare mutex --svg - --json",
        "compare mutex --theme dark",
        "compare mutex --theme grey --svg x.svg",
    ];
    let printed = lines.iter().map(|line| format!("$ quorate {line}\n{}", run_in(folder.path(), line).error()));
    expect![[r#"
        $ quorate compare central
        error: 'central' is an algorithm; expected a family. Use 'quorate compare mutex --algorithms central'.
        $ quorate compare replica
        error: the replica family has no comparison yet. Use 'quorate compare mutex', 'quorate compare election' or 'quorate compare multicast'.
        $ quorate compare mutx
        error: there is no family 'mutx'. Did you mean 'mutex'? Use 'quorate compare mutex', 'quorate compare election' or 'quorate compare multicast'.
        $ quorate compare xyzzy
        error: there is no family 'xyzzy'. Use 'quorate compare mutex', 'quorate compare election' or 'quorate compare multicast'.
        $ quorate compare mutex --nodes 1
        error: --nodes: groups must have at least 2 nodes, because a single node sends no messages; got 1.
        $ quorate compare mutex --nodes 2,x
        error: --nodes: '2,x' is not a list of group sizes; write for example 2,4,8 or 2-16.
        $ quorate compare mutex --nodes -3
        error: --nodes: '-3' is not a list of group sizes; write for example 2,4,8 or 2-16.
        $ quorate compare mutex --nodes 1001
        error: --nodes: groups must have at most 1000 nodes; got 1001.
        $ quorate compare mutex --nodes 2,65 --real
        error: --nodes must be at most 64 with --real, which starts a process per node; got 65. Without --real, larger groups are simulated.
        $ quorate compare mutex --algorithms raft
        error: 'raft' is of the election family; this command needs an algorithm of the mutex family. 'quorate list' shows the family of each.
        $ quorate compare mutex --algorithms centrel
        error: there is no algorithm 'centrel'. Did you mean 'central'? 'quorate list' shows them all.
        $ quorate compare mutex --algorithms central,central
        error: --algorithms must not contain duplicates; got 'central' twice.
        $ quorate compare mutex --entries 0
        error: --entries must be at least 1; got 0. Use for example --entries 100.
        $ quorate compare mutex --workload
        error: a value is required for '--workload <WORKLOADS>' but none was supplied

        For more information, try '--help'.
        $ quorate compare mutex --workload rando
        error: --workload: 'rando' is not a workload; did you mean 'random'? Workloads are single, pair, random, random:10% and all.
        $ quorate compare mutex --workload random:0%
        error: --workload: the load must be greater than 0%; write for example random:1%.
        $ quorate compare mutex --workload random:200%
        error: --workload: '200%' is invalid: a chance must be between 0 and 1, or between 0% and 100%. A load is the share of the time in which the lock is held: random:10%.
        $ quorate compare mutex --workload all,random:50%,random
        error: --workload must not contain duplicates; got 'random' twice.
        $ quorate compare mutex --failures --nodes 2
        error: --nodes must be at least 3 with --failures, for a holder, a waiter and an idle node; got 2.
        $ quorate compare mutex --failures --real
        error: the argument '--failures' cannot be used with '--real'

        Usage: quorate compare --failures <FAMILY>

        For more information, try '--help'.
        $ quorate compare mutex --failures --workload all
        error: the argument '--failures' cannot be used with '--workload <WORKLOADS>'

        Usage: quorate compare --failures <FAMILY>

        For more information, try '--help'.
        $ quorate compare mutex --failures --svg x.svg
        error: the argument '--failures' cannot be used with '--svg <FILE>'

        Usage: quorate compare --failures <FAMILY>

        For more information, try '--help'.
        $ quorate compare mutex --failures --algorithms centrel
        error: there is no algorithm 'centrel'. Did you mean 'central'? 'quorate list' shows them all.
        $ quorate compare mutex --svg no/such/folder.svg
        error: cannot write the picture no/such/folder.svg: No such file or directory (os error 2).
        $ quorate compare mutex --svg .
        error: cannot write the picture .: Is a directory (os error 21).
        $ quorate compare mutex --svg - --json
        error: --svg - and --json both write to standard output; write the picture to a file.
        $ quorate compare mutex --theme dark
        error: --theme has no effect without an SVG picture; add --svg FILE.
        $ quorate compare mutex --theme grey --svg x.svg
        error: invalid value 'grey' for '--theme <THEME>'
          [possible values: auto, light, dark]

        For more information, try '--help'.
    "#]].assert_eq(&printed.collect::<String>());
    let result = run("compare mutex --tls");
    assert!(result.code == Some(2) && result.err.contains("--real"), "{result:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// The report has the simulated figures but no real ones, and no process keeps running.
#[test]
fn an_interrupted_comparison_reports_its_results_so_far() {
    let words =
        ["compare", "mutex", "--nodes", "3,4", "--entries", "50000", "--workload", "random", "--real", "--json"];
    let mut command = quorate(Path::new("."));
    let child = command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id();
    wait_until("processes begin", || has_nodes(id));
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(3), ""));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [row] = rows(&report) else { panic!("{report}") };
    assert_eq!((&report["complete"], &row["entries"], &row["real"]), (&false.into(), &50_000.into(), &Value::Null));
    assert!(!has_nodes(id));
}

fn elements(svg: &str) -> Vec<Element> {
    xml::parse(svg).unwrap()
}

/// Returns all hover texts, without the title of the whole picture.
fn titles(svg: &str) -> Vec<String> {
    let titles = elements(svg).into_iter().skip(2).filter(|element| element.name == "title");
    titles.map(|title| title.text).collect()
}

/// Returns the hover texts of measured figures. Each of these texts has a number of nodes.
fn figure_titles(svg: &str) -> Vec<String> {
    titles(svg).into_iter().filter(|text| text.contains(" nodes ")).collect()
}

/// --svg does not change the table, and every figure is in its plot.
#[test]
fn a_comparison_is_drawn_beside_its_table() {
    let folder = tempfile::tempdir().unwrap();
    let line = "compare mutex --algorithms central,ricart-agrawala,raymond --nodes 2,4,8 --entries 40 --workload all";
    let table = run(line).exits(0);
    let printed = run_in(folder.path(), &format!("{line} --svg costs.svg")).exits(0);
    assert_eq!(printed, format!("{table}\n  picture: costs.svg\n"));
    let svg = fs::read_to_string(folder.path().join("costs.svg")).unwrap();
    let report = run_in(folder.path(), &format!("{line} --json --svg costs.svg --theme light")).json(0);
    assert_eq!(report, run(&format!("{line} --json")).json(0), "a picture changes the JSON");
    let light = fs::read_to_string(folder.path().join("costs.svg")).unwrap();
    assert!(svg.contains("prefers-color-scheme") && !light.contains("prefers-color-scheme"));
    assert_eq!(run(&format!("{line} --svg -")).exits(0), svg, "the picture on standard output differs");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the command left other files");
    let figure_titles = figure_titles(&svg);
    for row in rows(&report) {
        let (name, nodes) = (row["algorithm"].as_str().unwrap(), &row["nodes"]);
        let count_titles = |text: String| figure_titles.iter().filter(|title| title.starts_with(&text)).count();
        assert_eq!(
            count_titles(format!(
                "{name} · simulated · nodes {nodes} · messages per entry, all request {}",
                row["messages_per_entry"].as_f64().unwrap()
            )),
            1
        );
        let figures = ["client_delay", "sync_delay"].into_iter().filter(|field| row[field].is_number()).count();
        // Messages, overtaking and load always have a figure.
        assert_eq!(count_titles(format!("{name} · simulated · nodes {nodes} · ")), 3 + figures, "{row}");
    }
    assert_eq!(svg.matches("<title>ricart-agrawala · expected · 2(n−1)</title>").count(), 1);
    for text in ["central", "raymond", "3, own 0", "Sync delay", "40 requests a run · seed 1 · T: one message time"] {
        assert!(elements(&svg).iter().any(|element| element.name == "text" && element.text == text), "{text}");
    }
}

/// Real figures are drawn beside simulated ones, but real delays have separate plots.
#[test]
fn real_figures_are_drawn_too() {
    let svg = run("compare mutex --algorithms central --nodes 3 --workload single --entries 5 --real --svg -").exits(0);
    let figure_titles = figure_titles(&svg);
    let real: Vec<_> = figure_titles.iter().filter(|title| title.starts_with("central · real · nodes 3 · ")).collect();
    // Messages, overtaking, load and client delay; without waiters there is no sync delay.
    assert_eq!(real.len(), 4, "{figure_titles:?}");
    assert_eq!(real.iter().filter(|title| title.contains(" ms")).count(), 1, "{real:?}");
    assert!(svg.contains(">Sync delay, real</text>") && svg.contains(">no data</text>"), "{svg}");
}

/// A picture on standard output is the only output there; failures go to standard error.
#[test]
fn failures_are_drawn_and_reported() {
    let line = "compare mutex --algorithms toy-forgetful --nodes 3 --entries 300 --workload all --svg -";
    let result = run(line);
    assert_eq!(result.code, Some(1), "{}", result.err);
    elements(&result.out);
    assert!(
        result.err.contains("toy-forgetful with 3 nodes, all request, simulated: 'exclusion' fails: at "),
        "{}",
        result.err
    );
    assert!(!result.out.contains(" · expected"), "a toy has no expected figures");
}

/// An existing picture is unchanged, and no incomplete file is left.
#[test]
fn an_interrupted_comparison_is_not_drawn() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("costs.svg"), "precious").unwrap();
    let words = "compare mutex --algorithms central,lamport --nodes 3,4 --entries 50000 --workload random --real --svg costs.svg";
    let mut command = quorate(folder.path());
    let child = command.args(words.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id();
    wait_until("processes begin", || has_nodes(id));
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{printed}");
    // Two algorithms, each with two sizes, simulated and real.
    assert!(
        printed.starts_with("No picture was drawn: only 1 of 8 runs completed; costs.svg is unchanged."),
        "{printed}"
    );
    assert_eq!(fs::read_to_string(folder.path().join("costs.svg")).unwrap(), "precious");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// `./fix golden` updates the picture.
#[test]
#[ignore = "long: ./check long"]
fn the_picture_in_the_documentation_is_current() {
    let svg = run("compare mutex --nodes 4,9,16,25,49 --svg -").exits(0);
    expect_file!["../../../../docs/pictures/compare-mutex.svg"].assert_eq(&svg);
}

/// In the picture of the documentation, the figures of small groups equal those measured now.
#[test]
fn the_picture_in_the_documentation_is_current_for_small_groups() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pictures/compare-mutex.svg");
    let small_groups = |svg: &str| -> BTreeSet<_> {
        figure_titles(svg)
            .into_iter()
            .filter(|title| ["4", "9"].iter().any(|nodes| title.contains(&format!(" · nodes {nodes} · "))))
            .collect()
    };
    let now = small_groups(&run("compare mutex --nodes 4,9 --svg -").exits(0));
    assert!(now.len() > 100, "{now:?}");
    assert_eq!(small_groups(&fs::read_to_string(path).unwrap()), now);
}

/// One picture contains all plots of the comparison.
#[test]
fn a_whole_comparison_is_one_picture() {
    let svg = run("compare mutex --algorithms central,token-ring --nodes 3,5,9 --entries 30 --svg -").exits(0);
    let texts: Vec<_> =
        elements(&svg).into_iter().filter(|element| element.name == "text").map(|element| element.text).collect();
    for title in [
        "Messages",
        "Messages, heaviest load",
        "Messages, contended by two",
        "Messages over load",
        "Client delay",
        "Sync delay",
        "Overtaking",
        "Busiest node",
        "messages per entry, 5 nodes",
        "1% load",
        "50% load",
        "all request",
    ] {
        assert!(texts.iter().any(|text| text == title), "{title} is not in {texts:?}");
    }
    let loads: Vec<_> =
        titles(&svg).into_iter().filter(|title| title.starts_with("token-ring · simulated · all request")).collect();
    assert_eq!(loads, ["token-ring · simulated · all request · messages per entry, 5 nodes 1"]);
}
