//! Two logs on a real disk behind one trait: Quorate's store and TiKV's raft-engine.

use anyhow::{Context, bail};
use bytes::Bytes;
use quorate_core::{Durable, NodeId};
use quorate_store::{ClusterId, Owner, Settings, Store, create_founder};
use raft::eraftpb::Entry;
use raft_engine::{Config, Engine, LogBatch, MessageExt, RecoveryMode};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A log that makes batches of records durable.
pub trait Log {
    /// The name to print.
    const NAME: &'static str;

    /// Appends these records with one sync, and returns when they are durable.
    fn append(&mut self, records: &[Bytes]) -> anyhow::Result<()>;
}

/// The records of a log, kept in memory as a replica keeps its recent ones.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Records(Vec<Bytes>);

impl Durable for Records {
    type Write = Bytes;

    fn apply(&mut self, write: Bytes) {
        self.0.push(write);
    }
}

pub struct Ours(Store<Records>);

impl Ours {
    pub fn create(folder: &Path) -> anyhow::Result<Self> {
        let owner = Owner { cluster: ClusterId(1), node: NodeId::from_index(0) };
        create_founder::<Records>(folder, owner)?;
        let (store, ..) = Store::open(folder, owner, Settings::default())?;
        Ok(Self(store))
    }
}

impl Log for Ours {
    const NAME: &'static str = "quorate-store";

    fn append(&mut self, records: &[Bytes]) -> anyhow::Result<()> {
        Ok(self.0.append(records)?)
    }
}

/// The raft group of all records; raft-engine keeps one log per group.
const GROUP: u64 = 1;

struct Entries;

impl MessageExt for Entries {
    type Entry = Entry;

    fn index(entry: &Entry) -> u64 {
        entry.index
    }
}

/// raft-engine with its default settings, apart from the recovery mode.
pub struct RaftEngine {
    engine: Engine,
    /// Number of the last record; 0 if there is none.
    last_number: u64,
}

impl RaftEngine {
    pub fn open(folder: &Path, mode: RecoveryMode) -> anyhow::Result<Self> {
        let dir = folder.to_str().context("the folder's path is not valid UTF-8")?.to_owned();
        let engine = Engine::open(Config { dir, recovery_mode: mode, ..Config::default() })?;
        let last_number = engine.last_index(GROUP).unwrap_or(0);
        Ok(Self { engine, last_number })
    }

    pub fn len(&self) -> u64 {
        self.last_number
    }

    pub fn is_empty(&self) -> bool {
        self.last_number == 0
    }

    /// The record with this number, from 1.
    pub fn record(&self, number: u64) -> anyhow::Result<Vec<u8>> {
        match self.engine.get_entry::<Entries>(GROUP, number)? {
            Some(entry) => Ok(entry.data.to_vec()),
            None => bail!("record {number} does not exist"),
        }
    }
}

impl Log for RaftEngine {
    const NAME: &'static str = "raft-engine";

    fn append(&mut self, records: &[Bytes]) -> anyhow::Result<()> {
        let numbered = records.iter().zip(self.last_number + 1..);
        let entry = |(record, index): (&Bytes, u64)| Entry { index, data: record.to_vec().into(), ..Entry::default() };
        let entries: Vec<Entry> = numbered.map(entry).collect();
        let mut batch = LogBatch::with_capacity(entries.len());
        batch.add_entries::<Entries>(GROUP, &entries)?;
        self.engine.write(&mut batch, true)?;
        self.last_number += records.len() as u64;
        Ok(())
    }
}
