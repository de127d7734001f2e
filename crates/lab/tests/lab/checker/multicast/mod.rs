//! Ordered multicasts under the checker: each order stands in every order of steps, with a crash at every point, and whatever is found broken
//! is broken in the eyes of the simulator's judges too.

mod orders;
mod slips;

use crate::checker::engine::common::reduced;
use crate::checker::{broken, length};
use quorate_check::{Checker, Effort, Findings, Setup, Views};
use quorate_core::multicast::{Board, Member, Ordering, Plan};
use quorate_core::wrap::Viewed;
use quorate_core::{Group, NodeId};
use quorate_erased::Erased;
use quorate_lab::multicast::MulticastNode;
use quorate_lab::multicast::check::Senders;
use quorate_lab::multicast::run::{Promises, Properties};
use std::sync::Arc;

const MOST_STATES: u64 = 8_000_000;

/// A group under test: who sends how much in all, and what may happen.
#[derive(Clone, Debug)]
struct Case {
    nodes: usize,
    senders: usize,
    messages: u8,
    crashes: u8,
    /// Whether they may come in the middle of a sending.
    cut_short: bool,
    fifo: bool,
    plan: Plan,
    promises: Promises,
    effort: Effort,
}

impl Case {
    /// So many nodes, of which the first ones send, and of which nothing is promised but that what is sent is delivered.
    fn new(nodes: usize, senders: usize, messages: u8) -> Self {
        Self {
            nodes,
            senders,
            messages,
            crashes: 0,
            cut_short: true,
            fifo: false,
            plan: Plan { board: 0, ..Plan::new(Group::of_size(nodes)) },
            promises: Promises::RELIABLE,
            effort: reduced(),
        }
    }

    fn in_views(self) -> Self {
        Self { promises: Promises { views: true, ..self.promises }, ..self }
    }

    fn setup(&self) -> Setup {
        Setup {
            crashes: self.crashes,
            cut_short: self.cut_short,
            fifo: self.fifo,
            views: self.promises.views.then_some(Views { changes: self.crashes, waits: true }),
            ..Setup::new(self.nodes)
        }
    }

    fn check<O: Ordering>(&self) -> Findings {
        let plan = Arc::new(self.plan.clone());
        let member = move |me| Member::<Board>::new(me, Arc::clone(&plan), O::boxed);
        if self.promises.views {
            self.check_nodes(move |me| Erased::new(Viewed::new(me, member(me))))
        } else {
            self.check_nodes(move |me| Erased::new(member(me)))
        }
    }

    /// Checks, and plays every counterexample before the simulator's judges, which must agree.
    fn check_nodes(&self, make: impl Fn(NodeId) -> MulticastNode + Send + Sync + 'static) -> Findings {
        let users = Senders::new(Group::of_size(self.senders), self.messages, self.promises).unwrap();
        let mut checker = Checker::new(Arc::new(make), users, self.setup()).unwrap();
        let findings = checker.run(&self.effort, &mut |_, progress| progress.states < MOST_STATES);
        for verdict in &findings.verdicts {
            let Some(example) = &verdict.counterexample else { continue };
            let judges = Properties::new(self.nodes, self.promises);
            let judged = checker.play(example, judges).unwrap_or_else(|error| panic!("{}: {error}", verdict.name));
            let judged = judged.verdicts();
            let simulated = judged.iter().find(|simulated| simulated.name == verdict.name).unwrap();
            assert!(simulated.is_breach(), "the simulator does not see '{}' broken", verdict.name);
        }
        findings
    }
}
