//! The state of a client as properties see it: its process and the resource at its site, packed
//! into one word (the facet), and the properties, which judge the facets of all clients.

use quorate_core::NodeId;
use quorate_core::deadlock::{Agent, Graph, Need, WaitId};

/// Maximum number of sites, so that the state of a client fits into one word.
pub(super) const MAX_SITES: usize = 4;
/// Maximum number of resources, each at its own site.
pub(super) const MAX_RESOURCES: usize = 3;
/// The largest number that fits in four bits. It also stands for all larger numbers, so the wait
/// numbers of a check must stay below it.
pub(super) const SATURATED: u8 = 15;
/// The packed form of a resource without a holder.
const NO_HOLDER: u8 = 7;

/// The unpacked facet of a client. Waits of an agent are numbered from 1; there are so few that
/// four bits suffice for a number. Sets have one bit per site or resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ClientState {
    resource_count: u8,
    /// The agents that the process waits for: processes by their sites, or resources by their
    /// numbers.
    awaited: u8,
    /// Whether the process's last wait is for any of several agents, not for all.
    is_any: bool,
    /// The number of the process's last wait.
    wait_id: u8,
    /// For each site, the last wait of that site's process that an agent of this client's site has
    /// answered.
    answered: [u8; MAX_SITES],
    /// The site of the process that the resource here waits for.
    holder: Option<u8>,
    /// The number of the resource's wait, which is the fence of the grant.
    fence: u8,
    /// For each resource, the fence with which the process last received it.
    received: [u8; MAX_RESOURCES],
    /// For each resource, the fence with which the process last released it.
    released: [u8; MAX_RESOURCES],
    /// The last wait that the process has aborted.
    aborted: u8,
    is_victim: bool,
    /// Processes that a detector here has reported as deadlocked, one bit per site.
    reported: u8,
}

/// Saturates a number at four bits.
fn to_four_bits(number: u64) -> u8 {
    u8::try_from(number).unwrap_or(SATURATED).min(SATURATED)
}

impl ClientState {
    pub(super) fn new(resources: usize) -> Self {
        Self { resource_count: to_four_bits(resources as u64), ..Self::default() }
    }

    pub(super) fn record_wait(&mut self, wait_id: WaitId, awaited: u64, is_any: bool) {
        (self.wait_id, self.awaited, self.is_any) = (to_four_bits(wait_id.0), (awaited & 0xf) as u8, is_any);
    }

    pub(super) fn end_wait(&mut self, aborted: Option<WaitId>) {
        (self.awaited, self.is_victim) = (0, false);
        if let Some(wait_id) = aborted {
            self.aborted = to_four_bits(wait_id.0);
        }
    }

    pub(super) fn record_answer(&mut self, site: NodeId, wait_id: WaitId) {
        self.answered.get_mut(site.index()).into_iter().for_each(|answered| *answered = to_four_bits(wait_id.0));
    }

    pub(super) fn set_holder(&mut self, holder: NodeId, fence: WaitId) {
        (self.holder, self.fence) = (Some((holder.index() & 3) as u8), to_four_bits(fence.0));
    }

    pub(super) fn clear_holder(&mut self) {
        self.holder = None;
    }

    pub(super) fn record_received(&mut self, resource: usize, fence: WaitId) {
        self.received.get_mut(resource).into_iter().for_each(|received| *received = to_four_bits(fence.0));
    }

    pub(super) fn record_released(&mut self, resource: usize, fence: WaitId) {
        self.released.get_mut(resource).into_iter().for_each(|released| *released = to_four_bits(fence.0));
    }

    pub(super) fn set_victim(&mut self) {
        self.is_victim = true;
    }

    pub(super) fn is_victim(&self) -> bool {
        self.is_victim
    }

    pub(super) fn record_report(&mut self, processes: u64) {
        self.reported |= (processes & 0xf) as u8;
    }

