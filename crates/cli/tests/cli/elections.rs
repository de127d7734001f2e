//! Elections on the command line: output, invalid options, and runs in real processes.

use crate::run::run;
use serde_json::Value;

fn election_algorithms() -> Vec<String> {
    let listed = run("list --json").json(0);
    let of_family = listed.as_array().unwrap().iter().filter(|entry| entry["family"] == "election");
    of_family.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

fn row<'a>(report: &'a Value, algorithm: &str, nodes: u64, starters: &str) -> &'a Value {
    let is_wanted =
        |row: &&Value| row["algorithm"] == algorithm && row["nodes"] == nodes && row["starters"] == starters;
    let rows = report["rows"].as_array().unwrap();
    rows.iter().find(is_wanted).unwrap_or_else(|| panic!("no {algorithm} with {nodes}, {starters}"))
}

#[test]
fn every_election_reports_its_result_in_json() {
    for name in election_algorithms() {
        let report = run(&format!("sim {name} --nodes 5 --starters lowest --latency fixed:1ms --json")).json(0);
        let election = &report["election"];
        for field in ["leader", "epoch", "election_messages", "announcement_messages", "rounds", "time"] {
            assert!(election.get(field).is_some(), "{name} lacks {field}: {election}");
        }
        assert_eq!(report["family"], "election", "{name}");
    }
}

#[test]
fn best_and_worst_cases_match_the_literature() {
    // Returns the leader and the number of messages.
    let outcome = |line: &str| {
        let report = run(&format!("sim {line} --latency fixed:1ms --json")).json(0);
        let number = |field: &str| report["election"][field].as_u64().unwrap();
        (number("leader"), number("election_messages") + number("announcement_messages"))
    };
    // chang-roberts: from 2n to 3n−1 if one node starts; an announcement by multicast takes n−1 of
    // these instead of n. bully, after the crash of the highest of n nodes: from n−2 to n²−n−1.
    // ring-list: 2n for each starter, here for the n = 6 nodes that are up.
    assert_eq!(outcome("chang-roberts --nodes 9 --starters successor-of-highest"), (9, 3 * 9 - 1));
    assert_eq!(outcome("chang-roberts --nodes 9 --starters highest"), (9, 2 * 9));
    assert_eq!(outcome("chang-roberts --nodes 3 --order 3,1,2 --starters 2 --prefer lowest"), (1, 3 * 3 - 1));
    assert_eq!(outcome("bully --nodes 9 --fault 'crash 9' --starters lowest"), (8, 9 * 9 - 9 - 1));
    assert_eq!(outcome("bully --nodes 9 --fault 'crash 9' --starters highest"), (8, 9 - 2));
    assert_eq!(outcome("ring-list --nodes 7 --fault 'crash 7' --starters 2,5"), (6, 2 * 6 * 2));
    assert_eq!(outcome("chang-roberts --nodes 4 --attribute 3,9,9,1 --starters 3 --announce multicast"), (3, 4 + 3));
}

#[test]
fn comparisons_show_expected_and_measured_figures() {
    let report = run("compare election --nodes 4,5 --json").json(0);
    assert_eq!((&report["complete"], &report["holds"], &report["exact"]), (&true.into(), &true.into(), &true.into()));
    // Election messages on the 3! = 6 arrangements of a ring of four nodes: probes to neighbours
    // and their replies (12), then those of the highest node over two hops (8), and its probes over
    // four hops (8). If the second highest is opposite, it also probes over two hops, in vain (4).
    let all_start = row(&report, "hirschberg-sinclair", 4, "all");
    assert_eq!(
        (all_start["min"].as_u64(), all_start["max"].as_u64(), all_start["runs"].as_u64()),
        (Some(28), Some(32), Some(6))
    );
    // On average n + (n−1)/2 election messages, and n messages that announce the leader.
    let one_starts = row(&report, "chang-roberts", 5, "one");
    assert_eq!(one_starts["expected"]["mean"].as_f64(), Some(12.0));
    assert_eq!(one_starts["mean"].as_f64(), Some(12.0));
    // The lowest node starts after the crash of the highest: n²−n−1 messages.
    let bully = row(&report, "bully", 5, "lowest");
    assert_eq!((bully["dead"].as_u64(), bully["max"].as_u64()), (Some(1), Some(19)));
    let sampled = run("compare election --algorithms peterson --nodes 20 --starters all --samples 30 --json").json(0);
    let peterson = row(&sampled, "peterson", 20, "all");
    assert!(peterson["confidence"].is_array() && peterson["exhaustive"] == false, "{peterson}");
    let table = run("compare election --algorithms chang-roberts --nodes 4").out;
    // Minimum, mean and maximum over all arrangements of the ring; `=` because they are equal to
    // the expected figures.
    assert!(table.contains("= 8 / 9.50 / 11"), "{table}");
}

