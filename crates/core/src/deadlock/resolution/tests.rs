//! One test per rule, by edge chasing, and what strangers can do. The desk is at site 1.

use crate::deadlock::drill::{asking, asks, assert_ignored, node, process, wait};
use crate::deadlock::edge_chasing::Message;
use crate::deadlock::requests::Message as Outer;
use crate::deadlock::resolution::Ruling;
use crate::deadlock::{EdgeChasing, Plan, Policy, Report, Spell};
use crate::mutex::rules::rules;
use expect_test::expect;

fn plan(sites: usize) -> Plan {
    Plan { victim: Some(Policy::FewestLocks), ..Plan::new(sites) }
}

rules! { asks(plan, EdgeChasing::new), 3;
    rs_1_what_is_found_goes_to_the_desk("2 ask-P3; rest; 3 ask-P2; 3 > 2; 3 > 2; 2 > 3", expect![[r#"
        2 ask P3: RQ-1 P2 asks P3; P2 waits for P3; request → 3; EC-1 P2 sends a probe after P3; probe → 3
        3 hears request from 2: RQ-2 P2 waits for P3; P2 waits for P3
        3 hears probe from 2: EC-2 drops it: P3 does not wait
        3 ask P2: RQ-1 P3 asks P2; P3 waits for P2; request → 2; EC-1 P3 sends a probe after P2; probe → 2
        2 hears request from 3: RQ-2 P3 waits for P2; P3 waits for P2
        2 hears probe from 3: EC-2 P2 waits for P3; probe → 3
        3 hears probe from 2: EC-3 it is back: P3 waits for itself; RS-1 sends the desk a deadlock that holds P3; found → 1
    "#]]);

    rs_1_what_is_found_is_told_where_nobody_gives_up(
        by asks(Plan::new, EdgeChasing::new), "2 ask-P3; rest; 3 ask-P2; 3 > 2; 3 > 2 | 2 > 3", expect![[r#"
            3 hears probe from 2: EC-3 it is back: P3 waits for itself; RS-1 tells of a deadlock that holds P3; DEADLOCK: P3 waits for P2; P2 waits for P3
        "#]]);

    /// Both find it. When the second report comes up, the first has been settled.
    rs_2_what_is_broken_already_is_dismissed("2 ask-P3; 3 ask-P2 | rest; 3 give-up; rest", expect![[r#"
        3 hears request from 2: RQ-2 P2 waits for P3; P2 waits for P3
        3 hears probe from 2: EC-2 P3 waits for P2; probe → 2
        2 hears request from 3: RQ-2 P3 waits for P2; P3 waits for P2
        2 hears probe from 3: EC-2 P2 waits for P3; probe → 3
        2 hears probe from 3: EC-3 it is back: P2 waits for itself; RS-1 sends the desk a deadlock that holds P2; found → 1
        3 hears probe from 2: EC-3 it is back: P3 waits for itself; RS-1 sends the desk a deadlock that holds P3; found → 1
        1 hears found from 2: RS-3 chooses who gives up: P3; doom → 3; DEADLOCK: P2 waits for P3; P3 waits for P2; P3 is to give up
        3 hears doom from 1: RS-4 is told to give up: P3; P3 MUST GIVE UP: P2 waits for P3; P3 waits for P2; P3 is to give up
        3 give-up: RQ-5 P3 gives up; P3 has given up; withdraw → 2; RS-5 says that it has given up: P3; yielded → 1
        2 hears withdraw from 3: RQ-6 P3 waits for P2 no longer; P3 waits for P2 no longer
        1 hears yielded from 3: RS-6 hears that it is resolved by P3; again → 2; RS-2 dismisses what is broken already; it was found by P3; again → 3
        2 hears again from 1: RS-7 looks again: P2; EC-1 P2 sends a probe after P3; probe → 3
        3 hears probe from 2: EC-2 drops it: P3 does not wait
    "#]]);

    rs_3_one_is_chosen_and_the_next_report_waits(
        of 5, "2 ask-P3; 4 ask-P5; rest; 3 ask-P2; 5 ask-P4 | rest; 2 give-up; rest", expect![[r#"
            2 hears request from 3: RQ-2 P3 waits for P2; P3 waits for P2
            2 hears probe from 3: EC-2 P2 waits for P3; probe → 3
            4 hears request from 5: RQ-2 P5 waits for P4; P5 waits for P4
            4 hears probe from 5: EC-2 P4 waits for P5; probe → 5
            3 hears probe from 2: EC-3 it is back: P3 waits for itself; RS-1 sends the desk a deadlock that holds P3; found → 1
            5 hears probe from 4: EC-3 it is back: P5 waits for itself; RS-1 sends the desk a deadlock that holds P5; found → 1
            1 hears found from 3: RS-3 chooses who gives up: P2; doom → 2; DEADLOCK: P3 waits for P2; P2 waits for P3; P2 is to give up
            2 hears doom from 1: RS-4 is told to give up: P2; P2 MUST GIVE UP: P3 waits for P2; P2 waits for P3; P2 is to give up
            2 give-up: RQ-5 P2 gives up; P2 has given up; withdraw → 3; RS-5 says that it has given up: P2; yielded → 1
            3 hears withdraw from 2: RQ-6 P2 waits for P3 no longer; P2 waits for P3 no longer
            1 hears yielded from 2: RS-6 hears that it is resolved by P2; again → 3; RS-3 chooses who gives up: P4; doom → 4; DEADLOCK: P5 waits for P4; P4 waits for P5; P4 is to give up
            3 hears again from 1: RS-7 looks again: P3; EC-1 P3 sends a probe after P2; probe → 2
            4 hears doom from 1: RS-4 is told to give up: P4; P4 MUST GIVE UP: P5 waits for P4; P4 waits for P5; P4 is to give up
            2 hears probe from 3: EC-2 drops it: P2 does not wait
        "#]]);

    rs_4_the_chosen_one_is_told_if_it_still_waits(
        "2 ask-P3; rest; 3 ask-P2; 3 > 2; 3 > 2; 2 > 3 | 3 > 1; 1 > 2", expect![[r#"
            1 hears found from 3: RS-3 chooses who gives up: P2; doom → 2; DEADLOCK: P3 waits for P2; P2 waits for P3; P2 is to give up
            2 hears doom from 1: RS-4 is told to give up: P2; P2 MUST GIVE UP: P3 waits for P2; P2 waits for P3; P2 is to give up
        "#]]);

    rs_4_one_who_has_given_up_unasked_says_so(
        "2 ask-P3; rest; 3 ask-P2; 3 > 2; 3 > 2; 2 > 3 | 3 > 1; 2 give-up; 1 > 2; 2 > 1", expect![[r#"
            1 hears found from 3: RS-3 chooses who gives up: P2; doom → 2; DEADLOCK: P3 waits for P2; P2 waits for P3; P2 is to give up
            2 give-up: RQ-5 P2 gives up; P2 has given up; withdraw → 3
            2 hears doom from 1: RS-4 waits no longer: P2; yielded → 1
            1 hears yielded from 2: RS-6 hears that it is resolved by P2; again → 3
        "#]]);

    rs_5_when_it_has_given_up_the_desk_hears_of_it(
        "2 ask-P3; rest; 3 ask-P2; 3 > 2; 3 > 2; 2 > 3; 3 > 1; 1 > 2 | 2 give-up", expect![[r#"
            2 give-up: RQ-5 P2 gives up; P2 has given up; withdraw → 3; RS-5 says that it has given up: P2; yielded → 1
        "#]]);

    /// P2 waits for P3 and for P4, and both for it. It finds both cycles at once; the first that is settled leaves the other one.
    rs_6_who_was_found_in_one_deadlock_looks_again_for_another(
        of 4, "3 ask-P2; 4 ask-P2; rest; 2 ask-P3+P4; rest | 3 give-up; rest; 4 give-up; rest", expect![[r#"
            3 give-up: RQ-5 P3 gives up; P3 has given up; withdraw → 2; RS-5 says that it has given up: P3; yielded → 1
            2 hears withdraw from 3: RQ-6 P3 waits for P2 no longer; P3 waits for P2 no longer
            1 hears yielded from 3: RS-6 hears that it is resolved by P3; again → 2; RS-3 chooses who gives up: P4; doom → 4; DEADLOCK: P2 waits for P4; P4 waits for P2; P4 is to give up
            2 hears again from 1: RS-7 looks again: P2; EC-1 P2 sends a probe after P3 and P4; probe → 3; probe → 4
            4 hears doom from 1: RS-4 is told to give up: P4; P4 MUST GIVE UP: P2 waits for P4; P4 waits for P2; P4 is to give up
            3 hears probe from 2: EC-2 drops it: P3 does not wait
            4 hears probe from 2: EC-2 P4 waits for P2; probe → 2
            2 hears probe from 4: EC-3 it is back: P2 waits for itself; RS-1 sends the desk a deadlock that holds P2; found → 1
            4 give-up: RQ-5 P4 gives up; P4 has given up; withdraw → 2; RS-5 says that it has given up: P4; yielded → 1
            2 hears withdraw from 4: RQ-6 P4 waits for P2 no longer; P4 waits for P2 no longer
            1 hears yielded from 4: RS-6 hears that it is resolved by P4; again → 2; RS-2 dismisses what is broken already; it was found by P2; again → 2
            2 hears again from 1: RS-7 looks again: P2; EC-1 P2 sends a probe after P3 and P4; probe → 3; probe → 4
            2 hears again from 1: RS-7 looks again: P2; EC-1 P2 sends a probe after P3 and P4; probe → 3; probe → 4
            3 hears probe from 2: EC-2 drops it: P3 does not wait
            4 hears probe from 2: EC-2 drops it: P4 does not wait
            3 hears probe from 2: EC-2 drops it: P3 does not wait
            4 hears probe from 2: EC-2 drops it: P4 does not wait
        "#]]);
}

#[test]
fn rs_7_who_waits_no_longer_does_not_look() {
    let mut stage = asking(&plan(3), EdgeChasing::new);
    stage.run("2 ask-P3");
    for spell in [0, 2, 1] {
        let again = Ruling::Again { who: process(2), spell: Spell(spell) };
        stage.forge(node(1), node(2), Outer::Detector(Message::Ruling(again)));
    }
    expect![[r#"
        2 ask P3: RQ-1 P2 asks P3; P2 waits for P3; request → 3; EC-1 P2 sends a probe after P3; probe → 3
        2 hears a forged again from 1: nothing
        2 hears a forged again from 1: nothing
        2 hears a forged again from 1: RS-7 looks again: P2; EC-1 P2 sends a probe after P3; probe → 3
    "#]]
    .assert_eq(&stage.trace);
}

#[test]
fn what_strangers_say_of_others_is_not_heard() {
    let mut stage = asking(&plan(4), EdgeChasing::new);
    stage.run("2 ask-P3; rest; 3 ask-P2; 3 > 2; 3 > 2; 2 > 3; 3 > 1");
    let cycle = [wait(process(2), process(3)), wait(process(3), process(2))];
    let report = Report::cycle(&cycle[0], cycle.to_vec());
    let doom = Report { victim: Some(process(2)), ..report.clone() };
    let forged = [
        // Not from the desk, not to the desk, of another site's process, of another time, of one who was not chosen.
        (4, 2, Ruling::Doom(doom.clone())),
        (4, 3, Ruling::Again { who: process(3), spell: Spell(1) }),
        (4, 1, Ruling::Found(report.clone())),
        (2, 3, Ruling::Found(report)),
        // Of one at a site that is not there.
        (2, 1, Ruling::Found(Report::cycle(&cycle[0], [wait(process(9), process(2))].into()))),
        (4, 1, Ruling::Yielded { who: process(2), spell: Spell(1) }),
        (2, 1, Ruling::Yielded { who: process(2), spell: Spell(9) }),
        (3, 1, Ruling::Yielded { who: process(3), spell: Spell(1) }),
        (2, 3, Ruling::Yielded { who: process(2), spell: Spell(1) }),
        // Of nobody, or of one who is no part of it, or is elsewhere.
        (1, 3, Ruling::Doom(Report { victim: None, ..doom.clone() })),
        (1, 3, Ruling::Doom(Report { victim: Some(process(4)), ..doom.clone() })),
        (1, 3, Ruling::Doom(doom)),
        (1, 3, Ruling::Again { who: process(4), spell: Spell(1) }),
    ];
    assert_ignored(stage, forged.map(|(from, to, ruling)| (from, to, Outer::Detector(Message::Ruling(ruling)))));
}

/// A report in which nobody can give up is dropped, and the desk goes on.
#[test]
fn rs_3_a_report_of_nobody_chooses_nobody() {
    let nobody = Ruling::Found(Report::cycle(&wait(process(2), process(3)), [].into()));
    assert_ignored(asking(&plan(3), EdgeChasing::new), [(2, 1, Outer::Detector(Message::Ruling(nobody)))]);
}
