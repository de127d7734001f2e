//! Links deliver messages in order and skip none; gathering reports journals that show otherwise.
//!
//! In hand-written journals, `sending_step(10, 1, "1.4", 2)` is a step of node 1 at time 10 that
//! sends message 1.4 (its fourth) to node 2, and `receipt(12, 2, "1.4", &[])` is the step of node 2
//! at time 12 that receives the message. `incarnation_journal(2, 0, lines)` is the journal of node
//! 2's incarnation 0.

use crate::gather::hand_written::{incarnation_journal, receipt, sending_step};
use crate::gather::runs::{
    election_spec, lock_spec, lock_spec_without_crashes, partitioned_election_spec, partitioned_replica_spec,
    replica_spec, run_journal,
};
use crate::gather::split::{Machines, Part, gather_parts, split};
use quorate_lab::{FamilyLab, Spec};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// An incarnation of a node: its node and its number.
type NodeIncarnation = (u64, u64);

/// The receipt of a message in one of the files.
#[derive(Clone)]
struct Receipt {
    /// Index of the file.
    part: usize,
    /// Line in its file, from 0.
    line: usize,
    id: String,
    number: u64,
}

/// The messages in the files of all incarnations.
#[derive(Default)]
struct Traffic {
    /// The numbers of the messages that an incarnation sent to a node.
    sent: BTreeMap<(NodeIncarnation, u64), BTreeSet<u64>>,
    /// The messages received between two incarnations, in order.
    links: BTreeMap<(NodeIncarnation, NodeIncarnation), Vec<Receipt>>,
}

fn message_number(id: &Value) -> u64 {
    id.as_str().unwrap().split_once('.').unwrap().1.parse().unwrap()
}

impl Traffic {
    fn from_parts(parts: &[Part]) -> Self {
        let mut traffic = Self::default();
        for (part, Part { bytes, .. }) in parts.iter().enumerate() {
            let text = std::str::from_utf8(bytes).unwrap();
            let values: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let live = &values[0]["live"];
            let Some(node) = live["node"].as_u64() else { continue };
            let receiver = (node, live["incarnation"].as_u64().unwrap());
            for (line, step) in values.iter().enumerate().skip(1) {
                traffic.add_step(receiver, (part, line), step);
            }
        }
        traffic
    }

    fn add_step(&mut self, incarnation: NodeIncarnation, (part, line): (usize, usize), step: &Value) {
        if let Some(message) = step["input"].get("message") {
            let id = message["id"].as_str().unwrap().to_owned();
            let sender = id.split_once('.').unwrap().0.parse().unwrap();
            // `life` is the sender's incarnation, and is absent for the first one.
            let from = (sender, message.get("life").map_or(0, |life| life.as_u64().unwrap()));
            let receipt = Receipt { part, line, id, number: message_number(&message["id"]) };
            self.links.entry((from, incarnation)).or_default().push(receipt);
        }
        for effect in step["effects"].as_array().into_iter().flatten() {
            if let Some(send) = effect.get("send") {
                let to = send["to"].as_u64().unwrap();
                self.sent.entry((incarnation, to)).or_default().insert(message_number(&send["id"]));
            }
            for (index, to) in effect["multicast"]["to"].as_array().into_iter().flatten().enumerate() {
                // The messages of a multicast have consecutive numbers.
                let number = message_number(&effect["multicast"]["id"]) + index as u64;
                self.sent.entry((incarnation, to.as_u64().unwrap())).or_default().insert(number);
            }
        }
    }

    /// Returns how many messages never arrived although a later one on the same link did. The start
    /// of a link to a later incarnation does not count.
    fn count_skipped(&self) -> u64 {
        let skipped_on_link = |((from, to), receipts): (&(NodeIncarnation, NodeIncarnation), &Vec<Receipt>)| {
            let first = if to.1 == 0 { 1 } else { receipts[0].number };
            let range = first..=receipts.last().unwrap().number;
            self.sent[&(*from, to.0)].range(range).count()
                - receipts.iter().filter(|receipt| receipt.number >= first).count()
        };
        self.links.iter().map(skipped_on_link).sum::<usize>() as u64
    }
}

/// Returns the parts with the lines of one file changed.
fn alter_lines(parts: &[Part], part: usize, change: impl Fn(usize, &str) -> String) -> Vec<Part> {
    let mut parts = parts.to_vec();
    let text = String::from_utf8(parts[part].bytes.clone()).unwrap();
    let lines = text.lines().enumerate().map(|(index, line)| change(index, line) + "\n");
    parts[part].bytes = lines.collect::<String>().into_bytes();
    parts
}

/// Returns the step with a completed save as its input in place of a message.
fn without_message(line: &str) -> String {
    let (before, message) = line.split_once("{\"message\":").unwrap();
    let (_, after) = message.split_once("},\"effects\"").unwrap();
    format!("{before}{{\"saved\":0}},\"effects\"{}", after.strip_prefix('}').unwrap_or(after))
}