#[test]
fn invalid_comparisons_are_rejected() {
    for (line, part) in [
        ("compare election --failures", "--failures does not apply to comparisons of elections"),
        ("compare election --entries 5", "--entries does not apply to comparisons of elections"),
        ("compare mutex --starters one", "--starters does not apply to mutual exclusion"),
        ("compare election --samples 1", "--samples must be at least 2; got 1."),
        ("compare election --algorithms central", "'central' is of the mutex family"),
        ("compare election --algorithms bully,bully", "must not contain duplicates; got 'bully' twice"),
        ("compare election --nodes 1", "groups must have at least 2 nodes"),
        ("compare bully", "quorate compare election --algorithms bully"),
    ] {
        let printed = run(line);
        assert_eq!(printed.code, Some(2), "{line}: {printed:?}");
        assert!(printed.err.contains(part), "{line}: {}", printed.err);
    }
}

#[test]
fn options_without_effect_and_invalid_values_are_rejected() {
    for (line, part) in [
        ("sim bully --repair none", "--repair"),
        ("sim raft --order 3,1,2", "--order"),
        ("sim majority-lease --announce multicast", "--announce"),
        ("sim chang-roberts --broadcast", "--broadcast"),
        ("sim bully --leader-lease 1s", "--leader-lease"),
        ("sim chang-roberts --nodes 3 --order 1,2", "--order must name each of the 3 nodes once; got 1,2."),
        (
            "sim chang-roberts --nodes 3 --attribute 1,2",
            "--attribute must have one number for each of the 3 nodes; got 2 numbers.",
        ),
        ("sim chang-roberts --order 1,x", "is not an order of the nodes"),
    ] {
        let printed = run(line);
        assert_eq!(printed.code, Some(2), "{line}: {printed:?}");
        assert!(printed.err.contains(part), "{line}: {}", printed.err);
    }
}

#[test]
fn a_violated_assumption_is_reported() {
    let printed = run("sim chang-roberts --nodes 5 --fault 'crash 5 at 3ms' --repair none");
    assert_eq!(printed.code, Some(1));
    let sentence = "This run violates an assumption of chang-roberts: that ";
    assert!(printed.out.contains(sentence), "{}", printed.out);
    let report = run("sim chang-roberts --nodes 5 --fault 'crash 5 at 3ms' --repair none --json").json(1);
    assert_eq!(report["broken_assumptions"].as_array().map(Vec::len), Some(1));
}

#[test]
fn every_election_is_explained_with_its_rules() {
    for name in election_algorithms() {
        let printed = run(&format!("explain {name}"));
        assert_eq!(printed.code, Some(0), "{name}");
        for part in ["Rules", "Cost", "Assumes", "When it fails", "To run it yourself"] {
            assert!(printed.out.contains(part), "{name} lacks {part}");
        }
    }
    // The explanation of a ring election includes the rules that all of them share. CI-12 is the
    // last of these.
    assert!(run("explain peterson").out.contains("CI-12"));
}

/// If the process of the leader is killed, the kernel closes its connections, and the others elect
/// a new leader.
#[cfg(target_os = "linux")]
#[test]
fn real_processes_elect_again_when_their_leader_is_killed() {
    for name in ["chang-roberts", "bully", "hirschberg-sinclair"] {
        let report = run(&format!("run {name} --nodes 4 --kill 4@500ms --json")).json(0);
        assert_eq!(report["election"]["leader"], 3, "{name}: {report}");
    }
}
