//! The search for a token that does not come, and the new one for a lost one.

use super::super::{Cargo, Message, Number, Search};
use super::ring;
use crate::effects::Effect;
use crate::group::Epoch;
use crate::mutex::prelude::*;
use crate::mutex::rules::rules;
use crate::testing::ScriptGroup;
use expect_test::expect;

rules! { ring, 3;
    /// Node 1 stays inside for as long as it likes. Node 3 searches again when its patience ends again.
    ta_8_one_whose_patience_ends_searches_and_one_who_has_the_token_stops_it(
        "1 acquire; 3 acquire; 3 fires; 3 > 1; 1 > 3 | 3 fires; 3 > 1", expect![[r#"
            3 timer: TA-8 searches for the token, to make one of generation 2; search → 1
            1 hears search from 3: received → 3; TA-9 stops the search of 3: the token is here
        "#]]);

    /// Node 2 is dead, and node 3 has not acknowledged the token yet.
    ta_8_one_who_still_passes_the_token_on_does_not_search(
        "1 fires; 1 acquire; 1 fires | 1 fires; 1 > 3; 3 > 1", expect![[r#"
            1 timer: TA-8 does not search: it still passes the token on
            3 hears token from 1: received → 1; TA-2 passes the token on; token → 1
        "#]]);

    /// The token has reached node 2, but node 1 has not heard that yet. It could be still under way, and the search overtake it.
    ta_9_a_search_stops_where_the_token_has_not_been_acknowledged(
        "3 acquire; 1 fires; 1 > 2 | 3 fires; 3 > 1; 2 > 1; 2 > 3", expect![[r#"
            3 timer: TA-8 searches for the token, to make one of generation 1; search → 1
            1 hears search from 3: received → 3; TA-9 stops the search of 3: the token has just left
            3 hears token from 2: received → 2; TA-2 keeps the token; ENTERS (fence 0.1)
        "#]]);

    ta_9_a_search_follows_the_token_where_it_has_been_acknowledged(
        "3 acquire; 2 acquire; 1 fires; 1 > 2; 2 > 1; 3 fires | 3 > 1; 1 > 2", expect![[r#"
            1 hears search from 3: received → 3; TA-9 passes the search of 3 on; search → 2
            2 hears search from 1: received → 1; TA-9 stops the search of 3: the token is here
        "#]]);

    /// Node 1 is dead, and the token with it.
    ta_9_of_two_who_search_at_once_the_higher_makes_the_token(
        "2 acquire; 3 acquire; 2 fires; 3 fires | 2 > 3; 3 > 2; 3 fires; 3 > 2; 2 > 3; 2 > 3; 3 release; 3 > 2;
         3 > 2", expect![[r#"
            3 hears search from 2: received → 2; TA-9 stops the search of 2, which is lower
            3 timer: TA-3 takes 1 for dead, and skips it; search → 2
            2 hears search from 3: received → 3; TA-9 ends its own search: 3 is higher; TA-9 passes the search of 3 on; search → 3
            3 hears search from 2: received → 2; TA-10 makes a new token: nobody has one; TA-10 keeps the token; ENTERS (fence 1.1)
            3 release: LEAVES; TA-4 passes the token on; token → 2
            2 hears token from 3: received → 3; TA-2 keeps the token; ENTERS (fence 1.2)
        "#]]);

    /// Nodes 1 and 2 are dead, and the token with one of them.
    ta_9_a_search_skips_the_dead(of 4, "3 acquire; 3 fires | 3 > 4; 4 > 3; 4 fires; 4 fires; 4 > 3", expect![[r#"
        4 hears search from 3: received → 3; TA-9 passes the search of 3 on; search → 1
        4 timer: TA-3 takes 1 for dead, and skips it; search → 2
        4 timer: TA-3 takes 2 for dead, and skips it; search → 3
        3 hears search from 4: received → 4; TA-10 makes a new token: nobody has one; TA-10 keeps the token; ENTERS (fence 1.1)
    "#]]);

    /// Node 3 dies inside, and node 2 after it has started the search.
    ta_9_the_search_of_one_who_is_dead_goes_round_once(
        of 4, "3 acquire; 1 fires; 1 > 2; 2 > 1; 2 > 3; 3 > 2; 2 acquire; 2 fires | 2 fires; 2 > 4; 4 > 1;
               1 fires", expect![[r#"
            2 timer: TA-3 takes 3 for dead, and skips it; search → 4
            4 hears search from 2: received → 2; TA-9 passes the search of 2 on; search → 1
            1 hears search from 4: received → 4; TA-9 passes the search of 2 on; search → 2
            1 timer: TA-3 takes 2 for dead, and skips it; TA-3 drops the search of 2, which is dead
        "#]]);

    /// Node 2 dies inside.
    ta_10_a_search_that_comes_back_makes_a_new_token(
        "2 acquire; 1 fires; 1 > 2; 2 > 1; 3 acquire; 3 fires; 3 > 1; 1 > 3 | 1 fires; 1 > 3; 3 release;
         3 > 1", expect![[r#"
            1 timer: TA-3 takes 2 for dead, and skips it; search → 3
            3 hears search from 1: received → 1; TA-10 makes a new token: nobody has one; TA-10 keeps the token; ENTERS (fence 1.1)
            3 release: LEAVES; TA-4 passes the token on; token → 1
        "#]]);

    ta_10_a_search_that_the_token_has_overtaken_means_nothing(
        "1 acquire; 2 acquire | 2 fires; 2 > 3; 3 > 2; 1 release; 1 > 2; 2 > 1; 3 > 1; 1 > 3; 1 > 2", expect![[r#"
            2 timer: TA-8 searches for the token, to make one of generation 1; search → 3
            3 hears search from 2: received → 2; TA-9 passes the search of 2 on; search → 1
            1 release: LEAVES; TA-4 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-2 keeps the token; ENTERS (fence 0.2)
            1 hears search from 3: received → 3; TA-9 passes the search of 2 on; search → 2
            2 hears search from 1: received → 1; TA-10 ignores its own search, which has ended
        "#]]);

    /// Node 1 is dead, and the token with it.
    ta_10_one_who_is_left_alone_makes_a_new_token(
        of 2, "2 acquire; 2 fires | 2 fires; 2 release; 2 acquire", expect![[r#"
            2 timer: TA-3 takes 1 for dead, and skips it; TA-10 makes a new token: nobody has one; TA-10 keeps the token; ENTERS (fence 1.1)
            2 release: LEAVES; TA-12 keeps the token: nobody else is alive
            2 acquire: TA-1 has the token here; ENTERS (fence 1.2)
        "#]]);

    /// This is not the synchronous model: the acknowledgement of node 2 is late, and two are inside. The fence of the second is
    /// larger, and the token of the first is put away where the second has been.
    ta_11_a_token_that_is_older_than_the_last_one_is_put_away(
        "2 acquire; 3 acquire; 1 fires; 1 > 2; 1 fires; 1 > 3; 3 release | 2 release; 2 > 3; 3 > 2", expect![[r#"
            2 release: LEAVES; TA-4 passes the token on; token → 3
            3 hears token from 2: received → 2; TA-11 puts a token with 0.1 away: 0.2 was here
        "#]]);

    /// This is not the synchronous model: the acknowledgement of node 2 is late. Node 3 is inside with the token that node 2
    /// has passed on when the other comes.
    ta_11_of_two_tokens_at_one_node_the_younger_stays(
        "1 fires; 1 > 2; 3 acquire; 2 > 3; 1 fires | 1 > 3; 3 release", expect![[r#"
            3 hears token from 1: received → 1; TA-11 puts a token with 0.1 away, and keeps the other
            3 release: LEAVES; TA-4 passes the token on; token → 1
        "#]]);
}

/// It would go round for ever.
#[test]
fn ta_9_the_search_of_one_who_is_no_member_is_acknowledged_and_goes_no_further() {
    let mut node = ring(NodeId::from_index(1), Group::of_size(3));
    let search = Search { starter: NodeId::from_index(8), generation: Epoch(1) };
    let message = Message::Pass { number: Number(7), cargo: Cargo::Search(search) };
    let mut effects = Vec::new();
    node.step(Time::ZERO, Input::Message { from: NodeId::from_index(0), message }, &mut Effects::new(&mut effects));
    assert!(matches!(effects[..], [Effect::Send { message: Message::Received(Number(7)), .. }]));
}

/// There is one timer for the token's rest, and one for each that waits.
#[test]
fn ta_8_whoever_waits_has_patience_until_it_gives_up() {
    let mut stage = ScriptGroup::new(2, ring);
    let two = NodeId::from_index(1);
    stage.command(two, Command::Acquire);
    assert_eq!(stage.timers(), 2);
    stage.command(two, Command::Cancel);
    assert_eq!(stage.timers(), 1);
}
