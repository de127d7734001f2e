//! The cost of an entry, simulated and with real processes, beside the expected cost.

use super::compared::UnsupportedSizes;
use super::{DelayUnit, ExpectedCost, Measured, Traffic, chart, json, problems, simulate, simulation_spec, table};
use crate::compare::{Chart, CompareError, Comparison, Host, Page, PartCounts};
use crate::family::ScriptFamily;
use crate::mutex::{Mutex, MutexEntry, Settings};
use crate::spec::Spec;
use quorate_journal::workload::Ending;
use serde::Serialize;

/// The planned comparison, and its results so far.
pub(super) struct CostComparison {
    pub(super) algorithms: Vec<&'static MutexEntry>,
    pub(super) sizes: Vec<usize>,
    /// The workloads, by default from idle to saturated.
    pub(super) traffics: Vec<Traffic>,
    /// The algorithms that do not support some sizes, with these sizes.
    pub(super) unsupported_sizes: Vec<UnsupportedSizes>,
    /// Number of requests in each run, all nodes together.
    pub(super) entries: u64,
    pub(super) seed: u64,
    /// The links of real processes; `None` to simulate only.
    pub(super) process_links: Option<ProcessLinks>,
    pub(super) rows: Vec<CostRow>,
}

/// The links between real processes.
#[derive(Clone, Copy)]
pub(super) struct ProcessLinks {
    pub(super) is_tls: bool,
}

impl ProcessLinks {
    pub(super) fn name(self) -> &'static str {
        if self.is_tls { "tls" } else { "tcp" }
    }
}

/// One algorithm in a group of one size under one workload.
#[derive(Clone, Copy)]
pub(super) struct CostCase {
    pub(super) algorithm: &'static MutexEntry,
    pub(super) nodes: usize,
    pub(super) traffic: Traffic,
}

/// The results of one case.
pub(super) struct CostRow {
    pub(super) case: CostCase,
    pub(super) expected: ExpectedCost,
    pub(super) simulated: RunResult,
    /// `None` without `--real`, and if the run was interrupted or failed.
    pub(super) real: Option<RunResult>,
}

/// Whether a run is simulated or has real processes.
#[derive(Clone, Copy)]
pub(super) enum RunKind {
    Simulated,
    Real,
}

impl RunKind {
    /// The unit of delays. A simulated message always takes the same time, which is then the unit.
    pub(super) fn delay_unit(self) -> DelayUnit {
        match self {
            Self::Simulated => DelayUnit::MessageTimes,
            Self::Real => DelayUnit::Milliseconds,
        }
    }
}

/// The measurements of one case in one kind of run.
pub(super) struct RunResult {
    pub(super) kind: RunKind,
    pub(super) measured: Measured,
    /// The command that repeats the run.
    pub(super) repeat_command: String,
    /// Path of the journal, if real processes violated a property.
    pub(super) journal: Option<String>,
}

impl CostRow {
    pub(super) fn name(&self) -> &'static str {
        self.case.algorithm.facts.profile.name
    }

    /// The result of this kind of run, if it was measured.
    pub(super) fn result(&self, kind: RunKind) -> Option<&RunResult> {
        match kind {
            RunKind::Simulated => Some(&self.simulated),
            RunKind::Real => self.real.as_ref(),
        }
    }

    /// The results of all kinds of runs that were measured.
    pub(super) fn results(&self) -> impl Iterator<Item = &RunResult> {
        std::iter::once(&self.simulated).chain(&self.real)
    }

    pub(super) fn holds(&self) -> bool {
        self.results().all(|result| result.measured.holds())
    }

    /// Whether all figures are as expected; `None` if no figure can be judged.
    pub(super) fn is_as_expected(&self) -> Option<bool> {
        let mut judged = self.results().filter_map(|result| result.measured.is_as_expected(&self.expected)).peekable();
        judged.peek()?;
        Some(judged.all(|is_as_expected| is_as_expected))
    }
}

impl CostComparison {
    pub(super) fn holds(&self) -> bool {
        self.rows.iter().all(CostRow::holds)
    }

    /// Whether all figures that can be judged are as expected.
    pub(super) fn is_as_expected(&self) -> bool {
        self.rows.iter().all(|row| row.is_as_expected() != Some(false))
    }

