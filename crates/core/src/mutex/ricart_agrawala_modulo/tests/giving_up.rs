//! Those who do not wait for ever: requests that are given up.

use super::{check, check_group};
use expect_test::expect;

/// Node 2 waits for the replies to a request that nobody wants any more. The request waits for nobody who would not
/// go before 2 as well.
#[test]
fn rm_5_asked_to_give_up_a_node_leaves_its_request_out_until_all_have_answered() {
    check(
        "1 acquire; 2 acquire; 2 > 1; 2 > 3; 3 > 2; 1 cancel; rest",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 acquire: RM-1 asks everyone with (1, 2); request → all
            1 hears request from 2: RM-2 defers (1, 2): ours (1, 1) goes first
            3 hears request from 2: RM-2 lets (1, 2) pass; reply → 2
            2 hears reply from 3: nothing
            1 cancel: cancelled; RM-5 will rest when all have answered
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RM-3 lets 2 pass at last; reply → 2
            2 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
        "#]],
    );
}

#[test]
fn rm_3_all_answers_to_a_request_are_in_that_nobody_wants_any_more() {
    check_group(
        2,
        "1 acquire; 2 acquire; 2 > 1; 1 cancel; 1 > 2; 2 > 1; 1 > 2",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 acquire: RM-1 asks everyone with (1, 2); request → all
            1 hears request from 2: RM-2 defers (1, 2): ours (1, 1) goes first
            1 cancel: cancelled; RM-5 will rest when all have answered
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: RM-3 lets 2 pass at last; reply → 2
            2 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
        "#]],
    );
}

#[test]
fn rm_1_who_gave_up_asks_anew_when_all_have_answered() {
    check(
        "1 acquire; 1 cancel; 1 acquire; 1 acquire; 1 try; rest",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            1 cancel: cancelled; RM-5 will rest when all have answered
            1 acquire: RM-1 will ask when all have answered what it asked last
            1 acquire: refused: a request is already under way
            1 try: refused: a request is already under way
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RM-1 asks everyone with (2, 1); request → all
            2 hears request from 1: RM-2 lets (2, 1) pass; reply → 1
            3 hears request from 1: RM-2 lets (2, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
        "#]],
    );
}

/// Node 2 asked while the abandoned request of 1 was out, and goes before the new one.
#[test]
fn rm_1_who_gives_up_and_asks_anew_has_lost_its_place() {
    check_group(
        2,
        "1 acquire; 2 acquire; 1 cancel; 1 acquire; rest; 2 release; rest",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 acquire: RM-1 asks everyone with (1, 2); request → all
            1 cancel: cancelled; RM-5 will rest when all have answered
            1 acquire: RM-1 will ask when all have answered what it asked last
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears request from 2: RM-2 defers (1, 2): ours (1, 1) goes first
            1 hears reply from 2: RM-3 lets 2 pass at last; reply → 2; RM-1 asks everyone with (2, 1); request → all
            2 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
            2 hears request from 1: RM-2 defers (2, 1): we are inside
            2 release: LEAVES; RM-4 lets 1 pass at last; reply → 1
            1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
        "#]],
    );
}

#[test]
fn rm_5_a_request_that_is_not_sent_yet_never_will_be() {
    check_group(
        2,
        "1 acquire; 1 cancel; 1 acquire; 1 cancel; 1 cancel; rest; 1 cancel",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            1 cancel: cancelled; RM-5 will rest when all have answered
            1 acquire: RM-1 will ask when all have answered what it asked last
            1 cancel: cancelled; RM-5 will rest when all have answered
            1 cancel: refused: no request is under way
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 cancel: refused: no request is under way
        "#]],
    );
}

#[test]
fn rm_5_a_node_that_does_not_wait_cannot_give_up() {
    check(
        "1 cancel; 1 acquire; rest; 1 cancel",
        expect![[r#"
            1 cancel: refused: no request is under way
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
            1 cancel: refused: already inside
        "#]],
    );
}

/// If 1 let 2 pass, 2 could enter three times before it hears of (1, 1). It would be at 0 by then, take 1 for the later
/// number and ask with 2 the next time; and 1, at 0 too, would take 2 for the earlier one.
#[test]
fn rm_5_nobody_counts_away_from_an_abandoned_request() {
    check_group(
        2,
        "1 acquire; 1 cancel; 2 acquire; 2 > 1; rest",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            1 cancel: cancelled; RM-5 will rest when all have answered
            2 acquire: RM-1 asks everyone with (1, 2); request → all
            1 hears request from 2: RM-2 defers (1, 2): ours (1, 1) goes first
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: RM-3 lets 2 pass at last; reply → 2
            2 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
        "#]],
    );
}
