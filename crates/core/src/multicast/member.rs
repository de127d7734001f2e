//! A member of a group: the part that is the same for all orderings.
//!
//! A member receives a message once, however many copies arrive, and keeps it until all members
//! hold it. The ordering decides which of the waiting messages may be delivered. When the view of
//! the group ends, the surviving members settle the messages that crashed members left behind, so
//! that all of them have delivered the same messages when the next view begins. A joiner receives
//! the state that it lacks.
//!
//! ```text
//! MC-1   the client sends         → assign an id, hold the message and send it to all; if the
//!                                   window of unacknowledged messages is full, ask the client to
//!                                   wait
//! MC-2   a message arrives        → hold the first copy, and relay it if members relay messages;
//!                                   drop further copies
//! MC-3   the ordering releases a
//!        message                  → deliver it; if delivery is uniform, only once every member
//!                                   holds it and knows its position
//! MC-4   half a window of one
//!        sender's messages has
//!        arrived, or one message
//!        if delivery is uniform   → acknowledge: send all members the number of messages held from
//!                                   each sender
//! MC-5   all members hold a
//!        delivered message        → forget it; its sender may send another
//! MC-6   the client leaves        → send nothing more, and leave when all members hold this
//!                                   member's messages
//! MC-7   a view ends              → report the messages held, and the known positions in the order
//! MC-8   all reports have arrived → settle one order of all messages that any member holds; the
//!                                   holder with the lowest number sends each message to the
//!                                   members that lack it
//! MC-9   all members hold all of
//!        these messages           → deliver the rest in that order; then the new view begins
//! MC-10  the membership service
//!        decides another view     → start over from the last settled order; if another member has
//!                                   begun the view in between, begin that view first
//! MC-11  this member is a joiner  → ask for the state piece by piece, and buffer deliveries until
//!                                   it has arrived
//! MC-12  a joiner asks            → send it a piece of the state at the beginning of the view
//! ```
//!
//! Why no message is lost: each survivor has reported all messages it holds, so the settled order
//! contains all messages that any survivor has delivered. No member begins the next view before all
//! survivors hold all of these messages. The settled order is part of the next report, so if a
//! member delivers in that order and crashes, the other members deliver the same messages in the
//! same order.
//!
//! Cost: beside the messages of the ordering, one acknowledgement to each member for every half
//! window of received messages, or for every message if delivery is uniform. A view change costs
//! n−1 reports from every member, n−1 completion messages from every member that is not a joiner,
//! and one message for each message that a member lacked.
//!
//! Assumes: links between members that stay up neither lose nor duplicate messages, as
//! [`Reliable`](crate::wrap::Reliable) links do. In a group that changes,
//! [`Viewed`](crate::wrap::Viewed) provides the views.
//!
//! When it fails: in a group without views, one crashed member stops everything that waits for it:
//! acknowledgements, positions and uniform delivery. If all members with the state crash while
//! joiners still load it, the joiners begin with an empty state.

mod flush;
mod joiner;
#[cfg(test)]
mod tests;
mod view_state;

pub use flush::{Report, Settled};
pub use view_state::Holdings;

use super::{
    Command, DataMessage, Delivery, Event, HoldBack, MakeOrdering, Message, MessageId, OrderMessage, OrderSink,
    Payload, Plan, Position, Refusal, Route, State,
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
use core::fmt;
use flush::Flush;
use joiner::{Archive, ClientEvent, GroupState, send_to_others};
use view_state::ViewState;

/// Returns the rules of this module, which `quorate explain` adds to those of each ordering.
pub fn about() -> About {
    About::from_source(include_str!("member.rs"))
}

/// A member of a group with a replicated state of type `S`. It has a new ordering for each view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member<S> {
    config: Fixed<Config>,
    phase: Phase,
    group_state: GroupState<S>,
    /// The states that joiners may still ask this member for.
    archive: Archive,
    /// Number of bytes of the payload for which the client was asked to wait, until the member
    /// reports `Ready` or a view.
    waiting_payload_len: Option<usize>,
    leaving: Leaving,
}

