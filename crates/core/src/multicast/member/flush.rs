//! The transition from one view to the next: survivors settle the messages that crashed members
//! left behind.

use super::super::{DataMessage, Event, Message, MessageId, Ordering, Refusal, State, Survey};
use super::joiner::{Archive, GroupState, Item, Loading, send_to_others};
use super::view_state::{Holdings, ViewState};
use super::{Leaving, Member, Stage, request_acks};
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
    /// Holdings in the last view that has begun for the member, if any.
    #[cfg_attr(feature = "serde", serde(with = "super::super::wire"))]
    pub begun: Option<Holdings>,
    /// Holdings in the view that was to begin next.
    #[cfg_attr(feature = "serde", serde(with = "super::super::wire"))]
    pub next: Option<Holdings>,
    /// The settled end of the current view, as far as the member knows it.
    pub settled: Option<Settled>,
    /// The view at whose beginning the member needs the state, if it does not have it.
    pub wants: Option<Epoch>,
    /// The views at whose beginnings the member keeps the state for joiners.
    pub keeps: Vec<Epoch>,
}

/// The order in which the rest of a view was to be delivered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Settled {
    /// The view before which these messages were to be delivered.
    pub before: Epoch,
    pub order: Vec<MessageId>,
}

/// The state of a member between two views.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flush {
    /// The last view that has begun for this member; `None` for a joiner.
    pub(super) begun: Option<ViewState>,
    /// The settled order of the messages of that view.
    order: Vec<MessageId>,
    /// Members that have not yet reported that they hold all of these messages.
    incomplete: BTreeSet<NodeId>,
    pub(super) next: ViewState,
    /// Members that need the state at the beginning of the next view.
    joiners: BTreeSet<NodeId>,
}

impl Flush {
    /// Records that a joiner has loaded the state at the beginning of a view from another member.
    pub(super) fn record_loaded(&mut self, joiner: NodeId, boundary: Epoch) {
        if self.next.view.epoch() == boundary {
            self.joiners.remove(&joiner);
        }
    }

    fn holds_all(&self) -> bool {
        self.begun.as_ref().is_none_or(|view_state| self.order.iter().all(|id| view_state.queue.has(*id)))
    }
}

/// The reports of all survivors. The latest view that has begun for any of them is settled.
struct ReportSet<'a> {
    reports: &'a BTreeMap<NodeId, Report>,
    settled_view: Epoch,
}

impl<'a> ReportSet<'a> {
    /// Returns `None` if no survivor has a state.
    fn new(reports: &'a BTreeMap<NodeId, Report>) -> Option<Self> {
        let loaded = reports.values().filter(|report| report.wants.is_none());
        loaded.filter_map(|report| report.begun.as_ref()).next()?;
        let begun_views = reports.values().filter_map(|report| report.begun.as_ref()).map(|begun| begun.view);
        Some(Self { reports, settled_view: begun_views.max()? })
    }

