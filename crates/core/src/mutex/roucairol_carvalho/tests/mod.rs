//! Tests of the rules of Roucairol–Carvalho: at least one script per rule. In a script, `1 > 2`
//! delivers the oldest message from node 1 to node 2, `1 > 2 last` the newest, and `1 > 2 as 3` the
//! oldest as if node 3 had sent it; `rest` delivers all messages; `of 2` before a script sets the
//! group size. Traces omit the steps before `|` and those without effect (see
//! `crate::mutex::rules`). In a trace, the stamp `(3, 2)` has clock 3 and node 2, and `fence 0.1`
//! has epoch 0 and counter 1.

mod schedules;

use super::{FACTS, RoucairolCarvalho};
use crate::mutex::rules::rule_tests;
use crate::mutex::{Case, Load, Range};
use crate::{Group, NodeId};
use expect_test::expect;

rule_tests! { RoucairolCarvalho::new, 3;
    rc_1_the_first_request_goes_to_all_others("1 acquire", expect![[r#"
        1 acquire: RC-1 asks 2,3 with (1, 1); request → 2; request → 3
    "#]]);

    /// No node asks node 1 between its entries.
    rc_1_a_node_with_every_permission_enters_without_asking(
        "1 acquire; rest; 1 release | 1 acquire; 1 release; 1 try", expect![[r#"
            1 acquire: RC-1 has every permission for (2, 1) already; RC-4 has every permission for (2, 1); ENTERS (fence 0.2)
            1 release: LEAVES
            1 try: RC-1 has every permission for (3, 1) already; RC-4 has every permission for (3, 1); ENTERS (fence 0.3)
        "#]]);

    rc_1_a_node_asks_only_for_the_permissions_that_it_lacks(
        "1 acquire; rest; 1 release; 3 acquire; rest; 3 release | 1 acquire; rest", expect![[r#"
            1 acquire: RC-1 asks 3 with (3, 1); request → 3
            3 receives request from 1: RC-2 replies to (3, 1); reply → 1
            1 receives reply from 3: RC-4 has every permission for (3, 1); ENTERS (fence 0.3)
        "#]]);

    rc_2_an_idle_node_replies_to_a_request("1 acquire; 1 > 2", expect![[r#"
        1 acquire: RC-1 asks 2,3 with (1, 1); request → 2; request → 3
        2 receives request from 1: RC-2 replies to (1, 1); reply → 1
    "#]]);

    rc_2_the_holder_defers_a_request("1 acquire; rest; 2 acquire; 2 > 1", expect![[r#"
        1 acquire: RC-1 asks 2,3 with (1, 1); request → 2; request → 3
        2 receives request from 1: RC-2 replies to (1, 1); reply → 1
        3 receives request from 1: RC-2 replies to (1, 1); reply → 1
        1 receives reply from 3: RC-4 has every permission for (1, 1); ENTERS (fence 0.1)
        2 acquire: RC-1 asks 1,3 with (2, 2); request → 1; request → 3
        1 receives request from 2: RC-2 defers (2, 2): ours (1, 1) goes first
    "#]]);

    rc_2_a_request_in_the_name_of_another_is_ignored("1 acquire; 1 > 2 as 3", expect![[r#"
        1 acquire: RC-1 asks 2,3 with (1, 1); request → 2; request → 3
        2 receives request from 3: RC-2 ignores a request of 1 that came from 3
    "#]]);

    rc_3_a_reply_is_a_lasting_permission(
        of 2, "2 acquire; 2 > 1; 1 > 2; 2 release; 2 acquire", expect![[r#"
            2 acquire: RC-1 asks 1 with (1, 2); request → 1
            1 receives request from 2: RC-2 replies to (1, 2); reply → 2
            2 receives reply from 1: RC-4 has every permission for (1, 2); ENTERS (fence 0.1)
            2 release: LEAVES
            2 acquire: RC-1 has every permission for (2, 2) already; RC-4 has every permission for (2, 2); ENTERS (fence 0.2)
        "#]]);

    /// The request of 2 arrives before the reply of 2. Node 1 defers it, because its own request,
    /// which the reply answers, is older.
    rc_3_a_request_may_overtake_the_reply_of_the_same_node(
        of 2, "1 acquire; 1 > 2 | 2 acquire; 2 > 1 last; 2 > 1; 1 release; rest", expect![[r#"
            2 acquire: RC-1 asks 1 with (2, 2); request → 1
            1 receives request from 2: RC-2 defers (2, 2): ours (1, 1) goes first
            1 receives reply from 2: RC-4 has every permission for (1, 1); ENTERS (fence 0.1)
            1 release: LEAVES; RC-6 sends its deferred reply to (2, 2); reply → 2
            2 receives reply from 1: RC-4 has every permission for (2, 2); ENTERS (fence 0.2)
        "#]]);

    rc_4_a_node_with_all_permissions_enters("1 acquire; 1 > 2; 1 > 3 | 3 > 1; 2 > 1", expect![[r#"
        1 receives reply from 2: RC-4 has every permission for (1, 1); ENTERS (fence 0.1)
    "#]]);

    rc_4_the_reply_of_a_nonmember_does_not_count("1 acquire; 1 > 2; 1 > 3 | 2 > 1 as 9; 3 > 1", expect![[r#"
        nothing
    "#]]);

    /// Node 2 already has the permission of 1 and waits only for that of 3, when the older request
    /// of 1 arrives.
    rc_5_a_waiting_node_asks_again_for_a_lost_permission(
        "2 acquire; rest; 2 release; 3 acquire; rest; 3 release; 1 acquire | 2 acquire; 1 > 2; rest; 1 release;
         rest", expect![[r#"
             2 acquire: RC-1 asks 3 with (3, 2); request → 3
             2 receives request from 1: RC-2 replies to (3, 1); reply → 1; RC-5 asks 1 again with (3, 2); request → 1
             3 receives request from 1: RC-2 replies to (3, 1); reply → 1
             3 receives request from 2: RC-2 replies to (3, 2); reply → 2
             1 receives request from 2: RC-2 defers (3, 2): ours (3, 1) goes first
             1 receives reply from 3: RC-4 has every permission for (3, 1); ENTERS (fence 0.3)
             1 release: LEAVES; RC-6 sends its deferred reply to (3, 2); reply → 2
             2 receives reply from 1: RC-4 has every permission for (3, 2); ENTERS (fence 0.4)
         "#]]);

    /// The reply and the request that follows it arrive in reverse order.
    rc_5_a_repeated_request_may_overtake_the_reply(
        "2 acquire; rest; 2 release; 3 acquire; rest; 3 release; 1 acquire; 2 acquire | 1 > 2; 2 > 1 last; 2 > 1; 1 > 3;
         3 > 1; 1 release; rest", expect![[r#"
             2 receives request from 1: RC-2 replies to (3, 1); reply → 1; RC-5 asks 1 again with (3, 2); request → 1
             1 receives request from 2: RC-2 defers (3, 2): ours (3, 1) goes first
             3 receives request from 1: RC-2 replies to (3, 1); reply → 1
             1 receives reply from 3: RC-4 has every permission for (3, 1); ENTERS (fence 0.3)
             1 release: LEAVES; RC-6 sends its deferred reply to (3, 2); reply → 2
             3 receives request from 2: RC-2 replies to (3, 2); reply → 2
             2 receives reply from 3: RC-4 has every permission for (3, 2); ENTERS (fence 0.4)
         "#]]);

    /// No second request is needed: the first one is already in transit.
    rc_5_a_missing_permission_is_asked_for_once(
        "2 acquire; 1 acquire; 3 acquire | 1 > 3; 2 > 3", expect![[r#"
            3 receives request from 1: RC-2 replies to (1, 1); reply → 1
            3 receives request from 2: RC-2 replies to (1, 2); reply → 2
        "#]]);

    rc_6_a_release_sends_all_deferred_replies_and_loses_those_permissions(
        "1 acquire; rest; 2 acquire; 2 > 1; 1 release; 1 acquire | rest; 2 release; rest", expect![[r#"
            3 receives request from 2: RC-2 replies to (2, 2); reply → 2
            2 receives request from 1: RC-2 defers (3, 1): ours (2, 2) goes first
            2 receives reply from 3: RC-4 has every permission for (2, 2); ENTERS (fence 0.2)
            2 release: LEAVES; RC-6 sends its deferred reply to (3, 1); reply → 1
            1 receives reply from 2: RC-4 has every permission for (3, 1); ENTERS (fence 0.3)
        "#]]);

    a_group_of_one_sends_no_messages(of 1, "1 acquire; 1 try; 1 release; 1 try; 1 cancel; 1 release", expect![[r#"
        1 acquire: RC-1 has every permission for (1, 1) already; RC-4 has every permission for (1, 1); ENTERS (fence 0.1)
        1 try: refused: already in the critical section
        1 release: LEAVES
        1 try: RC-1 has every permission for (2, 1) already; RC-4 has every permission for (2, 1); ENTERS (fence 0.2)
        1 cancel: refused: already in the critical section
        1 release: LEAVES
    "#]]);

    // Cancelled requests and tries.

    /// The reply of 2 to (1, 1) arrives when 2 has the permission of 1. If it counted, each would
    /// have the other's.
    rc_3_a_late_reply_to_a_cancelled_request_is_no_permission(
        of 2, "1 acquire; 1 > 2; 1 cancel; 2 acquire; 2 > 1 last; 1 > 2 | 2 > 1; 1 acquire; 2 release;
               rest", expect![[r#"
                   1 receives reply from 2: RC-3 ignores a reply to (1, 1): that request is not pending
                   1 acquire: RC-1 asks 2 with (3, 1); request → 2
                   2 release: LEAVES
                   2 receives request from 1: RC-2 replies to (3, 1); reply → 1
                   1 receives reply from 2: RC-4 has every permission for (3, 1); ENTERS (fence 0.2)
               "#]]);

    rc_3_a_late_reply_to_a_cancelled_request_does_not_count_for_the_next_one(
        of 2, "1 acquire; 1 > 2; 1 cancel; 2 acquire | 2 > 1 last; 1 > 2; 1 acquire; 2 > 1", expect![[r#"
            1 receives request from 2: RC-2 replies to (2, 2); reply → 2
            2 receives reply from 1: RC-4 has every permission for (2, 2); ENTERS (fence 0.1)
            1 acquire: RC-1 asks 2 with (3, 1); request → 2
            1 receives reply from 2: RC-3 ignores a reply to (1, 1): that request is not pending
        "#]]);

    /// Node 1 has cancelled (1, 1) when it replies to (1, 2). Node 2 cannot know, and asks once
    /// more than necessary.
    rc_5_even_a_cancelled_request_takes_a_permission_away(
        "1 acquire; 1 cancel; 2 acquire; 2 > 1; 1 > 2 last; 1 > 2; rest", expect![[r#"
            1 acquire: RC-1 asks 2,3 with (1, 1); request → 2; request → 3
            1 cancel: cancelled
            2 acquire: RC-1 asks 1,3 with (1, 2); request → 1; request → 3
            1 receives request from 2: RC-2 replies to (1, 2); reply → 2
            2 receives request from 1: RC-2 replies to (1, 1); reply → 1; RC-5 asks 1 again with (1, 2); request → 1
            3 receives request from 1: RC-2 replies to (1, 1); reply → 1
            3 receives request from 2: RC-2 replies to (1, 2); reply → 2
            1 receives reply from 2: RC-3 ignores a reply to (1, 1): that request is not pending
            1 receives request from 2: RC-2 replies to (1, 2); reply → 2
            1 receives reply from 3: RC-3 ignores a reply to (1, 1): that request is not pending
            2 receives reply from 1: RC-4 has every permission for (1, 2); ENTERS (fence 0.1)
        "#]]);

    rc_7_a_cancellation_sends_all_deferred_replies_and_keeps_the_other_permissions(
        "1 acquire; 1 > 3; 3 > 1; 2 acquire | 2 > 1; 1 cancel; 1 acquire", expect![[r#"
            1 receives request from 2: RC-2 defers (1, 2): ours (1, 1) goes first
            1 cancel: cancelled; RC-7 sends its deferred reply to (1, 2); reply → 2
            1 acquire: RC-1 asks 2 with (2, 1); request → 2
        "#]]);

    rc_8_a_try_is_denied_by_the_holder(
        "1 acquire; rest | 2 try; 2 > 3; 3 > 2; 2 > 1; 1 > 2; 1 release; 2 acquire", expect![[r#"
            2 try: RC-1 asks 1,3 with (2, 2); request → 1; request → 3
            3 receives request from 2: RC-2 replies to (2, 2); reply → 2
            1 receives request from 2: RC-8 denies (2, 2); denied → 2
            2 receives denied from 1: denied
            1 release: LEAVES
            2 acquire: RC-1 asks 1 with (3, 2); request → 1
        "#]]);

    rc_8_a_try_is_denied_by_an_older_request_and_permitted_by_a_younger_one(
        "1 acquire; 2 try; 3 acquire; 2 > 3; 2 > 1", expect![[r#"
            1 acquire: RC-1 asks 2,3 with (1, 1); request → 2; request → 3
            2 try: RC-1 asks 1,3 with (1, 2); request → 1; request → 3
            3 acquire: RC-1 asks 1,2 with (1, 3); request → 1; request → 2
            3 receives request from 2: RC-2 replies to (1, 2); reply → 2
            1 receives request from 2: RC-8 denies (1, 2); denied → 2
        "#]]);

    rc_8_a_denied_try_sends_all_deferred_replies(
        "1 acquire; 2 try; 3 acquire | 3 > 2; 2 > 1; 1 > 2 last", expect![[r#"
            2 receives request from 3: RC-2 defers (1, 3): ours (1, 2) goes first
            1 receives request from 2: RC-8 denies (1, 2); denied → 2
            2 receives denied from 1: denied; RC-8 sends its deferred reply to (1, 3); reply → 3
        "#]]);

    /// The try has the permission of 1 and waits only for that of 3, when the older request of 1
    /// arrives.
    rc_8_a_try_that_would_have_to_ask_again_is_denied(
        "2 acquire; rest; 2 release; 3 acquire; rest; 3 release; 1 acquire; 2 try; 1 > 2; rest", expect![[r#"
            2 acquire: RC-1 asks 1,3 with (1, 2); request → 1; request → 3
            1 receives request from 2: RC-2 replies to (1, 2); reply → 2
            3 receives request from 2: RC-2 replies to (1, 2); reply → 2
            2 receives reply from 3: RC-4 has every permission for (1, 2); ENTERS (fence 0.1)
            2 release: LEAVES
            3 acquire: RC-1 asks 1,2 with (2, 3); request → 1; request → 2
            1 receives request from 3: RC-2 replies to (2, 3); reply → 3
            2 receives request from 3: RC-2 replies to (2, 3); reply → 3
            3 receives reply from 2: RC-4 has every permission for (2, 3); ENTERS (fence 0.2)
            3 release: LEAVES
            1 acquire: RC-1 asks 2,3 with (3, 1); request → 2; request → 3
            2 try: RC-1 asks 3 with (3, 2); request → 3
            2 receives request from 1: RC-2 replies to (3, 1); reply → 1; denied
            3 receives request from 1: RC-2 replies to (3, 1); reply → 1
            3 receives request from 2: RC-2 replies to (3, 2); reply → 2
            1 receives reply from 3: RC-4 has every permission for (3, 1); ENTERS (fence 0.3)
            2 receives reply from 3: RC-3 ignores a reply to (3, 2): that request is not pending
        "#]]);

    rc_8_the_denial_of_a_nonmember_does_not_count(of 2, "1 acquire; rest; 2 try; 2 > 1; 1 > 2 as 9", expect![[r#"
        1 acquire: RC-1 asks 2 with (1, 1); request → 2
        2 receives request from 1: RC-2 replies to (1, 1); reply → 1
        1 receives reply from 2: RC-4 has every permission for (1, 1); ENTERS (fence 0.1)
        2 try: RC-1 asks 1 with (2, 2); request → 1
        1 receives request from 2: RC-8 denies (2, 2); denied → 2
    "#]]);

    rc_8_of_two_tries_one_enters(of 2, "1 try; 2 try; rest", expect![[r#"
        1 try: RC-1 asks 2 with (1, 1); request → 2
        2 try: RC-1 asks 1 with (1, 2); request → 1
        2 receives request from 1: RC-2 replies to (1, 1); reply → 1
        1 receives request from 2: RC-8 denies (1, 2); denied → 2
        1 receives reply from 2: RC-4 has every permission for (1, 1); ENTERS (fence 0.1)
        2 receives denied from 1: denied
    "#]]);
}

/// The maximum is 2(n−1), which is 6 messages for four nodes. Later entries may cost nothing.
#[test]
fn the_first_entry_of_each_node_has_the_maximum_cost() {
    let group = Group::of_size(4);
    let message_count = |load, entries| (FACTS.cost.message_count)(&Case { group: &group, load }, entries);
    let alone = Load::OneNode(NodeId::from_index(2));
    assert_eq!([0, 1, 9].map(|entries| message_count(alone, entries).exact()), [Some(0), Some(6), Some(6)]);
    assert_eq!([1, 4].map(|entries| message_count(Load::AllNodes, entries).exact()), [Some(6), Some(24)]);
    assert_eq!(message_count(Load::AllNodes, 10), Range::between(24, 60));
    assert_eq!(message_count(Load::SomeNodes, 10), Range::between(6, 60));
}
