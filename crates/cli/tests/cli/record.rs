//! `quorate record`: merges journals of nodes.

use crate::run::{Run, run_in};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::Command;
use tempfile::TempDir;

/// A folder with the journal of a simulated run, `truth.journal`, and with `n1.journal` to
/// `n3.journal`, which its nodes would have written as processes, on one machine or on three.
struct NodeJournals(TempDir);

impl NodeJournals {
    /// Nodes on one machine have the same clock.
    fn on_one_machine() -> Self {
        Self::new(0)
    }

    /// The clock of each node is one second ahead of that of the node before it.
    fn on_separate_machines() -> Self {
        Self::new(1_000_000_000)
    }

    fn new(clock_difference_ns: i64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        run_in(folder.path(), "sim ricart-agrawala --nodes 3 --entries 9 --seed 5 --trace truth.journal").exits(0);
        let truth = fs::read_to_string(folder.path().join("truth.journal")).unwrap();
        for node in 1..=3_i64 {
            let ahead = node * clock_difference_ns;
            let name = format!("n{node}.journal");
            fs::write(folder.path().join(name), node_journal(&truth, node, ahead)).unwrap();
        }
        Self(folder)
    }

    fn run(&self, line: &str) -> Run {
        run_in(self.0.path(), line)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.0.path().join(name), text).unwrap();
    }
}

/// Returns the journal of one node whose clock is `ahead` nanoseconds ahead of the times in
/// `truth`; 0 if all nodes run on one machine.
fn node_journal(truth: &str, node: i64, ahead: i64) -> String {
    let mut lines = truth.lines();
    let mut header: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let boot = if ahead == 0 { "one".into() } else { format!("boot {node}") };
    // The journal's time plus `offset` is the wall-clock time; the time `origin` is displayed as 0.
    header["live"] = json!({ "node": node, "incarnation": 0, "boot": boot, "offset": -ahead, "writes": 0 });
    header["origin"] = ahead.into();
    let mut text = format!("{header}\n");
    let mut last_time = 0;
    for line in lines {
        let step: Value = serde_json::from_str(line).unwrap();
        // The end mark of the journal has no time.
        let Some(time) = step["time"].as_i64() else { break };
        last_time = time;
        if step["node"] == node {
            // In a step, `clock` is the node's own time if it differs from `time`.
            let clock = if ahead == 0 { String::new() } else { format!("\"clock\":{time},") };
            let (_, rest) = line.split_once("\"input\"").unwrap();
            text += &format!("{{\"time\":{},\"node\":{node},{clock}\"input\"{rest}\n", time + ahead);
        }
    }
    // The node stops 1 ms after the last step.
    let end = last_time + 1_000_000;
    text + &format!("{{\"time\":{},\"world\":{{\"ended\":{{\"node\":{node}}}}}}}\n", end + ahead)
}

const RECORD_COMMAND: &str = "record n1.journal n2.journal n3.journal --out run.journal";

#[test]
fn a_merged_journal_is_summarized_and_readable() {
    let journals = NodeJournals::on_one_machine();
    let printed = journals.run(RECORD_COMMAND).exits(0);
    for part in [
        "3 nodes · 3 incarnations · one machine, one clock",
        "messages lost                      0",
        "quorate trace run.journal",
    ] {
        assert!(printed.contains(part), "{printed}");
    }
    let found = journals.run(&format!("{RECORD_COMMAND} --json")).json(0);
    let truth = journals.run("trace truth.journal --summary --json").json(0);
    assert_eq!(found["matched"], truth["messages"]["total"]);
    assert_eq!((&found["torn"], &found["warnings"], &found["ended"]), (&json!([]), &json!([]), &json!(3)));
    let mut read = journals.run("trace run.journal --summary --json").json(0);
    assert_eq!(read["recorded"], true);
    // Only these two fields differ from the summary of the simulated run.
    read.as_object_mut().unwrap().remove("recorded");
    read["lines"] = truth["lines"].clone();
    assert_eq!(read, truth);
    assert!(journals.run("trace run.journal --summary").exits(0).contains("recorded from real processes"));
    assert!(journals.run("replay run.journal").exits(0).contains("all as recorded"));
    let traced = journals.run("trace run.journal --clocks").exits(0);
    assert!(traced.contains("node 3 shuts down"), "{traced}");
    // With --clocks, the line of a step ends with its vector clock, such as [2 0 1].
    let steps = |text: &str| text.lines().filter(|line| line.ends_with(']')).map(str::to_owned).collect::<Vec<_>>();
    assert!(steps(&traced).len() > 20, "{traced}");
    assert_eq!(steps(&traced), steps(&journals.run("trace truth.journal --clocks").exits(0)));
    assert!(!journals.0.path().join("run.journal.part").exists());
}

