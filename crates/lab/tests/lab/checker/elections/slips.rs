//! The highest leads: the right form of it stands, and each slip breaks what it should.

use crate::checker::elections::toys::{Crowning, Slip};
use crate::checker::elections::{broken, check, length, search, setup};
use quorate_check::{Deaths, Effort, Findings, Search, Setup, Walks};
use quorate_core::Group;
use quorate_lab::election::check::Voters;

fn crowning(slip: Slip, setup: &Setup, users: &Voters, effort: &Effort) -> Findings {
    check(move |me, group| Crowning::new(me, group, slip), setup, users, effort)
}

#[test]
fn a_right_election_stands_crashes_and_restarts_at_every_point() {
    for (nodes, crashes, restarts) in [(1, 0, 0), (2, 0, 0), (2, 1, 0), (2, 1, 1), (2, 2, 1), (3, 0, 0), (3, 1, 0)] {
        // Three nodes that all start have more states than there is time for.
        let starters = Group::of_size(if nodes == 3 && crashes > 0 { 1 } else { nodes });
        let users = Voters { starters, recalls: 2 * crashes, ..Voters::new(nodes) };
        let setup = setup(nodes, crashes, restarts);
        let full = crowning(Slip::Nothing, &setup, &users, &search(false));
        let what = format!("{nodes} nodes, {crashes} crashes, {restarts} restarts");
        assert_eq!(broken(&full), [""; 0], "{what}");
        let reduced = crowning(Slip::Nothing, &setup, &users, &search(true));
        assert_eq!(broken(&reduced), [""; 0], "{what}");
    }
}

#[test]
fn every_slip_is_found_and_breaks_what_it_should() {
    let found = |slip, crashes, restarts| {
        // One starter is enough to break everything, and leaves little to search.
        let users = Voters { starters: Group::of_size(1), ..Voters::new(3) };
        let full = broken(&crowning(slip, &setup(3, crashes, restarts), &users, &search(false)));
        let reduced = broken(&crowning(slip, &setup(3, crashes, restarts), &users, &search(true)));
        assert_eq!(full, reduced);
        full
    };
    assert_eq!(found(Slip::Mute, 0, 0), ["agreed"]);
    assert_eq!(found(Slip::Deaf, 0, 0), [""; 0]);
    assert_eq!(found(Slip::Deaf, 1, 0), ["agreed"]);
    assert!(found(Slip::Backwards, 1, 0).contains(&"epochs-grow"));
    assert_eq!(found(Slip::SharedEpochs, 0, 0), [""; 0]);
    assert!(found(Slip::SharedEpochs, 1, 0).contains(&"one-leader-an-epoch"));
}

/// The one who was elected first is dead and forgotten when the other is: no state has both.
#[test]
fn results_of_the_dead_count_over_all_time() {
    let found = crowning(Slip::SharedEpochs, &setup(2, 1, 0), &Voters::new(2), &search(false));
    // Node 2 starts and crowns itself, crashes, node 1 hears of it, starts, crowns itself in the same epoch.
    assert_eq!(length(&found, "one-leader-an-epoch"), Some(4));
    let found = crowning(Slip::Nothing, &setup(2, 1, 0), &Voters::new(2), &search(false));
    assert_eq!(broken(&found), [""; 0]);
}

#[test]
fn what_is_not_saved_before_it_is_told_goes_back_in_the_next_life() {
    let users = Voters { starters: Group::of_size(1), ..Voters::new(1) };
    let users = Voters { rounds: Some(2), ..users };
    for (slip, wrong) in [(Slip::Nothing, false), (Slip::Forgetful, false), (Slip::Hasty, false)] {
        let found = crowning(slip, &setup(1, 1, 0), &users, &search(false));
        assert_eq!(length(&found, "epochs-grow").is_some(), wrong, "{slip:?} in one life");
    }
    for (slip, wrong) in [(Slip::Nothing, false), (Slip::Forgetful, true), (Slip::Hasty, true)] {
        let found = crowning(slip, &setup(1, 1, 1), &users, &search(false));
        assert_eq!(length(&found, "epochs-grow").is_some(), wrong, "{slip:?} in two lives");
    }
}

/// Where nobody restarts, a disk that takes its time changes no verdict, only the number of states.
#[test]
fn prompt_disks_change_no_verdict_and_save_states() {
    for slip in [Slip::Nothing, Slip::SharedEpochs, Slip::Deaf, Slip::Mute] {
        let (prompt, users) = (setup(2, 1, 0), Voters::new(2));
        let slow = Setup { prompt_disks: false, ..prompt.clone() };
        let prompt = crowning(slip, &prompt, &users, &search(false));
        let slow = crowning(slip, &slow, &users, &search(false));
        assert_eq!(broken(&prompt), broken(&slow), "{slip:?}");
        assert!(prompt.states.states < slow.states.states, "{slip:?}");
    }
}

#[test]
fn other_searches_come_to_the_same_verdicts() {
    let users = Voters { starters: Group::of_size(1), ..Voters::new(3) };
    for slip in [Slip::Nothing, Slip::SharedEpochs, Slip::Mute, Slip::Deaf] {
        let wanted = broken(&crowning(slip, &setup(3, 1, 0), &users, &search(true)));
        let depth = crowning(slip, &setup(3, 1, 0), &users, &Effort { search: Search::Depth, ..search(true) });
        for verdict in depth.verdicts.iter().filter(|verdict| verdict.holds.is_some()) {
            assert_eq!(verdict.holds == Some(false), wanted.contains(&verdict.name), "{slip:?}: {}", verdict.name);
        }
        let walks = Search::Walks(Walks { count: 3_000, steps: 200, seed: 5 });
        let walked = crowning(slip, &setup(3, 1, 0), &users, &Effort { search: walks, ..search(true) });
        let found: Vec<_> = walked.verdicts.iter().filter(|verdict| verdict.holds == Some(false)).collect();
        assert!(found.iter().all(|verdict| wanted.contains(&verdict.name)), "{slip:?}");
        assert_eq!(found.is_empty(), wanted.is_empty(), "{slip:?}");
    }
}

/// Without a failure detector it waits for the dead in vain; users alone cannot help what is under way.
#[test]
fn users_who_notice_are_no_failure_detector() {
    let users = Voters::new(2);
    let told = Setup { deaths: Deaths::ToUsers, ..setup(2, 1, 0) };
    assert_eq!(broken(&crowning(Slip::Nothing, &told, &users, &search(false))), ["agreed"]);
}

#[test]
fn only_starters_start() {
    let nobody = Voters { starters: Group::of_size(0), ..Voters::new(3) };
    let found = crowning(Slip::Mute, &setup(3, 0, 0), &nobody, &search(false));
    assert_eq!((broken(&found), found.states.states), (vec![], 1));
    let first = Voters { starters: Group::of_size(1), ..Voters::new(3) };
    let found = crowning(Slip::Mute, &setup(3, 0, 0), &first, &search(false));
    // It nominates the third, which keeps its victory to itself.
    assert_eq!((broken(&found), found.states.states), (vec!["agreed"], 3));
}