    /// Returns each member's holdings in the view that is settled. A member that has not begun this
    /// view begins it first.
    fn holdings(&self) -> impl Iterator<Item = (NodeId, &'a Holdings)> + '_ {
        self.reports.iter().filter_map(|(node, report)| {
            let both = [report.begun.as_ref(), report.next.as_ref()];
            let in_settled_view = both.into_iter().flatten().find(|holdings| holdings.view == self.settled_view);
            in_settled_view.map(|holdings| (*node, holdings))
        })
    }

    fn survey(&self) -> Survey {
        let mut survey = Survey::default();
        for (node, holdings) in self.holdings() {
            survey.held.extend(holdings.held.iter().map(|(id, tag)| (*id, tag.clone())));
            for (sender, floor) in &holdings.floor {
                let known = survey.floor.entry(*sender).or_insert(0);
                *known = (*known).max(*floor);
            }
            survey.order_reports.insert(node, holdings.order_report.clone());
        }
        survey
    }

    /// MC-8, MC-10. An order that was settled earlier for this view takes precedence: a member may
    /// have delivered it and crashed.
    fn settled_order(&self, ordering: &dyn Ordering) -> Vec<MessageId> {
        let survey = self.survey();
        let has_begun = |report: &&Report| report.begun.as_ref().is_some_and(|begun| begun.view == self.settled_view);
        let settled = self.reports.values().filter(has_begun).filter_map(|report| report.settled.as_ref());
        match settled.max_by_key(|settled| settled.before) {
            Some(settled) => ordering.prune(settled.order.clone(), &survey),
            None => ordering.settle(&survey),
        }
    }

    /// Returns the members that need a state when `view` begins, each with the view at whose
    /// beginning it needs the state: joiners, and members that are still loading one.
    fn state_requests(&self, view: &View) -> BTreeMap<NodeId, Epoch> {
        let mut state_requests = BTreeMap::new();
        for node in view.members().iter() {
            let Some(report) = self.reports.get(&node).filter(|_| self.survives(node)) else {
                state_requests.insert(node, view.epoch());
                continue;
            };
            if let Some(wanted) = report.wants {
                let is_kept = self.donors(wanted, view.epoch()).next().is_some();
                state_requests.insert(node, if is_kept { wanted } else { view.epoch() });
            }
        }
        state_requests
    }

    /// Returns whether a member takes part in the flush.
    fn survives(&self, node: NodeId) -> bool {
        self.holdings().any(|(holder, _)| holder == node)
    }

    /// Returns the members that can send the state at the beginning of view `boundary`, when view
    /// `next` is about to begin.
    fn donors(&self, boundary: Epoch, next: Epoch) -> impl Iterator<Item = NodeId> + '_ {
        self.reports.iter().filter_map(move |(node, report)| {
            let will_begin = report.next.as_ref().is_some_and(|next| next.view == self.settled_view);
            let keeps =
                report.keeps.contains(&boundary) || boundary == next || (will_begin && boundary == self.settled_view);
            (report.wants.is_none() && report.begun.is_some() && keeps).then_some(*node)
        })
    }
}

impl<S: State> Member<S> {
    /// MC-8. Begins to settle the messages of the previous view.
    fn settle(&mut self, view: &View, reports: &BTreeMap<NodeId, Report>, out: &mut Effects<'_, Self>) {
        let me = self.me();
        let Some(collected) = ReportSet::new(reports) else { return self.begin_empty(view, out) };
        self.catch_up(collected.settled_view, out);
        let state_requests = collected.state_requests(view);
        let joiners = state_requests.iter().filter(|(_, boundary)| **boundary == view.epoch()).map(|(node, _)| *node);
        let begun = match core::mem::replace(&mut self.stage, Stage::NoView) {
            Stage::InView(view_state) => Some(view_state),
            Stage::Flushing(flush) => flush.begun,
            Stage::NoView | Stage::Retired => None,
        };
        // A view that began for others while this member was still a joiner never began for this
        // member.
        let begun = begun.filter(|view_state| view_state.view.epoch() == collected.settled_view);
        let flush = Flush {
            order: begun.as_ref().map(|view_state| collected.settled_order(&*view_state.order)).unwrap_or_default(),
            begun,
            incomplete: collected.holdings().map(|(node, _)| node).collect(),
            next: self.config.view_state(view.clone()),
            joiners: joiners.collect(),
        };
        out.note("MC-8", format_args!("settles {} messages before {view}", flush.order.len()));
        send_to_members_that_lack(me, &flush, &collected, out);
        self.stage = Stage::Flushing(flush);
        self.archive.retain(&state_requests);
        if let Some(boundary) = state_requests.get(&me) {
            self.start_loading(*boundary, &collected, view, out);
        }
        self.check_complete(out);
    }

