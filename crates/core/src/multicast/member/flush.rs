//! From one view to the next: what the dead left behind is settled among those who go on.

use super::super::{Event, Letter, Message, MessageId, Ordering, Refusal, State, Survey};
use super::chapter::{Chapter, Holdings};
use super::newcomer::{Archive, Footing, Item, Loading, tell_all};
use super::{Leaving, Member, Stage, drain};
use crate::effects::Effects;
use crate::group::{Epoch, Group};
use crate::multicast::Command;
use crate::node::NodeId;
use crate::time::Time;
use crate::view::View;
use crate::wrap::{InViews, Leased};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// What a member tells the others when a view ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Report {
    /// What it holds of the last view that has begun for it, if one has.
    #[cfg_attr(feature = "serde", serde(with = "super::super::wire"))]
    pub begun: Option<Holdings>,
    /// What it holds of the view that was to begin next.
    #[cfg_attr(feature = "serde", serde(with = "super::super::wire"))]
    pub next: Option<Holdings>,
    /// What it knows of the end of the view that has begun.
    pub settled: Option<Settled>,
    /// The view at whose beginning it wants to know the state, if it does not know it.
    pub wants: Option<Epoch>,
    pub keeps: Vec<Epoch>,
}

/// How the rest of a view was to be delivered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Settled {
    pub before: Epoch,
    pub order: Vec<MessageId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flush {
    /// The last view that has begun for us; a newcomer has none.
    pub(super) begun: Option<Chapter>,
    order: Vec<MessageId>,
    missing: BTreeSet<NodeId>,
    pub(super) next: Chapter,
    newcomers: BTreeSet<NodeId>,
}

impl Flush {
    /// A newcomer has the state at the beginning of a view, from another member.
    pub(super) fn has_state(&mut self, newcomer: NodeId, boundary: Epoch) {
        if self.next.view.epoch() == boundary {
            self.newcomers.remove(&newcomer);
        }
    }

    fn holds_all(&self) -> bool {
        self.begun.as_ref().is_none_or(|chapter| self.order.iter().all(|id| chapter.queue.has(*id)))
    }
}

struct Tally<'a> {
    reports: &'a BTreeMap<NodeId, Report>,
    /// The latest view that has begun for anybody.
    begun: Epoch,
}

impl<'a> Tally<'a> {
    /// Nothing if no state is left: nobody who has one is among those who go on.
    fn of(reports: &'a BTreeMap<NodeId, Report>) -> Option<Self> {
        let firm = reports.values().filter(|report| report.wants.is_none());
        firm.filter_map(|report| report.begun.as_ref()).next()?;
        let begun = reports.values().filter_map(|report| report.begun.as_ref()).map(|begun| begun.view).max()?;
        Some(Self { reports, begun })
    }

