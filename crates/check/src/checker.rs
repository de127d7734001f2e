//! Runs the searches that a group's properties need, and collects the verdicts.

use crate::action::MAX_NODES;
use crate::breadth::{End, Explored, FoundViolation, Progress, SearchOptions, TerminalChecks, explore};
use crate::budgets::MAX_FAULTS;
use crate::clients::{Clients, Judged};
use crate::depth::{DepthResult, search_depth_first};
use crate::fair;
use crate::findings::{CheckError, Effort, Findings, Pass, Phase, Search, Setup};
use crate::initial_states::{initial_states, worker_group};
use crate::judgement::{Judgement, Undecided};
use crate::local::Checked;
use crate::path::{PathGuide, Step};
use crate::replay::{Counterexample, replay};
use crate::step_table::{Make, StepTable};
use crate::system::{LOCALS, MAX_ORDERED_NODES, Memory, System};
use crate::tables::MoveKind;
use crate::walk::{Walks, walk};
use crate::worker_group::Trace;
use quorate_journal::moment::Observer;
use std::time::Instant;

/// Receives the progress of a check; returns `false` to stop it.
pub type Report<'a> = &'a mut dyn FnMut(Phase, Progress) -> bool;

/// A checker for one group: its nodes, its clients, and the faults it allows.
pub struct Checker<P: Checked, U: Clients<Command = P::Command, Event = P::Event>> {
    make: Make<P>,
    clients: U,
    setup: Setup,
    step_table: StepTable<P, U>,
    system: System,
    /// The initial states without memory of the past, each with the nodes' clock rates.
    initial: Vec<(Vec<u32>, Vec<i32>)>,
}

