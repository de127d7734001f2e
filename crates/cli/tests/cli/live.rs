//! `quorate run`: measurements of real processes, scheduled faults, and clean-up.

use crate::run::{quorate, run, run_in};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Waits until a condition holds, for up to a minute.
#[track_caller]
pub(crate) fn wait_until(description: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "{description}: not within a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns the node processes that the run with this process id started. Their command lines
/// contain the name of its group.
fn node_processes(run_pid: u32) -> Vec<Pid> {
    let group = format!("--group=run-{run_pid}-");
    let belongs = |entry: &fs::DirEntry| {
        let command_line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command_line).split('\0').any(|argument| argument.starts_with(&group))
    };
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok).filter(belongs);
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// Returns whether any node process of a run exists.
pub(crate) fn has_nodes(run_pid: u32) -> bool {
    !node_processes(run_pid).is_empty()
}

/// Returns whether a process is suspended by a signal, according to its state in `/proc`.
fn is_stopped(pid: Pid) -> bool {
    let text = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    text.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('T'))
}

fn list_namespaces() -> String {
    let listed = Command::new("ip").args(["netns", "list"]).output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8(listed).unwrap()
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Starts a run that only a signal ends, and waits until its clients have started.
fn start_endless_run(folder: &Path) -> Child {
    let arguments = ["run", "central", "--entries", "100000000", "--keep", "kept", "--json"];
    let child = quorate(folder).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // `quorate run` creates this journal when the clients start.
    let journal = folder.join("kept/world.journal");
    wait_until("clients start", || journal.exists());
    assert!(has_nodes(child.id()));
    child
}

/// Returns the names of the properties that fail or are undecided.
fn failing_or_undecided_properties(report: &Value) -> Vec<&str> {
    let properties = report["properties"].as_array().unwrap().iter();
    properties.filter(|property| property["holds"] != true).filter_map(|property| property["name"].as_str()).collect()
}

#[test]
fn message_counts_over_tcp_match_the_literature() {
    // ricart-agrawala sends 2(n−1) messages per entry; central sends 3, and none for the entries of
    // its coordinator, node 1.
    for (line, expected) in [
        ("run ricart-agrawala --nodes 2 --entries 20", 2.0),
        ("run ricart-agrawala --nodes 5 --entries 20 --workload all", 8.0),
        ("run ricart-agrawala --nodes 3 --entries 20 --tls", 4.0),
        ("run central --nodes 3 --requesters 2,3 --entries 20", 3.0),
        ("run central --nodes 3 --requesters 1 --entries 20", 0.0),
    ] {
        let report = run(&format!("{line} --json")).json(0);
        assert_eq!(report["mutex"]["messages_per_entry"], expected, "{line}");
        assert_eq!((&report["ending"], &report["mutex"]["entries"]), (&"done".into(), &20.into()), "{line}");
        assert_eq!(report["run"]["processes"], report["nodes"], "{line}");
        assert_eq!(report["links"], if line.contains("--tls") { "tls" } else { "tcp" }, "{line}");
        assert!(report["run"]["warnings"].as_array().unwrap().is_empty(), "{line}: {report}");
    }
}

#[test]
fn the_delay_of_a_single_client_is_measured() {
    let report = run("run ricart-agrawala --nodes 3 --workload single --entries 5 --json").json(0);
    let delay = &report["mutex"]["client_delay"];
    assert_eq!((&delay["samples"], &report["mutex"]["delay_unit"]), (&5.into(), &"ms".into()));
    assert!(delay["mean"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_journal_from_real_processes_replays() {
    let folder = tempfile::tempdir().unwrap();
    let report = run_in(folder.path(), "run ricart-agrawala --entries 15 --trace run.journal --json").json(0);
    let replayed = run_in(folder.path(), "replay run.journal --json").json(0);
    let read = run_in(folder.path(), "trace run.journal --summary --json").json(0);
    assert_eq!(replayed["identical"], true);
    for field in ["messages", "mutex"] {
        assert_eq!((&replayed[field], &read[field]), (&report[field], &report[field]), "{field}");
    }
    assert_eq!(replayed["properties"], read["properties"]);
    // Only the run itself judges the links.
    let mut properties = report["properties"].as_array().unwrap().clone();
    let links = properties.pop().unwrap();
    assert_eq!((&links["name"], &links["holds"]), (&"links".into(), &true.into()));
    assert_eq!(read["properties"].as_array().unwrap(), &properties);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "other files were left");
}

#[test]
fn replicas_survive_a_kill_and_a_stop() {
    let folder = tempfile::tempdir().unwrap();
    let line = "run replica --operations 30 --kill 2@100ms..300ms --stop 3@350ms..500ms --trace run.journal --json";
    let report = run_in(folder.path(), line).json(0);
    assert_eq!((&report["replica"]["answered"], &report["ending"]), (&30.into(), &"done".into()));
    let [kills, stops, processes] = ["kills", "stops", "processes"].map(|field| &report["run"][field]);
    // Three nodes, one of which was restarted in a new process.
    assert_eq!((kills, stops, processes), (&1.into(), &1.into(), &4.into()));
    run_in(folder.path(), "replay run.journal").exits(0);
    let journal = fs::read_to_string(folder.path().join("run.journal")).unwrap();
    for record in
        [r#""world":{"crashed":{"node":2"#, r#""world":{"paused":{"node":3"#, r#""world":{"resumed":{"node":3"#]
    {
        assert_eq!(journal.matches(record).count(), 1, "{record}");
    }
}

/// `central` does not replace a crashed coordinator.
#[test]
fn the_other_nodes_are_blocked_when_the_coordinator_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let line = "run central --entries 100000 --kill 1@50ms --idle-timeout 1s --trace run.journal";
    let printed = run_in(folder.path(), line).exits(1);
    assert!(printed.contains("blocked after ") && printed.contains("at the end: node 1 is down"), "{printed}");
    assert!(printed.contains("served                  FAILS"), "{printed}");
    assert!(printed.contains("quorate replay run.journal --steps"), "{printed}");
    run_in(folder.path(), "replay run.journal").exits(1);
}

#[test]
fn a_run_that_reaches_its_limit_is_reported_as_stopped() {
    let report = run("run central --entries 100000000 --until 300ms --json").json(3);
    assert_eq!(report["ending"], "stopped");
    assert!(failing_or_undecided_properties(&report).iter().all(|name| *name == "served"), "{report}");
}

/// The journal of a failing run is kept even without --trace.
#[test]
fn a_faulty_algorithm_fails_and_its_journal_is_kept() {
    let printed = run("run toy-forgetful --entries 300 --workload all").exits(1);
    assert!(printed.contains("exclusion               FAILS"), "{printed}");
    let command = printed.lines().find_map(|line| line.strip_prefix("To see what every process did: ")).unwrap();
    let file = command.split_whitespace().find(|word| word.ends_with(".journal")).unwrap().to_owned();
    assert!(run(command).exits(1).contains("replayed, all as recorded"));
    fs::remove_file(file).unwrap();
}

#[test]
fn an_interrupted_run_reports_and_leaves_no_process() {
    for signal_kind in [Signal::INT, Signal::TERM] {
        let folder = tempfile::tempdir().unwrap();
        let child = start_endless_run(folder.path());
        let pid = child.id();
        signal(&child, signal_kind);
        let output = child.wait_with_output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.status.code(), &report["run"]["interrupted"]), (Some(3), &true.into()));
        assert!(!has_nodes(pid));
    }
}

/// An interrupt during start-up is not an error: the exit code says that the run is unfinished.
#[test]
fn a_run_interrupted_during_start_up_is_unfinished() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["run", "central", "--nodes", "30", "--entries", "100000000", "--keep", "kept"];
    let child = quorate(folder.path()).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (pid, log) = (child.id(), folder.path().join("kept/node-1-life-0.log"));
    wait_until("the first process is started", || log.exists());
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{printed}");
    // On a fast machine all processes may already be ready.
    assert!(printed.starts_with("The run was interrupted before all processes were ready") == output.stdout.is_empty());
    assert!(!has_nodes(pid));
}

