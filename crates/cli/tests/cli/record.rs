//! Journals of real nodes, gathered by hand.

use crate::run::{Run, run_in};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::Command;
use tempfile::TempDir;

/// A folder with a run's journal and with what its nodes would have written, each on a machine of its own if wanted.
struct Lives(TempDir);

impl Lives {
    fn new(own_machines: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        run_in(folder.path(), "sim ricart-agrawala --nodes 3 --entries 9 --seed 5 --trace truth.journal").ok(0);
        let truth = fs::read_to_string(folder.path().join("truth.journal")).unwrap();
        for node in 1..=3_i64 {
            let ahead = if own_machines { node * 1_000_000_000 } else { 0 };
            let name = format!("n{node}.journal");
            fs::write(folder.path().join(name), life(&truth, node, ahead)).unwrap();
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

/// What one node wrote, whose clock is so much ahead of the others'.
fn life(truth: &str, node: i64, ahead: i64) -> String {
    let mut lines = truth.lines();
    let mut header: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let boot = if ahead == 0 { "one".into() } else { format!("boot {node}") };
    header["live"] = json!({ "node": node, "incarnation": 0, "boot": boot, "offset": -ahead, "writes": 0 });
    header["origin"] = ahead.into();
    let mut text = format!("{header}\n");
    let mut last = 0;
    for line in lines {
        let step: Value = serde_json::from_str(line).unwrap();
        // The mark at the journal's end has no time.
        let Some(time) = step["time"].as_i64() else { break };
        last = time;
        if step["node"] == node {
            let clock = if ahead == 0 { String::new() } else { format!("\"clock\":{last},") };
            let (_, rest) = line.split_once("\"input\"").unwrap();
            text += &format!("{{\"time\":{},\"node\":{node},{clock}\"input\"{rest}\n", last + ahead);
        }
    }
    // It is stopped a little after the last thing happened.
    let end = last + 1_000_000;
    text + &format!("{{\"time\":{},\"world\":{{\"ended\":{{\"node\":{node}}}}}}}\n", end + ahead)
}

const RECORD: &str = "record n1.journal n2.journal n3.journal --out run.journal";

#[test]
fn what_was_gathered_is_told_and_every_tool_reads_it() {
    let lives = Lives::new(false);
    let told = lives.run(RECORD).ok(0);
    for part in [
        "3 nodes · 3 lives · one machine, one clock",
        "messages lost                      0",
        "quorate trace run.journal",
    ] {
        assert!(told.contains(part), "{told}");
    }
    let found = lives.run(&format!("{RECORD} --json")).json(0);
    let truth = lives.run("trace truth.journal --summary --json").json(0);
    assert_eq!(found["matched"], truth["messages"]["total"]);
    assert_eq!((&found["torn"], &found["warnings"], &found["ended"]), (&json!([]), &json!([]), &json!(3)));
    let mut read = lives.run("trace run.journal --summary --json").json(0);
    assert_eq!(read["recorded"], true);
    read.as_object_mut().unwrap().remove("recorded");
    read["lines"] = truth["lines"].clone();
    assert_eq!(read, truth);
    assert!(lives.run("trace run.journal --summary").ok(0).contains("recorded from real processes"));
    assert!(lives.run("replay run.journal").ok(0).contains("every one as recorded"));
    let gathered = lives.run("trace run.journal --clocks").ok(0);
    assert!(gathered.contains("node 3 is stopped"), "{gathered}");
    let steps = |text: &str| text.lines().filter(|line| line.ends_with(']')).map(str::to_owned).collect::<Vec<_>>();
    assert!(steps(&gathered).len() > 20, "{gathered}");
    assert_eq!(steps(&gathered), steps(&lives.run("trace truth.journal --clocks").ok(0)));
    assert!(!lives.0.path().join("run.journal.part").exists());
}

/// People see the run from 0, whatever the clocks show.
#[test]
fn runs_of_several_machines_are_told_from_their_beginning() {
    let lives = Lives::new(true);
    assert!(lives.run(RECORD).ok(0).contains("3 machines, or boots of them"));
    let steps = |line: &str| {
        let text = lives.run(line).ok(0);
        text.lines().filter(|line| !line.contains("is stopped")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(steps("trace run.journal"), steps("trace truth.journal"));
    lives.run("replay run.journal").ok(0);
}

#[test]
fn one_life_can_be_looked_at_but_not_judged() {
    let lives = Lives::new(true);
    let shown = lives.run("trace n2.journal").ok(0);
    assert!(shown.contains("request from") && !shown.contains("its clock"), "{shown}");
    for line in ["replay n2.journal", "trace n2.journal --summary"] {
        assert!(lives.run(line).complaint().contains("quorate record"));
    }
}

#[test]
fn a_torn_line_is_told() {
    let lives = Lives::new(false);
    let text = lives.read("n2.journal");
    lives.write("n2.journal", &text[..text.len() - 9]);
    let told = lives.run(RECORD).ok(0);
    assert!(told.contains("torn: the last line of n2.journal was cut off, and is left out."), "{told}");
    lives.run("replay run.journal").ok(0);
}

#[test]
fn what_does_not_fit_together_is_refused_and_nothing_is_left_behind() {
    let lives = Lives::new(false);
    lives.write("garbage", "no journal at all\n");
    let of_group =
        |name: &str| lives.read("n3.journal").replacen("\"boot\"", &format!("\"group\":\"{name}\",\"boot\""), 1);
    lives.write("stranger.journal", of_group("strangers"));
    lives.write("other.journal", lives.read("n3.journal").replace("\"seed\":5", "\"seed\":6"));
    let text = lives.read("n3.journal");
    let half: String = text.lines().take(4).map(|line| format!("{line}\n")).collect();
    lives.write("half.journal", half);
    let cases = [
        ("record n1.journal n2.journal --out run.journal", "no journal of node 3 is among these files"),
        ("record n1.journal n2.journal garbage --out run.journal", "In garbage: This is not a journal"),
        ("record n1.journal n2.journal other.journal --out run.journal", "other.journal is of another run than"),
        ("record n1.journal n2.journal stranger.journal --out run.journal", "its group is 'strangers', not absent"),
        ("record n1.journal n2.journal half.journal --out run.journal", "but half.journal ends before that was sent"),
        ("record n1.journal n2.journal n3.journal n1.journal --out run.journal", "both journals of life 0 of node 1"),
        ("record n1.journal n2.journal absent --out run.journal", "absent could not be opened"),
        ("record truth.journal --out run.journal", "the journal of a whole run"),
        ("record n1.journal n2.journal n3.journal --out n3.journal", "Give --out another name"),
        ("record n1.journal n2.journal n3.journal --out no/such/folder", "could not be written"),
    ];
    for (line, expected) in cases {
        let complaint = lives.run(line).complaint();
        assert!(complaint.contains(expected), "{line}: {complaint}");
        assert!(!lives.0.path().join("run.journal").exists() && !lives.0.path().join("run.journal.part").exists());
    }
    assert_eq!(text, lives.read("n3.journal"));
}

/// Whoever names a pipe wants to read from it, and whoever names a link wants it to stay.
#[test]
fn what_is_no_file_is_written_to_and_not_replaced() {
    let lives = Lives::new(false);
    lives.run(RECORD).ok(0);
    let expected = lives.read("run.journal");
    let at = |name: &str| lives.0.path().join(name);
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    let pipe = at("pipe");
    let reader = std::thread::spawn(move || fs::read_to_string(pipe).unwrap());
    lives.run("record n1.journal n2.journal n3.journal --out pipe").ok(0);
    assert_eq!(reader.join().unwrap(), expected);
    assert!(fs::symlink_metadata(at("pipe")).unwrap().file_type().is_fifo());

    fs::create_dir(at("elsewhere")).unwrap();
    symlink("elsewhere/target.journal", at("link")).unwrap();
    lives.write("elsewhere/target.journal", "old");
    lives.run("record n1.journal n2.journal --out link").complaint();
    assert_eq!(lives.read("elsewhere/target.journal"), "old");
    lives.run("record n1.journal n2.journal n3.journal --out link").ok(0);
    assert!(at("link").is_symlink());
    assert_eq!(lives.read("elsewhere/target.journal"), expected);
    assert_eq!(fs::read_dir(at("elsewhere")).unwrap().count(), 1, "it left something behind");
}

/// Two runs of the same command fit together by all that they say of themselves, but not by their clocks.
#[test]
fn files_of_two_runs_on_one_machine_are_odd() {
    let lives = Lives::new(false);
    let early = |line: &str| {
        let (before, rest) = line.split_once("\"time\":").unwrap();
        let (time, after) = rest.split_once(',').unwrap();
        format!("{before}\"time\":{},{after}\n", time.parse::<i64>().unwrap() - 1_000_000_000_000)
    };
    let text = lives.read("n2.journal");
    let (header, steps) = text.split_once('\n').unwrap();
    lives.write("n2.journal", format!("{header}\n{}", steps.lines().map(early).collect::<String>()));
    let found = lives.run(&format!("{RECORD} --json")).json(0);
    assert!(found["raised"].as_u64().unwrap() > 1 && found["boots"] == 1, "{found}");
    let told = lives.run(RECORD).ok(0);
    assert!(
        told.contains("odd: All journals are of one machine and one clock, but by that clock an effect came"),
        "{told}"
    );
    assert!(told.contains("the files may be of different runs.") && !told.contains("were behind"), "{told}");
}
