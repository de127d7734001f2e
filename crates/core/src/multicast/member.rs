//! A member of a group: what is the same whatever the order.
//!
//! A message is received once, whatever number of copies comes, and kept until everyone holds it. The order says which of those that wait
//! may be delivered. When the view of the group ends, the members that go on settle what the dead ones left behind, so that all of them have
//! delivered the same when the next view begins, and give a newcomer the state that it lacks.
//!
//! ```text
//! MC-1   asked to send           → name it, hold it and send it to all; if too much is under way, tell the user to wait
//! MC-2   a message comes         → hold the first copy of it, pass it on if that is asked for; drop the others
//! MC-3   the order lets one out  → deliver it; if delivery is uniform, once every member holds it and knows its place
//! MC-4   half a window has come  → tell all how much of whose messages we hold
//! MC-5   everyone holds it       → forget it; its sender may send another
//! MC-6   asked to leave          → send nothing more, and leave when everyone holds all of ours
//! MC-7   a view ends             → report what we hold, and what we know of places in the order
//! MC-8   the reports are in      → settle one order for all that anybody holds; the first who holds what another lacks sends it on
//! MC-9   all hold all of it      → deliver the rest in that order; then the new view begins
//! MC-10  another view meanwhile  → start over from what was settled last; if somebody has begun the view in between, begin it first
//! MC-11  we are new              → ask for the state piece by piece, and hold back what is delivered until it is there
//! MC-12  a newcomer asks         → send it a piece of the state as it was when the view began
//! ```
//!
//! Why nothing is lost: whoever goes on has reported everything it holds, so that what is settled contains all that any of them has
//! delivered; and nobody begins the next view before all who go on hold all of it. What was settled is part of the next report, so that what one
//! member delivered before it died is delivered by the others in the same order.
//!
//! Cost: beside the messages of the order, one to each member for every half window that it received. A change of the view costs n−1
//! reports from every member, n−1 words of completion from every one that is not new, and one message for each message that somebody lacked.
//!
//! Assumes: links between members that stay up lose nothing and repeat nothing, as [`Reliable`](crate::wrap::Reliable) links do.
//! A group that changes is told its views by [`Viewed`](crate::wrap::Viewed).
//!
//! When it fails: in a group without views, one dead member stops all that waits for it: credits, places, and uniform delivery. If everyone who had
//! the state dies while newcomers still ask for it, these begin again without any.

mod chapter;
mod flush;
mod newcomer;
#[cfg(test)]
mod tests;

pub use chapter::Holdings;
pub use flush::{Report, Settled};

use super::{
    Begin, Command, Delivery, Desk, Event, HoldBack, Letter, Message, MessageId, Payload, Place, Plan, Refusal, Route,
    State, Word,
};
use crate::about::About;
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::group::Group;
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Input, Never, Protocol};
use crate::time::Time;
use crate::view::View;
use alloc::sync::Arc;
use chapter::Chapter;
use core::fmt;
use flush::Flush;
use newcomer::{Archive, Footing, Item, tell_all};

/// What a member does and by which rules: the header of this file.
pub fn about() -> About {
    About::of_source(include_str!("member.rs"))
}

/// A member of a group that keeps a state of this kind. The order of its messages is a value that it begins anew with each view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member<S> {
    seat: Fixed<Seat>,
    stage: Stage,
    footing: Footing<S>,
    archive: Archive,
    refused: Option<usize>,
    leaving: Leaving,
}

#[derive(Clone, Debug)]
struct Seat {
    me: NodeId,
    plan: Arc<Plan>,
    begin: Begin,
}

impl Seat {
    fn chapter(&self, view: View) -> Chapter {
        Chapter::new(&self.plan, self.me, view, self.begin)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::large_enum_variant, reason = "there is one of it")]
enum Stage {
    /// In no view yet, or no more.
    Outside,
    /// Back from a crash, in a group that has no views and so takes nobody back.
    Retired,
    /// A view is decided, and what was left of the one before is not settled yet.
    Flushing(Flush),
    Inside(Chapter),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Leaving {
    No,
    Asked,
    Left,
}

impl<S: State> Protocol for Member<S> {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        let before = self.waiting();
        let news = self.news(&input);
        match input {
            Input::Start { durable: (), incarnation } => self.start(incarnation),
            Input::Command(Command::Send { payload, .. }) => self.send(payload, out),
            Input::Command(Command::Leave { .. }) => self.leave(out),
            Input::Message { from, message } => self.take(from, message, out),
            Input::Timer(never) => match never {},
            // Nothing is saved, nobody is suspected, and views are told by `resume`.
            Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
        self.progress(out);
        self.show_queue(before, news, out);
    }
}

impl<S: State> Member<S> {
    /// The node `me` of a group that is set up like this, and whose order begins each view like this. It begins when it is started, or
    /// with its first view.
    pub fn new(me: NodeId, plan: Arc<Plan>, begin: Begin) -> Self {
        Self {
            footing: Footing::Firm(S::begin(&plan)),
            seat: Fixed::new(Seat { me, plan, begin }),
            stage: Stage::Outside,
            archive: Archive::default(),
            refused: None,
            leaving: Leaving::No,
        }
    }