#[derive(Clone, Debug)]
struct Config {
    me: NodeId,
    plan: Arc<Plan>,
    make_ordering: MakeOrdering,
}

impl Config {
    fn view_state(&self, view: View) -> ViewState {
        ViewState::new(&self.plan, self.me, view, self.make_ordering)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::large_enum_variant, reason = "each member has only one")]
enum Phase {
    /// The member is in no view yet, or no longer.
    NoView,
    /// The group has no views, and the node is no member: it has restarted, or is no founder.
    Retired,
    /// A view is decided, and the messages of the previous one are not settled yet.
    Flushing(Flush),
    InView(ViewState),
}

/// Whether the client has asked to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Leaving {
    NotRequested,
    /// The client has asked, but not all members hold this member's messages yet.
    Requested,
    Left,
}

impl<S: State> Protocol for Member<S> {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        let waiting_before = self.waiting_count();
        let arriving_message = self.arriving_message(&input);
        match input {
            Input::Start { durable: (), incarnation } => self.start(incarnation),
            Input::Command(Command::Send { payload, .. }) => self.send(payload, out),
            Input::Command(Command::Leave { .. }) => self.leave(out),
            Input::Message { from, message } => self.receive_message(from, message, out),
            Input::Timer(never) => match never {},
            // A member saves nothing and uses no failure detector. The wrapper `Viewed` passes
            // views to `resume`.
            Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
        self.progress(out);
        self.note_hold_back_changes(waiting_before, arriving_message, out);
    }
}

impl<S: State> Member<S> {
    /// Creates the node `me` of a group with this plan. `make_ordering` creates its ordering for
    /// each view. The node takes part once it is started, or with its first view.
    pub fn new(me: NodeId, plan: Arc<Plan>, make_ordering: MakeOrdering) -> Self {
        Self {
            group_state: GroupState::Loaded(S::initial(&plan)),
            config: Fixed::new(Config { me, plan, make_ordering }),
            phase: Phase::NoView,
            archive: Archive::default(),
            waiting_payload_len: None,
            leaving: Leaving::NotRequested,
        }
    }

    /// Returns the state of the group; `None` while a joiner loads it.
    pub const fn state(&self) -> Option<&S> {
        match &self.group_state {
            GroupState::Loaded(state) => Some(state),
            GroupState::Loading(_) => None,
        }
    }

    /// Returns the number of messages that were received and not delivered yet.
    pub fn waiting_count(&self) -> usize {
        self.queues().map(HoldBack::waiting_count).sum()
    }

    /// Returns the number of messages that are kept, delivered or not.
    pub fn kept_count(&self) -> usize {
        self.queues().map(|queue| queue.kept_messages().count()).sum()
    }

    /// Returns the queue of the current view, and that of the next one while it has not begun.
    fn queues(&self) -> impl Iterator<Item = &HoldBack> {
        let view_states = match &self.phase {
            Phase::NoView | Phase::Retired => [None, None],
            Phase::Flushing(flush) => [flush.old_view.as_ref(), Some(&flush.new_view)],
            Phase::InView(view_state) => [Some(view_state), None],
        };
        view_states.into_iter().flatten().map(|view_state| &view_state.queue)
    }

    fn me(&self) -> NodeId {
        self.config.me
    }

    fn plan(&self) -> &Plan {
        &self.config.plan
    }

    /// Begins the only view of a group without views. Only founding members in their first
    /// incarnation are in it.
    fn start(&mut self, incarnation: Incarnation) {
        let members = self.plan().members.clone();
        self.phase = if incarnation == Incarnation::FIRST && members.contains(self.me()) {
            Phase::InView(self.config.view_state(View::founding(members)))
        } else {
            Phase::Retired
        };
    }

