//! Messages and timers of a member of a view.

use crate::wrap::prelude::*;
use core::fmt;

/// A message with the epoch of its view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Envelope<M, R> {
    pub epoch: Epoch,
    pub content: Content<M, R>,
}

/// A message of the inner protocol, or a report at the start of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Content<M, R> {
    Inner(M),
    /// The sender's report on the state in which earlier views left it.
    Report(R),
}

impl<M: Describe, R> Describe for Envelope<M, R> {
    fn kind(&self) -> &'static str {
        match &self.content {
            Content::Inner(message) => message.kind(),
            Content::Report(_) => "report",
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        match &self.content {
            Content::Inner(message) => message.label(),
            Content::Report(_) => None,
        }
    }

    fn class(&self) -> Class {
        match &self.content {
            Content::Inner(message) => message.class(),
            Content::Report(_) => Class::Control,
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match &self.content {
            Content::Inner(message) => message.on_behalf_of(),
            Content::Report(_) => None,
        }
    }

    fn payload_id(&self) -> Option<PayloadId> {
        match &self.content {
            Content::Inner(message) => message.payload_id(),
            Content::Report(_) => None,
        }
    }

    fn is_retransmission(&self) -> bool {
        match &self.content {
            Content::Inner(message) => message.is_retransmission(),
            Content::Report(_) => false,
        }
    }

    fn is_wrapped(&self) -> bool {
        match &self.content {
            Content::Inner(message) => message.is_wrapped(),
            Content::Report(_) => false,
        }
    }
}

/// The timers of a member of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum ViewedTimer<T> {
    /// Fires when the lease ends.
    Lease,
    /// A timer that the inner protocol set in this view.
    Inner(Epoch, T),
}
