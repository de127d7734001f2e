//! The thread that writes: one sync for all queued writes, full and failed disks, a full queue.

use crate::common::{SMALL_SEGMENTS, TestLog, Write, create_data_folder, open_store, read_contents};
use quorate_store::faults::{Fault, FaultyFiles};
use quorate_store::{DiskWriter, NotSaved, Report, RetryDelays, SaveId, Settings};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Longer than any report takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);
const SHORT_DELAYS: RetryDelays = RetryDelays { first: Duration::from_millis(1), longest: Duration::from_millis(4) };

fn start_writer(files: &FaultyFiles, capacity: usize) -> (DiskWriter<TestLog>, Receiver<Report>) {
    let (disk_writer, reports, open_gate) = start_gated(files, capacity);
    drop(open_gate);
    (disk_writer, reports)
}

/// A disk writer that blocks after each report until the test sends on `open_gate` or drops it.
/// This sender is last in the tuple, so that a failing test drops it first; otherwise the disk
/// writer could not end.
fn start_gated(files: &FaultyFiles, capacity: usize) -> (DiskWriter<TestLog>, Receiver<Report>, Sender<()>) {
    create_data_folder(files).unwrap();
    // So many zeros ahead that only the first append extends the file.
    let (store, ..) = open_store(files, Settings { preallocated_bytes: 100_000, ..SMALL_SEGMENTS }).unwrap();
    let (sender, reports) = channel();
    let (open_gate, gate) = channel();
    let report = move |report| {
        // The test may have dropped the receiver.
        let _ = sender.send(report);
        let _ = gate.recv();
    };
    (DiskWriter::start(store, capacity, SHORT_DELAYS, report).unwrap(), reports, open_gate)
}

fn next_report(reports: &Receiver<Report>) -> Report {
    reports.recv_timeout(DEADLINE).expect("a report before the deadline")
}

fn save_of_vote(number: u64) -> (SaveId, Write) {
    (SaveId(number), Write::Vote(number))
}

#[track_caller]
fn assert_saved(report: Report, expected_total: u64, expected_last_save: u64) {
    match report {
        Report::Saved { count, last_save } => {
            assert_eq!((count, last_save), (expected_total, SaveId(expected_last_save)));
        }
        other => panic!("expected {expected_total} saved, got {other:?}"),
    }
}

#[test]
fn all_queued_writes_become_durable_with_one_sync() {
    let files = FaultyFiles::new();
    let (disk_writer, reports, open_gate) = start_gated(&files, 100);
    let (id, write) = save_of_vote(1);
    disk_writer.save(id, write).unwrap();
    assert_saved(next_report(&reports), 1, 1);
    // The disk writer blocks in its report, so these writes are queued.
    for number in 2..=60 {
        let (id, write) = save_of_vote(number);
        disk_writer.save(id, write).unwrap();
    }
    let before = files.operation_count();
    open_gate.send(()).unwrap();
    assert_saved(next_report(&reports), 60, 60);
    assert_eq!(files.operation_count() - before, 2, "one write and one sync for 59 saves");
    drop(open_gate);
    drop(disk_writer);
    assert_eq!(read_contents(&files).unwrap().write_count, 60);
}

#[test]
fn a_full_queue_refuses_and_returns_the_write() {
    let files = FaultyFiles::new();
    let (disk_writer, reports, open_gate) = start_gated(&files, 2);
    disk_writer.save(SaveId(1), Write::Vote(1)).unwrap();
    assert_saved(next_report(&reports), 1, 1);
    disk_writer.try_save(SaveId(2), Write::Vote(2)).unwrap();
    disk_writer.try_save(SaveId(3), Write::Vote(3)).unwrap();
    let refused = disk_writer.try_save(SaveId(4), Write::Vote(4)).unwrap_err();
    assert!(matches!(refused, NotSaved::QueueFull(Write::Vote(4))), "{refused}");
    // A blocking save succeeds once the two queued writes are taken.
    std::thread::scope(|scope| {
        let open_gate = open_gate;
        scope.spawn(|| disk_writer.save(SaveId(4), Write::Vote(4)).unwrap());
        open_gate.send(()).unwrap();
        assert_saved(next_report(&reports), 3, 3);
        open_gate.send(()).unwrap();
        assert_saved(next_report(&reports), 4, 4);
    });
}

#[test]
fn a_full_disk_is_reported_once_and_retried_until_it_has_space() {
    let files = FaultyFiles::new();
    let (disk_writer, reports) = start_writer(&files, 10);
    files.limit_bytes(files.used_bytes());
    disk_writer.save(SaveId(7), Write::Vote(7)).unwrap();
    let full = next_report(&reports);
    assert!(matches!(&full, Report::Full(error) if error.is_full()), "{full:?}");
    // An attempt is a failed write, a truncation and a sync with zeros ahead, then the same three
    // without. So ten operations belong to at least two attempts.
    let before = files.operation_count();
    let begun = std::time::Instant::now();
    while files.operation_count() < before + 10 {
        assert!(begun.elapsed() < DEADLINE, "the disk writer does not retry on a full disk");
        std::thread::yield_now();
    }
    files.heal();
    assert!(matches!(next_report(&reports), Report::Free));
    assert_saved(next_report(&reports), 1, 7);
    drop(disk_writer);
    assert!(reports.try_recv().is_err(), "unexpected further report");
    assert_eq!(read_contents(&files).unwrap().vote, 7);
}

#[test]
fn the_disk_writer_ends_even_if_the_disk_stays_full() {
    let files = FaultyFiles::new();
    let (disk_writer, reports) = start_writer(&files, 10);
    files.limit_bytes(files.used_bytes());
    disk_writer.save(SaveId(1), Write::Vote(1)).unwrap();
    assert!(matches!(next_report(&reports), Report::Full(_)));
    drop(disk_writer);
    files.heal();
    assert_eq!(read_contents(&files).unwrap(), TestLog::default());
}

