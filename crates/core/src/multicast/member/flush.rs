//! The flush between two views: survivors settle the order of the messages that crashed members may
//! not have sent to all. The header of `member.rs` lists the rules MC-1 to MC-12.

use super::super::{DataMessage, Event, Message, MessageId, Ordering, Refusal, State, Survey};
use super::joiner::{Archive, ClientEvent, GroupState, Loading, send_to_others};
use super::view_state::{Holdings, ViewState};
use super::{Leaving, Member, Phase, request_acks};
use crate::effects::Effects;
use crate::group::{Epoch, Group};
use crate::multicast::Command;
use crate::node::NodeId;
use crate::time::Time;
use crate::view::View;
use crate::wrap::{InViews, Leased};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// A member's report to the others when a view ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Report {
    /// The messages that the member holds of the latest view that has begun at it, if any has.
    #[cfg_attr(feature = "serde", serde(rename = "begun", with = "super::super::wire"))]
    pub begun_holdings: Option<Holdings>,
    /// The messages that it holds of the view that was to begin next.
    #[cfg_attr(feature = "serde", serde(rename = "next", with = "super::super::wire"))]
    pub next_holdings: Option<Holdings>,
    /// The order that was settled for the rest of the begun view, if the member knows one.
    pub settled: Option<Settled>,
    /// The view for whose beginning the member still loads the state; `None` if it loads none.
    #[cfg_attr(feature = "serde", serde(rename = "wants"))]
    pub wanted_state: Option<Epoch>,
    /// The views for whose beginnings the member keeps the state for joiners.
    #[cfg_attr(feature = "serde", serde(rename = "keeps"))]
    pub kept_states: Vec<Epoch>,
}

/// The order in which members deliver the rest of a view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Settled {
    /// The view that was to begin after these messages.
    #[cfg_attr(feature = "serde", serde(rename = "before"))]
    pub next_view: Epoch,
    pub order: Vec<MessageId>,
}

/// The state of a member between two views.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flush {
    /// The latest view that has begun at this member; `None` for a joiner.
    pub(super) old_view: Option<ViewState>,
    /// The settled order of the remaining messages of that view.
    settled_order: Vec<MessageId>,
    /// Members that have not reported yet that they hold all of these messages.
    incomplete_members: BTreeSet<NodeId>,
    pub(super) new_view: ViewState,
    /// Members that need this member's state at the beginning of the next view.
    joiners: BTreeSet<NodeId>,
}

impl Flush {
    /// Records that a joiner has loaded the state at the beginning of a view from another member.
    pub(super) fn record_loaded(&mut self, joiner: NodeId, boundary: Epoch) {
        if self.new_view.view.epoch() == boundary {
            self.joiners.remove(&joiner);
        }
    }

    fn holds_all(&self) -> bool {
        self.old_view
            .as_ref()
            .is_none_or(|view_state| self.settled_order.iter().all(|id| view_state.queue.has_received(*id)))
    }
}

/// The reports of all members of the next view that were in an earlier one.
struct ReportSet<'a> {
    reports: &'a BTreeMap<NodeId, Report>,
    /// The view to settle: the latest one that has begun at any of these members.
    view_to_settle: Epoch,
}

impl<'a> ReportSet<'a> {
    /// Returns `None` if none of these members has the state of the group.
    fn new(reports: &'a BTreeMap<NodeId, Report>) -> Option<Self> {
        let loaded = reports.values().filter(|report| report.wanted_state.is_none());
        loaded.filter_map(|report| report.begun_holdings.as_ref()).next()?;
        let begun_views = reports.values().filter_map(|report| report.begun_holdings.as_ref()).map(|begun| begun.view);
        Some(Self { reports, view_to_settle: begun_views.max()? })
    }

