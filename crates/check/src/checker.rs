//! Runs the searches that a group's properties need, and collects the verdicts.

use crate::action::MAX_NODES;
use crate::breadth::{Explored, FoundViolation, Progress, SearchEnd, SearchOptions, TerminalChecks, explore};
use crate::budgets::MAX_FAULTS;
use crate::clients::{Clients, Judged};
use crate::depth::{DepthResult, search_depth_first};
use crate::fair;
use crate::findings::{CheckError, Effort, Findings, Pass, Phase, Search, Setup};
use crate::initial_states::{initial_states, worker_model};
use crate::judgement::{Judgement, Undecided};
use crate::local::Checkable;
use crate::path::{PathGuide, Step};
use crate::replay::{Counterexample, replay};
use crate::step_table::{MakeNode, StepTable};
use crate::system::{LOCALS, MAX_ORDERED_NODES, PastProperties, System};
use crate::tables::MoveKind;
use crate::walk::{Walks, walk};
use crate::worker_group::FingerprintPath;
use quorate_journal::moment::Observer;
use std::time::Instant;

/// Called with the progress of a check; returns `false` to stop it.
pub type ReportProgress<'a> = &'a mut dyn FnMut(Phase, Progress) -> bool;

/// A checker for one group: its nodes, its clients, and the faults it allows.
pub struct Checker<P: Checkable, C: Clients<Command = P::Command, Event = P::Event>> {
    make_node: MakeNode<P>,
    clients: C,
    setup: Setup,
    step_table: StepTable<P, C>,
    system: System,
    /// The initial states, each with the drifts of the nodes' clocks in parts per million. A search
    /// for properties about the past adds words that remember past events.
    initial: Vec<(Vec<u32>, Vec<i32>)>,
}

