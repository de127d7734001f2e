//! The workload: which clients start elections, and when all have a leader.

use super::{Agreement, Belief, Change, Expectation, Starters, change_from_event};
use quorate_core::election::{COMMANDS, Command, Event, Ranking, Ring};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::settings::TimedCommand;
use quorate_journal::workload::{ClientEvent, Plan, Workload};
use std::collections::BTreeSet;

/// The clients of all nodes. They are done when all live nodes know one live leader.
///
/// Starters begin at once, and again when their leader has crashed: clients notice a crash
/// eventually, because the leader answers no requests. Crashes during an election are for the
/// algorithm to detect.
pub struct Campaigns {
    source: CampaignSource,
    /// The end of the last fault. An earlier agreement may not last.
    not_before: Option<Time>,
    agreement: Agreement,
    /// Clients that will notice the crash of a leader, with the time.
    noticing: BTreeSet<(Time, NodeId)>,
}

/// The origin of the campaigns: starters or a script.
enum CampaignSource {
    Starters {
        who: Starters,
        ring: Ring,
        ranking: Ranking,
        /// Delay until clients notice a crashed leader; `None` if they never do.
        notice: Option<Duration>,
    },
    Script(Vec<TimedCommand>),
}

impl Campaigns {
    /// Starters begin at once, and again `notice` after the crash of a leader that they know.
    pub fn new(who: Starters, ring: Ring, ranking: Ranking, notice: Duration) -> Self {
        let agreement = Agreement::new(ring.len());
        Self {
            source: CampaignSource::Starters { who, ring, ranking, notice: Some(notice) },
            not_before: None,
            agreement,
            noticing: BTreeSet::new(),
        }
    }

    pub fn scripted(nodes: usize, commands: Vec<TimedCommand>) -> Self {
        Self {
            source: CampaignSource::Script(commands),
            not_before: None,
            agreement: Agreement::new(nodes),
            noticing: BTreeSet::new(),
        }
    }

    /// Clients that never notice a crashed leader, which is left to failure detectors.
    #[must_use]
    pub fn without_notices(mut self) -> Self {
        if let CampaignSource::Starters { notice, .. } = &mut self.source {
            *notice = None;
        }
        self
    }

    #[must_use]
    pub fn expecting(self, expectation: Expectation) -> Self {
        Self { agreement: self.agreement.expecting(expectation), ..self }
    }

    /// Keeps the run from ending before this instant.
    #[must_use]
    pub fn not_before(self, instant: Option<Time>) -> Self {
        Self { not_before: instant, ..self }
    }
}

impl Campaigns {
    fn schedule_notices(&mut self, now: Time, node: NodeId, change: Change, plan: &mut Plan<Command>) {
        let CampaignSource::Starters { who, ring, ranking, notice: Some(notice) } = &self.source else { return };
        let callers = match change {
            Change::Crashes if self.agreement.is_followed(node) => who.among(self.agreement.live(), ring, ranking),
            Change::Learns { leader, .. } if !self.agreement.is_live(leader) => vec![node],
            Change::Campaigns
            | Change::Begins(_)
            | Change::Learns { .. }
            | Change::Extends { .. }
            | Change::Ends
            | Change::Crashes
            | Change::Starts => Vec::new(),
        };
        for caller in callers {
            let at = now + *notice;
            self.noticing.insert((at, caller));
            plan.wake(at, caller);
        }
    }

    fn campaign_if_leader_is_down(&mut self, now: Time, node: NodeId, plan: &mut Plan<Command>) {
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
        match &self.source {
            CampaignSource::Starters { who, ring, ranking, .. } => {
                for node in who.among(self.agreement.live(), ring, ranking) {
                    plan.command(Time::ZERO, node, Command::Campaign);
                }
            }
            CampaignSource::Script(commands) => {
                for TimedCommand { at, node, word } in commands {
                    if let Some(command) = COMMANDS.into_iter().find(|command| command.name() == word) {
                        plan.command_any_incarnation(Time::ZERO + *at, *node, command);
                    }
                }
            }
        }
        if let Some(instant) = self.not_before {
            plan.wake(instant, NodeId::from_index(0));
        }
    }

    fn on_event(&mut self, now: Time, node: NodeId, news: &ClientEvent<Event>, plan: &mut Plan<Command>) {
        let change = match news {
            ClientEvent::Emitted(event) => change_from_event(event),
            ClientEvent::Crashed => Some(Change::Crashes),
            ClientEvent::Restarted => Some(Change::Starts),
            ClientEvent::Alarm => {
                self.campaign_if_leader_is_down(now, node, plan);
                None
            }
        };
        if let Some(change) = change {
            self.agreement.change(node, change);
            self.schedule_notices(now, node, change, plan);
        }
    }

    fn is_done(&self) -> bool {
        self.agreement.is_reached()
    }
}