/// Ctrl-C in a terminal signals the whole process group, including the `ip` commands that set up
/// the network namespaces.
#[test]
fn namespaces_are_removed_if_interrupted_during_set_up() {
    let mut command = quorate(Path::new("."));
    command.args(["run", "central", "--nodes", "40", "--entries", "100000000", "--namespaces"]).process_group(0);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let prefix = format!("quorate-{}-", child.id());
    let exists = || list_namespaces().contains(&prefix);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !exists() && child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "no network within a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let is_running = child.try_wait().unwrap().is_none();
    if is_running {
        kill_process_group(group, Signal::INT).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    if is_running && output.status.code() != Some(2) {
        assert_eq!(output.status.code(), Some(3), "{printed}");
        assert!(printed.starts_with("The run was interrupted before all processes were ready"), "{printed}");
    } else {
        assert!(printed.contains("--namespaces needs root, the program ip"), "{printed}");
    }
    assert!(!exists(), "namespaces were left");
}

/// A run cannot be repeated exactly, so its files are kept if the journal cannot be written.
#[test]
fn a_journal_that_cannot_be_written_is_kept_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("occupied")).unwrap();
    let printed = run_in(folder.path(), "run central --entries 5 --trace occupied").error();
    assert!(printed.contains("cannot write the run's journal to occupied: "), "{printed}");
    let (_, kept) = printed.trim_end().split_once("The journals and logs of all processes are kept in ").unwrap();
    let kept = Path::new(kept.trim_end_matches('.'));
    run_in(kept, "replay run.journal").exits(0);
    assert!(kept.join("node-1-life-0.journal").exists() && kept.join("world.journal").exists());
    assert_eq!(fs::read_dir(folder.path().join("occupied")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "other files were left");
    fs::remove_dir_all(kept).unwrap();
}

