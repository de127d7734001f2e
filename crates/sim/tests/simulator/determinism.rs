//! Same setup, same seed: the same journal to the last byte.

use crate::common::{Act, Acts, Stage, chaos, length, save, send, set};
use quorate_core::{Span, Time};
use quorate_journal::moment::{Moment, Observer, Taken};

/// Seeds 0 to 299 have every kind of fault, loss, duplicates, processing times and slow disks among them.
#[test]
fn the_same_seed_gives_the_same_journal() {
    let mut journals = String::new();
    for seed in 0..300 {
        let journal = chaos(seed).journal();
        assert!(journal == chaos(seed).journal(), "seed {seed} gives two different journals");
        journals += &journal;
    }
    let kinds = [
        "\"crashed\"",
        "\"blank\":true",
        "\"paused\"",
        "\"resumed\"",
        "\"lost\"",
        "\"why\":\"chance\"",
        "\"why\":\"cut\"",
        "\"why\":\"down\"",
        "\"duplicated\"",
        "\"changed\":\"cut",
        "\"changed\":\"end of cut",
        "\"changed\":\"heal",
        "\"changed\":\"skew",
        "\"changed\":\"drift",
        "\"changed\":\"link",
        "\"clock\":",
        "\"saved\":",
        "\"cancel\":",
    ];
    let missing: Vec<_> = kinds.into_iter().filter(|kind| !journals.contains(kind)).collect();
    assert!(missing.is_empty(), "no seed shows {missing:?}, so this test sees less than it says");
}

#[test]
fn another_seed_gives_another_journal() {
    let stage = |seed| Stage::of(2).latency("uniform:1ms..5ms").seed(seed).tell("0ms", 1, [send(2), send(2), send(2)]);
    let journals: std::collections::BTreeSet<_> = (0..20).map(|seed| stage(seed).journal()).collect();
    assert_eq!(journals.len(), 20);
}

#[derive(Default)]
struct Arrivals(Vec<Time>);

impl Observer<Acts, String> for Arrivals {
    fn observe(&mut self, moment: &Moment<'_, Acts, String>) {
        if let Moment::Input { time, input: Taken::Message { .. }, .. } = moment {
            self.0.push(*time);
        }
    }
}

/// Timers, processing times and syncs throw dice of their own.
#[test]
fn more_timers_do_not_change_the_delays_of_messages() {
    let stage = |timers: usize| {
        let mut stage = Stage::of(3).latency("uniform:1ms..9ms").loss("0.2").duplicate("0.2").sync("uniform:0ms..1ms");
        for millis in 0..50 {
            let mut acts = vec![send(2), send(3)];
            let span = Span::between(length("1ms"), length("30ms"));
            let timer = |timer| Act::Set { timer, span, then: vec![save(1)] };
            acts.extend(('a'..='z').take(timers).map(timer));
            stage = stage.tell(&format!("{millis}ms"), 1, acts);
        }
        stage
    };
    let arrivals = stage(0).watched(Arrivals::default()).0;
    assert!(arrivals.len() > 50);
    assert_eq!(stage(7).watched(Arrivals::default()).0, arrivals);
}

/// The same bounds do not mean the same draws: messages, timers and nodes have dice of their own.
#[test]
fn messages_timers_and_nodes_draw_from_different_streams() {
    for seed in 0..20 {
        let bounds = "uniform:1ms..9ms";
        let span = Span::between(length("1ms"), length("9ms"));
        let timer = Act::Set { timer: 'a', span, then: vec![] };
        let stage = Stage::of(2).seed(seed).latency(bounds).sync(bounds).tell("0ms", 1, [send(2), timer, save(1)]);
        let story = stage.story();
        let comes =
            |what: &str| story.lines().find_map(|line| line.contains(what).then(|| line.split_once(' ').unwrap().0));
        let [message, timer, sync] = ["< ping", "< timer", "< saved"].map(|what| comes(what).unwrap());
        assert!(message != timer && timer != sync && sync != message, "seed {seed}:\n{story}");
    }
}

/// A world that is asked in another order is the same world as long as nothing happens at the same instant.
#[test]
fn the_order_of_planning_does_not_matter() {
    let early = |stage: Stage| stage.tell("1ms", 1, [send(2)]);
    let late = |stage: Stage| stage.tell("5ms", 2, [set('a', "1ms", []), send(1)]);
    let stage = Stage::of(2).latency("uniform:1ms..3ms");
    assert_eq!(early(late(stage.clone())).journal(), late(early(stage)).journal());
}