    pub(super) fn pack(&self) -> u64 {
        let mut word = Word::default();
        word.write(u64::from(self.resource_count), 2);
        word.write(u64::from(self.awaited), 4);
        word.write(u64::from(self.is_any), 1);
        word.write(u64::from(self.wait_id), 4);
        word.write(u64::from(self.is_victim), 1);
        word.write(u64::from(self.reported), 4);
        self.answered.iter().for_each(|wait_id| word.write(u64::from(*wait_id), 4));
        word.write(self.holder.map_or(NO_HOLDER.into(), u64::from), 3);
        word.write(u64::from(self.fence), 4);
        // For each resource, only the fence last received matters, and whether it is still held.
        self.received.iter().for_each(|fence| word.write(u64::from(*fence), 4));
        let is_held = self.received.iter().zip(&self.released).map(|(received, released)| received > released);
        is_held.for_each(|is_held| word.write(u64::from(is_held), 1));
        word.write(u64::from(self.aborted), 4);
        word.bits
    }

    fn unpack(bits: u64) -> Self {
        let mut word = Word { bits, offset: 0 };
        let mut next = |width| word.read(width) as u8;
        let mut state = Self::new(next(2).into());
        state.awaited = next(4);
        state.is_any = next(1) == 1;
        state.wait_id = next(4);
        state.is_victim = next(1) == 1;
        state.reported = next(4);
        state.answered.iter_mut().for_each(|wait_id| *wait_id = next(4));
        state.holder = Some(next(3)).filter(|holder| *holder != NO_HOLDER);
        state.fence = next(4);
        state.received.iter_mut().for_each(|fence| *fence = next(4));
        let Self { received, released, .. } = &mut state;
        for (received, released) in received.iter().zip(released) {
            *released = if next(1) == 1 { received.saturating_sub(1) } else { *received };
        }
        state.aborted = next(4);
        state
    }
}

/// Packs and unpacks fields of a word.
#[derive(Default)]
struct Word {
    bits: u64,
    /// Number of bits written or read so far.
    offset: u32,
}

impl Word {
    fn write(&mut self, value: u64, width: u32) {
        self.bits |= (value & ((1 << width) - 1)) << self.offset;
        self.offset += width;
    }

    fn read(&mut self, width: u32) -> u64 {
        let value = self.bits >> self.offset & ((1 << width) - 1);
        self.offset += width;
        value
    }
}

/// The actual wait-for graph, built from the facets of all clients.
struct ActualGraph {
    graph: Graph<Agent>,
    states: Vec<ClientState>,
}

/// The only process of a site, which has number 0.
fn process(site: usize) -> Agent {
    Agent::process(NodeId::from_index(site), 0)
}

/// The only resource of a site, which has number 0.
fn resource(site: usize) -> Agent {
    Agent::resource(NodeId::from_index(site), 0)
}

impl ActualGraph {
    fn from_facets(facets: &[u64]) -> Self {
        let states: Vec<_> = facets.iter().map(|facet| ClientState::unpack(*facet)).collect();
        let mut actual = Self { graph: Graph::new(), states };
        for site in 0..actual.states.len() {
            actual.add_process_wait(site);
            actual.add_resource_wait(site);
        }
        actual
    }

    /// Adds the wait of a process for the agents that have not answered it. A wait for any of
    /// several agents ends with the first answer. An answer counts from when it is sent.
    fn add_process_wait(&mut self, site: usize) {
        let state = self.states[site];
        let uses_resources = state.resource_count > 0;
        let awaited = (0..MAX_SITES).filter(|target| state.awaited >> target & 1 == 1);
        let is_answered =
            |target: &usize| self.states.get(*target).is_some_and(|other| other.answered[site] >= state.wait_id);
        let (answered, unanswered): (Vec<_>, Vec<_>) = awaited.partition(is_answered);
        if unanswered.is_empty() || state.is_any && !answered.is_empty() {
            return;
        }
        let agents = unanswered.into_iter().map(if uses_resources { resource } else { process }).collect();
        self.graph.add_need(process(site), if state.is_any { Need::Any(agents) } else { Need::All(agents) });
    }