/// A killed parent cannot stop its node processes, so each of them must end when the parent does,
/// even one that is suspended.
#[test]
fn no_node_outlives_a_killed_parent() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start_endless_run(folder.path());
    let pid = child.id();
    let stopped = node_processes(pid)[0];
    kill_process(stopped, Signal::STOP).unwrap();
    wait_until("a process is stopped", || is_stopped(stopped));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("all processes are gone", || !has_nodes(pid));
}

#[test]
fn chaos_is_announced_and_survived() {
    let line = "run replica --chaos --for 2s --seed 3";
    let printed = run(line).exits(0);
    let mut lines = printed.lines();
    assert!(lines.next().unwrap().starts_with("Planned with seed 3: "), "{printed}");
    assert!(printed.contains("  --kill "), "{printed}");
    // `--for 2s` is printed as the number of operations that the clients send in this time.
    let reproduction = "quorate run replica --nodes 3 --seed 3 --operations 60 --chaos";
    assert!(printed.contains(reproduction), "{printed}");
    assert!(!printed.contains("still to come"), "not all planned faults happened: {printed}");
}

#[test]
fn invalid_options_are_reported_before_any_process_starts() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("full")).unwrap();
    fs::write(folder.path().join("full/precious"), "mine").unwrap();
    for (line, expected) in [
        ("run central --kill 9@1s", "--kill: '9@1s' names node 9, but there are only nodes 1 to 3"),
        ("run central --kill 2", "--kill: '2' has no time; write for example 2@1s"),
        ("run central --stop 2@3s..1s", "'2@3s..1s' ends before it begins; write 2@1s..3s."),
        ("run central --stop 2@3s..3s", "'2@3s..3s' ends when it begins; write for example 3@2s..4s."),
        ("run central --kill 2@1s..3s --stop 2@2s..4s", "two faults of node 2 overlap"),
        ("run central --for 2s", "--for applies to replicated logs"),
        ("run central --keep full", "--keep needs a new or empty folder; full is not empty. No process was started."),
        ("run central --starters all", "--starters does not apply to 'central'"),
        ("run central --nodes 251", "--nodes must be at most 250 for real processes on one machine; got 251"),
        ("run centrel", "Did you mean 'central'?"),
    ] {
        let printed = run_in(folder.path(), line).error();
        assert!(printed.contains(expected), "{line}: {printed}");
    }
    for line in ["run central --loss 0.1", "run central --cut '1 | 2 @ 1s'", "run replica --for 1s --operations 3"] {
        let error = run_in(folder.path(), line);
        assert_eq!((error.code, error.out.as_str()), (Some(2), ""), "{line}");
        assert!(error.err.starts_with("error: ") && !error.err.contains("panicked"), "{}", error.err);
    }
    assert_eq!(fs::read_to_string(folder.path().join("full/precious")).unwrap(), "mine");
}

