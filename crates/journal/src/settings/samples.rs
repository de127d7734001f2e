//! Generators of settings and of hostile texts for the tests.

use super::{
    Chance, Cut, Direction, DiskTrouble, Fate, Fault, Latency, LinkChange, Links, NodeSet, Offset, Ppm, RestartDisk,
    Script, SettingError, Side, TimedCommand, TimedFault, UnsyncedSaves,
};
use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use quorate_core::mutex::COMMANDS;
use quorate_core::{Duration, NodeId};
use std::fmt::Display;
use std::str::FromStr;

/// Parses a text and returns a line with the value as printed, or with the error message.
pub(super) fn parse_and_describe<T: FromStr<Err = SettingError> + Display>(text: &str) -> String {
    match text.parse::<T>() {
        Ok(value) => format!("{text:?} reads as {value}\n"),
        Err(mistake) => format!("{mistake}\n"),
    }
}

/// Generates durations of all magnitudes. Without the shift, almost all would be years long.
pub(super) fn duration() -> impl Strategy<Value = Duration> {
    (any::<u64>(), 0_u32..64).prop_map(|(nanos, shift)| Duration::from_nanos(nanos >> shift))
}

pub(super) fn chance() -> impl Strategy<Value = Chance> {
    (0_u32..=1_000_000_000).prop_map(|parts| Chance::from_parts_per_billion(parts).unwrap())
}

pub(super) fn latency() -> impl Strategy<Value = Latency> {
    prop_oneof![
        duration().prop_map(Latency::Fixed),
        (duration(), duration()).prop_map(|(one, other)| Latency::Uniform { min: one.min(other), max: one.max(other) }),
        duration().prop_map(|median| Latency::LongTail { median }),
    ]
}

pub(super) fn node() -> impl Strategy<Value = NodeId> {
    prop_oneof![4 => 1_u32..10, 1 => 1..=u32::MAX].prop_map(|number| NodeId::new(number).unwrap())
}

pub(super) fn node_set() -> impl Strategy<Value = NodeSet> {
    btree_set(node(), 1..8).prop_map(|nodes| nodes.into_iter().collect())
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![4 => node_set().prop_map(Side::Nodes), 1 => Just(Side::Rest)]
}

pub(super) fn cut() -> impl Strategy<Value = Cut> {
    // Each node goes to one side only, because no two sides may share a node.
    let both_ways = (vec(node_set(), 2..5), any::<bool>()).prop_map(|(sets, has_rest)| {
        let mut assigned = Vec::new();
        let mut sides = Vec::new();
        for set in sets {
            let nodes: Vec<_> = set.iter().filter(|node| !assigned.contains(node)).collect();
            assigned.extend(&nodes);
            sides.push(Side::Nodes(nodes.into_iter().collect()));
        }
        if has_rest {
            sides.push(Side::Rest);
        }
        Cut::between(sides)
    });
    let one_way = (side(), side()).prop_map(|(from, to)| Cut::one_way(from, to));
    prop_oneof![both_ways, one_way].prop_filter_map("not a cut", Result::ok)
}

pub(super) fn links() -> impl Strategy<Value = Links> {
    (side(), side()).prop_filter_map("no link", |(from, to)| Links::new(from, to).ok())
}

fn link_change() -> impl Strategy<Value = LinkChange> {
    prop_oneof![
        latency().prop_map(LinkChange::Latency),
        chance().prop_map(LinkChange::Loss),
        chance().prop_map(LinkChange::Duplicate),
    ]
}

pub(super) fn fault() -> impl Strategy<Value = Fault> {
    let unsynced =
        prop_oneof![Just(UnsyncedSaves::Lost), Just(UnsyncedSaves::Torn), any::<u64>().prop_map(UnsyncedSaves::Kept)];
    let disk = select(vec![RestartDisk::Kept, RestartDisk::Blank]);
    let drift = (-999_999..=1_000_000).prop_map(|parts| Ppm::new(parts).unwrap());
    prop_oneof![
        (node(), unsynced).prop_map(|(node, unsynced)| Fault::Crash { node, unsynced }),
        (node(), disk).prop_map(|(node, disk)| Fault::Restart { node, disk }),
        node().prop_map(|node| Fault::Pause { node }),
        node().prop_map(|node| Fault::Resume { node }),
        (node(), select(DiskTrouble::ALL.to_vec())).prop_map(|(node, trouble)| Fault::Disk { node, trouble }),
        node().prop_map(|node| Fault::Close { node }),
        cut().prop_map(Fault::Cut),
        Just(Fault::Heal),
        (node(), any::<i64>()).prop_map(|(node, nanos)| Fault::Skew { node, by: Offset::from_nanos(nanos) }),
        (node(), drift).prop_map(|(node, by)| Fault::Drift { node, by }),
        (links(), link_change()).prop_map(|(links, change)| Fault::Link { links, change }),
    ]
}

