//! An election of the highest node: the correct form passes, and each seeded bug violates the
//! expected property.

use crate::checker::elections::toys::{Bug, HighestLeads};
use crate::checker::elections::{check, counterexample_length, search, setup, violated_properties};
use quorate_check::{CrashNotices, Effort, Findings, Search, Setup, Walks};
use quorate_core::Group;
use quorate_lab::election::check::Voters;

fn check_bug(bug: Bug, setup: &Setup, clients: &Voters, effort: &Effort) -> Findings {
    check(move |me, group| HighestLeads::new(me, group, bug), setup, clients, effort)
}

#[test]
fn a_correct_election_survives_crashes_and_restarts_at_every_point() {
    for (nodes, crashes, restarts) in [(1, 0, 0), (2, 0, 0), (2, 1, 0), (2, 1, 1), (2, 2, 1), (3, 0, 0), (3, 1, 0)] {
        // Three nodes that all start have too many states.
        let starters = Group::of_size(if nodes == 3 && crashes > 0 { 1 } else { nodes });
        let clients = Voters { starters, recalls: 2 * crashes, ..Voters::new(nodes) };
        let setup = setup(nodes, crashes, restarts);
        let full = check_bug(Bug::Nothing, &setup, &clients, &search(false));
        let what = format!("{nodes} nodes, {crashes} crashes, {restarts} restarts");
        assert_eq!(violated_properties(&full), [""; 0], "{what}");
        let reduced = check_bug(Bug::Nothing, &setup, &clients, &search(true));
        assert_eq!(violated_properties(&reduced), [""; 0], "{what}");
    }
}

#[test]
fn every_seeded_bug_violates_the_expected_property() {
    let found = |bug, crashes, restarts| {
        // One starter is enough to reveal every bug, and keeps the state space small.
        let clients = Voters { starters: Group::of_size(1), ..Voters::new(3) };
        let full = violated_properties(&check_bug(bug, &setup(3, crashes, restarts), &clients, &search(false)));
        let reduced = violated_properties(&check_bug(bug, &setup(3, crashes, restarts), &clients, &search(true)));
        assert_eq!(full, reduced);
        full
    };
    assert_eq!(found(Bug::Mute, 0, 0), ["agreed"]);
    assert_eq!(found(Bug::Deaf, 0, 0), [""; 0]);
    assert_eq!(found(Bug::Deaf, 1, 0), ["agreed"]);
    assert!(found(Bug::Backwards, 1, 0).contains(&"epochs-grow"));
    assert_eq!(found(Bug::SharedEpochs, 0, 0), [""; 0]);
    assert!(found(Bug::SharedEpochs, 1, 0).contains(&"one-leader-an-epoch"));
}

/// The first leader has crashed and is forgotten when the second is elected: no state has both.
#[test]
fn results_of_crashed_nodes_count_forever() {
    let found = check_bug(Bug::SharedEpochs, &setup(2, 1, 0), &Voters::new(2), &search(false));
    // Node 2 starts and elects itself and crashes; node 1 receives the notice, starts, and elects
    // itself in the same epoch.
    assert_eq!(counterexample_length(&found, "one-leader-an-epoch"), Some(4));
    let found = check_bug(Bug::Nothing, &setup(2, 1, 0), &Voters::new(2), &search(false));
    assert_eq!(violated_properties(&found), [""; 0]);
}

#[test]
fn a_result_emitted_before_its_save_decreases_after_a_restart() {
    let clients = Voters { starters: Group::of_size(1), ..Voters::new(1) };
    let clients = Voters { rounds: Some(2), ..clients };
    for (bug, wrong) in [(Bug::Nothing, false), (Bug::Forgetful, false), (Bug::Hasty, false)] {
        let found = check_bug(bug, &setup(1, 1, 0), &clients, &search(false));
        assert_eq!(counterexample_length(&found, "epochs-grow").is_some(), wrong, "{bug:?} in one incarnation");
    }
    for (bug, wrong) in [(Bug::Nothing, false), (Bug::Forgetful, true), (Bug::Hasty, true)] {
        let found = check_bug(bug, &setup(1, 1, 1), &clients, &search(false));
        assert_eq!(counterexample_length(&found, "epochs-grow").is_some(), wrong, "{bug:?} in two incarnations");
    }
}

/// Without restarts, a slow disk changes no verdict, only the number of states.
#[test]
fn prompt_disks_change_no_verdict_and_save_states() {
    for bug in [Bug::Nothing, Bug::SharedEpochs, Bug::Deaf, Bug::Mute] {
        let (prompt, clients) = (setup(2, 1, 0), Voters::new(2));
        let slow = Setup { prompt_disks: false, ..prompt.clone() };
        let prompt = check_bug(bug, &prompt, &clients, &search(false));
        let slow = check_bug(bug, &slow, &clients, &search(false));
        assert_eq!(violated_properties(&prompt), violated_properties(&slow), "{bug:?}");
        assert!(prompt.states.states < slow.states.states, "{bug:?}");
    }
}

#[test]
fn other_searches_find_the_same_verdicts() {
    let clients = Voters { starters: Group::of_size(1), ..Voters::new(3) };
    for bug in [Bug::Nothing, Bug::SharedEpochs, Bug::Mute, Bug::Deaf] {
        let wanted = violated_properties(&check_bug(bug, &setup(3, 1, 0), &clients, &search(true)));
        let depth = check_bug(bug, &setup(3, 1, 0), &clients, &Effort { search: Search::Depth, ..search(true) });
        for verdict in depth.verdicts.iter().filter(|verdict| verdict.holds.is_some()) {
            assert_eq!(verdict.holds == Some(false), wanted.contains(&verdict.name), "{bug:?}: {}", verdict.name);
        }
        let walks = Search::Walks(Walks { count: 3_000, steps: 200, seed: 5 });
        let walked = check_bug(bug, &setup(3, 1, 0), &clients, &Effort { search: walks, ..search(true) });
        let found: Vec<_> = walked.verdicts.iter().filter(|verdict| verdict.holds == Some(false)).collect();
        assert!(found.iter().all(|verdict| wanted.contains(&verdict.name)), "{bug:?}");
        assert_eq!(found.is_empty(), wanted.is_empty(), "{bug:?}");
    }
}

/// Without a failure detector the election waits for a crashed node; clients alone cannot help an
/// election in progress.
#[test]
fn clients_cannot_replace_a_failure_detector() {
    let clients = Voters::new(2);
    let setup = Setup { crash_notices: CrashNotices::ToClients, ..setup(2, 1, 0) };
    assert_eq!(violated_properties(&check_bug(Bug::Nothing, &setup, &clients, &search(false))), ["agreed"]);
}

#[test]
fn only_starters_start() {
    let no_starters = Voters { starters: Group::of_size(0), ..Voters::new(3) };
    let found = check_bug(Bug::Mute, &setup(3, 0, 0), &no_starters, &search(false));
    assert_eq!((violated_properties(&found), found.states.states), (vec![], 1));
    let first = Voters { starters: Group::of_size(1), ..Voters::new(3) };
    let found = check_bug(Bug::Mute, &setup(3, 0, 0), &first, &search(false));
    // It nominates the third node, which does not announce its victory.
    assert_eq!((violated_properties(&found), found.states.states), (vec!["agreed"], 3));
}
