//! Comparisons with an unexpected figure or a missing run.

use super::costs::{CostCase, CostComparison, CostRow, ProcessLinks};
use super::{ExpectedCost, OfferedLoad, Traffic, Variants, problems, select_algorithms};
use crate::algorithm::Algorithm;
use crate::compare::{Comparison, Host, RealRun};
use crate::experiment::{self, Outcome};
use crate::mutex::Mutex;
use crate::replay::Replayed;
use crate::spec::Spec;
use std::error::Error;

/// Ricart and Agrawala with four nodes; the simulator stands in for real processes.
fn costs() -> CostComparison {
    CostComparison {
        algorithms: select_algorithms(&["ricart-agrawala".into()], Variants::Default).unwrap(),
        sizes: vec![4],
        traffics: vec![Traffic::Random(OfferedLoad::DEFAULT)],
        unsupported_sizes: Vec::new(),
        entries: 10,
        seed: 1,
        process_links: Some(ProcessLinks { is_tls: true }),
        rows: Vec::new(),
    }
}

/// Simulates the runs of real processes.
struct SimulatedHost;

impl Host<Mutex> for SimulatedHost {
    fn begin_measurement(&mut self, _algorithm: &str, _nodes: usize) {}

    fn advance(&mut self) {}

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
        let replayed = Replayed { spec, found_by: None, is_recorded: true, lines, messages, summary, verdicts };
        Ok(Some(RealRun { ending, replayed, journal: None }))
    }
}

/// A row whose real result is compared with the expected cost of a group of `expected_nodes`.
fn row(costs: &CostComparison, expected_nodes: usize) -> CostRow {
    let case = costs.cases()[0];
    let row = costs.simulate(case).unwrap();
    let row_to_compare = CostRow {
        expected: ExpectedCost::of_experiment(
            case.algorithm,
            &costs.simulation_spec(CostCase { nodes: expected_nodes, ..case }),
        ),
        ..row
    };
    let real = costs.run_real(&row_to_compare, costs.process_links.unwrap(), &mut SimulatedHost).unwrap();
    CostRow { real, ..costs.simulate(case).unwrap() }
}

#[test]
fn an_unexpected_figure_fails_with_a_command_that_reproduces_it() {
    let mut costs = costs();
    costs.rows = vec![row(&costs, 5)];
    assert!(costs.holds() && !costs.is_as_expected() && costs.is_complete() && !costs.is_correct());
    // An entry takes 2(n−1) messages: 6 with four nodes, 8 with five.
    let expected = "ricart-agrawala with 4 nodes, 50% load, real: an entry took 6 messages; expected 8.\n\
         To see it: quorate run ricart-agrawala --nodes 4 --seed 1 --entries 10 --tls --trace run.journal; \
         quorate replay run.journal --steps";
    assert_eq!(problems::problems(&costs), [expected]);
}

#[test]
fn a_comparison_without_its_real_results_is_incomplete() {
    let mut costs = costs();
    let is_complete_and_correct = |costs: &CostComparison| (costs.is_complete(), costs.is_correct());
    assert_eq!(is_complete_and_correct(&costs), (false, true));
    costs.measure(&mut SimulatedHost).unwrap();
    assert_eq!(is_complete_and_correct(&costs), (true, true));
    costs.rows[0].real = None;
    assert_eq!(is_complete_and_correct(&costs), (false, true));
}
