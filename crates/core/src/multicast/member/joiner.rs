//! The transfer of the replicated state to a joiner. Meanwhile the joiner buffers its deliveries.
//! The header of `member.rs` lists the rules MC-1 to MC-12.

use super::super::message::StatePiece;
use super::super::state::scramble;
use super::super::{Event, Message, MessageId, Payload, Plan, State};
use super::{Leaving, Member, Phase};
use crate::effects::Effects;
use crate::group::{Epoch, Group};
use crate::node::NodeId;
use crate::view::View;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum GroupState<S> {
    Loaded(S),
    Loading(Loading),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Loading {
    /// The view for whose beginning the state is needed.
    pub(super) boundary: Epoch,
    /// Members that have the state. This member asks the first one.
    donors: VecDeque<NodeId>,
    /// Digest of the whole state, of which `bytes` are the beginning; `None` before the first
    /// piece.
    digest: Option<u64>,
    bytes: Vec<u8>,
    /// Deliveries and views since the boundary, which the member reports once the state is loaded.
    backlog: VecDeque<ClientEvent>,
}

/// A delivery or the beginning of a view, to report to the client. A joiner buffers such events.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ClientEvent {
    Message(MessageId, Payload),
    View(View),
}

impl Loading {
    pub(super) fn new(boundary: Epoch) -> Self {
        Self { boundary, donors: VecDeque::new(), digest: None, bytes: Vec::new(), backlog: VecDeque::new() }
    }

    /// MC-11. Asks the first of these donors for the bytes after the loaded ones, to start or to
    /// continue a load.
    pub(super) fn load_from<S: State>(&mut self, donors: VecDeque<NodeId>, out: &mut Effects<'_, Member<S>>) {
        self.donors = donors;
        self.request_next_piece(out);
    }

    fn request_next_piece<S: State>(&self, out: &mut Effects<'_, Member<S>>) {
        let Some(donor) = self.donors.front() else { return };
        let offset = self.bytes.len() as u64;
        out.note("MC-11", format_args!("asks {donor} for the state, from byte {offset} on"));
        out.send(*donor, Message::StateRequest { boundary: self.boundary, offset, digest: self.digest });
    }

    /// MC-11. Drops events before the boundary, which the state at the boundary includes already.
    fn buffer(&mut self, event: ClientEvent) {
        let view = match &event {
            ClientEvent::Message(id, _) => id.view,
            ClientEvent::View(view) => view.epoch(),
        };
        if view >= self.boundary {
            self.backlog.push_back(event);
        }
    }

    /// MC-11. Adds a piece. If it belongs to another state than the loaded bytes, starts over.
    /// Returns whether the state is complete.
    fn add_piece(&mut self, piece: &StatePiece) -> bool {
        if self.digest != Some(piece.digest) {
            self.digest = Some(piece.digest);
            self.bytes.clear();
        }
        if piece.offset == self.bytes.len() as u64 {
            self.bytes.extend(piece.bytes.bytes());
        }
        self.bytes.len() as u64 >= piece.length
    }
}

