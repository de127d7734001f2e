//! The rules of an election by mutual exclusion, and elections in any order of messages.

use super::{ByMutex, Stage};
use crate::election::{Command, Event};
use crate::group::{Epoch, Group};
use crate::mutex::rules::rules;
use crate::mutex::{Central, RicartAgrawala};
use crate::node::NodeId;
use crate::protocol::Protocol;
use crate::testing::ScriptGroup;
use expect_test::expect;
use proptest::prelude::{Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use std::collections::BTreeMap;
use std::vec::Vec;

fn over_permissions(me: NodeId, group: Group) -> ByMutex<RicartAgrawala> {
    ByMutex::new(me, group.clone(), RicartAgrawala::new(me, group))
}

fn over_a_coordinator(me: NodeId, group: Group) -> ByMutex<Central> {
    ByMutex::new(me, group.clone(), Central::new(me, group))
}

rules! { over_permissions, 3;
    bm_1_whoever_campaigns_asks_for_the_lock_once(
        "1 campaign; 1 campaign; rest; 1 campaign; 1 resign; 2 resign", expect![[r#"
            1 campaign: BM-1 asks for the lock; knows no leader (epoch 1); RA-1 asks everyone with (1, 1); request → all
            1 campaign: refused: it takes part in a run that is already under way
            2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            1 hears reply from 3: RA-3 has every reply to (1, 1); BM-3 is inside, and leads in epoch 1; leads → all; LEADER IS 1 (epoch 1)
            2 hears leads from 1: BM-4 follows 1; LEADER IS 1 (epoch 1)
            3 hears leads from 1: BM-4 follows 1; LEADER IS 1 (epoch 1)
            1 campaign: refused: it is the leader already
            1 resign: refused: this algorithm knows no handover
            2 resign: refused: it does not lead
        "#]]);

    bm_2_whoever_doubts_the_leader_tells_it_to_leave("1 campaign; rest | 2 campaign; rest", expect![[r#"
        2 campaign: BM-2 tells 1 to leave; yield → 1; BM-1 asks for the lock; knows no leader (epoch 2); RA-1 asks everyone with (2, 2); request → all
        1 hears yield from 2: BM-5 leaves: 2 wants an election; knows no leader any more (epoch 1 is over)
        1 hears request from 2: RA-2 lets (2, 2) pass; reply → 2
        3 hears request from 2: RA-2 lets (2, 2) pass; reply → 2
        2 hears reply from 3: RA-3 has every reply to (2, 2); BM-3 is inside, and leads in epoch 2; leads → all; LEADER IS 2 (epoch 2)
        1 hears leads from 2: BM-4 follows 2; LEADER IS 2 (epoch 2)
        3 hears leads from 2: BM-4 follows 2; LEADER IS 2 (epoch 2)
    "#]]);

    bm_3_whoever_is_inside_leads_in_the_epoch_of_its_fence("2 campaign; 2 > 1; 2 > 3; 1 > 2 | 3 > 2", expect![[r#"
        2 hears reply from 3: RA-3 has every reply to (1, 2); BM-3 is inside, and leads in epoch 1; leads → all; LEADER IS 2 (epoch 1)
    "#]]);

    bm_4_whoever_waits_gives_up_when_another_one_leads(
        "1 campaign; 2 campaign; 1 > 2; 1 > 3 | 2 > 1; 2 > 3; 2 > 1; 3 > 1; 1 > 2; 1 > 3; rest", expect![[r#"
            1 hears request from 2: RA-2 defers (1, 2): ours (1, 1) goes first
            3 hears request from 2: RA-2 lets (1, 2) pass; reply → 2
            1 hears reply from 3: RA-3 has every reply to (1, 1); BM-3 is inside, and leads in epoch 1; leads → all; LEADER IS 1 (epoch 1)
            2 hears leads from 1: BM-4 follows 1; LEADER IS 1 (epoch 1)
            3 hears leads from 1: BM-4 follows 1; LEADER IS 1 (epoch 1)
            2 hears reply from 3: RA-3 ignores a reply to (1, 2), which nobody waits with
        "#]]);

    /// The news of epoch 1 is slower than that of epoch 2.
    bm_4_a_leader_of_an_earlier_epoch_is_ignored(
        "1 campaign; 1 > 2; 1 > 3; 2 > 1; 3 > 1; 1 > 2; 2 campaign; 2 > 1; 2 > 1; 2 > 3; 1 > 2; 3 > 2; 2 > 3 | 1 > 3;
         rest", expect![[r#"
            3 hears leads from 1: BM-4 ignores that 1 led in epoch 1
            1 hears leads from 2: BM-4 follows 2; LEADER IS 2 (epoch 2)
        "#]]);

    /// Both 2 and 3 doubt leader 1, which leaves for 2 and, when 3's doubt comes, leads no longer.
    bm_5_told_to_leave_a_leader_leaves_in_the_epoch_that_is_meant_only(
        "1 campaign; rest; 2 campaign; 3 campaign; 2 > 1 | 3 > 1; rest", expect![[r#"
            1 hears yield from 3: BM-5 does not lead in epoch 1 any more
            1 hears request from 2: RA-2 lets (2, 2) pass; reply → 2
            3 hears request from 2: RA-2 lets (2, 2) pass; reply → 2
            1 hears request from 3: RA-2 lets (2, 3) pass; reply → 3
            2 hears request from 3: RA-2 defers (2, 3): ours (2, 2) goes first
            2 hears reply from 3: RA-3 has every reply to (2, 2); BM-3 is inside, and leads in epoch 2; leads → all; LEADER IS 2 (epoch 2)
            1 hears leads from 2: BM-4 follows 2; LEADER IS 2 (epoch 2)
            3 hears leads from 2: BM-4 follows 2; LEADER IS 2 (epoch 2)
        "#]]);
}

/// One thing that happens to a group. Numbers beyond the last node or message begin again at the first.
#[derive(Clone, Debug)]
enum Gust {
    Campaign(usize),
    Arrive(usize),
}

fn gusts() -> impl Strategy<Value = Vec<Gust>> {
    let gust = prop_oneof![
        1 => (0..5_usize).prop_map(Gust::Campaign),
        4 => (0..60_usize).prop_map(Gust::Arrive),
    ];
    prop::collection::vec(gust, 0..120)
}

/// Lets it all happen and then all arrive. Never do two lead at a time; at the end all know the last leader.
fn elect<P>(
    nodes: usize,
    make: fn(NodeId, Group) -> ByMutex<P>,
    gusts: &[Gust],
) -> Result<(), proptest::test_runner::TestCaseError>
where
    P: Protocol<Command = crate::mutex::Command, Event = crate::mutex::Event, Message: crate::describe::Describe>,
{
    let mut scene = ScriptGroup::new(nodes, make);
    let mut leaders: BTreeMap<Epoch, NodeId> = BTreeMap::new();
    let mut latest = std::vec![Epoch(0); nodes];
    let mut campaigned = false;
    let peace = core::iter::repeat_n(&Gust::Arrive(0), 3_000);
    for gust in gusts.iter().chain(peace) {
        let (node, told) = match gust {
            Gust::Campaign(node) => {
                campaigned = true;
                let node = NodeId::from_index(node % nodes);
                (node, scene.command(node, Command::Campaign))
            }
            Gust::Arrive(_) if scene.in_flight() == 0 => continue,
            Gust::Arrive(place) => scene.deliver(place % scene.in_flight()),
        };
        for event in told {
            let (Event::Began { epoch } | Event::Elected { epoch, .. } | Event::Ended { epoch }) = event else {
                continue;
            };
            prop_assert!(epoch >= latest[node.index()], "{node} goes back to {epoch}:\n{}", scene.trace);
            latest[node.index()] = epoch;
            if let Event::Elected { leader, .. } = event {
                prop_assert_eq!(*leaders.entry(epoch).or_insert(leader), leader, "epoch {}", epoch);
            }
        }
        let leading = scene.nodes.iter().filter(|node| node.stage == Stage::Over(node.me)).count();
        prop_assert!(leading <= 1, "{leading} lead at a time:\n{}", scene.trace);
    }
    prop_assert_eq!(scene.in_flight(), 0, "it never comes to rest");
    if campaigned {
        let (_, leader) = leaders.last_key_value().expect("somebody leads");
        for node in &scene.nodes {
            prop_assert_eq!(node.stage, Stage::Over(*leader), "{} disagrees:\n{}", node.me, &scene.trace);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn all_agree_in_the_end_whoever_campaigns_and_in_whatever_order_messages_arrive(
        nodes in 1..=5_usize, gusts in gusts()
    ) {
        elect(nodes, over_permissions, &gusts)?;
    }

    #[test]
    fn any_other_lock_will_do(nodes in 1..=5_usize, gusts in gusts()) {
        elect(nodes, over_a_coordinator, &gusts)?;
    }
}
