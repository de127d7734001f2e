//! Journals: they replay exactly, give the same report as the run, and errors name the line.

use crate::run::{Run, run_in};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// Runs without faults and with various faults, and their exit codes.
const RUNS: [(&str, i32); 4] = [
    ("sim central --latency fixed:1ms --workload all", 0),
    ("sim ricart-agrawala --nodes 4 --loss 0.1 --duplicate 0.1 --cancel 0.2 --try 0.2 --processing fixed:0.1ms", 0),
    ("sim central --disk fixed:1ms --fault 'skew 2 by -3ms' --fault 'crash 3 torn at 20ms for 20ms' --entries 30", 0),
    ("sim ricart-agrawala-clock-only --fault 'pause 2 at 40ms for 9ms' --fault 'drift 1 by 900ppm'", 1),
];

struct RecordedRun {
    folder: TempDir,
    /// The report of `sim --json`.
    report: Value,
}

impl RecordedRun {
    fn new(line: &str, code: i32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let report = run_in(folder.path(), &format!("{line} --trace run.journal --json")).json(code);
        Self { folder, report }
    }

    fn run(&self, line: &str) -> Run {
        run_in(self.folder.path(), line)
    }

    fn journal(&self) -> String {
        fs::read_to_string(self.folder.path().join("run.journal")).unwrap()
    }

    fn replace_journal(&self, text: impl AsRef<[u8]>) {
        fs::write(self.folder.path().join("run.journal"), text).unwrap();
    }
}

/// FNV-1a with 64 bits, as `docs/journal.md` specifies the trace hash.
fn fnv1a(bytes: &[u8]) -> String {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix))
}

/// Returns the lines between the heading and the legend.
fn steps(printed: &str) -> Vec<&str> {
    let heading = |line: &str| ["time", "line"].iter().any(|word| line.trim_start().starts_with(word));
    let lines = printed.lines().skip_while(|line| !heading(line));
    lines.skip(1).take_while(|line| !line.contains("[ ] acting node")).collect()
}

#[test]
fn a_journal_replays_as_recorded() {
    for (line, code) in RUNS {
        let recorded = RecordedRun::new(line, code);
        let replayed = recorded.run("replay run.journal --json").json(code);
        assert_eq!(replayed["identical"], true);
        assert_eq!(replayed["lines"], recorded.journal().lines().count());
        assert_eq!(recorded.report["trace_hash"], fnv1a(recorded.journal().as_bytes()));
        let printed = recorded.run("replay run.journal").exits(code);
        assert!(printed.contains("lines replayed, all as recorded"), "{printed}");
    }
}

#[test]
fn figures_of_a_journal_are_those_of_the_run() {
    for (line, code) in RUNS {
        let recorded = RecordedRun::new(line, code);
        for command in ["replay run.journal --json", "trace run.journal --summary --json"] {
            let read = recorded.run(command).json(code);
            for part in ["algorithm", "nodes", "seed", "messages", "properties", "sometimes", "mutex"] {
                assert_eq!(read[part], recorded.report[part], "{part} of '{command}' after '{line}'");
            }
        }
        let summary = recorded.run("trace run.journal --summary").exits(code);
        let printed = recorded.run(line).exits(code);
        let figures = summary.split_once('\n').unwrap().1;
        assert!(printed.contains(figures), "{printed}\ndoes not have\n{figures}");
    }
}

