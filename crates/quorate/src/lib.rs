//! Distributed coordination that you can watch, check and run: the entry point to Quorate's crates.
//!
//! A node of any algorithm is a [`Protocol`]: a pure state machine with one method,
//! [`step`](Protocol::step), that takes an [`Input`] and outputs [`Effect`]s. It has no clock, no
//! randomness, no threads and no IO. A *driver* feeds it inputs and executes its effects. The
//! simulator, the checker and the runtime are drivers, so the code that you simulate and check is
//! the code that runs.
//!
//! | module | content | feature |
//! |---|---|---|
//! | `core` | the trait and the algorithms: mutual exclusion, elections, multicast, deadlock detection | always |
//! | `journal` | observers, journals, replay, properties, workloads and settings that drivers share | always |
//! | `sim` | a deterministic simulator with seeded faults | `sim` (default) |
//! | `check` | an exhaustive checker for small groups | `check` (default) |
//! | `store` | a checksummed log on a real disk | `store` |
//! | `drive` | nodes on threads of one process, with real clocks, timers and disks | `drive` |
//! | `net` | nodes in processes of their own, over TCP and TLS | `net` |
//! | `replica` | a replicated log, built on tikv's raft | `replica` |
//!
//! `full` enables all of them.
//!
//! # A protocol, and the loop that drives it
//!
//! In this protocol a node that receives a rumour for the first time multicasts it to all others.
//! The driver is the loop at the end: it takes the next input, steps the node, and turns each
//! effect into an input or an output.
//!
//! ```
//! use quorate::{Effect, Effects, Group, Input, Never, NodeId, Protocol, Time};
//! use std::collections::VecDeque;
//!
//! struct Gossip {
//!     group: Group,
//!     knows: bool,
//! }
//!
//! #[derive(Clone)]
//! struct Rumour;
//!
//! impl Protocol for Gossip {
//!     type Command = ();
//!     type Message = Rumour;
//!     type Timer = Never;
//!     type Event = &'static str;
//!     type Durable = ();
//!
//!     fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
//!         if matches!(input, Input::Command(()) | Input::Message { .. }) && !self.knows {
//!             self.knows = true;
//!             out.multicast(&self.group, Rumour);
//!             out.emit("received");
//!         }
//!     }
//! }
//!
//! let group = Group::of_size(3);
//! let mut nodes: Vec<_> = group.iter().map(|_| Gossip { group: group.clone(), knows: false }).collect();
//! let mut inputs = VecDeque::from([(NodeId::from_index(0), Input::Command(()))]);
//! let mut events = Vec::new();
//!
//! while let Some((node, input)) = inputs.pop_front() {
//!     let mut effects: Vec<Effect<Gossip>> = Vec::new();
//!     nodes[node.index()].step(Time::ZERO, input, &mut Effects::new(&mut effects));
//!     for effect in effects {
//!         match effect {
//!             Effect::Send { to, message, .. } => inputs.push_back((to, Input::Message { from: node, message })),
//!             Effect::Multicast { to, message, .. } => {
//!                 let each = |peer| (peer, Input::Message { from: node, message: message.clone() });
//!                 inputs.extend(to.others(node).map(each));
//!             }
//!             Effect::Emit { event, .. } => events.push((node.number(), event)),
//!             // This protocol saves nothing and sets no timers. For one that saves, `Barrier`
//!             // makes effects wait for saves.
//!             Effect::Save(never) => match never {},
//!             Effect::SetTimer { timer: never, .. } | Effect::CancelTimer(never) => match never {},
//!         }
//!     }
//! }
//! assert_eq!(events, [(1, "received"), (2, "received"), (3, "received")]);
//! ```
//!
//! # The same protocol with faults
//!
//! A [`World`] is that loop with a network, clocks and disks around it. All randomness comes from
//! one seed, so a run repeats exactly. Messages must name their kind ([`Describe`]) and be
//! serializable, so that a run can be recorded. An [`Observer`] sees everything that happens; this
//! one counts the messages that were lost.
//!
//! ```
//! use quorate::journal::moment::WorldEvent;
//! use quorate::sim::{LinkDefaults, Setup};
//! use quorate::{Describe, Moment, Observer, World};
//! # use quorate::{Effects, Group, Input, Never, NodeId, Protocol, Time};
//! #
//! # struct Gossip {
//! #     group: Group,
//! #     knows: bool,
//! # }
//!
//! #[derive(Clone, serde::Serialize)]
//! struct Rumour;
//!
//! impl Describe for Rumour {
//!     fn kind(&self) -> &'static str {
//!         "rumour"
//!     }
//! }
//! #
//! # impl Protocol for Gossip {
//! #     type Command = ();
//! #     type Message = Rumour;
//! #     type Timer = Never;
//! #     type Event = &'static str;
//! #     type Durable = ();
//! #
//! #     fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
//! #         if matches!(input, Input::Command(()) | Input::Message { .. }) && !self.knows {
//! #             self.knows = true;
//! #             out.multicast(&self.group, Rumour);
//! #             out.emit("received");
//! #         }
//! #     }
//! # }
//!
//! #[derive(Default)]
//! struct LostMessages(usize);
//!
//! impl<C, E> Observer<C, E> for LostMessages {
//!     fn observe(&mut self, moment: &Moment<'_, C, E>) {
//!         if let Moment::World { event: WorldEvent::Lost { .. }, .. } = moment {
//!             self.0 += 1;
//!         }
//!     }
//! }
//!
//! fn count_lost(seed: u64) -> Result<usize, Box<dyn std::error::Error>> {
//!     let setup = Setup {
//!         nodes: 5,
//!         seed,
//!         link_defaults: LinkDefaults {
//!             latency: "uniform:1ms..5ms".parse()?,
//!             loss: "0.2".parse()?,
//!             duplicate: "0".parse()?,
//!             is_fifo: false,
//!         },
//!         // Steps of nodes and syncs of disks take no time.
//!         processing: "fixed:0ms".parse()?,
//!         sync: "fixed:0ms".parse()?,
//!     };
//!     let group = Group::of_size(setup.nodes);
//!     let make_node = move |_| Gossip { group: group.clone(), knows: false };
//!     let mut world = World::<Gossip, _>::new(&setup, make_node, LostMessages::default());
//!     // From 0.5 ms to 20.5 ms, no message passes between node 1 and the nodes 2 and 3.
//!     world.schedule_fault("cut 1 | 2,3 at 0.5ms for 20ms".parse()?);
//!     world.start();
//!     world.schedule_command(Time::ZERO, NodeId::from_index(0), ());
//!     while world.advance() {}
//!     Ok(world.into_observer().0)
//! }
//!
//! assert!(count_lost(7)? > 0);
//! assert_eq!(count_lost(7)?, count_lost(7)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `sim::run` lets a [`Workload`] act as the clients of a group, and `check::Checker` tries every
//! interleaving of a small one.
//!
//! # An algorithm on real threads
//!
//! `drive::local` is the smallest driver with real time: each node has a thread, a clock and, if
//! you give it one, a disk. Here Ricart and Agrawala's algorithm grants one of three nodes the
//! critical section.
//!
#![cfg_attr(feature = "drive", doc = "```")]
#![cfg_attr(not(feature = "drive"), doc = "```ignore")]
//! use quorate::drive::Disk;
//! use quorate::drive::local::{Address, NodeSetup, create_mailbox, start};
//! use quorate::mutex::{Command, Event, RicartAgrawala};
//! use quorate::{Group, Incarnation, NodeId};
//! use std::collections::BTreeMap;
//! use std::sync::mpsc::channel;
//! use std::time::Duration;
//!
//! let group = Group::of_size(3);
//! let (sender, events) = channel();
//! let mailboxes: Vec<_> =
//!     group.iter().map(|me| (me, create_mailbox::<RicartAgrawala>())).collect();
//! let peers: BTreeMap<NodeId, Address<_>> =
//!     mailboxes.iter().map(|(me, (address, _))| (*me, address.clone())).collect();
//!
//! let mut nodes = Vec::new();
//! for (me, mailbox) in mailboxes {
//!     let (group, sender) = (group.clone(), sender.clone());
//!     let (incarnation, peers) = (Incarnation::FIRST, peers.clone());
//!     let setup = NodeSetup { me, durable: (), incarnation, disk: Disk::None, peers };
//!     let on_events = move |emitted: Vec<Event>| {
//!         emitted.into_iter().for_each(|event| drop(sender.send((me, event))))
//!     };
//!     nodes.push(start(setup, mailbox, move || RicartAgrawala::new(me, group), on_events)?);
//! }
//!
//! nodes[1].address().send_commands(vec![Command::Acquire]);
//! let (node, event) = events.recv_timeout(Duration::from_secs(10))?;
//! assert!(node.number() == 2 && matches!(event, Event::Entered { .. }));
//!
//! nodes[1].address().send_commands(vec![Command::Release]);
//! let (_, event) = events.recv_timeout(Duration::from_secs(10))?;
//! assert_eq!(event, Event::Left);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `net::Runtime` runs the same nodes in processes of their own.

