//! Without a lock the bank loses money, with any correct lock it loses none, and money is lost only
//! if one write overwrites another.

use super::{
    Act, BankError, BankSettings, DEFAULT_NODES, LATENCY, NO_LOCK, SeedTotals, Statement, group_size, locks, run,
    run_seeds, run_with_observer, spec,
};
use quorate_journal::workload::Ending;
use quorate_lab::mutex::{Mutex, MutexError};
use quorate_lab::registry::{Entry, fixtures};
use quorate_lab::{Algorithm, LabError, Spec, experiment};
use std::io;

/// Two tellers deposit 10,000 each into an account with 1,000.
fn example() -> BankSettings {
    BankSettings::new(2, 10_000, 1_000).expect("valid settings")
}

fn spec_with(settings: &BankSettings, lock: &str, seed: u64) -> Spec<Mutex> {
    spec(settings, Algorithm::named(lock).unwrap(), settings.tellers().max(DEFAULT_NODES), seed, LATENCY)
}

fn statement_with(settings: &BankSettings, lock: &str, seed: u64) -> Statement {
    run(&spec_with(settings, lock, seed), settings).expect("a run")
}

#[test]
fn without_a_lock_the_default_seed_loses_a_deposit() {
    let statement = statement_with(&example(), NO_LOCK, 1);
    assert_eq!(
        (statement.balance, statement.expected_balance, statement.lost, statement.completed_deposits),
        (11_000, 21_000, 10_000, 2)
    );
    assert!(!statement.is_correct() && statement.ending == Ending::Done);
    let acts: Vec<_> = statement.history.iter().map(|access| access.act).collect();
    assert_eq!(
        acts,
        [
            Act::Reads { balance: 1_000 },
            Act::Reads { balance: 1_000 },
            Act::Writes { balance: 11_000, overwritten: None },
            Act::Writes { balance: 11_000, overwritten: Some(11_000) },
        ]
    );
    assert!(statement.history.is_sorted_by_key(|access| access.time));
}

/// Most seeds lose money, and some do not: this makes the bug hard to find.
#[test]
fn without_a_lock_most_but_not_all_seeds_lose_money() {
    let totals = run_seeds(&spec_with(&example(), NO_LOCK, 1), &example(), 400, || true).expect("totals");
    assert_eq!((totals.seeds, totals.correct + totals.losing, totals.max_lost), (400, 400, 10_000));
    assert!((200..380).contains(&totals.losing), "{totals:?}");
    assert_eq!(totals.first_incorrect_seed, Some(1));
}

#[test]
fn under_every_lock_no_deposit_is_lost() {
    for tellers in [1, 2, 5] {
        let settings = BankSettings::new(tellers, 10_000, 1_000).expect("valid settings");
        for lock in locks() {
            let (name, nodes) = (lock.facts.profile.name, group_size(&settings, lock, None).expect("a size"));
            let spec = spec(&settings, lock.into(), nodes, 1, LATENCY);
            let totals = run_seeds(&spec, &settings, 100, || true).expect("totals");
            assert_eq!((totals.correct, totals.losing), (100, 0), "{name} with {tellers} tellers: {totals:?}");
        }
    }
}

/// Under every lock with a seeded bug, a run loses money if and only if two nodes were in the
/// critical section.
#[test]
fn money_is_lost_exactly_when_exclusion_is_violated() {
    let settings = BankSettings::new(3, 500, 7).expect("valid settings");
    let mut losing = 0;
    for entry in fixtures() {
        let Entry::Mutex(lock) = entry else { continue };
        let Ok(nodes) = group_size(&settings, lock, None) else { continue };
        for seed in 1..=60 {
            let spec = spec(&settings, lock.into(), nodes, seed, LATENCY);
            let (outcome, ledger) = match experiment::run_with(&spec, io::sink(), super::Ledger::new(&settings)) {
                Ok(completed) => completed,
                Err(LabError::Mutex(MutexError::UnsupportedSize { .. })) => break,
                Err(error) => panic!("{error}"),
            };
            let statement = Statement::new(&settings, outcome.ending, ledger);
            let exclusion = outcome.verdicts.iter().find(|verdict| verdict.name == "exclusion").expect("exclusion");
            assert_eq!(
                statement.lost > 0,
                exclusion.is_violated(),
                "{} with seed {seed}: {statement:?}",
                spec.algorithm
            );
            assert_eq!(
                statement.balance + statement.lost,
                7 + 500 * statement.completed_deposits,
                "{} {seed}",
                spec.algorithm
            );
            assert_eq!(
                statement.history.iter().any(overwrites_a_deposit),
                statement.lost > 0,
                "{} {seed}",
                spec.algorithm
            );
            losing += u64::from(statement.lost > 0);
        }
    }
    assert!(losing > 50, "only {losing} runs lost money, too few to show the equivalence");
}