    /// Returns the survivors of the view to settle, each with the messages it holds of that view,
    /// whether or not the view has begun at it.
    fn holdings(&self) -> impl Iterator<Item = (NodeId, &'a Holdings)> + '_ {
        self.reports.iter().filter_map(|(node, report)| {
            let holdings_by_view = [report.begun_holdings.as_ref(), report.next_holdings.as_ref()];
            let in_settled_view =
                holdings_by_view.into_iter().flatten().find(|holdings| holdings.view == self.view_to_settle);
            in_settled_view.map(|holdings| (*node, holdings))
        })
    }

    /// Combines the holdings of all survivors.
    fn survey(&self) -> Survey {
        let mut survey = Survey::default();
        for (node, holdings) in self.holdings() {
            survey.held.extend(holdings.held.iter().map(|(id, tag)| (*id, tag.clone())));
            for (sender, count) in &holdings.stable_counts {
                let known = survey.stable_counts.entry(*sender).or_insert(0);
                *known = (*known).max(*count);
            }
            survey.order_reports.insert(node, holdings.order_report.clone());
        }
        survey
    }

    /// MC-8, MC-10. Returns the order of the remaining messages of the view. The latest order that
    /// was settled earlier takes precedence, because a member may have delivered in it and crashed.
    fn settled_order(&self, ordering: &dyn Ordering) -> Vec<MessageId> {
        let survey = self.survey();
        let has_begun =
            |report: &&Report| report.begun_holdings.as_ref().is_some_and(|begun| begun.view == self.view_to_settle);
        let settled = self.reports.values().filter(has_begun).filter_map(|report| report.settled.as_ref());
        match settled.max_by_key(|settled| settled.next_view) {
            Some(settled) => ordering.prune(settled.order.clone(), &survey),
            None => ordering.settle(&survey),
        }
    }

    /// Returns the members that need a state when `view` begins: joiners, and members that still
    /// load one. Each is given with the view for whose beginning it needs the state.
    fn state_requests(&self, view: &View) -> BTreeMap<NodeId, Epoch> {
        let mut state_requests = BTreeMap::new();
        for node in view.members().iter() {
            let Some(report) = self.reports.get(&node).filter(|_| self.is_survivor(node)) else {
                state_requests.insert(node, view.epoch());
                continue;
            };
            if let Some(wanted) = report.wanted_state {
                let is_kept = self.donors(wanted, view.epoch()).next().is_some();
                state_requests.insert(node, if is_kept { wanted } else { view.epoch() });
            }
        }
        state_requests
    }

    /// Returns whether a member was in the view to settle, so that it takes part in the flush.
    fn is_survivor(&self, node: NodeId) -> bool {
        self.holdings().any(|(holder, _)| holder == node)
    }

    /// Returns the members that can send the state at the beginning of view `boundary`, now that
    /// view `next` is about to begin.
    fn donors(&self, boundary: Epoch, next: Epoch) -> impl Iterator<Item = NodeId> + '_ {
        self.reports.iter().filter_map(move |(node, report)| {
            // MC-10: the member begins the view to settle before `next`, and so has its state.
            let catches_up = report.next_holdings.as_ref().is_some_and(|holdings| holdings.view == self.view_to_settle);
            let will_have_state = report.kept_states.contains(&boundary)
                || boundary == next
                || (catches_up && boundary == self.view_to_settle);
            (report.wanted_state.is_none() && report.begun_holdings.is_some() && will_have_state).then_some(*node)
        })
    }
}

impl<S: State> Member<S> {
    /// MC-8. Begins to settle the messages of the previous view.
    fn settle(&mut self, view: &View, reports: &BTreeMap<NodeId, Report>, out: &mut Effects<'_, Self>) {
        let me = self.me();
        let Some(report_set) = ReportSet::new(reports) else { return self.begin_empty(view, out) };
        self.catch_up(report_set.view_to_settle, out);
        let state_requests = report_set.state_requests(view);
        let joiners = state_requests.iter().filter(|(_, boundary)| **boundary == view.epoch()).map(|(node, _)| *node);
        let old_view = match core::mem::replace(&mut self.phase, Phase::NoView) {
            Phase::InView(view_state) => Some(view_state),
            Phase::Flushing(flush) => flush.old_view,
            Phase::NoView | Phase::Retired => None,
        };
        // If no member had the state of the group, the view to settle may have begun with an empty
        // state at others, but not at this one. Then this member continues as a joiner.
        let old_view = old_view.filter(|view_state| view_state.view.epoch() == report_set.view_to_settle);
        let flush = Flush {
            settled_order: old_view
                .as_ref()
                .map(|view_state| report_set.settled_order(&*view_state.ordering))
                .unwrap_or_default(),
            old_view,
            incomplete_members: report_set.holdings().map(|(node, _)| node).collect(),
            new_view: self.config.view_state(view.clone()),
            joiners: joiners.collect(),
        };
        out.note("MC-8", format_args!("settles {} messages before {view}", flush.settled_order.len()));
        send_missing_messages(me, &flush, &report_set, out);
        self.phase = Phase::Flushing(flush);
        self.archive.retain_needed(&state_requests);
        if let Some(boundary) = state_requests.get(&me) {
            self.start_loading(*boundary, &report_set, view, out);
        }
        self.check_complete(out);
    }