/// The states that a member keeps for joiners, and the requests of joiners that it has not answered
/// yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Archive {
    /// The states at the beginnings of views, by view.
    states: BTreeMap<Epoch, KeptState>,
    requests: BTreeMap<NodeId, PieceRequest>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PieceRequest {
    boundary: Epoch,
    offset: u64,
    digest: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct KeptState {
    bytes: Payload,
    digest: u64,
    /// Members that have not loaded this state yet.
    joiners: BTreeSet<NodeId>,
}

impl Archive {
    /// Returns the views for whose beginnings a state is kept.
    pub(super) fn boundaries(&self) -> Vec<Epoch> {
        self.states.keys().copied().collect()
    }

    /// Keeps the state at the beginning of a view for the joiners that need it, if there are any.
    pub(super) fn keep(&mut self, boundary: Epoch, state: &impl State, joiners: BTreeSet<NodeId>) {
        if !joiners.is_empty() {
            let bytes = state.save();
            let digest = digest_of(&bytes);
            self.states.insert(boundary, KeptState { bytes: bytes.into(), digest, joiners });
        }
    }

    /// Removes all requests, which belong to the previous view, and the states that no member needs
    /// any more. `needed_states` names the state that each joiner needs, by its view.
    pub(super) fn retain_needed(&mut self, needed_states: &BTreeMap<NodeId, Epoch>) {
        self.requests.clear();
        self.states.retain(|boundary, kept| {
            kept.joiners.retain(|node| needed_states.get(node) == Some(boundary));
            !kept.joiners.is_empty()
        });
    }

    pub(super) fn record_request(&mut self, from: NodeId, boundary: Epoch, offset: u64, digest: Option<u64>) {
        self.requests.insert(from, PieceRequest { boundary, offset, digest });
    }

    /// Records that a joiner has loaded a state, and removes the state if no other joiner needs it.
    pub(super) fn record_loaded(&mut self, from: NodeId, boundary: Epoch) {
        self.requests.remove(&from);
        if let Some(kept) = self.states.get_mut(&boundary) {
            kept.joiners.remove(&from);
            if kept.joiners.is_empty() {
                self.states.remove(&boundary);
            }
        }
    }

    /// Removes the requests for states that are kept, and returns the pieces that answer them. A
    /// joiner that has begun to load another state gets this one from its first byte.
    fn take_answers(&mut self, plan: &Plan) -> Vec<(NodeId, StatePiece)> {
        let mut answers = Vec::new();
        let states = &self.states;
        self.requests.retain(|node, request| {
            let Some(kept) = states.get(&request.boundary) else { return true };
            let offset = if request.digest == Some(kept.digest) { request.offset } else { 0 };
            let rest = usize::try_from(offset).ok().and_then(|offset| kept.bytes.bytes().get(offset..));
            let bytes = rest.map_or(&[][..], |rest| rest.get(..plan.max_piece_bytes.max(1)).unwrap_or(rest));
            let piece = StatePiece {
                boundary: request.boundary,
                offset,
                length: kept.bytes.len() as u64,
                digest: kept.digest,
                bytes: Payload::from(Vec::from(bytes)),
            };
            answers.push((*node, piece));
            false
        });
        answers
    }
}

impl<S: State> Member<S> {
    /// MC-12. A joiner that asks before this member has begun the view gets the answer then.
    pub(super) fn answer_joiners(&mut self, out: &mut Effects<'_, Self>) {
        let plan = alloc::sync::Arc::clone(&self.config.plan);
        for (node, piece) in self.archive.take_answers(&plan) {
            let end = piece.offset + piece.bytes.len() as u64;
            out.note("MC-12", format_args!("sends {node} the state up to byte {end} of {}", piece.length));
            out.send(node, Message::StatePiece(piece));
        }
    }

    /// MC-11. Adds a piece of the state, and asks for the next one until the state is complete and
    /// valid.
    pub(super) fn receive_piece(&mut self, from: NodeId, piece: StatePiece, out: &mut Effects<'_, Self>) {
        let GroupState::Loading(loading) = &mut self.group_state else { return };
        if piece.boundary != loading.boundary || loading.donors.front() != Some(&from) {
            return;
        }
        let loaded_before = loading.bytes.len();
        let is_complete = loading.add_piece(&piece);
        if !is_complete && loading.bytes.len() > loaded_before {
            return loading.request_next_piece(out);
        }
        let is_valid = is_complete && digest_of(&loading.bytes) == piece.digest;
        match S::load(&self.config.plan, &loading.bytes).filter(|_| is_valid) {
            Some(state) => self.finish_loading(state, out),
            None => {
                // The bytes are invalid or the donor has no more: another donor may have valid
                // ones.
                loading.bytes.clear();
                loading.digest = None;
                loading.donors.rotate_left(1);
                loading.request_next_piece(out);
            }
        }
    }

    /// MC-11. Takes over the complete state, tells the other members, and reports the buffered
    /// events.
    fn finish_loading(&mut self, state: S, out: &mut Effects<'_, Self>) {
        let GroupState::Loading(loading) = core::mem::replace(&mut self.group_state, GroupState::Loaded(state)) else {
            return;
        };
        out.note("MC-11", format_args!("has the state, of {} bytes", loading.bytes.len()));
        if let Phase::InView(view_state) = &self.phase {
            send_to_others(view_state.members(), Message::StateLoaded(loading.boundary), out);
        } else if let Phase::Flushing(flush) = &self.phase {
            send_to_others(flush.new_view.members(), Message::StateLoaded(loading.boundary), out);
        }
        for event in loading.backlog {
            self.report_to_client(event, out);
        }
    }

    /// Applies a delivery to the state, and reports a delivery or view to the client. A joiner
    /// buffers the event until it has the state, and a member that has left reports nothing.
    pub(super) fn report_to_client(&mut self, event: ClientEvent, out: &mut Effects<'_, Self>) {
        let group = self.plan().id;
        let has_left = self.leaving == Leaving::Left;
        match (&mut self.group_state, event) {
            (GroupState::Loading(loading), event) => loading.buffer(event),
            (GroupState::Loaded(state), ClientEvent::Message(id, payload)) => {
                state.apply(id, &payload);
                if let Some(view_state) = self.view_state() {
                    view_state.count_delivered(id);
                }
                if !has_left {
                    out.note("MC-3", format_args!("delivers {id}"));
                    out.emit(Event::Delivered { id, payload });
                }
            }
            (GroupState::Loaded(state), ClientEvent::View(view)) => {
                let digest = state.digest();
                out.note("MC-9", format_args!("begins {view}"));
                if !has_left {
                    out.emit(Event::View { group, view, state: digest });
                }
            }
        }
    }
}

fn digest_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(bytes.len() as u64, |hash, byte| scramble(hash ^ u64::from(*byte)))
}

/// Multicasts a message, unless the group has only one member.
pub(super) fn send_to_others<S: State>(members: &Group, message: Message, out: &mut Effects<'_, Member<S>>) {
    if members.len() > 1 {
        out.multicast(members, message);
    }
}