    /// MC-1.
    fn send(&mut self, payload: Payload, out: &mut Effects<'_, Self>) {
        if let Some(refusal) = self.find_permanent_refusal(&payload) {
            return out.emit(Event::Refused(refusal));
        }
        let (me, plan) = (self.me(), Arc::clone(&self.config.plan));
        match &self.phase {
            Phase::Retired => out.emit(Event::Refused(Refusal::CannotRejoin)),
            // The client tries again after the next `View` event.
            Phase::NoView | Phase::Flushing(_) => self.ask_client_to_wait(payload.len(), Group::empty(), out),
            Phase::InView(_) if matches!(self.group_state, GroupState::Loading(_)) => {
                self.ask_client_to_wait(payload.len(), Group::empty(), out);
            }
            Phase::InView(view_state) => {
                let (messages, bytes) = view_state.unacknowledged(me);
                if !plan.window.has_room(messages, bytes, payload.len()) {
                    let slow = view_state.acks.slowest(view_state.members(), me, view_state.sent_count);
                    return self.ask_client_to_wait(payload.len(), slow, out);
                }
                self.multicast(payload, out);
            }
        }
    }

    /// Returns the reason why this message can never be sent, if there is one.
    fn find_permanent_refusal(&self, payload: &Payload) -> Option<Refusal> {
        match self.leaving {
            _ if !payload.is_within_limit() => Some(Refusal::TooLong),
            Leaving::NotRequested => None,
            Leaving::Requested | Leaving::Left => Some(Refusal::Leaving),
        }
    }

    /// Asks the client to wait before it sends a payload of this length.
    fn ask_client_to_wait(&mut self, length: usize, slow: Group, out: &mut Effects<'_, Self>) {
        out.note("MC-1", format_args!("accepts no more messages for now"));
        self.waiting_payload_len = Some(length);
        out.emit(Event::Wait { group: self.plan().id, slow });
    }

    /// MC-1. The sender also counts as a receiver of its message.
    fn multicast(&mut self, payload: Payload, out: &mut Effects<'_, Self>) {
        let (me, group) = (self.me(), self.plan().id);
        let Phase::InView(view_state) = &mut self.phase else { return };
        let id = view_state.next_id(group, me);
        let tag = view_state.ordering.next_tag();
        out.emit(Event::Sent { id });
        out.note("MC-1", format_args!("sends {id}"));
        let data = DataMessage { id, tag: tag.clone(), payload: payload.clone() };
        match view_state.ordering.route() {
            Route::Via(node) if node != me => out.send(node, Message::Data(data, None)),
            // The node is the sequencer: it sends its own message once it has assigned a position.
            Route::Via(_) => {}
            Route::ToAll => send_to_others(view_state.members(), Message::Data(data, None), out),
        }
        view_state.queue.receive(id, tag, payload);
        let mut sink = MemberSink { members: view_state.view.members(), queue: &view_state.queue, out };
        view_state.ordering.on_received(id, &view_state.queue, &mut sink);
    }

    /// MC-6. Asks the other members to acknowledge as soon as they hold all messages of this one;
    /// otherwise they would wait for more messages first.
    fn leave(&mut self, out: &mut Effects<'_, Self>) {
        if self.leaving != Leaving::NotRequested {
            return out.emit(Event::Refused(Refusal::Leaving));
        }
        self.leaving = Leaving::Requested;
        out.note("MC-6", format_args!("leaves when all members hold what it sent"));
        if let Phase::InView(view_state) = &self.phase {
            request_acks(view_state, out);
        }
    }

    fn receive_message(&mut self, from: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        match message {
            Message::Data(data, position) => self.receive(from, data, position, out),
            Message::Order(message) => self.receive_order_message(from, message, out),
            Message::Acknowledgement(counts) => {
                if let Some(view_state) = self.view_state() {
                    view_state.acks.record(view_state.view.members(), from, &counts);
                }
            }
            Message::Drain(upto) => {
                if let Some(view_state) = self.view_state() {
                    view_state.drain_requests.insert(from, upto);
                }
            }
            Message::Remainder(data) => self.receive_remainder(data, out),
            Message::Complete => self.receive_complete(from, out),
            Message::StateRequest { boundary, offset, digest } => {
                self.archive.record_request(from, boundary, offset, digest);
            }
            Message::StatePiece(piece) => self.receive_piece(from, piece, out),
            Message::StateLoaded(boundary) => {
                self.archive.record_loaded(from, boundary);
                if let Phase::Flushing(flush) = &mut self.phase {
                    flush.record_loaded(from, boundary);
                }
            }
        }
    }

