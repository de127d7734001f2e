//! Command-line options of deadlock detectors.

use super::run::{AcquireMode, WaitMode};
use super::{Deadlock, Settings};
use crate::error::LabError;
use crate::family::OptionsFamily;
use crate::options::{CommonOptions, Options, first_given, parse_one_of, parse_whole};
use crate::registry::FamilyArgs;
use clap::Args;
use quorate_core::deadlock::Policy;
use quorate_journal::settings::{Latency, Length};

/// Options that only deadlock detectors accept.
#[derive(Args)]
#[command(next_help_heading = "Options of deadlocks")]
pub struct DeadlockArgs {
    /// Number of processes on all nodes [default: one per node]
    #[arg(long, value_name = "COUNT", value_parser = parse_whole::<usize>)]
    processes: Option<usize>,
    /// Number of resources, each a lock that one node coordinates. Without resources, processes
    /// send requests to each other.
    #[arg(long, value_name = "COUNT", value_parser = parse_whole::<usize>)]
    resources: Option<usize>,
    /// Number of requests per process, or of rounds in which it acquires its resources [default: 1]
    #[arg(long, value_name = "COUNT", value_parser = parse_whole::<u64>)]
    asks: Option<u64>,
    /// Maximum number of agents (processes or resources) in a request, or of resources that a
    /// process acquires [default: 2]
    #[arg(long, value_name = "COUNT", value_parser = parse_whole::<usize>)]
    fan_out: Option<usize>,
    /// Whether a process waits for all requested agents or for any of them. The default depends on
    /// the detector.
    #[arg(long, value_name = "MODE", value_parser = parse_one_of(WAIT_MODES))]
    waits_for: Option<WaitMode>,
    /// How a process acquires resources: one after the other in any order, in an order that all
    /// processes share, or all at once [default: any-order]
    #[arg(long, alias = "taking", value_name = "MODE", value_parser = parse_one_of(ACQUIRE_MODES))]
    acquire: Option<AcquireMode>,
    /// Probability in percent that a process sends a request when it can [default: 100]
    #[arg(long, value_name = "PERCENT", value_parser = parse_whole::<u64>)]
    share: Option<u64>,
    /// How long a process runs before it sends a request [default: up to four message times]
    #[arg(long, alias = "asks-after", value_name = "LATENCY")]
    request_after: Option<Latency>,
    /// How long a process holds what others wait for [default: up to four message times]
    #[arg(long, alias = "lets-go-after", value_name = "LATENCY")]
    release_after: Option<Latency>,
    /// Policy that chooses the victim of a deadlock [default: no victim]
    #[arg(long, value_name = "POLICY", value_parser = parse_one_of(Policy::ALL.map(|policy| (policy.name(), policy))))]
    victim: Option<Policy>,
    /// Priorities of the processes, such as 3,1,2. Processes beyond the list have the lowest, 0.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = parse_whole::<u32>)]
    priorities: Vec<u32>,
    /// How long a process waits before it starts a detection [default: 0ms]
    #[arg(long, alias = "looks-after", value_name = "DURATION")]
    detect_after: Option<Length>,
}

const WAIT_MODES: [(&str, WaitMode); 3] = [("all", WaitMode::All), ("any", WaitMode::Any), ("mixed", WaitMode::Mixed)];
const ACQUIRE_MODES: [(&str, AcquireMode); 3] =
    [("any-order", AcquireMode::AnyOrder), ("in-order", AcquireMode::InOrder), ("at-once", AcquireMode::AtOnce)];

impl DeadlockArgs {
    /// Returns `defaults` with the changes that these options request.
    pub(crate) fn applied_to(&self, defaults: Settings) -> Settings {
        Settings {
            processes: self.processes.or(defaults.processes),
            resources: self.resources.unwrap_or(defaults.resources),
            rounds: self.asks.unwrap_or(defaults.rounds),
            fan_out: self.fan_out.unwrap_or(defaults.fan_out),
            wait_mode: self.waits_for.or(defaults.wait_mode),
            acquire_mode: self.acquire.unwrap_or(defaults.acquire_mode),
            request_percent: self.share.unwrap_or(defaults.request_percent),
            think: self.request_after.or(defaults.think),
            hold: self.release_after.or(defaults.hold),
            victim: self.victim.or(defaults.victim),
            priorities: if self.priorities.is_empty() { defaults.priorities } else { self.priorities.clone() },
            patience: self.detect_after.or(defaults.patience),
        }
    }

    pub(crate) fn has_fan_out(&self) -> bool {
        self.fan_out.is_some()
    }

    /// The first given option about when or how often processes request or release. Checks do not
    /// support these.
    pub(crate) fn not_applicable_to_checks(&self) -> Option<&'static str> {
        first_given!(self; asks, share, request_after = "request-after", release_after = "release-after")
    }
}

impl Options for DeadlockArgs {
    fn first_given(&self) -> Option<&'static str> {
        let other = first_given!(
            self; processes, resources, fan_out = "fan-out", waits_for = "waits-for", acquire, victim, priorities,
            detect_after = "detect-after"
        );
        other.or_else(|| self.not_applicable_to_checks())
    }

    fn first_workload_option(&self) -> Option<&'static str> {
        self.not_applicable_to_checks()
    }
}

impl OptionsFamily for Deadlock {
    type Args = DeadlockArgs;

    fn with_options(defaults: Settings, args: &FamilyArgs, _common: CommonOptions) -> Result<Settings, LabError> {
        Ok(args.deadlock.applied_to(defaults))
    }

    fn adapt_to_manual_use(settings: &mut Settings) {
        settings.rounds = 0;
    }
}
