//! The same seed gives the same bytes, and journals replay.

use crate::common::{assert_repeatable, parse, run_recorded};
use quorate_journal::record::Journal;
use quorate_lab::mutex::Settings;
use quorate_lab::{Mutex, Spec, replay};

fn specs() -> Vec<Spec> {
    let mut specs = Vec::new();
    for algorithm in ["ricart-agrawala", "central", "ricart-agrawala-1981"] {
        specs.push(Spec::named(algorithm).unwrap());
        let faults = [
            "pause 2 at 9ms for 20ms",
            "cut 1 | 2,3 at 20ms for 9ms",
            "skew 3 by -4ms",
            "drift 1 by 900ppm",
            "crash 4 at 60ms for 30ms",
        ];
        let settings = Settings { entries: 30, cancels: parse("0.3"), ..Settings::default() };
        specs.push(Spec {
            nodes: 4,
            fifo: true,
            settings,
            faults: faults.map(parse).to_vec(),
            loss: parse("0.1"),
            duplicate: parse("0.1"),
            processing: parse("uniform:10us..200us"),
            until: Some(parse("20s")),
            ..Spec::named(algorithm).unwrap()
        });
    }
    specs
}

/// Golden hashes: a seed printed by an earlier version gives the same run today, on every machine.
#[test]
fn seeds_keep_their_meaning() {
    let hashes: Vec<_> = specs().iter().map(|spec| run_recorded(spec).0.journal_hash).collect();
    expect_test::expect![[r#"
        [
            "31ce740ef2152c25",
            "438b80b302aea39b",
            "8678342bc1ec7d9b",
            "28edeb7208864701",
            "d836269769485ccc",
            "80dbc50cf8881be5",
        ]
    "#]]
    .assert_debug_eq(&hashes);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_journals_replay_with_the_same_verdicts() {
    for spec in specs() {
        assert_repeatable(&spec);
    }
}

/// The replay fails at the first line that records other effects than the nodes produce.
#[test]
fn an_altered_journal_does_not_replay() {
    let (_, bytes) = run_recorded::<Mutex>(&Spec::named("ricart-agrawala").unwrap());
    let text = String::from_utf8(bytes).unwrap();
    let altered = text.replacen("\"counter\":3", "\"counter\":4", 1);
    assert_ne!(text, altered);
    let line = text.lines().position(|line| line.contains("\"counter\":3")).expect("a fence") + 1;
    let mut journal = Journal::open(altered.as_bytes()).unwrap();
    let Err(error) = replay::replay::<Mutex, _, _>(&mut journal, ()) else { panic!("an altered journal replayed") };
    assert!(error.to_string().starts_with(&format!("line {line} does not replay")), "{error}");
}
