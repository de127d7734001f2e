//! `quorate shrink`: saved scripts repeat the failure, and runs that cannot be shrunk are reported.

use crate::run::{Run, run_in};
use std::fs;
use std::path::Path;

#[track_caller]
fn command_in_script(script: &str) -> &str {
    script
        .lines()
        .find_map(|line| line.strip_prefix("# To see it: "))
        .unwrap_or_else(|| panic!("no command in\n{script}"))
}

/// Shrinks a run, and checks that the saved script is short and violates the same property.
#[track_caller]
fn assert_shrinks(folder: &Path, line: &str, property: &str) -> serde_json::Value {
    let report = run_in(folder, &format!("shrink {line} --property {property} --out small.script --json")).json(0);
    assert_eq!(report["property"], property, "{line}");
    let script = fs::read_to_string(folder.join("small.script")).unwrap();
    assert!(script.starts_with(&format!("# Made small by quorate shrink: '{property}' of ")), "{script}");
    assert!(script.ends_with(report["script"].as_str().unwrap()), "{script}");
    assert_eq!(report["replay"], command_in_script(&script));
    let again = run_in(folder, &format!("{} --json", command_in_script(&script))).json(1);
    let broken: Vec<_> = again["properties"].as_array().unwrap().iter().filter(|one| one["holds"] == false).collect();
    let violation = broken.iter().find(|one| one["name"] == property).unwrap_or_else(|| panic!("{line}: {broken:?}"));
    assert_eq!(violation["violation"]["text"], report["text"]);
    assert!(report["lines"].as_u64().unwrap() <= 12, "{script}");
    report
}

/// A run, the property that fails in it, and the maximum number of events after shrinking.
type FailingRun = (&'static str, &'static str, u64);

fn assert_all_shrink(runs: &[FailingRun]) {
    let folder = tempfile::tempdir().unwrap();
    for (line, property, max_events) in runs {
        let report = assert_shrinks(folder.path(), line, property);
        assert!(report["after"]["events"].as_u64().unwrap() <= *max_events, "{line}: {report}");
    }
}

#[test]
fn a_saved_script_violates_the_same_property() {
    assert_all_shrink(&[
        ("ricart-agrawala-clock-only --nodes 5 --entries 40", "exclusion", 12),
        ("ricart-agrawala-node-only --nodes 5 --processing uniform:0ms..1ms", "exclusion", 12),
        ("ricart-agrawala-first-only --nodes 4 --workload all", "served", 14),
        ("ricart-agrawala-1981 --entries 40 --cancel 0.3 --seed 138", "exclusion", 12),
        ("toy-forgetful --loss 0.1 --random-faults pause=2", "exclusion", 12),
        ("toy-embrace --nodes 5", "served", 12),
        ("toy-slip --nodes 4 --entries 40", "served", 12),
        ("toy-lease --random-faults drift=3 --hold fixed:2s --seeds 50", "exclusion", 12),
        ("central --fault \"crash 1 at 10ms\"", "served", 12),
        ("central --fault \"pause 1 at 5ms\"", "served", 12),
        ("central --fault \"pause 1 at 50ms\"", "served", 12),
        ("central --fault \"pause 3 at 8ms\" --workload all", "served", 12),
    ]);
}

/// These runs take thousands of tries or seeds.
#[test]
#[ignore = "long: ./check long"]
fn a_saved_script_of_a_long_search_violates_the_same_property() {
    assert_all_shrink(&[
        ("ricart-agrawala-1981 --entries 40 --cancel 0.3 --seeds 3000", "exclusion", 12),
        ("replica-applied-twice --chaos", "equal", 12),
        ("replica-early-ack --chaos --disk uniform:0ms..40ms --seeds 100", "kept", 12),
    ]);
}

#[test]
fn the_printed_script_is_the_saved_one() {
    let folder = tempfile::tempdir().unwrap();
    let printed = run_in(folder.path(), "shrink ricart-agrawala-node-only --nodes 5").exits(0);
    let script = fs::read_to_string(folder.path().join("ricart-agrawala-node-only.script")).unwrap();
    for line in script.lines().filter(|line| !line.starts_with('#')) {
        assert!(printed.contains(&format!("\n  {line}\n")), "no '{line}' in\n{printed}");
    }
    assert!(
        printed.contains("The steps that lead to the violation of 'exclusion':")
            && printed.contains("before     after"),
        "{printed}"
    );
    assert!(printed.ends_with(&format!("To see it again: {}\n", command_in_script(&script))), "{printed}");
    // Only the printed duration differs between runs.
    let again = run_in(folder.path(), "shrink ricart-agrawala-node-only --nodes 5").exits(0);
    let without_duration = |printed: &str| printed.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(without_duration(&printed), without_duration(&again));
    assert_eq!(fs::read_to_string(folder.path().join("ricart-agrawala-node-only.script")).unwrap(), script);
}