    /// Returns the state of the latest view, whether or not it has begun at this member.
    fn view_state(&mut self) -> Option<&mut ViewState> {
        match &mut self.phase {
            Phase::NoView | Phase::Retired => None,
            Phase::Flushing(flush) => Some(&mut flush.new_view),
            Phase::InView(view_state) => Some(view_state),
        }
    }

    /// MC-2.
    fn receive(&mut self, from: NodeId, data: DataMessage, position: Option<Position>, out: &mut Effects<'_, Self>) {
        let (me, relays) = (self.me(), self.plan().relays);
        let Some(view_state) = self.view_state() else { return };
        let DataMessage { id, tag, payload } = data;
        if view_state.queue.receive(id, tag.clone(), payload.clone()) {
            // If messages go through this node, the sequencer, it sends each of them to all anyway.
            if relays && view_state.ordering.route() != Route::Via(me) {
                out.note("MC-2", format_args!("relays {id} to all others"));
                out.multicast(view_state.view.members(), Message::Data(DataMessage { id, tag, payload }, None));
            }
            let mut sink = MemberSink { members: view_state.view.members(), queue: &view_state.queue, out };
            view_state.ordering.on_received(id, &view_state.queue, &mut sink);
        } else {
            out.note("MC-2", format_args!("drops a copy of {id} that {from} sent"));
        }
        if let Some(position) = position {
            self.receive_order_message(from, OrderMessage::Position(position), out);
        }
    }

    fn receive_order_message(&mut self, from: NodeId, message: OrderMessage, out: &mut Effects<'_, Self>) {
        let Some(view_state) = self.view_state() else { return };
        let mut sink = MemberSink { members: view_state.view.members(), queue: &view_state.queue, out };
        view_state.ordering.handle_message(from, message, &view_state.queue, &mut sink);
    }

    /// Does all that the last input has made possible: answers joiners, delivers, acknowledges,
    /// forgets and leaves.
    fn progress(&mut self, out: &mut Effects<'_, Self>) {
        self.answer_joiners(out);
        if !matches!(self.phase, Phase::InView(_)) {
            return;
        }
        loop {
            self.deliver(out);
            // Uniform delivery waits for this member's own acknowledgements too: new ones may allow
            // more deliveries.
            let (me, max_undelivered) = (self.me(), self.plan().window.messages);
            let Phase::InView(view_state) = &mut self.phase else { return };
            let is_loaded = matches!(self.group_state, GroupState::Loaded(_));
            if !view_state.advance_acks(me, max_undelivered, is_loaded) || self.plan().delivery == Delivery::Prompt {
                break;
            }
        }
        self.acknowledge(out);
        self.forget(out);
        self.leave_if_done(out);
    }

    /// MC-3.
    fn deliver(&mut self, out: &mut Effects<'_, Self>) {
        let is_uniform = self.plan().delivery == Delivery::Uniform;
        while let Phase::InView(view_state) = &mut self.phase {
            let is_ready = |id| !is_uniform || view_state.is_stable(id);
            let Some(id) = view_state.ordering.next_ready(&view_state.queue, &is_ready) else { return };
            let Some(payload) = view_state.release(id) else { return };
            self.report_to_client(ClientEvent::Message(id, payload), out);
        }
    }

    /// MC-4.
    fn acknowledge(&mut self, out: &mut Effects<'_, Self>) {
        let (min_messages, min_bytes) = (self.plan().ack_interval(), self.plan().window.bytes / 2);
        let Phase::InView(view_state) = &mut self.phase else { return };
        if view_state.must_acknowledge(min_messages, min_bytes) {
            let counts = view_state.take_acks();
            if view_state.members().len() > 1 {
                out.note("MC-4", format_args!("acknowledges the messages it holds"));
            }
            send_to_others(view_state.members(), Message::Acknowledgement(counts), out);
        }
    }