fn overwrites_a_deposit(access: &super::Access) -> bool {
    matches!(access.act, Act::Writes { overwritten: Some(_), .. })
}

/// Under the fixture `toy-embrace`, two tellers that request the lock at the same time may wait
/// forever. Then no money is lost, but the balance is not the expected one.
#[test]
fn deposits_that_were_never_made_are_missing_but_not_lost() {
    let settings = example();
    let totals = run_seeds(&spec_with(&settings, "toy-embrace", 1), &settings, 200, || true).expect("totals");
    assert_eq!(totals.losing, 0);
    let seed = totals.first_incorrect_seed.expect("a seed for which both tellers wait forever");
    let statement = statement_with(&settings, "toy-embrace", seed);
    assert_eq!((statement.lost, statement.ending, statement.is_correct()), (0, Ending::Stuck, false));
    assert!(statement.completed_deposits < 2 && statement.balance < statement.expected_balance);
}

#[test]
fn zero_and_very_large_amounts_are_accounted_for_exactly() {
    for (deposit, opening) in [(0, 0), (0, 1_000), (u64::MAX / 2, 1), (1, 0)] {
        let settings = BankSettings::new(2, deposit, opening).expect("valid settings");
        assert!(statement_with(&settings, "central", 1).is_correct(), "{settings:?}");
        assert_eq!(statement_with(&settings, NO_LOCK, 1).lost, deposit, "{settings:?}");
    }
}

#[test]
fn invalid_settings_are_refused() {
    assert_eq!(BankSettings::new(0, 1, 1), Err(BankError::NoTellers));
    for (tellers, deposit, opening_balance) in [(2, u64::MAX / 2 + 1, 0), (1, 1, u64::MAX)] {
        let error = BankError::TooMuchMoney { tellers, deposit, opening_balance };
        assert_eq!(BankSettings::new(tellers, deposit, opening_balance), Err(error));
    }
    assert_eq!(BankSettings::new(1, 0, u64::MAX).map(|settings| settings.expected_balance()), Ok(u64::MAX));
    let lock = locks().next().expect("a lock");
    let error = group_size(&example(), lock, Some(1)).expect_err("two tellers, one node");
    assert_eq!(error.to_string(), "--nodes must be at least 2 for 2 tellers, one node each; got 1.");
    assert_eq!(group_size(&example(), lock, Some(2)), Ok(2));
    let unknown = Algorithm::<Mutex>::named("unknown").expect_err("no such lock");
    assert!(unknown.to_string().contains("'unknown'"), "{unknown}");
}

#[test]
fn the_caller_may_stop_after_any_seed() {
    let mut calls = 0;
    let stopped = run_seeds(&spec_with(&example(), NO_LOCK, 1), &example(), u64::MAX, || {
        calls += 1;
        calls <= 5
    });
    assert_eq!(stopped.expect("totals").seeds, 5);
    assert_eq!(
        run_seeds(&spec_with(&example(), NO_LOCK, 1), &example(), 0, || true).expect("totals"),
        SeedTotals::default()
    );
}

/// The journal equals that of `quorate sim` with the printed command, so it replays and can be
/// drawn.
#[test]
fn the_journal_of_a_run_equals_that_of_the_same_simulation() {
    let (settings, mut journal) = (example(), Vec::new());
    let spec = spec_with(&settings, "ricart-agrawala", 4);
    let (statement, ()) = run_with_observer(&spec, &settings, &mut journal, ()).expect("a run");
    assert_eq!(statement, run(&spec, &settings).expect("a run"));
    let mut simulation_journal = Vec::new();
    experiment::run_with(&spec, &mut simulation_journal, ()).expect("a run");
    assert!(!journal.is_empty() && journal == simulation_journal);
    // The reference delay of `LATENCY` is its upper bound, 5 ms. A deposit (`--hold`) takes one to
    // three of these delays, and tellers request the lock within four (`--think`).
    assert_eq!(
        spec.command("sim"),
        "quorate sim ricart-agrawala --nodes 3 --seed 4 --entries 2 --requesters 1,2 --hold uniform:5ms..15ms --think \
         uniform:0ms..20ms"
    );
}
