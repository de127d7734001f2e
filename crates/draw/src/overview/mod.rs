//! Summaries over time of runs that are too long for a space-time diagram.
//!
//! Time is divided into bins. As the run continues, adjacent bins are merged, so there are never
//! more than a few hundred.

mod builder;
mod text;

pub use builder::OverviewBuilder;
pub use text::{Ink, draw as draw_text};

use crate::scene::{Band, Heading, Omitted, Violation};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::role::Role;

/// A summary of a run over time.
#[derive(Clone, Debug)]
pub struct Overview {
    pub heading: Heading,
    /// The time displayed as 0.
    pub origin: Time,
    pub from: Time,
    pub to: Time,
    /// Width of a bin.
    pub bin_width: Duration,
    /// Counts per bin. The first bin starts at `from`, the last one contains `to`.
    pub bins: Vec<Bin>,
    pub rows: Vec<NodeRow>,
    /// Number of nodes without a row, because there are too many. The bins include their activity.
    pub nodes_without_row: usize,
    /// Lasting faults: partitions, link faults, full disks; the first ones if there are very many.
    pub bands: Vec<Band>,
    pub violations: Vec<Violation>,
    pub total: Bin,
    pub omitted: Omitted,
}

/// Counts of the events during one bin of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    pub steps: u64,
    /// Messages sent that are not control messages; a multicast counts once per receiver.
    pub messages: u64,
    /// Control messages sent, such as acknowledgements and heartbeats.
    pub control_messages: u64,
    /// Messages of either kind that were lost.
    pub lost_messages: u64,
    /// Number of times a node became chosen: entered the critical section or was elected.
    pub times_chosen: u64,
    pub crashes: u64,
}

impl Overview {
    /// Returns the violations within the time shown.
    pub fn shown_violations(&self) -> Vec<&Violation> {
        self.violations.iter().filter(|violation| (self.from..=self.to).contains(&violation.time)).collect()
    }

    /// Returns the totals as text, with counts formatted by `format_count`.
    pub fn totals(&self, format_count: impl Fn(u64) -> String) -> String {
        let Bin { steps, messages, control_messages, lost_messages, times_chosen, crashes } = self.total;
        let counted = |count: u64, singular: &str, plural: &str| {
            format!("{} {}", format_count(count), if count == 1 { singular } else { plural })
        };
        let mut parts = vec![counted(steps, "step", "steps"), counted(messages, "message", "messages")];
        if control_messages > 0 {
            parts.push(format!("{} control", format_count(control_messages)));
        }
        if lost_messages > 0 {
            parts.push(format!("{} lost", format_count(lost_messages)));
        }
        if crashes > 0 {
            parts.push(counted(crashes, "crash", "crashes"));
        }
        let chosen_name = self.heading.role_name(Role::Chosen);
        if times_chosen > 0 && !chosen_name.is_empty() {
            parts.push(format!("{chosen_name} {}", counted(times_chosen, "time", "times")));
        }
        parts.join(", ")
    }

    /// Returns a time relative to the origin, as it is displayed.
    pub fn relative(&self, time: Time) -> Time {
        Time::from_nanos(time.nanos().saturating_sub(self.origin.nanos()))
    }

    /// Returns the index of the bin of an instant, clamped to the first and the last bin.
    pub fn bin_of(&self, time: Time) -> usize {
        let since = if time > self.from { time.nanos().abs_diff(self.from.nanos()) } else { 0 };
        let index = since.checked_div(self.bin_width.nanos()).unwrap_or_default();
        usize::try_from(index).unwrap_or(usize::MAX).min(self.bins.len().saturating_sub(1))
    }
}

impl Bin {
    // A journal is untrusted input, so no count may overflow.
    fn add(&mut self, other: Self) {
        let Self { steps, messages, control_messages, lost_messages, times_chosen, crashes } = self;
        let pairs = [
            (steps, other.steps),
            (messages, other.messages),
            (control_messages, other.control_messages),
            (lost_messages, other.lost_messages),
            (times_chosen, other.times_chosen),
            (crashes, other.crashes),
        ];
        pairs.into_iter().for_each(|(count, more)| *count = count.saturating_add(more));
    }

    fn sum(bins: &[Self]) -> Self {
        bins.iter().fold(Self::default(), |mut sum, bin| {
            sum.add(*bin);
            sum
        })
    }
}

/// The roles of one node over time.
#[derive(Clone, Debug)]
pub struct NodeRow {
    pub node: NodeId,
    /// Time spent in each role, per bin.
    pub role_times: Vec<RoleTimes>,
    /// The node's role at the end of the overview.
    pub last_role: Role,
}

/// Time that a node spent in each role, in nanoseconds, in the order of `ROLES`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoleTimes([u64; 6]);

pub(crate) const ROLES: [Role; 6] = [Role::Idle, Role::Waiting, Role::Follows, Role::Chosen, Role::Paused, Role::Down];

impl RoleTimes {
    /// Returns the time spent in a role, in nanoseconds.
    pub fn time_in(&self, role: Role) -> u64 {
        let Self([idle, waiting, follows, chosen, paused, down]) = self;
        match role {
            Role::Idle => *idle,
            Role::Waiting => *waiting,
            Role::Follows => *follows,
            Role::Chosen => *chosen,
            Role::Paused => *paused,
            Role::Down => *down,
        }
    }

    /// Returns the total time in nanoseconds; it saturates.
    pub fn total(&self) -> u64 {
        u64::try_from(self.exact_total()).unwrap_or(u64::MAX)
    }

    /// Returns the total time in nanoseconds without overflow: in a journal whose time goes back
    /// and forth, it can exceed 64 bits.
    pub(crate) fn exact_total(&self) -> u128 {
        self.0.iter().copied().map(u128::from).sum()
    }

    /// Returns the role that took the longest; `Idle` if the total time is 0.
    pub fn longest_role(&self) -> Role {
        let longest = ROLES.into_iter().max_by_key(|role| self.time_in(*role));
        longest.filter(|_| self.exact_total() > 0).unwrap_or_default()
    }

    fn add(&mut self, role: Role, nanos: u64) {
        let index = ROLES.iter().position(|known| *known == role);
        if let Some(share) = index.and_then(|index| self.0.get_mut(index)) {
            *share = share.saturating_add(nanos);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(share, more)| *share = share.saturating_add(more));
    }

    fn sum(shares: &[Self]) -> Self {
        shares.iter().fold(Self::default(), |mut sum, more| {
            sum.merge(more);
            sum
        })
    }
}
