//! Tests of the rules of Ricart–Agrawala with implicit replies: at least one script per rule. In a
//! script, `1 > 2` delivers the oldest message from node 1 to node 2, `1 > 2 overtakes 1` the
//! second oldest, `1 > 2 last` the newest, and `1 > 2 as 3` the oldest as if node 3 had sent it;
//! `rest` delivers all messages; `1 fires` fires the oldest timer of node 1; `of 2` before a script
//! sets the group size. Traces omit the steps before `|` and those without effect (see
//! `crate::mutex::rules`). In a trace, the stamp `(3, 2)` has clock 3 and node 2, and `fence 0.1`
//! has epoch 0 and counter 1.

mod timing;

use super::RicartAgrawalaImplicit;
use crate::bounds::Bounds;
use crate::mutex::prelude::*;
use crate::mutex::rules::rule_tests;
use expect_test::expect;

const BOUNDS: Bounds = Bounds { message: Duration::from_millis(5), processing: Duration::from_millis(1) };

fn node(me: NodeId, group: Group) -> RicartAgrawalaImplicit {
    RicartAgrawalaImplicit::new(me, group, BOUNDS)
}

rule_tests! { node, 3;
    ri_1_a_requesting_node_asks_all_others_and_waits("1 acquire; rest", expect![[r#"
        1 acquire: RI-1 requests entry with (1, 1); request → all
        2 receives request from 1: RI-2 consents to (1, 1) by silence
        3 receives request from 1: RI-2 consents to (1, 1) by silence
    "#]]);

    ri_2_an_idle_node_consents_by_silence("1 acquire; 1 > 2", expect![[r#"
        1 acquire: RI-1 requests entry with (1, 1); request → all
        2 receives request from 1: RI-2 consents to (1, 1) by silence
    "#]]);

    ri_2_the_holder_answers_a_request_with_deferred(
        "1 acquire; rest; 1 fires; 2 acquire | rest; 2 fires", expect![[r#"
            1 receives request from 2: RI-2 defers (2, 2): ours (1, 1) goes first; deferred → 2
            3 receives request from 2: RI-2 consents to (2, 2) by silence
            2 timer: RI-4 counts silence as consent to (2, 2), and waits for 1
        "#]]);

    ri_2_a_request_in_the_name_of_another_is_ignored("1 acquire; 1 > 2 as 3", expect![[r#"
        1 acquire: RI-1 requests entry with (1, 1); request → all
        2 receives request from 3: RI-2 ignores a request of 1 that came from 3
    "#]]);

    /// The reply of 1 overtakes its "deferred" message.
    ri_3_a_reply_may_overtake_the_deferral(
        of 2, "1 acquire; rest; 1 fires; 2 acquire; 2 > 1; 1 release; 1 > 2 last | 1 > 2; 2 fires", expect![[r#"
            2 timer: RI-4 has the consent of all to (2, 2); ENTERS (fence 0.6)
        "#]]);

    /// Node 2 has the reply of node 1, but waits until the silence of node 3 counts as consent.
    ri_3_an_early_reply_does_not_end_the_wait(
        "1 acquire; rest; 1 fires; 2 acquire; 2 > 1 | 1 release; 1 > 2; 1 > 2", expect![[r#"
            1 release: LEAVES; RI-5 sends its deferred reply to (2, 2); reply → 2
        "#]]);

    /// The script replaces the sender of node 1's deferral, so node 2 ignores it, and enters
    /// although node 1 is in the critical section: a lost message does the same harm.
    ri_3_a_deferral_of_a_nonmember_is_ignored(
        of 2, "1 acquire; rest | 1 fires; 2 acquire; 2 > 1; 1 > 2 as 9; 2 fires", expect![[r#"
            1 timer: RI-4 has the consent of all to (1, 1); ENTERS (fence 0.3)
            2 acquire: RI-1 requests entry with (2, 2); request → all
            1 receives request from 2: RI-2 defers (2, 2): ours (1, 1) goes first; deferred → 2
            2 receives deferred from 9: RI-3 ignores that 9 defers (2, 2)
            2 timer: RI-4 has the consent of all to (2, 2); ENTERS (fence 0.6)
        "#]]);

    ri_4_after_the_waiting_time_silence_is_consent("1 acquire; rest; 1 fires", expect![[r#"
        1 acquire: RI-1 requests entry with (1, 1); request → all
        2 receives request from 1: RI-2 consents to (1, 1) by silence
        3 receives request from 1: RI-2 consents to (1, 1) by silence
        1 timer: RI-4 has the consent of all to (1, 1); ENTERS (fence 0.4)
    "#]]);

    /// Fences grow in the order of stamps, because each is the group size times the clock plus the
    /// node's position, counted from 1: 3 · 2 + 1 = 7 for (2, 1), and 3 · 3 + 2 = 11 for (3, 2).
    ri_4_the_stamp_of_an_entry_makes_its_fence(
        "2 acquire; rest; 2 fires | 2 release; 1 acquire; 3 acquire; rest; 1 fires; 3 fires; 1 release; rest; 3 release;
         2 acquire; rest; 2 fires", expect![[r#"
             2 release: LEAVES
             1 acquire: RI-1 requests entry with (2, 1); request → all
             3 acquire: RI-1 requests entry with (2, 3); request → all
             2 receives request from 1: RI-2 consents to (2, 1) by silence
             3 receives request from 1: RI-2 consents to (2, 1) by silence
             1 receives request from 3: RI-2 defers (2, 3): ours (2, 1) goes first; deferred → 3
             2 receives request from 3: RI-2 consents to (2, 3) by silence
             1 timer: RI-4 has the consent of all to (2, 1); ENTERS (fence 0.7)
             3 timer: RI-4 counts silence as consent to (2, 3), and waits for 1
             1 release: LEAVES; RI-5 sends its deferred reply to (2, 3); reply → 3
             3 receives reply from 1: RI-4 has the consent of all to (2, 3); ENTERS (fence 0.9)
             3 release: LEAVES
             2 acquire: RI-1 requests entry with (3, 2); request → all
             1 receives request from 2: RI-2 consents to (3, 2) by silence
             3 receives request from 2: RI-2 consents to (3, 2) by silence
             2 timer: RI-4 has the consent of all to (3, 2); ENTERS (fence 0.11)
         "#]]);

    ri_5_a_release_sends_all_deferred_replies(
        "1 acquire; rest; 1 fires; 2 acquire; 3 acquire | rest; 2 fires; 3 fires; 1 release; rest; 2 release;
         rest", expect![[r#"
             1 receives request from 2: RI-2 defers (2, 2): ours (1, 1) goes first; deferred → 2
             3 receives request from 2: RI-2 consents to (2, 2) by silence
             1 receives request from 3: RI-2 defers (2, 3): ours (1, 1) goes first; deferred → 3
             2 receives request from 3: RI-2 defers (2, 3): ours (2, 2) goes first; deferred → 3
             2 timer: RI-4 counts silence as consent to (2, 2), and waits for 1
             3 timer: RI-4 counts silence as consent to (2, 3), and waits for 1,2
             1 release: LEAVES; RI-5 sends its deferred reply to (2, 2); reply → 2; RI-5 sends its deferred reply to (2, 3); reply → 3
             2 receives reply from 1: RI-4 has the consent of all to (2, 2); ENTERS (fence 0.8)
             2 release: LEAVES; RI-5 sends its deferred reply to (2, 3); reply → 3
             3 receives reply from 2: RI-4 has the consent of all to (2, 3); ENTERS (fence 0.9)
         "#]]);

    a_group_of_one_does_not_wait(of 1, "1 acquire; 1 try; 1 release; 1 try; 1 cancel; 1 release", expect![[r#"
        1 acquire: RI-1 requests entry with (1, 1); RI-4 has the consent of all to (1, 1); ENTERS (fence 0.2)
        1 try: refused: already in the critical section
        1 release: LEAVES
        1 try: RI-1 requests entry with (2, 1); RI-4 has the consent of all to (2, 1); ENTERS (fence 0.3)
        1 cancel: refused: already in the critical section
        1 release: LEAVES
    "#]]);

    /// A message of 1 to 2 takes too long. The algorithm is safe only in the synchronous model.
    two_nodes_enter_if_a_message_takes_longer_than_the_bound(
        of 2, "1 acquire; rest; 1 fires; 2 acquire; 2 > 1; 2 fires; 1 > 2", expect![[r#"
            1 acquire: RI-1 requests entry with (1, 1); request → all
            2 receives request from 1: RI-2 consents to (1, 1) by silence
            1 timer: RI-4 has the consent of all to (1, 1); ENTERS (fence 0.3)
            2 acquire: RI-1 requests entry with (2, 2); request → all
            1 receives request from 2: RI-2 defers (2, 2): ours (1, 1) goes first; deferred → 2
            2 timer: RI-4 has the consent of all to (2, 2); ENTERS (fence 0.6)
            2 receives deferred from 1: RI-3 learns too late that 1 defers (2, 2)
        "#]]);

    // Cancelled requests and tries.

    /// Node 1 receives the deferral of (2, 1) by 2 and then its reply, both too late. Neither
    /// counts for (3, 1).
    ri_3_late_answers_to_a_cancelled_request_do_not_count_for_the_next_one(
        of 2, "2 acquire; rest; 2 fires; 1 acquire; 1 > 2; 1 cancel; 1 acquire; 1 > 2; 2 release; 2 > 1;
               2 > 1 overtakes 1; 2 > 1; 1 fires; 2 > 1", expect![[r#"
                   2 acquire: RI-1 requests entry with (1, 2); request → all
                   1 receives request from 2: RI-2 consents to (1, 2) by silence
                   2 timer: RI-4 has the consent of all to (1, 2); ENTERS (fence 0.4)
                   1 acquire: RI-1 requests entry with (2, 1); request → all
                   2 receives request from 1: RI-2 defers (2, 1): ours (1, 2) goes first; deferred → 1
                   1 cancel: cancelled
                   1 acquire: RI-1 requests entry with (3, 1); request → all
                   2 receives request from 1: RI-2 defers (3, 1): ours (1, 2) goes first; deferred → 1
                   2 release: LEAVES; RI-5 sends its deferred reply to (2, 1); reply → 1; RI-5 sends its deferred reply to (3, 1); reply → 1
                   1 receives deferred from 2: RI-3 ignores that 2 defers (2, 1)
                   1 receives reply from 2: RI-3 ignores a reply to (2, 1): that request is not pending
                   1 timer: RI-4 counts silence as consent to (3, 1), and waits for 2
                   1 receives reply from 2: RI-4 has the consent of all to (3, 1); ENTERS (fence 0.7)
               "#]]);

    ri_6_a_cancellation_sends_all_deferred_replies(
        "1 acquire; 2 acquire | rest; 1 cancel; rest; 2 fires", expect![[r#"
            2 receives request from 1: RI-2 consents to (1, 1) by silence
            3 receives request from 1: RI-2 consents to (1, 1) by silence
            1 receives request from 2: RI-2 defers (1, 2): ours (1, 1) goes first; deferred → 2
            3 receives request from 2: RI-2 consents to (1, 2) by silence
            1 cancel: cancelled; RI-6 sends its deferred reply to (1, 2); reply → 2
            2 timer: RI-4 has the consent of all to (1, 2); ENTERS (fence 0.5)
        "#]]);

    ri_7_a_try_is_denied_by_the_holder("1 acquire; rest; 1 fires | 2 try; rest; 1 release", expect![[r#"
        2 try: RI-1 requests entry with (2, 2); request → all
        1 receives request from 2: RI-7 denies (2, 2); denied → 2
        3 receives request from 2: RI-2 consents to (2, 2) by silence
        2 receives denied from 1: denied
        1 release: LEAVES
    "#]]);

    ri_7_a_try_enters_after_the_waiting_time("1 try; rest; 1 fires", expect![[r#"
        1 try: RI-1 requests entry with (1, 1); request → all
        2 receives request from 1: RI-2 consents to (1, 1) by silence
        3 receives request from 1: RI-2 consents to (1, 1) by silence
        1 timer: RI-4 has the consent of all to (1, 1); ENTERS (fence 0.4)
    "#]]);

    ri_7_a_denied_try_sends_all_deferred_replies("1 acquire; 2 try; 3 acquire; 3 > 2; 2 > 1; 1 > 2 last", expect![[r#"
        1 acquire: RI-1 requests entry with (1, 1); request → all
        2 try: RI-1 requests entry with (1, 2); request → all
        3 acquire: RI-1 requests entry with (1, 3); request → all
        2 receives request from 3: RI-2 defers (1, 3): ours (1, 2) goes first; deferred → 3
        1 receives request from 2: RI-7 denies (1, 2); denied → 2
        2 receives denied from 1: denied; RI-7 sends its deferred reply to (1, 3); reply → 3
    "#]]);

    ri_7_a_denial_that_is_late_or_from_a_nonmember_has_no_effect(
        of 2, "1 acquire; rest; 1 fires; 2 try; 2 > 1 | 2 cancel; 2 try; 1 > 2; 2 > 1; 1 > 2 as 9", expect![[r#"
            2 cancel: cancelled
            2 try: RI-1 requests entry with (3, 2); request → all
            1 receives request from 2: RI-7 denies (3, 2); denied → 2
        "#]]);
}
