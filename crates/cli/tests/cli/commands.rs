//! Normal operation of all commands: seeds, workloads, scripts, help and pipes.

use crate::run::{algorithms, quorate, run, run_in, shorten};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

/// All commands except [`LIVE_SUBCOMMANDS`].
const SUBCOMMANDS: [&str; 17] = [
    "demo",
    "list",
    "explain",
    "sim",
    "sweep",
    "check",
    "compare",
    "replay",
    "trace",
    "draw",
    "gallery",
    "bench",
    "certs",
    "shrink",
    "bank",
    "voting-risk",
    "wait-for",
];

/// Commands whose examples take long or need other machines.
const LIVE_SUBCOMMANDS: [&str; 3] = ["run", "node", "record"];

#[test]
fn every_listed_algorithm_can_be_explained_run_and_swept() {
    for name in algorithms() {
        for line in [format!("explain {name}"), format!("sim {name}"), format!("sweep {name} --seeds 20")] {
            assert!(run(&line).exits(0).contains(&name), "{line}");
        }
    }
    let fixtures = run("list --fixtures --json").json(0);
    for fixture in fixtures.as_array().unwrap() {
        let name = fixture["name"].as_str().unwrap();
        // A fixture without a flaw is the correct counterpart of a flawed one.
        let has_flaw = fixture["flaw"].is_string();
        assert_eq!(run(&format!("explain {name}")).exits(0).contains("Wrong on purpose: "), has_flaw, "{name}");
        assert!(run("list --fixtures").exits(0).contains(name));
    }
}

#[test]
fn a_seed_means_the_same_run_in_every_process() {
    let hash = |line: &str| run(&format!("{line} --json")).json(0)["trace_hash"].as_str().unwrap().to_owned();
    for line in
        ["sim central", "sim ricart-agrawala --nodes 5 --loss 0.1 --duplicate 0.05 --random-faults pause=2,cut=1"]
    {
        let hashes: BTreeSet<_> = (1..=5).map(|seed| hash(&format!("{line} --seed {seed}"))).collect();
        assert_eq!(hashes.len(), 5, "two seeds of '{line}' give the same run");
        assert_eq!(hash(&format!("{line} --seed 3")), hash(&format!("{line} --seed 3")));
    }
}

#[test]
fn all_requests_are_made_and_served() {
    for (line, entries) in [
        ("sim central --workload single --entries 7", 7),
        ("sim central --workload all --nodes 9 --entries 4", 4),
        ("sim ricart-agrawala --workload random --nodes 1 --entries 3", 3),
        ("sim ricart-agrawala --nodes 6 --entries 25 --latency long-tail:2ms --processing fixed:0.1ms", 25),
        ("sim ricart-agrawala --entries 20 --fault 'cut 1 | 2,3 at 5ms for 50ms' --fifo", 20),
        ("sim central --entries 20 --requesters 2,3 --fault 'pause 1 at 5ms for 50ms'", 20),
        ("sim central --entries 0", 0),
    ] {
        let report = run(&format!("{line} --json")).json(0);
        assert_eq!((&report["ending"], &report["mutex"]["entries"]), (&"done".into(), &entries.into()), "{line}");
    }
}

#[test]
fn few_requests_among_many_nodes_still_contend() {
    let report = run("sim central --nodes 5000 --json").json(0);
    let contention = &report["sometimes"][0];
    assert_eq!((&contention["name"], &contention["happened"]), (&"contention".into(), &true.into()));
    // The default number of requests.
    assert_eq!(report["mutex"]["entries"], 10);
}

#[test]
fn a_script_gives_commands_and_faults() {
    let folder = tempfile::tempdir().unwrap();
    let script = "\
        # Node 3 requests the lock while node 2 holds it, cancels, and requests it again during a partition.\n\
        acquire 2 at 1ms\n\
        acquire 3 at 4ms\n\
        cancel 3 at 5ms\n\
        cut 3 | rest at 6ms for 10ms\n\
        acquire 3 at 7ms   # delayed by the partition\n\
        release 2 at 8ms\n\
        release 3 at 90ms\n";
    fs::write(folder.path().join("script"), script).unwrap();
    let steps = run_in(folder.path(), "sim central --latency fixed:1ms --script script --steps").exits(0);
    assert_eq!(steps.matches("ENTERS").count(), 2, "{steps}");
    for part in ["cancelled", "cut 3 | rest", "reliable links"] {
        assert!(steps.to_lowercase().contains(part), "no '{part}' in:\n{steps}");
    }
}

#[test]
fn a_script_of_faults_keeps_the_workload() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("faults"), "pause 1 at 3ms for 20ms\n").unwrap();
    let report = run_in(folder.path(), "sim central --script faults --entries 6 --json").json(0);
    assert_eq!(report["mutex"]["entries"], 6);
}

