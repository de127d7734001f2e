//! Tests of each rule, of the cost, and of forged messages.
//!
//! In scripts, `1 ask-P2+P3` lets process P1 ask P2 and P3 and wait for both, `1 give-up` cancels
//! its wait, and `1 look` starts its check for a deadlock. P1.1 is the second process of site 1,
//! whose commands end in `@1`: `1 ask-P1@1` lets it ask P1. `1 > 2` delivers the oldest message
//! from site 1 to 2, `1 > 2 last` the newest, and `rest` all; `1 fires` lets a timer of site 1
//! expire. Steps before ` | ` prepare the state; `of` and `by` replace the number of sites and
//! their constructor in one test.
//! [`test_helpers`](crate::deadlock::test_helpers) lists all steps.
//!
//! In traces, RQ rules are those of the host (`requests.rs`), whose answers have the kind
//! `release`, and RS rules those of the resolution. A part such as `P2 waits for P3` without a rule
//! is an event, and may repeat the note before it.

use crate::deadlock::edge_chasing::{Message, Probe};
use crate::deadlock::requests::Message as HostMessage;
use crate::deadlock::test_helpers::{assert_ignored, process, request_group, request_sites, wait};
use crate::deadlock::{Agent, Command, EdgeChasing, Need, Plan, Wait, WaitId};
use crate::mutex::rules::rule_tests;
use crate::time::Duration;
use expect_test::expect;
use std::collections::BTreeSet;
use std::vec::Vec;

fn two_processes(sites: usize) -> Plan {
    Plan::new(sites).with_processes(2)
}

