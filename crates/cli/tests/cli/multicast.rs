//! Multicasts on the command line: output, invalid options, and the example of a bulletin board, on
//! which members post notices and replies.

use crate::run::run;
use serde_json::Value;

const SCENARIOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenarios");

fn multicasts() -> Vec<String> {
    let listed = run("list --json").json(0);
    let of_family = listed.as_array().unwrap().iter().filter(|entry| entry["family"] == "multicast");
    of_family.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_multicast_reports_its_figures_in_json() {
    assert!(multicasts().len() >= 10);
    for name in multicasts() {
        let report = run(&format!("sim {name} --nodes 4 --senders 1-3 --messages 20 --json")).json(0);
        let multicast = &report["multicast"];
        for field in
            ["sent", "delivered", "messages_per_multicast", "held_back_max", "retransmitted", "waits", "slowest"]
        {
            assert!(multicast.get(field).is_some(), "{name} lacks {field}: {multicast}");
        }
        for field in ["mean", "max"] {
            assert!(multicast["delay"][field].is_number(), "{name} lacks the delay's {field}: {multicast}");
        }
        // All four members deliver each of the 20 messages.
        assert_eq!((multicast["sent"].as_u64(), multicast["delivered"].as_u64()), (Some(20), Some(80)), "{name}");
        assert_eq!(report["family"], "multicast", "{name}");
    }
}

/// The printed command contains every option and repeats the run.
#[test]
fn every_option_is_in_the_command_that_repeats_a_run() {
    for (name, until, options) in [
        (
            "fifo-total",
            "2ms",
            "--messages 7 --traffic flood --senders 1,3 --payload 9 --uniform --relay --sequencing via --window 5 \
             --medium broadcast --judge causal,uniform",
        ),
        ("causal", "4ms", "--messages 9 --groups '1,2,3 2,3,4' --interval fixed:2ms"),
        ("isis", "12ms", "--messages 9 --leaves 1 --piece 99 --views --lease 90ms --keepalive 9ms"),
    ] {
        let line = format!("sim {name} --nodes 4 --seed 5 {options} --until {until}");
        // `--until` cuts every run short, so that some properties are undecided: exit code 3.
        let printed = run(&line).exits(3);
        let again = printed.lines().find_map(|line| line.strip_prefix("To see it again: ")).expect("a command");
        for word in options.split_whitespace() {
            assert!(again.contains(word.trim_matches('\'')), "no {word} in {again}");
        }
        assert_eq!(run(&format!("{again} --json")).json(3), run(&format!("{line} --json")).json(3), "{again}");
    }
}

#[test]
fn comparisons_show_expected_and_measured_figures() {
    let report = run("compare multicast --nodes 2,5,8 --json").json(0);
    assert_eq!((&report["complete"], &report["holds"], &report["exact"]), (&true.into(), &true.into(), &true.into()));
    let rows = report["rows"].as_array().unwrap();
    let row = |algorithm: &str, sequencing: Option<&str>, nodes: u64| {
        let is_wanted = |row: &&Value| {
            row["algorithm"] == algorithm && row["sequencing"].as_str() == sequencing && row["nodes"] == nodes
        };
        rows.iter().find(is_wanted).unwrap_or_else(|| panic!("no {algorithm} with {nodes}"))
    };
    // Messages per multicast, and message times from the multicast to its last delivery.
    let figures = |row: &Value| (row["messages_per_multicast"].as_f64(), row["slowest_delivery"].as_f64());
    // For n = 8 nodes: basic and causal n−1, reliable n(n−1), isis 3(n−1); a sequencer 2(n−1), or n
    // if senders send only to it (`via`), and n−1 if the sequencer is the sender.
    assert_eq!(figures(row("basic", None, 8)), (Some(7.0), Some(1.0)));
    assert_eq!(figures(row("reliable", None, 8)), (Some(56.0), Some(1.0)));
    assert_eq!(figures(row("causal", None, 8)), (Some(7.0), Some(1.0)));
    assert_eq!(figures(row("sequencer", Some("to-all"), 8)), (Some(14.0), Some(2.0)));
    assert_eq!(figures(row("sequencer", Some("via"), 8)), (Some(8.0), Some(2.0)));
    assert_eq!(figures(&row("sequencer", Some("via"), 8)["sequencer"]), (Some(7.0), Some(1.0)));
    assert_eq!(figures(row("isis", None, 8)), (Some(21.0), Some(3.0)));
    assert_eq!(figures(row("basic", None, 2)), (Some(1.0), Some(1.0)));
    // On a shared medium a message to all members counts once. A uniform delivery waits one more
    // message time for acknowledgements, which are control messages and not counted. isis sends one
    // request, n−1 proposals and one decision.
    let on_shared_medium =
        run("compare multicast --algorithms basic,isis --nodes 8 --medium multicast --uniform --json").json(0);
    assert_eq!(figures(&on_shared_medium["rows"][0]), (Some(1.0), Some(2.0)));
    assert_eq!(figures(&on_shared_medium["rows"][1]), (Some(9.0), Some(4.0)));
    let table = run("compare multicast --algorithms sequencer --nodes 4").exits(0);
    assert!(table.contains("sequencer via") && table.contains("6 = 2(n−1)"), "{table}");
    let drawn = run("compare multicast --algorithms causal,isis --nodes 2,4 --svg -").exits(0);
    assert!(drawn.starts_with("<svg") && drawn.contains("3(n−1)"), "{drawn}");
}

#[test]
fn inapplicable_and_invalid_options_are_rejected() {
    for (line, part) in [
        ("compare multicast --entries 5", "--entries does not apply to comparisons of multicasts"),
        ("compare multicast --samples 5", "it is an option of 'quorate compare election'"),
        ("compare mutex --medium broadcast", "--medium does not apply to mutual exclusion"),
        ("compare election --uniform", "--uniform does not apply to comparisons of elections"),
        ("compare multicast --algorithms bully", "'bully'"),
        ("sim causal --entries 5", "--entries does not apply to 'causal'"),
        ("sim central --messages 5", "--messages does not apply to 'central'"),
        ("sim bully --views", "it is an option of the mutex and multicast families"),
        ("sim causal --sequencing via", "'causal'"),
        ("sim causal --leaves 1", "view"),
        ("check causal --rounds 2", "--messages sets how many messages are multicast"),
        ("sim causal --nodes 3 --views --leaves 4", "--leaves must be at most 3, the number of nodes; got 4"),
        ("sim causal --views --piece 0", "--piece must be at least 1 byte; got 0"),
        ("sim causal --window 0", "--window must be at least 1; got 0. The default is --window 64."),
        ("sim causal --nodes 3 --groups '1-9'", "node 9"),
        ("sim causal --groups ''", "--groups: '' is not a list of groups"),
        ("sim causal --judge casual", "did you mean 'causal'?"),
    ] {
        let printed = run(line).error();
        assert!(printed.contains(part), "{line}: {printed}");
    }
}

/// Returns the verdict on a property, promised or not.
fn verdict(algorithm: &str, script: &str, property: &str) -> Value {
    let line = format!(
        "sim {algorithm} --nodes 3 --latency fixed:1ms --script {SCENARIOS}/{script}.script --judge {property} --json"
    );
    let report = run(&line).json(0);
    let promised = report["properties"].as_array().unwrap();
    let others = report["multicast"]["not_promised"].as_array();
    let mut all = promised.iter().chain(others.into_iter().flatten());
    all.find(|verdict| verdict["name"] == property).unwrap_or_else(|| panic!("{algorithm}: {report}")).clone()
}

/// Each order keeps the property that it promises, and the weaker orders violate it.
#[test]
fn stronger_orders_keep_the_bulletin_board_consistent() {
    for (script, property, weak, strong) in [
        ("bulletin-order", "fifo", &["basic"][..], &["fifo", "causal", "fifo-total", "fifo-isis"][..]),
        ("bulletin-replies", "causal", &["basic", "fifo"], &["causal", "causal-total", "causal-isis"]),
        (
            "bulletin-numbers",
            "total",
            &["basic", "fifo", "causal"],
            &["sequencer", "isis", "causal-total", "fifo-isis"],
        ),
    ] {
        for algorithm in weak {
            let verdict = verdict(algorithm, script, property);
            assert_eq!(verdict["holds"], false, "{algorithm} on {script}: {verdict}");
            assert!(verdict["violation"]["text"].as_str().is_some_and(|text| text.contains("node")), "{verdict}");
        }
        for algorithm in strong {
            assert_eq!(verdict(algorithm, script, property)["holds"], true, "{algorithm} on {script}");
        }
    }
}

#[test]
fn a_violation_of_an_unpromised_property_is_reported_but_does_not_fail_the_run() {
    let line = format!(
        "sim fifo --nodes 3 --latency fixed:1ms --script {SCENARIOS}/bulletin-replies.script --judge causal,fifo"
    );
    let printed = run(&line).exits(0);
    let verdict = printed.lines().find(|line| line.contains("causal") && line.contains("not promised")).unwrap();
    assert!(verdict.contains("violated (at "), "{verdict}");
    assert_eq!(printed.matches("not promised").count(), 1, "promised properties are judged as usual: {printed}");
}

/// The notice is 1#1, the first message of node 1, and the reply is 2#1. Node 3 holds the reply
/// back until it has delivered the notice.
#[test]
fn the_vector_clock_example_holds_the_reply_back() {
    let line = format!("sim causal --nodes 3 --latency fixed:1ms --script {SCENARIOS}/bulletin-replies.script --steps");
    let printed = run(&line).exits(0);
    let position = |text: &str| printed.find(text).unwrap_or_else(|| panic!("no '{text}' in:\n{printed}"));
    assert!(printed.contains("CA-2 2#1 with (1,1,0) waits: this node has delivered (0,0,0)"), "{printed}");
    let (last_notice, last_reply) = (printed.rfind("DELIVERS 1#1").unwrap(), printed.rfind("DELIVERS 2#1").unwrap());
    assert!(position("DELIVERS 1#1") < position("DELIVERS 2#1") && last_notice < last_reply, "{printed}");
}

#[test]
fn explanations_have_the_rules_of_the_member_that_wraps_every_ordering() {
    let printed = run("explain causal").exits(0);
    for part in ["CA-1", "Rules of a member, for every ordering", "MC-1", "MC-12", "Assumes", "Cost"] {
        assert!(printed.contains(part), "no {part} in:\n{printed}");
    }
    let json = run("explain sequencer --json").json(0);
    assert!(json["rules_around"].as_array().is_some_and(|rules| rules.len() == 12), "{json}");
}

#[test]
fn views_and_groups_run_by_option() {
    let crashed = run("sim causal-total --nodes 4 --views --fault 'crash 2 at 20ms' --messages 30 --json").json(0);
    assert!(crashed["multicast"]["views"]["epoch"].as_u64() > Some(1), "{crashed}");
    let left = run("sim fifo --nodes 4 --views --leaves 1 --messages 30 --json").json(0);
    assert_eq!(left["multicast"]["views"]["left"], 1, "{left}");
    // Each of the 12 messages is delivered by the three members of its group.
    let of_two_groups = run("sim causal --nodes 4 --groups '1-3 2-4' --messages 12 --json").json(0);
    assert_eq!(of_two_groups["multicast"]["delivered"], 36, "{of_two_groups}");
}

#[test]
fn the_family_is_swept() {
    let swept = run("sweep --family multicast --seeds 12 --json").json(0);
    assert_eq!(swept["rows"].as_array().unwrap().len(), multicasts().len());
    let views = run("sweep --family multicast --views --seeds 7 --json").json(0);
    assert_eq!((&views["holds"], views["rows"].as_array().unwrap().len()), (&true.into(), multicasts().len()));
}
