//! Views in real processes that are killed, stopped for longer than their leases, and partitioned;
//! views in pictures, and invalid options.

use crate::run::{Run, run, run_in};
use serde_json::Value;

/// Runs a group with kills and stops, and with a partition if the machine allows network
/// namespaces.
#[track_caller]
fn assert_survives_faults(algorithm: &str) {
    let folder = tempfile::tempdir().unwrap();
    let common = format!(
        "run {algorithm} --nodes 5 --views --lease 1s --keepalive 200ms --entries 140 --hold fixed:10ms \
         --think uniform:0ms..250ms --trace run.journal --json --kill 5@600ms --kill 1@1500ms..2s --stop 3@900ms..2600ms"
    );
    let cut = format!("{common} --namespaces --cut '2 | rest @ 2800ms..4300ms'");
    let result = match run_in(folder.path(), &cut) {
        Run { code: Some(2), err, .. } => {
            assert!(err.contains("--namespaces needs root, the program ip"), "{err}");
            run_in(folder.path(), &common)
        }
        result => result,
    };
    let report: Value = result.json(0);
    let views = &report["mutex"]["views"];
    // At least the first view, one without node 3, and one with node 3 again. On a slow machine the
    // other changes of members may share views with these.
    assert!(views["epoch"].as_u64().unwrap() >= 3, "{views}");
    assert!(views["recovery_ns"].is_u64(), "no node entered after a kill: {views}");
    for property in report["properties"].as_array().unwrap() {
        assert_eq!(property["holds"], true, "{property}");
    }
    // The journal gives the same figures.
    let again = run_in(folder.path(), "replay run.journal --json").json(0);
    assert_eq!(again["mutex"], report["mutex"]);
}

/// Pictures show views also if the replicated membership decides them.
#[test]
fn views_of_a_replicated_membership_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let line = "sim central --views --membership replica --entries 6 --think uniform:0s..1s --fault 'crash 2 at 1s' \
                --trace run.journal";
    run_in(folder.path(), line).exits(0);
    run_in(folder.path(), "draw run.journal --from 995ms --to 1100ms --svg run.svg").exits(0);
    let picture = std::fs::read_to_string(folder.path().join("run.svg")).unwrap();
    assert!(picture.contains("view 2: 1,3"), "the picture does not show the views");
}

#[test]
fn central_survives_kills_stops_and_partitions() {
    assert_survives_faults("central");
}

#[test]
fn ricart_agrawala_survives_kills_stops_and_partitions() {
    assert_survives_faults("ricart-agrawala");
}

#[test]
fn token_request_survives_kills_stops_and_partitions() {
    assert_survives_faults("token-request");
}

#[test]
fn maekawa_survives_kills_stops_and_partitions() {
    assert_survives_faults("maekawa");
}

#[test]
fn invalid_options_of_views_are_rejected() {
    let error = run("sim ricart-agrawala-implicit --views").error();
    assert!(error.contains("cannot run in views") && error.contains("quorate explain"), "{error}");
    let error = run("sim central --views --lease 1s --keepalive 1s").error();
    assert!(error.contains("--keepalive"), "{error}");
    let result = run("sim central --lease 1s");
    assert!(result.code == Some(2) && result.err.contains("--views"), "{}", result.err);
    let error = run("run central --views --membership impatient").error();
    assert!(error.contains("omit --membership"), "{error}");
    let error = run("sim raft --views").error();
    assert!(error.contains("mutex"), "{error}");
}