fn parts_of<F: FamilyLab>(spec: &Spec<F>, machines: Machines) -> Vec<Part> {
    split(&run_journal(spec), machines)
}

const ONE_MACHINE: Machines = Machines {
    has_own_machines: false,
    offset_nanos: 0,
    error_nanos: 0,
    has_fault_journal: true,
    has_clean_shutdowns: true,
};
const OWN_MACHINES: Machines = Machines {
    has_own_machines: true,
    offset_nanos: 7_777_777_777,
    error_nanos: 3_000_000,
    has_fault_journal: false,
    has_clean_shutdowns: true,
};

/// Asserts that gathering detects the removal of any one receipt, unless it is the last of its
/// link, or the first of a link to a later incarnation. Tries every `stride`th receipt, and returns
/// a lower bound of the number of receipts tried.
fn assert_gaps_detected<F: FamilyLab>(spec: &Spec<F>, machines: Machines, stride: usize) -> usize {
    let parts = parts_of(spec, machines);
    let (_, intact) = gather_parts(&parts).unwrap();
    assert_eq!(intact.skipped_messages, 0, "seed {}", spec.seed);
    let traffic = Traffic::from_parts(&parts);
    let detectable = |((_, to), link): (&(NodeIncarnation, NodeIncarnation), &Vec<Receipt>)| {
        // A first incarnation receives every message from the beginning; a later one may miss some.
        let first_detectable = if to.1 == 0 { 0 } else { 1 };
        link[first_detectable..].split_last().map_or(Vec::new(), |(_, receipts)| receipts.to_vec())
    };
    let receipts: Vec<_> = traffic.links.iter().filter(|(_, link)| link.len() > 1).flat_map(detectable).collect();
    for Receipt { part, line, id, .. } in receipts.iter().step_by(stride) {
        let case = format!("seed {}, {id} in {}, line {line}", spec.seed, parts[*part].name);
        let altered_parts =
            alter_lines(&parts, *part, |index, text| if index == *line { without_message(text) } else { text.into() });
        let (result, gathered) = gather_parts(&altered_parts).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(
            (gathered.skipped_messages, gathered.received_messages),
            (1, intact.received_messages - 1),
            "{case}"
        );
        assert_eq!((gathered.lost_messages, gathered.in_flight), (intact.lost_messages, intact.in_flight), "{case}");
        assert_eq!(result.matches("\"why\":\"chance\"").count(), 1, "{case}");
        let [warning] = &gathered.warnings[..] else { panic!("{case}: {:?}", gathered.warnings) };
        // The number of the node in a name such as `n2-0.journal`.
        let node = &parts[*part].name[1..2];
        assert!(warning.contains(&format!("never reached node {node}, but ")), "{case}: {warning}");
    }
    receipts.len() / stride
}

/// Asserts that gathering refuses journals in which two neighbouring receipts of one link are
/// swapped. Tries every `stride`th pair, and returns a lower bound of the number of pairs tried.
fn assert_disorder_detected<F: FamilyLab>(spec: &Spec<F>, stride: usize) -> usize {
    let parts = parts_of(spec, ONE_MACHINE);
    let traffic = Traffic::from_parts(&parts);
    let pairs: Vec<_> = traffic.links.values().flat_map(|link| link.windows(2)).collect();
    for pair in pairs.iter().step_by(stride) {
        let [one, two] = pair else { panic!("windows(2) yields pairs") };
        let quoted = |id: &str| format!("\"id\":\"{id}\"");
        let swapped = alter_lines(&parts, one.part, |index, text| match index {
            index if index == one.line => text.replacen(&quoted(&one.id), &quoted(&two.id), 1),
            index if index == two.line => text.replacen(&quoted(&two.id), &quoted(&one.id), 1),
            _ => text.into(),
        });
        let error = gather_parts(&swapped).expect_err("a reordered link was accepted").to_string();
        let position =
            format!("in {}, line {}: message {} of incarnation ", parts[one.part].name, two.line + 1, one.id);
        let after = format!("arrives after {}, which was sent later and arrived on line {}", two.id, one.line + 1);
        assert!(error.starts_with(&position) && error.contains(&after), "seed {}: {error}", spec.seed);
    }
    pairs.len() / stride
}

#[test]
fn a_lost_message_is_detected() {
    let mut tried = assert_gaps_detected(&replica_spec(5), OWN_MACHINES, 37);
    for seed in 1..=4 {
        tried += assert_gaps_detected(&lock_spec_without_crashes("ricart-agrawala", seed), ONE_MACHINE, 1);
        tried += assert_gaps_detected(&lock_spec("central", seed), OWN_MACHINES, 1);
        tried += assert_gaps_detected(&election_spec(seed), ONE_MACHINE, 7);
        tried += assert_gaps_detected(&replica_spec(seed), ONE_MACHINE, 31);
    }
    assert!(tried > 200, "only {tried} receipts were removed");
}

