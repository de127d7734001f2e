//! Rejected options: those without effect, and those with values out of range. Also options of a
//! family sweep, and former names of options.

use crate::run::{run, run_in};
use serde_json::Value;
use std::fs;

/// Command lines with an option that has no effect, each with a text that its error must contain.
const WITHOUT_EFFECT: [(&str, &str); 47] = [
    ("sim deadlock-and --priorities 3,1", "--priorities has no effect without --victim lowest-priority"),
    (
        "sim deadlock-and --victim youngest --priorities 3",
        "--priorities has no effect without --victim lowest-priority",
    ),
    ("check central --restarts 1", "--restarts has no effect without --crashes"),
    ("check central --walks 5 --no-reduction", "--no-reduction has no effect with --walks"),
    ("check bully --churn 1", "--churn has no effect in a check: --crashes"),
    ("run bully --churn 1", "--churn has no effect with real processes: --kill"),
    ("sim fifo --piece 9", "--piece has no effect without --views"),
    ("sweep fifo --piece 9", "--piece has no effect without --views"),
    ("check fifo --piece 9", "--piece has no effect without --views"),
    ("run fifo --piece 9", "--piece has no effect without --views"),
    ("trace run.journal --clocks --json", "--clocks has no effect with --json"),
    ("voting-risk --simulate never --method draws", "--method has no effect with --simulate never"),
    ("voting-risk --simulate never --trials 9", "--trials has no effect with --simulate never"),
    ("voting-risk --simulate never --seed 1", "--seed has no effect with --simulate never"),
    ("run central --views --membership oracle", "--membership oracle has no effect between real processes"),
    ("run fifo --views --membership impatient", "--membership impatient has no effect between real processes"),
    ("sim central --script acquires --entries 3", "--entries has no effect with --script"),
    ("sim central --script acquires --workload all", "--workload has no effect with --script"),
    ("sweep central --script acquires --hold fixed:1ms", "--hold has no effect with --script"),
    ("shrink central --script acquires --cancel 0.5", "--cancel has no effect with --script"),
    ("sim bully --script campaigns --starters 2", "--starters has no effect with --script"),
    ("sim fifo --script sends --messages 3", "--messages has no effect with --script"),
    ("sim fifo --script sends --interval fixed:1ms", "--interval has no effect with --script"),
    ("sim deadlock-and --script asks --asks 2", "--asks has no effect with --script"),
    ("compare election --nodes 4 --samples 9", "--samples has no effect if all orders are tried"),
    ("check fifo --medium multicast", "--medium does not apply to a check"),
    ("check fifo --payload 100", "--payload does not apply to a check"),
    ("sim central --lease 1s", "--views"),
    ("check central --steps 9", "--walks"),
    ("sim central --theme dark", "add --svg FILE"),
    ("sim central --from 1ms", "add --svg FILE"),
    ("sim bully --silence 60ms", "add --detector heartbeat"),
    ("sim fifo --leaves 1", "add --views"),
    ("sim deadlock-and --acquire in-order", "--acquire has no effect without --resources; add --resources"),
    ("compare mutex --tls", "--real"),
    ("sweep central --fixtures --seeds 1", "--fixtures has no effect without --family"),
    ("check central --dfs --steps 3", "--steps has no effect without --walks"),
    ("check central --dfs --seed 7", "--seed has no effect without --walks"),
    ("draw run.journal --overview --notes full", "--notes has no effect with --overview"),
    ("draw run.journal --overview --clocks vector", "--clocks has no effect with --overview"),
    ("draw run.journal --overview --all-steps", "--all-steps has no effect with --overview"),
    ("run basic --medium broadcast", "--medium has no effect with real processes"),
    ("sim basic --traffic flood --interval fixed:9ms", "--interval has no effect with --traffic flood"),
    ("sim replica --clients 0 --keys 5", "--keys has no effect with --clients 0"),
    ("sim bully --id-bits 3", "--id-bits does not apply to 'bully'; it is an option of elections of super-peers"),
    ("sim lelann --load-bound 3", "--load-bound does not apply to 'lelann'"),
    (
        "sim deadlock-central --detect-after 1ms",
        "--detect-after does not apply to 'deadlock-central'; it is an option of detectors",
    ),
];

#[test]
fn numbers_out_of_range_are_rejected() {
    for (line, expected) in [
        ("sim basic --payload 1048577", "--payload must be at most 1048576 bytes"),
        ("run basic --payload 18446744073709551615", "--payload must be at most 1048576 bytes"),
        ("sim deadlock-and --resources 18446744073709551615", "--resources must be at most 4096"),
        ("sim bully --churn 18446744073709551615", "--churn must be at most 100000"),
        ("sim replica --changes 4294967295", "--changes must be at most 10000; got 4294967295."),
        ("sim deadlock-and --share 200", "--share must be between 0 and 100; got 200."),
        ("sim deadlock-and --fan-out 0", "--fan-out must be at least 1; got 0."),
        ("check central --crashes 32", "--crashes: the number must be at most 31 in a check; got 32."),
    ] {
        let error = run(line).error();
        assert!(error.contains(expected), "{line}: {error}");
    }
}