impl<P, U> Checker<P, U>
where
    P: Checked,
    U: Clients<Command = P::Command, Event = P::Event> + Clone + Sync,
{
    /// Creates a checker for a group.
    ///
    /// Fails if the group is empty or exceeds the limits of the state encoding.
    pub fn new(make: Make<P>, clients: U, setup: Setup) -> Result<Self, CheckError> {
        match setup.nodes {
            0 => return Err(CheckError::NoNodes),
            nodes if nodes > MAX_NODES => return Err(CheckError::TooManyNodes { most: MAX_NODES }),
            _ => {}
        }
        if setup.views.is_some() && setup.timing.is_some() {
            return Err(CheckError::TimedViews);
        }
        let changes = setup.views.map_or(0, |views| views.changes);
        let faults = [setup.losses, setup.duplicates, setup.crashes, setup.restarts, setup.early_timers, changes];
        if faults.iter().any(|budget| *budget > MAX_FAULTS) {
            return Err(CheckError::TooManyFaults { most: MAX_FAULTS });
        }
        if let Some(most) = clients.max_view_changes().filter(|most| changes > *most) {
            return Err(CheckError::TooManyChanges { most });
        }
        let (step_table, system, initial) = initial_states(&make, &clients, &setup);
        Ok(Self { make, clients, setup, step_table, system, initial })
    }

    /// The names of the properties that this group's clients define.
    pub fn properties(&self) -> Vec<&'static str> {
        self.clients.properties().iter().map(|property| property.name).collect()
    }

    /// Runs the searches that `effort` asks for and returns the verdicts.
    ///
    /// `report` is called with the progress every few thousand states; the check stops when it
    /// returns `false`.
    pub fn run(&mut self, effort: &Effort, report: Report<'_>) -> Findings {
        let properties = self.clients.properties();
        let mut judgement = Judgement::new(properties, effort);
        match effort.search {
            Search::Breadth => self.by_breadth(effort, &mut judgement, report),
            Search::Depth => self.by_depth(effort, &mut judgement, report),
            Search::Walks(walks) => self.by_walks(walks, effort, &mut judgement, report),
        }
        let timers = self.system.tables.moves.iter().any(|offer| offer.kind == MoveKind::Timer);
        Findings { timers, ..judgement.conclude() }
    }

    /// Replays a counterexample with real nodes in front of `observer`, step by step.
    ///
    /// Fails if a node does not reach the state that the search recorded.
    pub fn replay<O: Observer<P::Command, P::Event>>(
        &self,
        example: &Counterexample,
        observer: O,
    ) -> Result<O, String> {
        replay(&self.step_table, example, observer)
    }

    fn options(effort: &Effort, judgement: &Judgement) -> SearchOptions {
        SearchOptions {
            threads: effort.threads.max(1),
            memory: effort.memory,
            reduce: effort.reduce,
            first: effort.stop_at_first,
            terminal: TerminalChecks {
                deadlock: judgement.number(|judged| matches!(judged, Judged::ByDeadlock)),
                // A client that waits when a run ends is starved too.
                end: judgement.number(|judged| matches!(judged, Judged::ByFairRuns)),
            },
            deepest: None,
        }
    }

    fn by_breadth(&mut self, effort: &Effort, judgement: &mut Judgement, report: Report<'_>) {
        let options = Self::options(effort, judgement);
        if judgement.any(|judged| !judged.is_about_the_past()) {
            self.states_by_breadth(options, judgement, report);
        }
        if !judgement.should_continue(effort) {
            judgement.end(End::FirstViolation, Judged::is_about_the_past);
        } else if let Some(memory) = self.memory(judgement) {
            let begin = Instant::now();
            let options = SearchOptions { terminal: TerminalChecks::default(), ..options };
            let explored = self.explore(Some(memory), options, Phase::Past, judgement, report);
            judgement.past = Some(pass(explored.end, explored.progress, explored.kept_bytes, begin));
            judgement.end(explored.end, Judged::is_about_the_past);
        }
    }

    fn states_by_breadth(&mut self, options: SearchOptions, judgement: &mut Judgement, report: Report<'_>) {
        let begin = Instant::now();
        let explored = self.explore(None, options, Phase::States, judgement, report);
        judgement.states = pass(explored.end, explored.progress, explored.kept_bytes, begin);
        judgement.end(explored.end, Judged::is_seen_at_once);
        let Some(served) = judgement.number(|judged| matches!(judged, Judged::ByFairRuns)) else { return };
        if judgement.is_violated(served) {
            return;
        }
        if self.setup.timing.is_some() {
            judgement.mark_undecided(served, Undecided::BoundedTime);
        } else if explored.end != End::Complete || explored.graded {
            judgement.end(explored.end, |judged| matches!(judged, Judged::ByFairRuns));
        } else {
            self.fair_runs(served, options, explored, judgement, report);
        }
    }

    /// Judges infinite runs: every fair cycle must serve every waiting client.
    fn fair_runs(
        &mut self,
        served: u8,
        options: SearchOptions,
        explored: Explored,
        judgement: &mut Judgement,
        report: Report<'_>,
    ) {
        let begin = Instant::now();
        let mut explored = explored;
        if options.reduce {
            // Fairness is defined over all actions, so the reduced graph is not enough.
            let options = SearchOptions { reduce: false, terminal: TerminalChecks::default(), ..options };
            explored = self.explore(None, options, Phase::Fair, judgement, report);
        }
        let mut searched = fair::FairnessResult { lasso: None, end: explored.end, bytes: explored.kept_bytes };
        if explored.end == End::Complete {
            let progress = explored.progress;
            let mut should_continue = |memory| report(Phase::Fair, Progress { memory, queue: 0, ..progress });
            searched =
                fair::search(&mut self.system, &mut self.step_table, &explored, options.memory, &mut should_continue);
        }
        judgement.fair = Some(pass(searched.end, explored.progress, searched.bytes, begin));
        if let Some(lasso) = searched.lasso {
            let cycle = Some(lasso.path.len());
            let steps = lasso.path.into_iter().chain(lasso.cycle).collect();
            // Without bounded time there is only one initial state.
            judgement.record_counterexample(served, self.example(steps, cycle, 0));
        }
        judgement.end(searched.end, |judged| matches!(judged, Judged::ByFairRuns));
    }

    /// Runs one breadth-first search and records a shortest counterexample for each broken
    /// property.
    fn explore(
        &mut self,
        memory: Option<Memory>,
        options: SearchOptions,
        phase: Phase,
        judgement: &mut Judgement,
        report: Report<'_>,
    ) -> Explored {
        let initial = self.prepare(memory, judgement);
        let count = judgement.properties.len();
        let mut explored = explore(&mut self.system, &mut self.step_table, &initial, count, options, &mut |progress| {
            report(phase, progress)
        });
        if phase != Phase::Fair {
            let shorter = self.shorten(&mut explored, &initial, options, report);
            let source = shorter.as_ref().unwrap_or(&explored);
            for (property, violation) in (0_u8..).zip(source.violations.clone()) {
                if let Some(violation) = violation
                    && !judgement.is_violated(property)
                {
                    let example = self.retrace(source, violation);
                    judgement.record_counterexample(property, example);
                }
            }
        }
        explored
    }

    /// A reduced search may miss the shortest path, so this searches the levels up to the deepest
    /// violation again without reduction.
    fn shorten(
        &mut self,
        explored: &mut Explored,
        initial: &[Vec<u32>],
        options: SearchOptions,
        report: Report<'_>,
    ) -> Option<Explored> {
        let deepest = explored.violations.iter().flatten().map(|violation| violation.depth).max()?;
        if !options.reduce {
            return None;
        }
        let wanted = explored.violations.clone();
        let options = SearchOptions { reduce: false, first: false, deepest: Some(deepest), ..options };
        let full = explore(&mut self.system, &mut self.step_table, initial, wanted.len(), options, &mut |progress| {
            report(Phase::Shortest, progress)
        });
        let all_found = wanted.iter().zip(&full.violations).all(|(wanted, found)| wanted.is_none() || found.is_some());
        all_found.then_some(full)
    }

    /// Prepares the system for a search, with or without memory of the past, and returns its
    /// initial states.
    fn prepare(&mut self, memory: Option<Memory>, judgement: &Judgement) -> Vec<Vec<u32>> {
        self.system.memory = memory;
        self.system.criteria = if memory.is_some() { Vec::new() } else { judgement.criteria() };
        self.system.judged_bits = judgement.judged_bits();
        let states = self.initial.iter().map(|(state, _)| state);
        states.map(|state| self.system.with_memory(state)).collect()
    }

    fn retrace(&mut self, explored: &Explored, violation: FoundViolation) -> Counterexample {
        let (root, mut actions) = explored.path(violation.state);
        actions.extend(violation.action);
        let place = explored.roots.iter().position(|(id, _)| *id == root).unwrap_or(0);
        let mut state = explored.roots.get(place).map_or_else(Vec::new, |(_, state)| state.clone());
        let rates = self.rates_of(&state);
        let steps = PathGuide::new(&mut self.system, &mut self.step_table, &state).follow(&mut state, &actions);
        self.example(steps, None, rates)
    }

    fn rates_of(&self, root: &[u32]) -> usize {
        let locals = LOCALS..LOCALS + self.setup.nodes;
        self.initial.iter().position(|(state, _)| state[locals.clone()] == root[locals.clone()]).unwrap_or(0)
    }

    fn example(&self, steps: Vec<Step>, cycle: Option<usize>, initial: usize) -> Counterexample {
        let rates = self.initial.get(initial).map_or_else(Vec::new, |(_, rates)| rates.clone());
        // Steps that only advance time are visible in the time of the next step.
        let timed = self.setup.timing.is_some();
        Counterexample { steps, cycle, rates, timed, views: self.setup.views.is_some() }
    }

    /// Which properties about the past the state must carry memory for; `None` if there are none.
    fn memory(&self, judgement: &mut Judgement) -> Option<Memory> {
        let fences = judgement.number(|judged| matches!(judged, Judged::ByFences));
        let mut order = judgement.number(|judged| matches!(judged, Judged::ByOrder));
        if let Some(property) = order
            && self.setup.nodes > MAX_ORDERED_NODES
        {
            judgement.mark_undecided(property, Undecided::TooLarge);
            order = None;
        }
        let results = judgement.number(|judged| matches!(judged, Judged::ByResults));
        (fences.is_some() || order.is_some() || results.is_some()).then_some(Memory { order, fences, results })
    }

    fn by_depth(&mut self, effort: &Effort, judgement: &mut Judgement, report: Report<'_>) {
        let options = Self::options(effort, judgement);
        let begin = Instant::now();
        let initial = self.prepare(None, judgement);
        let result = self.depth_pass(None, judgement, options, Phase::States, report);
        judgement.states = pass(result.end, result.progress, result.kept_bytes, begin);
        self.retrace_all(&initial, &result.violations, judgement);
        judgement.end(result.end, Judged::is_seen_at_once);
        if let Some(served) = options.terminal.end {
            if self.setup.timing.is_some() {
                judgement.mark_undecided(served, Undecided::BoundedTime);
            } else if result.end == End::Complete && !result.graded {
                judgement.mark_undecided(served, Undecided::NoGraph);
            } else {
                judgement.end(result.end, |judged| matches!(judged, Judged::ByFairRuns));
            }
        }
        if !judgement.should_continue(effort) {
            judgement.end(End::FirstViolation, Judged::is_about_the_past);
        } else if let Some(memory) = self.memory(judgement) {
            let begin = Instant::now();
            let options = SearchOptions { terminal: TerminalChecks::default(), ..options };
            let initial = self.prepare(Some(memory), judgement);
            let result = self.depth_pass(Some(memory), judgement, options, Phase::Past, report);
            judgement.past = Some(pass(result.end, result.progress, result.kept_bytes, begin));
            self.retrace_all(&initial, &result.violations, judgement);
            judgement.end(result.end, Judged::is_about_the_past);
        }
    }

    fn depth_pass(
        &self,
        memory: Option<Memory>,
        judgement: &Judgement,
        options: SearchOptions,
        phase: Phase,
        report: Report<'_>,
    ) -> DepthResult {
        let (make, clients, setup) = (&self.make, &self.clients, &self.setup);
        let (criteria, judged_bits) = (&self.system.criteria, self.system.judged_bits);
        let make_group = || worker_group(make, clients, setup, memory, criteria, judged_bits);
        search_depth_first(&make_group, judgement.properties.len(), options, &mut |progress| report(phase, progress))
    }

    fn by_walks(&mut self, walks: Walks, effort: &Effort, judgement: &mut Judgement, report: Report<'_>) {
        let options = Self::options(effort, judgement);
        let begin = Instant::now();
        let memory = self.memory(judgement);
        let initial = self.prepare(memory, judgement);
        // Walks judge states and the past in one pass.
        self.system.criteria = judgement.criteria();
        let result = {
            let (make, clients, setup) = (&self.make, &self.clients, &self.setup);
            let (criteria, judged_bits) = (&self.system.criteria, self.system.judged_bits);
            let make_group = || worker_group(make, clients, setup, memory, criteria, judged_bits);
            walk(&make_group, judgement.properties.len(), walks, options, &mut |progress| {
                report(Phase::States, progress)
            })
        };
        judgement.states = Pass {
            end: result.end,
            states: 0,
            generated: result.progress.generated,
            depth: result.progress.depth,
            seconds: begin.elapsed().as_secs_f64(),
            bytes_per_state: None,
        };
        judgement.walks = Some(result.walks);
        self.retrace_all(&initial, &result.violations, judgement);
        judgement.end(result.end, |_| true);
        for property in (0_u8..).take(judgement.properties.len()) {
            judgement.mark_undecided(property, Undecided::AtRandom);
        }
    }

    fn retrace_all(&mut self, initial: &[Vec<u32>], violations: &[Option<Trace>], judgement: &mut Judgement) {
        for (property, trace) in (0_u8..).zip(violations) {
            let Some(trace) = trace else { continue };
            let root = trace.fingerprints.first();
            let state = initial.iter().find(|state| Some(&self.system.fingerprint(state)) == root);
            let Some(mut state) = state.cloned() else { continue };
            let rates = self.rates_of(&state);
            let mut guide = PathGuide::new(&mut self.system, &mut self.step_table, &state);
            let mut steps = Vec::with_capacity(trace.len());
            for fingerprint in trace.fingerprints.iter().skip(1) {
                let found = guide.candidates(&state).iter().find(|found| found.fingerprint == *fingerprint).copied();
                let Some(candidate) = found else { break };
                steps.push(guide.take(&mut state, candidate));
            }
            let example = self.example(steps, None, rates);
            judgement.record_counterexample(property, example);
        }
    }
}

fn pass(end: End, progress: Progress, kept_bytes: u64, begin: Instant) -> Pass {
    let Progress { states, generated, depth, .. } = progress;
    Pass {
        end,
        states,
        generated,
        depth,
        seconds: begin.elapsed().as_secs_f64(),
        bytes_per_state: Some(kept_bytes as f64 / states.max(1) as f64),
    }
}
