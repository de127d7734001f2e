//! Failures made small on the command line: what is saved repeats them, and what cannot be made small is told.

use crate::run::{Run, run_in};
use std::fs;
use std::path::Path;

#[track_caller]
fn named_command(script: &str) -> &str {
    script
        .lines()
        .find_map(|line| line.strip_prefix("# To see it: "))
        .unwrap_or_else(|| panic!("no command in\n{script}"))
}

/// Makes a run small, and sees to it that the saved script breaks the same property, and is short.
#[track_caller]
fn becomes_small(folder: &Path, line: &str, property: &str) -> serde_json::Value {
    let report = run_in(folder, &format!("shrink {line} --property {property} --out small.script --json")).json(0);
    assert_eq!(report["property"], property, "{line}");
    let script = fs::read_to_string(folder.join("small.script")).unwrap();
    assert!(script.starts_with(&format!("# Made small by quorate shrink: '{property}' of ")), "{script}");
    assert!(script.ends_with(report["script"].as_str().unwrap()), "{script}");
    assert_eq!(report["replay"], named_command(&script));
    let again = run_in(folder, &format!("{} --json", named_command(&script))).json(1);
    let broken: Vec<_> = again["properties"].as_array().unwrap().iter().filter(|one| one["holds"] == false).collect();
    let breach = broken.iter().find(|one| one["name"] == property).unwrap_or_else(|| panic!("{line}: {broken:?}"));
    assert_eq!(breach["violation"]["text"], report["text"]);
    assert!(report["lines"].as_u64().unwrap() <= 12, "{script}");
    report
}

/// Runs, the properties that they break, and how many events are left at most.
type Broken = (&'static str, &'static str, u64);

fn break_the_same_property(runs: &[Broken]) {
    let folder = tempfile::tempdir().unwrap();
    for (line, property, most) in runs {
        let report = becomes_small(folder.path(), line, property);
        assert!(report["after"]["events"].as_u64().unwrap() <= *most, "{line}: {report}");
    }
}

