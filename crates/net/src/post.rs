//! What leaves a node: encoded once, staged until the turn is over, then put on the links.

use crate::line::Line;
use crate::settings::Overflow;
use quorate_core::{Codec, Group, NodeId, Protocol};
use quorate_drive::Outlet;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) struct Post<P: Protocol, C> {
    pub(crate) me: NodeId,
    pub(crate) codec: C,
    pub(crate) overflow: Overflow,
    pub(crate) message_bytes: usize,
    pub(crate) stages: BTreeMap<NodeId, Stage>,
    pub(crate) events: Vec<P::Event>,
    scratch: Vec<u8>,
    pub(crate) own: Vec<(u64, P::Message)>,
    pub(crate) trouble: Option<Trouble>,
}

/// What waits for the end of the turn to go to one peer.
pub(crate) struct Stage {
    line: Arc<Line>,
    bytes: Vec<u8>,
    ends: Vec<(u64, usize)>,
}

/// A message that could not go out, in a protocol that assumes every one does.
#[derive(Clone, Debug)]
pub(crate) struct Trouble(pub(crate) String);

impl<P: Protocol, C: Codec<P>> Post<P, C> {
    pub(crate) fn new(me: NodeId, codec: C, overflow: Overflow, message_bytes: usize, lines: Lines) -> Self {
        let stage = |(node, line)| (node, Stage { line, bytes: Vec::new(), ends: Vec::new() });
        Self {
            me,
            codec,
            overflow,
            message_bytes,
            stages: lines.into_iter().map(stage).collect(),
            events: Vec::new(),
            scratch: Vec::new(),
            own: Vec::new(),
            trouble: None,
        }
    }

    /// The turn is over and recorded: everything goes on its link.
    pub(crate) fn leave(&mut self) -> Result<(), Trouble> {
        for (node, stage) in &mut self.stages {
            let Some(refused) = stage.leave() else { continue };
            let sentence = format!(
                "{refused} messages to node {node} found no place: it has not taken what waits for it already."
            );
            match self.overflow {
                Overflow::End => self.trouble = Some(Trouble(sentence)),
                Overflow::Drop => stage.line.complain_of_loss(refused, &sentence),
            }
        }
        self.trouble.take().map_or(Ok(()), Err)
    }

    /// Whether users should wait because a link is crowded.
    pub(crate) fn is_crowded(&self) -> bool {
        self.overflow == Overflow::End && self.stages.values().any(|stage| stage.line.is_crowded())
    }

    fn encode(&mut self, message: &P::Message) -> bool {
        self.scratch.clear();
        let reason = match self.codec.encode(message, &mut self.scratch) {
            Ok(()) if self.scratch.len() <= self.message_bytes => return true,
            Ok(()) => format!("it has {} bytes, and {} is the most", self.scratch.len(), self.message_bytes),
            Err(malformed) => malformed.to_string(),
        };
        let sentence = format!("A message cannot be sent: {reason}.");
        match self.overflow {
            Overflow::End => self.trouble = Some(Trouble(sentence)),
            Overflow::Drop => tracing::error!("{sentence} It is dropped."),
        }
        false
    }

    fn stage(&mut self, to: NodeId, number: u64) {
        // A node that is not in the group is as good as one that never answers.
        let Some(stage) = self.stages.get_mut(&to) else { return };
        stage.bytes.extend_from_slice(&self.scratch);
        stage.ends.push((number, stage.bytes.len()));
    }
}

pub(crate) type Lines = BTreeMap<NodeId, Arc<Line>>;

impl<P: Protocol, C: Codec<P>> Outlet<P> for Post<P, C> {
    fn send(&mut self, to: NodeId, number: u64, message: P::Message) {
        if to == self.me {
            self.own.push((number, message));
        } else if self.encode(&message) {
            self.stage(to, number);
        }
    }

    fn multicast(&mut self, to: &Group, first: u64, message: P::Message) {
        if self.encode(&message) {
            let me = self.me;
            (first..).zip(to.others(me)).for_each(|(number, to)| self.stage(to, number));
        }
    }

    fn emit(&mut self, event: P::Event) {
        self.events.push(event);
    }
}

impl Stage {
    /// Puts everything on the link. Tells how many messages found no place, if any.
    fn leave(&mut self) -> Option<usize> {
        if self.ends.is_empty() {
            return None;
        }
        let refused = self.line.push_all(&self.bytes, &self.ends);
        self.bytes.clear();
        self.ends.clear();
        (refused > 0).then_some(refused)
    }
}