#[test]
fn options_without_effect_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("acquires", "acquire 1 at 1ms\nrelease 1 at 9ms\n"),
        ("campaigns", "campaign 1 at 1ms\n"),
        ("sends", "send 1 at 1ms\n"),
        ("asks", "ask 1 \"P2\" at 1ms\nanswer 2 \"P1\" at 9ms\n"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    for (line, expected) in WITHOUT_EFFECT {
        let error = run_in(folder.path(), line).error();
        assert!(error.contains(expected), "{line}: {error}");
        // The error is about the option, not about a missing file.
        assert!(!error.contains("cannot read") && !error.contains("cannot open"), "{line}: {error}");
    }
}

/// A script without commands keeps the workload of the clients.
#[test]
fn a_script_of_faults_can_have_a_workload() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("faults"), "pause 2 at 5ms for 9ms\n").unwrap();
    run_in(folder.path(), "sim central --script faults --entries 3").exits(0);
}

fn rows(line: &str) -> Vec<Value> {
    run(line).json(0)["rows"].as_array().unwrap().clone()
}

#[test]
fn a_family_sweep_applies_options_to_algorithms_that_accept_them() {
    let events = |rows: &[Value]| rows.iter().map(|row| row["events"].as_u64().unwrap()).collect::<Vec<_>>();
    let default_rows = rows("sweep --family deadlock --seeds 24 --json");
    let rows_with_option = rows("sweep --family deadlock --victim youngest --seeds 24 --json");
    let pairs = events(&default_rows).into_iter().zip(events(&rows_with_option));
    assert!(
        pairs.clone().count() > 2 && pairs.clone().all(|(one, other)| one != other),
        "{default_rows:?}, {rows_with_option:?}"
    );
    let swept = rows("sweep --family multicast --sequencing via --seeds 12 --json");
    for row in swept {
        let has_sequencer = ["sequencer", "fifo-total", "causal-total"].iter().any(|name| row["algorithm"] == *name);
        let reason = row["without_options"].as_str();
        assert_eq!(reason.is_none(), has_sequencer, "{row}");
        assert!(reason.is_none_or(|reason| reason.contains("has no sequencer")), "{row}");
    }
}

#[test]
fn a_family_sweep_rejects_options_that_no_algorithm_accepts() {
    for (line, expected) in [
        (
            "--family mutex --victim youngest",
            "--victim has no effect on the mutex family; it is an option of the deadlock family.",
        ),
        ("--family election --window 3", "--window has no effect on the election family"),
        ("--family multicast --window 0", "no algorithm of the multicast family accepts --window with this value"),
        (
            "--family deadlock --victim youngest --priorities 1",
            "--priorities has no effect without --victim lowest-priority",
        ),
        ("--family mutex --loss 0.1", "--family"),
        ("--family deadlock --nodes 4", "--family"),
    ] {
        let error = run(&format!("sweep {line}")).error();
        assert!(error.contains(expected), "{line}: {error}");
    }
}

/// Command lines in users' scripts may have the names that options had in earlier releases.
#[test]
fn options_have_the_same_effect_under_their_former_names() {
    for (command, former, present) in [
        ("sim bully", "--upheaval 2", "--churn 2"),
        ("sim majority-lease", "--master-lease 500ms", "--leader-lease 500ms"),
        ("sim majority-lease", "--master-drift-bound 2000ppm", "--leader-drift-bound 2000ppm"),
        ("sim deadlock-and --resources 2", "--taking in-order", "--acquire in-order"),
        ("sim deadlock-and", "--asks-after fixed:9ms", "--request-after fixed:9ms"),
        ("sim deadlock-and", "--lets-go-after fixed:9ms", "--release-after fixed:9ms"),
        ("sim deadlock-and", "--looks-after 9ms", "--detect-after 9ms"),
        ("sim token-ring-acknowledged", "--bound 9ms", "--delay-bound 9ms"),
        ("sim berkeley", "--patience 9s", "--leader-timeout 9s"),
        ("voting-risk --trials 100 --simulate always", "--by draws", "--method draws"),
        ("check bully --nodes 2", "--hasty-timers 1", "--early-timers 1"),
        ("check ricart-agrawala-clock-only --nodes 2", "--first", "--stop-at-first"),
        ("check bully --nodes 2", "--property one-leader-an-epoch", "--property one-leader-per-epoch"),
    ] {
        let outputs = [former, present, ""].map(|option| run(&format!("{command} {option} --json")).out);
        let [with_former, with_present, without] = outputs.map(|text| {
            text.lines().filter(|line| !line.contains("seconds") && !line.contains("_per_second")).collect::<String>()
        });
        assert!(!with_present.is_empty(), "{command} {present} prints nothing");
        assert_eq!(with_former, with_present, "{command} {former}");
        assert_ne!(with_present, without, "{command} {present} has no effect");
    }
}
