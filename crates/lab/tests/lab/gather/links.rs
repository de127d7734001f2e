//! Links keep the order of messages and skip none; where the journals say otherwise, that is told.

use crate::gather::by_hand::{hears, life, says};
use crate::gather::scenes::{cut_replicas, cut_votes, journal, locks, quiet_locks, replicas, votes};
use crate::gather::split::{Machines, Part, gathered, split};
use quorate_lab::{FamilyLab, Spec};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A life of a node: who and which.
type Who = (u64, u64);

/// A receipt in one of the files.
#[derive(Clone)]
struct Receipt {
    part: usize,
    /// Which line of its file it is, from 0.
    line: usize,
    id: String,
    number: u64,
}

/// What stands in the files of all lives.
#[derive(Default)]
struct Traffic {
    /// The numbers that a life sent to a node.
    sent: BTreeMap<(Who, u64), BTreeSet<u64>>,
    /// What arrived between two lives, in order.
    links: BTreeMap<(Who, Who), Vec<Receipt>>,
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

    fn step(&mut self, own: Who, (part, line): (usize, usize), step: &Value) {
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

    /// How many messages never arrived though both lives went on, counted without any order of time.
    fn skipped(&self) -> u64 {
        let of_link = |((from, to), receipts): (&(Who, Who), &Vec<Receipt>)| {
            let first = if to.1 == 0 { 1 } else { receipts[0].number };
            let range = first..=receipts.last().unwrap().number;
            self.sent[&(*from, to.0)].range(range).count() - receipts.iter().filter(|it| it.number >= first).count()
        };
        self.links.iter().map(of_link).sum::<usize>() as u64
    }
}

/// The parts with these lines of one file changed.
fn altered(parts: &[Part], part: usize, change: impl Fn(usize, &str) -> String) -> Vec<Part> {
    let mut parts = parts.to_vec();
    let text = String::from_utf8(parts[part].bytes.clone()).unwrap();
    let lines = text.lines().enumerate().map(|(index, line)| change(index, line) + "\n");
    parts[part].bytes = lines.collect::<String>().into_bytes();
    parts
}

/// A step that does the same without having got anything.
fn deaf(line: &str) -> String {
    let (before, message) = line.split_once("{\"message\":").unwrap();
    let (_, after) = message.split_once("},\"effects\"").unwrap();
    format!("{before}{{\"saved\":0}},\"effects\"{}", after.strip_prefix('}').unwrap_or(after))
}

fn parts_of<F: FamilyLab>(spec: &Spec<F>, machines: Machines) -> Vec<Part> {
    split(&journal(spec), machines)
}

const ONE_MACHINE: Machines = Machines { own: false, apart: 0, error: 0, world: true, ends: true };
const OWN_MACHINES: Machines = Machines { own: true, apart: 7_777_777_777, error: 3_000_000, world: false, ends: true };

/// Any one receipt that is taken away leaves a hole, unless it is at an end of its link.
fn holes_show<F: FamilyLab>(spec: &Spec<F>, machines: Machines, step: usize) -> usize {
    let parts = parts_of(spec, machines);
    let (_, whole) = gathered(&parts).unwrap();
    assert_eq!(whole.skipped, 0, "seed {}", spec.seed);
    let traffic = Traffic::of(&parts);
    let inner = |((_, to), link): (&(Who, Who), &Vec<Receipt>)| {
        // The first life of all hears everything from the beginning.
        let ends = if to.1 == 0 { 0 } else { 1 };
        link[ends..].split_last().map_or(Vec::new(), |(_, inner)| inner.to_vec())
    };
    let inner: Vec<_> = traffic.links.iter().filter(|(_, link)| link.len() > 1).flat_map(inner).collect();
    for Receipt { part, line, id, .. } in inner.iter().step_by(step) {
        let case = format!("seed {}, {id} in {}, line {line}", spec.seed, parts[*part].name);
        let deafened = altered(&parts, *part, |index, text| if index == *line { deaf(text) } else { text.into() });
        let (result, found) = gathered(&deafened).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!((found.skipped, found.matched), (1, whole.matched - 1), "{case}");
        assert_eq!((found.lost, found.under_way), (whole.lost, whole.under_way), "{case}");
        assert_eq!(result.matches("\"why\":\"chance\"").count(), 1, "{case}");
        let [warning] = &found.warnings[..] else { panic!("{case}: {:?}", found.warnings) };
        let node = &parts[*part].name[1..2];
        assert!(warning.contains(&format!("never reached node {node}, but ")), "{case}: {warning}");
    }
    inner.len() / step
}

/// Any two neighbours of one link that change places are refused.
fn disorder_shows<F: FamilyLab>(spec: &Spec<F>, step: usize) -> usize {
    let parts = parts_of(spec, ONE_MACHINE);
    let traffic = Traffic::of(&parts);
    let pairs: Vec<_> = traffic.links.values().flat_map(|link| link.windows(2)).collect();
    for pair in pairs.iter().step_by(step) {
        let [one, two] = pair else { panic!("a window of two has two") };
        let quoted = |id: &str| format!("\"id\":\"{id}\"");
        let swapped = altered(&parts, one.part, |index, text| match index {
            index if index == one.line => text.replacen(&quoted(&one.id), &quoted(&two.id), 1),
            index if index == two.line => text.replacen(&quoted(&two.id), &quoted(&one.id), 1),
            _ => text.into(),
        });
        let error = gathered(&swapped).expect_err("links keep the order").to_string();
        let place = format!("In {}, line {}: message {} of life ", parts[one.part].name, two.line + 1, one.id);
        let after = format!("arrives after {}, which was sent later and arrived on line {}", two.id, one.line + 1);
        assert!(error.starts_with(&place) && error.contains(&after), "seed {}: {error}", spec.seed);
    }
    pairs.len() / step
}

#[test]
fn a_lost_message_is_seen() {
    let mut tried = holes_show(&replicas(5), OWN_MACHINES, 37);
    for seed in 1..=4 {
        tried += holes_show(&quiet_locks("ricart-agrawala", seed), ONE_MACHINE, 1);
        tried += holes_show(&locks("central", seed), OWN_MACHINES, 1);
        tried += holes_show(&votes(seed), ONE_MACHINE, 7);
        tried += holes_show(&replicas(seed), ONE_MACHINE, 31);
    }
    assert!(tried > 200, "{tried} receipts were taken away");
}

#[test]
fn messages_that_change_places_are_seen() {
    let mut tried = 0;
    for seed in 1..=4 {
        tried += disorder_shows(&quiet_locks("ricart-agrawala", seed), 1);
        tried += disorder_shows(&locks("central", seed), 1);
        tried += disorder_shows(&votes(seed), 7);
        tried += disorder_shows(&replicas(seed), 31);
    }
    assert!(tried > 200, "{tried} pairs changed places");
}

/// Messages that a cut swallowed are counted, those that a life missed because it was down are not.
#[test]
fn what_a_cut_swallowed_is_counted_and_nothing_else() {
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
    assert!(all > 50, "{all} messages were swallowed");
}

const END_1: &str = r#"{"time":90,"world":{"ended":{"node":1}}}"#;
const END_2: &str = r#"{"time":95,"world":{"ended":{"node":2}}}"#;

/// The first node, which sends so many messages to the second.
fn talker(messages: i64) -> Part {
    let says: Vec<_> = (1..=messages).map(|number| says(number, 1, &format!("1.{number}"), 2)).collect();
    life(1, 0, &says.iter().map(String::as_str).chain([END_1]).collect::<Vec<_>>())
}

fn listener(incarnation: u64, numbers: &[i64]) -> Part {
    let hears: Vec<_> = numbers.iter().map(|number| hears(50 + number, 2, &format!("1.{number}"), &[])).collect();
    life(2, incarnation, &hears.iter().map(String::as_str).chain([END_2]).collect::<Vec<_>>())
}

#[test]
fn holes_are_counted_and_the_first_is_named() {
    let (result, found) = gathered(&[talker(9), listener(0, &[1, 4, 5, 7])]).unwrap();
    assert_eq!((found.skipped, found.matched, found.lost, found.under_way), (3, 4, 2, 0));
    assert_eq!(
        found.warnings,
        [
            "A link lost what it carried while both its nodes were up: message 1.2 never reached node 2, but 1.4 did, which \
          was sent after it, and so it is with 2 others."
        ]
    );
    assert_eq!(found.first_skipped.unwrap().time.nanos(), 54);
    let lost = r#"{"time":54,"world":{"lost":{"id":"1.2","to":2,"why":"chance"}}}"#;
    assert!(result.contains(lost), "{result}");
}

/// Nobody was there before the first life, so nothing was meant for another; a later life may miss the beginning.
#[test]
fn only_a_later_life_may_miss_the_beginning() {
    let (_, found) = gathered(&[talker(5), listener(0, &[3, 4])]).unwrap();
    assert_eq!(found.skipped, 2);
    let (_, found) = gathered(&[talker(5), listener(7, &[3, 4])]).unwrap();
    assert_eq!((found.skipped, found.lost, found.warnings.len()), (0, 3, 0));
}

/// A link that went on to a later message does not come back to an earlier one for the receiver's next life.
#[test]
fn the_order_holds_over_the_lives_of_a_receiver() {
    let parts = [talker(5), listener(0, &[1, 3]), listener(1, &[2, 4])];
    let error = gathered(&parts).expect_err("1.2 comes too late").to_string();
    let expected =
        "In n2-1, line 3: message 1.2 of life 0 arrives after 1.3, which was sent later and arrived in n2-0, line 4";
    assert!(error.starts_with(expected), "{error}");
}
