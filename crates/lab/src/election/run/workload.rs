//! Who calls elections, and when everybody has their leader.

use super::{Agreement, Belief, Change, Expectation, Starters, told};
use quorate_core::election::{COMMANDS, Command, Event, Ranking, Ring};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::settings::TimedCommand;
use quorate_journal::workload::{News, Plan, Workload};
use std::collections::BTreeSet;

/// The users of all nodes. They are content when all live nodes know one live leader.
///
/// Those who start do so at once, and again when the leader they know is dead: users notice that sooner or later, since it
/// answers nobody. What goes wrong while a run is under way is for the algorithm to notice.
pub struct Campaigns {
    calls: Calls,
    /// The last fault is over then; before that, whatever was agreed on may not last.
    not_before: Option<Time>,
    agreement: Agreement,
    /// Who will notice when that a leader is dead.
    noticing: BTreeSet<(Time, NodeId)>,
}

enum Calls {
    Starters {
        who: Starters,
        ring: Ring,
        ranking: Ranking,
        /// How long it takes to notice that a leader is dead, if users notice it at all.
        notice: Option<Duration>,
    },
    Script(Vec<TimedCommand>),
}

impl Campaigns {
    /// These nodes of a group that sits and ranks so start at once, and again so long after the death of a leader they know.
    pub fn new(who: Starters, ring: Ring, ranking: Ranking, notice: Duration) -> Self {
        let agreement = Agreement::new(ring.len());
        Self {
            calls: Calls::Starters { who, ring, ranking, notice: Some(notice) },
            not_before: None,
            agreement,
            noticing: BTreeSet::new(),
        }
    }

    pub fn scripted(nodes: usize, commands: Vec<TimedCommand>) -> Self {
        Self {
            calls: Calls::Script(commands),
            not_before: None,
            agreement: Agreement::new(nodes),
            noticing: BTreeSet::new(),
        }
    }

    /// Users who never notice that a leader is dead: that is left to failure detectors.
    #[must_use]
    pub fn oblivious(mut self) -> Self {
        if let Calls::Starters { notice, .. } = &mut self.calls {
            *notice = None;
        }
        self
    }

    #[must_use]
    pub fn expecting(self, expectation: Expectation) -> Self {
        Self { agreement: self.agreement.expecting(expectation), ..self }
    }

    #[must_use]
    pub fn not_before(self, instant: Option<Time>) -> Self {
        Self { not_before: instant, ..self }
    }
}

impl Campaigns {
    fn notice(&mut self, now: Time, node: NodeId, change: Change, plan: &mut Plan<Command>) {
        let Calls::Starters { who, ring, ranking, notice: Some(notice) } = &self.calls else { return };
        let callers = match change {
            Change::Dies if self.agreement.is_followed(node) => who.among(self.agreement.live(), ring, ranking),
            Change::Learns { leader, .. } if !self.agreement.is_live(leader) => vec![node],
            Change::Campaigns
            | Change::Begins(_)
            | Change::Learns { .. }
            | Change::Extends { .. }
            | Change::Ends
            | Change::Dies
            | Change::Boots => Vec::new(),
        };
        for caller in callers {
            let at = now + *notice;
            self.noticing.insert((at, caller));
            plan.wake(at, caller);
        }
    }

    fn call(&mut self, now: Time, node: NodeId, plan: &mut Plan<Command>) {
        if !self.noticing.remove(&(now, node)) {
            return;
        }
        if let Belief::Knows { leader, .. } = self.agreement.belief(node)
            && !self.agreement.is_live(leader)
        {
            plan.command(now, node, Command::Campaign);
        }
    }
}

impl Workload<Command, Event> for Campaigns {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        match &self.calls {
            Calls::Starters { who, ring, ranking, .. } => {
                for node in who.among(self.agreement.live(), ring, ranking) {
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
            News::Alarm => {
                self.call(now, node, plan);
                None
            }
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
