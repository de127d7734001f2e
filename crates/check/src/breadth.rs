//! Breadth-first search by levels. Without reduction it finds shortest counterexamples.
//!
//! A level is expanded in batches. First, threads expand slices of the batch: they look up the
//! outcome of each possible input (what it does to the node), and sort the successors (the
//! candidates) by shard. A shard is a part of the set of visited states. One thread alone then
//! expands the states that need an outcome not computed yet, and computes it by stepping a node.
//! Then, threads fill the shards and build the new states, each as a list of 32-bit words. The
//! number of slices and shards does not depend on the number of threads, so the search finds the
//! same states and counterexamples in the same order.

use crate::action::Action;
use crate::expand::{
    Candidate, ComputingLookup, Lookup, MissingOutcome, ReadOnlyLookup, StateSummary, Stepper, Successors, expand,
};
use crate::frontier::{Block, ShardRange, state_id_at};
use crate::memory;
use crate::parallel;
use crate::reduce::{Reducer, Reducers, ReductionStats};
use crate::system::System;
use crate::visited::{Added, MAX_ORDINALS, SHARDS, Shard, StateId, shard_of};

/// A batch ends once it has this many states, and no block has more. So a batch has fewer than
/// twice as many, and the index of a state in its batch fits in 16 bits.
const MAX_BATCH_STATES: usize = 32_768;
/// Number of state words that ends a batch early: a state with many messages in flight has many
/// words and many successors.
const MAX_BATCH_WORDS: usize = 1 << 19;
/// A block ends once it has more state words than this; a batch consists of one or more blocks.
const MAX_BLOCK_WORDS: usize = MAX_BATCH_WORDS / 16;
/// Maximum number of states of a batch that one thread expands at a time.
const SLICE_STATES: usize = 512;

/// A violation of a property that a search found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundViolation {
    /// The state that violates the property, or the source of the step that does.
    pub(crate) state: StateId,
    /// The packed action of the step that violates the property; `None` if the state does.
    pub(crate) action: Option<u16>,
    /// Number of steps from the initial state to the violation.
    pub(crate) depth: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchOptions {
    pub(crate) threads: usize,
    /// Memory limit in bytes.
    pub(crate) memory_limit: u64,
    /// Whether to leave out orders of steps that lead to the same states.
    pub(crate) reduce: bool,
    pub(crate) stop_at_first: bool,
    pub(crate) terminal_checks: TerminalChecks,
    /// Largest distance from the initial states at which a breadth-first search still expands
    /// states; `None` if there is no limit.
    pub(crate) max_depth: Option<u32>,
}

/// The numbers of the properties that a state violates if the group waits in it but makes no more
/// progress. The group waits while a client waits or the clients' common goal does not hold.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TerminalChecks {
    /// Violated if the waiting group cannot make progress.
    pub(crate) deadlock_property: Option<u8>,
    /// Violated if the waiting group need not make progress.
    pub(crate) starvation_property: Option<u8>,
}

impl TerminalChecks {
    /// Returns the properties that a run violates if it ends in a state with this summary.
    pub(crate) fn violated_properties(self, summary: StateSummary) -> impl Iterator<Item = u8> {
        let deadlock = self.deadlock_property.filter(|_| summary.is_deadlock());
        let starvation = self.starvation_property.filter(|_| summary.may_starve());
        let at_end = (0..u32::BITS as u8).filter(move |number| summary.violated_at_end >> number & 1 == 1);
        deadlock.into_iter().chain(starvation).chain(at_end)
    }
}

/// The progress of a search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Number of distinct states found; zero for random walks, which do not compare states.
    pub states: u64,
    /// Number of transitions taken, plus, except for random walks, the initial states.
    pub generated: u64,
    /// Number of steps of the longest path followed. Breadth-first, it is the largest distance of a
    /// state from the initial states.
    pub depth: u64,
    /// Number of states that wait: breadth-first, to be expanded; depth-first, on the stacks of all
    /// threads. For random walks, the number of walks that have not ended.
    pub queue: u64,
    /// Memory in use, in bytes.
    pub memory: u64,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchEnd {
    #[default]
    Complete,
    FirstViolation,
    /// The memory limit was reached.
    MemoryLimit,
    /// The search ran out of numbers: for local states, messages, instants or states, for the
    /// messages in flight in one state, or for the moves of one node.
    IdsExhausted,
    /// The caller stopped the search, a thread of a depth-first search could not be started, or
    /// the search consisted of random walks, which never show that every state was explored.
    Stopped,
}

/// Receives the progress of a search; returns `false` to stop it.
pub(crate) type OnProgress<'a> = &'a mut dyn FnMut(Progress) -> bool;