    /// What each one holds of the view that is settled. Who has not begun it will before anything else.
    fn holdings(&self) -> impl Iterator<Item = (NodeId, &'a Holdings)> + '_ {
        self.reports.iter().filter_map(|(node, report)| {
            let both = [report.begun.as_ref(), report.next.as_ref()];
            let of_it = both.into_iter().flatten().find(|holdings| holdings.view == self.begun);
            of_it.map(|holdings| (*node, holdings))
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
            survey.notes.insert(node, holdings.notes.clone());
        }
        survey
    }

    /// MC-8, MC-10. What somebody settled for this view before comes first: others may have delivered it and died.
    fn order(&self, order: &dyn Ordering) -> Vec<MessageId> {
        let survey = self.survey();
        let of_it = |report: &&Report| report.begun.as_ref().is_some_and(|begun| begun.view == self.begun);
        let settled = self.reports.values().filter(of_it).filter_map(|report| report.settled.as_ref());
        match settled.max_by_key(|settled| settled.before) {
            Some(settled) => order.prune(settled.order.clone(), &survey),
            None => order.settle(&survey),
        }
    }

    /// Who wants which state when this view begins: those who are new, and those whose state nobody has any more.
    fn wanting(&self, view: &View) -> BTreeMap<NodeId, Epoch> {
        let mut wanting = BTreeMap::new();
        for node in view.members().iter() {
            let Some(report) = self.reports.get(&node).filter(|_| self.goes_on(node)) else {
                wanting.insert(node, view.epoch());
                continue;
            };
            if let Some(wanted) = report.wants {
                let is_kept = self.donors(wanted, view.epoch()).next().is_some();
                wanting.insert(node, if is_kept { wanted } else { view.epoch() });
            }
        }
        wanting
    }

    /// Whether a member takes part in what is settled.
    fn goes_on(&self, node: NodeId) -> bool {
        self.holdings().any(|(holder, _)| holder == node)
    }

    /// Who can send the state at the beginning of this view, given that the next one is about to begin.
    fn donors(&self, boundary: Epoch, next: Epoch) -> impl Iterator<Item = NodeId> + '_ {
        self.reports.iter().filter_map(move |(node, report)| {
            let will_begin = report.next.as_ref().is_some_and(|next| next.view == self.begun);
            let keeps = report.keeps.contains(&boundary) || boundary == next || (will_begin && boundary == self.begun);
            (report.wants.is_none() && report.begun.is_some() && keeps).then_some(*node)
        })
    }
}

impl<S: State> Member<S> {
    /// MC-8. Begins to settle what is left of the view before.
    fn settle(&mut self, view: &View, reports: &BTreeMap<NodeId, Report>, out: &mut Effects<'_, Self>) {
        let me = self.me();
        let Some(tally) = Tally::of(reports) else { return self.found(view, out) };
        self.catch_up(tally.begun, out);
        let wanting = tally.wanting(view);
        let newcomers = wanting.iter().filter(|(_, boundary)| **boundary == view.epoch()).map(|(node, _)| *node);
        let begun = match core::mem::replace(&mut self.stage, Stage::Outside) {
            Stage::Inside(chapter) => Some(chapter),
            Stage::Flushing(flush) => flush.begun,
            Stage::Outside | Stage::Retired => None,
        };
        // A view that began for others, while we were still new and it had not for us, is no view of ours.
        let begun = begun.filter(|chapter| chapter.view.epoch() == tally.begun);
        let flush = Flush {
            order: begun.as_ref().map(|chapter| tally.order(&*chapter.order)).unwrap_or_default(),
            begun,
            missing: tally.holdings().map(|(node, _)| node).collect(),
            next: self.seat.chapter(view.clone()),
            newcomers: newcomers.collect(),
        };
        out.note("MC-8", format_args!("settles {} messages before {view}", flush.order.len()));
        forward(me, &flush, &tally, out);
        self.stage = Stage::Flushing(flush);
        self.archive.retain(&wanting);
        if let Some(boundary) = wanting.get(&me) {
            self.load(*boundary, &tally, view, out);
        }
        self.check_complete(out);
    }

    /// A group that has no state, because it begins or because nobody who had one is left, begins with none.
    fn found(&mut self, view: &View, out: &mut Effects<'_, Self>) {
        self.archive = Archive::default();
        self.footing = Footing::Firm(S::begin(&self.seat.plan));
        self.stage = Stage::Inside(self.seat.chapter(view.clone()));
        self.open(view.clone(), out);
    }

    /// MC-10. If the view that we were about to begin has begun for somebody, all held all that was left of the one before, we too.
    fn catch_up(&mut self, begun: Epoch, out: &mut Effects<'_, Self>) {
        if matches!(&self.stage, Stage::Flushing(flush) if flush.next.view.epoch() == begun) {
            out.note("MC-10", format_args!("begins view {begun} after others did"));
            self.begin(out);
        }
    }

    /// MC-11. Goes on with what it has, if that is still to be had.
    fn load(&mut self, boundary: Epoch, tally: &Tally<'_>, view: &View, out: &mut Effects<'_, Self>) {
        if !matches!(&self.footing, Footing::Loading(loading) if loading.boundary == boundary) {
            self.footing = Footing::Loading(Loading::new(boundary));
        }
        if let Footing::Loading(loading) = &mut self.footing {
            loading.ask(tally.donors(boundary, view.epoch()).collect(), out);
        }
    }

    /// MC-8. A message that we lacked.
    pub(super) fn complete_with(&mut self, letter: Letter, out: &mut Effects<'_, Self>) {
        let Stage::Flushing(flush) = &mut self.stage else { return };
        let Letter { id, tag, payload } = letter;
        if let Some(chapter) = flush.begun.as_mut().filter(|_| flush.order.contains(&id)) {
            chapter.queue.receive(id, tag, payload);
        }
        self.check_complete(out);
    }

    /// MC-9. Who has told so holds all until the new view begins.
    fn check_complete(&mut self, out: &mut Effects<'_, Self>) {
        let me = self.me();
        let Stage::Flushing(flush) = &mut self.stage else { return };
        if flush.missing.contains(&me) && flush.begun.is_some() && flush.holds_all() {
            out.note("MC-9", format_args!("holds all that is left of the view before"));
            tell_all(flush.next.view.members(), Message::Complete, out);
            flush.missing.remove(&me);
        }
        self.check_begin(out);
    }

    pub(super) fn count_complete(&mut self, from: NodeId, out: &mut Effects<'_, Self>) {
        if let Stage::Flushing(flush) = &mut self.stage {
            flush.missing.remove(&from);
        }
        self.check_begin(out);
    }

