//! The visible state of a client: its process and the resource at its site, packed into one word,
//! and properties of all clients' states.

use quorate_core::NodeId;
use quorate_core::deadlock::{Agent, Graph, Need, WaitId};

pub(super) const MAX_SITES: usize = 4;
/// Maximum number of resources, each at its own site.
pub(super) const MAX_RESOURCES: usize = 3;
pub(super) const MAX_WAITS: u8 = 15;

/// The visible state of a client. Wait numbers need no wraparound, because there are few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ClientState {
    resources: u8,
    /// The agents that the process waits for: sites, or resources by their numbers.
    on: u8,
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
    reported: u8,
}

/// Limits a number to four bits.
fn small(number: u64) -> u8 {
    u8::try_from(number).unwrap_or(MAX_WAITS).min(MAX_WAITS)
}

impl ClientState {
    pub(super) fn new(resources: usize) -> Self {
        Self { resources: small(resources as u64), ..Self::default() }
    }

    pub(super) fn waits(&mut self, wait_id: WaitId, on: u64, any: bool) {
        (self.wait_id, self.on, self.any) = (small(wait_id.0), (on & 0xf) as u8, any);
    }

    pub(super) fn end_wait(&mut self, aborted: Option<WaitId>) {
        (self.on, self.victim) = (0, false);
        if let Some(wait_id) = aborted {
            self.aborted = small(wait_id.0);
        }
    }

    pub(super) fn answers(&mut self, site: NodeId, wait_id: WaitId) {
        self.settled.get_mut(site.index()).into_iter().for_each(|settled| *settled = small(wait_id.0));
    }

    pub(super) fn set_holder(&mut self, holder: NodeId, fence: WaitId) {
        (self.holder, self.fence) = (Some((holder.index() & 3) as u8), small(fence.0));
    }

    pub(super) fn clear_holder(&mut self) {
        self.holder = None;
    }

    pub(super) fn record_received(&mut self, resource: usize, fence: WaitId) {
        self.received.get_mut(resource).into_iter().for_each(|received| *received = small(fence.0));
    }

    pub(super) fn record_returned(&mut self, resource: usize, fence: WaitId) {
        self.returned.get_mut(resource).into_iter().for_each(|returned| *returned = small(fence.0));
    }

    pub(super) fn set_victim(&mut self) {
        self.victim = true;
    }

    pub(super) fn is_victim(&self) -> bool {
        self.victim
    }

    pub(super) fn report(&mut self, members: u64) {
        self.reported |= (members & 0xf) as u8;
    }

    pub(super) fn packed(&self) -> u64 {
        let mut word = Word::default();
        word.put(u64::from(self.resources), 2);
        word.put(u64::from(self.on), 4);
        word.put(u64::from(self.any), 1);
        word.put(u64::from(self.wait_id), 4);
        word.put(u64::from(self.victim), 1);
        word.put(u64::from(self.reported), 4);
        self.settled.iter().for_each(|wait_id| word.put(u64::from(*wait_id), 4));
        word.put(self.holder.map_or(7, u64::from), 3);
        word.put(u64::from(self.fence), 4);
        // Of a resource, only the latest received number and whether it was released matter.
        self.received.iter().for_each(|fence| word.put(u64::from(*fence), 4));
        let kept = self.received.iter().zip(&self.returned).map(|(received, returned)| received > returned);
        kept.for_each(|kept| word.put(u64::from(kept), 1));
        word.put(u64::from(self.aborted), 4);
        word.bits
    }

    fn unpacked(bits: u64) -> Self {
        let mut word = Word { bits, used: 0 };
        let mut next = |width| word.take(width) as u8;
        let mut state = Self::new(next(2).into());
        state.on = next(4);
        state.any = next(1) == 1;
        state.wait_id = next(4);
        state.victim = next(1) == 1;
        state.reported = next(4);
        state.settled.iter_mut().for_each(|wait_id| *wait_id = next(4));
        state.holder = Some(next(3)).filter(|holder| *holder != 7);
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
    used: u32,
}

impl Word {
    fn put(&mut self, value: u64, width: u32) {
        self.bits |= (value & ((1 << width) - 1)) << self.used;
        self.used += width;
    }

