//! Elections on the command line.

use super::{Around, Basics, FamilyArgs, Options, Present};
use crate::report::{Figures, Table, number};
use clap::{Args, ValueEnum};
use quorate_core::Duration;
use quorate_core::election::circuit;
use quorate_core::election::{Announce, Book, Case, Command, Counts, Event, Prefer, Repair, Shape, Starting};
use quorate_journal::moment::Moment;
use quorate_journal::settings::{Latency, Length, Level, Ppm};
use quorate_lab::election::run::{Attribute, Change, ElectionSummary, Seating, Starters, SuperPeers, change};
use quorate_lab::election::{Detector, Settings};
use quorate_lab::{Algorithm, Election, Spec};
use quorate_registry::ElectionEntry;
use std::io::{self, Write};

/// Options that only elections understand.
#[derive(Args)]
#[command(next_help_heading = "Options of elections")]
pub(crate) struct ElectionArgs {
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
    #[arg(long, value_enum, value_name = "END")]
    prefer: Option<PreferArg>,
    /// How a winner on a ring is made known; ring unless given.
    #[arg(long, value_enum, value_name = "HOW")]
    announce: Option<AnnounceArg>,
    /// How an election on a ring gets over a crash: not at all, by acknowledgements and timeouts, or by a failure detector;
    /// detector unless given.
    #[arg(long, value_enum, value_name = "HOW")]
    repair: Option<RepairArg>,
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
    #[arg(long, value_enum, value_name = "WHO")]
    detector: Option<DetectorArg>,
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

#[derive(Clone, Copy, ValueEnum)]
enum PreferArg {
    Highest,
    Lowest,
}

#[derive(Clone, Copy, ValueEnum)]
enum AnnounceArg {
    Ring,
    Multicast,
}

#[derive(Clone, Copy, ValueEnum)]
enum RepairArg {
    None,
    Timeout,
    Detector,
}

#[derive(Clone, Copy, ValueEnum)]
enum DetectorArg {
    Oracle,
    Heartbeat,
    Accrual,
    None,
}

impl From<DetectorArg> for Detector {
    fn from(detector: DetectorArg) -> Self {
        match detector {
            DetectorArg::Oracle => Self::Oracle,
            DetectorArg::Heartbeat => Self::Heartbeat,
            DetectorArg::Accrual => Self::Accrual,
            DetectorArg::None => Self::None,
        }
    }
}

impl From<PreferArg> for Prefer {
    fn from(prefer: PreferArg) -> Self {
        match prefer {
            PreferArg::Highest => Self::Highest,
            PreferArg::Lowest => Self::Lowest,
        }
    }
}

impl From<AnnounceArg> for Announce {
    fn from(announce: AnnounceArg) -> Self {
        match announce {
            AnnounceArg::Ring => Self::Ring,
            AnnounceArg::Multicast => Self::Multicast,
        }
    }
}

impl From<RepairArg> for Repair {
    fn from(repair: RepairArg) -> Self {
        match repair {
            RepairArg::None => Self::None,
            RepairArg::Timeout => Self::Timeout,
            RepairArg::Detector => Self::Detector,
        }
    }
}

impl Options for ElectionArgs {
    fn given(&self) -> Option<&'static str> {
        let given = [
            ("starters", self.starters.is_some()),
            ("order", self.order.is_some()),
            ("attribute", self.attribute.is_some()),
            ("prefer", self.prefer.is_some()),
            ("announce", self.announce.is_some()),
            ("repair", self.repair.is_some()),
            ("tell-lower", self.tell_lower),
            ("broadcast", self.broadcast),
            ("master-lease", self.master_lease.is_some()),
            ("master-drift-bound", self.master_drift_bound.is_some()),
            ("upheaval", self.upheaval.is_some()),
            ("detector", self.detector.is_some()),
            ("heartbeat", self.heartbeat.is_some()),
            ("silence", self.silence.is_some()),
            ("threshold", self.threshold.is_some()),
            ("id-bits", self.id_bits.is_some()),
            ("reserved-bits", self.reserved_bits.is_some()),
            ("load-bound", self.load_bound.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }

    fn workload(&self) -> Option<&'static str> {
        self.starters.as_ref().map(|_| "starters")
    }
}

impl ElectionArgs {
    /// These settings, changed as the options say: who starts and how the group elects.
    pub(crate) fn changed(&self, usual: Settings) -> anyhow::Result<Settings> {
        let detector = self.detector.map_or(usual.detector, Detector::from);
        self.check_detector(detector)?;
        Ok(Settings {
            starters: self.starters.clone().unwrap_or(usual.starters),
            order: self.order.clone().unwrap_or(usual.order),
            attribute: self.attribute.clone().unwrap_or(usual.attribute),
            prefer: self.prefer.map_or(usual.prefer, Prefer::from),
            announce: self.announce.map_or(usual.announce, Announce::from),
            repair: self.repair.map_or(usual.repair, Repair::from),
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

    /// Whether what is said of the detector is about the one that there is.
    fn check_detector(&self, detector: Detector) -> anyhow::Result<()> {
        let (heartbeat, accrual) = (Detector::Heartbeat, Detector::Accrual);
        anyhow::ensure!(
            self.heartbeat.is_none() || detector.beats(),
            "--heartbeat says how often nodes tell that they live, and without a detector they do not: add --detector heartbeat or \
             --detector accrual."
        );
        anyhow::ensure!(
            self.silence.is_none() || detector == heartbeat,
            "--silence is for detectors with a fixed bound: add --detector heartbeat."
        );
        anyhow::ensure!(
            self.threshold.is_none() || detector == accrual,
            "--threshold is for detectors that learn how heartbeats come: add --detector accrual."
        );
        Ok(())
    }
}

impl Present for Election {
    const EXAMPLE: &'static str = "The first of three nodes starts an election; one message time is 1 ms";
    const CONTROL: &'static str = "heartbeats, acknowledgements and repetitions";
    const ADVICE: &'static str = "--starters all or more --nodes";
    const PROGRESS: &'static str = "nodes know";

    fn changed(usual: Settings, args: &FamilyArgs, _basics: Basics) -> anyhow::Result<Settings> {
        args.election.changed(usual)
    }

    fn around(entry: &ElectionEntry) -> Option<Around> {
        let is_ring = entry.facts.shape == Shape::Ring;
        is_ring.then(|| Around { title: "Rules of the ring around it", about: circuit::about() })
    }

    /// No machine and no network promises how long a heartbeat takes; this is so long that a busy one seldom breaks it.
    fn for_real(settings: &mut Settings) -> anyhow::Result<()> {
        if settings.detector.beats() {
            let Length(period) = *settings.heartbeat.get_or_insert(Length(Duration::from_millis(100)));
            if settings.detector == Detector::Heartbeat {
                settings.silence.get_or_insert(Length(period + Duration::from_millis(250)));
            }
        }
        Ok(())
    }

    fn example(algorithm: Algorithm<Self>) -> Spec<Self> {
        let latency = Latency::Fixed(Duration::from_millis(1));
        Spec {
            latency,
            settings: Settings { starters: Starters::Lowest, ..Settings::default() },
            ..Spec::new(algorithm)
        }
    }

    fn figures(figures: &Figures<'_, Self>, table: &mut Table<'_>) -> io::Result<()> {
        let Figures { spec, summary, .. } = figures;
        let nobody = || "–".to_owned();
        if let Some(super_peers) = &summary.super_peers {
            tell_super_peers(super_peers, table)?;
        } else {
            table.row("leader", summary.leader.map_or_else(nobody, |leader| leader.to_string()), "")?;
            table.row("epoch", summary.epoch.map_or_else(nobody, |epoch| epoch.to_string()), "")?;
        }
        let book = case(spec).and_then(|case| (spec.algorithm.facts.cost.book)(&case));
        // Books announce round the ring.
        let is_in_book = |book: &Book| spec.settings.announce == Announce::Ring || book.counts == Counts::Election;
        let book = book.filter(is_in_book);
        let (alone, together) = match &book {
            Some(book @ Book { counts: Counts::Election, .. }) => (expected(book), String::new()),
            Some(book @ Book { counts: Counts::WithAnnouncement, .. }) => (String::new(), expected(book)),
            None => (String::new(), String::new()),
        };
        table.row("election messages", summary.election_messages.to_string(), &alone)?;
        table.row("announcement messages", summary.announcement_messages.to_string(), "")?;
        let all = summary.election_messages + summary.announcement_messages;
        table.row("both together", all.to_string(), &together)?;
        table.row("rounds", summary.rounds.to_string(), "")?;
        let time = match summary.time {
            Some(time) => format!("{} {}", number(Some(time)), summary.time_unit),
            None => nobody(),
        };
        table.row("time until all know", time, "")
    }

    fn not_judged(_figures: &Figures<'_, Self>, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn progress(_spec: &Spec<Self>, summary: &ElectionSummary) -> String {
        match (&summary.super_peers, summary.leader) {
            (Some(super_peers), _) => format!("; there are {} super-peers", super_peers.count),
            (None, Some(leader)) => format!("; everyone knows leader {leader}"),
            (None, None) => "; there is no leader that everyone knows".into(),
        }
    }

    fn goal(spec: &Spec<Self>) -> u64 {
        spec.nodes as u64
    }

    fn is_progress(moment: &Moment<'_, Command, Event>) -> bool {
        matches!(change(moment), Some((_, _, Change::Learns { .. })))
    }
}

/// Where each region has its own leader.
fn tell_super_peers(super_peers: &SuperPeers, table: &mut Table<'_>) -> io::Result<()> {
    let SuperPeers { id_bits, reserved_bits, count, expected, ratio, largest_load, mean_load, moved, must_move } =
        super_peers;
    table.row("bits of an id, reserved", format!("{id_bits}, {reserved_bits}"), "")?;
    table.row("super-peers", count.to_string(), &format!("{} on average", number(Some(*expected))))?;
    table.row("share of all nodes", number(*ratio), "")?;
    table.row("largest load", largest_load.to_string(), "")?;
    table.row("mean load", number(*mean_load), "")?;
    table.row("moves", moved.to_string(), &must_move.to_string())
}

/// The run as books know it, if nothing goes wrong once it has begun.
fn case(spec: &Spec<Election>) -> Option<Case> {
    let dead = quorate_lab::election::absent(spec).len();
    let live = spec.nodes - dead;
    let starting = match &spec.settings.starters {
        Starters::Lowest => Starting::Lowest,
        Starters::Highest => Starting::Highest,
        Starters::SuccessorOfHighest => Starting::One,
        Starters::All => Starting::All,
        Starters::Named(named) => match named.len() {
            1 => Starting::One,
            several => Starting::Several(several),
        },
    };
    let calm = spec.faults.iter().all(|timed| timed.at == Duration::ZERO)
        && spec.random_faults.is_empty()
        && spec.settings.upheaval == 0
        && spec.script.is_none();
    (calm && live > 1 && !spec.is_scripted()).then_some(Case { live, dead, starting })
}

/// What a book says, in a few words.
fn expected(book: &Book) -> String {
    let figure = |value: Option<f64>| number(value);
    match *book {
        Book { least, most, .. } if least == most => figure(most),
        Book { least: Some(least), mean, most, .. } => {
            let mean = mean.map_or_else(String::new, |mean| format!(", {} on average", figure(Some(mean))));
            format!("{} to {}{mean}", figure(Some(least)), figure(most))
        }
        Book { most, .. } => format!("at most {}", figure(most)),
    }
}
