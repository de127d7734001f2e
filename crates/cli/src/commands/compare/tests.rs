//! What no right algorithm shows: figures that are not the book's, and runs that are missing.

use super::{Comparison, Row, Side, World, again, simulate, table};
use crate::Verdict;
use crate::args::{Plan, Reality};
use quorate_lab::compare::{Book, Delays, Measured, contenders, simulation};
use quorate_lab::{experiment, mutex};

/// Ricart and Agrawala with four nodes, simulated once and, so to say, for real.
fn plan() -> Plan {
    Plan {
        contenders: contenders(&["ricart-agrawala".into()]).unwrap(),
        sizes: vec![4],
        seed: 1,
        settings: mutex::Settings::default(),
        reality: Some(Reality { program: "quorate".into(), tls: true }),
        picture: None,
    }
}

/// A real side that the simulator made up, held against the book for a group of so many.
fn row(plan: &Plan, book_nodes: usize) -> Row {
    let entry = plan.contenders[0];
    let outcome = experiment::run(&simulation(entry, 4, 1, &plan.settings)).unwrap();
    let (book, delays) = (Book::of(entry, &simulation(entry, book_nodes, 1, &plan.settings)), Delays::InMilliseconds);
    let measured = Measured::new(&book, delays, outcome.ending, &outcome.summary, &outcome.messages, &outcome.verdicts);
    let again = again(&plan.real_spec(entry, 4), plan.reality.as_ref().unwrap());
    Row { real: Some(Side { world: World::Real, measured, again, journal: None }), ..simulate(plan, entry, 4).unwrap() }
}

#[test]
fn a_figure_that_is_not_the_books_fails_with_the_command_that_shows_it() {
    let plan = plan();
    let comparison = Comparison { plan: &plan, rows: vec![row(&plan, 5)] };
    assert!(comparison.holds() && !comparison.is_exact() && comparison.is_complete());
    assert!(matches!(comparison.verdict(), Verdict::Fails));
    let row = &comparison.rows[0];
    let told: Vec<_> = row.sides().filter_map(|side| table::complaint(row, side)).collect();
    let expected = "ricart-agrawala with 4 nodes, real: an entry took 6 messages, and in the book it is 8.\n\
         To see it: quorate run ricart-agrawala --nodes 4 --seed 1 --entries 10 --tls --trace run.journal && \
         quorate replay run.journal --steps";
    assert_eq!(told, [expected]);
}

#[test]
fn without_its_real_side_a_comparison_is_not_finished() {
    let plan = plan();
    let whole = Comparison { plan: &plan, rows: vec![row(&plan, 4)] };
    assert!(matches!(whole.verdict(), Verdict::Holds));
    let half = Comparison { plan: &plan, rows: vec![Row { real: None, ..row(&plan, 4) }] };
    assert!(matches!(half.verdict(), Verdict::Unfinished));
    assert!(matches!(Comparison { plan: &plan, rows: Vec::new() }.verdict(), Verdict::Unfinished));
}
