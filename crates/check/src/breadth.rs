//! Breadth-first search by levels: whatever is found first is found by a shortest path.
//!
//! A level is expanded in batches. First, threads expand slices of the batch and sort what they find by shards; what
//! needs a step that was never worked out is left to one thread, which works it out. Then, threads fill the shards
//! and build the states that are new. Slices and shards are the same whatever the number of threads, so the states are
//! found in the same order, and so are the counterexamples.

use crate::action::Action;
use crate::expand::{Candidate, Found, Known, Learning, Lookup, Oracle, Sight, Unknown, expand};
use crate::frontier::{Block, Run, id_at};
use crate::memory;
use crate::parallel;
use crate::reduce::{Reducer, Reducers, Yield};
use crate::system::System;
use crate::visited::{Added, MOST_ORDINALS, SHARDS, Shard, StateId, shard_of};

/// How many states are expanded at once.
const BATCH: usize = 32_768;
/// How many words of states: where many messages are under way, a state leads to many others.
const WORDS: usize = 1 << 19;
/// How many states of a batch one piece of work expands.
const SLICE: usize = 512;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Breach {
    /// The state that breaks it, or from which the step that breaks it goes out.
    pub(crate) state: StateId,
    /// That step.
    pub(crate) action: Option<u16>,
    /// How many steps lead there, that step included.
    pub(crate) depth: u32,
}

/// What a search is to do besides finding all states.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Orders {
    pub(crate) threads: usize,
    pub(crate) memory: u64,
    pub(crate) reduce: bool,
    /// Stop at the first breach.
    pub(crate) first: bool,
    /// What states in which nothing happens any more break.
    pub(crate) stops: Stops,
    pub(crate) deepest: Option<u32>,
}

/// The numbers of the properties that a state breaks in which somebody waits and nothing more happens.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stops {
    /// If nothing can happen.
    pub(crate) deadlock: Option<u8>,
    /// If nothing need happen.
    pub(crate) end: Option<u8>,
}

impl Stops {
    /// Those that a state breaks that looks like this.
    pub(crate) fn broken(self, sight: Sight) -> impl Iterator<Item = u8> {
        let deadlock = self.deadlock.filter(|_| sight.is_deadlock());
        let end = self.end.filter(|_| sight.is_end());
        let ends = (0..u32::BITS as u8).filter(move |number| sight.lacking >> number & 1 == 1);
        deadlock.into_iter().chain(end).chain(ends)
    }
}

/// How a search is going.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    pub states: u64,
    /// Transitions taken, and initial states.
    pub generated: u64,
    /// The length of the paths under way.
    pub depth: u64,
    /// States found and not yet expanded.
    pub queue: u64,
    /// Bytes of memory in use.
    pub memory: u64,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    #[default]
    Complete,
    FirstBreach,
    /// The memory limit was reached.
    Memory,
    /// It grew beyond what can be numbered: local states, messages, instants, or states in all.
    Numbers,
    Stopped,
}

/// Tells how a search goes, and whether it may go on.
pub(crate) type Watch<'a> = &'a mut dyn FnMut(Progress) -> bool;

pub(crate) struct Explored {
    shards: Vec<Shard>,
    batches: Vec<Box<[Run]>>,
    pub(crate) progress: Progress,
    pub(crate) end: End,
    /// The first breach of each property.
    pub(crate) breaches: Vec<Option<Breach>>,
    /// Every transition leads from one level to the next, so that no run comes back to where it was.
    pub(crate) graded: bool,
    /// The most memory beyond the frontier.
    pub(crate) kept_bytes: u64,
    /// The initial states, as many as come first.
    pub(crate) roots: Vec<(StateId, Vec<u32>)>,
}

impl Explored {
    pub(crate) fn find(&self, fingerprint: u64) -> Option<StateId> {
        let shard = shard_of(fingerprint);
        self.shards[shard].find(fingerprint).map(|ordinal| StateId::new(shard, ordinal))
    }

    /// One more than the largest number of a state.
    pub(crate) fn numbers(&self) -> usize {
        let largest = self.shards.iter().map(|shard| shard.len() as usize).max().unwrap_or(0);
        largest * SHARDS
    }

    /// The actions that lead to a state, from the initial state that they begin in.
    pub(crate) fn path(&self, state: StateId) -> (StateId, Vec<u16>) {
        let mut actions = Vec::new();
        let mut state = state;
        while let Some((batch, place, action)) = self.shards[state.shard()].origin(state.ordinal()) {
            let Some(parent) = id_at(&self.batches[batch], usize::from(place)) else { break };
            actions.push(action);
            state = parent;
        }
        actions.reverse();
        (state, actions)
    }

