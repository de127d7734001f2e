//! Resolution of deadlocks: one site, the resolver, selects one victim after the other.
//!
//! Detectors find deadlocks at different sites, several at once, and often the same one several
//! times. If each site chose a victim for each deadlock it finds, more processes than necessary
//! would abort: the abort of a process that is in two deadlocks breaks both, and a second victim
//! would abort for a deadlock that no longer exists. So all reports go to one resolver. It asks one
//! process to abort, waits until the process has done so, and only then handles the next report. If
//! an abort has ended a wait in that report, the resolver dismisses the report, and the agent that
//! found the deadlock (the finder) checks again.
//!
//! ```text
//! RS-1  a deadlock is found         → report it, if there is no victim policy; else send it to the
//!                                     resolver
//! RS-2  the resolver takes up a
//!       report                      → dismiss it if a victim's abort has ended a wait that it
//!                                     names: the finder checks again
//! RS-3  all its waits still exist   → choose the victim, report the deadlock, and send the
//!                                     victim's site a request to abort; later reports wait
//! RS-4  a request to abort arrives  → pass it to the process, if it still waits; else confirm at
//!                                     once that it no longer waits
//! RS-5  the victim has aborted      → confirm the abort to the resolver
//! RS-6  the confirmation arrives    → ask the finder, unless it was the victim, to check again,
//!                                     for it may be in another deadlock; take up the next report
//! RS-7  an agent must check again   → start another check, if it still waits
//! ```
//!
//! Why no phantom is resolved: no process in a deadlock continues until one of them aborts, and
//! none aborts unless the resolver asks it. So a reported deadlock is real, unless one of its
//! processes has aborted, before the report or after it. When the resolver chooses a victim, no
//! earlier victim still waits, and no wait of this report has ended: so the deadlock is real, and
//! stays so until the victim aborts.
//!
//! Assumes: no process aborts unasked. The resolver would not learn of such an abort, and might ask
//! another process to abort for a deadlock that is already broken.

use super::site_state::SiteState;
use super::{Agent, Finding, Plan, Policy, Report, WaitId};
use crate::describe::{Class, Describe};
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::node::NodeId;
use crate::protocol::Protocol;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// A message to or from the resolver, about the resolution of a deadlock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum ResolverMessage {
    /// To the resolver: a deadlock was found.
    Found(Report),
    /// To the victim's site: the victim must abort.
    #[cfg_attr(feature = "serde", serde(rename = "doom"))]
    Abort(Report),
    /// To the resolver: the victim has aborted this wait, or the wait had ended before (RS-4).
    #[cfg_attr(feature = "serde", serde(rename = "yielded"))]
    Aborted {
        #[cfg_attr(feature = "serde", serde(rename = "who"))]
        agent: Agent,
        #[cfg_attr(feature = "serde", serde(rename = "spell"))]
        wait_id: WaitId,
    },
    /// To the finder of a deadlock: check again.
    #[cfg_attr(feature = "serde", serde(rename = "again"))]
    CheckAgain {
        #[cfg_attr(feature = "serde", serde(rename = "who"))]
        agent: Agent,
        #[cfg_attr(feature = "serde", serde(rename = "spell"))]
        wait_id: WaitId,
    },
}

impl Describe for ResolverMessage {
    fn kind(&self) -> &'static str {
        match self {
            Self::Found(_) => "found",
            Self::Abort(_) => "abort",
            Self::Aborted { .. } => "aborted",
            Self::CheckAgain { .. } => "check-again",
        }
    }

    /// Resolution is not part of the cost of detection.
    fn class(&self) -> Class {
        Class::Announcement
    }
}

/// An action of the resolution, which the detector performs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Send(NodeId, ResolverMessage),
    /// A note for the trace: the rule id, the text before the agent's name, and the agent.
    Note(&'static str, &'static str, Agent),
    Emit(Finding),
    /// The agent starts a check.
    Check(Agent),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Resolution {
    config: Fixed<Config>,
    /// The victims at this site that have not aborted yet, with the numbers of their waits.
    victims: BTreeMap<Agent, WaitId>,
    /// At the resolver: reports that are not handled yet.
    queue: VecDeque<Report>,
    /// At the resolver: the deadlock that is being resolved.
    current: Option<Report>,
    /// At the resolver, for each victim so far: the number of its latest wait that it has aborted.
    aborted: BTreeMap<Agent, WaitId>,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    site_count: usize,
    resolver: NodeId,
    policy: Option<Policy>,
}

