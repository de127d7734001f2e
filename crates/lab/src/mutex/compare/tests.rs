//! What no right algorithm shows: figures that are not the book's, and runs that are missing.

use super::costs::{Costs, Heat, Links, Row};
use super::{Book, Forms, OfferedLoad, Traffic, complaints, contenders};
use crate::algorithm::Algorithm;
use crate::compare::{Comparison, Host, RealRun};
use crate::experiment::{self, Outcome};
use crate::mutex::Mutex;
use crate::replay::Replayed;
use crate::spec::Spec;
use std::error::Error;

/// Ricart and Agrawala with four nodes, simulated once and, so to say, for real.
fn costs() -> Costs {
    Costs {
        contenders: contenders(&["ricart-agrawala".into()], Forms::Usual).unwrap(),
        sizes: vec![4],
        traffics: vec![Traffic::Random(OfferedLoad::USUAL)],
        left_out: Vec::new(),
        entries: 10,
        seed: 1,
        real: Some(Links { tls: true }),
        rows: Vec::new(),
    }
}

/// Has the simulator do what real processes should.
struct Pretender;

impl Host<Mutex> for Pretender {
    fn begins(&mut self, _algorithm: &str, _nodes: usize) {}

    fn advances(&mut self) {}

    fn is_interrupted(&self) -> bool {
        false
    }

    fn real_spec(&self, algorithm: Algorithm<Mutex>, nodes: usize, seed: u64) -> Spec<Mutex> {
        Spec { nodes, seed, ..Spec::new(algorithm) }
    }

    fn run_real(
        &mut self,
        spec: &Spec<Mutex>,
        _tls: bool,
    ) -> Result<Option<RealRun<Mutex>>, Box<dyn Error + Send + Sync>> {
        let Outcome { ending, messages, summary, verdicts, .. } = experiment::run(spec)?;
        let (spec, lines) = (spec.clone(), 0);
        let read = Replayed { spec, found_by: None, recorded: true, lines, messages, summary, verdicts };
        Ok(Some(RealRun { ending, read, journal: None }))
    }
}

/// A row whose real side is held against the book for a group of so many.
fn row(costs: &Costs, book_nodes: usize) -> Row {
    let heat = costs.heats()[0];
    let row = costs.simulate(heat).unwrap();
    let other = Row { book: Book::of(heat.entry, &costs.simulation(Heat { nodes: book_nodes, ..heat })), ..row };
    let real = costs.run_real(&other, costs.real.unwrap(), &mut Pretender).unwrap();
    Row { real, ..costs.simulate(heat).unwrap() }
}

#[test]
fn a_figure_that_is_not_the_books_fails_with_the_command_that_shows_it() {
    let mut costs = costs();
    costs.rows = vec![row(&costs, 5)];
    assert!(costs.holds() && !costs.is_exact() && costs.is_complete() && !costs.is_right());
    let expected = "ricart-agrawala with 4 nodes, 50% load, real: an entry took 6 messages, and in the book it is 8.\n\
         To see it: quorate run ricart-agrawala --nodes 4 --seed 1 --entries 10 --tls --trace run.journal && \
         quorate replay run.journal --steps";
    assert_eq!(complaints::complaints(&costs), [expected]);
}

#[test]
fn without_its_real_side_a_comparison_is_not_finished() {
    let mut costs = costs();
    let is_complete_and_right = |costs: &Costs| (costs.is_complete(), costs.is_right());
    assert_eq!(is_complete_and_right(&costs), (false, true));
    costs.measure(&mut Pretender).unwrap();
    assert_eq!(is_complete_and_right(&costs), (true, true));
    costs.rows[0].real = None;
    assert_eq!(is_complete_and_right(&costs), (false, true));
}
