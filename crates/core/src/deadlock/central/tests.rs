//! One test per rule, and what strangers can do. The detector is at site 1.

use crate::deadlock::central::{Edge, Message};
use crate::deadlock::drill::{ask, asking, asks, assert_ignored, process, wait};
use crate::deadlock::requests::Message as Outer;
use crate::deadlock::{Central, Plan, Policy, Spell, Stake};
use crate::mutex::rules::rules;
use expect_test::expect;
use std::vec::Vec;

/// Where somebody has to give up, P1 does.
fn p1_first(sites: usize) -> Plan {
    Plan { victim: Some(Policy::LowestPriority), priorities: [0, 1, 1, 1].into(), ..Plan::new(sites) }
}

rules! { asks(Plan::new, Central::new), 3;
    cd_1_every_site_reports_who_waits_is_eased_and_goes_on(
        "2 ask-P1+P3; 2 > 3; 3 answer-P2; 3 > 2; 2 > 1; 1 answer-P2; 1 > 2; rest; 1 ask-P2", expect![[r#"
            2 ask P1 and P3: RQ-1 P2 asks P1 and P3; P2 waits for P1 and P3; request → 1; request → 3; CD-1 reports that P2 waits for P1 and P3; waits → 1
            3 hears request from 2: RQ-2 P2 waits for P3; P2 waits for P3
            3 answer P2: RQ-3 P3 lets P2 go on; P3 lets P2 go on; let-go → 2
            2 hears let-go from 3: RQ-4 P2 still waits for P1; CD-1 reports that P3 has let P2 go on; eased → 1
            1 hears request from 2: RQ-2 P2 waits for P1; P2 waits for P1
            1 answer P2: RQ-3 P1 lets P2 go on; P1 lets P2 go on; let-go → 2
            2 hears let-go from 1: RQ-4 P2 goes on; CD-1 reports that P2 goes on; runs → 1; P2 goes on
            1 hears eased from 2: CD-2 strikes that P2 waits for P3
            1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2; CD-1 reports that P1 waits for P2
        "#]]);

    cd_2_reports_are_kept_and_searched_and_what_others_say_is_not("2 ask-P3; 2 > 1; 3 ask-P2; 3 > 1 as 2", expect![[r#"
        2 ask P3: RQ-1 P2 asks P3; P2 waits for P3; request → 3; CD-1 reports that P2 waits for P3; waits → 1
        3 ask P2: RQ-1 P3 asks P2; P3 waits for P2; request → 2; CD-1 reports that P3 waits for P2; waits → 1
        1 hears waits from 2: CD-2 ignores what 2 says of others
    "#]]);

    cd_2_nothing_is_searched_while_an_answer_is_awaited(
        of 5, "2 ask-P3; 3 ask-P2; 2 > 1 | 3 > 1; 4 ask-P5; 5 ask-P4; 4 > 1; 5 > 1; rest", expect![[r#"
            1 hears waits from 3: CD-3 asks whether it is so: P2 waits for P3; P3 waits for P2; ask → 2; ask → 3
            4 ask P5: RQ-1 P4 asks P5; P4 waits for P5; request → 5; CD-1 reports that P4 waits for P5; waits → 1
            5 ask P4: RQ-1 P5 asks P4; P5 waits for P4; request → 4; CD-1 reports that P5 waits for P4; waits → 1
            3 hears request from 2: RQ-2 P2 waits for P3; P2 waits for P3
            2 hears request from 3: RQ-2 P3 waits for P2; P3 waits for P2
            2 hears ask from 1: CD-4 has let go of 0 of them; answer → 1
            3 hears ask from 1: CD-4 has let go of 0 of them; answer → 1
            5 hears request from 4: RQ-2 P4 waits for P5; P4 waits for P5
            4 hears request from 5: RQ-2 P5 waits for P4; P5 waits for P4
            1 hears answer from 3: CD-5 nobody has let go: it is so; RS-1 tells of a deadlock that holds P2; CD-3 asks whether it is so: P4 waits for P5; P5 waits for P4; ask → 4; ask → 5; DEADLOCK: P2 waits for P3; P3 waits for P2
            4 hears ask from 1: CD-4 has let go of 0 of them; answer → 1
            5 hears ask from 1: CD-4 has let go of 0 of them; answer → 1
            1 hears answer from 5: CD-5 nobody has let go: it is so; RS-1 tells of a deadlock that holds P4; DEADLOCK: P4 waits for P5; P5 waits for P4
        "#]]);

    cd_3_whoever_is_waited_for_is_asked_first("2 ask-P3; 2 > 1 | 3 ask-P1|P2; 3 > 1; 3 > 1; 1 ask-P3", expect![[r#"
        3 ask any of P1 and P2: RQ-1 P3 asks any of P1 and P2; P3 waits for any of P1 and P2; request → 1; request → 2; CD-1 reports that P3 waits for any of P1 and P2; waits → 1
        1 hears request from 3: RQ-2 P3 waits for P1; P3 waits for P1
        1 ask P3: RQ-1 P1 asks P3; P1 waits for P3; request → 3; CD-1 reports that P1 waits for P3; CD-3 asks whether it is so: P1 waits for P3; P2 waits for P3; P3 waits for any of P1 and P2; ask → 2; ask → 3; CD-4 has let go of 0 of them
    "#]]);

    cd_4_one_who_has_not_heard_of_a_wait_answers_when_it_has(
        "2 ask-P3; 3 ask-P2; 3 > 2; 2 > 1; 3 > 1; 1 > 3 | 2 > 3", expect![[r#"
            3 hears request from 2: RQ-2 P2 waits for P3; P2 waits for P3; CD-4 has let go of 0 of them; answer → 1
        "#]]);

    cd_5_if_nobody_has_let_go_it_is_told_once("2 ask-P3; 3 ask-P2 | rest; 2 look; 1 ask-P2; rest; 1 look", expect![[r#"
        3 hears request from 2: RQ-2 P2 waits for P3; P2 waits for P3
        2 hears request from 3: RQ-2 P3 waits for P2; P3 waits for P2
        1 hears waits from 3: CD-3 asks whether it is so: P2 waits for P3; P3 waits for P2; ask → 2; ask → 3
        2 hears ask from 1: CD-4 has let go of 0 of them; answer → 1
        3 hears ask from 1: CD-4 has let go of 0 of them; answer → 1
        1 hears answer from 3: CD-5 nobody has let go: it is so; RS-1 tells of a deadlock that holds P2; DEADLOCK: P2 waits for P3; P3 waits for P2
        1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2; CD-1 reports that P1 waits for P2
        2 hears request from 1: RQ-2 P1 waits for P2; P1 waits for P2
    "#]]);

    cd_5_a_phantom_is_struck("2 ask-P3; 2 > 3; 2 > 1; 3 answer-P2; 3 ask-P2; 3 > 1 | rest", expect![[r#"
        2 hears let-go from 3: RQ-4 P2 goes on; CD-1 reports that P2 goes on; runs → 1; P2 goes on
        2 hears request from 3: RQ-2 P3 waits for P2; P3 waits for P2
        2 hears ask from 1: CD-4 has let go of 0 of them; answer → 1
        3 hears ask from 1: CD-4 has let go of 1 of them; answer → 1
        1 hears answer from 3: CD-5 it was a phantom: 1 of these waits are over
    "#]]);

    /// Two deadlocks. The victim of the first is at the detector's own site, so that no message says that it has given up.
    cd_5_when_its_own_process_has_given_up_the_next_deadlock_comes_up(
        by asks(p1_first, Central::new), of 4, "1 ask-P2; 2 ask-P1 | rest; 3 ask-P4; 4 ask-P3; rest; 1 give-up", expect![[r#"
            2 hears request from 1: RQ-2 P1 waits for P2; P1 waits for P2
            1 hears request from 2: RQ-2 P2 waits for P1; P2 waits for P1
            1 hears waits from 2: CD-3 asks whether it is so: P1 waits for P2; P2 waits for P1; ask → 2; CD-4 has let go of 0 of them
            2 hears ask from 1: CD-4 has let go of 0 of them; answer → 1
            1 hears answer from 2: CD-5 nobody has let go: it is so; RS-1 sends the desk a deadlock that holds P1; RS-3 chooses who gives up: P1; RS-4 is told to give up: P1; DEADLOCK: P1 waits for P2; P2 waits for P1; P1 is to give up; P1 MUST GIVE UP: P1 waits for P2; P2 waits for P1; P1 is to give up
            3 ask P4: RQ-1 P3 asks P4; P3 waits for P4; request → 4; CD-1 reports that P3 waits for P4; waits → 1
            4 ask P3: RQ-1 P4 asks P3; P4 waits for P3; request → 3; CD-1 reports that P4 waits for P3; waits → 1
            4 hears request from 3: RQ-2 P3 waits for P4; P3 waits for P4
            3 hears request from 4: RQ-2 P4 waits for P3; P4 waits for P3
            1 give-up: RQ-5 P1 gives up; P1 has given up; withdraw → 2; CD-1 reports that P1 goes on; RS-5 says that it has given up: P1; RS-6 hears that it is resolved by P1; CD-3 asks whether it is so: P3 waits for P4; P4 waits for P3; ask → 3; ask → 4
        "#]]);
}

/// P3 waits for P1, which is stuck, and for P4, which waits for it: a cycle of its own.
#[test]
fn cd_5_a_cycle_behind_a_deadlock_is_told_too() {
    let script = "1 ask-P2; 2 ask-P1; 3 ask-P1+P4; 4 ask-P3; rest";
    let trace = ask(&Plan::new(4), Central::new, script);
    let told: Vec<_> =
        trace.split("; ").filter_map(|part| part.split_once("DEADLOCK: ")).map(|(_, told)| told).collect();
    assert_eq!(told, ["P1 waits for P2", "P3 waits for P4"], "{trace}");
}

#[test]
fn what_strangers_say_of_others_is_not_heard() {
    let mut stage = asking(&Plan::new(4), Central::new);
    stage.run("2 ask-P3; 3 ask-P2; 2 > 1; 3 > 1");
    let edge = Edge { who: process(2), spell: Spell(1), on: process(3) };
    let forged = [
        (4, 1, Message::Waits(wait(process(2), process(4)))),
        (4, 1, Message::Eased { edge, stake: Stake::default() }),
        (4, 1, Message::Runs { who: process(2), spell: Spell(1) }),
        (4, 3, Message::Ask { round: 1, edges: [].into() }),
        // Of one who was not asked, or not that.
        (4, 1, Message::Answer { round: 1, void: [edge].into() }),
        (3, 1, Message::Answer { round: 0, void: [edge].into() }),
        (2, 3, Message::Answer { round: 1, void: [edge].into() }),
        // For one at a site that is not there.
        (4, 1, Message::Waits(wait(process(4), process(9)))),
        // Of another time of waiting.
        (2, 1, Message::Eased { edge: Edge { spell: Spell(9), ..edge }, stake: Stake::default() }),
        (2, 1, Message::Runs { who: process(2), spell: Spell(0) }),
    ];
    assert_ignored(stage, forged.map(|(from, to, message)| (from, to, Outer::Detector(message))));
}