/// The visited states of a search, and its findings.
pub(crate) struct Explored {
    shards: Vec<Shard>,
    /// For each batch, where its states are in the shards.
    batches: Vec<Box<[ShardRange]>>,
    pub(crate) progress: Progress,
    pub(crate) end: SearchEnd,
    /// For each property the first violation found of those with the fewest steps, if any.
    pub(crate) violations: Vec<Option<FoundViolation>>,
    /// Whether every transition leads from one level to the next, so no run returns to an
    /// earlier state.
    pub(crate) is_layered: bool,
    /// Memory use of the visited states and of the list of batches, in bytes.
    pub(crate) kept_bytes: u64,
    /// The distinct initial states, each with its words.
    pub(crate) roots: Vec<(StateId, Vec<u32>)>,
}

impl Explored {
    pub(crate) fn find_state(&self, fingerprint: u64) -> Option<StateId> {
        let shard = shard_of(fingerprint);
        self.shards[shard].find(fingerprint).map(|ordinal| StateId::new(shard, ordinal))
    }

    /// Returns an upper bound on the numbers of `StateId`s, exclusive.
    pub(crate) fn id_bound(&self) -> usize {
        let largest = self.shards.iter().map(|shard| shard.len() as usize).max().unwrap_or(0);
        largest * SHARDS
    }

    /// Returns the initial state and the actions that lead from it to a state.
    pub(crate) fn path(&self, state: StateId) -> (StateId, Vec<u16>) {
        let mut actions = Vec::new();
        let mut state = state;
        while let Some((batch, index, action)) = self.shards[state.shard()].origin(state.ordinal()) {
            let Some(parent) = state_id_at(&self.batches[batch], usize::from(index)) else { break };
            actions.push(action);
            state = parent;
        }
        actions.reverse();
        (state, actions)
    }

    fn bytes(&self) -> u64 {
        let batches: usize = self
            .batches
            .iter()
            .map(|ranges| size_of::<Box<[ShardRange]>>() + ranges.len() * size_of::<ShardRange>())
            .sum();
        self.shards.iter().map(Shard::bytes).sum::<u64>() + batches as u64
    }
}

/// Searches the states that can be reached from the initial states, level by level.
pub(crate) fn explore(
    system: &mut System,
    stepper: &mut dyn Stepper,
    initial: &[Vec<u32>],
    property_count: usize,
    options: SearchOptions,
    on_progress: OnProgress<'_>,
) -> Explored {
    let explored = Explored {
        shards: (0..SHARDS).map(|_| Shard::new()).collect(),
        batches: Vec::new(),
        progress: Progress::default(),
        end: SearchEnd::Complete,
        violations: vec![None; property_count],
        is_layered: true,
        kept_bytes: 0,
        roots: Vec::new(),
    };
    let mut search = BreadthFirstSearch {
        system,
        stepper,
        options,
        explored,
        next_level: Vec::new(),
        next_level_size: FrontierSize::default(),
        next_level_starts: [0; SHARDS],
        reducers: Reducers::default(),
        stats: ReductionStats::default(),
        depth: 0,
    };
    search.add_initial_states(initial);
    search.run(on_progress);
    search.explored
}

struct BreadthFirstSearch<'a> {
    system: &'a mut System,
    stepper: &'a mut dyn Stepper,
    options: SearchOptions,
    explored: Explored,
    next_level: Vec<Block>,
    next_level_size: FrontierSize,
    /// Number of states in each shard before the current level was expanded: the ordinal of the
    /// first state of the next level.
    next_level_starts: [u32; SHARDS],
    reducers: Reducers,
    /// How often reduction succeeded so far. States are expanded with a copy of it, so the result
    /// does not depend on the order in which threads finish.
    stats: ReductionStats,
    /// The length of the paths that end with a transition of the current level.
    depth: u32,
}

/// Number of states that wait to be expanded, and their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct FrontierSize {
    states: u64,
    bytes: u64,
}

/// The result of expanding one slice of a batch.
struct SliceResult {
    candidates_by_shard: Vec<Vec<Candidate>>,
    generated: u64,
    /// Indices, in the batch, of states that need outcomes not computed yet.
    unexpanded: Vec<u16>,
    /// Indices of states of which only one node's actions were followed.
    reduced: Vec<u16>,
    /// Property, index of the state, and the packed action if a step violates it.
    violations: Vec<(u8, u16, Option<u16>)>,
    /// Whether a state has too many messages in flight to expand its deliveries.
    has_too_many_messages: bool,
    stats: ReductionStats,
}

