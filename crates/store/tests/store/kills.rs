//! Real processes on a real disk, killed at any time: every write that they acknowledged is there.

use crate::common::{Rng, TestLog, owner, put};
use quorate_store::{Settings, Store, StoreError, create_founder};
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

const CHILD_FOLDER_VARIABLE: &str = "QUORATE_STORE_CHILD_FOLDER";
const SMALL: Settings = Settings { segment_bytes: 2_000, ahead_bytes: 4_096 };

fn number(entry: &[u8]) -> u64 {
    u64::from_le_bytes(*entry.first_chunk().expect("an entry begins with its number"))
}

/// Not a test of its own: the process that the other tests start and kill.
#[test]
fn child_that_appends_until_it_is_killed() {
    let Ok(folder) = std::env::var(CHILD_FOLDER_VARIABLE) else { return };
    let (mut store, log, _) = Store::<TestLog>::open(Path::new(&folder), owner(), SMALL).unwrap();
    let mut out = std::io::stdout().lock();
    writeln!(out).unwrap();
    for count in log.last() + 1.. {
        let mut entry = count.to_le_bytes().to_vec();
        entry.resize(8 + (count % 7 * 100) as usize, 0);
        let compact = crate::common::Write::Compact(count.saturating_sub(3));
        store.append(&[put(count - 1, entry), compact]).unwrap();
        writeln!(out, "saved {count}").unwrap();
        out.flush().unwrap();
    }
}

/// Runs the child, kills it at a random time, and returns the last number that it printed.
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
    let mut remaining = rng.below(12);
    let mut line = String::new();
    while remaining > 0 && lines.read_line(&mut line).unwrap() > 0 {
        last = parse_saved(&line).unwrap_or(last);
        remaining -= u64::from(parse_saved(&line).is_some());
        line.clear();
    }
    if last > 0 {
        let refused = Store::<TestLog>::open(folder, owner(), SMALL).err().expect("the child has it open");
        assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
    }
    for _ in 0..rng.below(40_000) {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // Complete lines that it printed before the kill count too.
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
    let mut before = 0;
    for kill in 0..kills {
        let printed = run_and_kill(&folder, &mut rng);
        let (_, log, _) = Store::<TestLog>::open(&folder, owner(), SMALL).unwrap();
        let last = log.last();
        assert!(last >= printed.max(before), "kill {kill}: {printed} was printed, {last} is there");
        let numbers: Vec<u64> = log.entries.iter().map(|entry| number(entry)).collect();
        let expected: Vec<u64> = (log.compacted + 1..=last).collect();
        assert_eq!(numbers, expected, "kill {kill}");
        before = last;
    }
    assert!(
        before > kills,
        "{kills} processes saved only {before} entries: they were killed too soon for a useful test"
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
