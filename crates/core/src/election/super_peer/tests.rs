//! Tests of the rules of super-peers, and of which peers move when peers come and go.
//!
//! In the group of the scripts, the ids of five nodes have eight bits, the first of which is the
//! region. Ordered by id, nodes 2, 1 and 3 are in region 0, and 4 and 5 in region 1. A node that
//! begins to lead takes the next multiple of 5 after the latest epoch it knows, plus its number
//! minus 1: the first epoch of node 1 is 5, and that of node 2 is 6.
//!
//! `1 > 2` delivers the oldest message from node 1 to node 2, `lose 1 > 2` drops it, `rest`
//! delivers all messages, and of the timers of node 3, `3 fires` lets the one set first expire.
//! Steps before the bar prepare the state. The trace omits steps that do nothing. `testing.rs`
//! lists all steps.

mod churn;

use super::{SavedEpoch, SuperPeer};
use crate::election::{Overlay, Plan, script};
use crate::group::{Epoch, Group};
use crate::mutex::rules::rule_tests;
use crate::node::NodeId;
use crate::testing::ScriptGroup;
use alloc::sync::Arc;
use expect_test::expect;

fn plan(group: &Group, overlay: Overlay) -> Arc<Plan> {
    Arc::new(Plan { overlay, ..script::plan(group.len()) })
}

fn peer(me: NodeId, group: Group) -> SuperPeer {
    // Ids of 8 bits, the first 1 for the region; with seed 35, they order the nodes as above.
    let overlay = Overlay::new(group.len(), 35, 8, 1);
    SuperPeer::new(me, plan(&group, overlay))
}

