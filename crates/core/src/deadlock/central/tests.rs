//! Tests of each rule, and of forged messages. The detector is at site 1.
//!
//! In scripts, `1 ask-P2+P3` lets process P1 ask P2 and P3 and wait for both, `1 ask-P2|P3` for any
//! of them; `1 give-up` cancels its wait, and `1 look` starts its check for a deadlock. `1 > 2`
//! delivers the oldest message from site 1 to 2, `1 > 2 as 3` with site 3 as its sender, and `rest`
//! all messages. Steps before ` | ` prepare the state; `of` and `by` replace the number of sites
//! and their constructor in one test. [`test_helpers`](crate::deadlock::test_helpers) lists all
//! steps.
//!
//! In traces, RQ rules are those of the request protocol that contains the detector
//! (`requests.rs`), whose answers have the kind `release`; RS rules are those of the resolution. A
//! part such as `P2 waits for P3` without a rule is an event, and may repeat the note before it.

use crate::deadlock::central::{Edge, Message};
use crate::deadlock::requests::Message as HostMessage;
use crate::deadlock::test_helpers::{assert_ignored, process, request_group, request_sites, request_trace, wait};
use crate::deadlock::{AbortCost, Central, Plan, Policy, WaitId};
use crate::mutex::rules::rule_tests;
use expect_test::expect;
use std::vec::Vec;

/// A plan in which P1 is the victim if it is part of the deadlock.
fn plan_with_victim_p1(sites: usize) -> Plan {
    Plan { victim_policy: Some(Policy::LowestPriority), priorities: [0, 1, 1, 1].into(), ..Plan::new(sites) }
}

