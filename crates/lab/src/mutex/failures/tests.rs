//! Whoever is struck stands as the table says, and what became of the others can be seen again.

use super::{Example, Fate, Finding, Harm, Inquiry, Victim, inquire};
use crate::experiment;
use crate::mutex::MutexEntry;
use crate::mutex::compare::{Forms, contenders};
use crate::mutex::run::{Standing, change};
use quorate_core::NodeId;
use quorate_core::mutex::{Command, Event};
use quorate_journal::moment::{Happening, Moment, Observer};
use quorate_journal::workload::Ending;

fn entry(name: &str) -> &'static MutexEntry {
    let [entry] = contenders(&[name.into()], Forms::Usual).unwrap()[..] else { panic!("one name, one algorithm") };
    entry
}

fn findings(name: &str, nodes: usize, runs: u64) -> Vec<Finding> {
    inquire(&Inquiry { runs, ..Inquiry::of(entry(name), nodes) }, &mut || true).unwrap()
}

fn fates(name: &str, harm: Harm) -> Vec<(Victim, Option<Fate>)> {
    let own = findings(name, 5, 60).into_iter().filter(|found| found.harm == harm);
    own.map(|found| (found.victim, found.tally.fate())).collect()
}

/// The coordinator that forgets who is inside lets a second in; of its clients nobody depends on one that is idle.
#[test]
fn a_coordinator_is_everything_and_an_idle_client_nothing() {
    let (stops, goes_on) = (Some(Fate::Stops), Some(Fate::GoesOn));
    let dies =
        [(Victim::Coordinator, stops), (Victim::Holder, stops), (Victim::Waiter, stops), (Victim::Idle, goes_on)];
    assert_eq!(fates("central", Harm::Dies), dies);
    let restarts = fates("central", Harm::Restarts);
    assert_eq!(restarts.first(), Some(&(Victim::Coordinator, Some(Fate::Unsafe))));
    assert_eq!(restarts.last(), Some(&(Victim::Idle, goes_on)));
}

/// Where everyone must consent, everyone must be there; and one that has forgotten its consent may ask as the first.
#[test]
fn who_asks_everyone_needs_everyone() {
    let all = [Victim::Holder, Victim::Waiter, Victim::Idle];
    assert_eq!(fates("ricart-agrawala", Harm::Dies), all.map(|victim| (victim, Some(Fate::Stops))));
    assert_eq!(fates("ricart-agrawala", Harm::Restarts).last(), Some(&(Victim::Idle, Some(Fate::Unsafe))));
}

struct Struck {
    standings: Vec<Standing>,
    found: Option<(NodeId, Vec<Standing>)>,
}

impl Observer<Command, Event> for Struck {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        if let Moment::World { what: Happening::Crashed { node, .. }, .. } = moment {
            self.found = Some((*node, self.standings.clone()));
        }
        if let Some((_, node, change)) = change(moment) {
            let standing = &mut self.standings[node.index()];
            *standing = standing.after(change);
        }
    }
}

/// The example is run again with its journal, before whoever looks at it, and comes to the same end.
#[test]
fn every_example_is_what_it_says() {
    let mut fates_seen = Vec::new();
    for name in ["central", "ricart-agrawala"] {
        let keeper = (entry(name).facts.keeper)(&quorate_core::Group::of_size(4));
        for Finding { victim, harm, tally } in findings(name, 4, 12) {
            let Example { spec, fate, why } = tally.example.unwrap();
            let again = spec.command("sim");
            let watch = Struck { standings: vec![Standing::Outside; 4], found: None };
            let (outcome, watch) = experiment::run_with(&spec, std::io::sink(), watch).unwrap();
            let (node, standings) = watch.found.expect("somebody is struck");
            let others = || standings.iter().enumerate().filter(|(index, _)| *index != node.index());
            let any = |wanted: Standing| others().any(|(_, standing)| *standing == wanted);
            let (inside, waiting) = (any(Standing::Inside), any(Standing::Waiting));
            let is_as_said = match (victim, standings[node.index()]) {
                (Victim::Coordinator, Standing::Outside) => keeper == Some(node) && inside && waiting,
                (Victim::Holder, Standing::Inside) => keeper != Some(node) && waiting,
                (Victim::Waiter, Standing::Waiting) => keeper != Some(node),
                (Victim::Idle, Standing::Outside) => keeper != Some(node) && inside,
                (Victim::Coordinator | Victim::Holder | Victim::Waiter | Victim::Idle, _) => false,
            };
            assert!(is_as_said, "{victim:?} is node {node} among {standings:?}: {again}");
            assert_eq!(spec.faults[0].lasts.is_some(), harm == Harm::Restarts);
            let is_unsafe = outcome.breaches().any(|breach| breach.name == "exclusion");
            let is_stuck = outcome.ending != Ending::Done;
            let expected = match fate {
                Fate::GoesOn => (false, false),
                Fate::Stops => (false, true),
                Fate::Unsafe => (true, is_stuck),
            };
            assert_eq!((is_unsafe, is_stuck), expected, "{again}");
            assert_eq!(why.is_some(), fate != Fate::GoesOn, "{again}");
            fates_seen.push(fate);
        }
    }
    fates_seen.sort();
    fates_seen.dedup();
    assert_eq!(fates_seen, [Fate::GoesOn, Fate::Stops, Fate::Unsafe]);
}

#[test]
fn the_same_question_has_the_same_answer() {
    let tallies = |seed| {
        let inquiry = Inquiry { runs: 15, seed, ..Inquiry::of(entry("ricart-agrawala"), 4) };
        let found = inquire(&inquiry, &mut || true).unwrap();
        found.into_iter().map(|found| found.tally).collect::<Vec<_>>()
    };
    assert_eq!(tallies(1), tallies(1));
    assert_ne!(tallies(1), tallies(1_000));
    assert!(tallies(1).iter().all(|tally| tally.runs() == 15));
    assert!(tallies(u64::MAX).iter().all(|tally| tally.runs() == 15), "seeds begin again where they end");
}

#[test]
fn whoever_has_seen_enough_is_told_what_there_is() {
    let mut left = 3;
    let mut goes_on = || {
        left -= 1;
        left >= 0
    };
    let found = inquire(&Inquiry { runs: 50, ..Inquiry::of(entry("central"), 5) }, &mut goes_on).unwrap();
    assert_eq!(found.len(), 8, "four victims, two harms");
    assert!(found.iter().all(|found| found.tally.runs() <= 3) && found.iter().any(|found| found.tally.runs() > 0));
    let nothing = inquire(&Inquiry::of(entry("central"), 5), &mut || false).unwrap();
    assert!(nothing.iter().all(|found| found.tally.fate().is_none() && found.tally.example.is_none()));
}

/// In a pair nobody is left to be struck while another is inside and a third one waits.
#[test]
fn a_group_that_is_too_small_shows_nothing_of_a_coordinator() {
    let found = findings("central", 2, 5);
    assert!(found.iter().filter(|found| found.victim == Victim::Coordinator).all(|found| found.tally.runs() == 0));
}