rule_tests! { peer, 5;
    /// All nodes have booted: 1 and 3 have asked to attach to 2, and 5 to 4.
    sp_1_a_node_that_boots_or_campaigns_attaches_to_the_first_of_its_region(
        "1 campaign; 2 campaign; rest; 1 campaign; 1 resign; 2 resign; rest", expect![[r#"
            1 campaign: refused: the node already takes part in an election
            2 campaign: refused: the node is the leader already
            2 receives attach from 1: SP-3 accepts 1 as its peer; attached → 1
            2 receives attach from 3: SP-3 accepts 3 as its peer; attached → 3
            4 receives attach from 5: SP-3 accepts 5 as its peer; attached → 5
            1 receives attached from 2: SP-4 follows 2; LEADER IS 2 (epoch 6)
            3 receives attached from 2: SP-4 follows 2; LEADER IS 2 (epoch 6)
            5 receives attached from 4: SP-4 follows 4; LEADER IS 4 (epoch 8)
            1 campaign: SP-1 attaches to 2, the first of its region; knows no leader (epoch 6); attach → 2
            1 resign: refused: the node is not the leader
            2 resign: refused: this algorithm does not support resigning
            2 receives attach from 1: SP-3 accepts 1 as its peer; attached → 1
            1 receives attached from 2: SP-4 follows 2; LEADER IS 2 (epoch 6)
        "#]]);

    /// Node 3 learns first that 2 is gone, and has to wait until 1 learns it too.
    sp_2_the_first_node_of_a_region_leads_and_answers_waiting_peers(
        "rest | 3 suspects 2; 3 > 1; 1 suspects 2; 1 > 3", expect![[r#"
            3 suspects 2: SP-5 attaches to 1, the first of its region; knows no leader (epoch 6); attach → 1
            1 receives attach from 3: SP-3 does not lead yet: 3 waits
            1 suspects 2: SP-2 leads region 0 in epoch 10; LEADER IS 1 (epoch 10); attached → 3
            3 receives attached from 1: SP-4 follows 1; LEADER IS 1 (epoch 10)
        "#]]);

    /// Node 3 no longer waits for 2 when the answer of 2 arrives.
    sp_4_a_late_answer_of_an_earlier_node_of_the_region_is_followed(
        "3 fires; 3 > 1; 3 > 2; 2 > 3; 1 > 2; 2 > 1", expect![[r#"
            3 timer: SP-7 considers 2 gone: it does not answer; SP-7 attaches to 1, the first of its region; knows no leader (epoch 0); attach → 1
            1 receives attach from 3: SP-3 does not lead yet: 3 waits; SP-8 does not wait for 2, which 3 considers gone; SP-2 leads region 0 in epoch 5; LEADER IS 1 (epoch 5); attached → 3
            2 receives attach from 3: SP-3 accepts 3 as its peer; attached → 3
            3 receives attached from 2: SP-4 follows 2; LEADER IS 2 (epoch 6)
            2 receives attach from 1: SP-3 accepts 1 as its peer; attached → 1
            1 receives attached from 2: SP-4 follows 2; LEADER IS 2 (epoch 6)
        "#]]);

    sp_4_an_answer_of_a_node_that_is_gone_is_ignored("3 > 2 | 3 suspects 2; 2 > 3", expect![[r#"
        3 suspects 2: SP-5 attaches to 1, the first of its region; knows no leader (epoch 0); attach → 1
        3 receives attached from 2: SP-4 no longer needs the answer of 2
    "#]]);

    sp_5_only_peers_whose_super_peer_changes_attach_again(
        "rest | 4 suspects 2; 5 suspects 2; 2 suspects 3; 1 suspects 3; 1 suspects 2; 1 trusts 3; 1 trusts 2", expect![[r#"
            1 suspects 2: SP-2 leads region 0 in epoch 10; LEADER IS 1 (epoch 10)
            1 trusts 2: SP-5 attaches to 2, the first of its region; knows no leader (epoch 10); attach → 2
        "#]]);

    sp_6_a_restarted_super_peer_has_forgotten_its_peers("rest | 3 trusts 2; 1 trusts 3; rest", expect![[r#"
        3 trusts 2: SP-6 attaches to 2, the first of its region; knows no leader (epoch 6); attach → 2
        2 receives attach from 3: SP-3 accepts 3 as its peer; attached → 3
        3 receives attached from 2: SP-4 follows 2; LEADER IS 2 (epoch 6)
    "#]]);

    sp_7_a_node_that_does_not_answer_is_considered_gone("lose 3 > 2; 3 fires; lose 3 > 1; 3 fires", expect![[r#"
        attach → 2 is lost
        3 timer: SP-7 considers 2 gone: it does not answer; SP-7 attaches to 1, the first of its region; knows no leader (epoch 0); attach → 1
        attach → 1 is lost
        3 timer: SP-7 considers 1 gone: it does not answer; SP-2 leads region 0 in epoch 7; LEADER IS 3 (epoch 7)
    "#]]);
}

/// Node 2 restarts without a disk, and does not know the epoch in which 1 led.
#[test]
fn sp_3_a_peer_that_knows_a_later_epoch_gets_an_even_later_one() {
    let mut nodes = ScriptGroup::new(5, peer);
    nodes.run("rest\n1 suspects 2\n3 suspects 2\nrest");
    let (node_2, group) = (NodeId::from_index(1), Group::of_size(5));
    nodes.trace.clear();
    nodes.restart(node_2, peer(node_2, group), SavedEpoch::default());
    nodes.run("3 trusts 2\n1 trusts 2\nrest");
    expect![[r#"
        2 restarts: SP-2 leads region 0 in epoch 6; LEADER IS 2 (epoch 6)
        3 trusts 2: SP-5 attaches to 2, the first of its region; knows no leader (epoch 10); attach → 2
        1 trusts 2: SP-5 attaches to 2, the first of its region; knows no leader (epoch 10); attach → 2
        2 receives attach from 3: SP-3 leads region 0 in epoch 16; LEADER IS 2 (epoch 16); SP-3 accepts 3 as its peer; attached → 3
        2 receives attach from 1: SP-3 accepts 1 as its peer; attached → 1
        3 receives attached from 2: SP-4 follows 2; LEADER IS 2 (epoch 16)
        1 receives attached from 2: SP-4 follows 2; LEADER IS 2 (epoch 16)
    "#]]
    .assert_eq(&nodes.trace);
}

/// Node 1 was down while 2 left, and waits for it. Node 3 knows that 2 left, and attaches to 1.
#[test]
fn sp_8_a_waiting_node_accepts_that_others_are_gone() {
    let mut nodes = ScriptGroup::new(5, peer);
    nodes.run("rest\n3 suspects 1\n3 suspects 2");
    let (node_1, group) = (NodeId::from_index(0), Group::of_size(5));
    nodes.trace.clear();
    nodes.restart(node_1, peer(node_1, group), SavedEpoch(Epoch(6)));
    nodes.run("lose 1 > 2\n3 trusts 1\n3 > 1\n1 > 3");
    expect![[r#"
        1 restarts: SP-1 attaches to 2, the first of its region; knows no leader (epoch 6); attach → 2
        attach → 2 is lost
        3 trusts 1: SP-5 attaches to 1, the first of its region; knows no leader (epoch 12); attach → 1
        1 receives attach from 3: SP-3 does not lead yet: 3 waits; SP-8 does not wait for 2, which 3 considers gone; SP-2 leads region 0 in epoch 15; LEADER IS 1 (epoch 15); attached → 3
        3 receives attached from 1: SP-4 follows 1; LEADER IS 1 (epoch 15)
    "#]].assert_eq(&nodes.trace);
}
