//! `quorate bench replica`, `fail-over` and `members`, whose servers are processes: figures,
//! acknowledged requests, and clean-up.

use crate::json::shape;
use crate::live::{signal, wait_until};
use crate::run::{quorate, run};
use expect_test::expect;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::process::Stdio;

/// Runs a benchmark and returns its report, whose verdict the exit code must match.
fn report_of(line: &str) -> Value {
    let result = run(&format!("{line} --json"));
    let code = result.code;
    let report = result.json(code.unwrap_or_default());
    assert_eq!(code, Some(if report["holds"] == true { 0 } else { 1 }), "{report}");
    report
}

/// Whether a process exists whose command line names this folder.
fn has_servers(folder: &str) -> bool {
    let is_server = |entry: fs::DirEntry| {
        let command_line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command_line = String::from_utf8_lossy(&command_line);
        command_line.contains("bench-server") && command_line.contains(folder)
    };
    fs::read_dir("/proc").unwrap().filter_map(Result::ok).any(is_server)
}

#[test]
fn what_a_killed_leader_has_acknowledged_is_found() {
    let report = report_of("bench fail-over --rounds 2 --rest 100ms --clients 4");
    assert_eq!((&report["lost"], report["failed"].as_array().unwrap().len()), (&0.into(), 0), "{report}");
    assert!(report["acknowledged"].as_u64().unwrap() > 0);
    let rounds = report["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2);
    assert!(rounds.iter().all(|round| round["leader"] != round["new_leader"]), "{report}");
    let [median, worst] = ["median_ms", "worst_ms"].map(|field| report[field].as_f64().unwrap());
    assert_eq!(report["holds"], median <= 200.0 && worst <= 450.0, "{report}");
    expect![[r#"
        acknowledged: integer
        clients: integer
        fault: string
        holds: bool
        lost: integer
        median_ms: float
        rest_ms: float
        rounds[].election_ms: float
        rounds[].leader: integer
        rounds[].new_leader: integer
        rounds[].round: integer
        rounds[].service_ms: float
        worst_ms: float
    "#]]
    .assert_eq(&shape(&report));
}

#[test]
fn a_paused_leader_is_replaced() {
    let printed = run("bench fail-over --fault stop --rounds 1 --rest 0s --clients 2").out;
    for part in
        ["SIGSTOP pauses the leader's process", "in service", "(at most 1000 ms)", " acknowledged, 0 of them lost"]
    {
        assert!(printed.contains(part), "no '{part}' in:\n{printed}");
    }
}

/// Network namespaces need root and the program `ip`. Without these the command reports an error.
#[test]
fn a_leader_that_is_cut_off_is_replaced() {
    let result = run("bench fail-over --fault cut --rounds 1 --rest 0s --clients 2 --json");
    if result.code == Some(2) {
        assert!(result.err.contains("--fault cut needs Linux, root, the program ip"), "{}", result.err);
    } else {
        let code = result.code;
        let report = result.json(code.unwrap_or_default());
        assert_eq!((&report["fault"], &report["lost"]), (&"cut".into(), &0.into()), "{report}");
        assert_ne!(report["rounds"][0]["leader"], report["rounds"][0]["new_leader"]);
    }
}

#[test]
fn no_request_fails_while_members_change() {
    let report = report_of("bench members --clients 4");
    assert_eq!(report["holds"], true, "{report}");
    let steps = report["steps"].as_array().unwrap();
    assert!(steps.len() == 5 && steps.iter().all(|step| step["answered"].as_u64().unwrap() > 0), "{report}");
    expect![[r#"
        acknowledged: integer
        clients: integer
        holds: bool
        longest_pause_ms: float
        lost: integer
        moves: integer
        steps[].answered: integer
        steps[].duration_ms: float
        steps[].longest_pause_ms: float
        steps[].step: string
    "#]]
    .assert_eq(&shape(&report));
}

#[test]
fn requests_messages_and_syncs_are_counted() {
    let report = report_of("bench replica --in-flight 2 --runs 1");
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["security"].as_str().unwrap()).collect::<Vec<_>>(), ["plain", "TLS"]);
    for row in rows {
        let figure = |name: &str| row[name].as_f64().unwrap();
        // A follower answers what the leader appends to its log.
        assert!(figure("messages_per_entry") >= 3.9, "{row}");
        let by_kind = row["messages_per_entry_by_kind"].as_object().unwrap();
        let sum: f64 = by_kind.values().map(|messages| messages.as_f64().unwrap()).sum();
        assert!(
            (sum - figure("messages_per_entry")).abs() < 0.5,
            "sent {}, received {sum}",
            figure("messages_per_entry")
        );
        assert!((1.0..=2.0).contains(&figure("requests_per_entry")) && figure("syncs_per_entry") > 0.3, "{row}");
        assert!(figure("p50_us") <= figure("p99_us") && figure("leader_us_per_request") > 0.0, "{row}");
    }
}

/// The servers end, and the folder is removed.
#[test]
fn an_interrupted_benchmark_leaves_nothing_behind() {
    assert_leaves_nothing_behind("bench fail-over --rest 1000s --folder .", "server-3/identity");
    assert_leaves_nothing_behind("bench replica --in-process --runs 1000 --folder .", "raw-1-0");
}

/// Interrupts a benchmark once it has this file in its folder.
fn assert_leaves_nothing_behind(command: &str, file: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut command_line = quorate(folder.path());
    command_line.args(command.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command_line.spawn().unwrap();
    let data = folder.path().join(format!("quorate-bench-{}", child.id()));
    wait_until("a server saves", || data.join(file).exists());
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
        (Some(3), "Interrupted: there is no result.\n")
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "files were left");
    assert!(!has_servers(&data.file_name().unwrap().to_string_lossy()));
}
