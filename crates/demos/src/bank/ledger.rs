//! The account in its store: the reads and writes of the tellers.

use super::Terms;
use quorate_core::mutex::{Command, Event};
use quorate_core::{NodeId, Time};
use quorate_journal::moment::{Moment, Observer};
use quorate_lab::mutex::run::{Change, change};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// One access of a teller to the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Posting {
    #[serde(rename = "time_ns", serialize_with = "nanos")]
    pub time: Time,
    pub node: NodeId,
    #[serde(flatten)]
    pub act: Act,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "act", rename_all = "lowercase")]
pub enum Act {
    Reads {
        balance: u64,
    },
    Writes {
        balance: u64,
        /// The balance that the write overwrites, if it is not the one that the teller read.
        #[serde(skip_serializing_if = "Option::is_none")]
        over: Option<u64>,
    },
}

fn nanos<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(time.nanos())
}

/// Observes a run, and applies the tellers' deposits to the account: a teller reads when it enters
/// the critical section, and writes when it leaves.
#[derive(Clone, Debug)]
pub struct Ledger {
    deposit: u64,
    balance: u64,
    /// Number of writes, that is, of completed deposits.
    version: u64,
    /// For each teller that has not written yet: the balance that it read, and the version of the
    /// account at that time.
    unwritten_reads: BTreeMap<NodeId, (u64, u64)>,
    history: Vec<Posting>,
}

impl Ledger {
    pub const fn new(terms: &Terms) -> Self {
        Self {
            deposit: terms.deposit,
            balance: terms.opening,
            version: 0,
            unwritten_reads: BTreeMap::new(),
            history: Vec::new(),
        }
    }

    pub const fn balance(&self) -> u64 {
        self.balance
    }

    /// Returns the number of deposits that tellers completed.
    pub const fn made(&self) -> u64 {
        self.version
    }

    pub fn into_history(self) -> Vec<Posting> {
        self.history
    }

    fn record_read(&mut self, time: Time, node: NodeId) {
        self.unwritten_reads.insert(node, (self.balance, self.version));
        self.history.push(Posting { time, node, act: Act::Reads { balance: self.balance } });
    }

    fn record_write(&mut self, time: Time, node: NodeId) {
        let Some((read, version)) = self.unwritten_reads.remove(&node) else { return };
        let over = (version != self.version).then_some(self.balance);
        self.balance = read.saturating_add(self.deposit);
        self.version += 1;
        self.history.push(Posting { time, node, act: Act::Writes { balance: self.balance, over } });
    }
}

impl Observer<Command, Event> for Ledger {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        let Some((time, node, change)) = change(moment) else { return };
        match change {
            Change::Enters { .. } => self.record_read(time, node),
            Change::Leaves => self.record_write(time, node),
            // A teller that crashes or is removed has not written: the customer keeps the money.
            Change::Crashes | Change::Loses => drop(self.unwritten_reads.remove(&node)),
            Change::Requests(..) | Change::Extends { .. } | Change::EndsWithoutEntry => {}
        }
    }
}