#[test]
fn a_sweep_starts_at_its_seed_and_counts_all_seeds() {
    let report = run("sweep central --seed 100 --seeds 77 --threads 2 --json").json(0);
    assert_eq!((&report["first_seed"], &report["seeds"], &report["failed"]), (&100.into(), &77.into(), &0.into()));
    // After the greatest seed, the sweep continues with seed 0.
    let last_seeds = run("sweep central --seed 18446744073709551615 --seeds 3 --json").json(0);
    assert_eq!(last_seeds["seeds"], 3);
}

#[test]
fn every_help_has_an_example() {
    let subcommands = SUBCOMMANDS.into_iter().chain(LIVE_SUBCOMMANDS).map(|name| format!("{name} --help"));
    for line in std::iter::once("--help".to_owned()).chain(subcommands) {
        let help = run(&line).exits(0);
        let examples: Vec<_> = help.lines().skip_while(|line| !line.starts_with("Example")).skip(1).collect();
        assert!(examples.first().is_some_and(|example| example.starts_with("  quorate")), "{line}:\n{help}");
        assert!(run(&line.replace("--help", "-h")).exits(0).contains("Example"), "{line}");
    }
    assert!(run("--version").exits(0).starts_with("quorate "));
}

/// Runs the examples of the help texts of [`SUBCOMMANDS`], except those that take long. `change`
/// changes each of them.
fn assert_examples_work(change: fn(&str) -> String) {
    let folder = tempfile::tempdir().unwrap();
    let is_cheap = |line: &str| !line.contains("bench") && !line.contains("1000000");
    for name in SUBCOMMANDS {
        let help = run(&format!("{name} --help")).exits(0);
        let examples = help.lines().skip_while(|line| !line.starts_with("Example")).skip(1);
        for example in examples.take_while(|line| line.starts_with("  quorate")).filter(|line| is_cheap(line)) {
            for line in example.split("&&") {
                let line = change(line.trim());
                let result = run_in(folder.path(), &line);
                assert!(matches!(result.code, Some(0 | 1)) && result.err.is_empty(), "{line}: {result:?}");
            }
        }
    }
}

#[test]
fn every_example_of_help_works_in_brief() {
    assert_examples_work(shorten);
}

#[test]
#[ignore = "long: ./check long"]
fn every_example_of_help_works() {
    assert_examples_work(str::to_owned);
}

#[test]
fn piped_output_has_no_colours() {
    for line in [
        "",
        "list",
        "explain central",
        "sim central --steps",
        "sim ricart-agrawala-clock-only",
        "check ricart-agrawala-clock-only",
        "sim unknown",
    ] {
        let result = run(line);
        assert!(!result.out.contains('\u{1b}') && !result.err.contains('\u{1b}'), "'quorate {line}' prints colours");
    }
}

/// As in `quorate … | head -n 1`: closing the pipe is no error, and the exit code still shows the
/// verdict.
#[test]
fn a_reader_may_close_the_output_early() {
    for (words, code) in [
        (&["demo", "--fast"][..], 0),
        (&["list", "--json"], 0),
        (&["explain", "central"], 0),
        (&["sim", "central", "--entries", "2000", "--steps"], 0),
        (&["sim", "ricart-agrawala-clock-only", "--entries", "2000", "--steps"], 1),
        (&["sweep", "ricart-agrawala-clock-only", "--seeds", "40"], 1),
        (&["check", "ricart-agrawala-clock-only"], 1),
        (&["check", "central", "--walks", "10"], 3),
    ] {
        let mut child =
            quorate(Path::new(".")).args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The buffer is small, so that most of the output is unread when the pipe closes.
        let mut reader = BufReader::with_capacity(16, child.stdout.take().unwrap());
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line).unwrap();
        drop(reader);
        let mut error = String::new();
        child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        assert_eq!((child.wait().unwrap().code(), error.as_str()), (Some(code), ""), "{words:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let full_disk = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for line in [&["list"][..], &["sim", "central", "--json"], &["sim", "central", "--steps"], &["check", "central"]] {
        let output = quorate(Path::new(".")).args(line).stdout(full_disk()).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(error, "error: cannot write the output: No space left on device (os error 28).\n");
    }
}

/// A run lasts until the last command of its script is answered.
#[test]
fn a_script_with_late_commands_runs_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "acquire 2 at 6s\nrelease 2 at 700s\ncut 3 | rest at 800s for 900s\nacquire 3 at 801s\nrelease 3 at 2000s\n";
    fs::write(folder.path().join("late"), script).unwrap();
    for algorithm in ["central", "ricart-agrawala"] {
        let printed = run_in(folder.path(), &format!("sim {algorithm} --script late --json")).json(0);
        assert_eq!((&printed["mutex"]["entries"], &printed["ending"]), (&2.into(), &"done".into()), "{printed}");
    }
}
