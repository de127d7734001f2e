//! A bank: tellers at different nodes deposit into one account at about the same time.
//!
//! The account is in a store outside the group; the store itself has no locks. A deposit reads the
//! balance, takes some time, and writes the sum; a teller acquires the lock before it reads, and
//! releases it after it has written. If two deposits overlap, the second write overwrites the
//! first, and money is lost. A lock with one holder at a time loses none.
//!
//! The tellers are clients of any mutual exclusion algorithm, so a run of the bank is a run like
//! any other: it has a journal, it can be replayed and drawn. The [`Ledger`], an observer of
//! the run, keeps the account.
//!
//! ```
//! use quorate_demos::bank::{self, NO_LOCK, BankSettings};
//! use quorate_lab::Algorithm;
//!
//! let settings = BankSettings::new(2, 10_000, 1_000)?;
//! let balance = |lock| {
//!     let lock = Algorithm::named(lock)?;
//!     let spec = bank::spec(&settings, lock, 3, 1, bank::LATENCY);
//!     bank::run(&spec, &settings).map(|statement| statement.balance)
//! };
//! assert_eq!((balance(NO_LOCK)?, balance("ricart-agrawala")?), (11_000, 21_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ledger;
#[cfg(test)]
mod tests;

pub use ledger::{Access, Act, Ledger};

use quorate_core::{Duration, Group};
use quorate_journal::moment::Observer;
use quorate_journal::settings::Latency;
use quorate_journal::workload::Ending;
use quorate_lab::experiment::{run_with, simulate};
use quorate_lab::mutex::MutexEntry;
use quorate_lab::mutex::run::Pattern;
use quorate_lab::mutex::{Mutex, Settings};
use quorate_lab::registry::all;
use quorate_lab::{Algorithm, FamilyTypes, LabError, Spec};
use serde::Serialize;
use std::io::Write;

/// The name of the algorithm that grants every request immediately, so that deposits overlap.
pub const NO_LOCK: &str = "no-lock";

/// The default message delay; the length of deposits depends on it.
pub const LATENCY: Latency = Latency::Uniform { min: Duration::from_millis(1), max: Duration::from_millis(5) };

/// The size of the group by default, unless the tellers or the lock need more nodes.
pub const DEFAULT_NODES: usize = 3;

/// No algorithm leaves larger gaps between its possible group sizes than this.
const MAX_SIZE_GAP: usize = 100;

/// The tellers, the amount that each deposits, and the opening balance of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BankSettings {
    tellers: usize,
    deposit: u64,
    #[serde(rename = "balance")]
    opening_balance: u64,
}

impl BankSettings {
    pub fn new(tellers: usize, deposit: u64, opening_balance: u64) -> Result<Self, BankError> {
        if tellers == 0 {
            return Err(BankError::NoTellers);
        }
        let sum = deposit.checked_mul(tellers as u64).and_then(|deposits| deposits.checked_add(opening_balance));
        match sum {
            Some(_) => Ok(Self { tellers, deposit, opening_balance }),
            None => Err(BankError::TooMuchMoney { tellers, deposit, opening_balance }),
        }
    }

    /// Number of tellers, each at a node of its own.
    pub const fn tellers(&self) -> usize {
        self.tellers
    }

    pub const fn deposit(&self) -> u64 {
        self.deposit
    }

    pub const fn opening_balance(&self) -> u64 {
        self.opening_balance
    }

    /// The balance after all deposits, if none is lost.
    pub const fn expected_balance(&self) -> u64 {
        self.opening_balance + self.deposit * self.tellers as u64
    }
}

/// The mutual exclusion algorithms of the registry.
pub fn locks() -> impl Iterator<Item = &'static MutexEntry> {
    all().iter().filter_map(Mutex::entry)
}

/// The size of the group for this lock: as requested, or the smallest from [`DEFAULT_NODES`] on
/// that has a node for every teller and that the lock supports. Fails if the request is too small
/// for the tellers; whether the lock supports a requested size shows only in the run.
pub fn group_size(settings: &BankSettings, lock: &MutexEntry, requested: Option<usize>) -> Result<usize, BankError> {
    let minimum = settings.tellers;
    match requested {
        Some(nodes) if nodes < minimum => Err(BankError::TooFewNodes { tellers: minimum, nodes }),
        Some(nodes) => Ok(nodes),
        None => {
            let minimum = minimum.max(DEFAULT_NODES);
            let smallest_size =
                (minimum..minimum + MAX_SIZE_GAP).find(|nodes| (lock.facts.check_group_size)(*nodes).is_ok());
            // If no size fits, the run fails with the reason.
            Ok(smallest_size.unwrap_or(minimum))
        }
    }
}