    /// Begins a view with an empty state, because the group is new or no survivor has a state.
    fn begin_empty(&mut self, view: &View, out: &mut Effects<'_, Self>) {
        self.archive = Archive::default();
        self.group_state = GroupState::Loaded(S::begin(&self.config.plan));
        self.stage = Stage::InView(self.config.view_state(view.clone()));
        self.open_view(view.clone(), out);
    }

    /// MC-10. If the view that this member was about to begin has begun at another member, all
    /// members held all messages of the one before.
    fn catch_up(&mut self, begun: Epoch, out: &mut Effects<'_, Self>) {
        if matches!(&self.stage, Stage::Flushing(flush) if flush.next.view.epoch() == begun) {
            out.note("MC-10", format_args!("begins view {begun} after others did"));
            self.begin(out);
        }
    }

    /// MC-11. Continues an earlier load if its state is still available.
    fn start_loading(&mut self, boundary: Epoch, collected: &ReportSet<'_>, view: &View, out: &mut Effects<'_, Self>) {
        if !matches!(&self.group_state, GroupState::Loading(loading) if loading.boundary == boundary) {
            self.group_state = GroupState::Loading(Loading::new(boundary));
        }
        if let GroupState::Loading(loading) = &mut self.group_state {
            loading.load_from(collected.donors(boundary, view.epoch()).collect(), out);
        }
    }

    /// MC-8. Handles a message that this member lacked.
    pub(super) fn receive_remainder(&mut self, data: DataMessage, out: &mut Effects<'_, Self>) {
        let Stage::Flushing(flush) = &mut self.stage else { return };
        let DataMessage { id, tag, payload } = data;
        if let Some(view_state) = flush.begun.as_mut().filter(|_| flush.order.contains(&id)) {
            view_state.queue.receive(id, tag, payload);
        }
        self.check_complete(out);
    }

    /// MC-9. A member that reported completion holds all messages until the new view begins.
    fn check_complete(&mut self, out: &mut Effects<'_, Self>) {
        let me = self.me();
        let Stage::Flushing(flush) = &mut self.stage else { return };
        if flush.incomplete.contains(&me) && flush.begun.is_some() && flush.holds_all() {
            out.note("MC-9", format_args!("holds all messages of the previous view"));
            send_to_others(flush.next.view.members(), Message::Complete, out);
            flush.incomplete.remove(&me);
        }
        self.check_begin(out);
    }

    pub(super) fn receive_complete(&mut self, from: NodeId, out: &mut Effects<'_, Self>) {
        if let Stage::Flushing(flush) = &mut self.stage {
            flush.incomplete.remove(&from);
        }
        self.check_begin(out);
    }

    fn check_begin(&mut self, out: &mut Effects<'_, Self>) {
        if matches!(&self.stage, Stage::Flushing(flush) if flush.incomplete.is_empty()) {
            self.begin(out);
        }
    }

    /// MC-9. Delivers the rest of the previous view, then begins the new one.
    fn begin(&mut self, out: &mut Effects<'_, Self>) {
        let Stage::Flushing(flush) = core::mem::replace(&mut self.stage, Stage::NoView) else { return };
        let Flush { begun, order, next, joiners, .. } = flush;
        let view = next.view.clone();
        self.stage = Stage::InView(next);
        if let Some(mut view_state) = begun {
            for id in order {
                if let Some(payload) = view_state.release(id) {
                    self.report_item(Item::Message(id, payload), out);
                }
            }
        }
        if let GroupState::Loaded(state) = &self.group_state {
            self.archive.keep(view.epoch(), state, joiners);
        }
        self.open_view(view, out);
    }

    /// Reports the view to the client.
    fn open_view(&mut self, view: View, out: &mut Effects<'_, Self>) {
        self.refused_length = None;
        self.report_item(Item::View(view), out);
        if let (Stage::InView(view_state), Leaving::Requested) = (&self.stage, self.leaving) {
            request_acks(view_state, out);
        }
    }
}

