//! Links deliver messages in order and skip none; the gathering reports journals that show
//! otherwise.

use crate::gather::hand_written::{incarnation_journal, receives, sends};
use crate::gather::runs::{cut_replicas, cut_votes, journal, locks, quiet_locks, replicas, votes};
use crate::gather::split::{Machines, Part, gathered, split};
use quorate_lab::{FamilyLab, Spec};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// An incarnation of a node: its node and its number.
type NodeIncarnation = (u64, u64);

/// The receipt of a message in one of the files.
#[derive(Clone)]
struct Receipt {
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

fn number(id: &Value) -> u64 {
    id.as_str().unwrap().split_once('.').unwrap().1.parse().unwrap()
}

impl Traffic {
    fn of(parts: &[Part]) -> Self {
        let mut traffic = Self::default();
        for (part, Part { bytes, .. }) in parts.iter().enumerate() {
            let text = std::str::from_utf8(bytes).unwrap();
            let values: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let live = &values[0]["live"];
            let Some(node) = live["node"].as_u64() else { continue };
            let own = (node, live["incarnation"].as_u64().unwrap());
            for (line, step) in values.iter().enumerate().skip(1) {
                traffic.step(own, (part, line), step);
            }
        }
        traffic
    }

    fn step(&mut self, own: NodeIncarnation, (part, line): (usize, usize), step: &Value) {
        if let Some(message) = step["input"].get("message") {
            let id = message["id"].as_str().unwrap().to_owned();
            let sender = id.split_once('.').unwrap().0.parse().unwrap();
            let from = (sender, message.get("life").map_or(0, |life| life.as_u64().unwrap()));
            let receipt = Receipt { part, line, id, number: number(&message["id"]) };
            self.links.entry((from, own)).or_default().push(receipt);
        }
        for effect in step["effects"].as_array().into_iter().flatten() {
            if let Some(send) = effect.get("send") {
                let to = send["to"].as_u64().unwrap();
                self.sent.entry((own, to)).or_default().insert(number(&send["id"]));
            }
            for (place, to) in effect["multicast"]["to"].as_array().into_iter().flatten().enumerate() {
                let number = number(&effect["multicast"]["id"]) + place as u64;
                self.sent.entry((own, to.as_u64().unwrap())).or_default().insert(number);
            }
        }
    }

