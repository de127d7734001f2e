//! The commands, one file each.

pub(crate) mod armies;
pub(crate) mod bank;
pub(crate) mod berkeley;
pub(crate) mod certs;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod demo;
pub(crate) mod demonstration;
pub(crate) mod detector;
pub(crate) mod draw;
pub(crate) mod explain;
pub(crate) mod gallery;
pub(crate) mod list;
pub(crate) mod live;
pub(crate) mod local;
pub(crate) mod node;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod shrink;
pub(crate) mod sim;
pub(crate) mod sweep;
pub(crate) mod trace;
pub(crate) mod voting_risk;
pub(crate) mod wait_for;
