//! Checks a group: runs the searches that its properties need, and judges.

use crate::action::MOST_NODES;
use crate::breadth::{Breach, End, Explored, Orders, Progress, Stops, explore};
use crate::depth::{Dug, dig};
use crate::fair;
use crate::findings::{CheckError, Effort, Findings, Pass, Phase, Search, Setup, Verdict};
use crate::local::Checked;
use crate::play::{Counterexample, play};
use crate::stage::{Make, Stage};
use crate::system::{Budgets, Judge, LOCALS, MOST_FAULTS, MOST_ORDERED, Memory, System};
use crate::tables::Tables;
use crate::trail::{Guide, Step};
use crate::troupe::{Trace, Troupe};
use crate::users::{Judged, Property, Users};
use crate::walk::{Walks, walk};
use quorate_sim::moment::Observer;
use quorate_sim::property::Kind;
use std::sync::Arc;
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

/// Why a property is not judged.
const UNFINISHED: &str = "the search did not finish";
const BOUNDED_TIME: &str = "time is followed only so far";
const NO_GRAPH: &str = "runs go in circles, which only a breadth-first search can judge";
const AT_RANDOM: &str = "random walks do not see everything";
const TOO_LARGE: &str = "the group is too large to remember who knew of which request";
const WRAPPED: &str = "links hold messages back, so that their arrival does not tell who knew what";

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
        let faults = [setup.losses, setup.duplicates, setup.crashes, setup.restarts, setup.hasty_timers];
        if faults.iter().any(|budget| *budget > MOST_FAULTS) {
            return Err(CheckError::TooManyFaults { most: MOST_FAULTS });
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
        judgement.conclude()
    }

    /// Shows a counterexample to an observer, step by step, with real nodes.
    pub fn play<O: Observer<P::Command, P::Event>>(
        &self,
        example: &Counterexample,
        observer: O,
    ) -> Result<O, String> {
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
        if judgement.any(|judged| {
            matches!(judged, Judged::ByState(_) | Judged::ByStep | Judged::ByDeadlock | Judged::ByFairRuns)
        }) {
            self.states_by_breadth(orders, judgement, report);
        }
        if judgement.goes_on(effort)
            && let Some(memory) = self.memory(judgement)
        {
            let begin = Instant::now();
            let orders = Orders { stops: Stops::default(), ..orders };
            let explored = self.explore(Some(memory), orders, Phase::Past, judgement, report);
            judgement.past = Some(pass(&explored, begin));
            judgement.end(explored.end, |judged| matches!(judged, Judged::ByFences | Judged::ByOrder));
        }
    }

    fn states_by_breadth(&mut self, orders: Orders, judgement: &mut Judgement, report: Report<'_>) {
        let begin = Instant::now();
        let explored = self.explore(None, orders, Phase::States, judgement, report);
        judgement.states = pass(&explored, begin);
        judgement.end(explored.end, |judged| {
            matches!(judged, Judged::ByState(_) | Judged::ByStep | Judged::ByDeadlock)
        });
        let Some(served) = judgement.number(|judged| matches!(judged, Judged::ByFairRuns)) else { return };
        if judgement.is_broken(served) {
            return;
        }
        if self.setup.timing.is_some() {
            judgement.leave_open(served, BOUNDED_TIME);
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
        let states = explored.progress.states.max(1);
        let bytes_per_state = Some(searched.bytes as f64 / states as f64);
        judgement.fair = Some(Pass { bytes_per_state, ..pass(&explored, begin) });
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
        let mut explored =
            explore(&mut self.system, &mut self.stage, &initial, count, orders, &mut |progress| report(phase, progress));
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
        let states = self.initial.iter().map(|(state, _)| state);
        states.map(|state| with_memory(state, self.setup.nodes, memory)).collect()
    }

    fn retrace(&mut self, explored: &Explored, breach: Breach) -> Counterexample {
        let (root, mut actions) = explored.path(breach.state);
        actions.extend(breach.action);
        let place = explored.roots.iter().position(|(id, _)| *id == root).unwrap_or(0);
        let mut state = explored.roots.get(place).map_or_else(Vec::new, |(_, state)| state.clone());
        let rates = self.rates_of(&state);
        let steps = Guide::new(&mut self.system, &mut self.stage).follow(&mut state, &actions);
        self.example(steps, None, rates)
    }

    /// Which initial state this is.
    fn rates_of(&self, root: &[u32]) -> usize {
        let locals = LOCALS..LOCALS + self.setup.nodes;
        self.initial.iter().position(|(state, _)| state[locals.clone()] == root[locals.clone()]).unwrap_or(0)
    }

    fn example(&self, steps: Vec<Step>, cycle: Option<usize>, initial: usize) -> Counterexample {
        let rates = self.initial.get(initial).map_or_else(Vec::new, |(_, rates)| rates.clone());
        // Time that passes is seen in what happens next.
        let timed = self.setup.timing.is_some();
        Counterexample { steps, cycle, rates, timed }
    }

    /// What properties about the past need to remember, if any of them can be judged.
    fn memory(&self, judgement: &mut Judgement) -> Option<Memory> {
        let fences = judgement.number(|judged| matches!(judged, Judged::ByFences));
        let mut order = judgement.number(|judged| matches!(judged, Judged::ByOrder));
        if let Some(property) = order {
            if self.setup.nodes > MOST_ORDERED {
                judgement.leave_open(property, TOO_LARGE);
                order = None;
            } else if self.stage.is_wrapped() {
                judgement.leave_open(property, WRAPPED);
                order = None;
            }
        }
        (fences.is_some() || order.is_some()).then_some(Memory { order, fences })
    }

    fn by_depth(&mut self, effort: &Effort, judgement: &mut Judgement, report: Report<'_>) {
        let orders = Self::orders(effort, judgement);
        let begin = Instant::now();
        let initial = self.equip(None, judgement);
        let dug = self.dig(None, judgement, orders, Phase::States, report);
        judgement.states = dug_pass(&dug, begin);
        self.retrace_all(&initial, &dug.breaches, judgement);
        judgement.end(dug.end, |judged| {
            matches!(judged, Judged::ByState(_) | Judged::ByStep | Judged::ByDeadlock)
        });
        if let Some(served) = orders.stops.end {
            if self.setup.timing.is_some() {
                judgement.leave_open(served, BOUNDED_TIME);
            } else if dug.end == End::Complete && !dug.graded {
                judgement.leave_open(served, NO_GRAPH);
            } else {
                judgement.end(dug.end, |judged| matches!(judged, Judged::ByFairRuns));
            }
        }
        if judgement.goes_on(effort)
            && let Some(memory) = self.memory(judgement)
        {
            let begin = Instant::now();
            let orders = Orders { stops: Stops::default(), ..orders };
            let initial = self.equip(Some(memory), judgement);
            let dug = self.dig(Some(memory), judgement, orders, Phase::Past, report);
            judgement.past = Some(dug_pass(&dug, begin));
            self.retrace_all(&initial, &dug.breaches, judgement);
            judgement.end(dug.end, |judged| matches!(judged, Judged::ByFences | Judged::ByOrder));
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
        let (make, users, setup, judges) = (&self.make, &self.users, &self.setup, &self.system.judges);
        let casting = || troupe(make, users, setup, memory, judges);
        dig(&casting, judgement.properties.len(), orders, &mut |progress| report(phase, progress))
    }

    fn by_walks(&mut self, walks: Walks, effort: &Effort, judgement: &mut Judgement, report: Report<'_>) {
        let orders = Self::orders(effort, judgement);
        let begin = Instant::now();
        let memory = self.memory(judgement);
        let mut initial = self.equip(memory, judgement);
        // Walks see everything at once.
        self.system.judges = judgement.judges();
        if initial.is_empty() {
            initial.push(Vec::new());
        }
        let walked = {
            let (make, users, setup, judges) = (&self.make, &self.users, &self.setup, &self.system.judges);
            let casting = || troupe(make, users, setup, memory, judges);
            walk(&casting, judgement.properties.len(), walks, orders, &mut |progress| report(Phase::States, progress))
        };
        judgement.states = Pass {
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
            judgement.leave_open(property, AT_RANDOM);
        }
    }

    fn retrace_all(&mut self, initial: &[Vec<u32>], breaches: &[Option<Trace>], judgement: &mut Judgement) {
        for (property, trace) in (0_u8..).zip(breaches) {
            let Some(trace) = trace else { continue };
            let root = trace.fingerprints.first();
            let state = initial.iter().find(|state| Some(&self.system.fingerprint(state)) == root);
            let Some(mut state) = state.cloned() else { continue };
            let rates = self.rates_of(&state);
            let mut guide = Guide::new(&mut self.system, &mut self.stage);
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

fn pass(explored: &Explored, begin: Instant) -> Pass {
    let Progress { states, generated, depth, .. } = explored.progress;
    Pass {
        states,
        generated,
        depth,
        seconds: begin.elapsed().as_secs_f64(),
        bytes_per_state: Some(explored.kept_bytes as f64 / states.max(1) as f64),
    }
}

fn dug_pass(dug: &Dug, begin: Instant) -> Pass {
    let Progress { states, generated, depth, .. } = dug.progress;
    Pass {
        states,
        generated,
        depth,
        seconds: begin.elapsed().as_secs_f64(),
        bytes_per_state: Some(dug.kept_bytes as f64 / states.max(1) as f64),
    }
}

/// A state with room for memory of the past, of which there is none yet.
fn with_memory(state: &[u32], nodes: usize, memory: Option<Memory>) -> Vec<u32> {
    let mut words = state.to_vec();
    if memory.is_some() {
        let at = LOCALS + nodes;
        words.splice(at..at, std::iter::repeat_n(0, nodes + 2));
    }
    words
}

/// A group for a thread of its own.
fn troupe<'a, P, U>(
    make: &Make<P>,
    users: &U,
    setup: &Setup,
    memory: Option<Memory>,
    judges: &[(u8, Judge)],
) -> Troupe<'a>
where
    P: Checked + 'a,
    U: Users<Command = P::Command, Event = P::Event> + Clone + 'a,
{
    let (stage, mut system, initial) = cast(make, users, setup);
    system.memory = memory;
    system.judges = judges.to_vec();
    let initial = initial.iter().map(|(state, _)| with_memory(state, setup.nodes, memory)).collect();
    Troupe { system, oracle: Box::new(stage), initial }
}

type Cast<P, U> = (Stage<P, U>, System, Vec<(Vec<u32>, Vec<i32>)>);

/// The nodes of a group, and the states in which it can begin: one for each choice of the clocks' rates.
fn cast<P, U>(make: &Make<P>, users: &U, setup: &Setup) -> Cast<P, U>
where
    P: Checked,
    U: Users<Command = P::Command, Event = P::Event> + Clone,
{
    let timed = setup.timing.is_some();
    let mut stage = Stage::new(Arc::clone(make), users.clone(), setup.nodes, timed);
    let mut system = System {
        nodes: setup.nodes,
        fifo: setup.fifo,
        until: setup.timing.map(|timing| timing.until),
        memory: None,
        judges: Vec::new(),
        tables: Tables::new(),
    };
    let budgets = Budgets {
        losses: setup.losses,
        duplicates: setup.duplicates,
        crashes: setup.crashes,
        restarts: setup.restarts,
        hasty_timers: setup.hasty_timers,
    };
    let drift = setup.timing.map_or(0, |timing| timing.drift_ppm as i32);
    let choices = if drift == 0 { 1 } else { 1_u32 << setup.nodes };
    let mut initial = Vec::new();
    for choice in 0..choices {
        let rate = |node: usize| if choice >> node & 1 == 0 { drift } else { -drift };
        let rates: Vec<i32> = (0..setup.nodes).map(rate).collect();
        let (locals, under_way) = stage.begin(&mut system.tables, &rates);
        let mut state = vec![budgets.pack(), 0];
        state.extend(locals);
        for envelope in under_way {
            system.put_under_way(envelope, &mut state);
        }
        initial.push((state, rates));
    }
    (stage, system, initial)
}

/// What is found of each property as the searches go.
struct Judgement {
    properties: Vec<Property>,
    /// Which of them are judged.
    wanted: Vec<bool>,
    open: Vec<Option<&'static str>>,
    examples: Vec<Option<Counterexample>>,
    states: Pass,
    past: Option<Pass>,
    fair: Option<Pass>,
    walks: Option<u64>,
    ended: End,
}

impl Judgement {
    fn new(properties: Vec<Property>, effort: &Effort) -> Self {
        let wanted = |property: &Property| match &effort.properties {
            None => true,
            Some(names) => names.iter().any(|name| name == property.name),
        };
        Self {
            wanted: properties.iter().map(wanted).collect(),
            open: vec![None; properties.len()],
            examples: vec![None; properties.len()],
            properties,
            states: Pass::default(),
            past: None,
            fair: None,
            walks: None,
            ended: End::Complete,
        }
    }

    /// The number of the wanted property that is judged so.
    fn number(&self, judged: impl Fn(&Judged) -> bool) -> Option<u8> {
        let mut places = (0_u8..).zip(self.properties.iter().zip(&self.wanted));
        places.find(|(_, (property, wanted))| **wanted && judged(&property.judged)).map(|(number, _)| number)
    }

    fn any(&self, judged: impl Fn(&Judged) -> bool) -> bool {
        self.number(judged).is_some()
    }

    fn judges(&self) -> Vec<(u8, Judge)> {
        let wanted = (0_u8..).zip(&self.properties).zip(&self.wanted).filter(|(_, wanted)| **wanted);
        let judge = |((number, property), _): ((u8, &Property), &bool)| match property.judged {
            Judged::ByState(judge) => Some((number, judge)),
            Judged::ByStep | Judged::ByFences | Judged::ByOrder | Judged::ByDeadlock | Judged::ByFairRuns => None,
        };
        wanted.filter_map(judge).collect()
    }

    fn is_broken(&self, property: u8) -> bool {
        self.examples[usize::from(property)].is_some()
    }

    fn break_by(&mut self, property: u8, example: Counterexample) {
        self.examples[usize::from(property)] = Some(example);
    }

    fn leave_open(&mut self, property: u8, why: &'static str) {
        self.open[usize::from(property)] = Some(why);
    }

    /// A search that judges such properties has ended.
    fn end(&mut self, end: End, judged: impl Fn(&Judged) -> bool) {
        if end == End::Complete {
            return;
        }
        if self.ended == End::Complete {
            self.ended = end;
        }
        for (open, property) in self.open.iter_mut().zip(&self.properties) {
            if judged(&property.judged) {
                *open = Some(UNFINISHED);
            }
        }
    }

    /// Whether the next search is worth its while.
    fn goes_on(&self, effort: &Effort) -> bool {
        let broken = self.examples.iter().any(Option::is_some);
        self.ended != End::Stopped && !(effort.first && broken)
    }

    fn conclude(self) -> Findings {
        let mut ended = self.ended;
        let mut verdicts = Vec::new();
        for (((property, wanted), open), example) in
            self.properties.iter().zip(self.wanted).zip(self.open).zip(self.examples)
        {
            if !wanted {
                continue;
            }
            let holds = if example.is_some() { Some(false) } else { open.is_none().then_some(true) };
            let kind = match property.judged {
                Judged::ByFairRuns => Kind::Eventually,
                Judged::ByState(_)
                | Judged::ByStep
                | Judged::ByFences
                | Judged::ByOrder
                | Judged::ByDeadlock => Kind::Always,
            };
            let unknown = if holds.is_none() { open } else { None };
            verdicts.push(Verdict { name: property.name, kind, holds, unknown, counterexample: example });
        }
        if ended == End::Complete && self.walks.is_some() {
            ended = End::Stopped;
        }
        let Self { states, past, fair, walks, .. } = self;
        Findings { end: ended, states, past, fair, walks, verdicts }
    }
}
