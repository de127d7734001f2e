//! Checks a group: runs the searches that its properties need, and judges.

use crate::action::MOST_NODES;
use crate::breadth::{Breach, End, Explored, Orders, Progress, Stops, explore};
use crate::budgets::MOST_FAULTS;
use crate::cast::{cast, troupe};
use crate::depth::{Dug, dig};
use crate::fair;
use crate::findings::{CheckError, Effort, Findings, Pass, Phase, Search, Setup};
use crate::judgement::{Judgement, Open};
use crate::local::Checked;
use crate::play::{Counterexample, play};
use crate::stage::{Make, Stage};
use crate::system::{LOCALS, MOST_ORDERED, Memory, System};
use crate::tables::MoveKind;
use crate::trail::{Guide, Step};
use crate::troupe::Trace;
use crate::users::{Judged, Users};
use crate::walk::{Walks, walk};
use quorate_journal::moment::Observer;
use std::time::Instant;

/// Tells how a check goes, and whether it may go on.
pub type Report<'a> = &'a mut dyn FnMut(Phase, Progress) -> bool;

/// A group that is checked.
pub struct Checker<P: Checked, U: Users<Command = P::Command, Event = P::Event>> {
    make: Make<P>,
    users: U,
    setup: Setup,
    stage: Stage<P, U>,
    system: System,
    /// The initial states without memory, and the rates of the clocks in each.
    initial: Vec<(Vec<u32>, Vec<i32>)>,
}

