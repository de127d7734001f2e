//! Simulated super-peers, the leaders of the regions of an overlay: their number, their loads, and
//! which peers move when others join and leave.

use crate::common::{assert_no_seed_fails, parse, run_to_completion};
use quorate_lab::election::ElectionError;
use quorate_lab::election::run::SuperPeers;
use quorate_lab::election::{Settings, overlay};
use quorate_lab::{Election, LabError, Spec};

/// An overlay of `nodes` nodes, in which the first `reserved` bits of an id name the region.
fn super_peer_spec(nodes: usize, reserved: u32) -> Spec<Election> {
    let settings = Settings { reserved_bits: Some(reserved), ..Settings::default() };
    Spec { nodes, settings, ..Spec::named("super-peer").unwrap() }
}

fn run_super_peers(spec: &Spec<Election>) -> SuperPeers {
    run_to_completion(spec).summary.super_peers.expect("super-peers")
}

/// An election costs two messages for each peer that does not lead, whatever the delays.
#[test]
fn every_populated_region_has_one_super_peer_and_the_others_attach_to_it() {
    for nodes in 1..=40 {
        for (reserved, latency) in [(0, "fixed:1ms"), (2, "uniform:1ms..5ms"), (5, "fixed:3ms")] {
            let spec = Spec { latency: parse(latency), seed: nodes as u64, ..super_peer_spec(nodes, reserved) };
            let summary = run_to_completion(&spec).summary;
            let no_node_is_down = |_| false;
            let (measures, loads) = (summary.super_peers.expect("super-peers"), overlay(&spec).loads(no_node_is_down));
            assert_eq!(measures.count, loads.len() as u64);
            assert_eq!(measures.largest_load, loads.iter().map(|(_, load)| *load as u64).max().expect("a load"));
            let others = nodes as u64 - measures.count;
            assert_eq!((summary.election_messages, summary.announcement_messages), (others, others));
            assert_eq!((measures.moved, measures.must_move), (0, 0));
            assert_eq!(measures.ratio, Some(measures.count as f64 / nodes as f64));
            assert_eq!(measures.mean_load, Some(others as f64 / measures.count as f64));
        }
    }
}

#[test]
fn nodes_that_are_down_at_the_start_are_skipped() {
    for seed in 0..30 {
        let faults = ["crash 1", "crash 4", "crash 7"].map(parse).to_vec();
        let spec = Spec { seed, faults, ..super_peer_spec(12, 2) };
        let is_down = |node: quorate_core::NodeId| [1, 4, 7].contains(&node.number());
        let loads = overlay(&spec).loads(is_down);
        let summary = run_to_completion(&spec).summary;
        let measures = summary.super_peers.expect("super-peers");
        assert_eq!((measures.count, measures.moved, measures.must_move), (loads.len() as u64, 0, 0));
        // Of 12 nodes, 9 are up.
        assert_eq!(summary.election_messages, 9 - measures.count);
    }
}

/// The mean over random groups is 2^k·(1−(1−2^−k)^M) for k reserved bits and M nodes.
#[test]
fn the_mean_number_of_super_peers_is_as_expected() {
    for (nodes, reserved) in [(10, 3), (40, 4), (25, 5)] {
        let seeds = 400;
        let measures_of =
            |seed| run_super_peers(&Spec { seed, latency: parse("fixed:1ms"), ..super_peer_spec(nodes, reserved) });
        let results: Vec<_> = (0..seeds).map(measures_of).collect();
        let mean = results.iter().map(|measures| measures.count as f64).sum::<f64>() / results.len() as f64;
        let expected = results[0].expected;
        assert!(
            (mean - expected).abs() < 0.04 * expected,
            "{nodes} nodes, {reserved} bits: mean {mean}, expected {expected}"
        );
    }
}

#[test]
fn the_fewest_bits_that_satisfy_a_load_bound_are_chosen() {
    for seed in 0..40 {
        for bound in [0, 2, 7] {
            let settings = Settings { load_bound: Some(bound), ..Settings::default() };
            let spec = Spec { seed, settings, ..super_peer_spec(30, 0) };
            let measures = run_super_peers(&spec);
            assert!(measures.largest_load <= bound as u64, "{measures:?}");
            let fewer = overlay(&spec).with_region_bits(measures.reserved_bits - 1);
            let no_node_is_down = |_| false;
            assert!(fewer.largest_load(no_node_is_down) > bound, "seed {seed}: fewer bits would suffice");
        }
    }
}

/// One peer at a time joins or leaves, after the others have settled.
#[test]
fn only_affected_peers_move_when_others_join_and_leave() {
    let (mut moves, mut runs_without_moves) = (0, 0);
    for seed in 0..150 {
        let (first, second) = (1 + seed % 12, 1 + (seed / 12 + seed) % 12);
        let mut faults = vec![parse(&format!("crash {first} at 200ms for 400ms"))];
        if second != first {
            faults.push(parse(&format!("crash {second} at 400ms for 500ms")));
        }
        let measures = run_super_peers(&Spec { seed, faults, ..super_peer_spec(12, 1 + (seed % 3) as u32) });
        assert_eq!(measures.moved, measures.must_move, "seed {seed}");
        moves += measures.must_move;
        runs_without_moves += u64::from(measures.must_move == 0);
    }
    assert!(moves > 100 && runs_without_moves > 10, "{moves} moves, {runs_without_moves} runs without moves");
}

#[test]
fn after_crashes_and_restarts_every_peer_has_a_live_leader() {
    for (latency, faults) in
        [("uniform:1ms..5ms", "crash=3"), ("long-tail:2ms", "crash=2"), ("fixed:1ms", "crash=4,pause=1")]
    {
        for reserved in [0, 2] {
            let spec = Spec { latency: parse(latency), random_faults: parse(faults), ..super_peer_spec(9, reserved) };
            assert_no_seed_fails(&spec, 150);
        }
    }
}

#[test]
fn an_impossible_overlay_is_refused() {
    let refusal = |settings: Settings| match (Spec { settings, ..super_peer_spec(9, 0) }).validate() {
        Ok(_) => panic!("an impossible overlay was accepted"),
        Err(error) => error,
    };
    let error = refusal(Settings { id_bits: Some(65), ..Settings::default() });
    assert!(matches!(error, LabError::Election(ElectionError::InvalidIdBits { bits: 65 })), "{error}");
    let error = refusal(Settings { id_bits: Some(8), reserved_bits: Some(9), ..Settings::default() });
    assert!(error.to_string().contains("--reserved-bits must be at most 8, the bits of an id; got 9"), "{error}");
    let error = refusal(Settings { id_bits: Some(2), load_bound: Some(1), ..Settings::default() });
    assert!(error.to_string().contains("--load-bound must be achievable"), "{error}");
}

#[test]
fn the_printed_command_contains_the_options_of_ids() {
    let settings = Settings { id_bits: Some(16), load_bound: Some(4), ..Settings::default() };
    let command = Spec { settings, ..super_peer_spec(9, 0) }.command("sim");
    assert_eq!(command, "quorate sim super-peer --nodes 9 --seed 1 --starters all --id-bits 16 --load-bound 4");
}
