//! The thread that writes: one sync for all that waits, a full disk, a failed one, a crowd.

use crate::common::{Ledger, SMALL, Write, contents, create, open};
use quorate_store::faults::{Fault, FaultyFiles};
use quorate_store::{Patience, Refusal, Report, Scribe, Settings, Ticket};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

const DEADLINE: Duration = Duration::from_secs(60);
const SOON: Patience = Patience { first: Duration::from_millis(1), longest: Duration::from_millis(4) };

fn start(files: &FaultyFiles, capacity: usize) -> (Scribe<Ledger>, Receiver<Report>) {
    let (scribe, reports, gate) = start_gated(files, capacity);
    drop(gate);
    (scribe, reports)
}

/// A scribe that waits for leave after each report, until the gate is dropped. The gate stands last, so that a test that
/// fails drops it first: the scribe could not end before it.
fn start_gated(files: &FaultyFiles, capacity: usize) -> (Scribe<Ledger>, Receiver<Report>, Sender<()>) {
    create(files).unwrap();
    let (store, ..) = open(files, Settings { ahead_bytes: 100_000, ..SMALL }).unwrap();
    let (sender, reports) = channel();
    let (open_gate, gate) = channel();
    let tell = move |report| {
        // The test may have seen enough and gone.
        let _ = sender.send(report);
        let _ = gate.recv();
    };
    (Scribe::start(store, capacity, SOON, tell).unwrap(), reports, open_gate)
}

fn next(reports: &Receiver<Report>) -> Report {
    reports.recv_timeout(DEADLINE).expect("a report before the deadline")
}

fn vote(number: u64) -> (Ticket, Write) {
    (Ticket(number), Write::Vote(number))
}

#[track_caller]
fn assert_saved(report: Report, expected: u64, ticket: u64) {
    match report {
        Report::Saved { count, last } => assert_eq!((count, last), (expected, Ticket(ticket))),
        other => panic!("expected {expected} saved, heard {other:?}"),
    }
}

#[test]
fn everything_that_waits_becomes_durable_with_one_sync() {
    let files = FaultyFiles::new();
    let (scribe, reports, open_gate) = start_gated(&files, 100);
    let (ticket, write) = vote(1);
    scribe.save(ticket, write).unwrap();
    assert_saved(next(&reports), 1, 1);
    // The scribe waits in its report; these come to wait.
    for number in 2..=60 {
        let (ticket, write) = vote(number);
        scribe.save(ticket, write).unwrap();
    }
    let before = files.operations();
    open_gate.send(()).unwrap();
    assert_saved(next(&reports), 60, 60);
    assert_eq!(files.operations() - before, 2, "one write and one sync for 59 saves");
    drop(open_gate);
    drop(scribe);
    assert_eq!(contents(&files).unwrap().writes, 60);
}

#[test]
fn a_crowd_is_refused_and_its_write_given_back() {
    let files = FaultyFiles::new();
    let (scribe, reports, open_gate) = start_gated(&files, 2);
    scribe.save(Ticket(1), Write::Vote(1)).unwrap();
    assert_saved(next(&reports), 1, 1);
    scribe.try_save(Ticket(2), Write::Vote(2)).unwrap();
    scribe.try_save(Ticket(3), Write::Vote(3)).unwrap();
    let refused = scribe.try_save(Ticket(4), Write::Vote(4)).unwrap_err();
    assert!(matches!(refused, Refusal::Crowded(Write::Vote(4))), "{refused}");
    // One that is ready to wait gets its place when the two are taken.
    std::thread::scope(|scope| {
        let open_gate = open_gate;
        scope.spawn(|| scribe.save(Ticket(4), Write::Vote(4)).unwrap());
        open_gate.send(()).unwrap();
        assert_saved(next(&reports), 3, 3);
        open_gate.send(()).unwrap();
        assert_saved(next(&reports), 4, 4);
    });
}

#[test]
fn a_full_disk_is_told_once_and_tried_again_until_it_has_room() {
    let files = FaultyFiles::new();
    let (scribe, reports) = start(&files, 10);
    files.limit(files.used());
    scribe.save(Ticket(7), Write::Vote(7)).unwrap();
    let full = next(&reports);
    assert!(matches!(&full, Report::Full(error) if error.is_full()), "{full:?}");
    // It tries again all the while: each time is a write that fails, and a file that is cut back.
    let before = files.operations();
    let begun = std::time::Instant::now();
    while files.operations() < before + 10 {
        assert!(begun.elapsed() < DEADLINE, "a full disk is not tried again");
        std::thread::yield_now();
    }
    files.heal();
    assert!(matches!(next(&reports), Report::Free));
    assert_saved(next(&reports), 1, 7);
    drop(scribe);
    assert!(reports.try_recv().is_err(), "nothing was left to tell");
    assert_eq!(contents(&files).unwrap().vote, 7);
}

#[test]
fn a_scribe_ends_though_the_disk_stays_full() {
    let files = FaultyFiles::new();
    let (scribe, reports) = start(&files, 10);
    files.limit(files.used());
    scribe.save(Ticket(1), Write::Vote(1)).unwrap();
    assert!(matches!(next(&reports), Report::Full(_)));
    drop(scribe);
    files.heal();
    assert_eq!(contents(&files).unwrap(), Ledger::default());
}

#[test]
fn a_failed_disk_ends_the_scribe_and_everyone_hears_of_it() {
    let files = FaultyFiles::new();
    let (scribe, reports) = start(&files, 10);
    scribe.save(Ticket(1), Write::Vote(1)).unwrap();
    assert_saved(next(&reports), 1, 1);
    files.fail_at(files.operations() + 2, Fault::Error);
    scribe.save(Ticket(2), Write::Vote(2)).unwrap();
    assert!(matches!(next(&reports), Report::Failed(_)));
    // The channel closes when the thread has ended.
    assert!(reports.recv_timeout(DEADLINE).is_err());
    let refused = scribe.save(Ticket(3), Write::Vote(3)).unwrap_err();
    assert!(matches!(refused, Refusal::Ended(Write::Vote(3))), "{refused}");
}

#[test]
fn a_dropped_scribe_has_saved_what_waited() {
    let files = FaultyFiles::new();
    let (scribe, _) = start(&files, 1_000);
    for number in 1..=500 {
        let (ticket, write) = vote(number);
        scribe.save(ticket, write).unwrap();
    }
    drop(scribe);
    assert_eq!(contents(&files).unwrap().writes, 500);
}