impl Resolution {
    pub(super) fn new(me: NodeId, plan: &Plan) -> Self {
        Self {
            config: Fixed::new(Config {
                me,
                site_count: plan.sites,
                resolver: plan.resolver,
                policy: plan.victim_policy,
            }),
            victims: BTreeMap::new(),
            queue: VecDeque::new(),
            current: None,
            aborted: BTreeMap::new(),
        }
    }

    /// Returns whether deadlocks are resolved and not only reported.
    pub(super) fn is_enabled(&self) -> bool {
        self.config.policy.is_some()
    }

    /// At the resolver: returns whether a victim has been chosen and has not aborted yet.
    pub(super) fn is_busy(&self) -> bool {
        self.current.is_some()
    }

    /// At the resolver: returns whether this wait has ended because its agent, as a victim, has
    /// aborted this wait or a later one.
    pub(super) fn is_aborted(&self, agent: Agent, wait_id: WaitId) -> bool {
        self.aborted.get(&agent).is_some_and(|aborted| wait_id <= *aborted)
    }

    /// RS-1.
    pub(super) fn on_found(&mut self, report: Report, site: &SiteState) -> Vec<Action> {
        if self.config.policy.is_none() {
            return [
                Action::Note("RS-1", "reports the deadlock of", report.finder),
                Action::Emit(Finding::Deadlock(report)),
            ]
            .into();
        }
        let mut actions = alloc::vec![Action::Note("RS-1", "sends the resolver the deadlock of", report.finder)];
        self.send(self.config.resolver, ResolverMessage::Found(report), site, &mut actions);
        actions
    }

    /// Handles a message, unless it is forged. Only the resolver accepts reports and confirmations
    /// of aborts, and only from the site of the finder or victim. All other messages must come from
    /// the resolver.
    pub(super) fn on_message(&mut self, from: NodeId, message: ResolverMessage, site: &SiteState) -> Vec<Action> {
        let mut actions = Vec::new();
        let (is_resolver, is_from_resolver) = (self.config.me == self.config.resolver, from == self.config.resolver);
        let is_valid = match &message {
            ResolverMessage::Found(report) => is_resolver && report.finder.site == from && self.knows_sites_of(report),
            ResolverMessage::Aborted { agent, .. } => is_resolver && agent.site == from,
            ResolverMessage::Abort(_) | ResolverMessage::CheckAgain { .. } => is_from_resolver,
        };
        if is_valid {
            self.handle(message, site, &mut actions);
        }
        actions
    }

    /// Returns whether all waiting agents in the report are at existing sites.
    fn knows_sites_of(&self, report: &Report) -> bool {
        report.waits.iter().all(|wait| wait.agent.site.index() < self.config.site_count)
    }