#[test]
fn a_saved_script_breaks_the_same_property() {
    break_the_same_property(&[
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

/// These take thousands of tries, or of seeds.
#[test]
#[ignore = "long: ./check long"]
fn a_saved_script_of_a_long_search_breaks_the_same_property() {
    break_the_same_property(&[
        ("ricart-agrawala-1981 --entries 40 --cancel 0.3 --seeds 3000", "exclusion", 12),
        ("replica-applied-twice --chaos", "equal", 12),
        ("replica-early-ack --chaos --disk uniform:0ms..40ms --seed 17", "kept", 12),
    ]);
}

#[test]
fn what_is_printed_is_what_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let told = run_in(folder.path(), "shrink ricart-agrawala-node-only --nodes 5").ok(0);
    let script = fs::read_to_string(folder.path().join("ricart-agrawala-node-only.script")).unwrap();
    for line in script.lines().filter(|line| !line.starts_with('#')) {
        assert!(told.contains(&format!("\n  {line}\n")), "no '{line}' in\n{told}");
    }
    assert!(told.contains("The steps that lead to 'exclusion':") && told.contains("before     after"), "{told}");
    assert!(told.ends_with(&format!("To see it again: {}\n", named_command(&script))), "{told}");
    // Nothing but the time depends on when it is run.
    let again = run_in(folder.path(), "shrink ricart-agrawala-node-only --nodes 5").ok(0);
    let timeless = |told: &str| told.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(timeless(&told), timeless(&again));
    assert_eq!(fs::read_to_string(folder.path().join("ricart-agrawala-node-only.script")).unwrap(), script);
}

#[test]
fn a_journal_of_any_driver_becomes_small() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    run("check ricart-agrawala-1981 --nodes 2 --rounds 3 --trace found.journal").ok(1);
    let found = becomes_small(folder.path(), "found.journal", "happened-before-order");
    assert_eq!(found["after"]["events"], 12);
    let walked = run(
        "check ricart-agrawala-node-only --nodes 3 --rounds 2 --walks 20 --property exclusion --trace walked.journal",
    );
    assert_eq!(walked.code, Some(1), "{walked:?}");
    becomes_small(folder.path(), "walked.journal", "exclusion");
    run("sim toy-slip --nodes 4 --entries 40 --trace simulated.journal").ok(1);
    becomes_small(folder.path(), "simulated.journal", "served");
    run("sim central --entries 5 --workload all --fault \"pause 1 at 2ms for 10ms\" --fault \"pause 2 at 5ms for 30ms\" \
         --fault \"pause 3 at 20ms\" --trace pauses.journal")
    .ok(1);
    let paused = becomes_small(folder.path(), "pauses.journal", "served");
    assert!(paused["script"].as_str().unwrap().contains("pause "), "{paused}");
    // A seed comes down to two nodes, and so does what the checker found with three.
    run("check toy-slip --nodes 3 --rounds 3 --walks 1000 --trace slip.journal").ok(1);
    assert_eq!(becomes_small(folder.path(), "slip.journal", "served")["after"]["nodes"], 2);
}

/// A part of a millisecond is left only where it must be.
#[test]
fn times_become_simple() {
    let folder = tempfile::tempdir().unwrap();
    let report = run_in(folder.path(), "shrink ricart-agrawala-node-only --nodes 5 --json").json(0);
    assert_eq!(report["script"], "acquire 2\nacquire 1 at 1ms\nmessage 1 of 1 > 2 takes 2ms\n");
    let report = run_in(folder.path(), "shrink replica-applied-twice --chaos --json").json(0);
    let replay = report["replay"].as_str().unwrap();
    assert!(!replay.contains('.') || !replay.split("--until").nth(1).unwrap().contains('.'), "{replay}");
}

/// Everything that leads to a breach is shown where that is not much, what an earlier life did too.
#[test]
fn all_steps_of_a_small_run_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let told =
        run_in(folder.path(), "shrink replica-early-ack --chaos --disk uniform:0ms..40ms --seed 17 --property kept")
            .ok(0);
    assert!(told.contains("than in its earlier life (term "), "{told}");
    assert_eq!(told.matches("has applied entry 2").count(), 2, "{told}");
    let script = fs::read_to_string(folder.path().join("replica-early-ack.script")).unwrap();
    assert!(script.contains("\n# At ") && script.contains(": node 1 applied another entry"), "{script}");
}