impl<P, C> Checker<P, C>
where
    P: Checkable,
    C: Clients<Command = P::Command, Event = P::Event> + Clone + Sync,
{
    /// Creates a checker for a group.
    ///
    /// Fails if the group is empty, exceeds the limits of the state encoding or of the clients, or
    /// has both views and a model of time.
    pub fn new(make_node: MakeNode<P>, clients: C, setup: Setup) -> Result<Self, CheckError> {
        match setup.nodes {
            0 => return Err(CheckError::NoNodes),
            nodes if nodes > MAX_NODES => return Err(CheckError::TooManyNodes { nodes, max: MAX_NODES }),
            _ => {}
        }
        if setup.views.is_some() && setup.timing.is_some() {
            return Err(CheckError::TimedViews);
        }
        let changes = setup.views.map_or(0, |views| views.max_changes);
        let faults = [
            ("--loss", setup.losses),
            ("--duplicate", setup.duplicates),
            ("--crashes", setup.crashes),
            ("--restarts", setup.restarts),
            ("--early-timers", setup.early_timers),
            ("--changes", changes),
        ];
        if let Some((option, given)) = faults.into_iter().find(|(_, budget)| *budget > MAX_FAULTS) {
            return Err(CheckError::TooManyFaults { option, given, max: MAX_FAULTS });
        }
        if let Some(max) = clients.max_view_changes().filter(|max| changes > *max) {
            return Err(CheckError::TooManyChanges { given: changes, max });
        }
        let (step_table, system, initial) = initial_states(&make_node, &clients, &setup);
        Ok(Self { make_node, clients, setup, step_table, system, initial })
    }

    /// The names of the properties that this group's clients define.
    pub fn properties(&self) -> Vec<&'static str> {
        self.clients.properties().iter().map(|property| property.name).collect()
    }

    /// Runs the searches that `effort` asks for and returns the verdicts.
    ///
    /// `report` is called with the progress every 20 milliseconds or after at most tens of
    /// thousands of states, depending on the search; the check stops when it returns `false`.
    pub fn run(&mut self, effort: &Effort, report: ReportProgress<'_>) -> Findings {
        let properties = self.clients.properties();
        let mut judgement = Judgement::new(properties, effort);
        match effort.search {
            Search::Breadth => self.run_breadth_first(effort, &mut judgement, report),
            Search::Depth => self.run_depth_first(effort, &mut judgement, report),
            Search::Walks(walks) => self.run_walks(walks, effort, &mut judgement, report),
        }
        let has_timers = self.system.tables.moves.iter().any(|node_move| node_move.kind == MoveKind::Timer);
        Findings { has_timers, ..judgement.conclude() }
    }

    /// Replays a counterexample with real nodes, which `observer` observes. Returns the observer.
    ///
    /// Fails if the nodes cannot take a step, or reach another state than the search recorded.
    pub fn replay<O: Observer<P::Command, P::Event>>(
        &self,
        example: &Counterexample,
        observer: O,
    ) -> Result<O, String> {
        replay(&self.step_table, example, observer)
    }

    fn search_options(effort: &Effort, judgement: &Judgement) -> SearchOptions {
        SearchOptions {
            threads: effort.threads.max(1),
            memory_limit: effort.memory_limit,
            reduce: effort.reduce,
            stop_at_first: effort.stop_at_first,
            terminal_checks: TerminalChecks {
                deadlock_property: judgement.find_property(|judged| matches!(judged, Judged::ByDeadlock)),
                // A client that waits when a run ends is starved too.
                starvation_property: judgement.find_property(|judged| matches!(judged, Judged::ByFairRuns)),
            },
            max_depth: None,
        }
    }

    fn run_breadth_first(&mut self, effort: &Effort, judgement: &mut Judgement, report: ReportProgress<'_>) {
        let options = Self::search_options(effort, judgement);
        if judgement.has_property(|judged| !judged.is_about_the_past()) {
            self.judge_states_breadth_first(options, judgement, report);
        }
        if !judgement.should_continue(effort) {
            judgement.record_end(SearchEnd::FirstViolation, Judged::is_about_the_past);
        } else if let Some(past) = self.past_properties(judgement) {
            let started = Instant::now();
            let options = SearchOptions { terminal_checks: TerminalChecks::default(), ..options };
            let explored = self.explore(Some(past), options, Phase::Past, judgement, report);
            judgement.past_pass = Some(measure_pass(explored.end, explored.progress, explored.kept_bytes, started));
            judgement.record_end(explored.end, Judged::is_about_the_past);
        }
    }

    fn judge_states_breadth_first(
        &mut self,
        options: SearchOptions,
        judgement: &mut Judgement,
        report: ReportProgress<'_>,
    ) {
        let started = Instant::now();
        let explored = self.explore(None, options, Phase::States, judgement, report);
        judgement.main_pass = measure_pass(explored.end, explored.progress, explored.kept_bytes, started);
        judgement.record_end(explored.end, Judged::is_judged_state_by_state);
        let Some(liveness) = judgement.find_property(|judged| matches!(judged, Judged::ByFairRuns)) else { return };
        if judgement.is_violated(liveness) {
            return;
        }
        if self.setup.timing.is_some() {
            judgement.mark_undecided(liveness, Undecided::BoundedTime);
        } else if explored.end != SearchEnd::Complete || explored.is_layered {
            // No run of a layered graph is infinite, so the states judged above decide. A search
            // that ended early leaves the property undecided.
            judgement.record_end(explored.end, |judged| matches!(judged, Judged::ByFairRuns));
        } else {
            self.judge_fair_runs(liveness, options, explored, judgement, report);
        }
    }

    /// Judges infinite runs: every fair cycle must serve every waiting client and reach the common
    /// goal.
    fn judge_fair_runs(
        &mut self,
        liveness: u8,
        options: SearchOptions,
        explored: Explored,
        judgement: &mut Judgement,
        report: ReportProgress<'_>,
    ) {
        let started = Instant::now();
        let mut explored = explored;
        if options.reduce {
            // Fairness is defined over all actions, so the reduced graph is not enough.
            let options = SearchOptions { reduce: false, terminal_checks: TerminalChecks::default(), ..options };
            explored = self.explore(None, options, Phase::Fair, judgement, report);
        }
        let mut result = fair::FairnessResult { lasso: None, end: explored.end, bytes: explored.kept_bytes };
        if explored.end == SearchEnd::Complete {
            let progress = explored.progress;
            let mut should_continue = |memory| report(Phase::Fair, Progress { memory, queue: 0, ..progress });
            result = fair::search(
                &mut self.system,
                &mut self.step_table,
                &explored,
                options.memory_limit,
                &mut should_continue,
            );
        }
        judgement.fair_pass = Some(measure_pass(result.end, explored.progress, result.bytes, started));
        if let Some(lasso) = result.lasso {
            let cycle_start = Some(lasso.path.len());
            let steps = lasso.path.into_iter().chain(lasso.cycle).collect();
            // Where time is not modelled there is only one initial state.
            judgement.record_counterexample(liveness, self.counterexample(steps, cycle_start, 0));
        }
        judgement.record_end(result.end, |judged| matches!(judged, Judged::ByFairRuns));
    }

    /// Runs one breadth-first search and, unless it only prepares the search for fair runs, records
    /// a counterexample for each violated property. It is a shortest one unless the search was
    /// reduced and `find_shortest_violations` returned `None`.
    fn explore(
        &mut self,
        past: Option<PastProperties>,
        options: SearchOptions,
        phase: Phase,
        judgement: &mut Judgement,
        report: ReportProgress<'_>,
    ) -> Explored {
        let initial = self.prepare(past, judgement);
        let count = judgement.properties.len();
        let explored = explore(&mut self.system, &mut self.step_table, &initial, count, options, &mut |progress| {
            report(phase, progress)
        });
        if phase != Phase::Fair {
            let shorter = self.find_shortest_violations(&explored, &initial, options, report);
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

    /// Searches the levels up to the deepest violation again without reduction, because a reduced
    /// search may miss the shortest path. Returns `None` if there is no violation, if the first
    /// search was not reduced, or if the second one ended before it found every violation again.
    fn find_shortest_violations(
        &mut self,
        explored: &Explored,
        initial: &[Vec<u32>],
        options: SearchOptions,
        report: ReportProgress<'_>,
    ) -> Option<Explored> {
        let deepest = explored.violations.iter().flatten().map(|violation| violation.depth).max()?;
        if !options.reduce {
            return None;
        }
        let wanted = explored.violations.clone();
        let options = SearchOptions { reduce: false, stop_at_first: false, max_depth: Some(deepest), ..options };
        let full = explore(&mut self.system, &mut self.step_table, initial, wanted.len(), options, &mut |progress| {
            report(Phase::Shortest, progress)
        });
        let all_found = wanted.iter().zip(&full.violations).all(|(wanted, found)| wanted.is_none() || found.is_some());
        all_found.then_some(full)
    }

    /// Prepares the system for a search and returns its initial states. The states remember past
    /// events if there are `past` properties.
    fn prepare(&mut self, past: Option<PastProperties>, judgement: &Judgement) -> Vec<Vec<u32>> {
        self.system.past_properties = past;
        self.system.criteria = if past.is_some() { Vec::new() } else { judgement.criteria() };
        self.system.judged_bits = judgement.judged_bits();
        let states = self.initial.iter().map(|(state, _)| state);
        states.map(|state| self.system.with_memory(state)).collect()
    }

    /// Rebuilds the steps that lead to a violation.
    fn retrace(&mut self, explored: &Explored, violation: FoundViolation) -> Counterexample {
        let (root, mut actions) = explored.path(violation.state);
        actions.extend(violation.action);
        let root_index = explored.roots.iter().position(|(id, _)| *id == root).unwrap_or(0);
        let mut state = explored.roots.get(root_index).map_or_else(Vec::new, |(_, state)| state.clone());
        let initial_index = self.initial_index_of(&state);
        let steps = PathGuide::new(&mut self.system, &mut self.step_table, &state).follow(&mut state, &actions);
        self.counterexample(steps, None, initial_index)
    }

    /// Returns the index of the initial state whose nodes are in the same local states as `root`;
    /// that index identifies the drifts of the clocks, too.
    fn initial_index_of(&self, root: &[u32]) -> usize {
        let locals = LOCALS..LOCALS + self.setup.nodes;
        self.initial.iter().position(|(state, _)| state[locals.clone()] == root[locals.clone()]).unwrap_or(0)
    }

    fn counterexample(&self, steps: Vec<Step>, cycle_start: Option<usize>, initial_index: usize) -> Counterexample {
        let drifts_ppm = self.initial.get(initial_index).map_or_else(Vec::new, |(_, drifts_ppm)| drifts_ppm.clone());
        let is_timed = self.setup.timing.is_some();
        Counterexample { steps, cycle_start, drifts_ppm, is_timed, has_views: self.setup.views.is_some() }
    }

    /// Returns the properties about the past, for which the state must carry memory; `None` if
    /// there are none. Marks as undecided those that cannot be judged in a group of this size.
    fn past_properties(&self, judgement: &mut Judgement) -> Option<PastProperties> {
        let fences = judgement.find_property(|judged| matches!(judged, Judged::ByFences));
        let mut order = judgement.find_property(|judged| matches!(judged, Judged::ByOrder));
        if let Some(property) = order
            && self.setup.nodes > MAX_ORDERED_NODES
        {
            judgement.mark_undecided(property, Undecided::TooLarge);
            order = None;
        }
        let results = judgement.find_property(|judged| matches!(judged, Judged::ByResults));
        (fences.is_some() || order.is_some() || results.is_some()).then_some(PastProperties { order, fences, results })
    }

    fn run_depth_first(&mut self, effort: &Effort, judgement: &mut Judgement, report: ReportProgress<'_>) {
        let options = Self::search_options(effort, judgement);
        let started = Instant::now();
        let initial = self.prepare(None, judgement);
        let result = self.explore_depth_first(None, judgement, options, Phase::States, report);
        judgement.main_pass = measure_pass(result.end, result.progress, result.kept_bytes, started);
        self.retrace_all(&initial, &result.violations, judgement);
        judgement.record_end(result.end, Judged::is_judged_state_by_state);
        if let Some(liveness) = options.terminal_checks.starvation_property {
            if self.setup.timing.is_some() {
                judgement.mark_undecided(liveness, Undecided::BoundedTime);
            } else if result.end == SearchEnd::Complete && !result.is_layered {
                judgement.mark_undecided(liveness, Undecided::NoGraph);
            } else {
                judgement.record_end(result.end, |judged| matches!(judged, Judged::ByFairRuns));
            }
        }
        if !judgement.should_continue(effort) {
            judgement.record_end(SearchEnd::FirstViolation, Judged::is_about_the_past);
        } else if let Some(past) = self.past_properties(judgement) {
            let started = Instant::now();
            let options = SearchOptions { terminal_checks: TerminalChecks::default(), ..options };
            let initial = self.prepare(Some(past), judgement);
            let result = self.explore_depth_first(Some(past), judgement, options, Phase::Past, report);
            judgement.past_pass = Some(measure_pass(result.end, result.progress, result.kept_bytes, started));
            self.retrace_all(&initial, &result.violations, judgement);
            judgement.record_end(result.end, Judged::is_about_the_past);
        }
    }

    fn explore_depth_first(
        &self,
        past: Option<PastProperties>,
        judgement: &Judgement,
        options: SearchOptions,
        phase: Phase,
        report: ReportProgress<'_>,
    ) -> DepthResult {
        let (make, clients, setup) = (&self.make_node, &self.clients, &self.setup);
        let (criteria, judged_bits) = (&self.system.criteria, self.system.judged_bits);
        let make_model = || worker_model(make, clients, setup, past, criteria, judged_bits);
        search_depth_first(&make_model, judgement.properties.len(), options, &mut |progress| report(phase, progress))
    }

    fn run_walks(&mut self, walks: Walks, effort: &Effort, judgement: &mut Judgement, report: ReportProgress<'_>) {
        let options = Self::search_options(effort, judgement);
        let started = Instant::now();
        let past = self.past_properties(judgement);
        let initial = self.prepare(past, judgement);
        // Walks judge states and the past in one pass.
        self.system.criteria = judgement.criteria();
        let result = {
            let (make, clients, setup) = (&self.make_node, &self.clients, &self.setup);
            let (criteria, judged_bits) = (&self.system.criteria, self.system.judged_bits);
            let make_model = || worker_model(make, clients, setup, past, criteria, judged_bits);
            walk(&make_model, judgement.properties.len(), walks, options, &mut |progress| {
                report(Phase::States, progress)
            })
        };
        judgement.main_pass = Pass {
            end: result.end,
            states: 0,
            generated: result.progress.generated,
            depth: result.progress.depth,
            seconds: started.elapsed().as_secs_f64(),
            bytes_per_state: None,
        };
        judgement.walk_count = Some(result.finished_walks);
        self.retrace_all(&initial, &result.violations, judgement);
        judgement.record_end(result.end, |_| true);
        for property in (0_u8..).take(judgement.properties.len()) {
            judgement.mark_undecided(property, Undecided::AtRandom);
        }
    }

    /// Rebuilds the steps of each path to a violation, and records them as counterexamples.
    fn retrace_all(&mut self, initial: &[Vec<u32>], violations: &[Option<FingerprintPath>], judgement: &mut Judgement) {
        for (property, path) in (0_u8..).zip(violations) {
            let Some(path) = path else { continue };
            let root = path.fingerprints.first();
            let state = initial.iter().find(|state| Some(&self.system.fingerprint(state)) == root);
            let Some(mut state) = state.cloned() else { continue };
            let initial_index = self.initial_index_of(&state);
            let mut guide = PathGuide::new(&mut self.system, &mut self.step_table, &state);
            let mut steps = Vec::with_capacity(path.len());
            for fingerprint in path.fingerprints.iter().skip(1) {
                let candidate =
                    guide.candidates(&state).iter().find(|candidate| candidate.fingerprint == *fingerprint).copied();
                let Some(candidate) = candidate else { break };
                steps.push(guide.take_transition(&mut state, candidate));
            }
            let example = self.counterexample(steps, None, initial_index);
            judgement.record_counterexample(property, example);
        }
    }
}

fn measure_pass(end: SearchEnd, progress: Progress, kept_bytes: u64, started: Instant) -> Pass {
    let Progress { states, generated, depth, .. } = progress;
    Pass {
        end,
        states,
        generated,
        depth,
        seconds: started.elapsed().as_secs_f64(),
        bytes_per_state: Some(kept_bytes as f64 / states.max(1) as f64),
    }
}