    fn bytes(&self) -> u64 {
        let batches: usize = self.batches.iter().map(|runs| 16 + runs.len() * size_of::<Run>()).sum();
        self.shards.iter().map(Shard::bytes).sum::<u64>() + batches as u64
    }
}

pub(crate) fn explore(
    system: &mut System,
    oracle: &mut dyn Oracle,
    initial: &[Vec<u32>],
    properties: usize,
    orders: Orders,
    watch: Watch<'_>,
) -> Explored {
    let explored = Explored {
        shards: (0..SHARDS).map(|_| Shard::new()).collect(),
        batches: Vec::new(),
        progress: Progress::default(),
        end: End::Complete,
        breaches: vec![None; properties],
        graded: true,
        kept_bytes: 0,
        roots: Vec::new(),
    };
    let mut search = Search {
        system,
        oracle,
        orders,
        explored,
        next: Vec::new(),
        coming: Amount::default(),
        next_starts: [0; SHARDS],
        reducers: Reducers::default(),
        worth: Yield::default(),
        depth: 0,
    };
    search.begin(initial);
    search.run(watch);
    search.explored
}

struct Search<'a> {
    system: &'a mut System,
    oracle: &'a mut dyn Oracle,
    orders: Orders,
    explored: Explored,
    /// The states of the next level.
    next: Vec<Block>,
    coming: Amount,
    /// How many states each shard had when the present level began.
    next_starts: [u32; SHARDS],
    reducers: Reducers,
    worth: Yield,
    /// The length of the paths that the present level's transitions complete.
    depth: u32,
}

/// How many states wait to be expanded, and their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Amount {
    states: u64,
    bytes: u64,
}

struct Sliced {
    by_shard: Vec<Vec<Candidate>>,
    generated: u64,
    /// Places of states that need steps that were never worked out.
    unknown: Vec<u16>,
    /// Places of states of which only one node's actions were followed.
    reduced: Vec<u16>,
    breaches: Vec<(u8, u16, Option<u16>)>,
    overflow: bool,
    worth: Yield,
}

impl Sliced {
    fn new() -> Self {
        Self {
            by_shard: (0..SHARDS).map(|_| Vec::with_capacity(128)).collect(),
            generated: 0,
            unknown: Vec::new(),
            reduced: Vec::new(),
            breaches: Vec::new(),
            overflow: false,
            worth: Yield::default(),
        }
    }

    /// Expands a state, all of it or as little as will do.
    fn expand<L: Lookup>(
        &mut self,
        lookup: &mut L,
        batch: &Block,
        place: u16,
        reducer: Option<(&mut Reducer, Yield)>,
        stops: Stops,
        found: &mut Found,
    ) -> Result<(), Unknown> {
        let (state, fingerprint) = (batch.state(usize::from(place)), batch.fingerprints[usize::from(place)]);
        expand(lookup, state, fingerprint, place, found)?;
        if let Some((reducer, so_far)) = reducer {
            if reducer.reduce(lookup, state, fingerprint, so_far, found)? {
                self.reduced.push(place);
            }
            self.worth.add(std::mem::take(&mut reducer.fresh));
        }
        self.breaches.extend(stops.broken(found.sight).map(|property| (property, place, None)));
        self.overflow |= found.overflow;
        self.generated += found.candidates.len() as u64;
        for candidate in &found.candidates {
            self.by_shard[shard_of(candidate.fingerprint)].push(*candidate);
        }
        self.breaches.extend(found.breaches.iter().map(|(property, action)| (*property, place, Some(*action))));
        Ok(())
    }
}

struct Filled {
    blocks: Vec<Block>,
    graded: bool,
    breaches: Vec<(u8, u32)>,
    /// Places of parents that led to a state that is still to be expanded.
    fruitful: Vec<u16>,
}

