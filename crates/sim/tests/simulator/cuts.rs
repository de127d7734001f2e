//! Cuts between nodes: both ways, one way, not transitive, for a while, while something is under way.

use crate::common::{Acts, Stage, send};
use expect_test::expect;

/// Everyone sends everyone something at this instant. What follows names who still hears whom.
fn everyone(stage: Stage, nodes: u32, instant: &str) -> Stage {
    let to_all = |from: u32| (1..=nodes).filter(|to| *to != from).map(send).collect::<Acts>();
    (1..=nodes).fold(stage, |stage, from| stage.tell(instant, from, to_all(from)))
}

/// The lines that tell what became of messages.
fn fates(stage: &Stage) -> String {
    let story = stage.story();
    let lines = story.lines().filter(|line| line.contains("< ping") || line.contains("lost"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn nothing_passes_a_cut_either_way() {
    expect![[r#"
        5ms * lost 1.1 to 2: stopped by a cut
        5ms * lost 1.2 to 3: stopped by a cut
        5ms * lost 2.1 to 1: stopped by a cut
        5ms * lost 3.1 to 1: stopped by a cut
        6ms 3 < ping 2.2
        6ms 2 < ping 3.2
    "#]]
    .assert_eq(&fates(&everyone(Stage::of(3).fault("cut 1 | rest at 5ms"), 3, "5ms")));
}

#[test]
fn a_one_way_cut_leaves_the_way_back_open() {
    expect![[r#"
        5ms * lost 1.1 to 2: stopped by a cut
        6ms 1 < ping 2.1
    "#]]
    .assert_eq(&fates(&everyone(Stage::of(2).fault("cut 1 > 2"), 2, "5ms")));
}

/// Node 2 is on no side, so it hears both of those that do not hear each other.
#[test]
fn a_cut_need_not_be_transitive() {
    expect![[r#"
        5ms * lost 1.2 to 3: stopped by a cut
        5ms * lost 3.1 to 1: stopped by a cut
        6ms 2 < ping 1.1
        6ms 1 < ping 2.1
        6ms 3 < ping 2.2
        6ms 2 < ping 3.2
    "#]]
    .assert_eq(&fates(&everyone(Stage::of(3).fault("cut 1 | 3"), 3, "5ms")));
}

#[test]
fn a_cut_stops_what_is_under_way() {
    expect![[r#"
        1ms * lost 1.1 to 2: stopped by a cut
        1ms * lost 2.1 to 1: stopped by a cut
    "#]]
    .assert_eq(&fates(&everyone(Stage::of(2).fault("cut 1 | 2 at 0.5ms"), 2, "0ms")));
}

#[test]
fn a_cut_that_ends_in_time_stops_nothing_that_was_under_way() {
    expect![[r#"
        1ms 2 < ping 1.1
        1ms 1 < ping 2.1
    "#]]
    .assert_eq(&fates(&everyone(Stage::of(2).fault("cut 1 | 2 at 0.5ms for 0.5ms"), 2, "0ms")));
}

#[test]
fn what_is_sent_after_a_cut_ends_arrives() {
    let stage = Stage::of(2).fault("cut 1 | 2 at 5ms for 5ms");
    let stage = ["4ms", "5ms", "9.9ms", "10ms"].iter().fold(stage, |stage, at| stage.tell(at, 1, [send(2)]));
    expect![[r#"
        5ms * lost 1.1 to 2: stopped by a cut
        5ms * lost 1.2 to 2: stopped by a cut
        9.9ms * lost 1.3 to 2: stopped by a cut
        11ms 2 < ping 1.4
    "#]]
    .assert_eq(&fates(&stage));
}

/// Each cut ends by itself: the end of one does not end the other.
#[test]
fn overlapping_cuts_end_one_by_one() {
    let stage = Stage::of(3).fault("cut 1 | rest at 0ms for 10ms").fault("cut 1 | 2 at 5ms for 10ms");
    expect![[r#"
        12ms * lost 1.1 to 2: stopped by a cut
        12ms * lost 2.1 to 1: stopped by a cut
        13ms 3 < ping 1.2
        13ms 3 < ping 2.2
        13ms 1 < ping 3.1
        13ms 2 < ping 3.2
    "#]]
    .assert_eq(&fates(&everyone(stage, 3, "12ms")));
}

/// Healing ends all cuts, those with a length too; their own ends then change nothing, and say nothing.
#[test]
fn heal_ends_every_cut() {
    let stage = Stage::of(2)
        .fault("cut 1 | 2 at 1ms for 9ms")
        .fault("cut 2 > 1 at 2ms")
        .fault("link 1 > 2 latency fixed:3ms at 2ms for 9ms")
        .fault("heal at 5ms")
        .tell("4ms", 1, [send(2)])
        .tell("5ms", 1, [send(2)])
        .tell("5ms", 2, [send(1)]);
    expect![[r#"
        1ms * cut 1 | 2
        2ms * cut 2 > 1
        2ms * link 1 > 2 latency fixed:3ms
        4ms 1 < command
        4ms 1 > ping 1.1 to 2
        4ms * lost 1.1 to 2: stopped by a cut
        5ms * heal
        5ms 1 < command
        5ms 1 > ping 1.2 to 2
        5ms 2 < command
        5ms 2 > ping 2.1 to 1
        6ms 1 < ping 2.1
        8ms 2 < ping 1.2
        11ms * end of link 1 > 2 latency fixed:3ms
    "#]]
    .assert_eq(&stage.story());
}

/// Both copies of a message may meet their own fate.
#[test]
fn a_cut_may_stop_the_second_copy_alone() {
    let stage = (0..200).map(|seed| {
        Stage::of(2).seed(seed).latency("uniform:1ms..5ms").duplicate("1").fault("cut 1 | 2 at 3ms").tell(
            "0ms",
            1,
            [send(2)],
        )
    });
    let endings: std::collections::BTreeSet<(usize, usize)> = stage
        .map(|stage| {
            let fates = fates(&stage);
            (fates.matches("< ping").count(), fates.matches("stopped by a cut").count())
        })
        .collect();
    assert_eq!(endings, [(0, 2), (1, 1), (2, 0)].into());
}
