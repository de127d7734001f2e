//! The views of one group, one after another, and who is in which.

use super::breaches::{Breaches, Moment};
use super::chapter::{Chapter, Standing};
use super::message::Key;
use super::numbers::Numbers;
use super::promises::{Promises, Property};
use quorate_core::multicast::{GroupId, MessageId, Payload};
use quorate_core::{Duration, Epoch, Group, Incarnation, NodeId, Time, View};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) is_up: bool,
    pub(super) has_booted: bool,
    pub(super) has_died: bool,
    pub(super) life: Incarnation,
}

impl Default for Node {
    /// A record may begin in the middle of a run, so that nobody is seen to boot.
    fn default() -> Self {
        Self { is_up: true, has_booted: false, has_died: false, life: Incarnation::FIRST }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Room {
    group: GroupId,
    watched: Promises,
    has_views: bool,
    /// The views that somebody may still deliver something in.
    chapters: BTreeMap<Epoch, (Chapter, Option<Begun>)>,
    places: Vec<Place>,
    latest: Option<View>,
    since: Time,
    over: Numbers,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    view: Option<Epoch>,
    /// The latest view that it was ever in, in whichever life.
    latest: Option<Epoch>,
}

#[derive(Clone, Debug)]
struct Begun {
    by: NodeId,
    members: Group,
    state: u64,
}

impl Room {
    /// A group that nothing is known of, but who is in, if that is not everyone.
    pub(super) fn new(group: GroupId, watched: Promises, nodes: &[Node], members: Option<&Group>) -> Self {
        let places = vec![Place::default(); nodes.len()];
        let has_views = watched.views;
        let mut room = Self {
            group,
            watched,
            has_views,
            chapters: BTreeMap::new(),
            places,
            latest: None,
            since: Time::ZERO,
            over: Numbers::default(),
        };
        if !has_views {
            let is_in = |(index, node): (usize, &Node)| {
                !node.has_died && members.is_none_or(|members| members.contains(NodeId::from_index(index)))
            };
            let is_in: Vec<_> = nodes.iter().enumerate().map(is_in).collect();
            for (place, is_in) in room.places.iter_mut().zip(&is_in) {
                place.view = is_in.then_some(View::FIRST);
            }
            let standings = is_in.iter().map(|is_in| if *is_in { Standing::In } else { Standing::Gone }).collect();
            room.chapters.insert(View::FIRST, (Chapter::new(group, View::FIRST, watched, standings), None));
        }
        room
    }

    pub(super) fn held(&self) -> usize {
        self.chapters.values().map(|(chapter, _)| chapter.held()).sum()
    }

    pub(super) fn causes(&self) -> usize {
        self.chapters.values().map(|(chapter, _)| chapter.causes()).sum()
    }

    /// Whether two senders' messages were under way at once in a view that is not over.
    pub(super) fn is_contended(&self) -> bool {
        self.chapters.values().any(|(chapter, _)| chapter.contended)
    }

    pub(super) fn view_of(&self, node: NodeId) -> Option<Epoch> {
        self.places.get(node.index())?.view
    }

    /// Whether a node is in a view that the group has not left without it.
    pub(super) fn is_inside(&self, node: NodeId) -> bool {
        self.view_of(node).is_some_and(|view| self.still_has(node, view))
    }

    fn still_has(&self, node: NodeId, view: Epoch) -> bool {
        let Some(latest) = self.latest.as_ref().filter(|latest| latest.epoch() > view) else { return true };
        latest.stay(node).is_some_and(|stay| stay.since <= view)
    }

    pub(super) fn was_sent(&self, id: MessageId) -> bool {
        self.chapters.get(&id.view).is_some_and(|(chapter, _)| chapter.was_sent(Key::of(id)))
    }

    pub(super) fn payload(&self, id: MessageId) -> Option<&Payload> {
        self.chapters.get(&id.view)?.0.payload(Key::of(id))
    }

    /// A node sends. Else tells what is wrong with the name.
    pub(super) fn sends(
        &mut self,
        now: Moment,
        node: NodeId,
        id: MessageId,
        payload: Option<Payload>,
    ) -> Result<(), &'static str> {
        if id.sender != node {
            return Err("as if another had sent it");
        }
        if id.number == 0 {
            return Err("and numbers begin with 1");
        }
        if self.view_of(node) != Some(id.view) {
            return Err("and is not in that view");
        }
        let chapter = self.chapters.get_mut(&id.view).ok_or("and is not in that view")?;
        if chapter.0.sends(now, Key::of(id), payload) { Ok(()) } else { Err("and that name is taken") }
    }

    pub(super) fn delivers(
        &mut self,
        now: Moment,
        node: NodeId,
        (key, view): (Key, Epoch),
        payload: &Payload,
        breaches: &mut Breaches,
    ) {
        let id = key.named(self.group, view);
        let mine = self.view_of(node);
        if self.has_views && mine != Some(view) {
            breaches.note(Property::ViewSynchrony, now, now.time, || match mine {
                Some(mine) => format!("node {node} delivers {id} in view {mine}, and it was sent in view {view}"),
                None => format!("node {node} delivers {id}, and is in no view"),
            });
            return;
        }
        match self.chapters.get_mut(&view) {
            Some((chapter, _)) if chapter.was_sent(key) => chapter.delivers(now, node, key, payload, breaches),
            Some(_) | None => {
                let text = || format!("node {node} delivers {id}, which node {} has not sent", key.sender);
                breaches.note(Property::Integrity, now, now.time, text);
            }
        }
    }

    /// A node begins a view, with this state. Tells whether a view is over now in which two senders' messages met.
    pub(super) fn begins(
        &mut self,
        now: Moment,
        node: NodeId,
        (view, state): (&View, u64),
        nodes: &[Node],
        breaches: &mut Breaches,
    ) -> bool {
        let (epoch, stay) = (view.epoch(), view.stay(node));
        if !self.has_views && !self.turns_out_to_have_views() {
            return false;
        }
        let mut wrong = |text: String| breaches.note(Property::ViewSynchrony, now, now.time, || text);
        if stay.is_none() {
            wrong(format!("node {node} begins view {epoch}, and is not in it"));
        }
        if let Some(latest) = self.places.get(node.index()).and_then(|place| place.latest)
            && latest >= epoch
        {
            wrong(format!("node {node} begins view {epoch}, and was in view {latest} before"));
            return false;
        }
        if self.over.contains(epoch.0) {
            wrong(format!("node {node} begins view {epoch} when it is over for everyone in it"));
            return false;
        }
        for (earlier, (chapter, _)) in self.chapters.range_mut(..epoch) {
            match chapter.standing(node) {
                Standing::In if stay.is_some_and(|stay| stay.since <= *earlier) => {
                    chapter.turns(node, Standing::WentOn(epoch));
                    chapter.goes_on(now, node, epoch, breaches);
                }
                Standing::In | Standing::Awaited => chapter.turns(node, Standing::Gone),
                Standing::Gone | Standing::WentOn(_) | Standing::Left | Standing::Ended => {}
            }
        }
        self.opens(now, node, (view, state), nodes, breaches);
        if let Some(place) = self.places.get_mut(node.index()) {
            *place = Place { view: Some(epoch), latest: Some(epoch) };
        }
        if self.latest.as_ref().is_none_or(|latest| latest.epoch() < epoch) {
            self.latest = Some(view.clone());
            self.since = now.time;
        }
        self.closes(now, breaches)
    }

    /// A view is the first thing that happens in a group that has any.
    fn turns_out_to_have_views(&mut self) -> bool {
        self.has_views = self.chapters.values().all(|(chapter, _)| chapter.is_blank());
        if self.has_views {
            self.chapters.clear();
            self.places.fill(Place::default());
        }
        self.has_views
    }

    fn opens(
        &mut self,
        now: Moment,
        node: NodeId,
        (view, state): (&View, u64),
        nodes: &[Node],
        breaches: &mut Breaches,
    ) {
        let (epoch, members) = (view.epoch(), view.members());
        let (group, watched, places) = (self.group, self.watched, &self.places);
        let (chapter, begun) = self.chapters.entry(epoch).or_insert_with(|| {
            let standing = |(index, (state, place)): (usize, (&Node, &Place))| {
                let stay = view.stay(NodeId::from_index(index));
                let will_begin = state.is_up && place.latest < Some(epoch);
                let is_named = stay.is_some_and(|stay| stay.incarnation == state.life);
                if will_begin && is_named { Standing::Awaited } else { Standing::Gone }
            };
            let standings = nodes.iter().zip(places).enumerate().map(standing).collect();
            (Chapter::new(group, epoch, watched, standings), None)
        });
        chapter.turns(node, Standing::In);
        let Some(Begun { by, members: theirs, state: known }) = begun else {
            *begun = Some(Begun { by: node, members: members.clone(), state });
            return;
        };
        if theirs != members {
            let text = || format!("view {epoch} is of {theirs} for node {by}, and of {members} for node {node}");
            breaches.note(Property::ViewSynchrony, now, now.time, text);
        }
        if *known != state {
            let text = || format!("nodes {by} and {node} begin view {epoch} with different states");
            breaches.note(Property::ViewSynchrony, now, now.time, text);
        }
    }

    /// A stay ends. Later views may name a new stay already.
    pub(super) fn quits(&mut self, now: Moment, node: NodeId, how: Standing, breaches: &mut Breaches) -> bool {
        let Some(place) = self.places.get_mut(node.index()) else { return false };
        let Some(view) = place.view.take() else { return false };
        for (chapter, _) in self.chapters.range_mut(..=view).map(|(_, chapter)| chapter) {
            chapter.ends(node, how);
        }
        self.closes(now, breaches)
    }

    pub(super) fn ends(&mut self, now: Moment, node: NodeId, in_order: bool, breaches: &mut Breaches) -> bool {
        if let Some(place) = self.places.get_mut(node.index()) {
            place.view = None;
        }
        let how = if in_order { Standing::Ended } else { Standing::Gone };
        for (chapter, _) in self.chapters.values_mut() {
            chapter.ends(node, how);
        }
        self.closes(now, breaches)
    }

    /// Judges and forgets views that are over for everyone. Tells whether two senders' messages met in one of them.
    fn closes(&mut self, now: Moment, breaches: &mut Breaches) -> bool {
        if !self.has_views {
            return false;
        }
        let mut contended = false;
        let over = &mut self.over;
        let nobody: Group = std::iter::empty().collect();
        self.chapters.retain(|epoch, (chapter, _)| {
            if !chapter.is_open() {
                chapter.judge(now, &nobody, breaches);
                contended |= chapter.contended;
                over.insert(epoch.0);
            }
            chapter.is_open()
        });
        contended
    }

    /// Judges what is not over, as if the run ended here. Who is in the latest view has so long to begin it after the first.
    pub(super) fn judge_end(&self, now: Moment, grace: Duration, breaches: &mut Breaches) {
        for (epoch, (chapter, _)) in &self.chapters {
            let insiders: Group = chapter.insiders().filter(|node| self.still_has(*node, *epoch)).collect();
            chapter.judge(now, &insiders, breaches);
        }
        let Some(latest) = self.latest.as_ref().map(View::epoch) else { return };
        let is_due = now.time.since(self.since) >= grace;
        if let Some((chapter, _)) = self.chapters.get(&latest).filter(|_| is_due) {
            for node in chapter.awaited() {
                let text = || format!("node {node} is in view {latest}, and never begins it");
                breaches.note(Property::Delivered, now, now.time, text);
            }
        }
    }
}
