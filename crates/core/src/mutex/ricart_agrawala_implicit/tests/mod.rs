//! The rules of Ricart–Agrawala with implicit replies, one script each and more for the nasty cases.

mod timing;

use super::RicartAgrawalaImplicit;
use crate::bounds::Bounds;
use crate::mutex::prelude::*;
use crate::mutex::rules::rules;
use expect_test::expect;

const BOUNDS: Bounds = Bounds { message: Duration::from_millis(5), processing: Duration::from_millis(1) };

fn node(me: NodeId, group: Group) -> RicartAgrawalaImplicit {
    RicartAgrawalaImplicit::new(me, group, BOUNDS)
}

rules! { node, 3;
    ri_1_asked_to_enter_a_node_asks_everyone_and_waits("1 acquire; rest", expect![[r#"
        1 acquire: RI-1 asks everyone with (1, 1); request → all
        2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
        3 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
    "#]]);

    ri_2_a_request_arrives_where_nobody_asked_and_nothing_is_said("1 acquire; 1 > 2", expect![[r#"
        1 acquire: RI-1 asks everyone with (1, 1); request → all
        2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
    "#]]);

    ri_2_a_request_arrives_where_one_is_inside_and_is_told_to_wait(
        "1 acquire; rest; 1 fires; 2 acquire | rest; 2 fires", expect![[r#"
            1 hears request from 2: RI-2 defers (2, 2): ours (1, 1) goes first; deferred → 2
            3 hears request from 2: RI-2 lets (2, 2) pass by saying nothing
            2 timer: RI-4 takes silence for consent to (2, 2), and waits for 1
        "#]]);

    ri_2_a_request_in_the_name_of_another_is_ignored("1 acquire; 1 > 2 as 3", expect![[r#"
        1 acquire: RI-1 asks everyone with (1, 1); request → all
        2 hears request from 3: RI-2 ignores a request of 1 that 3 brought
    "#]]);

    /// The reply of 1 overtakes the message that says that it defers.
    ri_3_an_answer_to_us_may_overtake_the_one_before_it(
        of 2, "1 acquire; rest; 1 fires; 2 acquire; 2 > 1; 1 release; 1 > 2 last | 1 > 2; 2 fires", expect![[r#"
            2 timer: RI-4 has everyone's consent to (2, 2); ENTERS (fence 0.6)
        "#]]);

    /// A reply before the wait is over is not yet everyone's consent.
    ri_3_an_early_reply_does_not_end_the_wait(
        "1 acquire; rest; 1 fires; 2 acquire; 2 > 1 | 1 release; 1 > 2; 1 > 2", expect![[r#"
            1 release: LEAVES; RI-5 lets (2, 2) pass at last; reply → 2
        "#]]);

    ri_3_a_stranger_keeps_nobody_waiting(
        of 2, "1 acquire; rest | 1 fires; 2 acquire; 2 > 1; 1 > 2 as 9; 2 fires", expect![[r#"
            1 timer: RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.3)
            2 acquire: RI-1 asks everyone with (2, 2); request → all
            1 hears request from 2: RI-2 defers (2, 2): ours (1, 1) goes first; deferred → 2
            2 hears deferred from 9: RI-3 ignores that 9 defers (2, 2)
            2 timer: RI-4 has everyone's consent to (2, 2); ENTERS (fence 0.6)
        "#]]);

    ri_4_the_wait_is_over_and_silence_is_consent("1 acquire; rest; 1 fires", expect![[r#"
        1 acquire: RI-1 asks everyone with (1, 1); request → all
        2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
        3 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
        1 timer: RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.4)
    "#]]);

    /// In the order of stamps, each fence is n times the clock, and the node's place.
    ri_4_the_stamp_of_an_entry_makes_its_fence(
        "2 acquire; rest; 2 fires | 2 release; 1 acquire; 3 acquire; rest; 1 fires; 3 fires; 1 release; rest; 3 release;
         2 acquire; rest; 2 fires", expect![[r#"
            2 release: LEAVES
            1 acquire: RI-1 asks everyone with (2, 1); request → all
            3 acquire: RI-1 asks everyone with (2, 3); request → all
            2 hears request from 1: RI-2 lets (2, 1) pass by saying nothing
            3 hears request from 1: RI-2 lets (2, 1) pass by saying nothing
            1 hears request from 3: RI-2 defers (2, 3): ours (2, 1) goes first; deferred → 3
            2 hears request from 3: RI-2 lets (2, 3) pass by saying nothing
            1 timer: RI-4 has everyone's consent to (2, 1); ENTERS (fence 0.7)
            3 timer: RI-4 takes silence for consent to (2, 3), and waits for 1
            1 release: LEAVES; RI-5 lets (2, 3) pass at last; reply → 3
            3 hears reply from 1: RI-4 has everyone's consent to (2, 3); ENTERS (fence 0.9)
            3 release: LEAVES
            2 acquire: RI-1 asks everyone with (3, 2); request → all
            1 hears request from 2: RI-2 lets (3, 2) pass by saying nothing
            3 hears request from 2: RI-2 lets (3, 2) pass by saying nothing
            2 timer: RI-4 has everyone's consent to (3, 2); ENTERS (fence 0.11)
        "#]]);

    ri_5_asked_to_leave_a_node_replies_to_everyone_deferred(
        "1 acquire; rest; 1 fires; 2 acquire; 3 acquire | rest; 2 fires; 3 fires; 1 release; rest; 2 release;
         rest", expect![[r#"
            1 hears request from 2: RI-2 defers (2, 2): ours (1, 1) goes first; deferred → 2
            3 hears request from 2: RI-2 lets (2, 2) pass by saying nothing
            1 hears request from 3: RI-2 defers (2, 3): ours (1, 1) goes first; deferred → 3
            2 hears request from 3: RI-2 defers (2, 3): ours (2, 2) goes first; deferred → 3
            2 timer: RI-4 takes silence for consent to (2, 2), and waits for 1
            3 timer: RI-4 takes silence for consent to (2, 3), and waits for 1,2
            1 release: LEAVES; RI-5 lets (2, 2) pass at last; reply → 2; RI-5 lets (2, 3) pass at last; reply → 3
            2 hears reply from 1: RI-4 has everyone's consent to (2, 2); ENTERS (fence 0.8)
            2 release: LEAVES; RI-5 lets (2, 3) pass at last; reply → 3
            3 hears reply from 2: RI-4 has everyone's consent to (2, 3); ENTERS (fence 0.9)
        "#]]);

    a_group_of_one_waits_for_nobody(of 1, "1 acquire; 1 try; 1 release; 1 try; 1 cancel; 1 release", expect![[r#"
        1 acquire: RI-1 asks everyone with (1, 1); RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.2)
        1 try: refused: already inside
        1 release: LEAVES
        1 try: RI-1 asks everyone with (2, 1); RI-4 has everyone's consent to (2, 1); ENTERS (fence 0.3)
        1 cancel: refused: already inside
        1 release: LEAVES
    "#]]);

    /// What 1 says to 2 takes too long. This is why the form is for the synchronous model only.
    two_are_inside_where_a_message_takes_longer_than_the_bound(
        of 2, "1 acquire; rest; 1 fires; 2 acquire; 2 > 1; 2 fires; 1 > 2", expect![[r#"
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            1 timer: RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.3)
            2 acquire: RI-1 asks everyone with (2, 2); request → all
            1 hears request from 2: RI-2 defers (2, 2): ours (1, 1) goes first; deferred → 2
            2 timer: RI-4 has everyone's consent to (2, 2); ENTERS (fence 0.6)
            2 hears deferred from 1: RI-3 hears too late that 1 defers (2, 2)
        "#]]);

    // Those who do not wait for ever: requests that are given up, and tries.

    /// Node 1 hears that 2 defers (2, 1) and then replies to it, both too late. Neither counts for (3, 1).
    ri_3_late_answers_to_a_request_that_was_given_up_do_not_count_for_the_next_one(
        of 2, "2 acquire; rest; 2 fires; 1 acquire; 1 > 2; 1 cancel; 1 acquire; 1 > 2; 2 release; 2 > 1;
               2 > 1 overtakes 1; 2 > 1; 1 fires; 2 > 1", expect![[r#"
            2 acquire: RI-1 asks everyone with (1, 2); request → all
            1 hears request from 2: RI-2 lets (1, 2) pass by saying nothing
            2 timer: RI-4 has everyone's consent to (1, 2); ENTERS (fence 0.4)
            1 acquire: RI-1 asks everyone with (2, 1); request → all
            2 hears request from 1: RI-2 defers (2, 1): ours (1, 2) goes first; deferred → 1
            1 cancel: cancelled
            1 acquire: RI-1 asks everyone with (3, 1); request → all
            2 hears request from 1: RI-2 defers (3, 1): ours (1, 2) goes first; deferred → 1
            2 release: LEAVES; RI-5 lets (2, 1) pass at last; reply → 1; RI-5 lets (3, 1) pass at last; reply → 1
            1 hears deferred from 2: RI-3 ignores that 2 defers (2, 1)
            1 hears reply from 2: RI-3 ignores a reply to (2, 1), which nobody waits with
            1 timer: RI-4 takes silence for consent to (3, 1), and waits for 2
            1 hears reply from 2: RI-4 has everyone's consent to (3, 1); ENTERS (fence 0.7)
        "#]]);

    ri_6_asked_to_give_up_a_node_replies_to_everyone_deferred(
        "1 acquire; 2 acquire | rest; 1 cancel; rest; 2 fires", expect![[r#"
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            3 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            1 hears request from 2: RI-2 defers (1, 2): ours (1, 1) goes first; deferred → 2
            3 hears request from 2: RI-2 lets (1, 2) pass by saying nothing
            1 cancel: cancelled; RI-6 lets (1, 2) pass at last; reply → 2
            2 timer: RI-4 has everyone's consent to (1, 2); ENTERS (fence 0.5)
        "#]]);

    ri_7_a_try_is_denied_by_one_who_is_inside("1 acquire; rest; 1 fires | 2 try; rest; 1 release", expect![[r#"
        2 try: RI-1 asks everyone with (2, 2); request → all
        1 hears request from 2: RI-7 denies (2, 2); denied → 2
        3 hears request from 2: RI-2 lets (2, 2) pass by saying nothing
        2 hears denied from 1: denied
        1 release: LEAVES
    "#]]);

    ri_7_a_try_enters_when_the_wait_is_over("1 try; rest; 1 fires", expect![[r#"
        1 try: RI-1 asks everyone with (1, 1); request → all
        2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
        3 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
        1 timer: RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.4)
    "#]]);

    ri_7_a_denied_try_replies_to_everyone_deferred("1 acquire; 2 try; 3 acquire; 3 > 2; 2 > 1; 1 > 2 last", expect![[r#"
        1 acquire: RI-1 asks everyone with (1, 1); request → all
        2 try: RI-1 asks everyone with (1, 2); request → all
        3 acquire: RI-1 asks everyone with (1, 3); request → all
        2 hears request from 3: RI-2 defers (1, 3): ours (1, 2) goes first; deferred → 3
        1 hears request from 2: RI-7 denies (1, 2); denied → 2
        2 hears denied from 1: denied; RI-7 lets (1, 3) pass at last; reply → 3
    "#]]);

    ri_7_a_denial_that_comes_late_or_from_a_stranger_ends_nothing(
        of 2, "1 acquire; rest; 1 fires; 2 try; 2 > 1 | 2 cancel; 2 try; 1 > 2; 2 > 1; 1 > 2 as 9", expect![[r#"
            2 cancel: cancelled
            2 try: RI-1 asks everyone with (3, 2); request → all
            1 hears request from 2: RI-7 denies (3, 2); denied → 2
        "#]]);
}
