//! Without a lock money is lost, with any lock it is not, and money is lost only if a write was
//! overwritten.

use super::{
    Act, BankError, LATENCY, NO_LOCK, SeedTotals, Statement, Terms, group_size, locks, run, run_before, run_seeds, spec,
};
use quorate_journal::workload::Ending;
use quorate_lab::mutex::{Mutex, MutexError};
use quorate_lab::registry::{Entry, fixtures};
use quorate_lab::{Algorithm, LabError, Spec, experiment};
use std::io;

fn example() -> Terms {
    Terms::new(2, 10_000, 1_000).expect("valid terms")
}

fn spec_with(terms: &Terms, lock: &str, seed: u64) -> Spec<Mutex> {
    spec(terms, Algorithm::named(lock).unwrap(), terms.tellers().max(3), seed, LATENCY)
}

fn statement_with(terms: &Terms, lock: &str, seed: u64) -> Statement {
    run(&spec_with(terms, lock, seed), terms).expect("a run")
}

#[test]
fn without_a_lock_the_default_seed_loses_a_deposit() {
    let statement = statement_with(&example(), NO_LOCK, 1);
    assert_eq!((statement.balance, statement.expected, statement.lost, statement.made), (11_000, 21_000, 10_000, 2));
    assert!(!statement.is_correct() && statement.ending == Ending::Done);
    let acts: Vec<_> = statement.history.iter().map(|posting| posting.act).collect();
    assert_eq!(
        acts,
        [
            Act::Reads { balance: 1_000 },
            Act::Reads { balance: 1_000 },
            Act::Writes { balance: 11_000, over: None },
            Act::Writes { balance: 11_000, over: Some(11_000) },
        ]
    );
    assert!(statement.history.is_sorted_by_key(|posting| posting.time));
}

/// Most seeds lose money, and some do not: this makes the bug hard to find.
#[test]
fn without_a_lock_most_but_not_all_seeds_lose_money() {
    let totals = run_seeds(&spec_with(&example(), NO_LOCK, 1), &example(), 400, || true).expect("totals");
    assert_eq!((totals.seeds, totals.right + totals.losing, totals.most_lost), (400, 400, 10_000));
    assert!((200..380).contains(&totals.losing), "{totals:?}");
    assert_eq!(totals.first_wrong, Some(1));
}

#[test]
fn under_every_lock_every_deposit_is_there() {
    for tellers in [1, 2, 5] {
        let terms = Terms::new(tellers, 10_000, 1_000).expect("terms");
        for lock in locks() {
            let (name, nodes) = (lock.facts.profile.name, group_size(&terms, lock, None).expect("a size"));
            let spec = spec(&terms, lock.into(), nodes, 1, LATENCY);
            let totals = run_seeds(&spec, &terms, 100, || true).expect("totals");
            assert_eq!((totals.right, totals.losing), (100, 0), "{name} with {tellers} tellers: {totals:?}");
        }
    }
}

/// Money is lost if and only if two nodes were in the critical section, whatever is wrong with the
/// lock.
#[test]
fn money_is_lost_exactly_when_exclusion_is_violated() {
    let terms = Terms::new(3, 500, 7).expect("terms");
    let mut losing = 0;
    for entry in fixtures() {
        let Entry::Mutex(entry) = entry else { continue };
        let Ok(nodes) = group_size(&terms, entry, None) else { continue };
        for seed in 1..=60 {
            let spec = spec(&terms, entry.into(), nodes, seed, LATENCY);
            let (outcome, ledger) = match experiment::run_with(&spec, io::sink(), super::Ledger::new(&terms)) {
                Ok(ran) => ran,
                Err(LabError::Mutex(MutexError::NoSuchGroup { .. })) => break,
                Err(error) => panic!("{error}"),
            };
            let statement = Statement::new(&terms, outcome.ending, ledger);
            let exclusion = outcome.verdicts.iter().find(|verdict| verdict.name == "exclusion").expect("exclusion");
            assert_eq!(
                statement.lost > 0,
                exclusion.is_violated(),
                "{} with seed {seed}: {statement:?}",
                spec.algorithm
            );
            assert_eq!(statement.balance + statement.lost, 7 + 500 * statement.made, "{} {seed}", spec.algorithm);
            assert_eq!(
                statement.history.iter().any(overwrites_a_deposit),
                statement.lost > 0,
                "{} {seed}",
                spec.algorithm
            );
            losing += u64::from(statement.lost > 0);
        }
    }
    assert!(losing > 50, "only {losing} runs lost money, so this shows little");
}

fn overwrites_a_deposit(posting: &super::Posting) -> bool {
    matches!(posting.act, Act::Writes { over: Some(_), .. })
}

/// A lock that never grants entry loses no money, but the balance is not the expected one.
#[test]
fn deposits_that_were_never_made_are_no_loss_and_not_right() {
    let terms = example();
    let totals = run_seeds(&spec_with(&terms, "toy-embrace", 1), &terms, 200, || true).expect("totals");
    assert_eq!(totals.losing, 0);
    let seed = totals.first_wrong.expect("a seed in which both wait forever");
    let statement = statement_with(&terms, "toy-embrace", seed);
    assert_eq!((statement.lost, statement.ending, statement.is_correct()), (0, Ending::Stuck, false));
    assert!(statement.made < 2 && statement.balance < statement.expected);
}

#[test]
fn an_empty_account_and_empty_deposits_work() {
    for (deposit, opening) in [(0, 0), (0, 1_000), (u64::MAX / 2, 1), (1, 0)] {
        let terms = Terms::new(2, deposit, opening).expect("terms");
        assert!(statement_with(&terms, "central", 1).is_correct(), "{terms:?}");
        assert_eq!(statement_with(&terms, NO_LOCK, 1).lost, deposit, "{terms:?}");
    }
}

#[test]
fn invalid_settings_are_refused() {
    assert_eq!(Terms::new(0, 1, 1), Err(BankError::NoTellers));
    assert_eq!(Terms::new(2, u64::MAX / 2 + 1, 0), Err(BankError::TooMuchMoney));
    assert_eq!(Terms::new(1, 1, u64::MAX), Err(BankError::TooMuchMoney));
    assert_eq!(Terms::new(1, 0, u64::MAX).map(|terms| terms.expected()), Ok(u64::MAX));
    let lock = locks().next().expect("a lock");
    let few = group_size(&example(), lock, Some(1)).expect_err("two tellers, one node");
    assert_eq!(few.to_string(), "--nodes must be at least 2 for 2 tellers, one node each; got 1.");
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
fn a_run_of_the_bank_is_a_run_like_any_other() {
    let (terms, mut journal) = (example(), Vec::new());
    let spec = spec_with(&terms, "ricart-agrawala", 4);
    let (statement, ()) = run_before(&spec, &terms, &mut journal, ()).expect("a run");
    assert_eq!(statement, run(&spec, &terms).expect("a run"));
    let mut plain = Vec::new();
    experiment::run_with(&spec, &mut plain, ()).expect("a run");
    assert!(!journal.is_empty() && journal == plain);
    assert_eq!(
        spec.command("sim"),
        "quorate sim ricart-agrawala --nodes 3 --seed 4 --entries 2 --requesters 1,2 --hold uniform:5ms..15ms --think \
         uniform:0ms..20ms"
    );
}
