//! Command-line options of elections.

use super::run::{Attribute, RingOrder, Starters};
use super::{Detector, Election, ElectionError, Settings};
use crate::error::{LabError, first_error};
use crate::family::OptionsFamily;
use crate::options::{CommonOptions, Options, first_given, parse_one_of, parse_whole};
use crate::registry::FamilyArgs;
use clap::Args;
use quorate_core::Duration;
use quorate_core::election::{AnnouncementMode, Preference, Repair};
use quorate_journal::settings::{Length, Level, Ppm};

/// Options that only elections accept.
#[derive(Args)]
#[command(next_help_heading = "Options of elections")]
pub struct ElectionArgs {
    /// Nodes that start elections, among those that are up: lowest, highest, all,
    /// successor-of-highest, or nodes such as 2,5 [default: all]
    #[arg(long, value_name = "NODES")]
    starters: Option<Starters>,
    /// Order of nodes on a ring: numbers (by id), random, or all nodes such as 3,1,2 [default:
    /// numbers]
    #[arg(long, value_name = "NODES")]
    order: Option<RingOrder>,
    /// The attribute that ranks nodes: id, random, or one number per node such as 40,5,70 (for
    /// example its free disk space) [default: id]
    #[arg(long, value_name = "ATTRIBUTE")]
    attribute: Option<Attribute>,
    /// The end of the ranking that wins [default: highest]
    #[arg(long, value_name = "END", value_parser = parse_one_of(PREFER))]
    prefer: Option<Preference>,
    /// How a ring announces the winner [default: ring]
    #[arg(long, value_name = "MODE", value_parser = parse_one_of(ANNOUNCE))]
    announce: Option<AnnouncementMode>,
    /// How an election on a ring handles a crash: not at all, by acknowledgements and timeouts, or
    /// by a failure detector [default: detector]
    #[arg(long, value_name = "MODE", value_parser = parse_one_of(REPAIR))]
    repair: Option<Repair>,
    /// A bully node notifies lower nodes of a running election.
    #[arg(long)]
    tell_lower: bool,
    /// A bully node that has won notifies all nodes, including higher ones.
    #[arg(long)]
    broadcast: bool,
    /// Duration for which a vote for a leader binds the voter [default: twenty round trips]
    #[arg(long, alias = "master-lease", value_name = "DURATION")]
    leader_lease: Option<Length>,
    /// Assumed maximum deviation of a clock's rate from true time, for leaders with leases
    /// [default: 1000ppm]
    #[arg(long, alias = "master-drift-bound", value_name = "DRIFT")]
    leader_drift_bound: Option<Ppm>,
    /// Number of crashes, each followed by a restart; the seed chooses the nodes and the times. A
    /// majority of the group stays up [default: 0]
    #[arg(long, alias = "upheaval", value_name = "COUNT", value_parser = parse_whole::<u64>)]
    churn: Option<u64>,
    /// The failure detector: oracle (perfect), heartbeat (fixed timeout), accrual (adaptive
    /// timeout) or none [default: oracle]
    #[arg(long, value_name = "DETECTOR", value_parser = parse_one_of(DETECTORS))]
    detector: Option<Detector>,
    /// Interval between heartbeats [default: ten times the delay of a message; 100ms between real
    /// processes]
    #[arg(long, value_name = "DURATION")]
    heartbeat: Option<Length>,
    /// Silence after which --detector heartbeat suspects a node [default: the heartbeat interval
    /// plus the longest delay of a message; plus 250ms between real processes]
    #[arg(long, value_name = "DURATION")]
    silence: Option<Length>,
    /// Suspicion level at which --detector accrual suspects a node, from 0.5 to 20 [default: 8]
    #[arg(long, value_name = "LEVEL")]
    threshold: Option<Level>,
    /// Number of bits of an id, in an overlay whose regions have super-peers [default: 32]
    #[arg(long, value_name = "COUNT", value_parser = parse_whole::<u32>)]
    id_bits: Option<u32>,
    /// Number of these bits that identify a region, which has one super-peer [default: 3]
    #[arg(long, value_name = "COUNT", value_parser = parse_whole::<u32>)]
    reserved_bits: Option<u32>,
    /// Maximum number of nodes that a super-peer serves. The run uses the smallest number of
    /// reserved bits that keeps this bound.
    #[arg(long, value_name = "COUNT", value_parser = parse_whole::<usize>, conflicts_with = "reserved_bits")]
    load_bound: Option<usize>,
}