    /// RS-5, if the agent that no longer waits is a victim in this wait.
    pub(super) fn on_unblocked(&mut self, agent: Agent, wait_id: WaitId, site: &SiteState) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.victims.get(&agent) == Some(&wait_id) {
            self.victims.remove(&agent);
            actions.push(Action::Note("RS-5", "confirms the abort of", agent));
            self.send(self.config.resolver, ResolverMessage::Aborted { agent, wait_id }, site, &mut actions);
        }
        actions
    }

    fn handle(&mut self, message: ResolverMessage, site: &SiteState, actions: &mut Vec<Action>) {
        match message {
            ResolverMessage::Found(report) => {
                self.queue.push_back(report);
                self.take_up_next(site, actions);
            }
            ResolverMessage::Abort(report) => self.on_abort_request(report, site, actions),
            ResolverMessage::Aborted { agent, wait_id } => self.on_aborted(agent, wait_id, site, actions),
            ResolverMessage::CheckAgain { agent, wait_id } => check_again(agent, wait_id, site, actions),
        }
    }

    /// RS-2, for one report after the other, until a victim is chosen (RS-3). Does nothing while an
    /// earlier victim has not aborted.
    fn take_up_next(&mut self, site: &SiteState, actions: &mut Vec<Action>) {
        while self.current.is_none()
            && let Some(report) = self.queue.pop_front()
        {
            if report.waits.iter().any(|wait| self.is_aborted(wait.agent, wait.wait_id)) {
                actions.push(Action::Note("RS-2", "an abort has already broken the deadlock of", report.finder));
                self.send_check_again(&report, site, actions);
                continue;
            }
            self.choose_victim(report, site, actions);
        }
    }

    /// RS-3. Drops a report that names no process.
    fn choose_victim(&mut self, report: Report, site: &SiteState, actions: &mut Vec<Action>) {
        let Some(victim) = self.config.policy.and_then(|policy| policy.choose(report.candidates())) else { return };
        let report = Report { victim: Some(victim), ..report };
        actions.push(Action::Note("RS-3", "chooses the victim", victim));
        actions.push(Action::Emit(Finding::Deadlock(report.clone())));
        self.current = Some(report.clone());
        self.send(victim.site, ResolverMessage::Abort(report), site, actions);
    }

    /// RS-4.
    fn on_abort_request(&mut self, report: Report, site: &SiteState, actions: &mut Vec<Action>) {
        let Some((agent, wait_id)) = report.victim.and_then(|agent| Some((agent, report.wait_id(agent)?))) else {
            return;
        };
        if site.wait(agent).is_none_or(|wait| wait.wait_id != wait_id) {
            actions.push(Action::Note("RS-4", "confirms at once that it no longer waits:", agent));
            return self.send(self.config.resolver, ResolverMessage::Aborted { agent, wait_id }, site, actions);
        }
        actions.push(Action::Note("RS-4", "demands the abort of", agent));
        self.victims.insert(agent, wait_id);
        actions.push(Action::Emit(Finding::Victim { agent, report }));
    }

    /// RS-6.
    fn on_aborted(&mut self, agent: Agent, wait_id: WaitId, site: &SiteState, actions: &mut Vec<Action>) {
        let is_current = |report: &mut Report| report.victim == Some(agent) && report.wait_id(agent) == Some(wait_id);
        let Some(report) = self.current.take_if(is_current) else { return };
        actions.push(Action::Note("RS-6", "has resolved the deadlock by the abort of", agent));
        let aborted = self.aborted.entry(agent).or_default();
        *aborted = wait_id.max(*aborted);
        if report.finder != agent {
            self.send_check_again(&report, site, actions);
        }
        self.take_up_next(site, actions);
    }

    /// Asks the finder of a deadlock to check again.
    fn send_check_again(&mut self, report: &Report, site: &SiteState, actions: &mut Vec<Action>) {
        let Report { finder, finder_wait_id, .. } = *report;
        self.send(finder.site, ResolverMessage::CheckAgain { agent: finder, wait_id: finder_wait_id }, site, actions);
    }

    /// Sends a message, or handles it directly if it is for this site.
    fn send(&mut self, to: NodeId, message: ResolverMessage, site: &SiteState, actions: &mut Vec<Action>) {
        if to == self.config.me {
            self.handle(message, site, actions);
        } else {
            actions.push(Action::Send(to, message));
        }
    }
}

/// Performs the actions, with each message wrapped by `wrap`. Returns the agents that must check
/// again.
pub(super) fn perform<P: Protocol<Event = Finding>>(
    actions: Vec<Action>,
    wrap: fn(ResolverMessage) -> P::Message,
    out: &mut Effects<'_, P>,
) -> Vec<Agent> {
    let mut agents_to_check = Vec::new();
    for action in actions {
        match action {
            Action::Send(to, message) => out.send(to, wrap(message)),
            Action::Note(rule, text, agent) => out.note(rule, format_args!("{text} {agent}")),
            Action::Emit(finding) => out.emit(finding),
            Action::Check(agent) => agents_to_check.push(agent),
        }
    }
    agents_to_check
}

/// RS-7.
fn check_again(agent: Agent, wait_id: WaitId, site: &SiteState, actions: &mut Vec<Action>) {
    if site.wait(agent).is_some_and(|wait| wait.wait_id == wait_id) {
        actions.push(Action::Note("RS-7", "starts another check for", agent));
        actions.push(Action::Check(agent));
    }
}
