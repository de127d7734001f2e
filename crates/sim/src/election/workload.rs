//! Who calls elections, and when everybody has their leader.

use super::{Agreement, Change, Starters, told};
use crate::run::{Plan, Workload};
use crate::settings::TimedCommand;
use crate::world::News;
use quorate_core::election::{COMMANDS, Command, Event};
use quorate_core::{Duration, NodeId, Time};

/// The users of all nodes. They are content when all live nodes know one live leader.
///
/// Those who start do so at once, and again when the leader they know is dead: users notice that sooner or later, since it
/// answers nobody. What goes wrong while a run is under way is for the algorithm to notice.
pub struct Campaigns {
    calls: Calls,
    /// The last fault is over then; before that, whatever was agreed on may not last.
    not_before: Option<Time>,
    agreement: Agreement,
}

enum Calls {
    Starters {
        who: Starters,
        /// How long it takes to notice that a leader is dead.
        notice: Duration,
    },
    Script(Vec<TimedCommand>),
}

impl Campaigns {
    /// These nodes of a group of this size start at once, and again so long after the death of a leader they know.
    pub fn new(nodes: usize, who: Starters, notice: Duration) -> Self {
        Self { calls: Calls::Starters { who, notice }, not_before: None, agreement: Agreement::new(nodes) }
    }

    /// Users who do what a script says, and nothing else.
    pub fn scripted(nodes: usize, commands: Vec<TimedCommand>) -> Self {
        Self { calls: Calls::Script(commands), not_before: None, agreement: Agreement::new(nodes) }
    }

    /// Nobody is content before this instant.
    #[must_use]
    pub fn not_before(self, instant: Option<Time>) -> Self {
        Self { not_before: instant, ..self }
    }
}

impl Campaigns {
    /// Whoever has to do with a dead leader notices it after a while, and starts anew.
    fn notice(&self, now: Time, node: NodeId, change: Change, plan: &mut Plan<Command>) {
        let Calls::Starters { who, notice } = &self.calls else { return };
        let callers = match change {
            Change::Dies if self.agreement.is_followed(node) => who.among(self.agreement.live()),
            Change::Learns { leader, .. } if !self.agreement.is_live(leader) => vec![node],
            Change::Campaigns | Change::Begins(_) | Change::Learns { .. } | Change::Dies | Change::Boots => Vec::new(),
        };
        for caller in callers {
            plan.command(now + *notice, caller, Command::Campaign);
        }
    }
}

impl Workload<Command, Event> for Campaigns {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        match &self.calls {
            Calls::Starters { who, .. } => {
                for node in who.among(self.agreement.live()) {
                    plan.command(Time::ZERO, node, Command::Campaign);
                }
            }
            Calls::Script(commands) => {
                for TimedCommand { at, node, word } in commands {
                    if let Some(command) = COMMANDS.into_iter().find(|command| command.name() == word) {
                        plan.command_any_life(Time::ZERO + *at, *node, command);
                    }
                }
            }
        }
        if let Some(instant) = self.not_before {
            plan.wake(instant, NodeId::from_index(0));
        }
    }

    fn hear(&mut self, now: Time, node: NodeId, news: &News<Event>, plan: &mut Plan<Command>) {
        let change = match news {
            News::Told(event) => told(event),
            News::Crashed => Some(Change::Dies),
            News::Restarted => Some(Change::Boots),
            News::Alarm => None,
        };
        if let Some(change) = change {
            self.agreement.change(node, change);
            self.notice(now, node, change, plan);
        }
    }

    fn is_done(&self) -> bool {
        self.agreement.is_reached()
    }
}
