//! State that all tasks of a node share.

use crate::frame::{HandshakeTerms, ProcessNonce};
use crate::rate_limited_log::RateLimitedLog;
use crate::settings::Limits;
use crate::tls::Security;
use quorate_core::Incarnation;

/// The configuration of this node and its process, and the log of events that remote hosts cause.
pub(crate) struct Context {
    pub(crate) terms: HandshakeTerms,
    pub(crate) incarnation: Incarnation,
    pub(crate) process_nonce: ProcessNonce,
    pub(crate) security: Security,
    pub(crate) limits: Limits,
    pub(crate) log: RateLimitedLog,
}
