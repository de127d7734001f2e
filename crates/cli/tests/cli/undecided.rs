//! A run that `--until` stops leaves properties undecided that must hold eventually: exit code 3.

use crate::run::{run, run_in};
use serde_json::{Value, json};

/// A run of each family that `--until` stops too early, with the property that stays undecided.
const STOPPED: [(&str, &str); 5] = [
    ("central --workload all --until 1ms", "served"),
    ("bully --until 1ms", "agreed"),
    ("reliable --traffic flood --until 3ms", "delivered"),
    ("deadlock-and --fan-out 1 --seed 3 --detect-after 1s --until 500ms", "all-found"),
    ("replica --until 100ms", "answered"),
];

fn property<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["properties"].as_array().unwrap().iter().find(|property| property["name"] == name).unwrap()
}

#[test]
fn a_stopped_run_leaves_eventual_properties_undecided() {
    for (line, undecided) in STOPPED {
        let report = run(&format!("sim {line} --json")).json(3);
        assert_eq!(report["ending"], "stopped", "{line}");
        let judged = property(&report, undecided);
        assert_eq!((&judged["holds"], &judged["violation"]), (&Value::Null, &Value::Null), "{line}: {judged}");
        let limit = line.rsplit(' ').next().unwrap();
        let reason = judged["undecided"].as_str().unwrap();
        assert!(
            reason.starts_with(&format!("the run was stopped at {limit} (--until); until then: ")),
            "{line}: {reason}"
        );
        // Safety properties are still judged.
        let properties = report["properties"].as_array().unwrap().iter();
        let always: Vec<_> = properties.filter(|property| property["kind"] == "always").collect();
        assert!(!always.is_empty() && always.iter().all(|property| property["holds"] == true), "{line}: {report}");
        let printed = run(&format!("sim {line}")).exits(3);
        assert!(printed.contains(&format!("undecided: {reason}")), "{line}: {printed}");
        assert!(printed.contains(&format!("stopped at {limit}, its limit")), "{line}: {printed}");
    }
}

#[test]
fn a_property_decided_before_the_stop_stays_decided() {
    let broken = "sim ricart-agrawala-clock-only --nodes 5 --workload all --entries 200 --until 2s";
    let report = run(&format!("{broken} --json")).json(1);
    assert_eq!(property(&report, "exclusion")["holds"], false);
    run("sim central --until 1h").exits(0);
    // A run whose nodes are blocked has reached its end.
    let blocked = run("sim central --fault 'crash 1 at 1ms' --until 1h --json").json(1);
    assert_eq!((&blocked["ending"], &property(&blocked, "served")["holds"]), (&json!("stuck"), &json!(false)));
}

/// The journal records that the run was stopped, so reading it gives the same verdicts.
#[test]
fn the_journal_of_a_stopped_run_is_judged_like_the_run() {
    for (line, undecided) in STOPPED {
        let folder = tempfile::tempdir().unwrap();
        let report = run_in(folder.path(), &format!("sim {line} --trace run.journal --json")).json(3);
        for command in ["replay run.journal --json", "trace run.journal --summary --json"] {
            assert_eq!(
                run_in(folder.path(), command).json(3)["properties"],
                report["properties"],
                "{command} after {line}"
            );
        }
        let drawn = run_in(folder.path(), "draw run.journal").exits(0);
        assert!(!drawn.contains(&format!("{undecided} fails")), "{line}: {drawn}");
    }
}

#[test]
fn a_sweep_counts_undecided_seeds() {
    for (line, undecided) in STOPPED {
        // The sweep below has one seed, 3, which leaves the property undecided in every family.
        let line = line.replace("--seed 3 ", "");
        let report = run(&format!("sweep {line} --seed 3 --seeds 1 --json")).json(3);
        assert_eq!((&report["failed"], &report["undecided"]), (&json!(0), &json!(1)), "{line}");
        let row = property(&report, undecided);
        assert_eq!((&row["holds"], &row["seeds"], &row["undecided"]), (&Value::Null, &json!(0), &json!(1)), "{line}");
    }
    let printed = run("sweep central --workload all --until 1ms --seeds 5").exits(3);
    assert!(printed.contains("undecided with every seed"), "{printed}");
    assert!(printed.contains("With seed 1, 'served' is undecided: the run was stopped at 1ms (--until)"), "{printed}");
}

#[test]
fn an_undecided_run_cannot_be_shrunk() {
    let error = run("shrink central --workload all --until 1ms").error();
    assert!(error.contains("no property fails in this run, so there is nothing to shrink"), "{error}");
}
