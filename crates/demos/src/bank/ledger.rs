//! The account, and every read and write of it by a teller.

use super::BankSettings;
use quorate_core::mutex::{Command, Event};
use quorate_core::{NodeId, Time};
use quorate_journal::moment::{Moment, Observer};
use quorate_lab::mutex::run::{Change, observed_change};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// One access of a teller to the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Access {
    #[serde(rename = "time_ns", serialize_with = "serialize_nanos")]
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
        /// The balance that the write overwrites, if another teller wrote it after this teller's
        /// read.
        #[serde(rename = "over", skip_serializing_if = "Option::is_none")]
        overwritten: Option<u64>,
    },
}

fn serialize_nanos<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
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
    /// For each teller that has read and not written yet: the balance that it read, and the version
    /// of the account at that time.
    open_deposits: BTreeMap<NodeId, (u64, u64)>,
    history: Vec<Access>,
}

impl Ledger {
    pub const fn new(settings: &BankSettings) -> Self {
        Self {
            deposit: settings.deposit,
            balance: settings.opening_balance,
            version: 0,
            open_deposits: BTreeMap::new(),
            history: Vec::new(),
        }
    }

    pub const fn balance(&self) -> u64 {
        self.balance
    }

    /// Number of deposits that tellers completed.
    pub const fn completed_deposits(&self) -> u64 {
        self.version
    }

    pub fn into_history(self) -> Vec<Access> {
        self.history
    }

    fn record_read(&mut self, time: Time, node: NodeId) {
        self.open_deposits.insert(node, (self.balance, self.version));
        self.history.push(Access { time, node, act: Act::Reads { balance: self.balance } });
    }

    fn record_write(&mut self, time: Time, node: NodeId) {
        let Some((read_balance, read_version)) = self.open_deposits.remove(&node) else { return };
        let overwritten = (read_version != self.version).then_some(self.balance);
        self.balance = read_balance.saturating_add(self.deposit);
        self.version += 1;
        self.history.push(Access { time, node, act: Act::Writes { balance: self.balance, overwritten } });
    }
}

impl Observer<Command, Event> for Ledger {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        let Some((time, node, change)) = observed_change(moment) else { return };
        match change {
            Change::Enters { .. } => self.record_read(time, node),
            Change::Leaves => self.record_write(time, node),
            // A teller that crashes or loses the lock never writes, so its deposit is not made.
            Change::Crashes | Change::Loses => drop(self.open_deposits.remove(&node)),
            Change::Requests(..) | Change::Extends { .. } | Change::EndsWithoutEntry => {}
        }
    }
}