pub use quorate_core as core;
pub use quorate_journal as journal;

#[cfg(feature = "check")]
pub use quorate_check as check;
#[cfg(feature = "drive")]
pub use quorate_drive as drive;
#[cfg(feature = "net")]
pub use quorate_net as net;
#[cfg(feature = "replica")]
pub use quorate_replica as replica;
#[cfg(feature = "sim")]
pub use quorate_sim as sim;
#[cfg(feature = "store")]
pub use quorate_store as store;

pub use quorate_core::{
    Barrier, Describe, Durable, Duration, Effect, Effects, Fence, Group, Incarnation, Input, Never, NodeId, Protocol,
    Sink, Span, Time, View, deadlock, election, multicast, mutex, wrap,
};
pub use quorate_journal::Recordable;
pub use quorate_journal::moment::{Moment, Observer};
pub use quorate_journal::workload::{ClientEvent, Ending, Plan, Workload};

#[cfg(feature = "check")]
pub use quorate_check::Checker;
#[cfg(feature = "drive")]
pub use quorate_drive::Engine;
#[cfg(feature = "net")]
pub use quorate_net::Runtime;
#[cfg(feature = "replica")]
pub use quorate_replica::Replica;
#[cfg(feature = "sim")]
pub use quorate_sim::World;
#[cfg(feature = "store")]
pub use quorate_store::Store;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