/// The experiment in which the tellers make their deposits under this lock.
///
/// With d as the upper bound or median of `latency`, the tellers request the lock within 4 d, and a
/// deposit takes d to 3 d, so that without a lock most seeds lose money and some do not.
pub fn spec(settings: &BankSettings, lock: Algorithm<Mutex>, nodes: usize, seed: u64, latency: Latency) -> Spec<Mutex> {
    let delay = latency.reference_delay();
    let mutex_settings = Settings {
        entries: settings.tellers as u64,
        workload: Pattern::Random,
        requesters: Group::of_size(settings.tellers).iter().collect(),
        hold: Some(Latency::Uniform { min: delay, max: delay.times(3) }),
        think: Some(Latency::Uniform { min: Duration::ZERO, max: delay.times(4) }),
        ..Settings::default()
    };
    Spec { nodes, seed, latency, settings: mutex_settings, ..Spec::new(lock) }
}

/// The account at the end of a run, and its history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statement {
    #[serde(rename = "final")]
    pub balance: u64,
    /// The balance if all tellers deposit and no deposit is lost.
    #[serde(rename = "expected")]
    pub expected_balance: u64,
    /// Number of deposits that tellers completed.
    #[serde(rename = "made")]
    pub completed_deposits: u64,
    /// Amount of money that was deposited but overwritten.
    pub lost: u64,
    pub ending: Ending,
    pub history: Vec<Access>,
}

impl Statement {
    fn new(settings: &BankSettings, ending: Ending, ledger: Ledger) -> Self {
        let (balance, completed_deposits) = (ledger.balance(), ledger.completed_deposits());
        // Each write adds one deposit to a balance that was read before, so the balance is at most
        // the opening balance plus all completed deposits.
        let lost = (settings.opening_balance + settings.deposit * completed_deposits).saturating_sub(balance);
        Self {
            balance,
            expected_balance: settings.expected_balance(),
            completed_deposits,
            lost,
            ending,
            history: ledger.into_history(),
        }
    }

    /// Whether all deposits were made and none was lost.
    pub fn is_correct(&self) -> bool {
        self.balance == self.expected_balance
    }
}

pub fn run(spec: &Spec<Mutex>, settings: &BankSettings) -> Result<Statement, LabError> {
    spec.validate()?;
    Ok(run_unvalidated(spec, settings))
}

/// Runs the experiment once, writes its journal, and passes the run to another observer as well.
pub fn run_with_observer<O>(
    spec: &Spec<Mutex>,
    settings: &BankSettings,
    journal: impl Write,
    observer: O,
) -> Result<(Statement, O), LabError>
where
    O: Observer<quorate_core::mutex::Command, quorate_core::mutex::Event>,
{
    let (outcome, (ledger, observer)) = run_with(spec, journal, (Ledger::new(settings), observer))?;
    Ok((Statement::new(settings, outcome.ending, ledger), observer))
}

fn run_unvalidated(spec: &Spec<Mutex>, settings: &BankSettings) -> Statement {
    let run = simulate(spec, Ledger::new(settings));
    Statement::new(settings, run.ending, run.observer)
}

/// Totals over the runs of several seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SeedTotals {
    /// Number of seeds that were run.
    pub seeds: u64,
    /// Number of runs with the expected balance.
    #[serde(rename = "right")]
    pub correct: u64,
    /// Number of runs that lost money.
    pub losing: u64,
    /// Largest amount that one run lost.
    #[serde(rename = "most_lost")]
    pub max_lost: u64,
    /// The first seed whose run did not end with the expected balance; `None` if all did.
    #[serde(rename = "first_wrong")]
    pub first_incorrect_seed: Option<u64>,
}

/// Runs the experiment with `seeds` consecutive seeds, from `spec.seed` on, as long as
/// `should_continue` returns true.
pub fn run_seeds(
    spec: &Spec<Mutex>,
    settings: &BankSettings,
    seeds: u64,
    mut should_continue: impl FnMut() -> bool,
) -> Result<SeedTotals, LabError> {
    spec.validate()?;
    let mut totals = SeedTotals::default();
    let mut spec = spec.clone();
    while totals.seeds < seeds && should_continue() {
        let statement = run_unvalidated(&spec, settings);
        totals.seeds += 1;
        totals.correct += u64::from(statement.is_correct());
        totals.losing += u64::from(statement.lost > 0);
        totals.max_lost = totals.max_lost.max(statement.lost);
        if !statement.is_correct() {
            totals.first_incorrect_seed.get_or_insert(spec.seed);
        }
        spec.seed = spec.seed.wrapping_add(1);
    }
    Ok(totals)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BankError {
    #[error("--tellers must be at least 1; got 0.")]
    NoTellers,
    #[error("--balance plus all deposits must be at most {}; got {opening_balance} + {tellers} × {deposit}.", u64::MAX)]
    TooMuchMoney { tellers: usize, deposit: u64, opening_balance: u64 },
    #[error("--nodes must be at least {tellers} for {tellers} tellers, one node each; got {nodes}.")]
    TooFewNodes { tellers: usize, nodes: usize },
}