const PREFER: [(&str, Preference); 2] = [("highest", Preference::Highest), ("lowest", Preference::Lowest)];
const ANNOUNCE: [(&str, AnnouncementMode); 2] =
    [("ring", AnnouncementMode::Ring), ("multicast", AnnouncementMode::Multicast)];
const REPAIR: [(&str, Repair); 3] =
    [("none", Repair::None), ("timeout", Repair::Timeout), ("detector", Repair::Detector)];
const DETECTORS: [(&str, Detector); 4] = [
    ("oracle", Detector::Oracle),
    ("heartbeat", Detector::Heartbeat),
    ("accrual", Detector::Accrual),
    ("none", Detector::None),
];

impl Options for ElectionArgs {
    fn first_given(&self) -> Option<&'static str> {
        first_given!(
            self; starters, order, attribute, prefer, announce, repair, tell_lower = "tell-lower", broadcast,
            leader_lease = "leader-lease", leader_drift_bound = "leader-drift-bound", churn, detector, heartbeat,
            silence, threshold, id_bits = "id-bits", reserved_bits = "reserved-bits", load_bound = "load-bound"
        )
    }

    fn first_workload_option(&self) -> Option<&'static str> {
        self.starters.as_ref().map(|_| "starters")
    }
}

impl ElectionArgs {
    /// Returns `defaults` with the changes that these options request.
    pub(crate) fn applied_to(&self, defaults: Settings) -> Result<Settings, LabError> {
        let detector = self.detector.unwrap_or(defaults.detector);
        self.check_detector(detector)?;
        Ok(Settings {
            starters: self.starters.clone().unwrap_or(defaults.starters),
            order: self.order.clone().unwrap_or(defaults.order),
            attribute: self.attribute.clone().unwrap_or(defaults.attribute),
            prefer: self.prefer.unwrap_or(defaults.prefer),
            announce: self.announce.unwrap_or(defaults.announce),
            repair: self.repair.unwrap_or(defaults.repair),
            tell_lower: self.tell_lower || defaults.tell_lower,
            broadcast: self.broadcast || defaults.broadcast,
            lease: self.leader_lease.or(defaults.lease),
            drift_ppm: self.leader_drift_bound.map(|bound| bound.parts().unsigned_abs()).or(defaults.drift_ppm),
            crashes: self.churn.unwrap_or(defaults.crashes),
            detector,
            heartbeat: self.heartbeat.or(defaults.heartbeat),
            silence: self.silence.or(defaults.silence),
            threshold: self.threshold.or(defaults.threshold),
            id_bits: self.id_bits.or(defaults.id_bits),
            reserved_bits: self.reserved_bits.or(defaults.reserved_bits),
            load_bound: self.load_bound.or(defaults.load_bound),
        })
    }

    fn check_detector(&self, detector: Detector) -> Result<(), ElectionError> {
        first_error([
            (self.heartbeat.is_some() && !detector.sends_heartbeats(), ElectionError::HeartbeatWithoutDetector),
            (self.silence.is_some() && detector != Detector::Heartbeat, ElectionError::SilenceWithoutFixedTimeout),
            (self.threshold.is_some() && detector != Detector::Accrual, ElectionError::ThresholdWithoutAccrual),
        ])
    }
}

impl OptionsFamily for Election {
    type Args = ElectionArgs;

    fn with_options(defaults: Settings, args: &FamilyArgs, _common: CommonOptions) -> Result<Settings, LabError> {
        args.election.applied_to(defaults)
    }

    /// Sets timeouts for real processes. Networks have no delay bound, so a busy machine may still
    /// exceed these timeouts, but rarely.
    fn adapt_to_real_processes(settings: &mut Settings) {
        if settings.detector.sends_heartbeats() {
            let Length(period) = *settings.heartbeat.get_or_insert(Length(Duration::from_millis(100)));
            if settings.detector == Detector::Heartbeat {
                settings.silence.get_or_insert(Length(period + Duration::from_millis(250)));
            }
        }
    }
}