#[test]
fn a_script_goes_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let script = run_in(folder.path(), "shrink toy-embrace --out -").ok(0);
    assert!(script.starts_with("# Made small by quorate shrink: 'served' of toy-embrace fails.\n"), "{script}");
    complains(run_in(folder.path(), "shrink toy-embrace --out - --json"), &["--json and --out - both"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    fs::write(folder.path().join("toy-embrace.script"), script.as_bytes()).unwrap();
    run_in(folder.path(), named_command(&script)).ok(1);
}

#[track_caller]
fn complains(ended: Run, parts: &[&str]) {
    let told = ended.complaint();
    parts.iter().for_each(|part| assert!(told.contains(part), "no '{part}' in {told}"));
}

#[test]
fn what_cannot_be_made_small_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    complains(run("shrink central"), &["No property fails in this run", "'quorate sweep central --nodes 3"]);
    complains(run("shrink central --property served"), &["'served' does not fail in this run"]);
    complains(run("shrink central --property speed"), &["There is no property 'speed'", "exclusion"]);
    complains(run("shrink central --seeds 20"), &["In 20 seeds from 1 on every property holds"]);
    complains(run("shrink nobody"), &["There is no algorithm 'nobody', nor a file of this name."]);
    complains(run("shrink toy-embrace --tries 0"), &["write at least 1"]);
    run("check toy-favourite --nodes 3 --rounds unbounded --trace lasso.journal").ok(1);
    complains(run("shrink lasso.journal"), &["In lasso.journal: This run repeats itself for ever", "quorate replay"]);
    complains(run("shrink lasso.journal --nodes 4"), &["says itself what was run"]);
    for option in ["--nodes 3", "--seed 1", "--seeds 4", "--loss 0", "--links auto", "--entries 10", "--chaos"] {
        complains(run(&format!("shrink lasso.journal {option}")), &["says itself what was run"]);
    }
    fs::write(folder.path().join("noise.journal"), "\u{1b}[2J\n").unwrap();
    complains(run("shrink noise.journal"), &["In noise.journal: This is not a journal"]);
    run("sim central --trace calm.journal").ok(0);
    complains(run("shrink calm.journal"), &["In calm.journal: No property fails in this journal"]);
    let torn = fs::read(folder.path().join("lasso.journal")).unwrap();
    fs::write(folder.path().join("torn.journal"), &torn[..torn.len() - 9]).unwrap();
    complains(run("shrink torn.journal"), &["the file is cut off here"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4, "nothing else was written");
}

#[test]
fn nothing_of_others_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    let mine = folder.path().join("toy-embrace.script");
    fs::write(&mine, "acquire 1\nacquire 2\n").unwrap();
    complains(run("shrink toy-embrace"), &["toy-embrace.script is there already", "--out FILE"]);
    complains(
        run("shrink toy-embrace --nodes 2 --script toy-embrace.script --out ./toy-embrace.script"),
        &["would overwrite the script"],
    );
    assert_eq!(fs::read_to_string(&mine).unwrap(), "acquire 1\nacquire 2\n");
    run("sim toy-embrace --trace run.journal").ok(1);
    let journal = fs::read(folder.path().join("run.journal")).unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    std::os::unix::fs::symlink("../run.journal", folder.path().join("sub/link")).unwrap();
    for out in ["run.journal", "./sub/../run.journal", "sub/link"] {
        complains(run(&format!("shrink run.journal --out {out}")), &["would overwrite the journal"]);
    }
    complains(run("shrink sub/link --out run.journal"), &["would overwrite the journal"]);
    assert_eq!(fs::read(folder.path().join("run.journal")).unwrap(), journal);
    let report = run("shrink toy-embrace --nodes 4 --script toy-embrace.script --out small --json").json(0);
    assert_eq!(report["after"]["nodes"], 2);
    fs::remove_file(&mine).unwrap();
    run("shrink toy-embrace").ok(0);
    run("shrink toy-embrace").ok(0);
}

#[test]
fn few_tries_give_what_they_give() {
    let folder = tempfile::tempdir().unwrap();
    let told = run_in(folder.path(), "shrink ricart-agrawala-first-only --nodes 4 --workload all --tries 30").ok(0);
    assert!(told.contains("All 30 tries were used; more may make it smaller: --tries 120."), "{told}");
    let report =
        run_in(folder.path(), "shrink ricart-agrawala-first-only --nodes 4 --workload all --tries 30 --json").json(0);
    assert_eq!((&report["end"], &report["tries"]), (&"out-of-tries".into(), &30.into()));
    let told =
        run_in(folder.path(), "shrink ricart-agrawala-first-only --nodes 4 --workload all --tries 1 --out none").ok(0);
    assert!(told.contains("The one try was used; more may make it smaller: --tries 4."), "{told}");
    assert!(told.contains("Nothing was saved") && !folder.path().join("none").exists(), "{told}");
}

#[test]
fn what_is_small_already_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small"), "pause 1\nacquire 2\n").unwrap();
    let told = run_in(folder.path(), "shrink central --nodes 2 --script small --out smaller").ok(0);
    assert!(told.contains("It is as small as it gets already"), "{told}");
    assert!(fs::read_to_string(folder.path().join("smaller")).unwrap().ends_with("\npause 1\nacquire 2\n"));
}
