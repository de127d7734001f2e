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

/// Small segments, which a workload changes often, and zeros ahead for one or two appends.
pub(crate) const SMALL: Settings = Settings { segment_bytes: 3_000, ahead_bytes: 1_200 };

/// A log of numbered entries like raft's: writing an entry truncates the log at its index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TestLog {
    /// Number of writes ever applied, which distinguishes all states of a workload.
    pub(crate) writes: u64,
    pub(crate) vote: u64,
    /// Number of entries dropped from the beginning.
    pub(crate) compacted: u64,
    pub(crate) entries: Vec<Arc<[u8]>>,
    pub(crate) was_wiped: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Write {
    Vote(u64),
    Put { after: u64, entry: Arc<[u8]> },
    Compact(u64),
}

impl Durable for TestLog {
    type Write = Write;

    fn apply(&mut self, write: Write) {
        self.writes += 1;
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
    pub(crate) fn last(&self) -> u64 {
        self.compacted + self.entries.len() as u64
    }
}

pub(crate) fn put(after: u64, entry: Vec<u8>) -> Write {
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

/// A sequence of appends, and the state after each of them.
pub(crate) struct Workload {
    pub(crate) appends: Vec<Vec<Write>>,
    pub(crate) states: Vec<TestLog>,
}

impl Workload {
    /// A workload of `appends`, each of one to four writes with entries of less than `entry_bytes`.
    /// Some entries are all zeros, like an unwritten sector.
    pub(crate) fn new(seed: u64, appends: usize, entry_bytes: u64) -> Self {
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

    pub(crate) fn end(&self) -> &TestLog {
        self.states.last().expect("the first state")
    }

    /// Creates a folder and runs the workload until an operation fails; the error says how many
    /// appends were acknowledged.
    pub(crate) fn run(&self, files: &FaultyFiles, settings: Settings) -> Result<Store<TestLog, FaultyFiles>, Stop> {
        create(files).map_err(|error| Stop { created: false, acknowledged: 0, error })?;
        let opened = open(files, settings).map_err(|error| Stop { created: true, acknowledged: 0, error })?;
        let mut store = opened.0;
        for (acknowledged, writes) in self.appends.iter().enumerate() {
            store.append(writes).map_err(|error| Stop { created: true, acknowledged, error })?;
            assert_eq!(store.contents(), &self.states[acknowledged + 1]);
        }
        Ok(store)
    }

    /// Whether recovery may find this state: the acknowledged appends, with or without the one
    /// in progress.
    pub(crate) fn allows(&self, acknowledged: usize, found: &TestLog) -> bool {
        self.states[acknowledged..].iter().take(2).any(|state| state == found)
    }
}

fn random_write(rng: &mut Rng, state: &TestLog, entry_bytes: u64) -> Write {
    match rng.below(10) {
        0 => Write::Vote(rng.below(1_000)),
        1 => Write::Compact(state.compacted + rng.below(state.entries.len() as u64 + 1)),
        2 => put(state.compacted + rng.below(state.entries.len() as u64 + 1), vec![7; 20]),
        3 => put(state.last(), vec![0; rng.below(entry_bytes) as usize]),
        _ => put(state.last(), (0..rng.below(entry_bytes)).map(|index| (index ^ state.writes) as u8).collect()),
    }
}

/// How far a workload got before an operation failed.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) created: bool,
    pub(crate) acknowledged: usize,
    pub(crate) error: StoreError,
}

pub(crate) fn create(files: &FaultyFiles) -> Result<(), StoreError> {
    let identity = Identity { owner: owner(), origin: Origin::Founded };
    create_in::<TestLog, _>(files.clone(), folder(), identity, Incarnation::FIRST)
}

pub(crate) type Opened = (Store<TestLog, FaultyFiles>, TestLog, Recovery);

pub(crate) fn open(files: &FaultyFiles, settings: Settings) -> Result<Opened, StoreError> {
    Store::open_in(files.clone(), folder(), owner(), settings)
}

pub(crate) fn contents(files: &FaultyFiles) -> Result<TestLog, StoreError> {
    let (store, contents, _) = open(files, SMALL)?;
    assert_eq!(store.contents(), &contents);
    Ok(contents)
}

/// Every kind of loss of unsynced changes, each with several seeds.
pub(crate) fn losses(seed: u64, seeds: u64) -> Vec<Loss> {
    let mut losses = vec![Loss::Everything];
    for index in 0..seeds {
        let seed = seed.wrapping_mul(1_000).wrapping_add(index);
        losses.extend([Loss::Sectors { seed }, Loss::Prefix { seed }]);
    }
    losses
}
