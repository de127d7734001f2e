//! Real processes on a real disk, killed at any moment: everything they said was saved is there.

use crate::common::{Dice, Ledger, owner, put};
use quorate_store::{Settings, Store, StoreError, found};
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

const CHILD: &str = "QUORATE_STORE_CHILD_FOLDER";
const SMALL: Settings = Settings { segment_bytes: 2_000, ahead_bytes: 4_096 };

fn number(entry: &[u8]) -> u64 {
    u64::from_le_bytes(*entry.first_chunk().expect("an entry begins with its number"))
}

/// Not a test by itself: what the other test runs as a process, and kills.
#[test]
fn child_that_appends_until_it_is_killed() {
    let Ok(folder) = std::env::var(CHILD) else { return };
    let (mut store, ledger, _) = Store::<Ledger>::open(Path::new(&folder), owner(), SMALL).unwrap();
    let mut out = std::io::stdout().lock();
    writeln!(out).unwrap();
    for count in ledger.last() + 1.. {
        let mut entry = count.to_le_bytes().to_vec();
        entry.resize(8 + (count % 7 * 100) as usize, 0);
        let compact = crate::common::Write::Compact(count.saturating_sub(3));
        store.append(&[put(count - 1, entry), compact]).unwrap();
        writeln!(out, "saved {count}").unwrap();
        out.flush().unwrap();
    }
}

/// Runs the child, kills it after some of its lines and a little more, and says which number it printed last.
fn kill_one(folder: &Path, dice: &mut Dice) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::child_that_appends_until_it_is_killed", "--nocapture"])
        .env(CHILD, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut last = 0;
    let mut wanted = dice.below(12);
    let mut line = String::new();
    while wanted > 0 && lines.read_line(&mut line).unwrap() > 0 {
        last = saved(&line).unwrap_or(last);
        wanted -= u64::from(saved(&line).is_some());
        line.clear();
    }
    if last > 0 {
        let refused = Store::<Ledger>::open(folder, owner(), SMALL).err().expect("the child has it open");
        assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
    }
    for _ in 0..dice.below(40_000) {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What it had printed by then counts too, but for a line that it was in the middle of.
    while lines.read_line(&mut line).unwrap() > 0 {
        last = saved(&line).unwrap_or(last);
        line.clear();
    }
    last
}

fn saved(line: &str) -> Option<u64> {
    line.strip_prefix("saved ")?.strip_suffix('\n')?.parse().ok()
}

fn survives_kills(kills: u64) {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("data");
    found::<Ledger>(&folder, owner()).unwrap();
    let mut dice = Dice::new(41);
    let mut before = 0;
    for kill in 0..kills {
        let printed = kill_one(&folder, &mut dice);
        let (_, ledger, _) = Store::<Ledger>::open(&folder, owner(), SMALL).unwrap();
        let last = ledger.last();
        assert!(last >= printed.max(before), "kill {kill}: {printed} was printed, {last} is there");
        let numbers: Vec<u64> = ledger.entries.iter().map(|entry| number(entry)).collect();
        let expected: Vec<u64> = (ledger.compacted + 1..=last).collect();
        assert_eq!(numbers, expected, "kill {kill}");
        before = last;
    }
    assert!(
        before > kills,
        "{kills} processes saved only {before} entries: they were killed too soon to tell anything"
    );
}

#[test]
fn what_a_killed_process_said_was_saved_is_there() {
    survives_kills(60);
}

#[test]
#[ignore = "long: ./check long"]
fn what_a_process_said_was_saved_is_there_after_three_hundred_kills() {
    survives_kills(300);
}