impl Search<'_> {
    fn begin(&mut self, initial: &[Vec<u32>]) {
        for state in initial {
            let fingerprint = self.system.fingerprint(state);
            let shard = shard_of(fingerprint);
            self.explored.progress.generated += 1;
            let Added::New(ordinal) = self.explored.shards[shard].add(fingerprint, 0, 0) else { continue };
            let id = StateId::new(shard, ordinal);
            self.explored.roots.push((id, state.clone()));
            let broken: Vec<u8> = self.system.broken(state).collect();
            for property in broken {
                self.breach(property, Breach { state: id, action: None, depth: 0 });
            }
            let block = Block {
                words: state.clone(),
                ends: vec![state.len() as u32],
                fingerprints: vec![fingerprint],
                runs: vec![Run { shard: shard as u8, first: ordinal, count: 1 }],
            };
            self.coming.states += 1;
            self.coming.bytes += block.bytes();
            self.next.push(block);
        }
        self.explored.progress.states = self.explored.roots.len() as u64;
    }

    fn run(&mut self, watch: Watch<'_>) {
        while !self.next.is_empty() {
            if self.orders.deepest.is_some_and(|deepest| self.depth > deepest) {
                return;
            }
            let level = std::mem::take(&mut self.next);
            let mut left = std::mem::take(&mut self.coming);
            self.depth += 1;
            for (start, shard) in self.next_starts.iter_mut().zip(&self.explored.shards) {
                *start = shard.len();
            }
            let mut batch = Block::default();
            let mut blocks = level.into_iter().peekable();
            while let Some(block) = blocks.next() {
                left.bytes -= block.bytes();
                batch.append(block);
                if batch.len() < BATCH && batch.words.len() < WORDS && blocks.peek().is_some() {
                    continue;
                }
                let full = std::mem::take(&mut batch);
                left.states -= full.len() as u64;
                self.batch(&full);
                let queue = left.states + self.coming.states;
                if !self.account(queue, left.bytes + self.coming.bytes + full.bytes(), watch) {
                    return;
                }
            }
            if !self.next.is_empty() {
                self.explored.progress.depth = u64::from(self.depth);
            }
        }
    }

    /// Reports, and tells whether to go on.
    fn account(&mut self, queue: u64, frontier_bytes: u64, watch: Watch<'_>) -> bool {
        let kept = self.explored.bytes();
        let progress = &mut self.explored.progress;
        progress.queue = queue;
        // What the nodes' own collections take is not known here, but the system knows it.
        let counted = kept + frontier_bytes + self.system.tables.bytes();
        progress.memory = memory::resident().map_or(counted, |resident| resident.max(counted));
        self.explored.kept_bytes = kept;
        let crowded = self.explored.shards.iter().any(|shard| shard.len() >= MOST_ORDINALS);
        let end = if !watch(*progress) {
            End::Stopped
        } else if self.orders.first && self.explored.breaches.iter().any(Option::is_some) {
            End::FirstBreach
        } else if progress.memory > self.orders.memory {
            End::Memory
        } else if crowded || self.system.tables.is_full() || self.oracle.is_overrun() {
            End::Numbers
        } else {
            return self.explored.end == End::Complete;
        };
        self.explored.end = end;
        false
    }

    fn batch(&mut self, batch: &Block) {
        for shard in &mut self.explored.shards {
            shard.begin_batch();
        }
        self.explored.batches.push(batch.runs.clone().into_boxed_slice());
        let every: Vec<u16> = (0..batch.len() as u32).map(|place| place as u16).collect();
        let barren = self.pass(batch, &every, self.orders.reduce);
        if !barren.is_empty() {
            // What leads only to states expanded before might go round in a circle that leaves somebody out for ever.
            self.pass(batch, &barren, false);
        }
    }

    /// Expands these states of a batch. Tells which of those that were reduced led to nothing that is still to be
    /// expanded.
    fn pass(&mut self, batch: &Block, places: &[u16], reduce: bool) -> Vec<u16> {
        let mut slices = self.expand_known(batch, places, reduce);
        let rest = self.expand_unknown(batch, &slices, reduce);
        slices.push(rest);
        let mut reduced: Vec<u16> = Vec::new();
        for sliced in &slices {
            self.explored.progress.generated += sliced.generated;
            reduced.extend(&sliced.reduced);
            self.worth.add(sliced.worth);
            if sliced.overflow {
                self.explored.end = End::Numbers;
            }
            for (property, place, action) in &sliced.breaches {
                if let Some(state) = id_at(&batch.runs, usize::from(*place)) {
                    let depth = if action.is_some() { self.depth } else { self.depth - 1 };
                    self.breach(*property, Breach { state, action: *action, depth });
                }
            }
        }
        let fruitful = self.fill(batch, slices);
        if reduced.is_empty() {
            return Vec::new();
        }
        let mut led_on = vec![false; batch.len()];
        for place in fruitful {
            led_on[usize::from(place)] = true;
        }
        reduced.retain(|place| !led_on[usize::from(*place)]);
        reduced.sort_unstable();
        reduced
    }

    /// How many threads are worth their while for so many states.
    fn threads(&self, states: usize) -> usize {
        const FEW: usize = 2_048;
        if states < FEW { 1 } else { self.orders.threads }
    }

    fn expand_known(&mut self, batch: &Block, places: &[u16], reduce: bool) -> Vec<Sliced> {
        let (system, reducers, stops, worth) = (&*self.system, &self.reducers, self.orders.stops, self.worth);
        parallel::in_order(self.threads(places.len()), places.chunks(SLICE).collect(), |places| {
            let mut sliced = Sliced::new();
            let mut found = Found::default();
            let mut reducer = reduce.then(|| reducers.take());
            for place in places {
                let reducer = reducer.as_mut().map(|reducer| (reducer, worth));
                let told = sliced.expand(&mut Known(system), batch, *place, reducer, stops, &mut found);
                if told.is_err() {
                    sliced.unknown.push(*place);
                }
            }
            reducers.give_back(reducer);
            sliced
        })
    }

    fn expand_unknown(&mut self, batch: &Block, slices: &[Sliced], reduce: bool) -> Sliced {
        let mut rest = Sliced::new();
        let mut found = Found::default();
        let mut learning = Learning { system: self.system, oracle: self.oracle };
        for place in slices.iter().flat_map(|sliced| &sliced.unknown) {
            let reducer = reduce.then_some((&mut self.reducers.own, self.worth));
            // Whoever can learn knows everything.
            let _ = rest.expand(&mut learning, batch, *place, reducer, self.orders.stops, &mut found);
        }
        rest
    }

    /// Puts what was found into the shards, and builds the states that are new.
    fn fill(&mut self, batch: &Block, slices: Vec<Sliced>) -> Vec<u16> {
        let mut by_shard: Vec<Vec<Vec<Candidate>>> = (0..SHARDS).map(|_| Vec::with_capacity(slices.len())).collect();
        for sliced in slices {
            for (candidates, column) in sliced.by_shard.into_iter().zip(&mut by_shard) {
                column.push(candidates);
            }
        }
        let threads = self.threads(batch.len());
        let system = &*self.system;
        let work = self.explored.shards.iter_mut().zip(by_shard).zip(self.next_starts).enumerate().collect();
        let filled = parallel::in_order(threads, work, |(number, ((shard, column), start))| {
            fill_shard(system, batch, number as u8, shard, &column, start)
        });
        let mut fruitful = Vec::new();
        for (shard, filled) in filled.into_iter().enumerate() {
            self.explored.graded &= filled.graded;
            for (property, ordinal) in filled.breaches {
                let state = StateId::new(shard, ordinal);
                self.breach(property, Breach { state, action: None, depth: self.depth });
            }
            fruitful.extend(filled.fruitful);
            for block in filled.blocks {
                self.explored.progress.states += block.len() as u64;
                self.coming.states += block.len() as u64;
                self.coming.bytes += block.bytes();
                self.next.push(block);
            }
        }
        fruitful
    }

    fn breach(&mut self, property: u8, breach: Breach) {
        let first = &mut self.explored.breaches[usize::from(property)];
        if first.is_none_or(|first| breach.depth < first.depth) {
            *first = Some(breach);
        }
    }
}

