//! Tests of the rules QR-1 to QR-4, and of forged messages.
//!
//! In scripts, `1 ask-P2+P3` lets process P1 ask P2 and P3 and wait for both, `1 ask-P2|P3` for any
//! of them; `1 answer-P2` lets P1 answer P2, and `1 look` starts P1's check for a deadlock. A
//! command that ends in `@1` is for the second process of a site; no site has one here. `1 > 2`
//! delivers the oldest message from site 1 to 2, `rest` delivers all, and `1 fires` lets a timer of
//! site 1 expire. Steps before ` | ` prepare the state. Groups have 3 sites; `of 4` sets another
//! number for one test.
//! [`test_helpers`](crate::deadlock::test_helpers) lists all steps.
//!
//! In traces, RQ rules are those of the host (`requests.rs`), whose answers have the kind
//! `release`, and RS rules those of the resolution.

use crate::deadlock::query_reply::{CheckHeader, Message};
use crate::deadlock::requests::Message as HostMessage;
use crate::deadlock::test_helpers::{assert_ignored, process, request_group, request_sites};
use crate::deadlock::{Plan, QueryReply};
use crate::mutex::rules::rule_tests;
use crate::time::Duration;
use expect_test::expect;

rule_tests! { request_sites(Plan::new, QueryReply::new), 3;
    qr_1_a_wait_or_look_starts_a_check_unless_it_is_refused("1 ask-P2|P3; 1 look; 1 ask-P2+P3@1; 2 ask-P1+P3", expect![[r#"
        1 ask any of P2 and P3: RQ-1 P1 asks any of P2 and P3; P1 waits for any of P2 and P3; request → 2; request → 3; QR-1 P1 asks all it waits for whether they wait; query → 2; query → 3
        1 look: QR-1 P1 asks all it waits for whether they wait; query → 2; query → 3
        1 ask P2 and P3 (process 1): refused: the site has no such process
        2 ask P1 and P3: refused: the host or the detector does not support this kind of wait
    "#]]);

    qr_2_a_running_agent_does_not_reply_and_a_waiting_one_sends_queries(
        of 4, "2 ask-P4; 1 ask-P2|P3; 1 > 2; 1 > 2; 1 > 3; 1 > 3", expect![[r#"
            2 ask P4: RQ-1 P2 asks P4; P2 waits for P4; request → 4; QR-1 P2 asks all it waits for whether they wait; query → 4
            1 ask any of P2 and P3: RQ-1 P1 asks any of P2 and P3; P1 waits for any of P2 and P3; request → 2; request → 3; QR-1 P1 asks all it waits for whether they wait; query → 2; query → 3
            2 receives request from 1: RQ-2 P1 waits for P2; P1 waits for P2
            2 receives query from 1: QR-2 P2 waits, and sends queries in turn; query → 4
            3 receives request from 1: RQ-2 P1 waits for P3; P1 waits for P3
            3 receives query from 1: QR-2 does not reply: P3 does not wait
        "#]]);

    qr_2_an_agent_that_takes_part_in_a_check_replies_at_once(of 4, "3 ask-P2; 2 ask-P4; rest; 1 ask-P2|P3 | rest", expect![[r#"
        2 receives request from 1: RQ-2 P1 waits for P2; P1 waits for P2
        3 receives request from 1: RQ-2 P1 waits for P3; P1 waits for P3
        2 receives query from 1: QR-2 P2 waits, and sends queries in turn; query → 4
        3 receives query from 1: QR-2 P3 waits, and sends queries in turn; query → 2
        4 receives query from 2: QR-2 does not reply: P4 does not wait
        2 receives query from 3: QR-2 replies at once: P2 already takes part in this check of P1; reply → 3
        3 receives reply from 2: QR-3 P3 has all replies, and replies; reply → 1
        1 receives reply from 3: QR-3 P1 does not have all replies yet: 1 missing
    "#]]);

    qr_2_queries_of_an_earlier_check_are_ignored(
        of 4, "3 ask-P2; 2 ask-P4; rest; 1 ask-P2|P3; 1 > 3; 1 > 3; 1 look; 1 > 2; 1 > 2; 1 > 2 | 3 > 2", expect![[r#"
            2 receives query from 3: QR-2 does not reply: P1 has started a new check
        "#]]);

    qr_3_a_check_with_all_replies_has_found_a_deadlock("2 ask-P3; 3 ask-P1; rest; 1 ask-P2|P3 | rest", expect![[r#"
        2 receives request from 1: RQ-2 P1 waits for P2; P1 waits for P2
        3 receives request from 1: RQ-2 P1 waits for P3; P1 waits for P3
        2 receives query from 1: QR-2 P2 waits, and sends queries in turn; query → 3
        3 receives query from 1: QR-2 P3 waits, and sends queries in turn; query → 1
        3 receives query from 2: QR-2 replies at once: P3 already takes part in this check of P1; reply → 2
        1 receives query from 3: QR-2 replies at once: P1 already takes part in this check of P1; reply → 3
        2 receives reply from 3: QR-3 P2 has all replies, and replies; reply → 1
        3 receives reply from 1: QR-3 P3 has all replies, and replies; reply → 1
        1 receives reply from 2: QR-3 P1 does not have all replies yet: 1 missing
        1 receives reply from 3: QR-3 P1 has all replies: no agent can answer it; RS-1 reports the deadlock of P1; DEADLOCK: P1 waits for any of P2 and P3; P2 waits for P3; P3 waits for P1
    "#]]);

    qr_3_a_cycle_with_an_alternative_is_no_deadlock("2 ask-P1; rest; 1 ask-P2|P3 | rest", expect![[r#"
        2 receives request from 1: RQ-2 P1 waits for P2; P1 waits for P2
        3 receives request from 1: RQ-2 P1 waits for P3; P1 waits for P3
        2 receives query from 1: QR-2 P2 waits, and sends queries in turn; query → 1
        3 receives query from 1: QR-2 does not reply: P3 does not wait
        1 receives query from 2: QR-2 replies at once: P1 already takes part in this check of P1; reply → 2
        2 receives reply from 1: QR-3 P2 has all replies, and replies; reply → 1
        1 receives reply from 2: QR-3 P1 does not have all replies yet: 1 missing
    "#]]);

    qr_4_a_reply_to_an_agent_that_no_longer_waits_is_ignored(
        "2 ask-P1; rest; 1 ask-P2|P3; 1 > 2; 1 > 2; 2 > 1; 1 > 2; 1 > 3 | 3 answer-P1; 3 > 1; 2 > 1", expect![[r#"
            3 answer P1: RQ-3 P3 answers P1; P3 answers P1; release → 1
            1 receives release from 3: RQ-4 P1 continues; withdraw → 2; P1 continues
            1 receives reply from 2: QR-3 ignores it: P1 no longer waits
        "#]]);

    qr_4_a_new_wait_ignores_replies_to_earlier_queries(
        "2 ask-P1; rest; 1 ask-P2|P3; 1 > 2; 1 > 2; 2 > 1; 1 > 2; 1 > 3; 3 answer-P1; 3 > 1; 1 ask-P3 | 2 > 1", expect![[r#"
            1 receives reply from 2: QR-3 ignores it: P1 expects no such reply in that check of P1
        "#]]);
}

#[test]
fn qr_1_with_patience_the_check_is_delayed_and_omitted_if_the_wait_ends() {
    let plan = Plan { patience: Duration::from_millis(3), ..Plan::new(3) };
    let mut group = request_group(&plan, QueryReply::new);
    group.run("1 ask-P2; 3 ask-P2; 1 fires; 3 > 2; 2 answer-P3; 2 > 3");
    expect![[r#"
        1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2
        3 ask P2: RQ-1 P3 asks P2; P3 waits for P2; request → 2
        1 timer: QR-1 P1 asks all it waits for whether they wait; query → 2
        2 receives request from 3: RQ-2 P3 waits for P2; P3 waits for P2
        2 answer P3: RQ-3 P2 answers P3; P2 answers P3; release → 3
        3 receives release from 2: RQ-4 P3 continues; P3 continues
    "#]]
    .assert_eq(&group.trace);
    assert_eq!(group.timer_count(), 0);
}

#[test]
fn forged_messages_are_ignored() {
    let mut group = request_group(&Plan::new(3), QueryReply::new);
    group.run("1 ask-P2\n1 > 2\n1 > 2");
    let header = |origin: usize, check, from: usize, to: usize| CheckHeader {
        origin: process(origin),
        check,
        from: process(from),
        to: process(to),
    };
    let forged = [
        // Messages with the sites that send them. Replies in the name of another site's agent, to
        // an agent of another site, to an unknown agent, in a check with an unknown number, in a
        // check with an unknown origin, and from an agent that was not asked.
        (3, Message::Reply { header: header(1, 1, 2, 1), gathered: [].into() }),
        (2, Message::Reply { header: header(1, 1, 2, 3), gathered: [].into() }),
        (2, Message::Reply { header: header(1, 1, 2, 9), gathered: [].into() }),
        (2, Message::Reply { header: header(1, 7, 2, 1), gathered: [].into() }),
        (2, Message::Reply { header: header(9, 1, 2, 1), gathered: [].into() }),
        (3, Message::Reply { header: header(1, 1, 3, 1), gathered: [].into() }),
        // A query in the name of another site's agent, and two to agents that are not at the
        // receiver.
        (3, Message::Query(header(3, 1, 2, 1))),
        (2, Message::Query(header(2, 1, 2, 3))),
        (2, Message::Query(header(2, 1, 2, 9))),
    ];
    let receiver = 1;
    assert_ignored(group, forged.map(|(from, message)| (from, receiver, HostMessage::Detector(message))));
}
