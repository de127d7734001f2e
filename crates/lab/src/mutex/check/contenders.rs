//! The clients of the mutual-exclusion family in a check: each requests entry a number of times,
//! enters and releases.
//!
//! ```
//! use quorate_lab::mutex::check::Contenders;
//! use quorate_check::{Checker, Effort, Search, Setup};
//! use quorate_core::Group;
//! use quorate_core::mutex::RicartAgrawala;
//! use std::sync::Arc;
//!
//! let group = Group::of_size(2);
//! let clients = Contenders { checks_fences: true, checks_order: true, ..Contenders::default() };
//! let make = Arc::new(move |me| RicartAgrawala::new(me, group.clone()));
//! let mut checker = Checker::new(make, clients, Setup::new(2))?;
//! let effort = Effort {
//!     search: Search::Breadth,
//!     threads: 1,
//!     memory_limit: 1 << 30, // 1 GiB
//!     reduce: true,
//!     stop_at_first: false,
//!     properties: None,
//! };
//! let findings = checker.run(&effort, &mut |_, _| true);
//! assert!(findings.is_complete() && !findings.has_violation());
//! # Ok::<(), quorate_check::CheckError>(())
//! ```

use quorate_check::{ClientStep, Clients, Judged, Offer, PastEvent, Property, StepRecord};
use quorate_core::mutex::{Access, Command, Event, Service};
use quorate_core::{Fence, NodeId};

/// The clients of all nodes in a check.
#[derive(Clone, Copy, Debug)]
pub struct Contenders {
    /// Number of requests per client; `None` for no limit.
    pub rounds: Option<u8>,
    pub allows_tries: bool,
    pub allows_cancels: bool,
    pub allows_readers: bool,
    /// Whether readers may hold the lock together.
    pub readers_share: bool,
    /// Whether every entry must have a larger fence than all earlier entries that conflict with it.
    pub checks_fences: bool,
    /// Whether conflicting requests must be granted in happened-before order.
    pub checks_order: bool,
    /// How certain it is that the algorithm grants every request.
    pub service: Service,
    /// Whether the group has views. Then answers may be delayed: a client that released or
    /// cancelled waits for the answer.
    pub has_views: bool,
}

impl Default for Contenders {
    /// Each client requests exclusive entry once and must be granted it.
    fn default() -> Self {
        Self {
            rounds: Some(1),
            allows_tries: false,
            allows_cancels: false,
            allows_readers: false,
            readers_share: false,
            checks_fences: false,
            checks_order: false,
            service: Service::Certain,
            has_views: false,
        }
    }
}

/// The client of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Contender {
    phase: ClientPhase,
    access: Access,
    /// Number of requests left; `None` for no limit.
    remaining_requests: Option<u8>,
    /// Whether the client released or cancelled and waits for the answer.
    awaits_answer: bool,
}

/// The state of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ClientPhase {
    Idle,
    Waiting,
    Holding,
    NodeDown,
}

/// Indices into the list of properties.
const EXCLUSION: u8 = 0;
const ASKED_FIRST: u8 = 1;
/// The facet (the number that `exclusion` inspects) of a shared and an exclusive holder. All facets
/// together must be at most `EXCLUSIVE_HOLDER`: one exclusive holder, or up to 2^16 shared ones.
const SHARED_HOLDER: u64 = 1;
const EXCLUSIVE_HOLDER: u64 = 1 << 16;

impl Clients for Contenders {
    type Command = Command;
    type Event = Event;
    type Client = Contender;

    fn initial(&self, _node: NodeId) -> Contender {
        Contender {
            phase: ClientPhase::Idle,
            access: Access::Exclusive,
            remaining_requests: self.rounds,
            awaits_answer: false,
        }
    }

    fn offers(&self, client: &Contender) -> Vec<Offer<Command>> {
        let optional = |command| Offer { command, is_obliged: false };
        let obliged = |command| Offer { command, is_obliged: true };
        match client.phase {
            ClientPhase::Waiting | ClientPhase::Holding if client.awaits_answer => Vec::new(),
            ClientPhase::Idle if client.remaining_requests == Some(0) => Vec::new(),
            ClientPhase::Idle => {
                let requests = [
                    (true, Command::Acquire),
                    (self.allows_tries, Command::Try),
                    (self.allows_readers, Command::Share),
                ];
                requests
                    .into_iter()
                    .filter(|(is_allowed, _)| *is_allowed)
                    .map(|(_, command)| optional(command))
                    .collect()
            }
            ClientPhase::Waiting if self.allows_cancels => vec![optional(Command::Cancel)],
            ClientPhase::Waiting | ClientPhase::NodeDown => Vec::new(),
            ClientPhase::Holding => vec![obliged(Command::Release)],
        }
    }