/// MC-8. The first member that holds a message sends it to the members that lack it.
fn send_to_members_that_lack<S: State>(
    me: NodeId,
    flush: &Flush,
    collected: &ReportSet<'_>,
    out: &mut Effects<'_, Member<S>>,
) {
    let Some(view_state) = &flush.begun else { return };
    for id in &flush.order {
        let (Some(tag), Some(payload)) = (view_state.queue.tag(*id), view_state.queue.payload(*id)) else { continue };
        let first_holder = collected.holdings().find(|(_, holdings)| holdings.held.contains_key(id));
        if first_holder.map(|(node, _)| node) != Some(me) {
            continue;
        }
        for (node, _) in collected.holdings().filter(|(_, holdings)| !holdings.has(*id)) {
            out.note("MC-8", format_args!("sends {id} to {node}, which lacks it"));
            out.send(node, Message::Remainder(DataMessage { id: *id, tag: tag.clone(), payload: payload.clone() }));
        }
    }
}

impl Leased<Command> for Event {
    fn within(self, _until: Time) -> Self {
        self
    }

    fn extended(_until: Time) -> Option<Self> {
        None
    }

    fn is_release(command: &Command) -> bool {
        matches!(command, Command::Leave { .. })
    }
}

impl<S: State> InViews for Member<S> {
    type Report = Report;

    /// MC-7.
    fn report(&self) -> Report {
        let wants = match &self.group_state {
            GroupState::Loaded(_) => None,
            GroupState::Loading(loading) => Some(loading.boundary),
        };
        let keeps = self.archive.boundaries();
        match &self.stage {
            Stage::NoView | Stage::Retired => Report { begun: None, next: None, settled: None, wants, keeps },
            Stage::InView(view_state) => {
                Report { begun: Some(view_state.holdings()), next: None, settled: None, wants, keeps }
            }
            Stage::Flushing(flush) => {
                let settled = Settled { before: flush.next.view.epoch(), order: flush.order.clone() };
                Report {
                    begun: flush.begun.as_ref().map(ViewState::holdings),
                    next: Some(flush.next.holdings()),
                    settled: flush.begun.is_some().then_some(settled),
                    wants,
                    keeps,
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
        let waiting_before = self.waiting();
        self.settle(view, reports, out);
        self.progress(out);
        self.show_queue(waiting_before, None, out);
    }

    /// A member delivers messages to its client until it has left or is out.
    fn is_holder(&self) -> bool {
        self.leaving != Leaving::Left && !matches!(self.stage, Stage::NoView | Stage::Retired)
    }

    fn forget(&mut self, _me: NodeId, ends: bool) {
        self.stage = Stage::NoView;
        self.group_state = GroupState::Loaded(S::begin(&self.config.plan));
        self.archive = Archive::default();
        if ends || self.leaving == Leaving::Requested {
            self.leaving = Leaving::Left;
        }
    }

    fn lost(&self) -> Event {
        Event::Out { group: self.config.plan.id }
    }

    fn wants_to_leave(&self) -> bool {
        self.leaving == Leaving::Left
    }

    /// The client may have been asked to wait meanwhile.
    fn lease_renewed(&mut self, _now: Time, out: &mut Effects<'_, Self>) {
        self.progress(out);
    }

    /// No commands are kept: the client keeps its messages, and tries again when the view begins.
    fn max_queued_commands(&self) -> usize {
        0
    }

    fn refused(&mut self, command: &Command) -> Option<Event> {
        match command {
            Command::Send { group, payload } => Some(match self.refusal(payload) {
                Some(refusal) => Event::Refused(refusal),
                None => {
                    self.refused_length = Some(payload.len());
                    Event::Wait { group: *group, slow: Group::empty() }
                }
            }),
            Command::Leave { .. } => (self.leaving != Leaving::No).then_some(Event::Refused(Refusal::Leaving)),
        }
    }
}