#[test]
fn reordered_messages_are_detected() {
    let mut tried = 0;
    for seed in 1..=4 {
        tried += assert_disorder_detected(&lock_spec_without_crashes("ricart-agrawala", seed), 1);
        tried += assert_disorder_detected(&lock_spec("central", seed), 1);
        tried += assert_disorder_detected(&election_spec(seed), 7);
        tried += assert_disorder_detected(&replica_spec(seed), 31);
    }
    assert!(tried > 200, "only {tried} pairs were swapped");
}

/// Messages lost to a partition are counted as skipped; messages to a node that was down are not.
#[test]
fn only_messages_lost_to_a_partition_count_as_skipped() {
    let mut total_skipped = 0;
    for seed in 1..=6 {
        for parts in [
            parts_of(&partitioned_election_spec(seed), ONE_MACHINE),
            parts_of(&partitioned_replica_spec(seed), OWN_MACHINES),
        ] {
            let expected = Traffic::from_parts(&parts).count_skipped();
            let (_, gathered) = gather_parts(&parts).unwrap();
            assert_eq!((gathered.skipped_messages, gathered.forgotten_writes), (expected, 0), "seed {seed}");
            assert_eq!(
                gathered.sent_messages,
                gathered.received_messages + gathered.lost_messages + gathered.skipped_messages + gathered.in_flight,
                "seed {seed}"
            );
            total_skipped += expected;
        }
    }
    assert!(total_skipped > 50, "only {total_skipped} messages were skipped");
}

const END_OF_NODE_1: &str = r#"{"time":90,"world":{"ended":{"node":1}}}"#;
const END_OF_NODE_2: &str = r#"{"time":95,"world":{"ended":{"node":2}}}"#;

/// The journal of node 1, which sends this many messages to node 2.
fn sender(messages: i64) -> Part {
    let sends: Vec<_> = (1..=messages).map(|number| sending_step(number, 1, &format!("1.{number}"), 2)).collect();
    incarnation_journal(1, 0, &sends.iter().map(String::as_str).chain([END_OF_NODE_1]).collect::<Vec<_>>())
}

/// The journal of an incarnation of node 2, which receives these messages of node 1.
fn receiver(incarnation: u64, numbers: &[i64]) -> Part {
    let receives: Vec<_> = numbers.iter().map(|number| receipt(50 + number, 2, &format!("1.{number}"), &[])).collect();
    incarnation_journal(2, incarnation, &receives.iter().map(String::as_str).chain([END_OF_NODE_2]).collect::<Vec<_>>())
}

#[test]
fn gaps_are_counted_and_the_first_is_named() {
    // Skipped: 1.2, 1.3 and 1.6. Lost when node 2 ends: 1.8 and 1.9.
    let (result, gathered) = gather_parts(&[sender(9), receiver(0, &[1, 4, 5, 7])]).unwrap();
    assert_eq!(
        (gathered.skipped_messages, gathered.received_messages, gathered.lost_messages, gathered.in_flight),
        (3, 4, 2, 0)
    );
    assert_eq!(
        gathered.warnings,
        [
            "A link lost messages while both its nodes were up: message 1.2 never reached node 2, but 1.4, which was sent \
          later, did (and 2 more like it)."
        ]
    );
    // The gap shows when node 2 receives 1.4.
    assert_eq!(gathered.first_skipped_message.unwrap().time.nanos(), 54);
    let lost = r#"{"time":54,"world":{"lost":{"id":"1.2","to":2,"why":"chance"}}}"#;
    assert!(result.contains(lost), "{result}");
}

/// A first incarnation should receive every message; only a later one may miss earlier messages.
#[test]
fn only_a_later_incarnation_may_miss_the_beginning() {
    let (_, gathered) = gather_parts(&[sender(5), receiver(0, &[3, 4])]).unwrap();
    assert_eq!(gathered.skipped_messages, 2);
    let (_, gathered) = gather_parts(&[sender(5), receiver(7, &[3, 4])]).unwrap();
    // Lost: 1.1 and 1.2, before the incarnation began, and 1.5, when it ended.
    assert_eq!((gathered.skipped_messages, gathered.lost_messages, gathered.warnings.len()), (0, 3, 0));
}

/// Once a message has reached one incarnation of the receiver, no message that the same sender sent
/// earlier may reach a later incarnation.
#[test]
fn the_order_holds_over_incarnations_of_the_receiver() {
    let parts = [sender(5), receiver(0, &[1, 3]), receiver(1, &[2, 4])];
    let error = gather_parts(&parts).expect_err("1.2 comes too late").to_string();
    let expected = "in n2-1, line 3: message 1.2 of incarnation 0 arrives after 1.3, which was sent later and arrived in n2-0, line 4";
    assert!(error.starts_with(expected), "{error}");
}
