//! What all tasks of a node know.

use crate::complaints::Complaints;
use crate::frame::{Birth, Terms};
use crate::settings::Limits;
use crate::tls::Security;
use quorate_core::Incarnation;

pub(crate) struct Context {
    pub(crate) terms: Terms,
    pub(crate) incarnation: Incarnation,
    pub(crate) birth: Birth,
    pub(crate) security: Security,
    pub(crate) limits: Limits,
    pub(crate) complaints: Complaints,
}