    /// MC-5. Reports `Ready` to the client only once half the window is free, so that the client
    /// need not wait again after each message.
    fn forget(&mut self, out: &mut Effects<'_, Self>) {
        let (me, group) = (self.me(), self.plan().id);
        let window = self.plan().window;
        let Phase::InView(view_state) = &mut self.phase else { return };
        view_state.forget();
        let Some(length) = self.waiting_payload_len.filter(|_| matches!(self.group_state, GroupState::Loaded(_)))
        else {
            return;
        };
        let (messages, bytes) = view_state.unacknowledged(me);
        if messages <= window.messages / 2 && window.has_room(messages, bytes, length) {
            self.waiting_payload_len = None;
            out.note("MC-5", format_args!("has room for more"));
            out.emit(Event::Ready { group });
        }
    }

    /// MC-6. Leaves if the client has asked to, has received all its own messages, and all members
    /// hold them. From then on the member only helps the others, until they continue without it.
    fn leave_if_done(&mut self, out: &mut Effects<'_, Self>) {
        let (me, group) = (self.me(), self.plan().id);
        let Phase::InView(view_state) = &self.phase else { return };
        let (unacknowledged, _) = view_state.unacknowledged(me);
        if self.leaving == Leaving::Requested
            && unacknowledged == 0
            && view_state.delivered_count(me) >= view_state.sent_count
        {
            self.leaving = Leaving::Left;
            out.note("MC-6", format_args!("leaves: all members hold what it sent"));
            out.emit(Event::Left { group });
        }
    }

    /// Returns the id of the multicast in this input, unless it is waiting in a queue already.
    fn arriving_message(&self, input: &Input<Self>) -> Option<MessageId> {
        let Input::Message { message: Message::Data(data, _) | Message::Remainder(data), .. } = input else {
            return None;
        };
        (!self.is_waiting(data.id)).then_some(data.id)
    }

    fn is_waiting(&self, id: MessageId) -> bool {
        self.queues().any(|queue| queue.is_waiting(id))
    }

    /// Notes the messages that wait in the hold-back queues if they have changed in this step, even
    /// if one arrived as another was delivered.
    fn note_hold_back_changes(
        &self,
        waiting_before: usize,
        arriving_message: Option<MessageId>,
        out: &mut Effects<'_, Self>,
    ) {
        let waiting = self.waiting_count();
        if waiting != waiting_before || arriving_message.is_some_and(|id| self.is_waiting(id)) {
            out.note_hold_back(waiting, format_args!("{}", WaitingList(self)));
        }
    }
}

/// Asks all members for an acknowledgement as soon as they hold all messages of this one.
fn request_acks<S: State>(view_state: &ViewState, out: &mut Effects<'_, Member<S>>) {
    if view_state.sent_count > 0 {
        send_to_others(view_state.members(), Message::Drain(view_state.sent_count), out);
    }
}

/// Displays the ids of the messages that wait in the hold-back queues of a member.
struct WaitingList<'a, S>(&'a Member<S>);

impl<S: State> fmt::Display for WaitingList<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, id) in self.0.queues().flat_map(HoldBack::waiting_ids).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{id}")?;
        }
        Ok(())
    }
}

/// Receives the output of an ordering, and sends its messages to the members of the view.
struct MemberSink<'a, 'b, S: State> {
    members: &'a Group,
    queue: &'a HoldBack,
    out: &'a mut Effects<'b, Member<S>>,
}

impl<S: State> OrderSink for MemberSink<'_, '_, S> {
    fn send(&mut self, to: NodeId, message: OrderMessage) {
        self.out.send(to, Message::Order(message));
    }

    fn multicast(&mut self, message: OrderMessage) {
        send_to_others(self.members, Message::Order(message), self.out);
    }

    fn forward(&mut self, position: Position) {
        let id = position.id;
        let (Some(tag), Some(payload)) = (self.queue.tag(id), self.queue.payload(id)) else { return };
        let data = DataMessage { id, tag: tag.clone(), payload: payload.clone() };
        send_to_others(self.members, Message::Data(data, Some(position)), self.out);
    }

    fn note(&mut self, rule: &'static str, text: fmt::Arguments<'_>) {
        self.out.note(rule, text);
    }
}