rule_tests! { request_sites(Plan::new, EdgeChasing::new), 3;
    ec_1_an_agent_that_begins_to_wait_sends_a_probe_to_each_awaited_agent("1 ask-P2+P3; 1 look; 2 look", expect![[r#"
        1 ask P2 and P3: RQ-1 P1 asks P2 and P3; P1 waits for P2 and P3; request → 2; request → 3; EC-1 P1 sends a probe to P2 and P3; probe → 2; probe → 3
        1 look: EC-1 P1 sends a probe to P2 and P3; probe → 2; probe → 3
        2 look: refused: the process does not wait
    "#]]);

    ec_2_a_probe_ends_at_an_agent_that_does_not_wait(of 2, "1 ask-P2; 1 > 2; 1 > 2", expect![[r#"
        1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2; EC-1 P1 sends a probe to P2; probe → 2
        2 receives request from 1: RQ-2 P1 waits for P2; P1 waits for P2
        2 receives probe from 1: EC-2 drops it: P2 does not wait
    "#]]);

    ec_2_a_probe_ends_at_an_agent_that_has_answered_its_sender(
        "1 ask-P2; 1 > 2 | 2 answer-P1; 2 ask-P3; 1 > 2", expect![[r#"
            2 answer P1: RQ-3 P2 answers P1; P2 answers P1; release → 1
            2 ask P3: RQ-1 P2 asks P3; P2 waits for P3; request → 3; EC-1 P2 sends a probe to P3; probe → 3
            2 receives probe from 1: EC-2 drops it: P1 does not wait for P2
        "#]]);

    ec_2_a_probe_that_overtakes_its_request_ends("2 ask-P3; 1 ask-P2 | 1 > 2 last", expect![[r#"
        2 receives probe from 1: EC-2 drops it: P1 does not wait for P2
    "#]]);

    ec_2_each_agent_forwards_a_check_once(of 5, "2 ask-P4; 3 ask-P4; 4 ask-P5 | rest; 1 ask-P2+P3; rest", expect![[r#"
        4 receives request from 2: RQ-2 P2 waits for P4; P2 waits for P4
        4 receives probe from 2: EC-2 P4 waits for P5; probe → 5
        4 receives request from 3: RQ-2 P3 waits for P4; P3 waits for P4
        4 receives probe from 3: EC-2 P4 waits for P5; probe → 5
        5 receives request from 4: RQ-2 P4 waits for P5; P4 waits for P5
        5 receives probe from 4: EC-2 drops it: P5 does not wait
        5 receives probe from 4: EC-2 drops it: P5 does not wait
        5 receives probe from 4: EC-2 drops it: P5 does not wait
        1 ask P2 and P3: RQ-1 P1 asks P2 and P3; P1 waits for P2 and P3; request → 2; request → 3; EC-1 P1 sends a probe to P2 and P3; probe → 2; probe → 3
        2 receives request from 1: RQ-2 P1 waits for P2; P1 waits for P2
        3 receives request from 1: RQ-2 P1 waits for P3; P1 waits for P3
        2 receives probe from 1: EC-2 P2 waits for P4; probe → 4
        3 receives probe from 1: EC-2 P3 waits for P4; probe → 4
        4 receives probe from 2: EC-2 P4 waits for P5; probe → 5
        4 receives probe from 3: EC-2 drops it: P4 has forwarded this or a later check of P1
        5 receives probe from 4: EC-2 drops it: P5 does not wait
    "#]]);

    ec_3_a_probe_that_returns_has_found_a_cycle("1 ask-P2; 2 ask-P3; rest; 3 ask-P1 | rest", expect![[r#"
        1 receives request from 3: RQ-2 P3 waits for P1; P3 waits for P1
        1 receives probe from 3: EC-2 P1 waits for P2; probe → 2
        2 receives probe from 1: EC-2 P2 waits for P3; probe → 3
        3 receives probe from 2: EC-3 the probe has returned: P3 is in a cycle; RS-1 reports the deadlock of P3; DEADLOCK: P3 waits for P1; P1 waits for P2; P2 waits for P3
    "#]]);

    ec_3_a_cycle_within_a_site_takes_no_message(
        by request_sites(two_processes, EdgeChasing::new), of 1, "1 ask-P1.1; 1 ask-P1@1", expect![[r#"
            1 ask P1.1: RQ-1 P1 asks P1.1; P1 waits for P1.1; RQ-2 P1 waits for P1.1; P1 waits for P1.1; EC-1 P1 sends a probe to P1.1; EC-2 drops it: P1.1 does not wait
            1 ask P1 (process 1): RQ-1 P1.1 asks P1; P1.1 waits for P1; RQ-2 P1.1 waits for P1; P1.1 waits for P1; EC-1 P1.1 sends a probe to P1; EC-2 P1 waits for P1.1; EC-3 the probe has returned: P1.1 is in a cycle; RS-1 reports the deadlock of P1.1; DEADLOCK: P1.1 waits for P1; P1 waits for P1.1
        "#]]);

    ec_3_a_probe_of_an_earlier_wait_finds_nothing(
        of 4, "3 ask-P1; 2 ask-P3; rest; 1 ask-P2; 1 > 2; 1 > 2; 2 > 3 | 1 give-up; 1 ask-P4; 3 > 1", expect![[r#"
            1 give-up: RQ-5 P1 cancels its wait; P1 has cancelled its wait; withdraw → 2
            1 ask P4: RQ-1 P1 asks P4; P1 waits for P4; request → 4; EC-1 P1 sends a probe to P4; probe → 4
            1 receives probe from 3: EC-3 drops it: it belongs to an earlier wait of P1
        "#]]);

    ec_4_an_agent_that_waits_anew_forwards_the_same_check_again(
        of 4, "3 ask-P2; 2 ask-P4; rest; 1 ask-P2+P3; 1 > 2; 1 > 2; 4 answer-P2 | 4 > 2; 2 ask-P4; 1 > 3; 1 > 3; 3 > 2", expect![[r#"
            2 receives release from 4: RQ-4 P2 continues; P2 continues
            2 ask P4: RQ-1 P2 asks P4; P2 waits for P4; request → 4; EC-1 P2 sends a probe to P4; probe → 4
            3 receives request from 1: RQ-2 P1 waits for P3; P1 waits for P3
            3 receives probe from 1: EC-2 P3 waits for P2; probe → 2
            2 receives probe from 3: EC-2 P2 waits for P4; probe → 4
        "#]]);
}

#[test]
fn ec_1_with_patience_the_probe_is_delayed_and_omitted_if_the_wait_ends() {
    let plan = Plan { patience: Duration::from_millis(3), ..Plan::new(3) };
    let mut group = request_group(&plan, EdgeChasing::new);
    group.run("1 ask-P2; 3 ask-P2; 1 fires; 3 > 2; 2 answer-P3; 2 > 3");
    expect![[r#"
        1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2
        3 ask P2: RQ-1 P3 asks P2; P3 waits for P2; request → 2
        1 timer: EC-1 P1 sends a probe to P2; probe → 2
        2 receives request from 3: RQ-2 P3 waits for P2; P3 waits for P2
        2 answer P3: RQ-3 P2 answers P3; P2 answers P3; release → 3
        3 receives release from 2: RQ-4 P3 continues; P3 continues
    "#]]
    .assert_eq(&group.trace);
    assert_eq!(group.timer_count(), 0);
}

/// Lets all agents wait as given. Then each waiting agent starts a check. Returns for each check
/// its agent, its number of probes between sites, and whether it found a deadlock.
fn run_checks(plan: &Plan, needs: &[(Agent, Vec<Agent>)]) -> Vec<(Agent, usize, bool)> {
    let mut group = request_group(plan, EdgeChasing::new);
    let waiting: Vec<_> = needs.iter().filter(|(_, awaited)| !awaited.is_empty()).collect();
    for (agent, awaited) in &waiting {
        group.command(agent.site, Command::Ask { process: agent.number, need: Need::All(awaited.clone()) });
    }
    group.run("rest");
    let mut checks = Vec::new();
    for (agent, _) in waiting {
        group.trace.clear();
        group.command(agent.site, Command::Check { process: agent.number });
        group.run("rest");
        checks.push((*agent, group.trace.matches("probe → ").count(), group.trace.contains("DEADLOCK")));
    }
    checks
}

/// Returns the agents that `agent` waits for, directly or through others.
fn reachable_from(agent: Agent, needs: &[(Agent, Vec<Agent>)]) -> BTreeSet<Agent> {
    let mut reached = BTreeSet::new();
    let mut unexpanded = [agent].to_vec();
    while let Some(agent) = unexpanded.pop() {
        let awaited = needs.iter().filter(|(waiter, _)| *waiter == agent).flat_map(|(_, awaited)| awaited);
        unexpanded.extend(awaited.copied().filter(|awaited| reached.insert(*awaited)));
    }
    reached
}

/// Tries all graphs of three agents; of those of four it tries a sample, every 53rd, and the
/// complete one. Each site has one process. Bit `agent * sites + awaited` of a graph's number
/// stands for the edge from `agent` to `awaited`. A check finds a deadlock exactly if its agent is
/// on a cycle, and takes no more probes than there are edges. A check that finds a deadlock stays
/// within the textbook bound m(n−1)/2 if no two agents wait for each other; m and n both count all
/// agents that the check reaches.
#[test]
fn a_check_costs_at_most_one_probe_per_wait() {
    const COMPLETE_GRAPH_OF_FOUR: u32 = 0b0111_1011_1101_1110;
    let of_four = (0..1 << 16).step_by(53).chain([COMPLETE_GRAPH_OF_FOUR]);
    let graphs = (0..1_u32 << 9).map(|bits| (3, bits)).chain(of_four.map(|bits| (4, bits)));
    let mut max_probes = 0;
    for (sites, bits) in graphs {
        let waits_for = |agent: usize, awaited: usize| bits >> (agent * sites + awaited) & 1 == 1;
        if (0..sites).any(|agent| waits_for(agent, agent)) {
            continue;
        }
        let awaited_by =
            |agent| (0..sites).filter(move |other| waits_for(agent, *other)).map(|other| process(other + 1)).collect();
        let needs: Vec<_> = (0..sites).map(|agent| (process(agent + 1), awaited_by(agent))).collect();
        let has_mutual_wait =
            (0..sites).any(|agent| (0..sites).any(|other| waits_for(agent, other) && waits_for(other, agent)));
        for (agent, probes, has_found) in run_checks(&Plan::new(sites), &needs) {
            let reached = reachable_from(agent, &needs);
            assert_eq!(has_found, reached.contains(&agent), "{agent} in {needs:?}");
            assert!(probes <= bits.count_ones() as usize, "{probes} probes of {agent} in {needs:?}");
            let is_within_bound = 2 * probes <= reached.len() * (reached.len() - 1);
            assert!(has_mutual_wait || !has_found || is_within_bound, "{probes} probes of {agent} in {needs:?}");
            max_probes = max_probes.max(probes);
        }
    }
    assert_eq!(max_probes, 12, "if all four wait for all others: twice the textbook bound of 6");
}

/// Tries all graphs in which each of five processes on three sites waits for one other. A check
/// that finds a deadlock and reaches three sites stays within the textbook bound m(n−1)/2; m counts
/// the processes and n the sites that the check reaches.
#[test]
fn a_check_with_single_waits_stays_within_the_textbook_bound() {
    let plan = Plan::new(3).with_processes(5);
    let all: Vec<_> = plan.all_processes().collect();
    for code in 0..4_usize.pow(5) {
        // Digit `agent` of the code in base 4 selects one of the four others.
        let awaited_by = |agent: usize| (agent + 1 + code / 4_usize.pow(agent as u32) % 4) % 5;
        let needs: Vec<_> = (0..5).map(|agent| (all[agent], [all[awaited_by(agent)]].to_vec())).collect();
        for (agent, probes, has_found) in run_checks(&plan, &needs) {
            let reached = reachable_from(agent, &needs);
            assert_eq!(has_found, reached.contains(&agent), "{agent} in {needs:?}");
            let sites: BTreeSet<_> = reached.iter().map(|agent| agent.site).collect();
            let is_within_bound = 2 * probes <= reached.len() * (sites.len() - 1);
            assert!(!has_found || sites.len() < 3 || is_within_bound, "{probes} probes of {agent} in {needs:?}");
        }
    }
}

/// The textbook bound m(n−1)/2, where m and n count only the processes in the deadlock and their
/// sites, fails in two cases: two processes wait for each other (it allows 1 probe), or one of
/// three in a cycle also waits for a process outside it (it allows 3 probes).
#[test]
fn a_check_may_exceed_the_textbook_bound() {
    let mutual_wait = [(process(1), [process(2)].to_vec()), (process(2), [process(1)].to_vec())];
    assert_eq!(run_checks(&Plan::new(2), &mutual_wait)[0], (process(1), 2, true));
    let cycle_with_outsider = [
        (process(1), [process(2), process(4)].to_vec()),
        (process(2), [process(3)].to_vec()),
        (process(3), [process(1)].to_vec()),
    ];
    assert_eq!(run_checks(&Plan::new(4), &cycle_with_outsider)[0], (process(1), 4, true));
}

#[test]
fn forged_probes_are_ignored() {
    let mut group = request_group(&Plan::new(3), EdgeChasing::new);
    group.run("1 ask-P2; 2 ask-P1; 1 > 2; 2 > 1");
    let without_awaited = Wait { need: Need::All([].into()), ..wait(process(2), process(1)) };
    let with_two_awaited = Wait { need: Need::All([process(1), process(2)].into()), ..wait(process(2), process(1)) };
    let with_unknown_id = Wait { wait_id: WaitId(7), ..wait(process(2), process(1)) };
    // Paths of probes from site 2 to site 1, where P2 waits for P1.
    let paths = [
        [].into(),
        [without_awaited].into(),
        [with_two_awaited].into(),
        [with_unknown_id].into(),
        // From an agent that does not exist, and to an agent at another site.
        [wait(process(9), process(1))].into(),
        [wait(process(2), process(3))].into(),
    ];
    // The correct path, but from site 3.
    let correct = [wait(process(1), process(2)), wait(process(2), process(1))].into();
    let forged = paths.map(|path| (2, path)).into_iter().chain([(3, correct)]);
    assert_ignored(
        group,
        forged.map(|(from, path)| (from, 1, HostMessage::Detector(Message::Probe(Probe { check: 1, path })))),
    );
}
