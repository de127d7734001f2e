//! Real processes on a real disk, killed at any time: every write that they acknowledged is there.

use crate::common::{Rng, TestLog, owner, put_after};
use quorate_store::{Settings, Store, StoreError, create_founder};
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

const CHILD_FOLDER_VARIABLE: &str = "QUORATE_STORE_CHILD_FOLDER";
const CHILD_SETTINGS: Settings = Settings { segment_bytes: 2_000, preallocated_bytes: 4_096 };

fn number_of(entry: &[u8]) -> u64 {
    u64::from_le_bytes(*entry.first_chunk().expect("an entry begins with its number"))
}

/// Not a test of its own: the process that the other tests start and kill.
#[test]
fn child_that_appends_until_it_is_killed() {
    let Ok(folder) = std::env::var(CHILD_FOLDER_VARIABLE) else { return };
    let (mut store, log, _) = Store::<TestLog>::open(Path::new(&folder), owner(), CHILD_SETTINGS).unwrap();
    let mut out = std::io::stdout().lock();
    // Ends the line that the test harness has begun.
    writeln!(out).unwrap();
    for number in log.last_number() + 1.. {
        // An entry is its number and up to 600 zeros.
        let mut entry = number.to_le_bytes().to_vec();
        entry.resize(8 + (number % 7 * 100) as usize, 0);
        // Only the last few entries stay, so that checkpoints are short.
        let compact = crate::common::Write::Compact(number.saturating_sub(3));
        let previous = number - 1;
        store.append(&[put_after(previous, entry), compact]).unwrap();
        writeln!(out, "saved {number}").unwrap();
        out.flush().unwrap();
    }
}

/// Runs the child, kills it at a random time, and returns the last number that it printed, or 0 if
/// it printed none.
fn run_and_kill(folder: &Path, rng: &mut Rng) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::child_that_appends_until_it_is_killed", "--nocapture"])
        .env(CHILD_FOLDER_VARIABLE, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut last = 0;
    let mut remaining_lines = rng.below(12);
    let mut line = String::new();
    while remaining_lines > 0 && lines.read_line(&mut line).unwrap() > 0 {
        last = parse_saved(&line).unwrap_or(last);
        remaining_lines -= u64::from(parse_saved(&line).is_some());
        line.clear();
    }
    if last > 0 {
        let refused = Store::<TestLog>::open(folder, owner(), CHILD_SETTINGS).err().expect("the child has it open");
        assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
    }
    // A random delay, so that the kill hits any point of an append.
    for _ in 0..rng.below(40_000) {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // Complete lines that the child printed before the kill count too.
    while lines.read_line(&mut line).unwrap() > 0 {
        last = parse_saved(&line).unwrap_or(last);
        line.clear();
    }
    last
}

fn parse_saved(line: &str) -> Option<u64> {
    line.strip_prefix("saved ")?.strip_suffix('\n')?.parse().ok()
}

fn check_kills(kills: u64) {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("data");
    create_founder::<TestLog>(&folder, owner()).unwrap();
    let mut rng = Rng::new(41);
    let mut last_before = 0;
    for kill in 0..kills {
        let printed = run_and_kill(&folder, &mut rng);
        let (_, log, _) = Store::<TestLog>::open(&folder, owner(), CHILD_SETTINGS).unwrap();
        let last = log.last_number();
        assert!(last >= printed.max(last_before), "kill {kill}: the child printed {printed}, the last entry is {last}");
        let numbers: Vec<u64> = log.entries.iter().map(|entry| number_of(entry)).collect();
        let expected: Vec<u64> = (log.compacted + 1..=last).collect();
        assert_eq!(numbers, expected, "kill {kill}");
        last_before = last;
    }
    assert!(
        last_before > kills,
        "{kills} processes saved only {last_before} entries: they were killed too soon for a useful test"
    );
}

#[test]
fn acknowledged_writes_survive_kills() {
    check_kills(60);
}

#[test]
#[ignore = "long: ./check long"]
fn acknowledged_writes_survive_three_hundred_kills() {
    check_kills(300);
}
