//! Stacked wrappers: many named resources over reliable links, on a network that loses, duplicates
//! and reorders messages.

use quorate_core::mutex::{Central, Command, Event, RicartAgrawala};
use quorate_core::wrap::{Limits, Many, ManyEvent, Named, OneOfMany, Reliable, Retransmission};
use quorate_core::{Duration, Fence, Group, NodeId, Protocol, Time};
use quorate_journal::Recordable;
use quorate_journal::settings::Latency;
use quorate_journal::workload::ClientEvent;
use quorate_sim::{Setup, Wire, World};
use std::collections::BTreeMap;

const NAMES: [&str; 4] = ["printer", "table:employees", "table:employees;row:15", "ß"];
const NODES: usize = 4;
const ROUNDS: usize = 6;

fn setup(seed: u64) -> Setup {
    let chance = |text: &str| text.parse().unwrap_or_else(|error| panic!("{error}"));
    let latency = Latency::Uniform { min: Duration::from_millis(1), max: Duration::from_millis(5) };
    let wire = Wire { latency, loss: chance("0.1"), duplicate: chance("0.1"), fifo: false };
    let nothing = Latency::Fixed(Duration::ZERO);
    Setup { nodes: NODES, seed, wire, processing: nothing, sync: nothing }
}

/// The holder of each resource, and the largest fence that each resource has seen.
#[derive(Default)]
struct Holders {
    by_name: BTreeMap<String, NodeId>,
    fences: BTreeMap<String, Fence>,
    entries: usize,
}

/// Every node requests every name again and again, all at once.
fn contend<P>(seed: u64, make: impl Fn(NodeId, Group) -> P + 'static)
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
    let node = move |me| {
        let many = Many::new(make(me, members.clone()), Limits { names: NAMES.len(), name_bytes: 64 });
        Reliable::new(me, many, Retransmission::default())
    };
    let mut world = World::new(&setup(seed), node, ());
    world.start();
    let command = |name: &str, inner| Named { name: name.to_owned(), inner };
    for id in group.iter() {
        for name in NAMES {
            world.command(Time::ZERO, id, command(name, Command::Acquire));
        }
    }
    let mut left: BTreeMap<(NodeId, String), usize> = BTreeMap::new();
    let mut holders = Holders::default();
    while world.advance() {
        while let Some((id, notification)) = world.next_client_event() {
            let ClientEvent::Emitted(ManyEvent::Of { name, event }) = notification else {
                panic!("seed {seed}: {notification:?}")
            };
            match event {
                Event::Entered { fence, .. } => {
                    let other = holders.by_name.insert(name.clone(), id);
                    assert_eq!(other, None, "seed {seed}: node {id} entered {name} while another node holds it");
                    let earlier = holders.fences.insert(name.clone(), fence);
                    assert!(earlier.is_none_or(|earlier| earlier < fence), "seed {seed}: a fence of {name} decreased");
                    holders.entries += 1;
                    world.command(world.time() + Duration::from_millis(1), id, command(&name, Command::Release));
                }
                Event::Left => {
                    assert_eq!(holders.by_name.remove(&name), Some(id));
                    let round = left.entry((id, name.clone())).or_default();
                    *round += 1;
                    if *round < ROUNDS {
                        world.command(world.time(), id, command(&name, Command::Acquire));
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
        let live = world.node(id).map(|node| node.inner().live());
        assert_eq!(live, Some(0), "seed {seed}: node {id} keeps state of an idle resource");
    }
}

#[test]
fn ricart_agrawala_guards_many_names_over_lossy_links() {
    (0..100).for_each(|seed| contend(seed, RicartAgrawala::new));
}

#[test]
fn central_guards_many_names_over_lossy_links() {
    (0..100).for_each(|seed| contend(seed, Central::new));
}
