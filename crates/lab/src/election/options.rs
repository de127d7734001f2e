//! Options that only elections understand.

use super::run::{Attribute, Seating, Starters};
use super::{Detector, Election, ElectionError, Settings};
use crate::error::{LabError, first_mistake};
use crate::family::OptionsFamily;
use crate::options::{Basics, Options, first_given, one_of};
use crate::registry::FamilyArgs;
use clap::Args;
use quorate_core::Duration;
use quorate_core::election::{Announce, Prefer, Repair};
use quorate_journal::settings::{Length, Level, Ppm};

/// Options that only elections understand.
#[derive(Args)]
#[command(next_help_heading = "Options of elections")]
pub struct ElectionArgs {
    /// Who starts, of the nodes that are up: lowest, highest, all, successor-of-highest, or nodes such as 2,5; all unless
    /// given.
    #[arg(long, value_name = "WHO")]
    starters: Option<Starters>,
    /// In which order nodes sit round a ring: numbers, random, or all of them such as 3,1,2; numbers unless given.
    #[arg(long, value_name = "NODES")]
    order: Option<Seating>,
    /// What is compared: id, random, or one number for each node such as 40,5,70 (disk space, 1/load); id unless given.
    #[arg(long, value_name = "WHAT")]
    attribute: Option<Attribute>,
    /// Which end of the order wins; highest unless given.
    #[arg(long, value_name = "END", value_parser = one_of(PREFER))]
    prefer: Option<Prefer>,
    /// How a winner on a ring is made known; ring unless given.
    #[arg(long, value_name = "HOW", value_parser = one_of(ANNOUNCE))]
    announce: Option<Announce>,
    /// How an election on a ring gets over a crash: not at all, by acknowledgements and timeouts, or by a failure detector;
    /// detector unless given.
    #[arg(long, value_name = "HOW", value_parser = one_of(REPAIR))]
    repair: Option<Repair>,
    /// A bully tells lower nodes that an election is under way.
    #[arg(long)]
    tell_lower: bool,
    /// A bully that has won tells everyone, higher nodes included.
    #[arg(long)]
    broadcast: bool,
    /// For how long a vote for a master binds; twenty round trips unless given.
    #[arg(long, value_name = "LENGTH")]
    master_lease: Option<Length>,
    /// How much faster or slower than true time clocks are taken to run at most, where masters have leases; 1000ppm unless given.
    #[arg(long, value_name = "DRIFT")]
    master_drift_bound: Option<Ppm>,
    /// So many nodes crash and come back, chosen by the seed, while more than half of the group stays up.
    #[arg(long, value_name = "COUNT")]
    upheaval: Option<u64>,
    /// Who tells nodes that another one is dead: somebody who knows, heartbeats with a fixed bound, heartbeats and what a node's own
    /// pace makes unlikely, or nobody; oracle unless given.
    #[arg(long, value_name = "WHO", value_parser = one_of(DETECTORS))]
    detector: Option<Detector>,
    /// From one heartbeat to the next; ten message times unless given.
    #[arg(long, value_name = "LENGTH")]
    heartbeat: Option<Length>,
    /// For how long a node may be silent before --detector heartbeat takes it for dead; a heartbeat and what may delay it unless given.
    #[arg(long, value_name = "LENGTH")]
    silence: Option<Length>,
    /// At which level of suspicion --detector accrual takes a node for dead, from 0.5 to 20; 8 unless given.
    #[arg(long, value_name = "LEVEL")]
    threshold: Option<Level>,
    /// How many bits ids have in an overlay whose regions have super-peers; 32 unless given.
    #[arg(long, value_name = "COUNT")]
    id_bits: Option<u32>,
    /// How many of these bits name a region, which has one super-peer; 3 unless given.
    #[arg(long, value_name = "COUNT")]
    reserved_bits: Option<u32>,
    /// How many others a super-peer may have to serve: as few bits name a region as keep that bound in this group.
    #[arg(long, value_name = "COUNT", conflicts_with = "reserved_bits")]
    load_bound: Option<usize>,
}