impl SliceResult {
    fn new() -> Self {
        Self {
            candidates_by_shard: (0..SHARDS).map(|_| Vec::with_capacity(128)).collect(),
            generated: 0,
            unexpanded: Vec::new(),
            reduced: Vec::new(),
            violations: Vec::new(),
            has_too_many_messages: false,
            stats: ReductionStats::default(),
        }
    }

    /// Expands a state, completely or reduced.
    fn expand<L: Lookup>(
        &mut self,
        lookup: &mut L,
        batch: &Block,
        index: u16,
        reducer: Option<(&mut Reducer, ReductionStats)>,
        terminal: TerminalChecks,
        successors: &mut Successors,
    ) -> Result<(), MissingOutcome> {
        let (state, fingerprint) = (batch.state(usize::from(index)), batch.fingerprints[usize::from(index)]);
        expand(lookup, state, fingerprint, index, successors)?;
        if let Some((reducer, stats)) = reducer {
            if reducer.reduce(lookup, state, fingerprint, stats, successors)? {
                self.reduced.push(index);
            }
            self.stats.add(std::mem::take(&mut reducer.new_stats));
        }
        self.violations
            .extend(terminal.violated_properties(successors.summary).map(|property| (property, index, None)));
        self.has_too_many_messages |= successors.has_too_many_messages;
        self.generated += successors.candidates.len() as u64;
        for candidate in &successors.candidates {
            self.candidates_by_shard[shard_of(candidate.fingerprint)].push(*candidate);
        }
        self.violations
            .extend(successors.violations.iter().map(|(property, action)| (*property, index, Some(*action))));
        Ok(())
    }
}

/// The result of adding candidates to one shard.
struct ShardResult {
    blocks: Vec<Block>,
    is_layered: bool,
    /// Property, and ordinal of the state that violates it.
    violations: Vec<(u8, u32)>,
    /// Indices of parents with a successor in the next level.
    advancing_parents: Vec<u16>,
}

