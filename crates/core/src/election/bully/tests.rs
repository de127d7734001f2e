//! The rules of the bully algorithm, one by one. A message takes one millisecond at most.

use super::Bully;
use crate::election::drill::{plan, rules};
use crate::election::{Courtesy, Plan, Prefer, Ranking};
use crate::group::Group;
use crate::node::NodeId;
use expect_test::expect;

fn bully(me: NodeId, plan: &Plan) -> Bully {
    Bully::new(me, plan.clone())
}

fn beheaded(nodes: usize) -> Plan {
    Plan { absent: Group::of_size(nodes).iter().skip(nodes - 1).collect(), ..plan(nodes) }
}

fn ranked() -> Plan {
    Plan { ranking: Ranking::by_attribute([5, 1, 1], Prefer::Lowest), ..plan(3) }
}

fn courteous(courtesy: Courtesy) -> Plan {
    Plan { courtesy, ..plan(3) }
}

rules! { bully, plan(3);
    bu_1_who_campaigns_asks_every_higher_node_the_dead_one_too(in beheaded(4), "2 campaign; 2 campaign", expect![[r#"
        2 campaign: knows no leader (epoch 1); BU-1 asks 3,4; election → 3,4; Answers in 2ms
        2 campaign: refused: it takes part in a run that is already under way
    "#]]);

    bu_1_who_has_only_the_dead_above_declares_at_once(
        in beheaded(3), "2 campaign; rest; 2 resign; 1 resign", expect![[r#"
            2 campaign: BU-1 3 alone ranks higher, and is dead; knows no leader (epoch 1); saves; BU-3 declares itself in epoch 1; coordinator → 1; LEADER IS 2 (epoch 1)
            1 hears coordinator from 2: saves; BU-5 follows 2 in epoch 1; LEADER IS 2 (epoch 1)
            2 resign: refused: this algorithm knows no handover
            1 resign: refused: it does not lead
        "#]]);

    /// What it declared may still be under way.
    bu_1_the_last_words_of_a_leader_are_waited_for(
        "3 campaign; rest; 3 campaign; 3 crashes; 2 suspects 3; 3 > 2; 3 > 1; 2 fires; rest", expect![[r#"
            3 campaign: knows no leader (epoch 1); saves; BU-3 declares itself in epoch 1; coordinator → 1,2; LEADER IS 3 (epoch 1)
            1 hears coordinator from 3: saves; BU-5 follows 3 in epoch 1; LEADER IS 3 (epoch 1)
            2 hears coordinator from 3: saves; BU-5 follows 3 in epoch 1; LEADER IS 3 (epoch 1)
            3 campaign: knows no leader (epoch 2); saves; BU-3 declares itself in epoch 2; coordinator → 1,2; LEADER IS 3 (epoch 2)
            2 suspects 3: BU-1 3 alone ranks higher, and is dead; knows no leader (epoch 2); Answers in 1ms
            2 hears coordinator from 3: saves; BU-8 does not follow 3, which is dead
            1 hears coordinator from 3: saves; BU-5 follows 3 in epoch 2; LEADER IS 3 (epoch 2)
            2 Answers: saves; BU-3 declares itself in epoch 3; coordinator → 1; LEADER IS 2 (epoch 3)
            1 hears coordinator from 2: saves; BU-5 follows 2 in epoch 3; LEADER IS 2 (epoch 3)
        "#]]);

    bu_1_a_suspect_that_has_been_silent_for_long_has_no_last_words("2 suspects 3; after 1ms | 2 campaign", expect![[r#"
        1ms 2 campaign: BU-1 3 alone ranks higher, and is dead; knows no leader (epoch 1); saves; BU-3 declares itself in epoch 1; coordinator → 1; LEADER IS 2 (epoch 1)
    "#]]);

    bu_1_whoever_is_no_leader_is_not_missed("3 campaign | rest; 3 suspects 2; 1 suspects 2; 1 suspects 1", expect![[r#"
        1 hears coordinator from 3: saves; BU-5 follows 3 in epoch 1; LEADER IS 3 (epoch 1)
        2 hears coordinator from 3: saves; BU-5 follows 3 in epoch 1; LEADER IS 3 (epoch 1)
    "#]]);

    bu_2_a_lower_node_is_answered_and_a_run_begins("1 campaign | 1 > 2; 1 > 3; rest", expect![[r#"
        2 hears election from 1: answer → 1; knows no leader (epoch 1); BU-2 asks 3; election → 3; Answers in 2ms
        3 hears election from 1: answer → 1; knows no leader (epoch 1); saves; BU-3 declares itself in epoch 1; coordinator → 1,2; LEADER IS 3 (epoch 1)
        1 hears answer from 2: BU-4 2 lives and ranks higher: waits for its result; Result in 10ms
        3 hears election from 2: answer → 2; BU-2 answers 2, who will hear of 3
        1 hears coordinator from 3: saves; BU-5 follows 3 in epoch 1; LEADER IS 3 (epoch 1)
        2 hears coordinator from 3: saves; BU-5 follows 3 in epoch 1; LEADER IS 3 (epoch 1)
    "#]]);

    bu_2_who_asks_too_late_is_answered_and_no_more("1 campaign; 1 > 3; 3 > 2 | 1 > 2", expect![[r#"
        2 hears election from 1: answer → 1; BU-2 answers 1, who will hear of 3
    "#]]);

    bu_2_only_lower_nodes_are_answered("1 campaign; 1 > 2 as 3; 1 > 3 as 3", expect![[r#"
        1 campaign: knows no leader (epoch 1); BU-1 asks 2,3; election → 2,3; Answers in 2ms
    "#]]);

    bu_3_silence_means_victory(in beheaded(3), "1 campaign; 1 > 2 | 2 fires; 2 > 1; 2 > 1", expect![[r#"
        2 Answers: saves; BU-3 declares itself in epoch 1; coordinator → 1; LEADER IS 2 (epoch 1)
        1 hears answer from 2: BU-4 2 lives and ranks higher: waits for its result; Result in 10ms
        1 hears coordinator from 2: saves; BU-5 follows 2 in epoch 1; LEADER IS 2 (epoch 1)
    "#]]);

    bu_3_a_group_of_one_elects_itself(in plan(1), "1 campaign", expect![[r#"
        1 campaign: knows no leader (epoch 1); saves; BU-3 declares itself in epoch 1; LEADER IS 1 (epoch 1)
    "#]]);

    bu_3_ranks_decide_and_not_numbers(in ranked(), "1 campaign | rest", expect![[r#"
        2 hears election from 1: answer → 1; knows no leader (epoch 1); saves; BU-3 declares itself in epoch 1; coordinator → 1,3; LEADER IS 2 (epoch 1)
        3 hears election from 1: answer → 1; knows no leader (epoch 1); BU-2 asks 2; election → 2; Answers in 2ms
        1 hears answer from 2: BU-4 2 lives and ranks higher: waits for its result; Result in 10ms
        1 hears coordinator from 2: saves; BU-5 follows 2 in epoch 1; LEADER IS 2 (epoch 1)
        3 hears coordinator from 2: saves; BU-5 follows 2 in epoch 1; LEADER IS 2 (epoch 1)
        2 hears election from 3: answer → 3; BU-2 answers 3, who will hear of 2
    "#]]);

    bu_4_who_is_answered_waits_for_the_result_and_asks_again_if_none_comes(
        "1 campaign; 1 > 2; 2 > 1; 2 crashes; 3 crashes; rest | 1 fires; rest; 1 fires", expect![[r#"
            1 Result: knows no leader (epoch 1); BU-4 asks 2,3; election → 2,3; Answers in 2ms
            1 Answers: saves; BU-3 declares itself in epoch 1; LEADER IS 1 (epoch 1)
        "#]]);

    /// A higher node that is back says hello to one that asks, or a detector tells of it.
    bu_4_any_sign_of_life_counts(in beheaded(3), "1 campaign | 1 trusts 3; 2 campaign; 3 boots; 3 > 2", expect![[r#"
        1 trusts 3: BU-4 3 lives and ranks higher: waits for its result; Result in 10ms
        2 campaign: BU-1 3 alone ranks higher, and is dead; knows no leader (epoch 1); saves; BU-3 declares itself in epoch 1; coordinator → 1; LEADER IS 2 (epoch 1)
        3 boots: knows no leader (epoch 1); BU-9 is back: says hello; hello → 1,2,3; Quiet in 3ms
    "#]]);

    bu_5_a_result_of_a_higher_node_ends_the_run("2 campaign; 2 > 3; 3 > 2 last; 3 > 2 | 3 > 1", expect![[r#"
        1 hears coordinator from 3: saves; BU-5 follows 3 in epoch 1; LEADER IS 3 (epoch 1)
    "#]]);

    /// Node 1 hears of epoch 1 from node 2 before the result itself comes, and is in a later run by then.
    bu_5_a_result_does_not_end_a_later_run(
        in plan(4), "4 campaign; 4 > 1; 4 > 2 | 1 campaign; 1 > 3; 4 > 3; rest", expect![[r#"
            1 campaign: knows no leader (epoch 2); BU-1 asks 2,3,4; election → 2,3,4; Answers in 2ms
            3 hears election from 1: saves; answer → 1; knows no leader (epoch 2); BU-2 asks 4; election → 4; Answers in 2ms
            3 hears coordinator from 4: BU-4 4 lives and ranks higher: waits for its result; Result in 10ms
            2 hears election from 1: answer → 1; knows no leader (epoch 2); BU-2 asks 3,4; election → 3,4; Answers in 2ms
            4 hears election from 1: answer → 1; knows no leader (epoch 2); saves; BU-3 declares itself in epoch 2; coordinator → 1,2,3; LEADER IS 4 (epoch 2)
            1 hears answer from 3: BU-4 3 lives and ranks higher: waits for its result; Result in 10ms
            4 hears election from 3: answer → 3; BU-2 answers 3, who will hear of 4
            3 hears election from 2: answer → 2; BU-2 answers 2
            4 hears election from 2: answer → 2; BU-2 answers 2, who will hear of 4
            1 hears coordinator from 4: saves; BU-5 follows 4 in epoch 2; LEADER IS 4 (epoch 2)
            2 hears coordinator from 4: saves; BU-5 follows 4 in epoch 2; LEADER IS 4 (epoch 2)
            3 hears coordinator from 4: saves; BU-5 follows 4 in epoch 2; LEADER IS 4 (epoch 2)
        "#]]);

    bu_6_a_higher_node_takes_over_from_a_lower_one_that_told_everyone(
        in courteous(Courtesy { broadcast: true, ..Courtesy::default() }), "2 suspects 3; after 1ms; 2 campaign;
         2 > 1 | 2 > 3; 2 trusts 3; rest", expect![[r#"
             1ms 3 hears coordinator from 2: saves; BU-6 takes over from 2, which ranks lower; knows no leader (epoch 2); saves; BU-3 declares itself in epoch 2; coordinator → 1,2,3; LEADER IS 3 (epoch 2)
             1ms 1 hears coordinator from 3: saves; BU-5 follows 3 in epoch 2; LEADER IS 3 (epoch 2)
             1ms 2 hears coordinator from 3: saves; BU-5 follows 3 in epoch 2; LEADER IS 3 (epoch 2)
         "#]]);

    bu_6_who_has_taken_over_already_does_not_begin_again(
        in courteous(Courtesy { broadcast: true, ..Courtesy::default() }), "2 suspects 3; after 1ms; 2 campaign;
         3 campaign | 3 campaign; 2 > 3", expect![[r#"
             1ms 3 campaign: knows no leader (epoch 2); saves; BU-3 declares itself in epoch 2; coordinator → 1,2,3; LEADER IS 3 (epoch 2)
         "#]]);

    /// Node 2 has missed two epochs, and takes the leader for dead. It finds out that it lives.
    bu_7_an_old_result_is_corrected_and_its_node_begins_again(
        "3 campaign; 3 > 1; lose 3 > 2; 3 campaign; 3 > 1; lose 3 > 2; 2 suspects 3; after 1ms; 2 campaign | 2 > 1;
         2 trusts 3; 1 > 2; rest", expect![[r#"
             1ms 1 hears coordinator from 2: BU-7 does not follow 2 in epoch 1: there was 2 already; report → 2
             1ms 2 hears report from 1: saves; BU-7 leads in epoch 1, but there was 2 already; knows no leader (epoch 3); BU-7 asks 3; election → 3; Answers in 2ms
             1ms 3 hears election from 2: answer → 2; knows no leader (epoch 3); saves; BU-3 declares itself in epoch 3; coordinator → 1,2; LEADER IS 3 (epoch 3)
             1ms 2 hears answer from 3: BU-4 3 lives and ranks higher: waits for its result; Result in 10ms
             1ms 1 hears coordinator from 3: saves; BU-5 follows 3 in epoch 3; LEADER IS 3 (epoch 3)
             1ms 2 hears coordinator from 3: saves; BU-5 follows 3 in epoch 3; LEADER IS 3 (epoch 3)
         "#]]);

    bu_8_nobody_follows_the_dead("3 campaign; 3 crashes; 1 suspects 3 | 3 > 1", expect![[r#"
        1 hears coordinator from 3: saves; BU-8 does not follow 3, which is dead; knows no leader (epoch 2); BU-8 asks 2,3; election → 2,3; Answers in 2ms
    "#]]);

    bu_9_who_is_back_lets_things_settle_asks_for_epochs_and_runs(
        "3 campaign; rest; 3 crashes; 2 suspects 3 | 2 fires; rest; 3 boots; 3 campaign; rest; 3 fires; rest;
         3 fires; rest", expect![[r#"
            2 Answers: saves; BU-3 declares itself in epoch 2; coordinator → 1; LEADER IS 2 (epoch 2)
            1 hears coordinator from 2: saves; BU-5 follows 2 in epoch 2; LEADER IS 2 (epoch 2)
            3 boots: knows no leader (epoch 2); BU-9 is back: says hello; hello → 1,2,3; Quiet in 3ms
            3 campaign: refused: it takes part in a run that is already under way
            3 Quiet: BU-9 asks everyone for the largest epoch; knows of 1; inquiry → 1,2,3; Reports in 2ms
            1 hears inquiry from 3: report → 3
            2 hears inquiry from 3: report → 3
            3 hears report from 1: saves
            3 Reports: knows no leader (epoch 3); saves; BU-3 declares itself in epoch 3; coordinator → 1,2; LEADER IS 3 (epoch 3)
            1 hears coordinator from 3: saves; BU-5 follows 3 in epoch 3; LEADER IS 3 (epoch 3)
            2 hears coordinator from 3: saves; BU-5 follows 3 in epoch 3; LEADER IS 3 (epoch 3)
        "#]]);

    /// Node 2 had asked node 3 in vain and may declare until it hears the hello; then it waits.
    bu_9_who_hears_a_hello_from_above_declares_no_more(
        in beheaded(4), "2 campaign; 3 crashes; 2 > 4; 3 boots; 3 > 2", expect![[r#"
            2 campaign: knows no leader (epoch 1); BU-1 asks 3,4; election → 3,4; Answers in 2ms
            3 boots: knows no leader (epoch 1); BU-9 is back: says hello; hello → 1,2,3,4; Quiet in 3ms
            2 hears hello from 3: BU-4 3 lives and ranks higher: waits for its result; Result in 10ms
        "#]]);

    bu_9_a_result_of_a_higher_node_ends_the_return("2 crashes | 2 boots; 3 campaign; 3 > 2", expect![[r#"
        2 boots: knows no leader (epoch 1); BU-9 is back: says hello; hello → 1,2,3; Quiet in 3ms
        3 campaign: knows no leader (epoch 1); saves; BU-3 declares itself in epoch 1; coordinator → 1,2; LEADER IS 3 (epoch 1)
        2 hears coordinator from 3: saves; BU-5 follows 3 in epoch 1; LEADER IS 3 (epoch 1)
    "#]]);

    bu_9_who_is_back_answers_those_who_ask("2 crashes | 2 boots; 1 campaign; 1 > 2", expect![[r#"
        2 boots: knows no leader (epoch 1); BU-9 is back: says hello; hello → 1,2,3; Quiet in 3ms
        1 campaign: knows no leader (epoch 1); BU-1 asks 2,3; election → 2,3; Answers in 2ms
        2 hears election from 1: answer → 1; BU-2 answers 1
    "#]]);

    bu_10_lower_nodes_are_told_and_forget_their_leader(
        in courteous(Courtesy { tell_lower: true, ..Courtesy::default() }), "3 campaign; rest | 2 campaign; 2 > 1;
         1 fires; rest", expect![[r#"
            2 campaign: knows no leader (epoch 2); begun → 1; BU-1 asks 3; election → 3; Answers in 2ms
            1 hears begun from 2: BU-10 forgets the leader: 2 has begun a run; knows no leader (epoch 2); Result in 10ms
            1 Result: knows no leader (epoch 2); BU-4 asks 2,3; election → 2,3; Answers in 2ms
            3 hears election from 2: answer → 2; knows no leader (epoch 2); saves; BU-3 declares itself in epoch 2; coordinator → 1,2; LEADER IS 3 (epoch 2)
            2 hears election from 1: answer → 1; BU-2 answers 1
            3 hears election from 1: answer → 1; BU-2 answers 1, who will hear of 3
            2 hears answer from 3: BU-4 3 lives and ranks higher: waits for its result; Result in 10ms
            1 hears coordinator from 3: saves; BU-5 follows 3 in epoch 2; LEADER IS 3 (epoch 2)
            2 hears coordinator from 3: saves; BU-5 follows 3 in epoch 2; LEADER IS 3 (epoch 2)
        "#]]);
}