pub(super) fn timed_fault() -> impl Strategy<Value = TimedFault> {
    (duration(), fault(), option::of(duration())).prop_map(|(at, fault, duration)| {
        let duration = duration.filter(|_| fault.kind().can_last());
        TimedFault { at, fault, duration }
    })
}

fn timed_command() -> impl Strategy<Value = TimedCommand> {
    let commands = COMMANDS.map(|command| command.name().to_string()).to_vec();
    (duration(), node(), select(commands)).prop_map(|(at, node, command)| TimedCommand { at, node, command })
}

pub(super) fn direction() -> impl Strategy<Value = Direction> {
    let fate = prop_oneof![duration().prop_map(Fate::Takes), Just(Fate::Lost), duration().prop_map(Fate::Duplicated)];
    let message = (node(), node(), 1_u64.., fate).prop_filter_map("no link", |(from, to, number, fate)| {
        (from != to).then_some(Direction::Message { from, to, number, fate })
    });
    prop_oneof![
        message,
        (node(), 1_u64.., duration()).prop_map(|(node, number, delay)| Direction::Timer { node, number, delay }),
        (node(), 1_u64.., duration()).prop_map(|(node, number, duration)| Direction::Sync { node, number, duration }),
    ]
}

pub(super) fn script() -> impl Strategy<Value = Script> {
    (vec(timed_fault(), 0..8), vec(timed_command(), 0..8), vec(direction(), 0..8))
        .prop_map(|(faults, commands, directions)| Script { faults, commands, directions })
}

/// The words and symbols of the formats, and valid and invalid numbers, separated by spaces.
const TOKENS: &str = "crash restart pause resume disk cut heal skew drift link torn blank full fails at for by rest \
    latency loss duplicate acquire try message timer sync of takes is lost comes again after keeping fixed uniform long-tail | > , - : .. . # % ' ns µs h 0 1 2 3 1-3 -1 10ms -3ms \
    0.5 50% 200ppm fixed:1ms uniform:1ms..5ms 18446744073709551616 \
    99999999999999999999999999999999999999999h 0.00000000000000000000000000000000000000001 ☃ \u{7} \u{202e} \n \u{a0}";

/// Generates arbitrary texts, most of them almost valid: the words of the formats in the wrong
/// order.
pub(super) fn hostile_text() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        6 => select(TOKENS.split(' ').collect::<Vec<_>>()).prop_map(String::from),
        1 => any::<String>(),
        1 => any::<u64>().prop_map(|number| number.to_string()),
    ];
    let separator = select(vec!["", " ", " ", " "]);
    let tokens = vec((token, separator), 0..10);
    let tokens =
        tokens.prop_map(|pieces| pieces.into_iter().map(|(token, separator)| token + separator).collect::<String>());
    // Valid lines with one character changed reach code that random tokens do not.
    let mutated_fault = (timed_fault(), any::<char>(), any::<usize>()).prop_map(|(timed, character, index)| {
        let mut characters: Vec<char> = timed.to_string().chars().collect();
        let index = index % characters.len();
        characters[index] = character;
        characters.into_iter().collect()
    });
    let mutated_direction = (direction(), any::<char>(), any::<usize>()).prop_map(|(direction, character, index)| {
        let mut characters: Vec<char> = direction.to_string().chars().collect();
        let index = index % characters.len();
        characters[index] = character;
        characters.into_iter().collect()
    });
    prop_oneof![2 => tokens, 1 => mutated_fault, 1 => mutated_direction, 1 => any::<String>()]
}