    /// What the group has agreed on so far, if this member knows.
    pub const fn state(&self) -> Option<&S> {
        match &self.footing {
            Footing::Firm(state) => Some(state),
            Footing::Loading(_) => None,
        }
    }

    /// How many messages it has received and not delivered.
    pub fn waiting(&self) -> usize {
        self.queues().map(HoldBack::waiting).sum()
    }

    /// How many messages it keeps, delivered or not.
    pub fn kept(&self) -> usize {
        self.queues().map(|queue| queue.kept().count()).sum()
    }

    /// What it holds of the view that has begun, and of one that has not yet.
    fn queues(&self) -> impl Iterator<Item = &HoldBack> {
        let chapters = match &self.stage {
            Stage::Outside | Stage::Retired => [None, None],
            Stage::Flushing(flush) => [flush.begun.as_ref(), Some(&flush.next)],
            Stage::Inside(chapter) => [Some(chapter), None],
        };
        chapters.into_iter().flatten().map(|chapter| &chapter.queue)
    }

    fn me(&self) -> NodeId {
        self.seat.me
    }

    fn plan(&self) -> &Plan {
        &self.seat.plan
    }

    /// A group without views is as it was founded, for those who were there.
    fn start(&mut self, incarnation: Incarnation) {
        let members = self.plan().members.clone();
        self.stage = if incarnation == Incarnation::FIRST && members.contains(self.me()) {
            Stage::Inside(self.seat.chapter(View::founding(members)))
        } else {
            Stage::Retired
        };
    }

    /// MC-1.
    fn send(&mut self, payload: Payload, out: &mut Effects<'_, Self>) {
        if let Some(refusal) = self.refusal(&payload) {
            return out.emit(Event::Refused(refusal));
        }
        let (me, plan) = (self.me(), Arc::clone(&self.seat.plan));
        match &self.stage {
            Stage::Retired => out.emit(Event::Refused(Refusal::NoWayBack)),
            // The view that comes says when to ask again.
            Stage::Outside | Stage::Flushing(_) => self.ask_to_wait(payload.len(), Group::nobody(), out),
            Stage::Inside(_) if matches!(self.footing, Footing::Loading(_)) => {
                self.ask_to_wait(payload.len(), Group::nobody(), out);
            }
            Stage::Inside(chapter) => {
                let (messages, bytes) = chapter.under_way(me);
                if !plan.window.has_room(messages, bytes, payload.len()) {
                    let slow = chapter.told.slowest(chapter.members(), me, chapter.sent);
                    return self.ask_to_wait(payload.len(), slow, out);
                }
                self.post(payload, out);
            }
        }
    }

    /// Why this is never sent, whenever it is asked for.
    fn refusal(&self, payload: &Payload) -> Option<Refusal> {
        match self.leaving {
            _ if !payload.fits() => Some(Refusal::TooLong),
            Leaving::No => None,
            Leaving::Asked | Leaving::Left => Some(Refusal::Leaving),
        }
    }

    fn ask_to_wait(&mut self, length: usize, slow: Group, out: &mut Effects<'_, Self>) {
        out.note("MC-1", format_args!("takes no more for now"));
        self.refused = Some(length);
        out.emit(Event::Wait { group: self.plan().id, slow });
    }

    /// MC-1. What we send we have received.
    fn post(&mut self, payload: Payload, out: &mut Effects<'_, Self>) {
        let (me, group) = (self.me(), self.plan().id);
        let Stage::Inside(chapter) = &mut self.stage else { return };
        let id = chapter.next_id(group, me);
        let tag = chapter.order.tag();
        out.emit(Event::Sent { id });
        out.note("MC-1", format_args!("sends {id}"));
        let letter = Letter { id, tag: tag.clone(), payload: payload.clone() };
        match chapter.order.route() {
            Route::Via(node) if node != me => out.send(node, Message::Letter(letter, None)),
            // Whoever sends all others their messages sends its own when it has a place for it.
            Route::Via(_) => {}
            Route::ToAll => tell_all(chapter.members(), Message::Letter(letter, None), out),
        }
        chapter.queue.receive(id, tag, payload);
        let mut desk = Counter { members: chapter.view.members(), queue: &chapter.queue, out };
        chapter.order.received(id, &chapter.queue, &mut desk);
    }