#[test]
fn journals_of_checks_walks_and_simulations_can_be_shrunk() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    run("check ricart-agrawala-1981 --nodes 2 --rounds 3 --trace found.journal").exits(1);
    let found = assert_shrinks(folder.path(), "found.journal", "happened-before-order");
    // The checker finds a shortest run: 6 commands and the receipt of 6 messages.
    assert_eq!(found["after"]["events"], 12);
    let walked = run(
        "check ricart-agrawala-node-only --nodes 3 --rounds 2 --walks 20 --property exclusion --trace walked.journal",
    );
    assert_eq!(walked.code, Some(1), "{walked:?}");
    assert_shrinks(folder.path(), "walked.journal", "exclusion");
    run("sim toy-slip --nodes 4 --entries 40 --trace simulated.journal").exits(1);
    assert_shrinks(folder.path(), "simulated.journal", "served");
    run("sim central --entries 5 --workload all --fault \"pause 1 at 2ms for 10ms\" --fault \"pause 2 at 5ms for 30ms\" \
         --fault \"pause 3 at 20ms\" --trace pauses.journal")
    .exits(1);
    let paused = assert_shrinks(folder.path(), "pauses.journal", "served");
    assert!(paused["script"].as_str().unwrap().contains("pause "), "{paused}");
    // The counterexample with three nodes shrinks to two nodes.
    run("check toy-slip --nodes 3 --rounds 3 --walks 1000 --trace slip.journal").exits(1);
    assert_eq!(assert_shrinks(folder.path(), "slip.journal", "served")["after"]["nodes"], 2);
}

/// Times keep fractions of a millisecond only if necessary.
#[test]
fn times_are_rounded() {
    let folder = tempfile::tempdir().unwrap();
    let report = run_in(folder.path(), "shrink ricart-agrawala-node-only --nodes 5 --json").json(0);
    // The last line of the script gives the first message from node 1 to node 2 a delay of 2 ms.
    assert_eq!(report["script"], "acquire 2\nacquire 1 at 1ms\nmessage 1 of 1 > 2 takes 2ms\n");
    let report = run_in(folder.path(), "shrink replica-applied-twice --chaos --json").json(0);
    let replay = report["replay"].as_str().unwrap();
    // The script's name contains a dot; the time after `--until` must not.
    assert!(!replay.contains('.') || !replay.split("--until").nth(1).unwrap().contains('.'), "{replay}");
}

/// A small run is shown with all steps, including those of earlier incarnations.
#[test]
fn all_steps_of_a_small_run_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let printed =
        run_in(folder.path(), "shrink replica-early-ack --chaos --disk uniform:0ms..40ms --seeds 100 --property kept")
            .exits(0);
    assert!(printed.contains("than in its earlier incarnation (term "), "{printed}");
    // Once in each of the two incarnations of the node.
    assert_eq!(printed.matches("has applied entry 2").count(), 2, "{printed}");
    let script = fs::read_to_string(folder.path().join("replica-early-ack.script")).unwrap();
    assert!(script.contains("\n# At ") && script.contains(": node 1 applied another entry"), "{script}");
}

