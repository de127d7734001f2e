//! Ordered multicasts under the checker: orders keep their promises in every schedule, and in views
//! with a crash at every point; the simulator's observers confirm the counterexamples.

mod bugs;
mod orders;

use crate::checker::engine::common::reduced_search;
use crate::checker::{counterexample_length, violated_properties};
use quorate_check::{Checker, Effort, Findings, Setup, Views};
use quorate_core::multicast::{Board, Member, Ordering, Plan};
use quorate_core::wrap::Viewed;
use quorate_core::{Group, NodeId};
use quorate_erased::Erased;
use quorate_lab::multicast::MulticastNode;
use quorate_lab::multicast::check::Senders;
use quorate_lab::multicast::run::{Properties, PropertySet};
use std::sync::Arc;

/// More states than any of these groups has; a search that finds more is incomplete and fails.
const MAX_STATES: u64 = 8_000_000;

/// A group under test: its first `senders` nodes send `messages` messages in total.
#[derive(Clone, Debug)]
struct Case {
    nodes: usize,
    senders: usize,
    messages: u8,
    crashes: u8,
    /// Whether crashes may interrupt a multicast.
    crash_interrupts_sends: bool,
    /// Whether links deliver in sending order.
    fifo: bool,
    plan: Plan,
    /// The properties to check.
    promises: PropertySet,
    effort: Effort,
}

impl Case {
    /// A case without faults that promises only reliability.
    fn new(nodes: usize, senders: usize, messages: u8) -> Self {
        Self {
            nodes,
            senders,
            messages,
            crashes: 0,
            crash_interrupts_sends: true,
            fifo: false,
            // No node joins, so none needs the latest messages.
            plan: Plan { board_capacity: 0, ..Plan::new(Group::of_size(nodes)) },
            promises: PropertySet::RELIABLE,
            effort: reduced_search(),
        }
    }

    /// Adds views, which change at most as often as nodes may crash.
    fn in_views(self) -> Self {
        Self { promises: PropertySet { views: true, ..self.promises }, ..self }
    }

    fn setup(&self) -> Setup {
        Setup {
            crashes: self.crashes,
            crash_interrupts_sends: self.crash_interrupts_sends,
            has_fifo_links: self.fifo,
            views: self.promises.views.then_some(Views { max_changes: self.crashes, waits_for_leases: true }),
            ..Setup::new(self.nodes)
        }
    }

    fn check<O: Ordering>(&self) -> Findings {
        let plan = Arc::new(self.plan.clone());
        // The members replicate a bulletin board of the latest messages.
        let member = move |me| Member::<Board>::new(me, Arc::clone(&plan), O::boxed);
        if self.promises.views {
            self.check_nodes(move |me| Erased::new(Viewed::new(me, member(me))))
        } else {
            self.check_nodes(move |me| Erased::new(member(me)))
        }
    }

    /// Runs a check, and replays every counterexample to the simulator's observers, which must
    /// agree.
    fn check_nodes(&self, new_node: impl Fn(NodeId) -> MulticastNode + Send + Sync + 'static) -> Findings {
        let clients = Senders::new(Group::of_size(self.senders), self.messages.into(), self.promises).unwrap();
        let mut checker = Checker::new(Arc::new(new_node), clients, self.setup()).unwrap();
        let findings = checker.run(&self.effort, &mut |_, progress| progress.states < MAX_STATES);
        for verdict in &findings.verdicts {
            let Some(example) = &verdict.counterexample else { continue };
            let properties = Properties::new(self.nodes, self.promises);
            let properties =
                checker.replay(example, properties).unwrap_or_else(|error| panic!("{}: {error}", verdict.name));
            let replayed_verdicts = properties.verdicts();
            let replayed = replayed_verdicts.iter().find(|replayed| replayed.name == verdict.name).unwrap();
            assert!(
                replayed.is_violated(),
                "the simulator's observers do not confirm the violation of '{}'",
                verdict.name
            );
        }
        findings
    }
}