impl BreadthFirstSearch<'_> {
    fn add_initial_states(&mut self, initial: &[Vec<u32>]) {
        for state in initial {
            let fingerprint = self.system.fingerprint(state);
            let shard = shard_of(fingerprint);
            self.explored.progress.generated += 1;
            // An initial state has no origin: `Shard::origin` ignores these zeros.
            let Added::New(ordinal) = self.explored.shards[shard].add(fingerprint, 0, 0) else { continue };
            let id = StateId::new(shard, ordinal);
            self.explored.roots.push((id, state.clone()));
            let violated: Vec<u8> = self.system.violated_properties(state).collect();
            for property in violated {
                self.record_violation(property, FoundViolation { state: id, action: None, depth: 0 });
            }
            let block = Block {
                words: state.clone(),
                ends: vec![state.len() as u32],
                fingerprints: vec![fingerprint],
                shard_ranges: vec![ShardRange { shard: shard as u8, first: ordinal, count: 1 }],
            };
            self.next_level_size.states += 1;
            self.next_level_size.bytes += block.bytes();
            self.next_level.push(block);
        }
        self.explored.progress.states = self.explored.roots.len() as u64;
    }

    fn run(&mut self, on_progress: OnProgress<'_>) {
        while !self.next_level.is_empty() {
            if self.options.max_depth.is_some_and(|max_depth| self.depth > max_depth) {
                return;
            }
            let level = std::mem::take(&mut self.next_level);
            let mut remaining = std::mem::take(&mut self.next_level_size);
            self.depth += 1;
            for (start, shard) in self.next_level_starts.iter_mut().zip(&self.explored.shards) {
                *start = shard.len();
            }
            let mut batch = Block::default();
            let mut blocks = level.into_iter().peekable();
            while let Some(block) = blocks.next() {
                remaining.bytes -= block.bytes();
                batch.append(block);
                if batch.len() < MAX_BATCH_STATES && batch.words.len() < MAX_BATCH_WORDS && blocks.peek().is_some() {
                    continue;
                }
                let full = std::mem::take(&mut batch);
                remaining.states -= full.len() as u64;
                self.expand_batch(&full);
                let queue = remaining.states + self.next_level_size.states;
                if !self.report_progress(
                    queue,
                    remaining.bytes + self.next_level_size.bytes + full.bytes(),
                    on_progress,
                ) {
                    return;
                }
            }
            if !self.next_level.is_empty() {
                self.explored.progress.depth = u64::from(self.depth);
            }
        }
    }

    /// Reports the progress, and returns whether to continue.
    fn report_progress(&mut self, queue: u64, frontier_bytes: u64, on_progress: OnProgress<'_>) -> bool {
        let kept = self.explored.bytes();
        let progress = &mut self.explored.progress;
        progress.queue = queue;
        // The memory of the nodes' own collections is not known here, but the operating system
        // reports it.
        let counted = kept + frontier_bytes + self.system.tables.bytes();
        progress.memory = memory::resident().map_or(counted, |resident| resident.max(counted));
        self.explored.kept_bytes = kept;
        let shard_is_full = self.explored.shards.iter().any(|shard| shard.len() >= MAX_ORDINALS);
        let end = if !on_progress(*progress) {
            SearchEnd::Stopped
        } else if self.options.stop_at_first && self.explored.violations.iter().any(Option::is_some) {
            SearchEnd::FirstViolation
        } else if progress.memory > self.options.memory_limit {
            SearchEnd::MemoryLimit
        } else if shard_is_full || self.system.tables.is_full() || self.stepper.has_too_many_moves() {
            SearchEnd::IdsExhausted
        } else {
            return self.explored.end == SearchEnd::Complete;
        };
        self.explored.end = end;
        false
    }

    fn expand_batch(&mut self, batch: &Block) {
        for shard in &mut self.explored.shards {
            shard.begin_batch();
        }
        self.explored.batches.push(batch.shard_ranges.clone().into_boxed_slice());
        let all_indices: Vec<u16> = (0..batch.len() as u32).map(|index| index as u16).collect();
        let needs_full_expansion = self.expand_states(batch, &all_indices, self.options.reduce);
        if !needs_full_expansion.is_empty() {
            // A reduced expansion that leads only to states of this or earlier levels may be part
            // of a cycle that postpones a node forever.
            let reduce = false;
            self.expand_states(batch, &needs_full_expansion, reduce);
        }
    }

    /// Expands these states of a batch, and records their violations and successors. Returns the
    /// states of which only one node's actions were followed, and none of whose successors belongs
    /// to the next level.
    fn expand_states(&mut self, batch: &Block, indices: &[u16], reduce: bool) -> Vec<u16> {
        let mut slices = self.expand_known(batch, indices, reduce);
        let computed = self.expand_unknown(batch, &slices, reduce);
        slices.push(computed);
        let mut reduced: Vec<u16> = Vec::new();
        for slice in &slices {
            self.explored.progress.generated += slice.generated;
            reduced.extend(&slice.reduced);
            self.stats.add(slice.stats);
            if slice.has_too_many_messages {
                self.explored.end = SearchEnd::IdsExhausted;
            }
            for (property, index, action) in &slice.violations {
                if let Some(state) = state_id_at(&batch.shard_ranges, usize::from(*index)) {
                    let depth = if action.is_some() { self.depth } else { self.depth - 1 };
                    self.record_violation(*property, FoundViolation { state, action: *action, depth });
                }
            }
        }
        let advancing_parents = self.fill_shards(batch, slices);
        if reduced.is_empty() {
            return Vec::new();
        }
        let mut has_advanced = vec![false; batch.len()];
        for index in advancing_parents {
            has_advanced[usize::from(index)] = true;
        }
        reduced.retain(|index| !has_advanced[usize::from(*index)]);
        reduced.sort_unstable();
        reduced
    }

    /// Returns the number of threads to use for this many states: few states are not worth
    /// starting threads.
    fn threads(&self, states: usize) -> usize {
        const MIN_PARALLEL_STATES: usize = 2_048;
        if states < MIN_PARALLEL_STATES { 1 } else { self.options.threads }
    }

    /// Expands states on several threads. A state whose successors need an outcome that is not
    /// computed yet is listed as unexpanded.
    fn expand_known(&mut self, batch: &Block, indices: &[u16], reduce: bool) -> Vec<SliceResult> {
        let (system, reducers, terminal, stats) =
            (&*self.system, &self.reducers, self.options.terminal_checks, self.stats);
        parallel::map_in_order(self.threads(indices.len()), indices.chunks(SLICE_STATES).collect(), |indices| {
            let mut slice = SliceResult::new();
            let mut successors = Successors::default();
            let mut reducer = reduce.then(|| reducers.take());
            for index in indices {
                let reducer = reducer.as_mut().map(|reducer| (reducer, stats));
                let expanded =
                    slice.expand(&mut ReadOnlyLookup(system), batch, *index, reducer, terminal, &mut successors);
                if expanded.is_err() {
                    slice.unexpanded.push(*index);
                }
            }
            reducers.give_back(reducer);
            slice
        })
    }

    /// Expands the states that `slices` list as unexpanded, and computes the outcomes they need.
    fn expand_unknown(&mut self, batch: &Block, slices: &[SliceResult], reduce: bool) -> SliceResult {
        let mut slice = SliceResult::new();
        let mut successors = Successors::default();
        let mut lookup = ComputingLookup { system: self.system, stepper: self.stepper };
        for index in slices.iter().flat_map(|slice| &slice.unexpanded) {
            let reducer = reduce.then_some((&mut self.reducers.main_thread, self.stats));
            // Computing missing outcomes never fails.
            let _ = slice.expand(&mut lookup, batch, *index, reducer, self.options.terminal_checks, &mut successors);
        }
        slice
    }

    /// Adds the candidates to the shards, and builds the new states. Returns the indices of parents
    /// with a successor in the next level.
    fn fill_shards(&mut self, batch: &Block, slices: Vec<SliceResult>) -> Vec<u16> {
        let mut by_shard: Vec<Vec<Vec<Candidate>>> = (0..SHARDS).map(|_| Vec::with_capacity(slices.len())).collect();
        for slice in slices {
            for (candidates, shard_slices) in slice.candidates_by_shard.into_iter().zip(&mut by_shard) {
                shard_slices.push(candidates);
            }
        }
        let threads = self.threads(batch.len());
        let system = &*self.system;
        let work = self.explored.shards.iter_mut().zip(by_shard).zip(self.next_level_starts).enumerate().collect();
        let filled = parallel::map_in_order(threads, work, |(number, ((shard, slices), start))| {
            fill_shard(system, batch, number as u8, shard, &slices, start)
        });
        let mut advancing_parents = Vec::new();
        for (shard, filled) in filled.into_iter().enumerate() {
            self.explored.is_layered &= filled.is_layered;
            for (property, ordinal) in filled.violations {
                let state = StateId::new(shard, ordinal);
                self.record_violation(property, FoundViolation { state, action: None, depth: self.depth });
            }
            advancing_parents.extend(filled.advancing_parents);
            for block in filled.blocks {
                self.explored.progress.states += block.len() as u64;
                self.next_level_size.states += block.len() as u64;
                self.next_level_size.bytes += block.bytes();
                self.next_level.push(block);
            }
        }
        advancing_parents
    }

    fn record_violation(&mut self, property: u8, violation: FoundViolation) {
        let first = &mut self.explored.violations[usize::from(property)];
        if first.is_none_or(|first| violation.depth < first.depth) {
            *first = Some(violation);
        }
    }
}