#[test]
fn a_script_goes_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let script = run_in(folder.path(), "shrink toy-embrace --out -").exits(0);
    assert!(script.starts_with("# Made small by quorate shrink: 'served' of toy-embrace fails.\n"), "{script}");
    assert_error(run_in(folder.path(), "shrink toy-embrace --out - --json"), &["--json and --out - both"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    fs::write(folder.path().join("toy-embrace.script"), script.as_bytes()).unwrap();
    run_in(folder.path(), command_in_script(&script)).exits(1);
}

#[track_caller]
fn assert_error(result: Run, parts: &[&str]) {
    let printed = result.error();
    parts.iter().for_each(|part| assert!(printed.contains(part), "no '{part}' in {printed}"));
}

#[test]
fn runs_that_cannot_be_shrunk_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    assert_error(run("shrink central"), &["no property fails in this run", "'quorate sweep central --nodes 3"]);
    assert_error(run("shrink central --property served"), &["'served' does not fail in this run"]);
    assert_error(
        run("shrink central --property speed"),
        &["--property must name a property of this algorithm; got 'speed'", "exclusion"],
    );
    assert_error(run("shrink central --seeds 20"), &["with 20 seeds, starting at 1, every property holds"]);
    assert_error(run("shrink unknown"), &["'unknown', and there is no file of this name."]);
    assert_error(run("shrink toy-embrace --tries 0"), &["--tries: the number must be at least 1; got 0."]);
    run("check toy-favourite --nodes 3 --rounds unbounded --trace cycle.journal").exits(1);
    assert_error(
        run("shrink cycle.journal"),
        &["in cycle.journal: cannot shrink a run that repeats forever", "quorate replay"],
    );
    assert_error(
        run("shrink cycle.journal --nodes 4"),
        &["--nodes has no effect, because the journal cycle.journal describes the run; omit it."],
    );
    for option in ["--nodes 3", "--seed 1", "--seeds 4", "--loss 0", "--links auto", "--entries 10", "--chaos"] {
        assert_error(run(&format!("shrink cycle.journal {option}")), &["describes the run"]);
    }
    fs::write(folder.path().join("noise.journal"), "\u{1b}[2J\n").unwrap();
    assert_error(run("shrink noise.journal"), &["in noise.journal: this is not a journal"]);
    run("sim central --trace calm.journal").exits(0);
    assert_error(run("shrink calm.journal"), &["in calm.journal: no property fails in this journal"]);
    let torn = fs::read(folder.path().join("cycle.journal")).unwrap();
    fs::write(folder.path().join("torn.journal"), &torn[..torn.len() - 9]).unwrap();
    assert_error(run("shrink torn.journal"), &["the file is truncated in the middle of this line"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4, "other files were written");
}

#[test]
fn foreign_files_are_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    let handwritten_script = folder.path().join("toy-embrace.script");
    fs::write(&handwritten_script, "acquire 1\nacquire 2\n").unwrap();
    assert_error(run("shrink toy-embrace"), &["toy-embrace.script exists", "--out FILE"]);
    assert_error(
        run("shrink toy-embrace --nodes 2 --script toy-embrace.script --out ./toy-embrace.script"),
        &["would overwrite the script"],
    );
    assert_eq!(fs::read_to_string(&handwritten_script).unwrap(), "acquire 1\nacquire 2\n");
    run("sim toy-embrace --trace run.journal").exits(1);
    let journal = fs::read(folder.path().join("run.journal")).unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    std::os::unix::fs::symlink("../run.journal", folder.path().join("sub/link")).unwrap();
    for out in ["run.journal", "./sub/../run.journal", "sub/link"] {
        assert_error(run(&format!("shrink run.journal --out {out}")), &["would overwrite the journal"]);
    }
    assert_error(run("shrink sub/link --out run.journal"), &["would overwrite the journal"]);
    assert_eq!(fs::read(folder.path().join("run.journal")).unwrap(), journal);
    let report = run("shrink toy-embrace --nodes 4 --script toy-embrace.script --out small --json").json(0);
    assert_eq!(report["after"]["nodes"], 2);
    fs::remove_file(&handwritten_script).unwrap();
    // The second command overwrites the script of the first one.
    run("shrink toy-embrace").exits(0);
    run("shrink toy-embrace").exits(0);
}

#[test]
fn the_number_of_tries_is_limited() {
    let folder = tempfile::tempdir().unwrap();
    let printed =
        run_in(folder.path(), "shrink ricart-agrawala-first-only --nodes 4 --workload all --tries 30").exits(0);
    assert!(
        printed.contains("All 30 tries were used; more tries may reduce the run further: --tries 120."),
        "{printed}"
    );
    let report =
        run_in(folder.path(), "shrink ricart-agrawala-first-only --nodes 4 --workload all --tries 30 --json").json(0);
    assert_eq!((&report["end"], &report["tries"]), (&"out-of-tries".into(), &30.into()));
    let printed =
        run_in(folder.path(), "shrink ricart-agrawala-first-only --nodes 4 --workload all --tries 1 --out none")
            .exits(0);
    assert!(printed.contains("The only try was used; more tries may reduce the run further: --tries 4."), "{printed}");
    assert!(printed.contains("No script was saved") && !folder.path().join("none").exists(), "{printed}");
}

#[test]
fn a_minimal_run_is_reported_as_such() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small"), "pause 1\nacquire 2\n").unwrap();
    let printed = run_in(folder.path(), "shrink central --nodes 2 --script small --out smaller").exits(0);
    assert!(printed.contains("The run cannot be reduced"), "{printed}");
    assert!(fs::read_to_string(folder.path().join("smaller")).unwrap().ends_with("\npause 1\nacquire 2\n"));
}
