//! Failure detectors as users meet them: what each is worth, the curve, the two ways to fail, mistakes, and the page.

use crate::run::{run, run_in};
use std::collections::BTreeSet;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/detectors.md");
const SMALL: &str = "sim detector --nodes 3 --loss 5% --length 1m --crashes 3 --silences 55ms,150ms --thresholds 1,8";

#[test]
fn every_detector_is_measured_for_programs_and_for_people() {
    let report = run(&format!("{SMALL} --json")).json(0);
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
    for pair in rows.chunks(2) {
        let number = |row: usize, name: &str| pair[row][name].as_f64().expect(name);
        assert!(number(0, "detection_mean_ns") < number(1, "detection_mean_ns"), "{pair:?}");
        assert!(number(0, "mistakes") > number(1, "mistakes"), "{pair:?}");
        assert_eq!((number(0, "detections"), number(0, "missed")), (6.0, 0.0));
    }
    assert_eq!(run(&format!("{SMALL} --json")).json(0), report, "the same seed measures the same");
    let told = run(SMALL).ok(0);
    for part in ["3 nodes", "a heartbeat every 50ms", "silence 150ms", "φ 8", "wrong a node and hour"] {
        assert!(told.contains(part), "no '{part}' in:\n{told}");
    }
}

#[test]
fn the_curve_is_a_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = run_in(folder.path(), &format!("{SMALL} --svg curve.svg")).ok(0);
    assert!(told.contains("picture: curve.svg"), "{told}");
    let svg = std::fs::read_to_string(folder.path().join("curve.svg")).expect("the picture");
    crate::xml::parse(&svg).expect("a well-formed picture");
    for part in ["Failure detectors", "fixed bound", "accrual (φ)", "until a crash is noticed"] {
        assert!(svg.contains(part), "no '{part}'");
    }
    assert_eq!(run(&format!("{SMALL} --svg -")).ok(0), svg, "and on standard output it is alone");
}

#[test]
fn mistakes_are_told_in_a_sentence() {
    for (line, part) in [
        ("sim detector --nodes 1", "nobody to watch"),
        ("sim detector --length 1s", "too short for 20 crashes"),
        ("sim detector --silences 10ms", "shorter than a heartbeat"),
        ("sim detector --thresholds 30", "from 0.5 to 20"),
        ("sim detector --theme dark", "add --svg FILE"),
        ("sim detector --svg - --json", "both want standard output"),
        ("sim --nodes 3 detector", "'quorate sim detector' measures failure detectors"),
        ("sweep detector", "'quorate sim detector' measures failure detectors"),
        ("sim chang-roberts --silence 50ms", "add --detector heartbeat"),
        ("sim chang-roberts --heartbeat 50ms", "add --detector heartbeat"),
        ("sim chang-roberts --detector heartbeat --threshold 8", "add --detector accrual"),
        ("sim chang-roberts --detector heartbeat --silence 1ms", "shorter than a heartbeat"),
        ("sim chang-roberts --detector accrual --heartbeat 0ms", "--heartbeat 50ms"),
        ("sim central --detector accrual", "--detector means nothing to 'central'"),
    ] {
        let done = run(line);
        assert_eq!(done.code, Some(2), "{line}");
        assert!(done.err.contains(part), "no '{part}' in what '{line}' says:\n{}", done.err);
    }
}

/// The commands of the page, in order, with what the page says of them.
#[test]
fn the_page_tells_the_truth() {
    let page = std::fs::read_to_string(PAGE).expect("the page");
    let lines: Vec<_> = page.lines().filter(|line| line.starts_with("quorate sim ")).collect();
    let [curve, incomplete, inaccurate] = lines[..] else { panic!("{lines:?}") };
    let folder = tempfile::tempdir().expect("a folder");
    run_in(folder.path(), &format!("{curve} --length 1m --crashes 2")).ok(0);
    let told = run(incomplete).ok(1);
    assert!(told.contains("everyone knows leader 5 (epoch 1), which is down"), "{told}");
    for detector in ["heartbeat", "accrual"] {
        let report = run(&format!("{} --json", incomplete.replace("none", detector))).json(0);
        assert_eq!(report["election"]["leader"], 4, "{report}");
    }
    let report = run(&format!("{inaccurate} --json")).json(3);
    assert!(report["election"]["rounds"].as_u64().is_some_and(|rounds| rounds > 1_000), "{report}");
    let report = run(&format!("{} --json", inaccurate.replace("--silence 20ms", "--silence 25ms"))).json(0);
    assert_eq!(report["election"]["rounds"], 1, "{report}");
}
