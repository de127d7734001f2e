//! One test per rule, and what strangers can do.

use crate::deadlock::drill::{ask, asking, node, process, wait};
use crate::deadlock::edge_chasing::{Message, Probe};
use crate::deadlock::requests::Message as Letter;
use crate::deadlock::{EdgeChasing, Need, Plan, Spell, Wait};
use crate::time::Duration;
use expect_test::{Expect, expect};

#[track_caller]
fn check(sites: usize, script: &str, expected: Expect) {
    expected.assert_eq(&ask(&Plan::new(sites), EdgeChasing::new, script));
}

#[test]
fn ec_1_whoever_begins_to_wait_sends_a_probe_after_each_one_it_waits_for() {
    check(
        3,
        "
        1 ask-P2+P3
        1 look
        2 look
        ",
        expect![[r#"
            1 ask P2 and P3: RQ-1 P1 asks P2 and P3; P1 waits for P2 and P3; request → 2; request → 3; EC-1 P1 sends a probe after P2 and P3; probe → 2; probe → 3
            1 look: EC-1 P1 sends a probe after P2 and P3; probe → 2; probe → 3
            2 look: refused: it does not wait
        "#]],
    );
}

#[test]
fn ec_1_with_patience_the_probe_goes_later_and_not_at_all_if_the_wait_is_over() {
    let plan = Plan { patience: Duration::from_millis(3), ..Plan::new(3) };
    let mut stage = asking(&plan, EdgeChasing::new);
    stage.rehearse(
        "
        1 ask-P2
        3 ask-P2
        1 fires
        3 > 2
        2 answer-P3
        2 > 3
        ",
    );
    expect![[r#"
        1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2
        3 ask P2: RQ-1 P3 asks P2; P3 waits for P2; request → 2
        1 timer: EC-1 P1 sends a probe after P2; probe → 2
        2 hears request from 3: RQ-2 P3 waits for P2; P3 waits for P2
        2 answer P3: RQ-3 P2 lets P3 go on; P2 lets P3 go on; let-go → 3
        3 hears let-go from 2: RQ-4 P3 goes on; P3 goes on
    "#]]
    .assert_eq(&stage.trace);
    assert_eq!(stage.timers(), 0);
}

#[test]
fn ec_2_a_probe_ends_at_one_who_does_not_wait() {
    check(
        2,
        "
        1 ask-P2
        1 > 2
        1 > 2
        ",
        expect![[r#"
            1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2; EC-1 P1 sends a probe after P2; probe → 2
            2 hears request from 1: RQ-2 P1 waits for P2; P1 waits for P2
            2 hears probe from 1: EC-2 drops it: P2 does not wait
        "#]],
    );
}

#[test]
fn ec_2_a_probe_ends_at_one_who_has_let_the_last_one_go_on() {
    check(
        3,
        "
        1 ask-P2
        1 > 2
        2 answer-P1
        2 ask-P3
        1 > 2
        ",
        expect![[r#"
            1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2; EC-1 P1 sends a probe after P2; probe → 2
            2 hears request from 1: RQ-2 P1 waits for P2; P1 waits for P2
            2 answer P1: RQ-3 P2 lets P1 go on; P2 lets P1 go on; let-go → 1
            2 ask P3: RQ-1 P2 asks P3; P2 waits for P3; request → 3; EC-1 P2 sends a probe after P3; probe → 3
            2 hears probe from 1: EC-2 drops it: P2 has let P1 go on
        "#]],
    );
}

#[test]
fn ec_2_a_probe_that_overtakes_its_request_ends() {
    check(
        3,
        "
        2 ask-P3
        1 ask-P2
        1 > 2 last
        ",
        expect![[r#"
            2 ask P3: RQ-1 P2 asks P3; P2 waits for P3; request → 3; EC-1 P2 sends a probe after P3; probe → 3
            1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2; EC-1 P1 sends a probe after P2; probe → 2
            2 hears probe from 1: EC-2 drops it: P2 has let P1 go on
        "#]],
    );
}

#[test]
fn ec_2_each_one_passes_a_look_on_once() {
    check(
        5,
        "
        2 ask-P4
        3 ask-P4
        4 ask-P5
        rest
        1 ask-P2+P3
        rest
        ",
        expect![[r#"
            2 ask P4: RQ-1 P2 asks P4; P2 waits for P4; request → 4; EC-1 P2 sends a probe after P4; probe → 4
            3 ask P4: RQ-1 P3 asks P4; P3 waits for P4; request → 4; EC-1 P3 sends a probe after P4; probe → 4
            4 ask P5: RQ-1 P4 asks P5; P4 waits for P5; request → 5; EC-1 P4 sends a probe after P5; probe → 5
            4 hears request from 2: RQ-2 P2 waits for P4; P2 waits for P4
            4 hears probe from 2: EC-2 P4 waits for P5; probe → 5
            4 hears request from 3: RQ-2 P3 waits for P4; P3 waits for P4
            4 hears probe from 3: EC-2 P4 waits for P5; probe → 5
            5 hears request from 4: RQ-2 P4 waits for P5; P4 waits for P5
            5 hears probe from 4: EC-2 drops it: P5 does not wait
            5 hears probe from 4: EC-2 drops it: P5 does not wait
            5 hears probe from 4: EC-2 drops it: P5 does not wait
            1 ask P2 and P3: RQ-1 P1 asks P2 and P3; P1 waits for P2 and P3; request → 2; request → 3; EC-1 P1 sends a probe after P2 and P3; probe → 2; probe → 3
            2 hears request from 1: RQ-2 P1 waits for P2; P1 waits for P2
            3 hears request from 1: RQ-2 P1 waits for P3; P1 waits for P3
            2 hears probe from 1: EC-2 P2 waits for P4; probe → 4
            3 hears probe from 1: EC-2 P3 waits for P4; probe → 4
            4 hears probe from 2: EC-2 P4 waits for P5; probe → 5
            4 hears probe from 3: EC-2 drops it: P4 has passed this look of P1 on
            5 hears probe from 4: EC-2 drops it: P5 does not wait
        "#]],
    );
}

#[test]
fn ec_3_a_probe_that_comes_back_has_found_a_cycle() {
    check(
        3,
        "
        1 ask-P2
        2 ask-P3
        rest
        3 ask-P1
        rest
        ",
        expect![[r#"
            1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2; EC-1 P1 sends a probe after P2; probe → 2
            2 ask P3: RQ-1 P2 asks P3; P2 waits for P3; request → 3; EC-1 P2 sends a probe after P3; probe → 3
            2 hears request from 1: RQ-2 P1 waits for P2; P1 waits for P2
            2 hears probe from 1: EC-2 P2 waits for P3; probe → 3
            3 hears request from 2: RQ-2 P2 waits for P3; P2 waits for P3
            3 hears probe from 2: EC-2 drops it: P3 does not wait
            3 hears probe from 2: EC-2 drops it: P3 does not wait
            3 ask P1: RQ-1 P3 asks P1; P3 waits for P1; request → 1; EC-1 P3 sends a probe after P1; probe → 1
            1 hears request from 3: RQ-2 P3 waits for P1; P3 waits for P1
            1 hears probe from 3: EC-2 P1 waits for P2; probe → 2
            2 hears probe from 1: EC-2 P2 waits for P3; probe → 3
            3 hears probe from 2: EC-3 it is back: P3 waits for itself; RS-1 tells of a deadlock that holds P3; DEADLOCK: P3 waits for P1; P1 waits for P2; P2 waits for P3
        "#]],
    );
}

#[test]
fn ec_3_within_a_site_it_takes_no_message() {
    let plan = Plan::new(1).with_processes(2);
    expect![[r#"
        1 ask P1.1: RQ-1 P1 asks P1.1; P1 waits for P1.1; RQ-2 P1 waits for P1.1; P1 waits for P1.1; EC-1 P1 sends a probe after P1.1; EC-2 drops it: P1.1 does not wait
        1 ask P1 (process 1): RQ-1 P1.1 asks P1; P1.1 waits for P1; RQ-2 P1.1 waits for P1; P1.1 waits for P1; EC-1 P1.1 sends a probe after P1; EC-2 P1 waits for P1.1; EC-3 it is back: P1.1 waits for itself; RS-1 tells of a deadlock that holds P1.1; DEADLOCK: P1.1 waits for P1; P1 waits for P1.1
    "#]].assert_eq(&ask(&plan, EdgeChasing::new, "1 ask-P1.1\n1 ask-P1@1"));
}

/// Its user gives up unasked.
#[test]
fn ec_3_who_has_begun_another_wait_meanwhile_has_found_nothing() {
    check(
        4,
        "
        3 ask-P1
        2 ask-P3
        rest
        1 ask-P2
        1 > 2
        1 > 2
        2 > 3
        1 give-up
        1 ask-P4
        3 > 1
        ",
        expect![[r#"
            3 ask P1: RQ-1 P3 asks P1; P3 waits for P1; request → 1; EC-1 P3 sends a probe after P1; probe → 1
            2 ask P3: RQ-1 P2 asks P3; P2 waits for P3; request → 3; EC-1 P2 sends a probe after P3; probe → 3
            1 hears request from 3: RQ-2 P3 waits for P1; P3 waits for P1
            1 hears probe from 3: EC-2 drops it: P1 does not wait
            3 hears request from 2: RQ-2 P2 waits for P3; P2 waits for P3
            3 hears probe from 2: EC-2 P3 waits for P1; probe → 1
            1 hears probe from 3: EC-2 drops it: P1 does not wait
            1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2; EC-1 P1 sends a probe after P2; probe → 2
            2 hears request from 1: RQ-2 P1 waits for P2; P1 waits for P2
            2 hears probe from 1: EC-2 P2 waits for P3; probe → 3
            3 hears probe from 2: EC-2 P3 waits for P1; probe → 1
            1 give-up: RQ-5 P1 gives up; P1 has given up; withdraw → 2
            1 ask P4: RQ-1 P1 asks P4; P1 waits for P4; request → 4; EC-1 P1 sends a probe after P4; probe → 4
            1 hears probe from 3: EC-3 drops it: P1 has waited for something else then
        "#]],
    );
}

#[test]
fn ec_4_who_waits_anew_passes_the_same_look_on_again() {
    check(
        4,
        "
        3 ask-P2
        2 ask-P4
        rest
        1 ask-P2+P3
        1 > 2
        1 > 2
        4 answer-P2
        4 > 2
        2 ask-P4
        1 > 3
        1 > 3
        3 > 2
        ",
        expect![[r#"
            3 ask P2: RQ-1 P3 asks P2; P3 waits for P2; request → 2; EC-1 P3 sends a probe after P2; probe → 2
            2 ask P4: RQ-1 P2 asks P4; P2 waits for P4; request → 4; EC-1 P2 sends a probe after P4; probe → 4
            2 hears request from 3: RQ-2 P3 waits for P2; P3 waits for P2
            2 hears probe from 3: EC-2 P2 waits for P4; probe → 4
            4 hears request from 2: RQ-2 P2 waits for P4; P2 waits for P4
            4 hears probe from 2: EC-2 drops it: P4 does not wait
            4 hears probe from 2: EC-2 drops it: P4 does not wait
            1 ask P2 and P3: RQ-1 P1 asks P2 and P3; P1 waits for P2 and P3; request → 2; request → 3; EC-1 P1 sends a probe after P2 and P3; probe → 2; probe → 3
            2 hears request from 1: RQ-2 P1 waits for P2; P1 waits for P2
            2 hears probe from 1: EC-2 P2 waits for P4; probe → 4
            4 answer P2: RQ-3 P4 lets P2 go on; P4 lets P2 go on; let-go → 2
            2 hears let-go from 4: RQ-4 P2 goes on; P2 goes on
            2 ask P4: RQ-1 P2 asks P4; P2 waits for P4; request → 4; EC-1 P2 sends a probe after P4; probe → 4
            3 hears request from 1: RQ-2 P1 waits for P3; P1 waits for P3
            3 hears probe from 1: EC-2 P3 waits for P2; probe → 2
            2 hears probe from 3: EC-2 P2 waits for P4; probe → 4
        "#]],
    );
}

#[test]
fn what_strangers_say_of_others_is_not_heard() {
    let mut stage = asking(&Plan::new(3), EdgeChasing::new);
    stage.rehearse(
        "
        1 ask-P2
        2 ask-P1
        1 > 2
        2 > 1
        ",
    );
    let before = stage.nodes.clone();
    let none = Wait { need: Need::All([].into()), ..wait(process(2), process(1)) };
    let both = Wait { need: Need::All([process(1), process(2)].into()), ..wait(process(2), process(1)) };
    let stale = Wait { spell: Spell(7), ..wait(process(2), process(1)) };
    let ways = [
        [].into(),
        [none].into(),
        [both].into(),
        [stale].into(),
        // Of one who is not there, and after one who is elsewhere.
        [wait(process(9), process(1))].into(),
        [wait(process(2), process(3))].into(),
    ];
    for way in ways {
        stage.forge(node(2), node(1), Letter::Detector(Message::Probe(Probe { look: 1, way })));
    }
    // The right way, brought by the wrong one.
    let way = [wait(process(1), process(2)), wait(process(2), process(1))].into();
    stage.forge(node(3), node(1), Letter::Detector(Message::Probe(Probe { look: 1, way })));
    assert!(stage.nodes == before, "{}", stage.trace);
}
