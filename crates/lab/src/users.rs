//! The clients of a run: those of a workload, or clients that follow a script.

use quorate_core::{NodeId, Time};
use quorate_journal::workload::{News, Plan, Workload};

/// The clients of a run.
pub enum Users<W, S> {
    Workload(Box<W>),
    Script(S),
}

impl<C, E, W: Workload<C, E>, S: Workload<C, E>> Workload<C, E> for Users<W, S> {
    fn begin(&mut self, plan: &mut Plan<C>) {
        match self {
            Self::Workload(users) => users.begin(plan),
            Self::Script(users) => users.begin(plan),
        }
    }

    fn hear(&mut self, now: Time, node: NodeId, news: &News<E>, plan: &mut Plan<C>) {
        match self {
            Self::Workload(users) => users.hear(now, node, news, plan),
            Self::Script(users) => users.hear(now, node, news, plan),
        }
    }

    fn is_done(&self) -> bool {
        match self {
            Self::Workload(users) => users.is_done(),
            Self::Script(users) => users.is_done(),
        }
    }
}