const PREFER: [(&str, Prefer); 2] = [("highest", Prefer::Highest), ("lowest", Prefer::Lowest)];
const ANNOUNCE: [(&str, Announce); 2] = [("ring", Announce::Ring), ("multicast", Announce::Multicast)];
const REPAIR: [(&str, Repair); 3] =
    [("none", Repair::None), ("timeout", Repair::Timeout), ("detector", Repair::Detector)];
const DETECTORS: [(&str, Detector); 4] = [
    ("oracle", Detector::Oracle),
    ("heartbeat", Detector::Heartbeat),
    ("accrual", Detector::Accrual),
    ("none", Detector::None),
];

impl Options for ElectionArgs {
    fn given(&self) -> Option<&'static str> {
        first_given!(
            self; starters, order, attribute, prefer, announce, repair, tell_lower = "tell-lower", broadcast,
            master_lease = "master-lease", master_drift_bound = "master-drift-bound", upheaval, detector, heartbeat,
            silence, threshold, id_bits = "id-bits", reserved_bits = "reserved-bits", load_bound = "load-bound"
        )
    }

    fn workload(&self) -> Option<&'static str> {
        self.starters.as_ref().map(|_| "starters")
    }
}

impl ElectionArgs {
    pub(crate) fn changed(&self, usual: Settings) -> Result<Settings, LabError> {
        let detector = self.detector.unwrap_or(usual.detector);
        self.check_detector(detector)?;
        Ok(Settings {
            starters: self.starters.clone().unwrap_or(usual.starters),
            order: self.order.clone().unwrap_or(usual.order),
            attribute: self.attribute.clone().unwrap_or(usual.attribute),
            prefer: self.prefer.unwrap_or(usual.prefer),
            announce: self.announce.unwrap_or(usual.announce),
            repair: self.repair.unwrap_or(usual.repair),
            tell_lower: self.tell_lower || usual.tell_lower,
            broadcast: self.broadcast || usual.broadcast,
            lease: self.master_lease.or(usual.lease),
            drift_ppm: self.master_drift_bound.map(|bound| bound.parts().unsigned_abs()).or(usual.drift_ppm),
            upheaval: self.upheaval.unwrap_or(usual.upheaval),
            detector,
            heartbeat: self.heartbeat.or(usual.heartbeat),
            silence: self.silence.or(usual.silence),
            threshold: self.threshold.or(usual.threshold),
            id_bits: self.id_bits.or(usual.id_bits),
            reserved_bits: self.reserved_bits.or(usual.reserved_bits),
            load_bound: self.load_bound.or(usual.load_bound),
        })
    }

    fn check_detector(&self, detector: Detector) -> Result<(), ElectionError> {
        first_mistake([
            (self.heartbeat.is_some() && !detector.beats(), ElectionError::NoHeartbeats),
            (self.silence.is_some() && detector != Detector::Heartbeat, ElectionError::NoFixedBound),
            (self.threshold.is_some() && detector != Detector::Accrual, ElectionError::NoAccrual),
        ])
    }
}

impl OptionsFamily for Election {
    type Args = ElectionArgs;

    fn changed(usual: Settings, args: &FamilyArgs, _basics: Basics) -> Result<Settings, LabError> {
        args.election.changed(usual)
    }

    /// No machine and no network promises how long a heartbeat takes; this is so long that a busy one seldom breaks it.
    fn for_real(settings: &mut Settings) {
        if settings.detector.beats() {
            let Length(period) = *settings.heartbeat.get_or_insert(Length(Duration::from_millis(100)));
            if settings.detector == Detector::Heartbeat {
                settings.silence.get_or_insert(Length(period + Duration::from_millis(250)));
            }
        }
    }
}
