//! An election of the highest node: the correct form passes, and each seeded bug violates the
//! expected property.
//!
//! `setup(3, 2, 1)` is a group of three nodes with at most two crashes and one restart.

use crate::checker::elections::toys::{Bug, HighestLeads};
use crate::checker::elections::{check, counterexample_length, setup, violated_properties};
use crate::checker::engine::common::{plain_search, reduced_search};
use quorate_check::{CrashNotices, Effort, Findings, Search, Setup, Walks};
use quorate_core::Group;
use quorate_lab::election::check::ElectionClients;

fn check_bug(bug: Bug, setup: &Setup, clients: &ElectionClients, effort: &Effort) -> Findings {
    check(move |me, group| HighestLeads::new(me, group, bug), setup, clients, effort)
}

#[test]
fn a_correct_election_survives_crashes_and_restarts_at_every_point() {
    for (nodes, crashes, restarts) in [(1, 0, 0), (2, 0, 0), (2, 1, 0), (2, 1, 1), (2, 2, 1), (3, 0, 0), (3, 1, 0)] {
        // Three nodes that all start and may crash have too many states.
        let starters = Group::of_size(if nodes == 3 && crashes > 0 { 1 } else { nodes });
        let clients = ElectionClients { starters, reelections: 2 * crashes, ..ElectionClients::new(nodes) };
        let setup = setup(nodes, crashes, restarts);
        let full = check_bug(Bug::None, &setup, &clients, &plain_search());
        let case = format!("{nodes} nodes, {crashes} crashes, {restarts} restarts");
        assert_eq!(violated_properties(&full), [""; 0], "{case}");
        let reduced = check_bug(Bug::None, &setup, &clients, &reduced_search());
        assert_eq!(violated_properties(&reduced), [""; 0], "{case}");
    }
}

#[test]
fn seeded_bugs_violate_the_expected_properties() {
    let violated_by = |bug, crashes, restarts| {
        // One starter is enough to reveal these bugs, and keeps the state space small.
        let clients = ElectionClients { starters: Group::of_size(1), ..ElectionClients::new(3) };
        let full = violated_properties(&check_bug(bug, &setup(3, crashes, restarts), &clients, &plain_search()));
        let reduced = violated_properties(&check_bug(bug, &setup(3, crashes, restarts), &clients, &reduced_search()));
        assert_eq!(full, reduced);
        full
    };
    assert_eq!(violated_by(Bug::NoAnnouncement, 0, 0), ["agreed"]);
    assert_eq!(violated_by(Bug::IgnoresSuspicions, 0, 0), [""; 0]);
    assert_eq!(violated_by(Bug::IgnoresSuspicions, 1, 0), ["agreed"]);
    assert!(violated_by(Bug::DecreasingEpochs, 1, 0).contains(&"epochs-grow"));
    assert_eq!(violated_by(Bug::SharedEpochs, 0, 0), [""; 0]);
    assert!(violated_by(Bug::SharedEpochs, 1, 0).contains(&"one-leader-per-epoch"));
}

/// The first leader crashes before the second is elected, so no single state has both leaders.
#[test]
fn results_of_crashed_nodes_count_forever() {
    let findings = check_bug(Bug::SharedEpochs, &setup(2, 1, 0), &ElectionClients::new(2), &plain_search());
    // Four steps: node 2 starts and elects itself; it crashes; node 1 receives the notice; node 1
    // starts and elects itself in the same epoch.
    assert_eq!(counterexample_length(&findings, "one-leader-per-epoch"), Some(4));
    let findings = check_bug(Bug::None, &setup(2, 1, 0), &ElectionClients::new(2), &plain_search());
    assert_eq!(violated_properties(&findings), [""; 0]);
}