rule_tests! { request_sites(Plan::new, Central::new), 3;
    cd_1_every_site_reports_waits_releases_and_ends_of_waits(
        "2 ask-P1+P3; 2 > 3; 3 answer-P2; 3 > 2; 2 > 1; 1 answer-P2; 1 > 2; rest; 1 ask-P2", expect![[r#"
            2 ask P1 and P3: RQ-1 P2 asks P1 and P3; P2 waits for P1 and P3; request → 1; request → 3; CD-1 reports that P2 waits for P1 and P3; waits → 1
            3 receives request from 2: RQ-2 P2 waits for P3; P2 waits for P3
            3 answer P2: RQ-3 P3 answers P2; P3 answers P2; release → 2
            2 receives release from 3: RQ-4 P2 still waits for P1; CD-1 reports that P3 has answered P2; dependency-released → 1
            1 receives request from 2: RQ-2 P2 waits for P1; P2 waits for P1
            1 answer P2: RQ-3 P1 answers P2; P1 answers P2; release → 2
            2 receives release from 1: RQ-4 P2 continues; CD-1 reports that P2 no longer waits; unblocked → 1; P2 continues
            1 receives dependency-released from 2: CD-2 removes the wait of P2 for P3
            1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2; CD-1 reports that P1 waits for P2
        "#]]);

    cd_2_a_report_about_an_agent_of_another_site_is_ignored("2 ask-P3; 2 > 1; 3 ask-P2; 3 > 1 as 2", expect![[r#"
        2 ask P3: RQ-1 P2 asks P3; P2 waits for P3; request → 3; CD-1 reports that P2 waits for P3; waits → 1
        3 ask P2: RQ-1 P3 asks P2; P3 waits for P2; request → 2; CD-1 reports that P3 waits for P2; waits → 1
        1 receives waits from 2: CD-2 ignores an invalid message of 2
    "#]]);

    cd_2_the_detector_does_not_search_while_an_answer_is_awaited(
        of 5, "2 ask-P3; 3 ask-P2; 2 > 1 | 3 > 1; 4 ask-P5; 5 ask-P4; 4 > 1; 5 > 1; rest", expect![[r#"
            1 receives waits from 3: CD-3 asks whether these waits still exist: P2 waits for P3; P3 waits for P2; ask → 2; ask → 3
            4 ask P5: RQ-1 P4 asks P5; P4 waits for P5; request → 5; CD-1 reports that P4 waits for P5; waits → 1
            5 ask P4: RQ-1 P5 asks P4; P5 waits for P4; request → 4; CD-1 reports that P5 waits for P4; waits → 1
            3 receives request from 2: RQ-2 P2 waits for P3; P2 waits for P3
            2 receives request from 3: RQ-2 P3 waits for P2; P3 waits for P2
            2 receives ask from 1: CD-4 answers how many of these waits have ended: 0; answer → 1
            3 receives ask from 1: CD-4 answers how many of these waits have ended: 0; answer → 1
            5 receives request from 4: RQ-2 P4 waits for P5; P4 waits for P5
            4 receives request from 5: RQ-2 P5 waits for P4; P5 waits for P4
            1 receives answer from 3: CD-5 all waits still exist: it is a deadlock; RS-1 reports the deadlock of P2; CD-3 asks whether these waits still exist: P4 waits for P5; P5 waits for P4; ask → 4; ask → 5; DEADLOCK: P2 waits for P3; P3 waits for P2
            4 receives ask from 1: CD-4 answers how many of these waits have ended: 0; answer → 1
            5 receives ask from 1: CD-4 answers how many of these waits have ended: 0; answer → 1
            1 receives answer from 5: CD-5 all waits still exist: it is a deadlock; RS-1 reports the deadlock of P4; DEADLOCK: P4 waits for P5; P5 waits for P4
        "#]]);

    cd_3_the_detector_asks_the_sites_of_the_awaited_agents("2 ask-P3; 2 > 1 | 3 ask-P1|P2; 3 > 1; 3 > 1; 1 ask-P3", expect![[r#"
        3 ask any of P1 and P2: RQ-1 P3 asks any of P1 and P2; P3 waits for any of P1 and P2; request → 1; request → 2; CD-1 reports that P3 waits for any of P1 and P2; waits → 1
        1 receives request from 3: RQ-2 P3 waits for P1; P3 waits for P1
        1 ask P3: RQ-1 P1 asks P3; P1 waits for P3; request → 3; CD-1 reports that P1 waits for P3; CD-3 asks whether these waits still exist: P1 waits for P3; P2 waits for P3; P3 waits for any of P1 and P2; ask → 2; ask → 3; CD-4 answers how many of these waits have ended: 0
    "#]]);

    cd_4_a_site_answers_only_after_the_requests_in_question_have_arrived(
        "2 ask-P3; 3 ask-P2; 3 > 2; 2 > 1; 3 > 1; 1 > 3 | 2 > 3", expect![[r#"
            3 receives request from 2: RQ-2 P2 waits for P3; P2 waits for P3; CD-4 answers how many of these waits have ended: 0; answer → 1
        "#]]);

    cd_5_a_confirmed_deadlock_is_reported_once("2 ask-P3; 3 ask-P2 | rest; 2 look; 1 ask-P2; rest; 1 look", expect![[r#"
        3 receives request from 2: RQ-2 P2 waits for P3; P2 waits for P3
        2 receives request from 3: RQ-2 P3 waits for P2; P3 waits for P2
        1 receives waits from 3: CD-3 asks whether these waits still exist: P2 waits for P3; P3 waits for P2; ask → 2; ask → 3
        2 receives ask from 1: CD-4 answers how many of these waits have ended: 0; answer → 1
        3 receives ask from 1: CD-4 answers how many of these waits have ended: 0; answer → 1
        1 receives answer from 3: CD-5 all waits still exist: it is a deadlock; RS-1 reports the deadlock of P2; DEADLOCK: P2 waits for P3; P3 waits for P2
        1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2; CD-1 reports that P1 waits for P2
        2 receives request from 1: RQ-2 P1 waits for P2; P1 waits for P2
    "#]]);

    cd_5_a_phantom_is_removed("2 ask-P3; 2 > 3; 2 > 1; 3 answer-P2; 3 ask-P2; 3 > 1 | rest", expect![[r#"
        2 receives release from 3: RQ-4 P2 continues; CD-1 reports that P2 no longer waits; unblocked → 1; P2 continues
        2 receives request from 3: RQ-2 P3 waits for P2; P3 waits for P2
        2 receives ask from 1: CD-4 answers how many of these waits have ended: 0; answer → 1
        3 receives ask from 1: CD-4 answers how many of these waits have ended: 1; answer → 1
        1 receives answer from 3: CD-5 it was a phantom; ended waits: 1
    "#]]);

    /// Two deadlocks. The victim of the first is at the detector's own site, so no message confirms
    /// its abort.
    cd_5_after_the_abort_of_its_own_process_the_detector_takes_up_the_next_deadlock(
        by request_sites(plan_with_victim_p1, Central::new), of 4, "1 ask-P2; 2 ask-P1 | rest; 3 ask-P4; 4 ask-P3; rest; 1 give-up", expect![[r#"
            2 receives request from 1: RQ-2 P1 waits for P2; P1 waits for P2
            1 receives request from 2: RQ-2 P2 waits for P1; P2 waits for P1
            1 receives waits from 2: CD-3 asks whether these waits still exist: P1 waits for P2; P2 waits for P1; ask → 2; CD-4 answers how many of these waits have ended: 0
            2 receives ask from 1: CD-4 answers how many of these waits have ended: 0; answer → 1
            1 receives answer from 2: CD-5 all waits still exist: it is a deadlock; RS-1 sends the resolver the deadlock of P1; RS-3 chooses the victim P1; RS-4 demands the abort of P1; DEADLOCK: P1 waits for P2; P2 waits for P1; P1 must abort; P1 MUST ABORT: P1 waits for P2; P2 waits for P1; P1 must abort
            3 ask P4: RQ-1 P3 asks P4; P3 waits for P4; request → 4; CD-1 reports that P3 waits for P4; waits → 1
            4 ask P3: RQ-1 P4 asks P3; P4 waits for P3; request → 3; CD-1 reports that P4 waits for P3; waits → 1
            4 receives request from 3: RQ-2 P3 waits for P4; P3 waits for P4
            3 receives request from 4: RQ-2 P4 waits for P3; P4 waits for P3
            1 give-up: RQ-5 P1 cancels its wait; P1 has cancelled its wait; withdraw → 2; CD-1 reports that P1 no longer waits; RS-5 confirms the abort of P1; RS-6 has resolved the deadlock by the abort of P1; CD-3 asks whether these waits still exist: P3 waits for P4; P4 waits for P3; ask → 3; ask → 4
        "#]]);
}

/// P1 and P2 deadlock. P3 waits for P1, and for P4, which waits for P3: a second cycle.
#[test]
fn cd_5_a_cycle_that_also_waits_for_a_deadlock_is_reported_too() {
    let script = "1 ask-P2; 2 ask-P1; 3 ask-P1+P4; 4 ask-P3; rest";
    let trace = request_trace(&Plan::new(4), Central::new, script);
    let first_waits: Vec<_> =
        trace.split("; ").filter_map(|part| part.split_once("DEADLOCK: ")).map(|(_, first_wait)| first_wait).collect();
    assert_eq!(first_waits, ["P1 waits for P2", "P3 waits for P4"], "{trace}");
}

#[test]
fn forged_messages_are_ignored() {
    let mut group = request_group(&Plan::new(4), Central::new);
    group.run("2 ask-P3; 3 ask-P2; 2 > 1; 3 > 1");
    let edge = Edge { agent: process(2), wait_id: WaitId(1), awaited: process(3) };
    let forged = [
        // About an agent of another site, or a question that does not come from the detector.
        (4, 1, Message::Waits(wait(process(2), process(4)))),
        (4, 1, Message::DependencyReleased { edge, abort_cost: AbortCost::default() }),
        (4, 1, Message::Unblocked { agent: process(2), wait_id: WaitId(1) }),
        (4, 3, Message::Ask { round: 1, edges: [].into() }),
        // From a site that was not asked, for another round, or to a site without the detector.
        (4, 1, Message::Answer { round: 1, ended: [edge].into() }),
        (3, 1, Message::Answer { round: 0, ended: [edge].into() }),
        (2, 3, Message::Answer { round: 1, ended: [edge].into() }),
        // A wait for an agent at a site that does not exist.
        (4, 1, Message::Waits(wait(process(4), process(9)))),
        // About another wait of P2.
        (
            2,
            1,
            Message::DependencyReleased { edge: Edge { wait_id: WaitId(9), ..edge }, abort_cost: AbortCost::default() },
        ),
        (2, 1, Message::Unblocked { agent: process(2), wait_id: WaitId(0) }),
    ];
    assert_ignored(group, forged.map(|(from, to, message)| (from, to, HostMessage::Detector(message))));
}
