//! Pictures of runs: every format, windows, invalid options and damaged journals.

mod hostile;

use crate::run::{Run, algorithms, run, run_in};
use crate::xml::{Element, parse};
use expect_test::{Expect, expect};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Runs of several families, each with faults.
const RUNS: [&str; 3] = [
    "sim ricart-agrawala --entries 4 --loss 0.1 --duplicate 0.2 --fault 'pause 2 at 40ms for 9ms' \
     --fault 'cut 1 | rest at 20ms for 9ms'",
    "sim raft --nodes 4 --fault 'crash 4 at 1ms for 20ms'",
    "sim replica --clients 1 --operations 2 --fault 'disk 2 full at 130ms for 20ms' --until 250ms",
];

/// A folder with a journal in it.
struct RecordedRun(TempDir);

impl RecordedRun {
    fn new(line: &str) -> Self {
        let recorded = Self(tempfile::tempdir().unwrap());
        let code = recorded.run(&format!("{line} --trace run.journal")).code;
        assert!(matches!(code, Some(0 | 1 | 3)), "{line}: {code:?}");
        recorded
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn run(&self, line: &str) -> Run {
        run_in(self.path(), line)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), text).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Returns the elements of a picture. Fails if it is malformed or has active content.
#[track_caller]
pub(crate) fn parse_picture(text: &str) -> Vec<Element> {
    let elements = parse(text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    assert_eq!(elements[0].name, "svg");
    for element in &elements {
        let active = ["script", "foreignObject", "iframe", "image", "animate", "set", "a", "use"];
        assert!(!active.contains(&element.name.as_str()), "<{}> in a picture", element.name);
        let handler = element.attributes.iter().find(|(name, _)| name.starts_with("on") || name.contains("href"));
        assert_eq!(handler, None, "in <{}>", element.name);
    }
    elements
}

fn text_of(elements: &[Element]) -> String {
    elements.iter().map(|element| element.text.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_format_is_the_same_from_a_run_and_from_its_journal() {
    for line in RUNS {
        let recorded = RecordedRun::new(line);
        let files = "--svg a.svg --mermaid a.mmd --shiviz a.log";
        let drawn = recorded.run(&format!("draw run.journal {files}")).exits(0);
        assert_eq!(drawn.lines().count(), 3, "{drawn}");
        for name in ["picture: a.svg (", "picture: a.mmd (", "log: a.log ("] {
            assert!(drawn.contains(name), "{drawn}");
        }
        let [svg, mermaid, shiviz] = ["a.svg", "a.mmd", "a.log"].map(|name| recorded.read(name));
        assert!(text_of(&parse_picture(&svg)).contains(line.split(' ').nth(1).unwrap()));
        assert!(mermaid.contains("sequenceDiagram") && mermaid.contains("participant"), "{mermaid}");
        assert!(shiviz.lines().count() > 10, "{shiviz}");
        // The run, its replay and its journal give the same pictures.
        for again in [line, "replay run.journal", "draw run.journal"] {
            // A run that a limit stops is inconclusive: code 3.
            let code = recorded.run(&format!("{again} {files}")).code;
            assert!(matches!(code, Some(0 | 1 | 3)), "{again}");
            assert_eq!(
                ["a.svg", "a.mmd", "a.log"].map(|name| recorded.read(name)),
                [&svg, &mermaid, &shiviz].map(String::clone)
            );
        }
        let text = recorded.run("draw run.journal").exits(0);
        assert!(text.lines().count() > 10 && !text.contains('\u{1b}'), "{text}");
        assert_eq!(recorded.run("draw run.journal").exits(0), text);
    }
}

#[test]
fn every_example_can_be_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let fixtures = run("list --fixtures --json").json(0);
    let fixtures = fixtures.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned());
    for name in algorithms().into_iter().chain(fixtures) {
        let printed = run_in(folder.path(), &format!("explain {name} --svg a.svg --mermaid a.mmd")).exits(0);
        assert!(printed.contains("\npicture: a.svg ("), "{printed}");
        let svg = fs::read_to_string(folder.path().join("a.svg")).unwrap();
        assert!(text_of(&parse_picture(&svg)).contains(&name));
    }
}

/// Returns the numbers of nodes and steps in the line that reports a picture.
#[track_caller]
fn read_counts(printed: &str) -> (u64, u64) {
    let (_, counts) = printed.trim_end().rsplit_once('(').unwrap();
    let mut numbers = counts.split([' ', ',']).filter_map(|word| word.parse().ok());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[test]
fn a_window_shows_only_its_part_of_the_run() {
    let recorded = RecordedRun::new("sim ricart-agrawala --nodes 4 --entries 9");
    let drawn = |window: &str| read_counts(&recorded.run(&format!("draw run.journal --svg a.svg {window}")).exits(0));
    let whole = drawn("");
    assert_eq!(whole.0, 4);
    let times: Vec<i64> = recorded
        .run("trace run.journal --json")
        .json(0)
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["time_ns"].as_i64().unwrap())
        .collect();
    assert_eq!(times.len() as u64, whole.1);
    let middle = times[times.len() / 2];
    let before = times.iter().filter(|time| **time < middle).count() as u64;
    let after = times.iter().filter(|time| **time > middle).count() as u64;
    assert!(before > 0 && after > 0);
    assert_eq!(drawn(&format!("--to {}ns", middle - 1)), (4, before));
    assert_eq!(drawn(&format!("--from {}ns", middle + 1)), (4, after));
    assert_eq!(drawn(&format!("--from {middle}ns --to {middle}ns")), (4, whole.1 - before - after));
    assert_eq!(drawn("--from -1h --to 1h"), whole);
    let parts = ["1,2", "3-4"].map(|nodes| drawn(&format!("--nodes {nodes}")));
    assert_eq!((parts[0].0, parts[1].0, parts[0].1 + parts[1].1), (2, 2, whole.1));
    // For other commands --nodes is the size of the group, so they have --only.
    let printed = recorded.run("replay run.journal --only 3-4 --svg b.svg").exits(0);
    assert_eq!(read_counts(&printed), parts[1]);
    assert_eq!(recorded.read("a.svg"), recorded.read("b.svg"));
}

#[test]
fn windows_use_times_relative_to_the_origin() {
    let recorded = RecordedRun::new("sim ricart-agrawala --entries 3 --latency fixed:1ms --workload all");
    let whole = recorded.run("draw run.journal --from 0ms --svg a.svg").exits(0);
    // A header with an origin of 2 ms, in nanoseconds; a simulated run has the origin 0.
    let shifted = recorded.read("run.journal").replacen("\"run\":", "\"origin\":2000000,\"run\":", 1);
    recorded.write("run.journal", shifted);
    assert_eq!(recorded.run("draw run.journal --from -2ms --svg a.svg").exits(0), whole);
    assert!(read_counts(&recorded.run("draw run.journal --from 0ms --svg a.svg").exits(0)).1 < read_counts(&whole).1);
}

/// Runs each line in a folder with a journal, compares the errors, and checks that no file is added
/// and the journal is unchanged.
#[track_caller]
fn assert_errors(lines: &[&str], expected: &Expect) {
    let recorded = RecordedRun::new("sim ricart-agrawala --entries 3 --latency fixed:1ms --workload all");
    recorded.write("script", "acquire 2 at 5ms\n");
    recorded.write("empty", "");
    fs::create_dir(recorded.path().join("folder")).unwrap();
    let (names, journal) = (recorded.names(), recorded.read("run.journal"));
    let printed = lines.iter().map(|line| format!("$ quorate {line}\n{}", recorded.run(line).error()));
    expected.assert_eq(&printed.collect::<String>());
    assert_eq!((recorded.names(), recorded.read("run.journal")), (names, journal), "a file was changed");
}

#[test]
fn invalid_windows_are_reported() {
    assert_errors(
        &[
            "draw run.journal --from 5ms --to 4ms",
            "draw run.journal --from 8ms",
            "draw run.journal --to -1ms --svg a.svg",
            "draw run.journal --nodes 2-4",
            "draw run.journal --nodes 0",
            "draw run.journal --from soon",
            "draw run.journal --from 5",
            "draw run.journal --to 0.1ns",
            "draw run.journal --overview --mermaid a.mmd",
        ],
        &expect![[r#"
            $ quorate draw run.journal --from 5ms --to 4ms
            error: --to 4ms is before --from 5ms, so there is nothing to draw.
            $ quorate draw run.journal --from 8ms
            error: the run lasts from 0ms to 7ms, and --from 8ms is after its end, so there is nothing to draw.
            $ quorate draw run.journal --to -1ms --svg a.svg
            error: the run lasts from 0ms to 7ms, and --to -1ms is before its start, so there is nothing to draw.
            $ quorate draw run.journal --nodes 2-4
            error: there is no node 4 to draw; the run has nodes 1 to 3.
            $ quorate draw run.journal --nodes 0
            error: --nodes: '0' is invalid: node numbers must be between 1 and 4294967295.
            $ quorate draw run.journal --from soon
            error: --from: 'soon' is not an instant; write for example 10ms, or -3ms for one before 0.
            $ quorate draw run.journal --from 5
            error: --from: '5' has no unit; add one, such as '5ms'. Units are ns, us, ms, s, m, h.
            $ quorate draw run.journal --to 0.1ns
            error: --to: '0.1ns' is invalid: an instant must be a whole number of nanoseconds, at most 292 years from 0.
            $ quorate draw run.journal --overview --mermaid a.mmd
            error: the argument '--overview' cannot be used with '--mermaid <FILE>'

            Usage: quorate draw --overview <FILE>

            For more information, try '--help'.
        "#]],
    );
}

#[test]
fn invalid_files_and_colliding_outputs_are_reported() {
    assert_errors(
        &[
            "draw nowhere",
            "draw folder --svg a.svg",
            "draw empty --svg a.svg",
            "draw script --svg a.svg",
            "draw run.journal --svg nowhere/a.svg",
            "draw run.journal --svg folder",
            "draw run.journal --svg run.journal",
            "draw run.journal --shiviz ./folder/../run.journal",
            "draw run.journal --svg a.svg --mermaid ./a.svg",
            "draw run.journal --svg - --shiviz -",
            "draw run.journal --shiviz a.log --overview",
            "draw run.journal --mermaid a.mmd --theme dark",
            "draw run.journal --clocks both",
            "replay run.journal --mermaid run.journal",
            "replay run.journal --svg - --steps",
            "sim central --svg - --json",
            "sim central --from 1ms",
            "sim central --all-steps",
            "sim central --trace a.svg --svg a.svg",
            "sim central --script script --svg script",
            "sim central --script script --trace script",
            "sweep central --svg nowhere/a.svg",
            "check central --trace a.svg --svg a.svg",
            "check central --mermaid folder",
            "explain central --markdown --svg -",
        ],
        &expect![[r#"
            $ quorate draw nowhere
            error: cannot open the journal nowhere: No such file or directory (os error 2).
            $ quorate draw folder --svg a.svg
            error: in folder: cannot read the journal: Is a directory (os error 21).
            $ quorate draw empty --svg a.svg
            error: in empty: the journal is empty: it has no header line.
            $ quorate draw script --svg a.svg
            error: in script: this is not a journal: its first line is not a header (expected value at line 1 column 1). The option --trace FILE writes journals.
            $ quorate draw run.journal --svg nowhere/a.svg
            error: cannot write the picture nowhere/a.svg: No such file or directory (os error 2).
            $ quorate draw run.journal --svg folder
            error: cannot write the picture folder: Is a directory (os error 21).
            $ quorate draw run.journal --svg run.journal
            error: --svg run.journal would overwrite the journal; give the picture another name.
            $ quorate draw run.journal --shiviz ./folder/../run.journal
            error: --shiviz ./folder/../run.journal would overwrite the journal; give the picture another name.
            $ quorate draw run.journal --svg a.svg --mermaid ./a.svg
            error: --svg and --mermaid both write to ./a.svg; give each its own file.
            $ quorate draw run.journal --svg - --shiviz -
            error: --svg - and --shiviz - both write to standard output; write the picture to a file.
            $ quorate draw run.journal --shiviz a.log --overview
            error: --overview has no effect without a picture; add --svg FILE.
            $ quorate draw run.journal --mermaid a.mmd --theme dark
            error: --theme has no effect without an SVG picture; add --svg FILE.
            $ quorate draw run.journal --clocks both
            error: --clocks has no effect without an SVG picture; add --svg FILE.
            $ quorate replay run.journal --mermaid run.journal
            error: --mermaid run.journal would overwrite the journal; give the picture another name.
            $ quorate replay run.journal --svg - --steps
            error: --svg - and --steps both write to standard output; write the picture to a file.
            $ quorate sim central --svg - --json
            error: --svg - and --json both write to standard output; write the picture to a file.
            $ quorate sim central --from 1ms
            error: --from has no effect without a picture; add --svg FILE or --mermaid FILE.
            $ quorate sim central --all-steps
            error: --all-steps has no effect without a picture; add --svg FILE or --mermaid FILE.
            $ quorate sim central --trace a.svg --svg a.svg
            error: --trace and --svg both write to a.svg; give each its own file.
            $ quorate sim central --script script --svg script
            error: --svg script would overwrite the script; give the picture another name.
            $ quorate sim central --script script --trace script
            error: --trace script would overwrite the script; give the journal another name.
            $ quorate sweep central --svg nowhere/a.svg
            error: cannot write the picture nowhere/a.svg: No such file or directory (os error 2).
            $ quorate check central --trace a.svg --svg a.svg
            error: --trace and --svg both write to a.svg; give each its own file.
            $ quorate check central --mermaid folder
            error: cannot write the picture folder: Is a directory (os error 21).
            $ quorate explain central --markdown --svg -
            error: --svg - and --markdown both write to standard output; write the picture to a file.
        "#]],
    );
}

#[test]
fn pictures_on_standard_output_equal_those_in_files() {
    let recorded = RecordedRun::new(RUNS[0]);
    recorded.run("draw run.journal --svg a.svg --mermaid a.mmd --shiviz a.log").exits(0);
    for (option, name) in [("svg", "a.svg"), ("mermaid", "a.mmd"), ("shiviz", "a.log")] {
        assert_eq!(recorded.run(&format!("draw run.journal --{option} -")).exits(0), recorded.read(name));
        assert_eq!(recorded.run(&format!("{} --{option} -", RUNS[0])).exits(0), recorded.read(name));
        assert_eq!(recorded.run(&format!("replay run.journal --{option} -")).exits(0), recorded.read(name));
    }
    let both = recorded.run("draw run.journal --svg - --mermaid b.mmd").exits(0);
    assert_eq!((both, recorded.read("b.mmd")), (recorded.read("a.svg"), recorded.read("a.mmd")));
    parse_picture(&run("explain central --svg -").exits(0));
    parse_picture(&run("check ricart-agrawala-clock-only --svg -").exits(1));
    parse_picture(&run("sweep ricart-agrawala-clock-only --seeds 100 --svg -").exits(1));
    let nothing = run("sweep central --seeds 5 --svg -");
    assert_eq!((nothing.code, nothing.out.as_str()), (Some(0), ""));
    assert!(nothing.err.contains("no picture was drawn"), "{}", nothing.err);
}

#[test]
fn the_first_failure_is_drawn_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let sweep = "sweep ricart-agrawala-clock-only --seeds 100 --nodes 2 --entries 4 --think uniform:0ms..40ms";
    let report = run_in(folder.path(), &format!("{sweep} --svg a.svg --json")).json(1);
    assert_eq!(report["pictures"][0]["file"], "a.svg");
    let printed = run_in(folder.path(), &format!("{sweep} --svg b.svg")).exits(1);
    assert!(printed.contains("\npicture: b.svg (2 nodes, ") && !printed.contains("To draw it"), "{printed}");
    let again = printed.lines().find_map(|line| line.strip_prefix("To see it again: ")).unwrap();
    run_in(folder.path(), &format!("{again} --svg c.svg")).exits(1);
    assert_eq!((read("a.svg"), read("b.svg")), (read("c.svg"), read("c.svg")));

    let check = "check ricart-agrawala-clock-only --nodes 2";
    let printed = run_in(folder.path(), &format!("{check} --trace a.journal --svg d.svg")).exits(1);
    assert!(printed.contains("\npicture: d.svg (2 nodes, "), "{printed}");
    run_in(folder.path(), "draw a.journal --svg e.svg").exits(0);
    assert_eq!(read("d.svg"), read("e.svg"));
    assert!(text_of(&parse_picture(&read("e.svg"))).contains("quorate check"));
    assert_eq!(run_in(folder.path(), &format!("{check} --json --svg d.svg")).json(1)["pictures"][0]["form"], "svg");
}

#[test]
fn the_suggested_drawing_command_works() {
    let folder = tempfile::tempdir().unwrap();
    for line in [
        "sim central --fault 'crash 1 at 10ms'",
        "sim ricart-agrawala-clock-only --workload all --entries 3000 --nodes 5",
        "sweep ricart-agrawala-clock-only --seeds 50",
        "check ricart-agrawala-clock-only --nodes 2",
        "check ricart-agrawala-clock-only --nodes 2 --trace a.journal",
    ] {
        let printed = run_in(folder.path(), line).exits(1);
        let draw =
            printed.lines().find_map(|line| line.strip_prefix("To draw it: ")).unwrap_or_else(|| panic!("{printed}"));
        let drawn = run_in(folder.path(), draw);
        assert!(matches!(drawn.code, Some(0 | 1)), "{draw}: {}", drawn.err);
        assert!(!drawn.out.contains("overview"), "{}", drawn.out);
        parse_picture(&fs::read_to_string(folder.path().join("broken.svg")).unwrap());
        fs::remove_file(folder.path().join("broken.svg")).unwrap();
    }
}

#[test]
fn no_picture_is_drawn_if_no_property_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.svg");
    fs::write(&path, "precious").unwrap();
    for line in ["sweep central --seeds 5", "check central --nodes 2"] {
        let printed = run_in(folder.path(), &format!("{line} --svg a.svg")).exits(0);
        assert!(printed.contains("so no picture was drawn and existing files are unchanged"), "{printed}");
        let report = run_in(folder.path(), &format!("{line} --svg a.svg --json")).json(0);
        assert_eq!(report["pictures"], Value::Null);
    }
    assert_eq!(fs::read_to_string(path).unwrap(), "precious");
}

#[test]
fn json_lists_the_pictures() {
    let recorded = RecordedRun::new("sim central --entries 2");
    for line in ["sim central --entries 2", "replay run.journal", "explain central"] {
        let report = recorded.run(&format!("{line} --svg a.svg --shiviz a.log --json")).json(0);
        let forms: Vec<_> = report["pictures"].as_array().unwrap().iter().map(|picture| &picture["form"]).collect();
        assert_eq!(forms, ["svg", "shiviz"]);
        assert_eq!((&report["pictures"][0]["nodes"], &report["pictures"][0]["overview"]), (&3.into(), &false.into()));
    }
}

#[test]
fn a_long_run_is_an_overview_and_a_window_of_it_is_not() {
    let recorded = RecordedRun::new("sim ricart-agrawala --entries 1500");
    let printed = recorded.run("draw run.journal --svg a.svg").exits(0);
    assert!(printed.contains("as an overview"), "{printed}");
    parse_picture(&recorded.read("a.svg"));
    let text = recorded.run("draw run.journal").exits(0);
    assert!(text.contains("node 3") && text.contains("--from"), "{text}");
    let error = recorded.run("draw run.journal --mermaid a.mmd").error();
    assert!(error.contains("too large for a sequence diagram") && error.contains("--from"), "{error}");
    assert!(!recorded.path().join("a.mmd").exists());
    let part = recorded.run("draw run.journal --from 1s --to 1.02s --svg a.svg --mermaid a.mmd").exits(0);
    assert!(!part.contains("overview"), "{part}");
    let short = RecordedRun::new("sim central --entries 2");
    assert!(short.run("draw run.journal --overview --svg a.svg").exits(0).contains("as an overview"));
}

/// An overview as text shows faults, violations and roles, and counts what a window leaves out.
#[test]
fn an_overview_as_text_shows_partitions_and_violations() {
    let broken = RecordedRun::new(
        "sim ricart-agrawala-clock-only --nodes 3 --workload all --entries 300 --fault 'cut 1 | rest at 60ms for 40ms'",
    );
    let text = broken.run("draw run.journal").exits(0);
    for printed in [
        "    faults  ",
        "60.000 ms to 100.000 ms: cut 1 | rest",
        "violations  ",
        "fails\n",
        "━ partition",
        "in the critical section for",
    ] {
        assert!(text.contains(printed), "{printed}\n{text}");
    }
    assert!(!text.contains("acting node") && !text.contains("Not shown"), "{text}");
    assert!(text.contains(", in the critical section 300 times"), "{text}");
    assert!(text.contains("  --from, --to and --nodes show"), "{text}");
    let recorded = RecordedRun::new("sim ricart-agrawala --entries 900");
    let part = recorded.run("draw run.journal --from 100ms --to 3s --overview").exits(0);
    assert!(part.contains("Not shown: ") && part.contains(" earlier journal lines, "), "{part}");
    assert!(!part.contains("violations") && !part.contains("faults"), "{part}");
    let of_one_node = recorded.run("draw run.journal --nodes 1 --overview").exits(0);
    // The last line but one begins with the number of steps. Each of the three nodes takes about a
    // third of them.
    let steps = |text: &str| text.lines().rev().nth(1).unwrap().trim().split(' ').next().unwrap().replace(',', "");
    let all: u64 = steps(&recorded.run("draw run.journal --overview").exits(0)).parse().unwrap();
    assert!(steps(&of_one_node).parse::<u64>().unwrap() < all / 2, "{of_one_node}");
}

/// As after a crash of the writer: the complete lines are drawn, and the missing end is reported.
#[test]
fn a_truncated_journal_is_drawn_up_to_its_last_complete_line() {
    let recorded = RecordedRun::new("sim ricart-agrawala --entries 3");
    let text = recorded.read("run.journal");
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    // Both have the first 12 lines of the run. Line 13 is an end mark in the whole journal, and an
    // incomplete step in the torn one.
    recorded.write("whole.journal", lines[..12].concat() + "{\"end\":13}\n");
    recorded.write("torn.journal", lines[..12].concat() + &lines[12][..25]);
    recorded.run("draw whole.journal --svg whole.svg --shiviz whole.log").exits(0);
    let error = recorded.run("draw torn.journal --svg torn.svg --shiviz torn.log").error_after_output();
    assert!(error.starts_with("error: in torn.journal: line 13 of the journal is malformed"), "{error}");
    assert_eq!(recorded.read("torn.log"), recorded.read("whole.log"));
    // "Eventually" properties such as `served` are judged only in the whole journal. The rest is
    // the same.
    let without_judgement = |text: &str| {
        text.lines().filter(|line| !line.contains("served fails")).map(|line| format!("{line}\n")).collect()
    };
    let (whole, torn) = (recorded.run("draw whole.journal").exits(0), recorded.run("draw torn.journal"));
    assert!(whole.contains("served fails"), "{whole}");
    assert_eq!((torn.code, torn.out), (Some(2), without_judgement(&whole)));
    let hover_texts = |name: &str| {
        let elements = parse_picture(&recorded.read(name));
        let titles = elements.iter().filter(|element| element.name == "title").map(|element| element.text.clone());
        titles.filter(|title| !title.contains("served fails")).collect::<Vec<_>>()
    };
    assert!(!recorded.read("torn.svg").contains("served fails") && recorded.read("whole.svg").contains("served fails"));
    assert_eq!(hover_texts("torn.svg"), hover_texts("whole.svg"));
}

#[test]
fn a_journal_of_few_lines_is_drawn() {
    for line in RUNS {
        let recorded = RecordedRun::new(line);
        let text = recorded.read("run.journal");
        for count in 1..=4 {
            let lines: String = text.split_inclusive('\n').take(count).collect();
            recorded.write("few.journal", format!("{lines}{{\"end\":{}}}\n", count + 1));
            for options in ["", "--all-steps", "--overview"] {
                let mermaid = if options == "--overview" { "" } else { "--mermaid a.mmd" };
                recorded.run(&format!("draw few.journal --svg a.svg --shiviz a.log {mermaid} {options}")).exits(0);
                parse_picture(&recorded.read("a.svg"));
                assert!(!recorded.run(&format!("draw few.journal {options}")).exits(0).is_empty());
            }
        }
    }
}

/// The header of a journal that a node process writes has the field `live`.
#[test]
fn the_journal_of_one_node_is_one_lane() {
    let recorded = RecordedRun::new("sim ricart-agrawala --entries 6");
    let text = recorded.read("run.journal");
    let mut lines = text.lines();
    let mut header: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    header["live"] = json!({ "node": 2, "incarnation": 0, "boot": "one", "offset": 0, "writes": 0 });
    let is_of_node_2 = |line: &&str| serde_json::from_str::<Value>(line).unwrap()["node"] == 2;
    let steps: Vec<_> = lines.filter(is_of_node_2).collect();
    recorded.write("life.journal", format!("{header}\n{}\n", steps.join("\n")));
    let printed = recorded.run("draw life.journal --svg a.svg --all-steps").exits(0);
    assert_eq!(read_counts(&printed), (1, steps.len() as u64));
    assert!(text_of(&parse_picture(&recorded.read("a.svg"))).contains("node 2 only"));
    assert!(recorded.run("draw life.journal").exits(0).contains("node 2 only"));
    let error = recorded.run("draw life.journal --nodes 1").error();
    assert!(error.contains("the journal of node 2 only"), "{error}");
}

#[test]
fn the_options_of_a_picture_change_it() {
    let recorded = RecordedRun::new("sim ricart-agrawala --entries 3 --seed 4");
    let drawn = |options: &str| {
        let svg = recorded.run(&format!("draw run.journal --svg - {options}")).exits(0);
        parse_picture(&svg);
        svg
    };
    let plain = drawn("");
    let defaults = ["--clocks none", "--notes auto", "--theme auto"];
    defaults.iter().for_each(|options| assert_eq!(drawn(options), plain, "{options}"));
    let others = [
        "--clocks logical",
        "--clocks vector",
        "--clocks both",
        "--notes rules",
        "--notes none",
        "--theme light",
        "--theme dark",
        "--all-steps",
        "--overview",
    ];
    let mut all: Vec<_> = others.iter().map(|options| drawn(options)).chain([plain]).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), others.len() + 1, "two options draw the same picture");
    assert!(
        drawn("--theme auto").contains("prefers-color-scheme")
            && !drawn("--theme dark").contains("prefers-color-scheme")
    );
}

/// A picture that is written to a symbolic link replaces the target, not the link.
#[cfg(unix)]
#[test]
fn a_picture_is_replaced_completely_or_not_at_all() {
    let recorded = RecordedRun::new("sim central --entries 2");
    recorded.write("a.svg", "precious");
    std::os::unix::fs::symlink("a.svg", recorded.path().join("link.svg")).unwrap();
    recorded.run("draw run.journal --from 1h --svg link.svg --shiviz a.log").error();
    assert_eq!(recorded.read("a.svg"), "precious");
    assert_eq!(recorded.names(), ["a.svg", "link.svg", "run.journal"]);
    recorded.run("draw run.journal --svg link.svg").exits(0);
    parse_picture(&recorded.read("a.svg"));
    assert!(recorded.path().join("link.svg").is_symlink());
    let error = recorded.run("draw run.journal --svg /dev/full").error();
    assert!(error.starts_with("error: cannot write the picture /dev/full: No space left"), "{error}");
    let error = recorded.run("draw run.journal --svg a.svg --mermaid link.svg").error();
    assert!(error.contains("both write to link.svg"), "{error}");
}

/// A run in real processes is drawn from its merged journal.
#[cfg(target_os = "linux")]
#[test]
fn real_processes_are_drawn_too() {
    let folder = tempfile::tempdir().unwrap();
    let error = run_in(folder.path(), "run central --svg a.svg").error();
    assert!(error.contains("add --trace FILE"), "{error}");
    let printed = run_in(folder.path(), "run central --entries 6 --trace run.journal --svg a.svg").exits(0);
    assert!(printed.contains("  picture: a.svg (3 nodes, "), "{printed}");
    run_in(folder.path(), "draw run.journal --svg b.svg --mermaid b.mmd --shiviz b.log").exits(0);
    let [one, other] = ["a.svg", "b.svg"].map(|name| fs::read_to_string(folder.path().join(name)).unwrap());
    assert_eq!(one, other);
    assert!(text_of(&parse_picture(&one)).contains("recorded from real processes"));
}