#[test]
fn epochs_decrease_after_a_restart_unless_results_wait_for_saves() {
    let clients = ElectionClients { starters: Group::of_size(1), ..ElectionClients::new(1) };
    let clients = ElectionClients { rounds: Some(2), ..clients };
    for (bug, is_violated) in [(Bug::None, false), (Bug::SavesNothing, false), (Bug::BeforeSaves, false)] {
        let findings = check_bug(bug, &setup(1, 1, 0), &clients, &plain_search());
        assert_eq!(
            counterexample_length(&findings, "epochs-grow").is_some(),
            is_violated,
            "{bug:?} in one incarnation"
        );
    }
    for (bug, is_violated) in [(Bug::None, false), (Bug::SavesNothing, true), (Bug::BeforeSaves, true)] {
        let findings = check_bug(bug, &setup(1, 1, 1), &clients, &plain_search());
        assert_eq!(
            counterexample_length(&findings, "epochs-grow").is_some(),
            is_violated,
            "{bug:?} in two incarnations"
        );
    }
}

/// On a prompt disk a save is durable at once. Without restarts, a slow disk changes no verdict,
/// only the number of states.
#[test]
fn prompt_disks_change_no_verdict_and_need_fewer_states() {
    for bug in [Bug::None, Bug::SharedEpochs, Bug::IgnoresSuspicions, Bug::NoAnnouncement] {
        let (prompt, clients) = (setup(2, 1, 0), ElectionClients::new(2));
        let slow = Setup { has_prompt_disks: false, ..prompt.clone() };
        let prompt = check_bug(bug, &prompt, &clients, &plain_search());
        let slow = check_bug(bug, &slow, &clients, &plain_search());
        assert_eq!(violated_properties(&prompt), violated_properties(&slow), "{bug:?}");
        assert!(prompt.main_pass.states < slow.main_pass.states, "{bug:?}");
    }
}

#[test]
fn other_searches_contradict_no_verdict() {
    let clients = ElectionClients { starters: Group::of_size(1), ..ElectionClients::new(3) };
    for bug in [Bug::None, Bug::SharedEpochs, Bug::NoAnnouncement, Bug::IgnoresSuspicions] {
        let expected = violated_properties(&check_bug(bug, &setup(3, 1, 0), &clients, &reduced_search()));
        let depth = check_bug(bug, &setup(3, 1, 0), &clients, &Effort { search: Search::Depth, ..reduced_search() });
        for verdict in depth.verdicts.iter().filter(|verdict| verdict.holds.is_some()) {
            assert_eq!(verdict.holds == Some(false), expected.contains(&verdict.name), "{bug:?}: {}", verdict.name);
        }
        let walks = Search::Walks(Walks { count: 3_000, steps: 200, seed: 5 });
        let walked = check_bug(bug, &setup(3, 1, 0), &clients, &Effort { search: walks, ..reduced_search() });
        let violated: Vec<_> = walked.verdicts.iter().filter(|verdict| verdict.holds == Some(false)).collect();
        assert!(violated.iter().all(|verdict| expected.contains(&verdict.name)), "{bug:?}");
        assert_eq!(violated.is_empty(), expected.is_empty(), "{bug:?}");
    }
}

/// Without a failure detector the election waits for a crashed node; clients alone cannot help an
/// election in progress.
#[test]
fn clients_cannot_replace_a_failure_detector() {
    let clients = ElectionClients::new(2);
    let setup = Setup { crash_notices: CrashNotices::ToClients, ..setup(2, 1, 0) };
    assert_eq!(violated_properties(&check_bug(Bug::None, &setup, &clients, &plain_search())), ["agreed"]);
}

#[test]
fn only_starters_start() {
    let no_starters = ElectionClients { starters: Group::of_size(0), ..ElectionClients::new(3) };
    let findings = check_bug(Bug::NoAnnouncement, &setup(3, 0, 0), &no_starters, &plain_search());
    assert_eq!((violated_properties(&findings), findings.main_pass.states), (vec![], 1));
    let first = ElectionClients { starters: Group::of_size(1), ..ElectionClients::new(3) };
    let findings = check_bug(Bug::NoAnnouncement, &setup(3, 0, 0), &first, &plain_search());
    // Node 1 nominates node 3, which does not announce its victory.
    assert_eq!((violated_properties(&findings), findings.main_pass.states), (vec!["agreed"], 3));
}