    /// Begins a view with an empty state, because the group is new or no survivor has a state.
    fn begin_empty(&mut self, view: &View, out: &mut Effects<'_, Self>) {
        self.archive = Archive::default();
        self.group_state = GroupState::Loaded(S::initial(&self.config.plan));
        self.phase = Phase::InView(self.config.view_state(view.clone()));
        self.announce_view(view.clone(), out);
    }

    /// MC-10. Begins the view that this member was about to begin if it is `latest_begun`, the
    /// latest view that has begun at any member: then all members held all messages of the view
    /// before.
    fn catch_up(&mut self, latest_begun: Epoch, out: &mut Effects<'_, Self>) {
        if matches!(&self.phase, Phase::Flushing(flush) if flush.new_view.view.epoch() == latest_begun) {
            out.note("MC-10", format_args!("begins view {latest_begun} after others did"));
            self.begin_next_view(out);
        }
    }

    /// MC-11. Starts to load the state at the beginning of view `boundary`, or continues if this
    /// member is loading it already.
    fn start_loading(&mut self, boundary: Epoch, report_set: &ReportSet<'_>, view: &View, out: &mut Effects<'_, Self>) {
        if !matches!(&self.group_state, GroupState::Loading(loading) if loading.boundary == boundary) {
            self.group_state = GroupState::Loading(Loading::new(boundary));
        }
        if let GroupState::Loading(loading) = &mut self.group_state {
            loading.load_from(report_set.donors(boundary, view.epoch()).collect(), out);
        }
    }

    /// MC-8. Adds a message that this member lacked.
    pub(super) fn receive_remainder(&mut self, data: DataMessage, out: &mut Effects<'_, Self>) {
        let Phase::Flushing(flush) = &mut self.phase else { return };
        let DataMessage { id, tag, payload } = data;
        if let Some(view_state) = flush.old_view.as_mut().filter(|_| flush.settled_order.contains(&id)) {
            view_state.queue.receive(id, tag, payload);
        }
        self.check_complete(out);
    }

    /// MC-9. Reports once that this member holds all messages of the settled order.
    fn check_complete(&mut self, out: &mut Effects<'_, Self>) {
        let me = self.me();
        let Phase::Flushing(flush) = &mut self.phase else { return };
        if flush.incomplete_members.contains(&me) && flush.old_view.is_some() && flush.holds_all() {
            out.note("MC-9", format_args!("holds all messages of the previous view"));
            send_to_others(flush.new_view.view.members(), Message::Complete, out);
            flush.incomplete_members.remove(&me);
        }
        self.check_begin(out);
    }

    pub(super) fn receive_complete(&mut self, from: NodeId, out: &mut Effects<'_, Self>) {
        if let Phase::Flushing(flush) = &mut self.phase {
            flush.incomplete_members.remove(&from);
        }
        self.check_begin(out);
    }

    /// MC-9. Begins the next view if all survivors hold all messages.
    fn check_begin(&mut self, out: &mut Effects<'_, Self>) {
        if matches!(&self.phase, Phase::Flushing(flush) if flush.incomplete_members.is_empty()) {
            self.begin_next_view(out);
        }
    }

    /// MC-9. Delivers the rest of the previous view, then begins the new one.
    fn begin_next_view(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Flushing(flush) = core::mem::replace(&mut self.phase, Phase::NoView) else { return };
        let Flush { old_view, settled_order, new_view, joiners, .. } = flush;
        let view = new_view.view.clone();
        self.phase = Phase::InView(new_view);
        if let Some(mut view_state) = old_view {
            for id in settled_order {
                if let Some(payload) = view_state.release(id) {
                    self.report_to_client(ClientEvent::Message(id, payload), out);
                }
            }
        }
        if let GroupState::Loaded(state) = &self.group_state {
            self.archive.keep(view.epoch(), state, joiners);
        }
        self.announce_view(view, out);
    }

    /// Reports the view to the client. Asks for acknowledgements again if the member is leaving.
    fn announce_view(&mut self, view: View, out: &mut Effects<'_, Self>) {
        self.waiting_payload_len = None;
        self.report_to_client(ClientEvent::View(view), out);
        if let (Phase::InView(view_state), Leaving::Requested) = (&self.phase, self.leaving) {
            request_acks(view_state, out);
        }
    }
}