    fn check_begin(&mut self, out: &mut Effects<'_, Self>) {
        if matches!(&self.stage, Stage::Flushing(flush) if flush.missing.is_empty()) {
            self.begin(out);
        }
    }

    /// MC-9. The rest of the view before, then the view itself.
    fn begin(&mut self, out: &mut Effects<'_, Self>) {
        let Stage::Flushing(flush) = core::mem::replace(&mut self.stage, Stage::Outside) else { return };
        let Flush { begun, order, next, newcomers, .. } = flush;
        let view = next.view.clone();
        self.stage = Stage::Inside(next);
        if let Some(mut chapter) = begun {
            for id in order {
                if let Some(payload) = chapter.release(id) {
                    self.announce(Item::Letter(id, payload), out);
                }
            }
        }
        if let Footing::Firm(state) = &self.footing {
            self.archive.keep(view.epoch(), state, newcomers);
        }
        self.open(view, out);
    }

    fn open(&mut self, view: View, out: &mut Effects<'_, Self>) {
        self.refused = None;
        self.announce(Item::View(view), out);
        if let (Stage::Inside(chapter), Leaving::Asked) = (&self.stage, self.leaving) {
            drain(chapter, out);
        }
    }
}

/// MC-8. Of those who hold a message, the first sends it to those who lack it.
fn forward<S: State>(me: NodeId, flush: &Flush, tally: &Tally<'_>, out: &mut Effects<'_, Member<S>>) {
    let Some(chapter) = &flush.begun else { return };
    for id in &flush.order {
        let (Some(tag), Some(payload)) = (chapter.queue.tag(*id), chapter.queue.payload(*id)) else { continue };
        if tally.holdings().find(|(_, holdings)| holdings.held.contains_key(id)).map(|(node, _)| node) != Some(me) {
            continue;
        }
        for (node, _) in tally.holdings().filter(|(_, holdings)| !holdings.has(*id)) {
            out.note("MC-8", format_args!("sends {id} to {node}, which lacks it"));
            out.send(node, Message::Remainder(Letter { id: *id, tag: tag.clone(), payload: payload.clone() }));
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

    fn ends(command: &Command) -> bool {
        matches!(command, Command::Leave { .. })
    }
}

impl<S: State> InViews for Member<S> {
    type Report = Report;

    /// MC-7.
    fn report(&self) -> Report {
        let wants = match &self.footing {
            Footing::Firm(_) => None,
            Footing::Loading(loading) => Some(loading.boundary),
        };
        let keeps = self.archive.boundaries();
        match &self.stage {
            Stage::Outside | Stage::Retired => Report { begun: None, next: None, settled: None, wants, keeps },
            Stage::Inside(chapter) => Report { begun: Some(chapter.report()), next: None, settled: None, wants, keeps },
            Stage::Flushing(flush) => {
                let settled = Settled { before: flush.next.view.epoch(), order: flush.order.clone() };
                Report {
                    begun: flush.begun.as_ref().map(Chapter::report),
                    next: Some(flush.next.report()),
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
        let before = self.waiting();
        self.settle(view, reports, out);
        self.progress(out);
        self.show_queue(before, None, out);
    }

    /// Its user hears what is said, until it has left or is out.
    fn holds(&self) -> bool {
        self.leaving != Leaving::Left && !matches!(self.stage, Stage::Outside | Stage::Retired)
    }

    fn forget(&mut self, _me: NodeId, ends: bool) {
        self.stage = Stage::Outside;
        self.footing = Footing::Firm(S::begin(&self.seat.plan));
        self.archive = Archive::default();
        if ends || self.leaving == Leaving::Asked {
            self.leaving = Leaving::Left;
        }
    }

    fn lost(&self) -> Event {
        Event::Out { group: self.seat.plan.id }
    }

    fn departs(&self) -> bool {
        self.leaving == Leaving::Left
    }

    /// Its user may have been told to wait meanwhile.
    fn thaw(&mut self, _now: Time, out: &mut Effects<'_, Self>) {
        self.progress(out);
    }

    /// Nothing: its user keeps what it was told to wait with, and asks again when the view begins.
    fn keeps(&self) -> usize {
        0
    }

    fn refused(&mut self, command: &Command) -> Option<Event> {
        match command {
            Command::Send { group, payload } => Some(match self.refusal(payload) {
                Some(refusal) => Event::Refused(refusal),
                None => {
                    self.refused = Some(payload.len());
                    Event::Wait { group: *group, slow: Group::nobody() }
                }
            }),
            Command::Leave { .. } => (self.leaving != Leaving::No).then_some(Event::Refused(Refusal::Leaving)),
        }
    }
}