    /// MC-6. Those who hold all of it tell at once, which they would else do only after more of our messages.
    fn leave(&mut self, out: &mut Effects<'_, Self>) {
        if self.leaving != Leaving::No {
            return out.emit(Event::Refused(Refusal::Leaving));
        }
        self.leaving = Leaving::Asked;
        out.note("MC-6", format_args!("leaves when everyone holds what it sent"));
        if let Stage::Inside(chapter) = &self.stage {
            drain(chapter, out);
        }
    }

    fn take(&mut self, from: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        match message {
            Message::Letter(letter, place) => self.receive(from, letter, place, out),
            Message::Word(word) => self.hear(from, word, out),
            Message::Held(counts) => {
                if let Some(chapter) = self.chapter() {
                    chapter.told.hear(chapter.view.members(), from, &counts);
                }
            }
            Message::Drain(upto) => {
                if let Some(chapter) = self.chapter() {
                    chapter.owed.insert(from, upto);
                }
            }
            Message::Remainder(letter) => self.complete_with(letter, out),
            Message::Complete => self.count_complete(from, out),
            Message::Ask { boundary, offset, digest } => self.archive.ask(from, boundary, offset, digest),
            Message::Piece(piece) => self.add_piece(from, piece, out),
            Message::Loaded(boundary) => {
                self.archive.loaded(from, boundary);
                if let Stage::Flushing(flush) = &mut self.stage {
                    flush.has_state(from, boundary);
                }
            }
        }
    }

    /// What we know of the latest view's messages, whether or not it has begun for us.
    fn chapter(&mut self) -> Option<&mut Chapter> {
        match &mut self.stage {
            Stage::Outside | Stage::Retired => None,
            Stage::Flushing(flush) => Some(&mut flush.next),
            Stage::Inside(chapter) => Some(chapter),
        }
    }

    /// MC-2.
    fn receive(&mut self, from: NodeId, letter: Letter, place: Option<Place>, out: &mut Effects<'_, Self>) {
        let (me, relays) = (self.me(), self.plan().relay);
        let Some(chapter) = self.chapter() else { return };
        let Letter { id, tag, payload } = letter;
        if chapter.queue.receive(id, tag.clone(), payload.clone()) {
            // Whoever sends everything to all anyway passes nothing on.
            if relays && chapter.order.route() != Route::Via(me) {
                out.note("MC-2", format_args!("passes {id} on to all others"));
                out.multicast(chapter.view.members(), Message::Letter(Letter { id, tag, payload }, None));
            }
            let mut desk = Counter { members: chapter.view.members(), queue: &chapter.queue, out };
            chapter.order.received(id, &chapter.queue, &mut desk);
        } else {
            out.note("MC-2", format_args!("drops a copy of {id} that {from} sent"));
        }
        if let Some(place) = place {
            self.hear(from, Word::Place(place), out);
        }
    }

    fn hear(&mut self, from: NodeId, word: Word, out: &mut Effects<'_, Self>) {
        let Some(chapter) = self.chapter() else { return };
        let mut desk = Counter { members: chapter.view.members(), queue: &chapter.queue, out };
        chapter.order.heard(from, word, &chapter.queue, &mut desk);
    }

    fn progress(&mut self, out: &mut Effects<'_, Self>) {
        self.serve(out);
        if !matches!(self.stage, Stage::Inside(_)) {
            return;
        }
        loop {
            self.deliver(out);
            // What we hold may be the last thing that uniform delivery waited for.
            let (me, room) = (self.me(), self.plan().window.messages);
            let Stage::Inside(chapter) = &mut self.stage else { return };
            let is_firm = matches!(self.footing, Footing::Firm(_));
            if !chapter.ripen(me, room, is_firm) || self.plan().delivery == Delivery::Prompt {
                break;
            }
        }
        self.tell(out);
        self.forget(out);
        self.depart(out);
    }

