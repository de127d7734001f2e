//! Rules of groups that stand: who belongs to one, and how its members look after each other.

use super::{check, check_settled};
use expect_test::expect;

#[test]
fn in_8_only_the_group_that_was_joined_is_ready() {
    check(
        3,
        "3 campaign; 3 > 1; 1 > 3; 3 fires; 3 > 1; 1 > 3; 3 > 1 as 2; 1 fires",
        expect![[r#"
            3 campaign: IN-1 is alone, and asks who coordinates a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3
            1 hears check from 3: knows no leader (epoch 0); Invitation in 8ms; IN-2 lets 3 know of it; found → 3
            3 hears found from 1: nothing
            3 Found: saves; IN-4 forms a group in epoch 5, and invites 1; LEADER IS 3 (epoch 5); invitation → 1; Watch in 8ms
            1 hears invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 5; knows no leader (epoch 5); accept → 3; Ready in 4ms
            3 hears accept from 1: IN-7 takes 1 into its group; ready → 1
            1 hears ready from 2: nothing
            1 Ready: IN-11 is alone, and asks who coordinates a group; knows no leader (epoch 5); Found in 3ms; check → 1,2,3
        "#]],
    );
}

#[test]
fn in_9_members_and_coordinators_look_after_each_other() {
    check_settled(
        "1 fires; rest; 3 fires; rest",
        expect![[r#"
            1 Watch: query → 3; Watch in 8ms
            3 hears query from 1: here → 1
            1 hears here from 3: nothing
            3 Watch: Watch in 8ms
        "#]],
    );
}

#[test]
fn in_10_a_member_learns_how_things_are() {
    check_settled(
        "
        1 fires; 3 campaign; 1 > 3; 3 > 1 last; 1 > 3; 3 > 1 last; 3 crashes; 3 boots; 1 fires
        1 > 3; 3 > 1 last
        ",
        expect![[r#"
            1 Watch: query → 3; Watch in 8ms
            3 campaign: saves; IN-12 forms a group in epoch 8, and invites 2; LEADER IS 3 (epoch 8); invitation → 1,2; Watch in 8ms
            3 hears query from 1: IN-10 invites 1, which is in epoch 5, to 8; invitation → 1
            1 hears invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 8; knows no leader (epoch 8); accept → 3; Ready in 4ms
            3 hears accept from 1: IN-7 takes 1 into its group; ready → 1
            1 hears ready from 3: IN-8 is in the group of 3; LEADER IS 3 (epoch 8); Watch in 8ms
            3 boots: IN-1 is alone, and asks who coordinates a group; knows no leader (epoch 8); Found in 3ms; check → 1,2,3
            1 Watch: query → 3; Watch in 8ms
            3 hears query from 1: IN-10 tells 1 that the group of epoch 8 is gone; gone → 1
            1 hears gone from 3: IN-11 is alone, and asks who coordinates a group; knows no leader (epoch 8); Found in 3ms; check → 1,2,3
        "#]],
    );
}

#[test]
fn in_11_a_coordinator_that_is_dead_or_silent_is_left() {
    check_settled(
        "1 suspects 2; 1 suspects 3; 3 crashes; 2 fires; 2 fires; 2 fires; 2 fires",
        expect![[r#"
            1 suspects 2: nothing
            1 suspects 3: IN-11 is alone, and asks who coordinates a group; knows no leader (epoch 5); Found in 3ms; check → 1,2,3
            2 Watch: query → 3; Watch in 8ms
            2 Watch: query → 3; Watch in 8ms
            2 Watch: query → 3; Watch in 8ms
            2 Watch: IN-11 has not heard of 3 for long; IN-11 is alone, and asks who coordinates a group; knows no leader (epoch 5); Found in 3ms; check → 1,2,3
        "#]],
    );
}

/// Node 3 was alone for a while, and its epochs are behind.
#[test]
fn in_12_a_group_takes_a_later_epoch_for_a_newcomer_that_knows_one() {
    check(
        3,
        "
        3 campaign; 3 > 1; 1 > 3; 3 fires; 3 > 1; 1 > 3; 3 > 1; lose 3 > 2; 2 campaign; 2 fires
        2 campaign; 2 campaign; 3 fires; rest
        ",
        expect![[r#"
            3 campaign: IN-1 is alone, and asks who coordinates a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3
            1 hears check from 3: knows no leader (epoch 0); Invitation in 8ms; IN-2 lets 3 know of it; found → 3
            3 hears found from 1: nothing
            3 Found: saves; IN-4 forms a group in epoch 5, and invites 1; LEADER IS 3 (epoch 5); invitation → 1; Watch in 8ms
            1 hears invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 5; knows no leader (epoch 5); accept → 3; Ready in 4ms
            3 hears accept from 1: IN-7 takes 1 into its group; ready → 1
            1 hears ready from 3: IN-8 is in the group of 3; LEADER IS 3 (epoch 5); Watch in 8ms
            2 campaign: IN-1 is alone, and asks who coordinates a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3
            2 Found: saves; IN-4 forms a group in epoch 4, and invites 0; LEADER IS 2 (epoch 4); Watch in 8ms
            2 campaign: saves; IN-12 forms a group in epoch 7, and invites 0; LEADER IS 2 (epoch 7); Watch in 8ms
            2 campaign: saves; IN-12 forms a group in epoch 10, and invites 0; LEADER IS 2 (epoch 10); Watch in 8ms
            3 Watch: check → 2; Watch in 8ms
            1 hears check from 2: nothing
            3 hears check from 2: IN-3 invites 2; invitation → 2
            2 hears check from 3: IN-2 lets 3 know of it; found → 3
            2 hears invitation from 3: IN-6 cannot be in epoch 5: it was in 10 already; found → 3
            3 hears found from 2: saves; IN-12 forms a group in epoch 14, and invites 2; LEADER IS 3 (epoch 14); invitation → 1,2; Watch in 8ms
            3 hears found from 2: IN-3 invites 2; invitation → 2
            1 hears invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 14; knows no leader (epoch 14); accept → 3; Ready in 4ms
            2 hears invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 14; knows no leader (epoch 14); accept → 3; Ready in 4ms
            2 hears invitation from 3: accept → 3
            3 hears accept from 1: IN-7 takes 1 into its group; ready → 1
            3 hears accept from 2: IN-7 takes 2 into its group; ready → 2
            3 hears accept from 2: IN-7 takes 2 into its group; ready → 2
            1 hears ready from 3: IN-8 is in the group of 3; LEADER IS 3 (epoch 14); Watch in 8ms
            2 hears ready from 3: IN-8 is in the group of 3; LEADER IS 3 (epoch 14); Watch in 8ms
            2 hears ready from 3: nothing
        "#]],
    );
}