/// MC-8. The first member that holds a message sends it to the members that lack it.
fn send_missing_messages<S: State>(
    me: NodeId,
    flush: &Flush,
    report_set: &ReportSet<'_>,
    out: &mut Effects<'_, Member<S>>,
) {
    let Some(view_state) = &flush.old_view else { return };
    for id in &flush.settled_order {
        let (Some(tag), Some(payload)) = (view_state.queue.tag(*id), view_state.queue.payload(*id)) else { continue };
        let first_holder = report_set.holdings().find(|(_, holdings)| holdings.held.contains_key(id));
        if first_holder.map(|(node, _)| node) != Some(me) {
            continue;
        }
        for (node, _) in report_set.holdings().filter(|(_, holdings)| !holdings.has(*id)) {
            out.note("MC-8", format_args!("sends {id} to {node}, which lacks it"));
            out.send(node, Message::Remainder(DataMessage { id: *id, tag: tag.clone(), payload: payload.clone() }));
        }
    }
}

// No multicast event carries the end of a lease, and only `Leave` gives up the membership.
impl Leased<Command> for Event {
    fn limit_to(self, _until: Time) -> Self {
        self
    }

    fn extension_event(_until: Time) -> Option<Self> {
        None
    }

    fn is_release(command: &Command) -> bool {
        matches!(command, Command::Leave { .. })
    }
}

impl<S: State> InViews for Member<S> {
    type Report = Report;

    /// MC-7. Reports the messages held and the known positions.
    fn report(&self) -> Report {
        let wanted_state = match &self.group_state {
            GroupState::Loaded(_) => None,
            GroupState::Loading(loading) => Some(loading.boundary),
        };
        let kept_states = self.archive.boundaries();
        match &self.phase {
            Phase::NoView | Phase::Retired => {
                Report { begun_holdings: None, next_holdings: None, settled: None, wanted_state, kept_states }
            }
            Phase::InView(view_state) => Report {
                begun_holdings: Some(view_state.holdings()),
                next_holdings: None,
                settled: None,
                wanted_state,
                kept_states,
            },
            Phase::Flushing(flush) => {
                let settled = Settled { next_view: flush.new_view.view.epoch(), order: flush.settled_order.clone() };
                Report {
                    begun_holdings: flush.old_view.as_ref().map(ViewState::holdings),
                    next_holdings: Some(flush.new_view.holdings()),
                    settled: flush.old_view.is_some().then_some(settled),
                    wanted_state,
                    kept_states,
                }
            }
        }
    }

    fn resume(
        &mut self,
        _now: Time,
        _me: NodeId,
        view: &View,
        reports: &BTreeMap<NodeId, Report>,
        out: &mut Effects<'_, Self>,
    ) {
        let waiting_before = self.waiting_count();
        self.settle(view, reports, out);
        self.progress(out);
        self.note_hold_back_changes(waiting_before, None, out);
    }

    /// A member counts as a holder as long as it delivers messages to its client.
    fn is_holder(&self) -> bool {
        self.leaving != Leaving::Left && !matches!(self.phase, Phase::NoView | Phase::Retired)
    }

    fn forget(&mut self, _me: NodeId, is_released: bool) {
        self.phase = Phase::NoView;
        self.group_state = GroupState::Loaded(S::initial(&self.config.plan));
        self.archive = Archive::default();
        if is_released || self.leaving == Leaving::Requested {
            self.leaving = Leaving::Left;
        }
    }

    fn lost_event(&self) -> Event {
        Event::Excluded { group: self.config.plan.id }
    }

    fn wants_to_leave(&self) -> bool {
        self.leaving == Leaving::Left
    }

    /// The client may have been asked to wait while the lease had expired.
    fn handle_renewal(&mut self, _now: Time, out: &mut Effects<'_, Self>) {
        self.progress(out);
    }

    /// The member queues no commands: the client keeps its messages, and tries again when the view
    /// begins.
    fn max_queued_commands(&self) -> usize {
        0
    }

    fn refusal_event(&mut self, command: &Command) -> Option<Event> {
        match command {
            Command::Send { group, payload } => Some(match self.find_permanent_refusal(payload) {
                Some(refusal) => Event::Refused(refusal),
                None => {
                    self.waiting_payload_len = Some(payload.len());
                    Event::Wait { group: *group, slow: Group::empty() }
                }
            }),
            Command::Leave { .. } => {
                (self.leaving != Leaving::NotRequested).then_some(Event::Refused(Refusal::Leaving))
            }
        }
    }
}
