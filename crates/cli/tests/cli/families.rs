//! Families other than mutual exclusion, and options of one family that another rejects.

use crate::json::shape;
use crate::run::{run, run_in};
use expect_test::{Expect, expect};
use serde_json::Value;
use std::fs;

#[track_caller]
fn assert_errors(lines: &[&str], expected: &Expect) {
    let printed = lines.iter().map(|line| format!("$ quorate {line}\n{}", run(line).error()));
    expected.assert_eq(&printed.collect::<String>());
}

#[test]
fn an_option_of_another_family_is_rejected() {
    assert_errors(
        &[
            "sim raft --entries 4",
            "sim raft --starters lowest --workload all",
            "sweep raft --try 0.5",
            "sim raft --cancel 0",
            "sim raft --hold fixed:1ms --think fixed:1ms",
            "sweep raft --requesters 1",
            "sim central --starters lowest",
            "sweep ricart-agrawala --operations 7",
            "sim raft --chaos",
            "sim replica --starters all",
        ],
        &expect![[r#"
            $ quorate sim raft --entries 4
            error: --entries does not apply to 'raft' of the election family; it is an option of the mutex family.
            $ quorate sim raft --starters lowest --workload all
            error: --workload does not apply to 'raft' of the election family; it is an option of the mutex family.
            $ quorate sweep raft --try 0.5
            error: --try does not apply to 'raft' of the election family; it is an option of the mutex family.
            $ quorate sim raft --cancel 0
            error: --cancel does not apply to 'raft' of the election family; it is an option of the mutex family.
            $ quorate sim raft --hold fixed:1ms --think fixed:1ms
            error: --hold does not apply to 'raft' of the election family; it is an option of the mutex family.
            $ quorate sweep raft --requesters 1
            error: --requesters does not apply to 'raft' of the election family; it is an option of the mutex family.
            $ quorate sim central --starters lowest
            error: --starters does not apply to 'central' of the mutex family; it is an option of the election family.
            $ quorate sweep ricart-agrawala --operations 7
            error: --operations does not apply to 'ricart-agrawala' of the mutex family; it is an option of the replica family.
            $ quorate sim raft --chaos
            error: --chaos does not apply to 'raft' of the election family; it is an option of the replica family.
            $ quorate sim replica --starters all
            error: --starters does not apply to 'replica' of the replica family; it is an option of the election family.
        "#]],
    );
}

#[test]
fn invalid_starters_are_rejected() {
    assert_errors(
        &[
            "sim raft --starters 4",
            "sim raft --starters 1-4000000000",
            "sim raft --starters 0",
            "sim raft --starters highst",
            "sim raft --starters ''",
            "sim raft --starters 2,2",
        ],
        &expect![[r#"
            $ quorate sim raft --starters 4
            error: --starters must name nodes of the group; got node 4, but there are only nodes 1 to 3.
            $ quorate sim raft --starters 1-4000000000
            error: --starters must name nodes of the group; got node 4000000000, but there are only nodes 1 to 3.
            $ quorate sim raft --starters 0
            error: --starters: '0' is invalid: node numbers must be between 1 and 4294967295.
            $ quorate sim raft --starters highst
            error: --starters: 'highst' is not a choice of starters; did you mean 'highest'? Write lowest, highest, all, successor-of-highest, or nodes such as 2,5.
            $ quorate sim raft --starters ''
            error: --starters: '' is not a choice of starters. Write lowest, highest, all, successor-of-highest, or nodes such as 2,5.
            $ quorate sim raft --starters 2,2
            error: --starters: '2,2' names node 2 twice; name it once.
        "#]],
    );
}

#[test]
fn algorithms_without_copyable_nodes_cannot_be_checked() {
    assert_errors(
        &["check raft", "check raft --nodes 2 --json", "check replica"],
        &expect![[r#"
            $ quorate check raft
            error: 'raft' cannot be checked exhaustively: its nodes cannot be copied, compared and hashed. No state was explored; 'quorate sweep raft' tries many seeds instead.
            $ quorate check raft --nodes 2 --json
            error: 'raft' cannot be checked exhaustively: its nodes cannot be copied, compared and hashed. No state was explored; 'quorate sweep raft' tries many seeds instead.
            $ quorate check replica
            error: 'replica' cannot be checked exhaustively: its nodes cannot be copied, compared and hashed. No state was explored; 'quorate sweep replica' tries many seeds instead.
        "#]],
    );
}

#[test]
fn a_script_of_another_family_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("acquires"), "acquire 2 at 5ms\n").unwrap();
    fs::write(folder.path().join("campaigns"), "campaign 2 at 5ms\ncrash 3 at 1s\n").unwrap();
    let printed = run_in(folder.path(), "sim raft --script acquires").error();
    assert!(
        printed.contains("'acquire' is not a fault, a command or a direction")
            && printed.contains("Commands are campaign, resign."),
        "{printed}"
    );
    assert!(run_in(folder.path(), "sim central --script campaigns").error().contains("'campaign' is not"));
    let report = run_in(folder.path(), "sim raft --script campaigns --json").json(0);
    assert_eq!((&report["election"]["leader"], &report["ending"]), (&2.into(), &"done".into()));
}

#[test]
fn an_election_is_printed_step_by_step() {
    expect![[r#"
              time   1  2
             0.000   · [·]  campaign · RF-1 campaigns in term 2 · saves {ballot:{term:2,vote:2,commit:1}} · sets timer tick (4ms)
             0.000   · [?]  save 1 is durable · vote → 1 · knows no leader (epoch 2)
             1.000  [·] ?   vote from 2 · saves {ballot:{term:2,vote:2,commit:1}} · sets timer tick (4ms)
             1.000  [?] ?   save 1 is durable · vote-reply → 2 · knows no leader (epoch 2)
             2.000   ? [?]  vote-reply from 1 · saves {entries:[{index:2,term:2,body:blank}]} · append → 1 · RF-3 node 2 leads in term 2 · sets timer tick (4ms)
             2.000   ? [█]  save 2 is durable · LEADER IS 2 (epoch 2)
             3.000  [?] █   append from 2 · saves {entries:[{index:2,term:2,body:blank}]} · RF-4 node 2 leads in term 2 · cancels timer tick
             3.000  [○] █   save 2 is durable · append-reply → 2 · LEADER IS 2 (epoch 2)
             4.000   ○ [█]  append-reply from 1 · cancels timer tick
                    · not involved   ? knows no leader   ○ knows the leader   █ is the leader   ‖ paused   ✗ down   [ ] acting node   times in milliseconds

        raft · 2 nodes · seed 1 · fixed:1ms · bare links

                                                  measured   expected
          leader                                         2
          epoch                                          2
          election messages                              2
          announcement messages                          1
          total messages                                 3   3
          rounds                                         1
          time until all nodes know the leader         3 T
          busiest node's share                        100%
          messages                                       3   1 append, 1 vote, 1 vote-reply
          bytes                                         23
          control messages                               1   5 bytes of heartbeats, acknowledgements and retransmissions

          always      one-leader-per-epoch    holds
          always      epochs-grow             holds
          eventually  agreed                  holds

          done at 4ms, 11 events, trace e0f66eabb25e6658
    "#]].assert_eq(&run("sim raft --nodes 2 --starters highest --latency fixed:1ms --steps").exits(0));
}

#[test]
fn the_json_of_an_election_has_its_figures() {
    let report = run("sim raft --nodes 5 --starters lowest --latency fixed:1ms --json").json(0);
    expect![[r#"
        algorithm: string
        election.announcement_messages: integer
        election.election_messages: integer
        election.epoch: integer
        election.leader: integer
        election.rounds: integer
        election.time: float
        election.time_unit: string
        ending: string
        events: integer
        family: string
        links: string
        messages.busiest_share: float
        messages.by_kind.append: integer
        messages.by_kind.vote-reply: integer
        messages.by_kind.vote: integer
        messages.bytes: integer
        messages.control: integer
        messages.control_bytes: integer
        messages.total: integer
        nodes: integer
        properties[].holds: bool
        properties[].kind: string
        properties[].name: string
        seed: integer
        time_ns: integer
        trace_hash: string
    "#]]
    .assert_eq(&shape(&report));
    let figures = ["leader", "epoch", "election_messages", "announcement_messages", "rounds", "time", "time_unit"];
    let figures: Vec<_> = figures.iter().map(|figure| report["election"][figure].clone()).collect();
    // The first campaign is in term 2. n−1 vote requests, n−1 votes and n−1 announcements take 3 T.
    let expected: Value = serde_json::from_str("[1, 2, 8, 4, 1, 3.0, \"T\"]").unwrap();
    assert_eq!(Value::Array(figures), expected);
    assert_eq!(report["family"], "election");
}

/// A command line always gives the same run, and its journal gives the same report.
#[test]
fn an_election_can_be_repeated_and_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let line = "sim raft --nodes 4 --starters 2,4 --seed 3 --loss 0.2 --fault \"crash 1 at 9ms for 20ms\"";
    let printed = run_in(folder.path(), &format!("{line} --trace run.journal --json")).json(0);
    assert_eq!(printed, run(&format!("{line} --json")).json(0));
    let replayed = run_in(folder.path(), "replay run.journal --json").json(0);
    assert_eq!((&replayed["identical"], &replayed["election"]), (&true.into(), &printed["election"]));
    let read = run_in(folder.path(), "trace run.journal --summary --json").json(0);
    assert_eq!((&read["election"], &read["properties"]), (&printed["election"], &printed["properties"]));
    assert!(run_in(folder.path(), "trace run.journal --clocks").exits(0).contains("LEADER IS"));
    assert!(run_in(folder.path(), "trace run.journal --before 6 9").exits(0).starts_with("Line 6"));
    let text = fs::read_to_string(folder.path().join("run.journal")).unwrap();
    let false_header = text.replacen("\"family\":\"election\"", "\"family\":\"mutex\"", 1);
    fs::write(folder.path().join("run.journal"), false_header).unwrap();
    let printed = run_in(folder.path(), "replay run.journal").error();
    assert!(printed.contains("contradicts itself about the algorithm's family"), "{printed}");
}

#[test]
fn an_election_without_a_majority_fails_with_a_reason() {
    let printed = run("sim raft --nodes 4 --fault \"crash 1\" --fault \"crash 2\"").exits(1);
    for part in [
        "eventually  agreed                  FAILS: at ",
        "knows no leader at the end",
        "stopped at ",
        "; there is no leader that all nodes know",
        "To see it again: quorate sim raft --nodes 4 --seed 1 --starters all --fault \"crash 1\" --fault \"crash 2\"",
    ] {
        assert!(printed.contains(part), "no '{part}' in\n{printed}");
    }
}

#[test]
fn elections_are_swept_and_one_starter_has_no_contest() {
    let report = run("sweep raft --nodes 5 --seeds 200 --random-faults crash=1,cut=1 --json").json(0);
    assert_eq!((&report["seeds"], &report["failed"]), (&200.into(), &0.into()));
    let names: Vec<_> = report["properties"].as_array().unwrap().iter().map(|row| row["name"].clone()).collect();
    assert_eq!(names, ["one-leader-per-epoch", "epochs-grow", "agreed", "contested"]);
    let text = run("sweep raft --starters lowest --seeds 20").exits(0);
    assert!(!text.contains("contested"), "a single starter has no contest:\n{text}");
}

#[test]
fn a_run_of_replicas_answers_all_operations() {
    let report = run("sim replica --operations 9 --clients 2 --json").json(0);
    assert_eq!((&report["family"], &report["replica"]["answered"]), (&"replica".into(), &9.into()));
    let printed = run("sim replica --operations 9 --clients 2 --reads lease --keys 2").exits(0);
    assert!(printed.contains("operations                         9   9 answered"), "{printed}");
}

/// The fault mixes of the family find several of the seeded bugs even with few seeds.
#[test]
fn replicas_are_swept_under_chaos() {
    let printed = run("sweep --family replica --fixtures --seeds 30").exits(0);
    for part in ["holds: linearizable, kept, equal", "found: 'equal', node", "found: 'notified',"] {
        assert!(printed.contains(part), "no '{part}' in\n{printed}");
    }
    assert!(printed.lines().skip(3).all(|line| line.starts_with("  replica")), "one line per replica:\n{printed}");
}
