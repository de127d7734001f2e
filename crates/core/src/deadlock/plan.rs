//! The configuration of a host (which manages a site's waiting processes) and its detector.

use super::{Agent, Policy};
use crate::node::NodeId;
use crate::time::Duration;
use alloc::vec::Vec;

/// The configuration of a host and its detector, which is the same at all sites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub sites: usize,
    pub processes_per_site: Vec<u16>,
    /// The coordinator site of each resource. Empty if processes ask each other.
    pub resource_coordinators: Vec<NodeId>,
    /// The priority of each process, site by site. Processes beyond the end of the list have the
    /// lowest priority, 0.
    pub priorities: Vec<u32>,
    /// The policy that selects the victim of a deadlock; `None` if deadlocks are only reported.
    pub victim_policy: Option<Policy>,
    /// How long an agent waits before it starts a check. The central detector ignores it.
    pub patience: Duration,
    /// The site that resolves deadlocks, and where a central detector is.
    pub resolver: NodeId,
}

impl Plan {
    /// A plan with one process at each site, which only reports deadlocks.
    pub fn new(sites: usize) -> Self {
        Self {
            sites,
            processes_per_site: alloc::vec![1; sites],
            resource_coordinators: Vec::new(),
            priorities: Vec::new(),
            victim_policy: None,
            patience: Duration::ZERO,
            resolver: NodeId::from_index(0),
        }
    }

    /// Distributes this number of processes evenly over the sites; the first sites get one more if
    /// the division leaves a remainder.
    #[must_use]
    pub fn with_processes(self, processes: usize) -> Self {
        let sites = self.sites.max(1);
        let processes_at = |site| u16::try_from((processes + sites - 1 - site) / sites).unwrap_or(u16::MAX);
        Self { processes_per_site: (0..self.sites).map(processes_at).collect(), ..self }
    }

    /// Returns the number of processes of a site.
    pub fn processes_at(&self, site: NodeId) -> u16 {
        self.processes_per_site.get(site.index()).copied().unwrap_or(0)
    }

    /// Returns the priority of a process.
    pub fn priority(&self, site: NodeId, number: u16) -> u32 {
        let preceding: usize = self.processes_per_site.iter().take(site.index()).map(|count| usize::from(*count)).sum();
        self.priorities.get(preceding + usize::from(number)).copied().unwrap_or(0)
    }

    /// Returns all resources, in the order of `resource_coordinators`.
    pub fn all_resources(&self) -> impl Iterator<Item = Agent> + '_ {
        let preceding = |index: usize, site| {
            self.resource_coordinators.iter().take(index).filter(move |other| **other == site).count()
        };
        let number = move |index, site| u16::try_from(preceding(index, site)).unwrap_or(u16::MAX);
        self.resource_coordinators
            .iter()
            .enumerate()
            .map(move |(index, site)| Agent::resource(*site, number(index, *site)))
    }

    /// Returns all processes.
    pub fn all_processes(&self) -> impl Iterator<Item = Agent> + '_ {
        let sites = self.processes_per_site.iter().enumerate();
        sites.flat_map(|(site, count)| (0..*count).map(move |number| Agent::process(NodeId::from_index(site), number)))
    }
}
