//! The visible state of a client: its process and the resource at its site, packed into one word,
//! and properties of all clients' states.

use quorate_core::NodeId;
use quorate_core::deadlock::{Agent, Graph, Need, WaitId};

pub(super) const MAX_SITES: usize = 4;
/// Maximum number of resources, each at its own site.
pub(super) const MAX_RESOURCES: usize = 3;
/// The largest wait number, which must fit in four bits.
pub(super) const MAX_WAITS: u8 = 15;
/// The packed form of a resource without a holder.
const NO_HOLDER: u8 = 7;

/// The visible state of a client. Waits of an agent are numbered from 1; there are so few that four
/// bits suffice for a number. Sets have one bit per site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ClientState {
    resources: u8,
    /// The agents that the process waits for: sites, or resources by their numbers.
    awaited: u8,
    /// Whether the process waits for any of them, not for all.
    any: bool,
    wait_id: u8,
    /// For each site, the last wait of its process that the process or the resource here has
    /// answered.
    settled: [u8; MAX_SITES],
    /// The process that the resource here waits for, and the number of that wait.
    holder: Option<u8>,
    fence: u8,
    /// For each resource, the numbers of its waits that the process last received, and last
    /// released.
    received: [u8; MAX_RESOURCES],
    returned: [u8; MAX_RESOURCES],
    /// The last wait that the process has aborted.
    aborted: u8,
    victim: bool,
    /// Processes that a detector here has reported as deadlocked, one bit per site.
    reported: u8,
}

/// Limits a number to four bits.
fn to_four_bits(number: u64) -> u8 {
    u8::try_from(number).unwrap_or(MAX_WAITS).min(MAX_WAITS)
}

impl ClientState {
    pub(super) fn new(resources: usize) -> Self {
        Self { resources: to_four_bits(resources as u64), ..Self::default() }
    }

    pub(super) fn record_wait(&mut self, wait_id: WaitId, awaited: u64, any: bool) {
        (self.wait_id, self.awaited, self.any) = (to_four_bits(wait_id.0), (awaited & 0xf) as u8, any);
    }

    pub(super) fn end_wait(&mut self, aborted: Option<WaitId>) {
        (self.awaited, self.victim) = (0, false);
        if let Some(wait_id) = aborted {
            self.aborted = to_four_bits(wait_id.0);
        }
    }