    fn observe(&self, client: &mut Contender, step: ClientStep<'_, Command, Event>, record: &mut StepRecord) {
        let was_waiting = client.phase == ClientPhase::Waiting;
        client.awaits_answer = match step {
            ClientStep::Issued(Command::Cancel | Command::Release) => self.has_views,
            ClientStep::Emitted(Event::Extended { .. }) => client.awaits_answer,
            ClientStep::PeerCrashed(_) | ClientStep::PeerRestarted(_) => client.awaits_answer,
            ClientStep::Issued(_) | ClientStep::Emitted(_) | ClientStep::Crashed | ClientStep::Restarted => false,
        };
        match step {
            ClientStep::Issued(command @ (Command::Acquire | Command::Try | Command::Share)) => {
                client.phase = ClientPhase::Waiting;
                client.access = match command {
                    Command::Share if self.readers_share => Access::Shared,
                    _ => Access::Exclusive,
                };
                client.remaining_requests = client.remaining_requests.map(|remaining| remaining.saturating_sub(1));
                record.past.push(PastEvent::Requested(client.access));
            }
            ClientStep::Issued(Command::Cancel | Command::Release) => {}
            ClientStep::Emitted(Event::Entered { fence, .. }) => {
                if !was_waiting {
                    record.violation = Some(ASKED_FIRST);
                }
                client.phase = ClientPhase::Holding;
                record.past.push(PastEvent::Entered(pack_fence(*fence), client.access));
            }
            ClientStep::Emitted(Event::Left | Event::Lost | Event::Denied | Event::Cancelled) => {
                client.phase = ClientPhase::Idle;
                client.access = Access::Exclusive;
                if was_waiting {
                    record.past.push(PastEvent::RequestEnded);
                }
            }
            ClientStep::Emitted(Event::Extended { .. } | Event::Refused(_))
            | ClientStep::PeerCrashed(_)
            | ClientStep::PeerRestarted(_) => {}
            ClientStep::Crashed => {
                client.phase = ClientPhase::NodeDown;
                client.access = Access::Exclusive;
                if was_waiting {
                    record.past.push(PastEvent::RequestEnded);
                }
            }
            ClientStep::Restarted => client.phase = ClientPhase::Idle,
        }
    }

    fn is_waiting(&self, client: &Contender) -> bool {
        client.phase == ClientPhase::Waiting
    }

    /// A node that needs a lease and has no valid one may not act. It does not hold the lock, even
    /// if its client has not been notified yet that the lock is lost.
    fn facet(&self, client: &Contender, may_act: bool) -> u64 {
        match (client.phase, client.access) {
            _ if !may_act => 0,
            (ClientPhase::Holding, Access::Exclusive) => EXCLUSIVE_HOLDER,
            (ClientPhase::Holding, Access::Shared) => SHARED_HOLDER,
            (ClientPhase::Idle | ClientPhase::Waiting | ClientPhase::NodeDown, _) => 0,
        }
    }

    fn properties(&self) -> Vec<Property> {
        let property = |name, judged| Property { name, judged };
        let is_exclusive = |facets: &[u64]| facets.iter().sum::<u64>() <= EXCLUSIVE_HOLDER;
        let mut properties =
            vec![property("exclusion", Judged::ByState(is_exclusive)), property("asked-first", Judged::ByStep)];
        debug_assert_eq!(properties.len(), usize::from(ASKED_FIRST) + 1);
        debug_assert_eq!(EXCLUSION, 0);
        if self.checks_fences {
            properties.push(property("fences-grow", Judged::ByFences));
        }
        if self.checks_order {
            properties.push(property("happened-before-order", Judged::ByOrder));
        }
        if self.service != Service::CanDeadlock {
            properties.push(property("no-deadlock", Judged::ByDeadlock));
        }
        if self.service == Service::Certain {
            properties.push(property("served", Judged::ByFairRuns));
        }
        properties
    }
}

/// Packs a fence into one word: the epoch above the counter. The counters of a check fit in 32
/// bits.
fn pack_fence(fence: Fence) -> u64 {
    fence.epoch.0 << 32 | (fence.counter & 0xffff_ffff)
}
