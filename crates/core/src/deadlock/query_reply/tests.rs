//! One test per rule, and what strangers can do.

use crate::deadlock::drill::{asking, asks, assert_ignored, process};
use crate::deadlock::query_reply::{Letter, Message};
use crate::deadlock::requests::Message as Outer;
use crate::deadlock::{Plan, QueryReply};
use crate::mutex::rules::rules;
use crate::time::Duration;
use expect_test::expect;

rules! { asks(Plan::new, QueryReply::new), 3;
    qr_1_whoever_begins_to_wait_asks_all_it_waits_for("1 ask-P2|P3; 1 look; 1 ask-P2+P3@1; 2 ask-P1+P3", expect![[r#"
        1 ask any of P2 and P3: RQ-1 P1 asks any of P2 and P3; P1 waits for any of P2 and P3; request → 2; request → 3; QR-1 P1 asks all whom it waits for whether they wait; query → 2; query → 3
        1 look: QR-1 P1 asks all whom it waits for whether they wait; query → 2; query → 3
        1 ask P2 and P3 (process 1): refused: there is no such process here
        2 ask P1 and P3: refused: the detector knows another way of waiting
    "#]]);

    qr_2_one_who_runs_says_nothing_and_one_who_waits_asks_on(
        of 4, "2 ask-P4; 1 ask-P2|P3; 1 > 2; 1 > 2; 1 > 3; 1 > 3", expect![[r#"
            2 ask P4: RQ-1 P2 asks P4; P2 waits for P4; request → 4; QR-1 P2 asks all whom it waits for whether they wait; query → 4
            1 ask any of P2 and P3: RQ-1 P1 asks any of P2 and P3; P1 waits for any of P2 and P3; request → 2; request → 3; QR-1 P1 asks all whom it waits for whether they wait; query → 2; query → 3
            2 hears request from 1: RQ-2 P1 waits for P2; P1 waits for P2
            2 hears query from 1: QR-2 P2 waits, and asks on; query → 4
            3 hears request from 1: RQ-2 P1 waits for P3; P1 waits for P3
            3 hears query from 1: QR-2 says nothing: P3 does not wait
        "#]]);

    qr_2_one_who_takes_part_in_a_look_replies_at_once(of 4, "3 ask-P2; 2 ask-P4; rest; 1 ask-P2|P3 | rest", expect![[r#"
        2 hears request from 1: RQ-2 P1 waits for P2; P1 waits for P2
        3 hears request from 1: RQ-2 P1 waits for P3; P1 waits for P3
        2 hears query from 1: QR-2 P2 waits, and asks on; query → 4
        3 hears query from 1: QR-2 P3 waits, and asks on; query → 2
        4 hears query from 2: QR-2 says nothing: P4 does not wait
        2 hears query from 3: QR-2 replies at once: P2 takes part in this look of P1; reply → 3
        3 hears reply from 2: QR-3 P3 has all replies, and replies; reply → 1
        1 hears reply from 3: QR-3 P1 still waits for 1 more
    "#]]);

    qr_2_a_look_that_was_begun_anew_is_not_replied_to_any_more(
        of 4, "3 ask-P2; 2 ask-P4; rest; 1 ask-P2|P3; 1 > 3; 1 > 3; 1 look; 1 > 2; 1 > 2; 1 > 2 | 3 > 2", expect![[r#"
            2 hears query from 3: QR-2 says nothing: P1 looks anew
        "#]]);

    qr_3_when_all_replies_are_in_nobody_can_wake_it("2 ask-P3; 3 ask-P1; rest; 1 ask-P2|P3 | rest", expect![[r#"
        2 hears request from 1: RQ-2 P1 waits for P2; P1 waits for P2
        3 hears request from 1: RQ-2 P1 waits for P3; P1 waits for P3
        2 hears query from 1: QR-2 P2 waits, and asks on; query → 3
        3 hears query from 1: QR-2 P3 waits, and asks on; query → 1
        3 hears query from 2: QR-2 replies at once: P3 takes part in this look of P1; reply → 2
        1 hears query from 3: QR-2 replies at once: P1 takes part in this look of P1; reply → 3
        2 hears reply from 3: QR-3 P2 has all replies, and replies; reply → 1
        3 hears reply from 1: QR-3 P3 has all replies, and replies; reply → 1
        1 hears reply from 2: QR-3 P1 still waits for 1 more
        1 hears reply from 3: QR-3 P1 has all replies: nobody can wake it; RS-1 tells of a deadlock that holds P1; DEADLOCK: P1 waits for any of P2 and P3; P2 waits for P3; P3 waits for P1
    "#]]);

    qr_3_a_cycle_that_somebody_can_break_is_none("2 ask-P1; rest; 1 ask-P2|P3 | rest", expect![[r#"
        2 hears request from 1: RQ-2 P1 waits for P2; P1 waits for P2
        3 hears request from 1: RQ-2 P1 waits for P3; P1 waits for P3
        2 hears query from 1: QR-2 P2 waits, and asks on; query → 1
        3 hears query from 1: QR-2 says nothing: P3 does not wait
        1 hears query from 2: QR-2 replies at once: P1 takes part in this look of P1; reply → 2
        2 hears reply from 1: QR-3 P2 has all replies, and replies; reply → 1
        1 hears reply from 2: QR-3 P1 still waits for 1 more
    "#]]);

    qr_4_a_reply_to_one_who_has_gone_on_counts_for_nothing(
        "2 ask-P1; rest; 1 ask-P2|P3; 1 > 2; 1 > 2; 2 > 1; 1 > 2; 1 > 3 | 3 answer-P1; 3 > 1; 2 > 1", expect![[r#"
            3 answer P1: RQ-3 P3 lets P1 go on; P3 lets P1 go on; let-go → 1
            1 hears let-go from 3: RQ-4 P1 goes on; withdraw → 2; P1 goes on
            1 hears reply from 2: QR-3 ignores it: P1 does not wait any more
        "#]]);

    qr_4_who_waits_anew_has_forgotten_what_it_asked(
        "2 ask-P1; rest; 1 ask-P2|P3; 1 > 2; 1 > 2; 2 > 1; 1 > 2; 1 > 3; 3 answer-P1; 3 > 1; 1 ask-P3 | 2 > 1", expect![[r#"
            1 hears reply from 2: QR-3 ignores it: P1 takes no part in that look of P1
        "#]]);
}

#[test]
fn qr_1_with_patience_it_asks_later_and_not_at_all_if_the_wait_is_over() {
    let plan = Plan { patience: Duration::from_millis(3), ..Plan::new(3) };
    let mut stage = asking(&plan, QueryReply::new);
    stage.run("1 ask-P2; 3 ask-P2; 1 fires; 3 > 2; 2 answer-P3; 2 > 3");
    expect![[r#"
        1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2
        3 ask P2: RQ-1 P3 asks P2; P3 waits for P2; request → 2
        1 timer: QR-1 P1 asks all whom it waits for whether they wait; query → 2
        2 hears request from 3: RQ-2 P3 waits for P2; P3 waits for P2
        2 answer P3: RQ-3 P2 lets P3 go on; P2 lets P3 go on; let-go → 3
        3 hears let-go from 2: RQ-4 P3 goes on; P3 goes on
    "#]]
    .assert_eq(&stage.trace);
    assert_eq!(stage.timers(), 0);
}

#[test]
fn what_strangers_say_of_others_is_not_heard() {
    let mut stage = asking(&Plan::new(3), QueryReply::new);
    stage.run("1 ask-P2\n1 > 2\n1 > 2");
    let letter = |by: usize, look, from: usize, to: usize| Letter {
        by: process(by),
        look,
        from: process(from),
        to: process(to),
    };
    let forged = [
        // In the name of another, to one who is elsewhere, to one who is not there, of a look that never was, of one who was not asked.
        (3, Message::Reply { letter: letter(1, 1, 2, 1), gathered: [].into() }),
        (2, Message::Reply { letter: letter(1, 1, 2, 3), gathered: [].into() }),
        (2, Message::Reply { letter: letter(1, 1, 2, 9), gathered: [].into() }),
        (2, Message::Reply { letter: letter(1, 7, 2, 1), gathered: [].into() }),
        (2, Message::Reply { letter: letter(9, 1, 2, 1), gathered: [].into() }),
        (3, Message::Reply { letter: letter(1, 1, 3, 1), gathered: [].into() }),
        (3, Message::Query(letter(3, 1, 2, 1))),
        (2, Message::Query(letter(2, 1, 2, 3))),
        (2, Message::Query(letter(2, 1, 2, 9))),
    ];
    assert_ignored(stage, forged.map(|(from, message)| (from, 1, Outer::Detector(message))));
}