/// Adds candidates to one shard, and builds the new states. A state with an ordinal from
/// `next_start` on belongs to the next level.
fn fill_shard(
    system: &System,
    batch: &Block,
    number: u8,
    shard: &mut Shard,
    slices: &[Vec<Candidate>],
    next_start: u32,
) -> ShardResult {
    let mut filled =
        ShardResult { blocks: Vec::new(), is_layered: true, violations: Vec::new(), advancing_parents: Vec::new() };
    let mut block = Block::default();
    block.words.reserve(batch.words.len() / SHARDS);
    // Load the slots of all candidates into the cache, so that the look-ups below need not wait.
    let mut prefetched = 0;
    for candidate in slices.iter().flatten() {
        prefetched ^= shard.prefetch(candidate.fingerprint);
    }
    std::hint::black_box(prefetched);
    for candidate in slices.iter().flatten() {
        match shard.add(candidate.fingerprint, candidate.parent, candidate.action) {
            Added::Old(ordinal) if ordinal >= next_start => filled.advancing_parents.push(candidate.parent),
            Added::Old(_) => filled.is_layered = false,
            Added::New(ordinal) => {
                let start = block.words.len();
                let parent = batch.state(usize::from(candidate.parent));
                let action = Action::unpack(candidate.action);
                system.apply_action(parent, action, candidate.outcome, &mut block.words);
                debug_assert_eq!(
                    system.fingerprint(&block.words[start..]),
                    candidate.fingerprint,
                    "the fingerprint computed from the difference must be that of the state"
                );
                if system.is_visible(action, candidate.outcome) {
                    let violated = system.violated_properties(&block.words[start..]);
                    filled.violations.extend(violated.map(|property| (property, ordinal)));
                }
                block.ends.push(block.words.len() as u32);
                block.fingerprints.push(candidate.fingerprint);
                filled.advancing_parents.push(candidate.parent);
                if block.len() == MAX_BATCH_STATES || block.words.len() > MAX_BLOCK_WORDS {
                    filled.blocks.push(std::mem::take(&mut block).mark_as_end_of_shard(number, shard.len()));
                }
            }
        }
    }
    if block.len() > 0 {
        filled.blocks.push(block.mark_as_end_of_shard(number, shard.len()));
    }
    filled
}