    /// Adds the wait of a resource. A resource waits for its holder until the holder has released
    /// it, unless the grant is void.
    fn add_resource_wait(&mut self, site: usize) {
        let state = self.states[site];
        let Some((holder, number)) = state.holder.map(usize::from).zip(self.resource_number(site)) else { return };
        let Some(other) = self.states.get(holder) else { return };
        let has_received = other.received[number] >= state.fence;
        let has_released = other.released[number] >= state.fence;
        // The grant answered a wait that the process aborted before the grant arrived. The process
        // will return the resource immediately.
        let is_void = !has_received && other.aborted >= state.answered[holder];
        if !has_released && !is_void {
            self.graph.add_need(resource(site), Need::All(vec![process(holder)]));
        }
    }

    /// The number of the resource at a site. Resources are at the first sites, one each.
    fn resource_number(&self, site: usize) -> Option<usize> {
        Some(site).filter(|site| *site < usize::from(self.states[*site].resource_count))
    }

    /// The sites whose bits are set.
    fn sites(&self, mask: u8) -> impl Iterator<Item = usize> {
        (0..MAX_SITES).filter(move |site| mask >> site & 1 == 1)
    }
}

/// Every reported process is stuck, and part of a deadlock: it does not only wait for one. But if
/// the last wait of some process was for any of several agents, the stuck agents may form a
/// deadlock in several ways, and the graph computes only one. Then it is enough that every reported
/// process is stuck.
pub(super) fn reported_are_deadlocked(facets: &[u64]) -> bool {
    let reported = facets.iter().fold(0, |reported, facet| reported | ClientState::unpack(*facet).reported);
    if reported == 0 {
        return true;
    }
    let actual = ActualGraph::from_facets(facets);
    let stuck = actual.graph.stuck_agents();
    let some_wait_has_alternatives = actual.states.iter().any(|state| state.is_any);
    let may_be_reported = |agent: Agent| {
        stuck.contains(&agent) && (some_wait_has_alternatives || actual.graph.deadlock_of(&agent).is_some())
    };
    actual.sites(reported).map(process).all(may_be_reported)
}

/// Every deadlock, and a shortest cycle through each process that is on a cycle, has a reported
/// process. Judged in states in which a run may end, because a detection takes some steps.
pub(super) fn deadlocks_are_reported(facets: &[u64]) -> bool {
    let actual = ActualGraph::from_facets(facets);
    let reported = actual.states.iter().fold(0, |reported, state| reported | state.reported);
    let is_reported = |agent: &Agent| !agent.is_resource() && reported >> agent.site.index() & 1 == 1;
    // `Graph::deadlocks` may omit a cycle whose agents also wait for another deadlock.
    let deadlocks_by_agent = (0..actual.states.len()).filter_map(|site| actual.graph.deadlock_of(&process(site)));
    actual
        .graph
        .deadlocks()
        .into_iter()
        .chain(deadlocks_by_agent)
        .all(|deadlock| deadlock.waits.iter().any(|(agent, _)| is_reported(agent)))
}

/// Every victim is part of a deadlock.
pub(super) fn victims_are_deadlocked(facets: &[u64]) -> bool {
    if !facets.iter().any(|facet| ClientState::unpack(*facet).is_victim) {
        return true;
    }
    let actual = ActualGraph::from_facets(facets);
    let victims = (0..actual.states.len()).filter(|site| actual.states[*site].is_victim);
    victims.map(process).all(|agent| actual.graph.deadlock_of(&agent).is_some())
}

/// No process is deadlocked. Judged in states in which a run may end, because a victim aborts only
/// after a detection.
pub(super) fn none_is_deadlocked(facets: &[u64]) -> bool {
    ActualGraph::from_facets(facets).graph.stuck_agents().is_empty()
}