    /// The cases to run, in display order.
    pub(super) fn cases(&self) -> Vec<CostCase> {
        let pairs = self.algorithms.iter().flat_map(|algorithm| self.sizes.iter().map(|nodes| (*algorithm, *nodes)));
        let fitting = pairs.filter(|(algorithm, nodes)| (algorithm.facts.check_group_size)(*nodes).is_ok());
        let cases = fitting.flat_map(|(algorithm, nodes)| {
            self.traffics.iter().map(move |traffic| CostCase { algorithm, nodes, traffic: *traffic })
        });
        cases.collect()
    }

    pub(super) fn simulation_spec(&self, CostCase { algorithm, nodes, traffic }: CostCase) -> Spec<Mutex> {
        let mut spec = simulation_spec(algorithm, nodes, self.seed, &Settings::default());
        spec.settings = traffic.settings(self.entries, nodes, spec.message_time());
        spec
    }

    pub(super) fn simulate(&self, case: CostCase) -> Result<CostRow, CompareError> {
        let spec = self.simulation_spec(case);
        let (expected, measured) = simulate(&spec)?;
        let simulated =
            RunResult { kind: RunKind::Simulated, measured, repeat_command: spec.command("sim"), journal: None };
        Ok(CostRow { case, expected, simulated, real: None })
    }

    /// Runs the case of this row with real processes; `None` if interrupted.
    pub(super) fn run_real(
        &self,
        row: &CostRow,
        links: ProcessLinks,
        host: &mut dyn Host<Mutex>,
    ) -> Result<Option<RunResult>, CompareError> {
        let CostCase { algorithm, nodes, traffic } = row.case;
        let mut spec = host.real_spec(algorithm.into(), nodes, self.seed);
        spec.settings = traffic.settings(self.entries, nodes, spec.message_time());
        let Some(run) = host.run_real(&spec, links.is_tls).map_err(CompareError::Real)? else { return Ok(None) };
        let replayed = &run.replayed;
        let unit = RunKind::Real.delay_unit();
        let measured =
            Measured::new(&row.expected, unit, run.ending, &replayed.summary, &replayed.messages, &replayed.verdicts);
        Ok(Some(RunResult {
            kind: RunKind::Real,
            measured,
            repeat_command: repeat_command(&spec, links),
            journal: run.journal,
        }))
    }
}

/// The command that runs the real processes of one case again. Their delays will differ.
fn repeat_command(spec: &Spec<Mutex>, links: ProcessLinks) -> String {
    let mut words = vec![format!("quorate run {} --nodes {} --seed {}", spec.algorithm, spec.nodes, spec.seed)];
    words.extend(Mutex::flags(spec).into_iter().map(|flag| flag.to_string()));
    words.extend(links.is_tls.then(|| "--tls".to_owned()));
    words.join(" ")
}

impl Comparison for CostComparison {
    type Family = Mutex;

    fn work(&self) -> (u64, &'static str) {
        (self.parts().total as u64, "runs")
    }

    fn measure(&mut self, host: &mut dyn Host<Mutex>) -> Result<(), CompareError> {
        for case in self.cases() {
            if host.is_interrupted() {
                break;
            }
            host.begin_measurement(case.algorithm.facts.profile.name, case.nodes);
            let row = self.simulate(case)?;
            host.advance();
            let real = self.process_links.map(|links| self.run_real(&row, links, host));
            real.iter().for_each(|_| host.advance());
            // Keep the simulated result even if the real run failed.
            let (real, result) = match real.transpose() {
                Ok(result) => (result.flatten(), Ok(())),
                Err(error) => (None, Err(error)),
            };
            self.rows.push(CostRow { real, ..row });
            result?;
        }
        Ok(())
    }

    fn parts(&self) -> PartCounts {
        let kinds = if self.process_links.is_some() { 2 } else { 1 };
        let finished = self.rows.iter().flat_map(CostRow::results).count();
        PartCounts { finished, total: self.cases().len() * kinds, name: "run" }
    }

    /// Whether all runs took place, and all their requests were answered.
    fn is_complete(&self) -> bool {
        let PartCounts { finished, total, .. } = self.parts();
        finished == total
            && self.rows.iter().flat_map(CostRow::results).all(|result| result.measured.ending == Ending::Done)
    }

    fn is_correct(&self) -> bool {
        self.holds() && self.is_as_expected()
    }

    fn page(&self) -> Page {
        Page {
            conditions: table::conditions(self),
            tables: table::tables(self),
            notes: vec![table::notes(self)],
            problems: problems::problems(self),
        }
    }

    fn chart(&self) -> Option<Chart> {
        Some(chart::chart(self))
    }

    fn report(&self) -> impl Serialize {
        json::report(self)
    }
}
