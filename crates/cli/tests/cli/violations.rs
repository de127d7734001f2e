//! A run that breaks a property shows how, and prints the command that breaks it again.

use crate::run::{run, run_in};
use serde_json::Value;
use std::fs;

#[track_caller]
fn printed_command(told: &str) -> &str {
    told.lines()
        .find_map(|line| line.strip_prefix("To see it again: "))
        .unwrap_or_else(|| panic!("no command in\n{told}"))
}

fn failing_lines(told: &str) -> Vec<&str> {
    told.lines().filter(|line| line.contains("FAILS")).collect()
}

#[test]
fn a_violated_run_tells_its_story_and_can_be_seen_again() {
    for (line, property) in [
        ("sim ricart-agrawala-clock-only --workload all", "exclusion"),
        ("sim ricart-agrawala-node-only --entries 60 --nodes 5", "exclusion"),
        ("sim ricart-agrawala-first-only --workload all --nodes 4", "served"),
        ("sim central --fault 'crash 1 at 10ms'", "served"),
        ("sim central --fault 'cut 1 | rest at 3ms' --links bare --hold fixed:7ms --think uniform:0ms..1us", "served"),
        ("sim ricart-agrawala --loss 0.3 --links bare --seed 7 --latency long-tail:2ms --requesters 1,3", "served"),
    ] {
        let told = run(line).ok(1);
        let story =
            told.split_once(&format!("The steps that lead to '{property}':")).unwrap_or_else(|| panic!("{told}")).1;
        assert!(story.contains("whose step it is"), "{told}");
        assert_eq!(run(printed_command(&told)).ok(1), told);
        let steps = run(&format!("{line} --steps")).ok(1);
        assert_eq!(printed_command(&steps), printed_command(&told));
        assert_eq!(failing_lines(&steps), failing_lines(&told));
    }
}

/// Whatever can be set is in the printed command: it gives the same run to the last byte.
#[test]
fn the_printed_command_repeats_every_setting() {
    let line = "sim ricart-agrawala-clock-only --nodes 6 --seed 12 --entries 33 --workload all --requesters 1-3,5 \
                --latency uniform:1ms..2.5ms --processing uniform:1us..3us --disk fixed:2ms --hold fixed:3ms \
                --think long-tail:4ms --loss 12.5% --duplicate 0.0625 --fifo --links reliable --try 0.1 --cancel 0.2 \
                --fault 'pause 2 at 3ms for 4ms' --fault 'link 1 > 2 latency fixed:9ms' \
                --random-faults pause=2,skew --until 90s";
    let told = run(line).ok(1);
    let command = printed_command(&told);
    let flags = line.split_whitespace().filter(|word| word.starts_with("--"));
    flags.for_each(|flag| assert!(command.contains(flag), "no {flag} in {command}"));
    let hash = |line: &str| run(&format!("{line} --json")).json(1)["trace_hash"].clone();
    assert_eq!(hash(command), hash(line));
}

#[test]
fn a_script_is_found_again_whatever_it_is_called() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["story", "my story.txt", "it's $HOME", "a\"b`c"] {
        fs::write(folder.path().join(name), "crash 1 at 2ms\nacquire 2 at 5ms\n").unwrap();
        let words = ["sim", "central", "--script", name];
        let told = crate::run::run_words(folder.path(), &words).ok(1);
        assert_eq!(run_in(folder.path(), printed_command(&told)).ok(1), told);
    }
}

/// The lowest seed of the sweep that fails alone, and how many fail in all.
fn one_by_one(line: &str, seeds: std::ops::RangeInclusive<u64>) -> (u64, usize) {
    let failing: Vec<_> = seeds.filter(|seed| run(&format!("sim {line} --seed {seed}")).code == Some(1)).collect();
    (failing[0], failing.len())
}

fn without_time(mut report: Value) -> Value {
    report.as_object_mut().unwrap().remove("seconds").unwrap();
    report
}

const RARE: &str = "ricart-agrawala-clock-only --nodes 2 --entries 4 --think uniform:0ms..40ms";

#[test]
fn a_sweep_names_the_lowest_failing_seed_and_how_to_see_it() {
    let (lowest, failing) = one_by_one(RARE, 1..=70);
    assert!(lowest > 2 && failing > 2, "choose another line: {lowest}, {failing}");
    let told = run(&format!("sweep {RARE} --seeds 70")).ok(1);
    assert!(told.contains(&format!("\nSeed {lowest} breaks 'exclusion': ")), "{told}");
    assert!(told.contains("--keep-going"), "{told}");
    let again = run(printed_command(&told)).ok(1);
    let story =
        |told: &str| told.split_once("The steps that lead to").unwrap().1.split_once("To see").unwrap().0.to_owned();
    assert_eq!(story(&told), story(&again));
    assert_eq!(printed_command(&told), printed_command(&again));

    let report = run(&format!("sweep {RARE} --seeds 70 --json")).json(1);
    assert_eq!(
        (&report["failure"]["seed"], &report["seeds"], &report["failed"]),
        (&lowest.into(), &lowest.into(), &1.into())
    );
    assert_eq!(report["failure"]["replay"], printed_command(&told));
    let counted = run(&format!("sweep {RARE} --seeds 70 --keep-going --json")).json(1);
    assert_eq!(
        (&counted["failure"]["seed"], &counted["seeds"], &counted["failed"]),
        (&lowest.into(), &70.into(), &failing.into())
    );
}

#[test]
fn a_sweep_does_not_depend_on_its_threads() {
    for flags in ["", "--keep-going"] {
        let report = |threads: u32| {
            let line = format!("sweep {RARE} --seeds 400 --threads {threads} {flags} --json");
            without_time(run(&line).json(1))
        };
        let alone = report(1);
        for threads in [2, 2, 3, 8] {
            assert_eq!(report(threads), alone, "{threads} threads {flags}");
        }
    }
}

#[test]
fn a_sweep_that_never_saw_contention_proves_little() {
    let told = run("sweep central --seeds 3 --entries 2 --think uniform:0ms..1h").ok(1);
    assert!(told.contains("sometimes   contention              never happened"), "{told}");
    assert!(told.contains("No seed shows 'contention', so the sweep proves little"), "{told}");
}

/// The story ends with the step that breaks the property, though more happens at the same instant.
#[test]
fn a_story_ends_with_the_breach() {
    let told = run("sim ricart-agrawala-clock-only --latency fixed:1ms --workload all --nodes 50 --entries 50").ok(1);
    let story = told.split("The steps that lead to").nth(1).unwrap();
    let last = story.lines().rfind(|line| line.contains(" from ")).unwrap();
    assert!(last.contains("ENTERS"), "{story}");
}

/// What was at fault is told, however long ago it was and however much was repeated since.
#[test]
fn a_story_keeps_its_faults_and_drops_repetitions() {
    let told = run("sim ricart-agrawala --loss 0.1 --fault \"crash 2 at 20ms\"").ok(1);
    let story = told.split("The steps that lead to").nth(1).unwrap();
    assert!(story.contains("node 2 crashes") && story.contains("RA-1 asks everyone"), "{story}");
    assert!(!story.contains("again →") && !story.contains("its receiver is down"), "{story}");
}