    fn take(&mut self, width: u32) -> u64 {
        let value = self.bits >> self.used & ((1 << width) - 1);
        self.used += width;
        value
    }
}

/// The actual wait-for graph, built from the visible states of all clients.
struct FacetGraph {
    graph: Graph<Agent>,
    all: Vec<ClientState>,
}

fn process(site: usize) -> Agent {
    Agent::process(NodeId::from_index(site), 0)
}

fn resource(site: usize) -> Agent {
    Agent::resource(NodeId::from_index(site), 0)
}

impl FacetGraph {
    fn of(facets: &[u64]) -> Self {
        let all: Vec<_> = facets.iter().map(|facet| ClientState::unpacked(*facet)).collect();
        let mut actual = Self { graph: Graph::new(), all };
        for site in 0..actual.all.len() {
            actual.add_process(site);
            actual.add_resource(site);
        }
        actual
    }

    /// A wait exists until the other agent has answered, even if the answer has not arrived yet.
    fn add_process(&mut self, site: usize) {
        let state = self.all[site];
        let takes = state.resources > 0;
        let asked = (0..MAX_SITES).filter(|place| state.on >> place & 1 == 1);
        let is_settled = |place: &usize| self.all.get(*place).is_some_and(|other| other.settled[site] >= state.wait_id);
        let (settled, open): (Vec<_>, Vec<_>) = asked.partition(is_settled);
        if open.is_empty() || state.any && !settled.is_empty() {
            return;
        }
        let on = open.into_iter().map(if takes { resource } else { process }).collect();
        self.graph.wait(process(site), if state.any { Need::Any(on) } else { Need::All(on) });
    }

    /// A resource waits for its holder until the holder has released it, unless it was granted to a
    /// process that had aborted.
    fn add_resource(&mut self, site: usize) {
        let state = self.all[site];
        let Some((holder, number)) = state.holder.map(usize::from).zip(self.number_of(site)) else { return };
        let Some(other) = self.all.get(holder) else { return };
        let has_received = other.received[number] >= state.fence;
        let has_returned = other.returned[number] >= state.fence;
        let is_void = !has_received && other.aborted >= state.settled[holder];
        if !has_returned && !is_void {
            self.graph.wait(resource(site), Need::All(vec![process(holder)]));
        }
    }

    /// Resources are at the first sites, one each.
    fn number_of(&self, site: usize) -> Option<usize> {
        Some(site).filter(|site| *site < usize::from(self.all[*site].resources))
    }

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
    let actual = FacetGraph::of(facets);
    let stuck = actual.graph.stuck();
    let is_mixed = actual.all.iter().any(|state| state.any);
    let is_cause = |agent| is_mixed || actual.graph.deadlock_of(&agent).is_some();
    actual.sites(reported).map(process).all(|agent| stuck.contains(&agent) && is_cause(agent))
}

/// When nothing more can happen, every deadlock, and every cycle behind one, has a reported
/// process.
pub(super) fn deadlocks_are_reported(facets: &[u64]) -> bool {
    let actual = FacetGraph::of(facets);
    let reported = actual.all.iter().fold(0, |reported, state| reported | state.reported);
    let record_event = |agent: &Agent| !agent.is_resource() && reported >> agent.site.index() & 1 == 1;
    let behind = (0..actual.all.len()).filter_map(|site| actual.graph.deadlock_of(&process(site)));
    actual.graph.deadlocks().into_iter().chain(behind).all(|one| one.waits.iter().any(|(agent, _)| record_event(agent)))
}

/// Every victim is part of a deadlock.
pub(super) fn victims_are_deadlocked(facets: &[u64]) -> bool {
    if !facets.iter().any(|facet| ClientState::unpacked(*facet).victim) {
        return true;
    }
    let actual = FacetGraph::of(facets);
    let victim = (0..actual.all.len()).filter(|site| actual.all[*site].victim);
    victim.map(process).all(|agent| actual.graph.deadlock_of(&agent).is_some())
}

/// No process is deadlocked.
pub(super) fn none_is_deadlocked(facets: &[u64]) -> bool {
    FacetGraph::of(facets).graph.stuck().is_empty()
}
