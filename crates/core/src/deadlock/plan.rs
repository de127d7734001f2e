//! How a detector is set up, which all its sites know.

use super::{Agent, Policy};
use crate::node::NodeId;
use crate::time::Duration;
use alloc::vec::Vec;

/// How a detector is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub sites: usize,
    pub processes: Vec<u16>,
    /// The sites that coordinate the resources, one a resource; none where processes ask each other.
    pub resources: Vec<NodeId>,
    /// How much each process matters, in the order of sites and of their processes; those that are missing matter least.
    pub priorities: Vec<u32>,
    /// Who gives up; nobody if a deadlock is only to be told.
    pub victim: Option<Policy>,
    pub patience: Duration,
    /// The site that decides who gives up, and that a central detector is at.
    pub desk: NodeId,
}

impl Plan {
    /// So many sites, one process each, that only tell.
    pub fn new(sites: usize) -> Self {
        Self {
            sites,
            processes: alloc::vec![1; sites],
            resources: Vec::new(),
            priorities: Vec::new(),
            victim: None,
            patience: Duration::ZERO,
            desk: NodeId::from_index(0),
        }
    }

    /// So many processes, spread over the sites one after the other.
    #[must_use]
    pub fn with_processes(self, processes: usize) -> Self {
        let sites = self.sites.max(1);
        let at = |site| u16::try_from((processes + sites - 1 - site) / sites).unwrap_or(u16::MAX);
        Self { processes: (0..self.sites).map(at).collect(), ..self }
    }

    /// How many processes a site has.
    pub fn processes_at(&self, site: NodeId) -> u16 {
        self.processes.get(site.index()).copied().unwrap_or(0)
    }

    /// How much a process matters.
    pub fn priority(&self, site: NodeId, number: u16) -> u32 {
        let before: usize = self.processes.iter().take(site.index()).map(|count| usize::from(*count)).sum();
        self.priorities.get(before + usize::from(number)).copied().unwrap_or(0)
    }

    /// The resources, in their order.
    pub fn resources(&self) -> impl Iterator<Item = Agent> + '_ {
        let before =
            |place: usize, site| self.resources.iter().take(place).filter(move |other| **other == site).count();
        let number = move |place, site| u16::try_from(before(place, site)).unwrap_or(u16::MAX);
        self.resources.iter().enumerate().map(move |(place, site)| Agent::resource(*site, number(place, *site)))
    }

    /// Every process.
    pub fn all_processes(&self) -> impl Iterator<Item = Agent> + '_ {
        let sites = self.processes.iter().enumerate();
        sites.flat_map(|(site, count)| (0..*count).map(move |number| Agent::process(NodeId::from_index(site), number)))
    }
}