#[test]
fn a_failed_disk_ends_the_disk_writer_and_refuses_later_saves() {
    let files = FaultyFiles::new();
    let (disk_writer, reports) = start_writer(&files, 10);
    disk_writer.save(SaveId(1), Write::Vote(1)).unwrap();
    assert_saved(next_report(&reports), 1, 1);
    // The first operation of an append writes, the second syncs.
    files.fail_at(files.operation_count() + 2, Fault::Error);
    disk_writer.save(SaveId(2), Write::Vote(2)).unwrap();
    assert!(matches!(next_report(&reports), Report::Failed(_)));
    // The channel closes when the thread has ended.
    assert!(reports.recv_timeout(DEADLINE).is_err());
    let refused = disk_writer.save(SaveId(3), Write::Vote(3)).unwrap_err();
    assert!(matches!(refused, NotSaved::Ended(Write::Vote(3))), "{refused}");
}

#[test]
fn a_dropped_disk_writer_has_saved_all_queued_writes() {
    let files = FaultyFiles::new();
    let (disk_writer, _) = start_writer(&files, 1_000);
    for number in 1..=500 {
        let (id, write) = save_of_vote(number);
        disk_writer.save(id, write).unwrap();
    }
    drop(disk_writer);
    assert_eq!(read_contents(&files).unwrap().write_count, 500);
}

#[test]
fn an_inline_save_is_durable_when_the_call_returns_and_counts_with_the_saves_of_the_thread() {
    let files = FaultyFiles::new();
    let (disk_writer, reports) = start_writer(&files, 10);
    let inline = disk_writer.save_inline(SaveId(2), &[Write::Vote(1), Write::Vote(2)]).unwrap();
    assert_saved(inline, 2, 2);
    disk_writer.save(SaveId(3), Write::Vote(3)).unwrap();
    assert_saved(next_report(&reports), 3, 3);
    assert_saved(disk_writer.save_inline(SaveId(4), &[Write::Vote(4)]).unwrap(), 4, 4);
    drop(disk_writer);
    assert!(reports.try_recv().is_err(), "the thread reported an inline save");
    assert_eq!(read_contents(&files).unwrap().write_count, 4);
}

#[test]
fn the_thread_saves_what_takes_more_than_a_short_sync() {
    let files = FaultyFiles::new();
    let (disk_writer, reports) = start_writer(&files, 10);
    let long = Write::Put { after: 0, entry: vec![7; 100_000].into() };
    assert!(disk_writer.save_inline(SaveId(1), std::slice::from_ref(&long)).is_none());
    disk_writer.save(SaveId(1), long).unwrap();
    assert_saved(next_report(&reports), 1, 1);
    // The long write has filled the segment, so the next append begins a new one.
    assert!(disk_writer.save_inline(SaveId(2), &[Write::Vote(2)]).is_none());
    disk_writer.save(SaveId(2), Write::Vote(2)).unwrap();
    assert_saved(next_report(&reports), 2, 2);
    drop(disk_writer);
    assert_eq!(read_contents(&files).unwrap().write_count, 2);
}

#[test]
fn the_thread_retries_what_a_full_disk_refused_inline() {
    let files = FaultyFiles::new();
    let (disk_writer, reports) = start_writer(&files, 10);
    files.limit_bytes(files.used_bytes());
    assert!(disk_writer.save_inline(SaveId(1), &[Write::Vote(7)]).is_none());
    disk_writer.save(SaveId(1), Write::Vote(7)).unwrap();
    assert!(matches!(next_report(&reports), Report::Full(_)));
    files.heal();
    assert!(matches!(next_report(&reports), Report::Free));
    assert_saved(next_report(&reports), 1, 1);
    drop(disk_writer);
    assert_eq!(read_contents(&files).unwrap().write_count, 1);
}

#[test]
fn a_disk_that_fails_inline_saves_nothing_more() {
    let files = FaultyFiles::new();
    let (disk_writer, reports) = start_writer(&files, 10);
    files.fail_at(files.operation_count() + 2, Fault::Error);
    assert!(matches!(disk_writer.save_inline(SaveId(1), &[Write::Vote(1)]), Some(Report::Failed(_))));
    assert!(matches!(disk_writer.save_inline(SaveId(2), &[Write::Vote(2)]), Some(Report::Failed(_))));
    disk_writer.save(SaveId(2), Write::Vote(2)).unwrap();
    assert!(matches!(next_report(&reports), Report::Failed(_)));
}

/// The disk is full of obsolete votes, so that a checkpoint would free space.
#[test]
fn an_inline_save_on_a_full_disk_writes_no_checkpoint() {
    let files = FaultyFiles::new();
    create_data_folder(&files).unwrap();
    let (store, ..) = open_store(&files, Settings { segment_bytes: 1 << 20, preallocated_bytes: 0 }).unwrap();
    let disk_writer = DiskWriter::start(store, 10, SHORT_DELAYS, |_| {}).unwrap();
    for number in 1..=100 {
        assert!(disk_writer.save_inline(SaveId(number), &[Write::Vote(number)]).is_some());
    }
    files.limit_bytes(files.used_bytes() + 200);
    let is_full = (101..=200).any(|number| {
        let before = files.operation_count();
        let report = disk_writer.save_inline(SaveId(number), &[Write::Vote(number)]);
        let operations = files.operation_count() - before;
        assert!(operations <= 3, "save {number} took {operations} operations");
        report.is_none()
    });
    assert!(is_full);
}
