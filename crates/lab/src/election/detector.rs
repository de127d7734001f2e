//! Failure detectors of elections.

use super::{Election, ElectionError, ElectionNode, Settings};
use crate::error::LabError;
use crate::spec::Spec;
use quorate_core::wrap::{self, Watched};
use quorate_core::{Duration, NodeId};
use quorate_erased::Erased;
use quorate_journal::settings::{Length, Level};
use serde::{Deserialize, Serialize};

/// The failure detector of an election.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Detector {
    /// A perfect detector without messages. The simulator reports each crash to the other nodes.
    /// Between real processes, a node learns of a crash when the kernel of the peer's machine
    /// refuses connections, because the process has ended.
    #[default]
    Oracle,
    /// Heartbeats, with a fixed timeout.
    Heartbeat,
    /// Heartbeats, with a timeout that adapts to the observed intervals.
    Accrual,
    None,
}

impl Detector {
    pub const fn sends_heartbeats(self) -> bool {
        matches!(self, Self::Heartbeat | Self::Accrual)
    }
}

/// Default interval between heartbeats, in message times.
const DEFAULT_PERIOD: u64 = 10;

/// The detector to wrap nodes in; `None` if there is no detector, or if it is the oracle, which
/// reports to nodes without a wrapper.
pub(super) fn wrapper_detector(spec: &Spec<Election>) -> Option<wrap::Detector> {
    let Settings { detector, silence, threshold, .. } = &spec.settings;
    let period = period(spec);
    match detector {
        Detector::Oracle | Detector::None => None,
        Detector::Heartbeat => Some(match silence {
            Some(Length(silence)) => {
                // The wrapper suspects a peer after a period and the bound; `silence` is their sum.
                let bound = Duration::from_nanos(silence.nanos().saturating_sub(period.nanos()));
                wrap::Detector::FixedBound { period, bound }
            }
            None => wrap::Detector::perfect(period, &spec.environment().bounds, spec.nodes),
        }),
        Detector::Accrual => {
            let Level(threshold) = threshold.unwrap_or_default();
            Some(wrap::Detector::accrual(period, threshold))
        }
    }
}

/// The interval between heartbeats; zero without heartbeats.
pub(super) fn period(spec: &Spec<Election>) -> Duration {
    let Settings { detector, heartbeat, .. } = &spec.settings;
    match heartbeat {
        _ if !detector.sends_heartbeats() => Duration::ZERO,
        Some(Length(period)) => *period,
        None => spec.message_time().times(DEFAULT_PERIOD),
    }
}

/// Wraps nodes in the detector of the settings. The detector is outside of reliable links, if there
/// are any, so lost heartbeats are not retransmitted.
pub(super) fn with_detector<M>(
    spec: &Spec<Election>,
    make_node: M,
) -> impl Fn(NodeId) -> ElectionNode + Send + Sync + 'static + use<M>
where
    M: Fn(NodeId) -> ElectionNode + Send + Sync + 'static,
{
    let (detector, group) = (wrapper_detector(spec), spec.group());
    move |me| match detector {
        Some(detector) => Erased::from_wrapper(Watched::new(me, group.clone(), make_node(me), detector)),
        None => make_node(me),
    }
}

pub(super) fn validate(spec: &Spec<Election>) -> Result<(), LabError> {
    let Settings { detector, heartbeat, silence, .. } = &spec.settings;
    if let (true, Some(Length(Duration::ZERO))) = (detector.sends_heartbeats(), heartbeat) {
        return Err(ElectionError::ZeroHeartbeat.into());
    }
    let period = period(spec);
    match silence {
        Some(silence) if *detector == Detector::Heartbeat && silence.0 < period => {
            Err(ElectionError::SilenceTooShort { silence: *silence, period: Length(period) }.into())
        }
        Some(_) | None => Ok(()),
    }
}