/// Printed times start at 0, even if the clocks do not.
#[test]
fn times_of_several_machines_start_at_zero() {
    let journals = NodeJournals::on_separate_machines();
    assert!(journals.run(RECORD_COMMAND).exits(0).contains("3 machines or boots"));
    let steps = |line: &str| {
        let text = journals.run(line).exits(0);
        text.lines().filter(|line| !line.contains("shuts down")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(steps("trace run.journal"), steps("trace truth.journal"));
    journals.run("replay run.journal").exits(0);
}

#[test]
fn the_journal_of_one_incarnation_can_be_traced_but_not_judged() {
    let journals = NodeJournals::on_separate_machines();
    let shown = journals.run("trace n2.journal").exits(0);
    // Only traces of simulated runs show the clock of a node, beside the true time.
    assert!(shown.contains("request from") && !shown.contains("its clock"), "{shown}");
    for line in ["replay n2.journal", "trace n2.journal --summary"] {
        assert!(journals.run(line).error().contains("quorate record"));
    }
}

#[test]
fn an_incomplete_last_line_is_reported() {
    let journals = NodeJournals::on_one_machine();
    let text = journals.read("n2.journal");
    journals.write("n2.journal", &text[..text.len() - 9]);
    let printed = journals.run(RECORD_COMMAND).exits(0);
    assert!(printed.contains("torn: the last line of n2.journal is incomplete and was ignored."), "{printed}");
    journals.run("replay run.journal").exits(0);
}

#[test]
fn inconsistent_journals_are_rejected_and_no_file_is_left() {
    let journals = NodeJournals::on_one_machine();
    journals.write("garbage", "no journal at all\n");
    let of_group =
        |name: &str| journals.read("n3.journal").replacen("\"boot\"", &format!("\"group\":\"{name}\",\"boot\""), 1);
    journals.write("stranger.journal", of_group("strangers"));
    journals.write("other.journal", journals.read("n3.journal").replace("\"seed\":5", "\"seed\":6"));
    let text = journals.read("n3.journal");
    let half: String = text.lines().take(4).map(|line| format!("{line}\n")).collect();
    journals.write("half.journal", half);
    let cases = [
        ("record n1.journal n2.journal --out run.journal", "no journal of node 3 is among these files"),
        ("record n1.journal n2.journal garbage --out run.journal", "in garbage: this is not a journal"),
        (
            "record n1.journal n2.journal other.journal --out run.journal",
            "other.journal and n1.journal belong to different runs: its seed is 6, not 5.",
        ),
        ("record n1.journal n2.journal stranger.journal --out run.journal", "its group is 'strangers', not absent"),
        (
            "record n1.journal n2.journal half.journal --out run.journal",
            "but half.journal ends before that message was sent",
        ),
        (
            "record n1.journal n2.journal n3.journal n1.journal --out run.journal",
            "both journals of incarnation 0 of node 1",
        ),
        ("record n1.journal n2.journal absent --out run.journal", "cannot open the journal absent"),
        ("record truth.journal --out run.journal", "the journal of a whole run"),
        ("record n1.journal n2.journal n3.journal --out n3.journal", "give it another file name"),
        ("record n1.journal n2.journal n3.journal --out no/such/folder", "cannot write the journal"),
    ];
    for (line, expected) in cases {
        let error = journals.run(line).error();
        assert!(error.contains(expected), "{line}: {error}");
        assert!(
            !journals.0.path().join("run.journal").exists() && !journals.0.path().join("run.journal.part").exists()
        );
    }
    assert_eq!(text, journals.read("n3.journal"));
}

/// The command writes to a pipe, and follows a link instead of replacing it.
#[test]
fn pipes_and_links_are_written_to_and_not_replaced() {
    let journals = NodeJournals::on_one_machine();
    journals.run(RECORD_COMMAND).exits(0);
    let expected = journals.read("run.journal");
    let at = |name: &str| journals.0.path().join(name);
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    let pipe = at("pipe");
    let reader = std::thread::spawn(move || fs::read_to_string(pipe).unwrap());
    journals.run("record n1.journal n2.journal n3.journal --out pipe").exits(0);
    assert_eq!(reader.join().unwrap(), expected);
    assert!(fs::symlink_metadata(at("pipe")).unwrap().file_type().is_fifo());

    fs::create_dir(at("elsewhere")).unwrap();
    symlink("elsewhere/target.journal", at("link")).unwrap();
    journals.write("elsewhere/target.journal", "old");
    journals.run("record n1.journal n2.journal --out link").error();
    assert_eq!(journals.read("elsewhere/target.journal"), "old");
    journals.run("record n1.journal n2.journal n3.journal --out link").exits(0);
    assert!(at("link").is_symlink());
    assert_eq!(journals.read("elsewhere/target.journal"), expected);
    assert_eq!(fs::read_dir(at("elsewhere")).unwrap().count(), 1, "other files were left");
}

/// Journals of two runs of the same command have the same settings, but their times do not match.
#[test]
fn journals_of_two_runs_cause_a_warning() {
    let journals = NodeJournals::on_one_machine();
    // Makes a step 1,000 s earlier.
    let move_earlier = |line: &str| {
        let (before, rest) = line.split_once("\"time\":").unwrap();
        let (time, after) = rest.split_once(',').unwrap();
        format!("{before}\"time\":{},{after}\n", time.parse::<i64>().unwrap() - 1_000_000_000_000)
    };
    let text = journals.read("n2.journal");
    let (header, steps) = text.split_once('\n').unwrap();
    journals.write("n2.journal", format!("{header}\n{}", steps.lines().map(move_earlier).collect::<String>()));
    let found = journals.run(&format!("{RECORD_COMMAND} --json")).json(0);
    assert!(found["raised"].as_u64().unwrap() > 1 && found["boots"] == 1, "{found}");
    let printed = journals.run(RECORD_COMMAND).exits(0);
    assert!(
        printed.contains("warning: All journals come from one machine with one clock, but by that clock a message arrived before it was sent"),
        "{printed}"
    );
    assert!(printed.contains("the files may belong to different runs.") && !printed.contains("were slow"), "{printed}");
}