    /// Returns how many messages never arrived although both incarnations continued, without regard
    /// to time.
    fn skipped(&self) -> u64 {
        let of_link = |((from, to), receipts): (&(NodeIncarnation, NodeIncarnation), &Vec<Receipt>)| {
            let first = if to.1 == 0 { 1 } else { receipts[0].number };
            let range = first..=receipts.last().unwrap().number;
            self.sent[&(*from, to.0)].range(range).count() - receipts.iter().filter(|it| it.number >= first).count()
        };
        self.links.iter().map(of_link).sum::<usize>() as u64
    }
}

/// Returns the parts with the lines of one file changed.
fn altered(parts: &[Part], part: usize, change: impl Fn(usize, &str) -> String) -> Vec<Part> {
    let mut parts = parts.to_vec();
    let text = String::from_utf8(parts[part].bytes.clone()).unwrap();
    let lines = text.lines().enumerate().map(|(index, line)| change(index, line) + "\n");
    parts[part].bytes = lines.collect::<String>().into_bytes();
    parts
}

/// Returns a step with the same effects but without its message.
fn without_message(line: &str) -> String {
    let (before, message) = line.split_once("{\"message\":").unwrap();
    let (_, after) = message.split_once("},\"effects\"").unwrap();
    format!("{before}{{\"saved\":0}},\"effects\"{}", after.strip_prefix('}').unwrap_or(after))
}

fn parts_of<F: FamilyLab>(spec: &Spec<F>, machines: Machines) -> Vec<Part> {
    split(&journal(spec), machines)
}

const ONE_MACHINE: Machines = Machines { own: false, apart: 0, error: 0, world: true, ends: true };
const OWN_MACHINES: Machines = Machines { own: true, apart: 7_777_777_777, error: 3_000_000, world: false, ends: true };

/// Asserts that removing any one receipt leaves a gap, except at an end of its link. Returns the
/// number of receipts tried.
fn assert_gaps_detected<F: FamilyLab>(spec: &Spec<F>, machines: Machines, step: usize) -> usize {
    let parts = parts_of(spec, machines);
    let (_, whole) = gathered(&parts).unwrap();
    assert_eq!(whole.skipped, 0, "seed {}", spec.seed);
    let traffic = Traffic::of(&parts);
    let inner = |((_, to), link): (&(NodeIncarnation, NodeIncarnation), &Vec<Receipt>)| {
        // A first incarnation receives every message from the beginning.
        let ends = if to.1 == 0 { 0 } else { 1 };
        link[ends..].split_last().map_or(Vec::new(), |(_, inner)| inner.to_vec())
    };
    let inner: Vec<_> = traffic.links.iter().filter(|(_, link)| link.len() > 1).flat_map(inner).collect();
    for Receipt { part, line, id, .. } in inner.iter().step_by(step) {
        let case = format!("seed {}, {id} in {}, line {line}", spec.seed, parts[*part].name);
        let altered_parts =
            altered(&parts, *part, |index, text| if index == *line { without_message(text) } else { text.into() });
        let (result, found) = gathered(&altered_parts).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!((found.skipped, found.matched), (1, whole.matched - 1), "{case}");
        assert_eq!((found.lost, found.under_way), (whole.lost, whole.under_way), "{case}");
        assert_eq!(result.matches("\"why\":\"chance\"").count(), 1, "{case}");
        let [warning] = &found.warnings[..] else { panic!("{case}: {:?}", found.warnings) };
        let node = &parts[*part].name[1..2];
        assert!(warning.contains(&format!("never reached node {node}, but ")), "{case}: {warning}");
    }
    inner.len() / step
}

/// Asserts that swapping two neighbouring receipts of one link is refused. Returns the number of
/// pairs tried.
fn assert_disorder_detected<F: FamilyLab>(spec: &Spec<F>, step: usize) -> usize {
    let parts = parts_of(spec, ONE_MACHINE);
    let traffic = Traffic::of(&parts);
    let pairs: Vec<_> = traffic.links.values().flat_map(|link| link.windows(2)).collect();
    for pair in pairs.iter().step_by(step) {
        let [one, two] = pair else { panic!("windows(2) yields pairs") };
        let quoted = |id: &str| format!("\"id\":\"{id}\"");
        let swapped = altered(&parts, one.part, |index, text| match index {
            index if index == one.line => text.replacen(&quoted(&one.id), &quoted(&two.id), 1),
            index if index == two.line => text.replacen(&quoted(&two.id), &quoted(&one.id), 1),
            _ => text.into(),
        });
        let error = gathered(&swapped).expect_err("a reordered link was accepted").to_string();
        let place = format!("In {}, line {}: message {} of incarnation ", parts[one.part].name, two.line + 1, one.id);
        let after = format!("arrives after {}, which was sent later and arrived on line {}", two.id, one.line + 1);
        assert!(error.starts_with(&place) && error.contains(&after), "seed {}: {error}", spec.seed);
    }
    pairs.len() / step
}

#[test]
fn a_lost_message_is_detected() {
    let mut tried = assert_gaps_detected(&replicas(5), OWN_MACHINES, 37);
    for seed in 1..=4 {
        tried += assert_gaps_detected(&quiet_locks("ricart-agrawala", seed), ONE_MACHINE, 1);
        tried += assert_gaps_detected(&locks("central", seed), OWN_MACHINES, 1);
        tried += assert_gaps_detected(&votes(seed), ONE_MACHINE, 7);
        tried += assert_gaps_detected(&replicas(seed), ONE_MACHINE, 31);
    }
    assert!(tried > 200, "{tried} receipts were removed");
}

#[test]
fn reordered_messages_are_detected() {
    let mut tried = 0;
    for seed in 1..=4 {
        tried += assert_disorder_detected(&quiet_locks("ricart-agrawala", seed), 1);
        tried += assert_disorder_detected(&locks("central", seed), 1);
        tried += assert_disorder_detected(&votes(seed), 7);
        tried += assert_disorder_detected(&replicas(seed), 31);
    }
    assert!(tried > 200, "{tried} pairs were swapped");
}

/// Messages lost to a partition are counted as skipped; messages to a node that was down are not.
#[test]
fn only_messages_lost_to_a_partition_count_as_skipped() {
    let mut all = 0;
    for seed in 1..=6 {
        for parts in [parts_of(&cut_votes(seed), ONE_MACHINE), parts_of(&cut_replicas(seed), OWN_MACHINES)] {
            let expected = Traffic::of(&parts).skipped();
            let (_, found) = gathered(&parts).unwrap();
            assert_eq!((found.skipped, found.forgotten), (expected, 0), "seed {seed}");
            assert_eq!(found.sent, found.matched + found.lost + found.skipped + found.under_way, "seed {seed}");
            all += expected;
        }
    }
    assert!(all > 50, "{all} messages were skipped");
}

const END_1: &str = r#"{"time":90,"world":{"ended":{"node":1}}}"#;
const END_2: &str = r#"{"time":95,"world":{"ended":{"node":2}}}"#;

/// The first node, which sends this many messages to the second.
fn sender(messages: i64) -> Part {
    let sends: Vec<_> = (1..=messages).map(|number| sends(number, 1, &format!("1.{number}"), 2)).collect();
    incarnation_journal(1, 0, &sends.iter().map(String::as_str).chain([END_1]).collect::<Vec<_>>())
}

fn receiver(incarnation: u64, numbers: &[i64]) -> Part {
    let receives: Vec<_> = numbers.iter().map(|number| receives(50 + number, 2, &format!("1.{number}"), &[])).collect();
    incarnation_journal(2, incarnation, &receives.iter().map(String::as_str).chain([END_2]).collect::<Vec<_>>())
}

#[test]
fn gaps_are_counted_and_the_first_is_named() {
    let (result, found) = gathered(&[sender(9), receiver(0, &[1, 4, 5, 7])]).unwrap();
    assert_eq!((found.skipped, found.matched, found.lost, found.under_way), (3, 4, 2, 0));
    assert_eq!(
        found.warnings,
        [
            "A link lost messages while both its nodes were up: message 1.2 never reached node 2, but 1.4, which was sent \
          later, did (and 2 more like it)."
        ]
    );
    assert_eq!(found.first_skipped.unwrap().time.nanos(), 54);
    let lost = r#"{"time":54,"world":{"lost":{"id":"1.2","to":2,"why":"chance"}}}"#;
    assert!(result.contains(lost), "{result}");
}

/// A first incarnation should receive every message; only a later one may miss earlier messages.
#[test]
fn only_a_later_incarnation_may_miss_the_beginning() {
    let (_, found) = gathered(&[sender(5), receiver(0, &[3, 4])]).unwrap();
    assert_eq!(found.skipped, 2);
    let (_, found) = gathered(&[sender(5), receiver(7, &[3, 4])]).unwrap();
    assert_eq!((found.skipped, found.lost, found.warnings.len()), (0, 3, 0));
}

/// A link that delivered a later message does not return to an earlier one for the receiver's next
/// incarnation.
#[test]
fn the_order_holds_over_incarnations_of_the_receiver() {
    let parts = [sender(5), receiver(0, &[1, 3]), receiver(1, &[2, 4])];
    let error = gathered(&parts).expect_err("1.2 comes too late").to_string();
    let expected = "In n2-1, line 3: message 1.2 of incarnation 0 arrives after 1.3, which was sent later and arrived in n2-0, line 4";
    assert!(error.starts_with(expected), "{error}");
}