fn fill_shard(
    system: &System,
    batch: &Block,
    number: u8,
    shard: &mut Shard,
    column: &[Vec<Candidate>],
    next_start: u32,
) -> Filled {
    let mut filled = Filled { blocks: Vec::new(), graded: true, breaches: Vec::new(), fruitful: Vec::new() };
    let mut block = Block::default();
    block.words.reserve(batch.words.len() / SHARDS);
    let mut touched = 0;
    for candidate in column.iter().flatten() {
        touched ^= shard.touch(candidate.fingerprint);
    }
    std::hint::black_box(touched);
    for candidate in column.iter().flatten() {
        match shard.add(candidate.fingerprint, candidate.parent, candidate.action) {
            Added::Old(ordinal) if ordinal >= next_start => filled.fruitful.push(candidate.parent),
            Added::Old(_) => filled.graded = false,
            Added::New(ordinal) => {
                let start = block.words.len();
                let parent = batch.state(usize::from(candidate.parent));
                let action = Action::unpack(candidate.action);
                system.succeed(parent, action, candidate.outcome, &mut block.words);
                debug_assert_eq!(
                    system.fingerprint(&block.words[start..]),
                    candidate.fingerprint,
                    "a fingerprint is that of its state"
                );
                if system.can_be_seen(action, candidate.outcome) {
                    let broken = system.broken(&block.words[start..]);
                    filled.breaches.extend(broken.map(|property| (property, ordinal)));
                }
                block.ends.push(block.words.len() as u32);
                block.fingerprints.push(candidate.fingerprint);
                filled.fruitful.push(candidate.parent);
                if block.len() == BATCH || block.words.len() > WORDS / 16 {
                    filled.blocks.push(std::mem::take(&mut block).of_shard(number, shard.len()));
                }
            }
        }
    }
    if block.len() > 0 {
        filled.blocks.push(block.of_shard(number, shard.len()));
    }
    filled
}