    pub(super) fn record_answer(&mut self, site: NodeId, wait_id: WaitId) {
        self.settled.get_mut(site.index()).into_iter().for_each(|settled| *settled = to_four_bits(wait_id.0));
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

    pub(super) fn record_returned(&mut self, resource: usize, fence: WaitId) {
        self.returned.get_mut(resource).into_iter().for_each(|returned| *returned = to_four_bits(fence.0));
    }

    pub(super) fn set_victim(&mut self) {
        self.victim = true;
    }

    pub(super) fn is_victim(&self) -> bool {
        self.victim
    }

    pub(super) fn record_report(&mut self, members: u64) {
        self.reported |= (members & 0xf) as u8;
    }

    pub(super) fn packed(&self) -> u64 {
        let mut word = Word::default();
        word.write(u64::from(self.resources), 2);
        word.write(u64::from(self.awaited), 4);
        word.write(u64::from(self.any), 1);
        word.write(u64::from(self.wait_id), 4);
        word.write(u64::from(self.victim), 1);
        word.write(u64::from(self.reported), 4);
        self.settled.iter().for_each(|wait_id| word.write(u64::from(*wait_id), 4));
        word.write(self.holder.map_or(NO_HOLDER.into(), u64::from), 3);
        word.write(u64::from(self.fence), 4);
        // Of a resource, only the latest received number and whether it was released matter.
        self.received.iter().for_each(|fence| word.write(u64::from(*fence), 4));
        let is_held = self.received.iter().zip(&self.returned).map(|(received, returned)| received > returned);
        is_held.for_each(|is_held| word.write(u64::from(is_held), 1));
        word.write(u64::from(self.aborted), 4);
        word.bits
    }

    fn unpacked(bits: u64) -> Self {
        let mut word = Word { bits, offset: 0 };
        let mut next = |width| word.read(width) as u8;
        let mut state = Self::new(next(2).into());
        state.awaited = next(4);
        state.any = next(1) == 1;
        state.wait_id = next(4);
        state.victim = next(1) == 1;
        state.reported = next(4);
        state.settled.iter_mut().for_each(|wait_id| *wait_id = next(4));
        state.holder = Some(next(3)).filter(|holder| *holder != NO_HOLDER);
        state.fence = next(4);
        state.received.iter_mut().for_each(|fence| *fence = next(4));
        let Self { received, returned, .. } = &mut state;
        for (received, returned) in received.iter().zip(returned) {
            *returned = if next(1) == 1 { received.saturating_sub(1) } else { *received };
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

/// The actual wait-for graph, built from the visible states of all clients.
struct FacetGraph {
    graph: Graph<Agent>,
    states: Vec<ClientState>,
}

fn process(site: usize) -> Agent {
    Agent::process(NodeId::from_index(site), 0)
}

fn resource(site: usize) -> Agent {
    Agent::resource(NodeId::from_index(site), 0)
}

impl FacetGraph {
    fn of(facets: &[u64]) -> Self {
        let states: Vec<_> = facets.iter().map(|facet| ClientState::unpacked(*facet)).collect();
        let mut facet_graph = Self { graph: Graph::new(), states };
        for site in 0..facet_graph.states.len() {
            facet_graph.add_process(site);
            facet_graph.add_resource(site);
        }
        facet_graph
    }

    /// A wait exists until the other agent has answered, even if the answer has not arrived yet.
    fn add_process(&mut self, site: usize) {
        let state = self.states[site];
        let uses_resources = state.resources > 0;
        let awaited = (0..MAX_SITES).filter(|target| state.awaited >> target & 1 == 1);
        let is_settled =
            |target: &usize| self.states.get(*target).is_some_and(|other| other.settled[site] >= state.wait_id);
        let (settled, open): (Vec<_>, Vec<_>) = awaited.partition(is_settled);
        if open.is_empty() || state.any && !settled.is_empty() {
            return;
        }
        let agents = open.into_iter().map(if uses_resources { resource } else { process }).collect();
        self.graph.wait(process(site), if state.any { Need::Any(agents) } else { Need::All(agents) });
    }

    /// A resource waits for its holder until the holder has released it, unless it was granted to a
    /// process that had aborted.
    fn add_resource(&mut self, site: usize) {
        let state = self.states[site];
        let Some((holder, number)) = state.holder.map(usize::from).zip(self.resource_number(site)) else { return };
        let Some(other) = self.states.get(holder) else { return };
        let has_received = other.received[number] >= state.fence;
        let has_returned = other.returned[number] >= state.fence;
        let is_void = !has_received && other.aborted >= state.settled[holder];
        if !has_returned && !is_void {
            self.graph.wait(resource(site), Need::All(vec![process(holder)]));
        }
    }

    /// The number of the resource at a site. Resources are at the first sites, one each.
    fn resource_number(&self, site: usize) -> Option<usize> {
        Some(site).filter(|site| *site < usize::from(self.states[*site].resources))
    }

    /// The sites whose bits are set.
    fn sites(&self, mask: u8) -> impl Iterator<Item = usize> {
        (0..MAX_SITES).filter(move |site| mask >> site & 1 == 1)
    }
}

/// Every reported process is part of the cause of a deadlock. With mixed needs, several
/// explanations are valid, and it is enough that the process is deadlocked.
pub(super) fn reported_are_deadlocked(facets: &[u64]) -> bool {
    let reported = facets.iter().fold(0, |reported, facet| reported | ClientState::unpacked(*facet).reported);
    if reported == 0 {
        return true;
    }
    let facet_graph = FacetGraph::of(facets);
    let stuck = facet_graph.graph.stuck();
    let has_any_waits = facet_graph.states.iter().any(|state| state.any);
    let is_cause = |agent| has_any_waits || facet_graph.graph.deadlock_of(&agent).is_some();
    facet_graph.sites(reported).map(process).all(|agent| stuck.contains(&agent) && is_cause(agent))
}

/// When nothing more can happen, every deadlock, and every cycle behind one, has a reported
/// process.
pub(super) fn deadlocks_are_reported(facets: &[u64]) -> bool {
    let facet_graph = FacetGraph::of(facets);
    let reported = facet_graph.states.iter().fold(0, |reported, state| reported | state.reported);
    let is_reported = |agent: &Agent| !agent.is_resource() && reported >> agent.site.index() & 1 == 1;
    let hidden = (0..facet_graph.states.len()).filter_map(|site| facet_graph.graph.deadlock_of(&process(site)));
    facet_graph
        .graph
        .deadlocks()
        .into_iter()
        .chain(hidden)
        .all(|deadlock| deadlock.waits.iter().any(|(agent, _)| is_reported(agent)))
}

/// Every victim is part of a deadlock.
pub(super) fn victims_are_deadlocked(facets: &[u64]) -> bool {
    if !facets.iter().any(|facet| ClientState::unpacked(*facet).victim) {
        return true;
    }
    let facet_graph = FacetGraph::of(facets);
    let victims = (0..facet_graph.states.len()).filter(|site| facet_graph.states[*site].victim);
    victims.map(process).all(|agent| facet_graph.graph.deadlock_of(&agent).is_some())
}

/// No process is deadlocked.
pub(super) fn none_is_deadlocked(facets: &[u64]) -> bool {
    FacetGraph::of(facets).graph.stuck().is_empty()
}
