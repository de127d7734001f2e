//! Random scenarios with all kinds of actions and many kinds of faults and networks.
//! `quorate_journal::settings` defines the syntax of faults and latencies.

use super::{Action, Actions, Message, Scenario, node};
use quorate_core::{Class, Duration, Group, NodeId, Span, Time};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::{Chance, TimedFault};

/// Maximum nesting of actions: the actions of a command, the actions in the messages and timers
/// that they contain, and so on.
const MAX_DEPTH: u64 = 3;

/// Returns the random scenario of this seed. A run of it always ends, because no action repeats
/// forever.
pub(crate) fn random_scenario(seed: u64) -> Scenario {
    let mut rng = SeededRng::new(seed, Stream::Workload);
    let nodes = 1 + rng.below(4) as usize;
    let latencies = ["fixed:0ms", "fixed:1ms", "uniform:0ms..3ms", "uniform:1ms..10ms", "long-tail:1ms"];
    // A duration of 0 ms is twice as likely as each other one.
    let durations = ["fixed:0ms", "fixed:0ms", "fixed:1ms", "uniform:0ms..2ms", "long-tail:0.5ms"];
    let mut scenario = Scenario::new(nodes)
        .seed(seed)
        .latency(pick(&mut rng, &latencies))
        .processing(pick(&mut rng, &durations))
        .sync(pick(&mut rng, &durations))
        .fifo_links(rng.below(2) == 0);
    if rng.below(2) == 0 {
        scenario.setup.link_defaults.loss = any_chance(&mut rng);
        scenario.setup.link_defaults.duplicate = any_chance(&mut rng);
    }
    let mut last_write = 0;
    for _ in 0..rng.below(30) {
        let instant = Time::ZERO + Duration::from_millis(rng.below(40));
        let actions = any_actions(&mut rng, nodes, MAX_DEPTH, &mut last_write);
        scenario.commands.push((instant, any_node(&mut rng, nodes), actions));
    }
    for _ in 0..rng.below(12) {
        scenario.faults.extend(any_fault(&mut rng, nodes));
    }
    scenario
}

fn pick<'a>(rng: &mut SeededRng, choices: &[&'a str]) -> &'a str {
    choices[rng.below(choices.len() as u64) as usize]
}

/// Returns a probability below one half.
fn any_chance(rng: &mut SeededRng) -> Chance {
    Chance::from_parts_per_billion(rng.below(500_000_000) as u32).unwrap()
}

fn any_node(rng: &mut SeededRng, nodes: usize) -> NodeId {
    NodeId::from_index(rng.below(nodes as u64) as usize)
}

/// Returns random actions of at most `depth` levels. Every save writes a different number.
fn any_actions(rng: &mut SeededRng, nodes: usize, depth: u64, last_write: &mut u64) -> Actions {
    let count = rng.below(1 + depth);
    (0..count).map(|_| any_action(rng, nodes, depth - 1, last_write)).collect()
}

fn any_action(rng: &mut SeededRng, nodes: usize, depth: u64, last_write: &mut u64) -> Action {
    // An effect that is issued `ahead` does not wait for earlier saves.
    let ahead = rng.below(2) == 0;
    let timer = ['a', 'b'][rng.below(2) as usize];
    match rng.below(8) {
        0 | 1 => {
            let message = any_message(rng, nodes, depth, last_write);
            Action::Send { to: any_node(rng, nodes), message, ahead }
        }
        2 => {
            Action::Multicast { to: Group::of_size(nodes), message: any_message(rng, nodes, depth, last_write), ahead }
        }
        3 | 4 => {
            *last_write += 1;
            Action::Save(*last_write)
        }
        5 => {
            let [one, other] = [0; 2].map(|_| Duration::from_millis(rng.below(5)));
            Action::Set { timer, span: Span::between(one, other), then: any_actions(rng, nodes, depth, last_write) }
        }
        6 => Action::Cancel(timer),
        _ => Action::Emit { text: "news".into(), ahead },
    }
}

fn any_message(rng: &mut SeededRng, nodes: usize, depth: u64, last_write: &mut u64) -> Message {
    let class = [Class::Algorithm, Class::Announcement, Class::Control][rng.below(3) as usize];
    let on_behalf_of = (rng.below(2) == 0).then(|| node(1));
    Message { class, on_behalf_of, then: any_actions(rng, nodes, depth, last_write) }
}

/// Returns a random fault, or `None` if it is not valid for these nodes.
fn any_fault(rng: &mut SeededRng, nodes: usize) -> Option<TimedFault> {
    let [one, other] = [0; 2].map(|_| any_node(rng, nodes));
    let texts = [
        format!("crash {one}"),
        format!("crash {one} torn"),
        format!("restart {one}"),
        format!("restart {one} blank"),
        format!("pause {one}"),
        format!("resume {one}"),
        format!("disk {one} full"),
        format!("disk {one} fails"),
        format!("cut {one} | rest"),
        format!("cut {one} > {other}"),
        "heal".into(),
        format!("skew {one} by -3ms"),
        format!("drift {one} by 300000ppm"),
        format!("link {one} > {other} latency uniform:0ms..7ms"),
        format!("link {one} > {other} loss 0.5"),
        format!("link {one} > {other} duplicate 1"),
    ];
    let text = &texts[rng.below(texts.len() as u64) as usize];
    let mut timed: TimedFault = text.parse().ok()?;
    timed.at = Duration::from_millis(rng.below(40));
    if timed.fault.kind().can_last() && rng.below(3) > 0 {
        timed.duration = Some(Duration::from_millis(rng.below(20)));
    }
    timed.validate(nodes).is_ok().then_some(timed)
}