    /// MC-3.
    fn deliver(&mut self, out: &mut Effects<'_, Self>) {
        let is_uniform = self.plan().delivery == Delivery::Uniform;
        while let Stage::Inside(chapter) = &mut self.stage {
            let is_ready = |id| !is_uniform || chapter.is_stable(id);
            let Some(id) = chapter.order.next_of(&chapter.queue, &is_ready) else { return };
            let Some(payload) = chapter.release(id) else { return };
            self.announce(Item::Letter(id, payload), out);
        }
    }

    /// MC-4.
    fn tell(&mut self, out: &mut Effects<'_, Self>) {
        let (after, bytes) = (self.plan().tells_after(), self.plan().window.bytes / 2);
        let Stage::Inside(chapter) = &mut self.stage else { return };
        if chapter.has_news(after, bytes) {
            let counts = chapter.announce();
            if chapter.members().len() > 1 {
                out.note("MC-4", format_args!("tells all how much it holds"));
            }
            tell_all(chapter.members(), Message::Held(counts), out);
        }
    }

    /// MC-5. Its user hears of room when there is some for more than one message, so that it need not ask for each.
    fn forget(&mut self, out: &mut Effects<'_, Self>) {
        let (me, group) = (self.me(), self.plan().id);
        let window = self.plan().window;
        let Stage::Inside(chapter) = &mut self.stage else { return };
        chapter.forget();
        let Some(length) = self.refused.filter(|_| matches!(self.footing, Footing::Firm(_))) else { return };
        let (messages, bytes) = chapter.under_way(me);
        if messages <= window.messages / 2 && window.has_room(messages, bytes, length) {
            self.refused = None;
            out.note("MC-5", format_args!("has room for more"));
            out.emit(Event::Ready { group });
        }
    }

    /// MC-6. Its user has heard all that it sent itself. From then on it only helps the others, until they go on without it.
    fn depart(&mut self, out: &mut Effects<'_, Self>) {
        let (me, group) = (self.me(), self.plan().id);
        let Stage::Inside(chapter) = &self.stage else { return };
        if self.leaving == Leaving::Asked && chapter.under_way(me).0 == 0 && chapter.heard_of(me) >= chapter.sent {
            self.leaving = Leaving::Left;
            out.note("MC-6", format_args!("leaves: everyone holds what it sent"));
            out.emit(Event::Left { group });
        }
    }

    /// The message that comes with this, unless it waits here already.
    fn news(&self, input: &Input<Self>) -> Option<MessageId> {
        let Input::Message { message: Message::Letter(letter, _) | Message::Remainder(letter), .. } = input else {
            return None;
        };
        (!self.waits(letter.id)).then_some(letter.id)
    }

    fn waits(&self, id: MessageId) -> bool {
        self.queues().any(|queue| queue.waits(id))
    }

    /// Observers hear of the queue when it has changed, also if one came as another went.
    fn show_queue(&self, before: usize, news: Option<MessageId>, out: &mut Effects<'_, Self>) {
        let held = self.waiting();
        if held != before || news.is_some_and(|id| self.waits(id)) {
            out.note_hold_back(held, format_args!("{}", Waiting(self)));
        }
    }
}

/// Asks all to tell as soon as they hold what we sent.
fn drain<S: State>(chapter: &Chapter, out: &mut Effects<'_, Member<S>>) {
    if chapter.sent > 0 {
        tell_all(chapter.members(), Message::Drain(chapter.sent), out);
    }
}

/// What waits in a member's hold-back queue, as a list.
struct Waiting<'a, S>(&'a Member<S>);

impl<S: State> fmt::Display for Waiting<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, id) in self.0.queues().flat_map(HoldBack::queue).enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{id}")?;
        }
        Ok(())
    }
}

struct Counter<'a, 'b, S: State> {
    members: &'a Group,
    queue: &'a HoldBack,
    out: &'a mut Effects<'b, Member<S>>,
}

impl<S: State> Desk for Counter<'_, '_, S> {
    fn send(&mut self, to: NodeId, word: Word) {
        self.out.send(to, Message::Word(word));
    }

    fn multicast(&mut self, word: Word) {
        tell_all(self.members, Message::Word(word), self.out);
    }

    fn forward(&mut self, place: Place) {
        let id = place.id;
        let (Some(tag), Some(payload)) = (self.queue.tag(id), self.queue.payload(id)) else { return };
        let letter = Letter { id, tag: tag.clone(), payload: payload.clone() };
        tell_all(self.members, Message::Letter(letter, Some(place)), self.out);
    }

    fn note(&mut self, rule: &'static str, text: fmt::Arguments<'_>) {
        self.out.note(rule, text);
    }
}