/// Network namespaces need root and the program `ip`. Without these the command reports an error.
#[test]
fn a_partition_heals_and_namespaces_are_removed() {
    let line =
        "run replica --operations 30 --namespaces --cut '1 | rest @ 100ms..500ms' --cut '2 > 3 @ 400ms..700ms' --json";
    let child = quorate(Path::new("."))
        .args(crate::run::split_words(line))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.unwrap();
    let prefix = format!("quorate-{}-", child.id());
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    if output.status.code() == Some(2) {
        assert!(printed.contains("--namespaces needs root, the program ip"), "{printed}");
    } else {
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.status.code(), &report["run"]["cuts"]), (Some(0), &2.into()), "{printed}");
        assert_eq!(report["replica"]["answered"], 30);
    }
    assert!(!list_namespaces().contains(&prefix), "namespaces were left");
}

/// Returns the indices of the lines that record the arrival of a message from node 1.
fn arrivals_from_node_1(lines: &[String]) -> Vec<usize> {
    let arrives = |line: &String| line.contains(r#""input":{"message":{"id":"1."#);
    (0..lines.len()).filter(|index| arrives(&lines[*index])).collect()
}

/// The algorithm tolerates lost and reordered messages, so only a comparison of the journals
/// reveals them.
#[test]
fn a_link_that_loses_or_reorders_messages_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    let report = run_in(folder.path(), "run raft --keep kept --json").json(0);
    for name in ["links", "disks"] {
        let verdict = report["properties"].as_array().unwrap().iter().find(|property| property["name"] == name);
        assert_eq!(verdict.unwrap()["holds"], true, "{report}");
    }
    let file = folder.path().join("kept/node-2-life-0.journal");
    let original: Vec<String> = fs::read_to_string(&file).unwrap().lines().map(str::to_owned).collect();
    let record_command = "record kept/node-1-life-0.journal kept/node-2-life-0.journal kept/node-3-life-0.journal \
                  kept/world.journal --out again.journal";
    let found = run_in(folder.path(), &format!("{record_command} --json")).json(0);
    assert_eq!(
        (&found["skipped"], &found["forgotten"], &found["warnings"]),
        (&0.into(), &0.into(), &Value::Array(vec![]))
    );

    let arrivals = arrivals_from_node_1(&original);
    // Replace the arrival of one message by a completed save, as if the link had lost the message.
    let [earlier, later] = [arrivals[arrivals.len() / 2 - 1], arrivals[arrivals.len() / 2]];
    let mut lines = original.clone();
    let (before, rest) = lines[earlier].split_once(r#"{"message":"#).unwrap();
    let (_, after) = rest.split_once("}}").unwrap();
    lines[earlier] = format!(r#"{before}{{"saved":0}}{after}"#);
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    let printed = run_in(folder.path(), record_command).exits(0);
    assert!(printed.contains("messages skipped                   1"), "{printed}");
    assert!(printed.contains("warning: A link lost messages while both its nodes were up: message 1."), "{printed}");

    // Exchange the ids of two arrivals, as if the link had reordered the messages.
    let id = |line: &str| line.split_once(r#""id":""#).unwrap().1.split_once('"').unwrap().0.to_owned();
    let [first, second] = [id(&original[earlier]), id(&original[later])];
    lines = original.clone();
    lines[earlier] = lines[earlier].replacen(&first, &second, 1);
    lines[later] = lines[later].replacen(&second, &first, 1);
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    let printed = run_in(folder.path(), record_command).error();
    let expected =
        format!("line {}: message {first} of incarnation 0 arrives after {second}, which was sent later", later + 1);
    assert!(printed.contains(&expected) && printed.contains("links keep the order of messages"), "{printed}");
}

/// The folder has the journals, logs and data of all processes, and the planned faults.
#[test]
fn keep_preserves_all_files() {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), "run raft --kill 1@100ms..300ms --keep kept").exits(0);
    let kept = |name: &str| folder.path().join("kept").join(name).exists();
    for name in ["node-1-life-0.journal", "node-2-life-0.log", "node-3", "world.journal", "run.journal"] {
        assert!(kept(name), "{name}");
    }
    let header = fs::File::open(folder.path().join("kept/world.journal")).unwrap();
    let first = BufReader::new(header).lines().next().unwrap().unwrap();
    assert!(first.contains("crash 1 at 100ms for 200ms"), "{first}");
}
