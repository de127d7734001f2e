//! Stacked wrappers: many named resources over reliable links, on a network that loses, duplicates
//! and reorders messages.

use quorate_core::mutex::{Central, Command, Event, RicartAgrawala};
use quorate_core::wrap::{Limits, Many, ManyEvent, Named, OneOfMany, Reliable, RetransmissionTimeouts};
use quorate_core::{Duration, Fence, Group, NodeId, Protocol, Time};
use quorate_journal::Recordable;
use quorate_journal::settings::Latency;
use quorate_journal::workload::ClientEvent;
use quorate_sim::{LinkDefaults, Setup, World};
use std::collections::BTreeMap;

const NAMES: [&str; 4] = ["printer", "table:employees", "table:employees;row:15", "ß"];
const NODES: usize = 4;
const ROUNDS: usize = 6;

fn setup(seed: u64) -> Setup {
    let chance = |text: &str| text.parse().unwrap_or_else(|error| panic!("{error}"));
    let latency = Latency::Uniform { min: Duration::from_millis(1), max: Duration::from_millis(5) };
    let link_defaults = LinkDefaults { latency, loss: chance("0.1"), duplicate: chance("0.1"), is_fifo: false };
    let instant = Latency::Fixed(Duration::ZERO);
    Setup { nodes: NODES, seed, link_defaults, processing: instant, sync: instant }
}

/// The holder of each resource, and the fence of its latest entry.
#[derive(Default)]
struct Holders {
    by_name: BTreeMap<String, NodeId>,
    fences: BTreeMap<String, Fence>,
    entries: usize,
}

/// Runs a group in which every node requests every name `ROUNDS` times, at first all at once, and
/// then after each release. Asserts that each name has one holder at a time and growing fences, and
/// that every request is served.
fn assert_exclusion_by_name<P>(seed: u64, new_inner_node: impl Fn(NodeId, Group) -> P + 'static)
where
    P: OneOfMany + Protocol<Command = Command, Event = Event>,
    Many<String, P>: Recordable<Command = Named<String, Command>, Event = ManyEvent<String, Event>>,
    Reliable<Many<String, P>>: Recordable<
            Command = Named<String, Command>,
            Event = ManyEvent<String, Event>,
            Durable: quorate_core::Durable<Write: serde::Serialize>,
        >,
{
    let group = Group::of_size(NODES);
    let members = group.clone();
    let new_node = move |me| {
        let many =
            Many::new(new_inner_node(me, members.clone()), Limits { max_names: NAMES.len(), max_name_bytes: 64 });
        Reliable::new(me, many, RetransmissionTimeouts::default())
    };
    let mut world = World::new(&setup(seed), new_node, ());
    world.start();
    let command = |name: &str, inner| Named { name: name.to_owned(), inner };
    for id in group.iter() {
        for name in NAMES {
            world.schedule_command(Time::ZERO, id, command(name, Command::Acquire));
        }
    }
    let mut releases: BTreeMap<(NodeId, String), usize> = BTreeMap::new();
    let mut holders = Holders::default();
    while world.advance() {
        while let Some((id, client_event)) = world.next_client_event() {
            let ClientEvent::Emitted(ManyEvent::Instance { name, event }) = client_event else {
                panic!("seed {seed}: {client_event:?}")
            };
            match event {
                Event::Entered { fence, .. } => {
                    let other = holders.by_name.insert(name.clone(), id);
                    assert_eq!(other, None, "seed {seed}: node {id} entered {name} while another node holds it");
                    let earlier = holders.fences.insert(name.clone(), fence);
                    assert!(earlier.is_none_or(|earlier| earlier < fence), "seed {seed}: fences of {name} must grow");
                    holders.entries += 1;
                    world.schedule_command(
                        world.time() + Duration::from_millis(1),
                        id,
                        command(&name, Command::Release),
                    );
                }
                Event::Left => {
                    assert_eq!(holders.by_name.remove(&name), Some(id));
                    let round = releases.entry((id, name.clone())).or_default();
                    *round += 1;
                    if *round < ROUNDS {
                        world.schedule_command(world.time(), id, command(&name, Command::Acquire));
                    }
                }
                Event::Extended { .. } | Event::Lost | Event::Denied | Event::Cancelled | Event::Refused(_) => {
                    panic!("seed {seed}: {event}")
                }
            }
        }
    }
    assert_eq!(holders.entries, NODES * NAMES.len() * ROUNDS, "seed {seed}: a request was not served");
    assert!(world.is_quiet());
    for id in group.iter() {
        let instances = world.node(id).map(|node| node.inner().instance_count());
        assert_eq!(instances, Some(0), "seed {seed}: node {id} keeps state of an idle resource");
    }
}

#[test]
fn ricart_agrawala_guards_many_names_over_lossy_links() {
    (0..100).for_each(|seed| assert_exclusion_by_name(seed, RicartAgrawala::new));
}

#[test]
fn central_guards_many_names_over_lossy_links() {
    (0..100).for_each(|seed| assert_exclusion_by_name(seed, Central::new));
}
