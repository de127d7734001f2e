//! Options that only detectors of deadlocks understand.

use super::run::{Asking, Taking};
use super::{Deadlock, Settings};
use crate::error::LabError;
use crate::family::OptionsFamily;
use crate::options::{Basics, Options, first_given, one_of, whole};
use crate::registry::FamilyArgs;
use clap::Args;
use quorate_core::deadlock::Policy;
use quorate_journal::settings::{Latency, Length};

/// Options that only detectors of deadlocks understand.
#[derive(Args)]
#[command(next_help_heading = "Options of deadlocks")]
pub struct DeadlockArgs {
    /// How many processes there are on all nodes; one each unless given.
    #[arg(long, value_name = "COUNT", value_parser = whole::<usize>)]
    processes: Option<usize>,
    /// How many resources there are to take, each a central lock with its own coordinator; without any, processes ask each other.
    #[arg(long, value_name = "COUNT", value_parser = whole::<usize>)]
    resources: Option<usize>,
    /// How often each process asks, or takes all it needs; once unless given.
    #[arg(long, value_name = "COUNT", value_parser = whole::<u64>)]
    asks: Option<u64>,
    /// How many others a process asks at most, or how many resources it takes; 2 unless given.
    #[arg(long, value_name = "COUNT", value_parser = whole::<usize>)]
    fan_out: Option<usize>,
    /// Whether a process waits for all whom it asks or for any of them; as its detector understands it unless given.
    #[arg(long, value_name = "WHOM", value_parser = one_of(ASKING))]
    waits_for: Option<Asking>,
    /// How a process takes resources: one after the other in any order, all processes in the same order, or all at once.
    #[arg(long, value_name = "HOW", value_parser = one_of(TAKING))]
    taking: Option<Taking>,
    /// Out of a hundred times, how often a process asks when it could; always unless given.
    #[arg(long, value_name = "PERCENT", value_parser = whole::<u64>)]
    share: Option<u64>,
    /// How long a process runs before it asks; up to four message times unless given.
    #[arg(long, value_name = "LATENCY")]
    asks_after: Option<Latency>,
    /// How long it keeps what others wait for; up to four message times unless given.
    #[arg(long, value_name = "LATENCY")]
    lets_go_after: Option<Latency>,
    /// Who gives up where there is a deadlock; nobody unless given.
    #[arg(long, value_name = "POLICY", value_parser = one_of(Policy::ALL.map(|policy| (policy.name(), policy))))]
    victim: Option<Policy>,
    /// How much each process matters, such as 3,1,2; those that are missing matter least.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = whole::<u32>)]
    priorities: Vec<u32>,
    /// How long a process waits before it has a look; it looks at once unless given.
    #[arg(long, value_name = "LENGTH")]
    looks_after: Option<Length>,
}

const ASKING: [(&str, Asking); 3] = [("all", Asking::All), ("any", Asking::Any), ("mixed", Asking::Mixed)];
const TAKING: [(&str, Taking); 3] =
    [("any-order", Taking::AnyOrder), ("in-order", Taking::InOrder), ("at-once", Taking::AtOnce)];

impl DeadlockArgs {
    pub(crate) fn changed(&self, usual: Settings) -> Settings {
        Settings {
            processes: self.processes.or(usual.processes),
            resources: self.resources.unwrap_or(usual.resources),
            rounds: self.asks.unwrap_or(usual.rounds),
            fan_out: self.fan_out.unwrap_or(usual.fan_out),
            asking: self.waits_for.or(usual.asking),
            taking: self.taking.unwrap_or(usual.taking),
            share: self.share.unwrap_or(usual.share),
            think: self.asks_after.or(usual.think),
            hold: self.lets_go_after.or(usual.hold),
            victim: self.victim.or(usual.victim),
            priorities: if self.priorities.is_empty() { usual.priorities } else { self.priorities.clone() },
            patience: self.looks_after.or(usual.patience),
        }
    }

    pub(crate) fn has_fan_out(&self) -> bool {
        self.fan_out.is_some()
    }

    /// The first option given that says when processes ask, and so means nothing where every order is tried.
    pub(crate) fn not_applicable_to_checks(&self) -> Option<&'static str> {
        first_given!(self; asks, share, asks_after = "asks-after", lets_go_after = "lets-go-after")
    }
}

impl Options for DeadlockArgs {
    fn given(&self) -> Option<&'static str> {
        let other = first_given!(
            self; processes, resources, fan_out = "fan-out", waits_for = "waits-for", taking, victim, priorities,
            looks_after = "looks-after"
        );
        other.or_else(|| self.not_applicable_to_checks())
    }

    fn workload(&self) -> Option<&'static str> {
        self.not_applicable_to_checks()
    }
}

impl OptionsFamily for Deadlock {
    type Args = DeadlockArgs;

    fn changed(usual: Settings, args: &FamilyArgs, _basics: Basics) -> Result<Settings, LabError> {
        Ok(args.deadlock.changed(usual))
    }

    fn by_hand(settings: &mut Settings) {
        settings.rounds = 0;
    }
}
