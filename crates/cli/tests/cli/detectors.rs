//! `quorate sim detector`: figures, curve, invalid options and the page.

use crate::run::{run, run_in};
use std::collections::BTreeSet;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/detectors.md");
const SMALL_RUN: &str = "sim detector --nodes 3 --loss 5% --for 1m --crashes 3 --timeouts 55ms,150ms --thresholds 1,8";

#[test]
fn every_detector_is_reported_in_text_and_json() {
    let report = run(&format!("{SMALL_RUN} --json")).json(0);
    let rows = report["detectors"].as_array().expect("an array");
    let fields: BTreeSet<_> = rows[0].as_object().expect("an object").keys().map(String::as_str).collect();
    let expected = [
        "detector",
        "silence_ns",
        "threshold",
        "detections",
        "missed",
        "detection_mean_ns",
        "detection_most_ns",
        "mistakes",
        "mistakes_per_node_hour",
        "mistake_mean_ns",
        "accuracy",
        "watched_ns",
    ];
    assert_eq!(fields, BTreeSet::from(expected));
    let kinds: Vec<_> = rows.iter().map(|row| row["detector"].as_str().expect("a name")).collect();
    assert_eq!(kinds, ["heartbeat", "heartbeat", "accrual", "accrual"]);
    // The first of each pair is less patient: it detects crashes sooner and makes more mistakes.
    for pair in rows.chunks(2) {
        let number = |row: usize, name: &str| pair[row][name].as_f64().expect(name);
        assert!(number(0, "detection_mean_ns") < number(1, "detection_mean_ns"), "{pair:?}");
        assert!(number(0, "mistakes") > number(1, "mistakes"), "{pair:?}");
        // Two peers detect each of the three crashes.
        assert_eq!((number(0, "detections"), number(0, "missed")), (6.0, 0.0));
    }
    assert_eq!(run(&format!("{SMALL_RUN} --json")).json(0), report, "the same seed measures the same");
    let printed = run(SMALL_RUN).exits(0);
    for part in ["3 nodes", "heartbeat every 50ms", "timeout 150ms", "φ 8", "mistakes per node-hour"] {
        assert!(printed.contains(part), "no '{part}' in:\n{printed}");
    }
}

#[test]
fn the_curve_is_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let printed = run_in(folder.path(), &format!("{SMALL_RUN} --svg curve.svg")).exits(0);
    assert!(printed.contains("picture: curve.svg"), "{printed}");
    let svg = std::fs::read_to_string(folder.path().join("curve.svg")).expect("the picture");
    crate::xml::parse(&svg).expect("a well-formed picture");
    for part in ["Failure detectors", "fixed timeout", "accrual (φ)", "mean detection time"] {
        assert!(svg.contains(part), "no '{part}'");
    }
    assert_eq!(run(&format!("{SMALL_RUN} --svg -")).exits(0), svg, "standard output has only the picture");
}

#[test]
fn invalid_options_are_reported() {
    for (line, part) in [
        ("sim detector --nodes 1", "--nodes must be at least 2; got 1."),
        ("sim detector --for 1s", "--for must be at least 84s with --crashes 20; got 1s."),
        ("sim detector --timeouts 10ms", "--timeouts must be at least the heartbeat interval"),
        ("sim detector --thresholds 30", "must be between 0.5 and 20"),
        ("sim detector --theme dark", "add --svg FILE"),
        ("sim detector --svg - --json", "both write to standard output"),
        ("sim --nodes 3 detector", "Write 'quorate sim detector' and its own options after it."),
        ("sweep detector", "Write 'quorate sim detector' and its own options after it."),
        ("sim chang-roberts --silence 50ms", "add --detector heartbeat"),
        ("sim chang-roberts --heartbeat 50ms", "add --detector heartbeat"),
        ("sim chang-roberts --detector heartbeat --threshold 8", "add --detector accrual"),
        (
            "sim chang-roberts --detector heartbeat --silence 1ms",
            "--silence must be at least 50ms, the interval between heartbeats; got 1ms.",
        ),
        ("sim chang-roberts --detector accrual --heartbeat 0ms", "--heartbeat 50ms"),
        ("sim central --detector accrual", "--detector does not apply to 'central'"),
    ] {
        let result = run(line);
        assert_eq!(result.code, Some(2), "{line}");
        assert!(result.err.contains(part), "no '{part}' in the error of '{line}':\n{}", result.err);
    }
}

/// Runs the commands of the page and checks its statements about them.
#[test]
fn the_page_matches_the_commands() {
    let page = std::fs::read_to_string(PAGE).expect("the page");
    let lines: Vec<_> = page.lines().filter(|line| line.starts_with("quorate sim ")).collect();
    // The curve, an election without a detector, and one whose detector suspects live nodes.
    let [curve, incomplete, inaccurate] = lines[..] else { panic!("{lines:?}") };
    let folder = tempfile::tempdir().expect("a folder");
    run_in(folder.path(), &format!("{curve} --for 1m --crashes 2")).exits(0);
    let printed = run(incomplete).exits(1);
    assert!(printed.contains("all nodes know leader 5 (epoch 1), which is down"), "{printed}");
    for detector in ["heartbeat", "accrual"] {
        let report = run(&format!("{} --json", incomplete.replace("none", detector))).json(0);
        assert_eq!(report["election"]["leader"], 4, "{report}");
    }
    // Each wrong suspicion starts another election, so the run never ends by itself.
    let report = run(&format!("{inaccurate} --json")).json(3);
    assert!(report["election"]["rounds"].as_u64().is_some_and(|rounds| rounds > 1_000), "{report}");
    let report = run(&format!("{} --json", inaccurate.replace("--silence 20ms", "--silence 25ms"))).json(0);
    assert_eq!(report["election"]["rounds"], 1, "{report}");
}
