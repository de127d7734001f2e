//! The rules of super-peers, and who moves when peers come and go.
//!
//! In the group of the scripts, the ids of five nodes have eight bits, of which one is reserved. By their ids nodes 2, 1 and 3 are in
//! region 0, in this order, and 4 and 5 in region 1.

mod crowd;

use super::{Reached, SuperPeer};
use crate::election::{Overlay, Plan, drill};
use crate::group::{Epoch, Group};
use crate::mutex::rules::rules;
use crate::node::NodeId;
use crate::testing::ScriptGroup;
use alloc::sync::Arc;
use expect_test::expect;

fn plan(group: &Group, overlay: Overlay) -> Arc<Plan> {
    Arc::new(Plan { overlay, ..drill::plan(group.len()) })
}

fn peer(me: NodeId, group: Group) -> SuperPeer {
    let overlay = Overlay::new(group.len(), 35, 8, 1);
    SuperPeer::new(me, plan(&group, overlay))
}

rules! { peer, 5;
    /// Three nodes are booted already: 1 and 3 have asked 2, and 5 has asked 4.
    sp_1_whoever_boots_or_campaigns_attaches_to_the_first_of_its_region(
        "1 campaign; 2 campaign; rest; 1 campaign; 1 resign; 2 resign; rest", expect![[r#"
            1 campaign: refused: it takes part in a run that is already under way
            2 campaign: refused: it is the leader already
            2 hears attach from 1: SP-3 takes 1 in; attached → 1
            2 hears attach from 3: SP-3 takes 3 in; attached → 3
            4 hears attach from 5: SP-3 takes 5 in; attached → 5
            1 hears attached from 2: SP-4 follows 2; LEADER IS 2 (epoch 6)
            3 hears attached from 2: SP-4 follows 2; LEADER IS 2 (epoch 6)
            5 hears attached from 4: SP-4 follows 4; LEADER IS 4 (epoch 8)
            1 campaign: SP-1 attaches to 2, the first of its region; knows no leader (epoch 6); attach → 2
            1 resign: refused: it does not lead
            2 resign: refused: this algorithm knows no handover
            2 hears attach from 1: SP-3 takes 1 in; attached → 1
            1 hears attached from 2: SP-4 follows 2; LEADER IS 2 (epoch 6)
        "#]]);

    /// Node 3 hears first that 2 is gone, and has to wait until 1 hears it too.
    sp_2_who_is_the_first_of_its_region_leads_and_answers_those_who_asked(
        "rest | 3 suspects 2; 3 > 1; 1 suspects 2; 1 > 3", expect![[r#"
            3 suspects 2: SP-5 attaches to 1, the first of its region; knows no leader (epoch 6); attach → 1
            1 hears attach from 3: SP-3 does not lead, and lets 3 wait
            1 suspects 2: SP-2 leads region 0 in epoch 10; LEADER IS 1 (epoch 10); attached → 3
            3 hears attached from 1: SP-4 follows 1; LEADER IS 1 (epoch 10)
        "#]]);

    /// Node 3 has given up hope of 2 when the answer comes.
    sp_4_a_late_answer_of_an_earlier_one_of_the_region_is_followed(
        "3 fires; 3 > 1; 3 > 2; 2 > 3; 1 > 2; 2 > 1", expect![[r#"
            3 timer: SP-7 takes 2 for gone: it does not answer; SP-7 attaches to 1, the first of its region; knows no leader (epoch 0); attach → 1
            1 hears attach from 3: SP-3 does not lead, and lets 3 wait; SP-8 does not wait for 2, whom 3 takes for gone; SP-2 leads region 0 in epoch 5; LEADER IS 1 (epoch 5); attached → 3
            2 hears attach from 3: SP-3 takes 3 in; attached → 3
            3 hears attached from 2: SP-4 follows 2; LEADER IS 2 (epoch 6)
            2 hears attach from 1: SP-3 takes 1 in; attached → 1
            1 hears attached from 2: SP-4 follows 2; LEADER IS 2 (epoch 6)
        "#]]);

    sp_4_an_answer_of_one_who_is_gone_is_ignored("3 > 2 | 3 suspects 2; 2 > 3", expect![[r#"
        3 suspects 2: SP-5 attaches to 1, the first of its region; knows no leader (epoch 0); attach → 1
        3 hears attached from 2: SP-4 does not need 2's answer any more
    "#]]);

    sp_5_only_those_whose_super_peer_is_another_one_attach_anew(
        "rest; 4 suspects 2; 5 suspects 2; 2 suspects 3; 1 suspects 3 | 1 suspects 2; 1 trusts 3; 1 trusts 2", expect![[r#"
            1 suspects 2: SP-2 leads region 0 in epoch 10; LEADER IS 1 (epoch 10)
            1 trusts 2: SP-5 attaches to 2, the first of its region; knows no leader (epoch 10); attach → 2
        "#]]);

    sp_6_a_super_peer_that_is_back_has_forgotten_its_peers("rest | 3 trusts 2; 1 trusts 3; rest", expect![[r#"
        3 trusts 2: SP-6 attaches to 2, the first of its region; knows no leader (epoch 6); attach → 2
        2 hears attach from 3: SP-3 takes 3 in; attached → 3
        3 hears attached from 2: SP-4 follows 2; LEADER IS 2 (epoch 6)
    "#]]);

    sp_7_who_does_not_answer_is_taken_for_gone("lose 3 > 2; 3 fires; lose 3 > 1; 3 fires", expect![[r#"
        attach → 2 is lost
        3 timer: SP-7 takes 2 for gone: it does not answer; SP-7 attaches to 1, the first of its region; knows no leader (epoch 0); attach → 1
        attach → 1 is lost
        3 timer: SP-7 takes 1 for gone: it does not answer; SP-2 leads region 0 in epoch 7; LEADER IS 3 (epoch 7)
    "#]]);
}

/// Node 2 comes back without a disk, and knows nothing of the epoch in which 1 led.
#[test]
fn sp_3_a_peer_that_knows_of_a_later_epoch_gets_one_that_is_later_still() {
    let mut stage = ScriptGroup::new(5, peer);
    stage.run("rest\n1 suspects 2\n3 suspects 2\nrest");
    let (two, group) = (NodeId::from_index(1), Group::of_size(5));
    stage.trace.clear();
    stage.restart(two, peer(two, group), Reached::default());
    stage.run("3 trusts 2\n1 trusts 2\nrest");
    expect![[r#"
        2 boots again: SP-2 leads region 0 in epoch 6; LEADER IS 2 (epoch 6)
        3 trusts 2: SP-5 attaches to 2, the first of its region; knows no leader (epoch 10); attach → 2
        1 trusts 2: SP-5 attaches to 2, the first of its region; knows no leader (epoch 10); attach → 2
        2 hears attach from 3: SP-3 leads region 0 in epoch 16; LEADER IS 2 (epoch 16); SP-3 takes 3 in; attached → 3
        2 hears attach from 1: SP-3 takes 1 in; attached → 1
        3 hears attached from 2: SP-4 follows 2; LEADER IS 2 (epoch 16)
        1 hears attached from 2: SP-4 follows 2; LEADER IS 2 (epoch 16)
    "#]]
    .assert_eq(&stage.trace);
}

/// Node 1 was away while 2 went, and waits for it. Node 3, which knows better, comes to 1.
#[test]
fn sp_8_who_waits_believes_those_who_know_who_is_gone() {
    let mut stage = ScriptGroup::new(5, peer);
    stage.run("rest\n3 suspects 1\n3 suspects 2");
    let (one, group) = (NodeId::from_index(0), Group::of_size(5));
    stage.trace.clear();
    stage.restart(one, peer(one, group), Reached(Epoch(6)));
    stage.run("lose 1 > 2\n3 trusts 1\n3 > 1\n1 > 3");
    expect![[r#"
        1 boots again: SP-1 attaches to 2, the first of its region; knows no leader (epoch 6); attach → 2
        attach → 2 is lost
        3 trusts 1: SP-5 attaches to 1, the first of its region; knows no leader (epoch 12); attach → 1
        1 hears attach from 3: SP-3 does not lead, and lets 3 wait; SP-8 does not wait for 2, whom 3 takes for gone; SP-2 leads region 0 in epoch 15; LEADER IS 1 (epoch 15); attached → 3
        3 hears attached from 1: SP-4 follows 1; LEADER IS 1 (epoch 15)
    "#]].assert_eq(&stage.trace);
}
