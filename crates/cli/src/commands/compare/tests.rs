//! What no right algorithm shows: figures that are not the book's, and runs that are missing.

use super::{Comparison, Row, Side, World, again, complaints, simulate};
use crate::Verdict;
use crate::args::{Heat, Plan, Reality};
use quorate_lab::compare::{Book, Delays, Forms, Measured, OfferedLoad, Traffic, contenders};
use quorate_lab::experiment;

/// Ricart and Agrawala with four nodes, simulated once and, so to say, for real.
fn plan() -> Plan {
    Plan {
        contenders: contenders(&["ricart-agrawala".into()], Forms::Usual).unwrap(),
        sizes: vec![4],
        traffics: vec![Traffic::Random(OfferedLoad::USUAL)],
        left_out: Vec::new(),
        entries: 10,
        seed: 1,
        reality: Some(Reality { program: "quorate".into(), tls: true }),
        picture: None,
    }
}

/// A real side that the simulator made up, held against the book for a group of so many.
fn row(plan: &Plan, book_nodes: usize) -> Row {
    let heat = plan.heats().next().unwrap();
    let outcome = experiment::run(&plan.simulation(heat)).unwrap();
    let book = Book::of(heat.entry, &plan.simulation(Heat { nodes: book_nodes, ..heat }));
    let delays = Delays::InMilliseconds;
    let measured = Measured::new(&book, delays, outcome.ending, &outcome.summary, &outcome.messages, &outcome.verdicts);
    let again = again(&plan.real_spec(heat), plan.reality.as_ref().unwrap());
    Row { real: Some(Side { world: World::Real, measured, again, journal: None }), ..simulate(plan, heat).unwrap() }
}

#[test]
fn a_figure_that_is_not_the_books_fails_with_the_command_that_shows_it() {
    let plan = plan();
    let comparison = Comparison { plan: &plan, rows: vec![row(&plan, 5)] };
    assert!(comparison.holds() && !comparison.is_exact() && comparison.is_complete());
    assert!(matches!(comparison.verdict(), Verdict::Fails));
    let row = &comparison.rows[0];
    let told: Vec<_> = row.sides().filter_map(|side| complaints::complaint(row, side)).collect();
    let expected = "ricart-agrawala with 4 nodes, 50% load, real: an entry took 6 messages, and in the book it is 8.\n\
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
