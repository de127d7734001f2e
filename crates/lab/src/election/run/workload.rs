//! The workload: clients start elections until all live nodes agree on a leader.

use super::{Agreement, Belief, Change, Expectation, Starters, change_from_event};
use quorate_core::election::{COMMANDS, Command, Event, Ranking, Ring};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::settings::TimedCommand;
use quorate_journal::workload::{ClientEvent, Plan, Workload};
use std::collections::BTreeSet;

/// The clients of all nodes. They are done when all live nodes have the expected agreement on live
/// leaders.
///
/// The clients that start elections (starters) campaign at the start of the run, and again some
/// time after their leader has crashed, because it no longer answers their requests. So does every
/// client, starter or not, whose node learns of a leader that is down already. Clients do not react
/// to crashes during an election: the algorithm must detect those.
pub struct Campaigns {
    source: CampaignSource,
    /// The run does not end before this instant: a later fault may undo an earlier agreement.
    earliest_end: Option<Time>,
    agreement: Agreement,
    /// When each client will notice that its leader has crashed.
    pending_notices: BTreeSet<(Time, NodeId)>,
}

/// The source of the commands to campaign.
enum CampaignSource {
    Starters {
        starters: Starters,
        ring: Ring,
        ranking: Ranking,
        /// Delay after which clients notice that their leader has crashed; `None` if they never do.
        notice_delay: Option<Duration>,
    },
    Script(Vec<TimedCommand>),
}

impl Campaigns {
    /// Creates clients of which the starters campaign at time 0, and again `notice_delay` after
    /// their leader has crashed.
    pub fn new(starters: Starters, ring: Ring, ranking: Ranking, notice_delay: Duration) -> Self {
        let agreement = Agreement::new(ring.len());
        Self {
            source: CampaignSource::Starters { starters, ring, ranking, notice_delay: Some(notice_delay) },
            earliest_end: None,
            agreement,
            pending_notices: BTreeSet::new(),
        }
    }

    /// Creates clients that give exactly these commands.
    pub fn scripted(nodes: usize, commands: Vec<TimedCommand>) -> Self {
        Self {
            source: CampaignSource::Script(commands),
            earliest_end: None,
            agreement: Agreement::new(nodes),
            pending_notices: BTreeSet::new(),
        }
    }

    /// Lets clients never notice a crashed leader, so only failure detectors start new elections.
    #[must_use]
    pub fn without_notices(mut self) -> Self {
        if let CampaignSource::Starters { notice_delay, .. } = &mut self.source {
            *notice_delay = None;
        }
        self
    }

    #[must_use]
    pub fn expecting(self, expectation: Expectation) -> Self {
        Self { agreement: self.agreement.expecting(expectation), ..self }
    }

    /// Prevents the run from ending before this instant.
    #[must_use]
    pub fn ending_no_earlier_than(self, instant: Option<Time>) -> Self {
        Self { earliest_end: instant, ..self }
    }
}

impl Campaigns {
    fn schedule_notices(&mut self, now: Time, node: NodeId, change: Change, plan: &mut Plan<Command>) {
        let CampaignSource::Starters { starters, ring, ranking, notice_delay: Some(notice_delay) } = &self.source
        else {
            return;
        };
        let campaigners = match change {
            Change::Crashes if self.agreement.is_followed(node) => {
                starters.select(self.agreement.live_nodes(), ring, ranking)
            }
            Change::LearnsLeader { leader, .. } if !self.agreement.is_live(leader) => vec![node],
            Change::Campaigns
            | Change::BeginsElection(_)
            | Change::LearnsLeader { .. }
            | Change::ExtendsLease { .. }
            | Change::LosesLeader
            | Change::Crashes
            | Change::Starts => Vec::new(),
        };
        for campaigner in campaigners {
            let at = now + *notice_delay;
            self.pending_notices.insert((at, campaigner));
            plan.set_alarm(at, campaigner);
        }
    }

    fn campaign_if_leader_is_down(&mut self, now: Time, node: NodeId, plan: &mut Plan<Command>) {
        if !self.pending_notices.remove(&(now, node)) {
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
            CampaignSource::Starters { starters, ring, ranking, .. } => {
                for node in starters.select(self.agreement.live_nodes(), ring, ranking) {
                    plan.command(Time::ZERO, node, Command::Campaign);
                }
            }
            CampaignSource::Script(commands) => {
                // Validation has rejected scripts with other commands.
                for TimedCommand { at, node, command: name } in commands {
                    if let Some(command) = COMMANDS.into_iter().find(|command| command.name() == name) {
                        plan.command_any_incarnation(Time::ZERO + *at, *node, command);
                    }
                }
            }
        }
        if let Some(instant) = self.earliest_end {
            // No run ends while an alarm is pending.
            plan.set_alarm(instant, NodeId::from_index(0));
        }
    }

    fn on_event(&mut self, now: Time, node: NodeId, notification: &ClientEvent<Event>, plan: &mut Plan<Command>) {
        let change = match notification {
            ClientEvent::Emitted(event) => change_from_event(event),
            ClientEvent::Crashed => Some(Change::Crashes),
            ClientEvent::Restarted => Some(Change::Starts),
            ClientEvent::Alarm => {
                self.campaign_if_leader_is_down(now, node, plan);
                None
            }
        };
        if let Some(change) = change {
            self.agreement.record_change(node, change);
            self.schedule_notices(now, node, change, plan);
        }
    }

    fn is_done(&self) -> bool {
        self.agreement.is_reached()
    }
}
