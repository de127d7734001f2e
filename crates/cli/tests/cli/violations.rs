//! A failing run shows the steps to the violation and the command that repeats it.

use crate::run::{run, run_in};
use serde_json::Value;
use std::fs;

#[track_caller]
fn command_to_repeat(printed: &str) -> &str {
    printed
        .lines()
        .find_map(|line| line.strip_prefix("To see it again: "))
        .unwrap_or_else(|| panic!("no command in\n{printed}"))
}

fn failing_lines(printed: &str) -> Vec<&str> {
    printed.lines().filter(|line| line.contains("FAILS")).collect()
}

#[test]
fn a_failing_run_shows_its_steps_and_can_be_repeated() {
    for (line, property) in [
        ("sim ricart-agrawala-clock-only --workload all", "exclusion"),
        ("sim ricart-agrawala-node-only --entries 60 --nodes 5", "exclusion"),
        ("sim ricart-agrawala-first-only --workload all --nodes 4", "served"),
        ("sim central --fault 'crash 1 at 10ms'", "served"),
        ("sim central --fault 'cut 1 | rest at 3ms' --links bare --hold fixed:7ms --think uniform:0ms..1us", "served"),
        ("sim ricart-agrawala --loss 0.3 --links bare --seed 7 --latency long-tail:2ms --requesters 1,3", "served"),
    ] {
        let printed = run(line).exits(1);
        let steps_shown = printed
            .split_once(&format!("The steps that lead to the violation of '{property}':"))
            .unwrap_or_else(|| panic!("{printed}"))
            .1;
        assert!(steps_shown.contains("[ ] acting node"), "{printed}");
        assert_eq!(run(command_to_repeat(&printed)).exits(1), printed);
        let steps = run(&format!("{line} --steps")).exits(1);
        assert_eq!(command_to_repeat(&steps), command_to_repeat(&printed));
        assert_eq!(failing_lines(&steps), failing_lines(&printed));
    }
}

/// The printed command contains every setting and repeats the run exactly.
#[test]
fn the_printed_command_repeats_every_setting() {
    let line = "sim ricart-agrawala-clock-only --nodes 6 --seed 12 --entries 33 --workload all --requesters 1-3,5 \
                --latency uniform:1ms..2.5ms --processing uniform:1us..3us --disk fixed:2ms --hold fixed:3ms \
                --think long-tail:4ms --loss 12.5% --duplicate 0.0625 --fifo --links reliable --try 0.1 --cancel 0.2 \
                --fault 'pause 2 at 3ms for 4ms' --fault 'link 1 > 2 latency fixed:9ms' \
                --random-faults pause=2,skew --until 90s";
    let printed = run(line).exits(1);
    let command = command_to_repeat(&printed);
    let flags = line.split_whitespace().filter(|word| word.starts_with("--"));
    flags.for_each(|flag| assert!(command.contains(flag), "no {flag} in {command}"));
    let hash = |line: &str| run(&format!("{line} --json")).json(1)["trace_hash"].clone();
    assert_eq!(hash(command), hash(line));
}

#[test]
fn a_script_may_have_any_name() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["script", "my script.txt", "it's $HOME", "a\"b`c"] {
        fs::write(folder.path().join(name), "crash 1 at 2ms\nacquire 2 at 5ms\n").unwrap();
        let words = ["sim", "central", "--script", name];
        let printed = crate::run::run_words(folder.path(), &words).exits(1);
        assert_eq!(run_in(folder.path(), command_to_repeat(&printed)).exits(1), printed);
    }
}

/// Returns the lowest failing seed and the number of failing seeds, from single runs.
fn run_seeds_one_by_one(line: &str, seeds: std::ops::RangeInclusive<u64>) -> (u64, usize) {
    let failing: Vec<_> = seeds.filter(|seed| run(&format!("sim {line} --seed {seed}")).code == Some(1)).collect();
    (failing[0], failing.len())
}

fn without_duration(mut report: Value) -> Value {
    report.as_object_mut().unwrap().remove("seconds").unwrap();
    report
}

