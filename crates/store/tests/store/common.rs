//! Contents for the tests' stores, workloads of appends, and helpers for in-memory disks.

use quorate_core::{Durable, Incarnation, NodeId};
use quorate_store::faults::{FaultyFiles, Loss};
use quorate_store::{ClusterId, Identity, Origin, Owner, Recovery, Settings, Store, StoreError, create_in};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

pub(crate) const FOLDER: &str = "/data/node";

pub(crate) fn folder() -> &'static Path {
    Path::new(FOLDER)
}

pub(crate) fn owner() -> Owner {
    Owner { cluster: ClusterId(0xC0FFEE), node: NodeId::from_index(2) }
}

/// Segments so small that a workload begins new ones often, and few zeros after the last frame.
pub(crate) const SMALL_SEGMENTS: Settings = Settings { segment_bytes: 3_000, preallocated_bytes: 1_200 };

/// A log of entries, numbered from 1, like Raft's: writing an entry removes all later ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TestLog {
    /// Number of writes applied so far, which makes all states of a workload different.
    pub(crate) write_count: u64,
    pub(crate) vote: u64,
    /// Number of entries dropped from the beginning.
    pub(crate) compacted: u64,
    pub(crate) entries: Vec<Arc<[u8]>>,
    pub(crate) was_wiped: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Write {
    Vote(u64),
    /// Puts an entry after the entry with the number `after`, and removes all later ones.
    Put {
        after: u64,
        entry: Arc<[u8]>,
    },
    /// Drops the entries up to this number.
    Compact(u64),
}

impl Durable for TestLog {
    type Write = Write;

    fn apply(&mut self, write: Write) {
        self.write_count += 1;
        match write {
            Write::Vote(vote) => self.vote = vote,
            Write::Put { after, entry } => {
                self.entries.truncate(after.saturating_sub(self.compacted) as usize);
                self.entries.push(entry);
            }
            Write::Compact(number) => {
                let removed = (number.saturating_sub(self.compacted) as usize).min(self.entries.len());
                self.entries.drain(..removed);
                self.compacted += removed as u64;
            }
        }
    }

    fn wiped() -> Self {
        Self { was_wiped: true, ..Self::default() }
    }
}

impl TestLog {
    pub(crate) fn last_number(&self) -> u64 {
        self.compacted + self.entries.len() as u64
    }
}

pub(crate) fn put_after(after: u64, entry: Vec<u8>) -> Write {
    Write::Put { after, entry: entry.into() }
}

pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    /// A random number less than `bound`, by a linear congruential generator.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// The size of a random workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkloadSize {
    pub(crate) seed: u64,
    /// Number of appends.
    pub(crate) appends: usize,
    /// Every entry is shorter than this.
    pub(crate) entry_bytes: u64,
}

/// A sequence of appends, and the state after each of them.
pub(crate) struct Workload {
    pub(crate) appends: Vec<Vec<Write>>,
    /// The state before the first append, and after each.
    pub(crate) states: Vec<TestLog>,
}

impl Workload {
    /// A random workload, whose appends have one to four writes each. Some entries are all zeros,
    /// like an unwritten sector.
    pub(crate) fn new(size: WorkloadSize) -> Self {
        let WorkloadSize { seed, appends, entry_bytes } = size;
        let mut rng = Rng::new(seed);
        let mut workload = Self { appends: Vec::new(), states: vec![TestLog::default()] };
        for _ in 0..appends {
            let mut state = workload.states.last().expect("the first state").clone();
            let mut writes = Vec::new();
            for _ in 0..=rng.below(4) {
                let write = random_write(&mut rng, &state, entry_bytes);
                state.apply(write.clone());
                writes.push(write);
            }
            workload.appends.push(writes);
            workload.states.push(state);
        }
        workload
    }

    pub(crate) fn final_state(&self) -> &TestLog {
        self.states.last().expect("the first state")
    }

    /// Creates a folder and runs the workload. The error says how many appends were acknowledged
    /// before an operation failed.
    pub(crate) fn run(
        &self,
        files: &FaultyFiles,
        settings: Settings,
    ) -> Result<Store<TestLog, FaultyFiles>, Interruption> {
        create_data_folder(files).map_err(|error| Interruption { has_folder: false, acknowledged: 0, error })?;
        let opened =
            open_store(files, settings).map_err(|error| Interruption { has_folder: true, acknowledged: 0, error })?;
        let mut store = opened.0;
        for (acknowledged, writes) in self.appends.iter().enumerate() {
            store.append(writes).map_err(|error| Interruption { has_folder: true, acknowledged, error })?;
            assert_eq!(store.contents(), &self.states[acknowledged + 1]);
        }
        Ok(store)
    }

    /// Whether recovery may find this state: the one after the acknowledged appends, or after one
    /// more, which was in progress.
    pub(crate) fn allows(&self, acknowledged: usize, found: &TestLog) -> bool {
        self.states[acknowledged..].iter().take(2).any(|state| state == found)
    }
}

fn random_write(rng: &mut Rng, state: &TestLog, entry_bytes: u64) -> Write {
    match rng.below(10) {
        0 => Write::Vote(rng.below(1_000)),
        1 => Write::Compact(state.compacted + rng.below(state.entries.len() as u64 + 1)),
        2 => put_after(state.compacted + rng.below(state.entries.len() as u64 + 1), vec![7; 20]),
        3 => put_after(state.last_number(), vec![0; rng.below(entry_bytes) as usize]),
        _ => put_after(
            state.last_number(),
            (0..rng.below(entry_bytes)).map(|index| (index ^ state.write_count) as u8).collect(),
        ),
    }
}

/// How far a workload got before an operation failed.
#[derive(Debug)]
pub(crate) struct Interruption {
    /// Whether the creation of the folder was acknowledged.
    pub(crate) has_folder: bool,
    /// Number of acknowledged appends.
    pub(crate) acknowledged: usize,
    pub(crate) error: StoreError,
}

pub(crate) fn create_data_folder(files: &FaultyFiles) -> Result<(), StoreError> {
    let identity = Identity { owner: owner(), origin: Origin::Founded };
    create_in::<TestLog, _>(files.clone(), folder(), identity, Incarnation::FIRST)
}

pub(crate) type Opened = (Store<TestLog, FaultyFiles>, TestLog, Recovery);

pub(crate) fn open_store(files: &FaultyFiles, settings: Settings) -> Result<Opened, StoreError> {
    Store::open_in(files.clone(), folder(), owner(), settings)
}

pub(crate) fn read_contents(files: &FaultyFiles) -> Result<TestLog, StoreError> {
    let (store, contents, _) = open_store(files, SMALL_SEGMENTS)?;
    assert_eq!(store.contents(), &contents);
    Ok(contents)
}

/// Every kind of loss of unsynced changes, the random kinds with `loss_seeds` seeds each.
pub(crate) fn losses(seed: u64, loss_seeds: u64) -> Vec<Loss> {
    let mut losses = vec![Loss::Everything];
    for index in 0..loss_seeds {
        let seed = seed.wrapping_mul(1_000).wrapping_add(index);
        losses.extend([Loss::Sectors { seed }, Loss::Prefix { seed }]);
    }
    losses
}
