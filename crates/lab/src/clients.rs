//! The clients of a run: those of a workload, or clients that follow a script.

use quorate_core::{NodeId, Time};
use quorate_journal::workload::{ClientEvent, Plan, Workload};

pub enum RunClients<W, S> {
    Workload(Box<W>),
    Script(S),
}

impl<C, E, W: Workload<C, E>, S: Workload<C, E>> Workload<C, E> for RunClients<W, S> {
    fn begin(&mut self, plan: &mut Plan<C>) {
        match self {
            Self::Workload(clients) => clients.begin(plan),
            Self::Script(clients) => clients.begin(plan),
        }
    }

    fn on_event(&mut self, now: Time, node: NodeId, notification: &ClientEvent<E>, plan: &mut Plan<C>) {
        match self {
            Self::Workload(clients) => clients.on_event(now, node, notification, plan),
            Self::Script(clients) => clients.on_event(now, node, notification, plan),
        }
    }

    fn is_done(&self) -> bool {
        match self {
            Self::Workload(clients) => clients.is_done(),
            Self::Script(clients) => clients.is_done(),
        }
    }
}