#[test]
fn steps_of_a_journal_are_those_of_the_run() {
    for (line, code) in RUNS {
        let recorded = RecordedRun::new(line, code);
        let [simulated, replayed, traced] = [
            recorded.run(&format!("{line} --steps")).exits(code),
            recorded.run("replay run.journal --steps").exits(code),
            recorded.run("trace run.journal").exits(0),
        ];
        assert_eq!(steps(&simulated), steps(&replayed));
        // A trace shows the line number of each step. A node's first start is not shown if it has
        // no effects.
        let numbered: Vec<_> = steps(&traced).iter().map(|step| step.trim_start().split_once(' ').unwrap()).collect();
        let plain: Vec<_> = numbered.iter().map(|(_, step)| step.trim_start()).collect();
        assert_eq!(plain, steps(&simulated).iter().map(|step| step.trim_start()).collect::<Vec<_>>());
        let is_silent_start = |line: &str| line.contains("\"start\":{\"incarnation\":0}},\"effects\":[]}");
        let text = recorded.journal();
        let (text, _end_mark) = text.trim_end().rsplit_once('\n').unwrap();
        let expected_numbers = (1..)
            .zip(text.lines())
            .skip(1)
            .filter(|(_, line)| !is_silent_start(line))
            .map(|(number, _)| number.to_string());
        assert_eq!(
            numbered.iter().map(|(number, _)| (*number).to_owned()).collect::<Vec<_>>(),
            expected_numbers.collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_journal_can_be_written_while_steps_are_printed() {
    let recorded = RecordedRun::new("sim central", 0);
    let without_steps = recorded.journal();
    let printed = recorded.run("sim central --steps --trace run.journal").exits(0);
    assert_eq!(recorded.journal(), without_steps);
    let lines = without_steps.lines().count();
    assert!(printed.contains(&format!("journal: run.journal ({lines} lines)")), "{printed}");
}

#[test]
fn steps_have_clocks_and_faults_have_none() {
    // This run has a pause and a drift.
    let (line, code) = RUNS[3];
    let recorded = RecordedRun::new(line, code);
    let listed = recorded.run("trace run.journal --json").json(0);
    let with_clocks = recorded.run("trace run.journal --clocks").exits(0);
    let plain = recorded.run("trace run.journal").exits(0);
    let lines = steps(&with_clocks).into_iter().zip(steps(&plain));
    for (step, (with_clock, plain)) in listed.as_array().unwrap().iter().zip(lines) {
        let clock = with_clock.strip_prefix(plain).unwrap();
        assert_eq!(step["node"].is_null(), clock.is_empty());
        assert_eq!(step["clock"].is_null(), clock.is_empty());
        let numbers = step["clock"].as_array().into_iter().flatten().map(Value::to_string).collect::<Vec<_>>();
        assert_eq!(clock.trim(), if clock.is_empty() { String::new() } else { format!("[{}]", numbers.join(" ")) });
    }
}

/// Compares the command's answers with the definition: a step happened before another if its clock
/// differs and no part of it is larger.
#[test]
fn happened_before_matches_vector_clocks() {
    let recorded = RecordedRun::new("sim ricart-agrawala --entries 2", 0);
    let listed = recorded.run("trace run.journal --json").json(0);
    let clock = |step: &Value| -> Vec<u64> {
        let mut parts: Vec<_> = step["clock"].as_array().unwrap().iter().map(|part| part.as_u64().unwrap()).collect();
        // The run has three nodes, and clocks omit trailing zeros.
        parts.resize(3, 0);
        parts
    };
    // Every third step, because each pair of steps starts two processes.
    let every_third: Vec<_> = listed.as_array().unwrap().iter().step_by(3).collect();
    // The cases: 0 happened before, 1 happened after or is the same step, 2 is concurrent.
    let mut has_case_occurred = [false; 3];
    for one in &every_third {
        for other in &every_third {
            let line = format!("trace run.journal --before {} {}", one["line"], other["line"]);
            let (ours, theirs) = (clock(one), clock(other));
            let smaller = |a: &[u64], b: &[u64]| a != b && a.iter().zip(b).all(|(a, b)| a <= b);
            let (case, relation) = match (smaller(&ours, &theirs), smaller(&theirs, &ours), ours == theirs) {
                (true, _, _) => (0, "happened before"),
                (_, true, _) => (1, "happened after"),
                (_, _, true) => (1, "is the same step as"),
                (false, false, false) => (2, "is concurrent with"),
            };
            has_case_occurred[case] = true;
            let printed = recorded.run(&line).exits(0);
            assert!(printed.contains(relation), "{line}: {printed}");
            let order = recorded.run(&format!("{line} --json")).json(0);
            assert_eq!((&order["happened_before"], &order["concurrent"]), (&(case == 0).into(), &(case == 2).into()));
        }
    }
    assert_eq!(has_case_occurred, [true; 3]);
}

/// A journal truncated after a complete line, as by a full disk or an interrupted copy.
#[test]
fn a_journal_without_its_end_is_rejected_after_its_steps() {
    let recorded = RecordedRun::new("sim ricart-agrawala --entries 3", 0);
    let text = recorded.journal();
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    assert_eq!(lines.last().copied(), Some(&*format!("{{\"end\":{},\"ending\":\"done\"}}\n", lines.len())));
    for kept_lines in [lines.len() - 1, lines.len() / 2, 4] {
        recorded.replace_journal(lines[..kept_lines].concat());
        for command in
            ["replay run.journal", "replay run.journal --json", "trace run.journal --summary", "shrink run.journal"]
        {
            let error = recorded.run(command).error_after_output();
            let expected = format!(
                "error: in run.journal: the journal is truncated after line {kept_lines}: its end mark is missing"
            );
            assert!(error.starts_with(&expected), "{command}: {error}");
        }
        // The first four lines are the header and the starts of the three nodes, which are not
        // shown.
        let traced = recorded.run("trace run.journal");
        assert_eq!((traced.code, steps(&traced.out).is_empty()), (Some(2), kept_lines == 4), "{}", traced.out);
    }
    // The end mark counts the lines, so it also reveals a missing line in the middle.
    recorded.replace_journal(text.replacen(lines[5], "", 1));
    let error = recorded.run("trace run.journal").error_after_output();
    assert!(error.contains("lines were removed or added before it"), "{error}");
}

/// Journals of the first format have no end mark.
#[test]
fn a_journal_of_the_first_format_replays() {
    let recorded = RecordedRun::new("sim ricart-agrawala --entries 3", 0);
    let text = recorded.journal();
    let (steps, _end_mark) = text.trim_end().rsplit_once('\n').unwrap();
    recorded.replace_journal(steps.replacen("\"journal\":2", "\"journal\":1", 1) + "\n");
    let replayed = recorded.run("replay run.journal --json").json(0);
    assert_eq!((&replayed["identical"], &replayed["lines"]), (&true.into(), &steps.lines().count().into()));
    assert!(recorded.run("draw run.journal").exits(0).contains("ricart-agrawala"));
}

/// Each alteration is reported with the first line that does not fit.
#[test]
fn an_altered_journal_is_rejected_with_the_line() {
    let recorded = RecordedRun::new("sim ricart-agrawala --entries 3", 0);
    let text = recorded.journal();
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let index_of = |part: &str| lines.iter().position(|line| line.contains(part)).unwrap();
    let altered = |index: usize, from: &str, to: &str| {
        let mut lines = lines.clone();
        let line = lines[index].replacen(from, to, 1);
        assert_ne!(line, lines[index]);
        lines[index] = &line;
        lines.concat()
    };
    let without = |index: usize| [&lines[..index], &lines[index + 1..]].concat().concat();
    let (entry, reply) = (index_of("entered"), index_of("\"reply\""));
    let cases = [
        (altered(entry, "\"counter\":1", "\"counter\":2"), entry, "does not replay"),
        (altered(entry, "RA-3", "RA-4"), entry, "does not replay"),
        // A replay must write the same bytes.
        (altered(reply, "\"time\":", "\"time\": "), reply, "does not replay"),
        (altered(reply, "{", "["), reply, "is malformed"),
        (altered(reply, "\"node\":", "\"node\":9"), reply, "is malformed"),
        // The removed command sent the message that arrives first; the line of this arrival moves
        // up by one.
        (without(index_of("\"command\":\"acquire\"")), index_of("\"input\":{\"message\"") - 1, "cannot be replayed"),
        (lines[..entry].concat() + &lines[entry][..20], entry, "is malformed"),
    ];
    for (number, (journal, index, problem)) in cases.into_iter().enumerate() {
        recorded.replace_journal(journal);
        for command in ["replay run.journal", "replay run.journal --steps", "replay run.journal --json"] {
            let error = recorded.run(command).error_after_output();
            assert!(error.starts_with("error: in run.journal: line "), "case {number}: {error}");
            assert!(error.contains(problem), "case {number}: {error}");
            let line: usize = error.split([' ', ':']).find_map(|word| word.parse().ok()).unwrap();
            assert_eq!(line, index + 1, "case {number}: {error}");
        }
        if problem == "is malformed" {
            for command in ["trace run.journal", "trace run.journal --summary", "trace run.journal --before 2 3"] {
                assert!(recorded.run(command).error_after_output().contains(problem), "case {number}");
            }
        }
    }
}

#[test]
fn a_false_header_is_rejected() {
    let recorded = RecordedRun::new("sim central --entries 1", 0);
    let text = recorded.journal();
    for (from, to) in [
        ("\"nodes\":3,\"seed\":1,\"run\"", "\"nodes\":9223372036854775807,\"seed\":1,\"run\""),
        ("\"nodes\":3,\"seed\":1,\"run\"", "\"nodes\":2,\"seed\":1,\"run\""),
        ("\"nodes\":3,\"seed\":1,\"run\"", "\"nodes\":3,\"seed\":2,\"run\""),
        ("{\"algorithm\":\"central\"", "{\"algorithm\":\"cental\""),
        ("\"latency\":\"uniform:1ms..5ms\"", "\"latency\":\"fixed:0ms\""),
        ("\"loss\":\"0\"", "\"loss\":\"2\""),
        ("\"until\":null", "\"until\":null,\"unheard\":1"),
        ("\"journal\":2", "\"journal\":3"),
    ] {
        assert!(text.contains(from), "no {from} in {text}");
        recorded.replace_journal(text.replacen(from, to, 1));
        for command in ["replay run.journal --steps", "trace run.journal", "trace run.journal --before 2 3"] {
            assert!(recorded.run(command).error().starts_with("error: in run.journal: "), "{to}: {command}");
        }
    }
}
