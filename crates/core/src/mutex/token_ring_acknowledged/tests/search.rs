//! Tests of the search for a token that does not arrive, and of the new token for a lost one. In a
//! script, `1 > 2` delivers the oldest message from node 1 to node 2; `1 fires` fires the oldest
//! timer of node 1; `of 2` before a script sets the group size. Traces omit the steps before `|`
//! and those without effect (see `crate::mutex::rules`). In a trace, `fence 0.1` has epoch 0 and
//! counter 1. The epoch is the generation of the token. An entry increments the counter, and so
//! does a pass of the token that is not acknowledged in time.

use super::super::{Message, PassContent, PassNumber, Search};
use super::ring;
use crate::effects::Effect;
use crate::group::Epoch;
use crate::mutex::prelude::*;
use crate::mutex::rules::rule_tests;
use crate::testing::ScriptGroup;
use expect_test::expect;

rule_tests! { ring, 3;
    /// Node 1 stays in the critical section. Node 3 searches again when its round timer fires
    /// again.
    ta_8_a_search_stops_at_the_node_with_the_token(
        "1 acquire; 3 acquire; 3 fires; 3 > 1; 1 > 3 | 3 fires; 3 > 1", expect![[r#"
            3 timer: TA-8 searches for the token, to create one of generation 2; search → 1
            1 receives search from 3: acknowledgement → 3; TA-9 stops the search of 3: the token is here
        "#]]);

    /// Node 2 has crashed, and node 3 has not acknowledged the token yet.
    ta_8_a_node_that_is_passing_the_token_on_does_not_search(
        "1 fires; 1 acquire; 1 fires | 1 fires; 1 > 3; 3 > 1", expect![[r#"
            1 timer: TA-8 does not search: it is still passing the token on
            3 receives token from 1: acknowledgement → 1; TA-2 passes the token on; token → 1
        "#]]);

    /// The token has reached node 2, but node 1 has no acknowledgement yet. As far as node 1 knows,
    /// the token is still in transit, and the search could overtake it.
    ta_9_a_search_stops_while_the_token_is_not_acknowledged(
        "3 acquire; 1 fires; 1 > 2 | 3 fires; 3 > 1; 2 > 1; 2 > 3", expect![[r#"
            3 timer: TA-8 searches for the token, to create one of generation 1; search → 1
            1 receives search from 3: acknowledgement → 3; TA-9 stops the search of 3: the token has just left
            3 receives token from 2: acknowledgement → 2; TA-2 keeps the token; ENTERS (fence 0.1)
        "#]]);

    ta_9_a_search_follows_the_token_after_its_acknowledgement(
        "3 acquire; 2 acquire; 1 fires; 1 > 2; 2 > 1; 3 fires | 3 > 1; 1 > 2", expect![[r#"
            1 receives search from 3: acknowledgement → 3; TA-9 passes the search of 3 on; search → 2
            2 receives search from 1: acknowledgement → 1; TA-9 stops the search of 3: the token is here
        "#]]);

    /// Node 1 has crashed with the token.
    ta_9_of_two_concurrent_searches_the_higher_member_creates_the_token(
        "2 acquire; 3 acquire; 2 fires; 3 fires | 2 > 3; 3 > 2; 3 fires; 3 > 2; 2 > 3; 2 > 3; 3 release; 3 > 2;
         3 > 2", expect![[r#"
             3 receives search from 2: acknowledgement → 2; TA-9 stops the search of 2, which is lower
             3 timer: TA-3 suspects 1, and skips it; search → 2
             2 receives search from 3: acknowledgement → 3; TA-9 ends its own search: 3 is higher; TA-9 passes the search of 3 on; search → 3
             3 receives search from 2: acknowledgement → 2; TA-10 creates a new token: no node has one; TA-10 keeps the token; ENTERS (fence 1.1)
             3 release: LEAVES; TA-4 passes the token on; token → 2
             2 receives token from 3: acknowledgement → 3; TA-2 keeps the token; ENTERS (fence 1.2)
         "#]]);

    /// Nodes 1 and 2 have crashed, node 1 with the token.
    ta_9_a_search_skips_crashed_members(of 4, "3 acquire; 3 fires | 3 > 4; 4 > 3; 4 fires; 4 fires; 4 > 3", expect![[r#"
        4 receives search from 3: acknowledgement → 3; TA-9 passes the search of 3 on; search → 1
        4 timer: TA-3 suspects 1, and skips it; search → 2
        4 timer: TA-3 suspects 2, and skips it; search → 3
        3 receives search from 4: acknowledgement → 4; TA-10 creates a new token: no node has one; TA-10 keeps the token; ENTERS (fence 1.1)
    "#]]);

    /// Node 3 crashes in the critical section, and node 2 after it has started the search.
    ta_9_the_search_of_a_crashed_starter_goes_round_once(
        of 4, "3 acquire; 1 fires; 1 > 2; 2 > 1; 2 > 3; 3 > 2; 2 acquire; 2 fires | 2 fires; 2 > 4; 4 > 1;
               1 fires", expect![[r#"
                   2 timer: TA-3 suspects 3, and skips it; search → 4
                   4 receives search from 2: acknowledgement → 2; TA-9 passes the search of 2 on; search → 1
                   1 receives search from 4: acknowledgement → 4; TA-9 passes the search of 2 on; search → 2
                   1 timer: TA-3 suspects 2, and skips it; TA-3 drops the search of 2, which has crashed
               "#]]);

    /// Node 2 crashes in the critical section.
    ta_10_a_search_that_returns_creates_a_new_token(
        "2 acquire; 1 fires; 1 > 2; 2 > 1; 3 acquire; 3 fires; 3 > 1; 1 > 3 | 1 fires; 1 > 3; 3 release;
         3 > 1", expect![[r#"
             1 timer: TA-3 suspects 2, and skips it; search → 3
             3 receives search from 1: acknowledgement → 1; TA-10 creates a new token: no node has one; TA-10 keeps the token; ENTERS (fence 1.1)
             3 release: LEAVES; TA-4 passes the token on; token → 1
         "#]]);

    ta_10_a_search_returns_without_effect_if_the_token_has_arrived(
        "1 acquire; 2 acquire | 2 fires; 2 > 3; 3 > 2; 1 release; 1 > 2; 2 > 1; 3 > 1; 1 > 3; 1 > 2", expect![[r#"
            2 timer: TA-8 searches for the token, to create one of generation 1; search → 3
            3 receives search from 2: acknowledgement → 2; TA-9 passes the search of 2 on; search → 1
            1 release: LEAVES; TA-4 passes the token on; token → 2
            2 receives token from 1: acknowledgement → 1; TA-2 keeps the token; ENTERS (fence 0.2)
            1 receives search from 3: acknowledgement → 3; TA-9 passes the search of 2 on; search → 2
            2 receives search from 1: acknowledgement → 1; TA-10 ignores its own search, which has ended
        "#]]);

    /// Node 1 has crashed with the token.
    ta_10_the_last_live_node_creates_a_new_token(
        of 2, "2 acquire; 2 fires | 2 fires; 2 release; 2 acquire", expect![[r#"
            2 timer: TA-3 suspects 1, and skips it; TA-10 creates a new token: no node has one; TA-10 keeps the token; ENTERS (fence 1.1)
            2 release: LEAVES; TA-12 keeps the token: all others have crashed
            2 acquire: TA-1 has the token here; ENTERS (fence 1.2)
        "#]]);

    /// Outside the synchronous model: the acknowledgement of node 2 is late, and nodes 2 and 3 both
    /// enter. Node 3 enters second and has the larger fence, so it drops the token of node 2.
    ta_11_a_token_older_than_the_youngest_that_was_here_is_dropped(
        "2 acquire; 3 acquire; 1 fires; 1 > 2; 1 fires; 1 > 3; 3 release | 2 release; 2 > 3; 3 > 2", expect![[r#"
            2 release: LEAVES; TA-4 passes the token on; token → 3
            3 receives token from 2: acknowledgement → 2; TA-11 drops a token with fence 0.1: one with fence 0.2 was here
        "#]]);

    /// Outside the synchronous model: the acknowledgement of node 2 is late. Node 3 is in the
    /// critical section with the token that node 2 has passed on when the other arrives. Both have
    /// fence 0.1.
    ta_11_a_node_with_two_tokens_keeps_one(
        "1 fires; 1 > 2; 3 acquire; 2 > 3; 1 fires | 1 > 3; 3 release", expect![[r#"
            3 receives token from 1: acknowledgement → 1; TA-11 drops a token with fence 0.1, and keeps the other
            3 release: LEAVES; TA-4 passes the token on; token → 1
        "#]]);
}

/// If the node passed it on, the search would go round forever.
#[test]
fn ta_9_the_search_of_a_nonmember_is_acknowledged_and_dropped() {
    let mut node = ring(NodeId::from_index(1), Group::of_size(3));
    let search = Search { starter: NodeId::from_index(8), generation: Epoch(1) };
    let message = Message::Pass { number: PassNumber(7), content: PassContent::Search(search) };
    let mut effects = Vec::new();
    node.step(Time::ZERO, Input::Message { from: NodeId::from_index(0), message }, &mut Effects::new(&mut effects));
    assert!(matches!(effects[..], [Effect::Send { message: Message::Acknowledgement(PassNumber(7)), .. }]));
}

/// There is one timer for the token's rest, and one for each waiting node.
#[test]
fn ta_8_a_waiting_node_has_a_round_timer_until_it_cancels() {
    let mut group = ScriptGroup::new(2, ring);
    let waiter = NodeId::from_index(1);
    group.command(waiter, Command::Acquire);
    assert_eq!(group.timer_count(), 2);
    group.command(waiter, Command::Cancel);
    assert_eq!(group.timer_count(), 1);
}