/// Arguments of a run that fails with only a few seeds.
const RARELY_FAILING: &str = "ricart-agrawala-clock-only --nodes 2 --entries 4 --think uniform:0ms..40ms";

#[test]
fn a_sweep_reports_the_lowest_failing_seed() {
    let (lowest, failing) = run_seeds_one_by_one(RARELY_FAILING, 1..=70);
    // A sweep must pass seeds before the lowest failing one, and --keep-going must find more.
    assert!(lowest > 2 && failing > 2, "choose another run: seed {lowest} fails first, {failing} in total");
    let printed = run(&format!("sweep {RARELY_FAILING} --seeds 70")).exits(1);
    assert!(printed.contains(&format!("\nWith seed {lowest}, 'exclusion' fails: ")), "{printed}");
    assert!(printed.contains("--keep-going"), "{printed}");
    let again = run(command_to_repeat(&printed)).exits(1);
    let steps_shown = |printed: &str| {
        printed.split_once("The steps that lead to").unwrap().1.split_once("To see").unwrap().0.to_owned()
    };
    assert_eq!(steps_shown(&printed), steps_shown(&again));
    assert_eq!(command_to_repeat(&printed), command_to_repeat(&again));

    let report = run(&format!("sweep {RARELY_FAILING} --seeds 70 --json")).json(1);
    assert_eq!(
        (&report["failure"]["seed"], &report["seeds"], &report["failed"]),
        (&lowest.into(), &lowest.into(), &1.into())
    );
    assert_eq!(report["failure"]["replay"], command_to_repeat(&printed));
    let counted = run(&format!("sweep {RARELY_FAILING} --seeds 70 --keep-going --json")).json(1);
    assert_eq!(
        (&counted["failure"]["seed"], &counted["seeds"], &counted["failed"]),
        (&lowest.into(), &70.into(), &failing.into())
    );
}

#[test]
fn a_sweep_does_not_depend_on_its_threads() {
    for flags in ["", "--keep-going"] {
        let report = |threads: u32| {
            let line = format!("sweep {RARELY_FAILING} --seeds 400 --threads {threads} {flags} --json");
            without_duration(run(&line).json(1))
        };
        let single_threaded = report(1);
        // Two threads are tried twice, because a race shows only sometimes.
        for threads in [2, 2, 3, 8] {
            assert_eq!(report(threads), single_threaded, "{threads} threads {flags}");
        }
    }
}

#[test]
fn a_sweep_without_contention_is_reported() {
    let printed = run("sweep central --seeds 3 --entries 2 --think uniform:0ms..1h").exits(1);
    assert!(printed.contains("sometimes   contention              never happened"), "{printed}");
    assert!(printed.contains("'contention' happened with no seed, so the sweep shows little"), "{printed}");
}

/// The steps end with the one that violates the property, even if more steps happen at the same
/// instant.
#[test]
fn the_steps_end_with_the_violation() {
    let printed =
        run("sim ricart-agrawala-clock-only --latency fixed:1ms --workload all --nodes 50 --entries 50").exits(1);
    let steps_shown = printed.split("The steps that lead to").nth(1).unwrap();
    let last = steps_shown.lines().rfind(|line| line.contains(" from ")).unwrap();
    assert!(last.contains("ENTERS"), "{steps_shown}");
}

/// The steps include all faults before the violation, and leave out retransmissions and lost
/// messages.
#[test]
fn the_steps_keep_faults_and_drop_retransmissions() {
    let printed = run("sim ricart-agrawala --loss 0.1 --fault \"crash 2 at 20ms\"").exits(1);
    let steps_shown = printed.split("The steps that lead to").nth(1).unwrap();
    assert!(steps_shown.contains("node 2 crashes") && steps_shown.contains("RA-1 requests entry"), "{steps_shown}");
    assert!(
        !steps_shown.contains("(retransmitted) →") && !steps_shown.contains("the receiver is down"),
        "{steps_shown}"
    );
}