impl<P, U> Checker<P, U>
where
    P: Checked,
    U: Users<Command = P::Command, Event = P::Event> + Clone + Sync,
{
    /// A group of this kind.
    pub fn new(make: Make<P>, users: U, setup: Setup) -> Result<Self, CheckError> {
        match setup.nodes {
            0 => return Err(CheckError::NoNodes),
            nodes if nodes > MOST_NODES => return Err(CheckError::TooManyNodes { most: MOST_NODES }),
            _ => {}
        }
        if setup.views.is_some() && setup.timing.is_some() {
            return Err(CheckError::TimedViews);
        }
        let changes = setup.views.map_or(0, |views| views.changes);
        let faults = [setup.losses, setup.duplicates, setup.crashes, setup.restarts, setup.hasty_timers, changes];
        if faults.iter().any(|budget| *budget > MOST_FAULTS) {
            return Err(CheckError::TooManyFaults { most: MOST_FAULTS });
        }
        if let Some(most) = users.most_changes().filter(|most| changes > *most) {
            return Err(CheckError::TooManyChanges { most });
        }
        let (stage, system, initial) = cast(&make, &users, &setup);
        Ok(Self { make, users, setup, stage, system, initial })
    }

    /// The names of the properties that can be judged.
    pub fn properties(&self) -> Vec<&'static str> {
        self.users.properties().iter().map(|property| property.name).collect()
    }

    /// Searches, and judges.
    pub fn run(&mut self, effort: &Effort, report: Report<'_>) -> Findings {
        let properties = self.users.properties();
        let mut judgement = Judgement::new(properties, effort);
        match effort.search {
            Search::Breadth => self.by_breadth(effort, &mut judgement, report),
            Search::Depth => self.by_depth(effort, &mut judgement, report),
            Search::Walks(walks) => self.by_walks(walks, effort, &mut judgement, report),
        }
        let timers = self.system.tables.moves.iter().any(|offer| offer.kind == MoveKind::Timer);
        Findings { timers, ..judgement.conclude() }
    }

    /// Shows a counterexample to an observer, step by step, with real nodes.
    pub fn play<O: Observer<P::Command, P::Event>>(&self, example: &Counterexample, observer: O) -> Result<O, String> {
        play(&self.stage, example, observer)
    }

    fn orders(effort: &Effort, judgement: &Judgement) -> Orders {
        Orders {
            threads: effort.threads.max(1),
            memory: effort.memory,
            reduce: effort.reduce,
            first: effort.first,
            stops: Stops {
                deadlock: judgement.number(|judged| matches!(judged, Judged::ByDeadlock)),
                // A run that ends while somebody waits starves that one too.
                end: judgement.number(|judged| matches!(judged, Judged::ByFairRuns)),
            },
            deepest: None,
        }
    }

    fn by_breadth(&mut self, effort: &Effort, judgement: &mut Judgement, report: Report<'_>) {
        let orders = Self::orders(effort, judgement);
        if judgement.any(|judged| !judged.is_about_the_past()) {
            self.states_by_breadth(orders, judgement, report);
        }
        if !judgement.goes_on(effort) {
            judgement.end(End::FirstBreach, Judged::is_about_the_past);
        } else if let Some(memory) = self.memory(judgement) {
            let begin = Instant::now();
            let orders = Orders { stops: Stops::default(), ..orders };
            let explored = self.explore(Some(memory), orders, Phase::Past, judgement, report);
            judgement.past = Some(pass(explored.end, explored.progress, explored.kept_bytes, begin));
            judgement.end(explored.end, Judged::is_about_the_past);
        }
    }

    fn states_by_breadth(&mut self, orders: Orders, judgement: &mut Judgement, report: Report<'_>) {
        let begin = Instant::now();
        let explored = self.explore(None, orders, Phase::States, judgement, report);
        judgement.states = pass(explored.end, explored.progress, explored.kept_bytes, begin);
        judgement.end(explored.end, Judged::is_seen_at_once);
        let Some(served) = judgement.number(|judged| matches!(judged, Judged::ByFairRuns)) else { return };
        if judgement.is_broken(served) {
            return;
        }
        if self.setup.timing.is_some() {
            judgement.leave_open(served, Open::BoundedTime);
        } else if explored.end != End::Complete || explored.graded {
            judgement.end(explored.end, |judged| matches!(judged, Judged::ByFairRuns));
        } else {
            self.fair_runs(served, orders, explored, judgement, report);
        }
    }

    /// Runs that go in circles: every one that is fair must serve everybody.
    fn fair_runs(
        &mut self,
        served: u8,
        orders: Orders,
        explored: Explored,
        judgement: &mut Judgement,
        report: Report<'_>,
    ) {
        let begin = Instant::now();
        let mut explored = explored;
        if orders.reduce {
            // Fairness is between all actions, so all of them are needed.
            let orders = Orders { reduce: false, stops: Stops::default(), ..orders };
            explored = self.explore(None, orders, Phase::Fair, judgement, report);
        }
        let mut searched = fair::Searched { lasso: None, end: explored.end, bytes: explored.kept_bytes };
        if explored.end == End::Complete {
            let progress = explored.progress;
            let mut goes_on = |memory| report(Phase::Fair, Progress { memory, queue: 0, ..progress });
            searched = fair::search(&mut self.system, &mut self.stage, &explored, orders.memory, &mut goes_on);
        }
        judgement.fair = Some(pass(searched.end, explored.progress, searched.bytes, begin));
        if let Some(lasso) = searched.lasso {
            let cycle = Some(lasso.path.len());
            let steps = lasso.path.into_iter().chain(lasso.cycle).collect();
            // Where time does not count, there is one initial state.
            judgement.break_by(served, self.example(steps, cycle, 0));
        }
        judgement.end(searched.end, |judged| matches!(judged, Judged::ByFairRuns));
    }

    /// One breadth-first search, and the shortest counterexamples to what it finds broken.
    fn explore(
        &mut self,
        memory: Option<Memory>,
        orders: Orders,
        phase: Phase,
        judgement: &mut Judgement,
        report: Report<'_>,
    ) -> Explored {
        let initial = self.equip(memory, judgement);
        let count = judgement.properties.len();
        let mut explored = explore(&mut self.system, &mut self.stage, &initial, count, orders, &mut |progress| {
            report(phase, progress)
        });
        if phase != Phase::Fair {
            let shorter = self.shorten(&mut explored, &initial, orders, report);
            let source = shorter.as_ref().unwrap_or(&explored);
            for (property, breach) in (0_u8..).zip(source.breaches.clone()) {
                if let Some(breach) = breach
                    && !judgement.is_broken(property)
                {
                    let example = self.retrace(source, breach);
                    judgement.break_by(property, example);
                }
            }
        }
        explored
    }

    /// A reduced search may find a longer path than there is, so the levels up to there are searched in full.
    fn shorten(
        &mut self,
        explored: &mut Explored,
        initial: &[Vec<u32>],
        orders: Orders,
        report: Report<'_>,
    ) -> Option<Explored> {
        let deepest = explored.breaches.iter().flatten().map(|breach| breach.depth).max()?;
        if !orders.reduce {
            return None;
        }
        let wanted = explored.breaches.clone();
        let orders = Orders { reduce: false, first: false, deepest: Some(deepest), ..orders };
        let full = explore(&mut self.system, &mut self.stage, initial, wanted.len(), orders, &mut |progress| {
            report(Phase::Shortest, progress)
        });
        let all_found = wanted.iter().zip(&full.breaches).all(|(wanted, found)| wanted.is_none() || found.is_some());
        all_found.then_some(full)
    }

    /// Sets the group up for a search, with or without memory of the past: its initial states.
    fn equip(&mut self, memory: Option<Memory>, judgement: &Judgement) -> Vec<Vec<u32>> {
        self.system.memory = memory;
        self.system.judges = if memory.is_some() { Vec::new() } else { judgement.judges() };
        self.system.watched = judgement.watched();
        let states = self.initial.iter().map(|(state, _)| state);
        states.map(|state| self.system.with_memory(state)).collect()
    }

    fn retrace(&mut self, explored: &Explored, breach: Breach) -> Counterexample {
        let (root, mut actions) = explored.path(breach.state);
        actions.extend(breach.action);
        let place = explored.roots.iter().position(|(id, _)| *id == root).unwrap_or(0);
        let mut state = explored.roots.get(place).map_or_else(Vec::new, |(_, state)| state.clone());
        let rates = self.rates_of(&state);
        let steps = Guide::new(&mut self.system, &mut self.stage, &state).follow(&mut state, &actions);
        self.example(steps, None, rates)
    }

    fn rates_of(&self, root: &[u32]) -> usize {
        let locals = LOCALS..LOCALS + self.setup.nodes;
        self.initial.iter().position(|(state, _)| state[locals.clone()] == root[locals.clone()]).unwrap_or(0)
    }

    fn example(&self, steps: Vec<Step>, cycle: Option<usize>, initial: usize) -> Counterexample {
        let rates = self.initial.get(initial).map_or_else(Vec::new, |(_, rates)| rates.clone());
        // Time that passes is seen in what happens next.
        let timed = self.setup.timing.is_some();
        Counterexample { steps, cycle, rates, timed, views: self.setup.views.is_some() }
    }

    /// What properties about the past need to remember, if any of them can be judged.
    fn memory(&self, judgement: &mut Judgement) -> Option<Memory> {
        let fences = judgement.number(|judged| matches!(judged, Judged::ByFences));
        let mut order = judgement.number(|judged| matches!(judged, Judged::ByOrder));
        if let Some(property) = order
            && self.setup.nodes > MOST_ORDERED
        {
            judgement.leave_open(property, Open::TooLarge);
            order = None;
        }
        let results = judgement.number(|judged| matches!(judged, Judged::ByResults));
        (fences.is_some() || order.is_some() || results.is_some()).then_some(Memory { order, fences, results })
    }

    fn by_depth(&mut self, effort: &Effort, judgement: &mut Judgement, report: Report<'_>) {
        let orders = Self::orders(effort, judgement);
        let begin = Instant::now();
        let initial = self.equip(None, judgement);
        let dug = self.dig(None, judgement, orders, Phase::States, report);
        judgement.states = pass(dug.end, dug.progress, dug.kept_bytes, begin);
        self.retrace_all(&initial, &dug.breaches, judgement);
        judgement.end(dug.end, Judged::is_seen_at_once);
        if let Some(served) = orders.stops.end {
            if self.setup.timing.is_some() {
                judgement.leave_open(served, Open::BoundedTime);
            } else if dug.end == End::Complete && !dug.graded {
                judgement.leave_open(served, Open::NoGraph);
            } else {
                judgement.end(dug.end, |judged| matches!(judged, Judged::ByFairRuns));
            }
        }
        if !judgement.goes_on(effort) {
            judgement.end(End::FirstBreach, Judged::is_about_the_past);
        } else if let Some(memory) = self.memory(judgement) {
            let begin = Instant::now();
            let orders = Orders { stops: Stops::default(), ..orders };
            let initial = self.equip(Some(memory), judgement);
            let dug = self.dig(Some(memory), judgement, orders, Phase::Past, report);
            judgement.past = Some(pass(dug.end, dug.progress, dug.kept_bytes, begin));
            self.retrace_all(&initial, &dug.breaches, judgement);
            judgement.end(dug.end, Judged::is_about_the_past);
        }
    }

    fn dig(
        &self,
        memory: Option<Memory>,
        judgement: &Judgement,
        orders: Orders,
        phase: Phase,
        report: Report<'_>,
    ) -> Dug {
        let (make, users, setup) = (&self.make, &self.users, &self.setup);
        let (judges, watched) = (&self.system.judges, self.system.watched);
        let casting = || troupe(make, users, setup, memory, judges, watched);
        dig(&casting, judgement.properties.len(), orders, &mut |progress| report(phase, progress))
    }

    fn by_walks(&mut self, walks: Walks, effort: &Effort, judgement: &mut Judgement, report: Report<'_>) {
        let orders = Self::orders(effort, judgement);
        let begin = Instant::now();
        let memory = self.memory(judgement);
        let initial = self.equip(memory, judgement);
        // Walks see everything at once.
        self.system.judges = judgement.judges();
        let walked = {
            let (make, users, setup) = (&self.make, &self.users, &self.setup);
            let (judges, watched) = (&self.system.judges, self.system.watched);
            let casting = || troupe(make, users, setup, memory, judges, watched);
            walk(&casting, judgement.properties.len(), walks, orders, &mut |progress| report(Phase::States, progress))
        };
        judgement.states = Pass {
            end: walked.end,
            states: 0,
            generated: walked.progress.generated,
            depth: walked.progress.depth,
            seconds: begin.elapsed().as_secs_f64(),
            bytes_per_state: None,
        };
        judgement.walks = Some(walked.walks);
        self.retrace_all(&initial, &walked.breaches, judgement);
        judgement.end(walked.end, |_| true);
        for property in (0_u8..).take(judgement.properties.len()) {
            judgement.leave_open(property, Open::AtRandom);
        }
    }

    fn retrace_all(&mut self, initial: &[Vec<u32>], breaches: &[Option<Trace>], judgement: &mut Judgement) {
        for (property, trace) in (0_u8..).zip(breaches) {
            let Some(trace) = trace else { continue };
            let root = trace.fingerprints.first();
            let state = initial.iter().find(|state| Some(&self.system.fingerprint(state)) == root);
            let Some(mut state) = state.cloned() else { continue };
            let rates = self.rates_of(&state);
            let mut guide = Guide::new(&mut self.system, &mut self.stage, &state);
            let mut steps = Vec::with_capacity(trace.len());
            for fingerprint in trace.fingerprints.iter().skip(1) {
                let found = guide.candidates(&state).iter().find(|found| found.fingerprint == *fingerprint).copied();
                let Some(candidate) = found else { break };
                steps.push(guide.take(&mut state, candidate));
            }
            let example = self.example(steps, None, rates);
            judgement.break_by(property, example);
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
