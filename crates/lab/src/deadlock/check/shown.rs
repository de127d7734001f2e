//! What the user of a site shows of its process and of the resource there, in one word, and what follows from what all show.

use quorate_core::NodeId;
use quorate_core::deadlock::{Agent, Graph, Need, Spell};

pub(super) const MOST_SITES: usize = 4;
/// How many resources there can be, each at a site of its own.
pub(super) const MOST_RESOURCES: usize = 3;
pub(super) const MOST_SPELLS: u8 = 15;

/// What a user shows. Times of waiting are counted modulo nothing: there are few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Shown {
    resources: u8,
    /// Whom the process waits for: sites, or resources by their numbers.
    on: u8,
    any: bool,
    spell: u8,
    /// For each site, the last wait of its process that was let go of: by the process here, or by the resource here.
    settled: [u8; MOST_SITES],
    /// Whom the resource here waits for, and which of its times that is.
    holder: Option<u8>,
    fence: u8,
    /// For each resource, which of its times of waiting the process has last received, and last given back.
    received: [u8; MOST_RESOURCES],
    returned: [u8; MOST_RESOURCES],
    /// The last wait that the process has given up.
    given_up: u8,
    doomed: bool,
    told: u8,
}

fn small(number: u64) -> u8 {
    u8::try_from(number).unwrap_or(MOST_SPELLS).min(MOST_SPELLS)
}

impl Shown {
    pub(super) fn new(resources: usize) -> Self {
        Self { resources: small(resources as u64), ..Self::default() }
    }

    pub(super) fn waits(&mut self, spell: Spell, on: u64, any: bool) {
        (self.spell, self.on, self.any) = (small(spell.0), (on & 0xf) as u8, any);
    }

    pub(super) fn runs(&mut self, given_up: Option<Spell>) {
        (self.on, self.doomed) = (0, false);
        if let Some(spell) = given_up {
            self.given_up = small(spell.0);
        }
    }

    pub(super) fn lets_go(&mut self, site: NodeId, spell: Spell) {
        self.settled.get_mut(site.index()).into_iter().for_each(|settled| *settled = small(spell.0));
    }

    pub(super) fn grants(&mut self, holder: NodeId, fence: Spell) {
        (self.holder, self.fence) = (Some((holder.index() & 3) as u8), small(fence.0));
    }

    pub(super) fn is_free(&mut self) {
        self.holder = None;
    }

    pub(super) fn receives(&mut self, resource: usize, fence: Spell) {
        self.received.get_mut(resource).into_iter().for_each(|received| *received = small(fence.0));
    }

    pub(super) fn returns(&mut self, resource: usize, fence: Spell) {
        self.returned.get_mut(resource).into_iter().for_each(|returned| *returned = small(fence.0));
    }

    pub(super) fn is_doomed(&mut self) {
        self.doomed = true;
    }

    pub(super) fn has_to_give_up(&self) -> bool {
        self.doomed
    }

    pub(super) fn tells(&mut self, members: u64) {
        self.told |= (members & 0xf) as u8;
    }

    pub(super) fn packed(&self) -> u64 {
        let mut word = Word::default();
        word.put(u64::from(self.resources), 2);
        word.put(u64::from(self.on), 4);
        word.put(u64::from(self.any), 1);
        word.put(u64::from(self.spell), 4);
        word.put(u64::from(self.doomed), 1);
        word.put(u64::from(self.told), 4);
        self.settled.iter().for_each(|spell| word.put(u64::from(*spell), 4));
        word.put(self.holder.map_or(7, u64::from), 3);
        word.put(u64::from(self.fence), 4);
        // Of a resource it is enough to know the latest that was received, and whether it was given back.
        self.received.iter().for_each(|fence| word.put(u64::from(*fence), 4));
        let kept = self.received.iter().zip(&self.returned).map(|(received, returned)| received > returned);
        kept.for_each(|kept| word.put(u64::from(kept), 1));
        word.put(u64::from(self.given_up), 4);
        word.bits
    }

    fn unpacked(bits: u64) -> Self {
        let mut word = Word { bits, used: 0 };
        let mut next = |width| word.take(width) as u8;
        let mut shown = Self::new(next(2).into());
        shown.on = next(4);
        shown.any = next(1) == 1;
        shown.spell = next(4);
        shown.doomed = next(1) == 1;
        shown.told = next(4);
        shown.settled.iter_mut().for_each(|spell| *spell = next(4));
        shown.holder = Some(next(3)).filter(|holder| *holder != 7);
        shown.fence = next(4);
        shown.received.iter_mut().for_each(|fence| *fence = next(4));
        let Self { received, returned, .. } = &mut shown;
        for (received, returned) in received.iter().zip(returned) {
            *returned = if next(1) == 1 { received.saturating_sub(1) } else { *received };
        }
        shown.given_up = next(4);
        shown
    }
}

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

struct Truth {
    graph: Graph<Agent>,
    all: Vec<Shown>,
}

fn process(site: usize) -> Agent {
    Agent::process(NodeId::from_index(site), 0)
}

fn resource(site: usize) -> Agent {
    Agent::resource(NodeId::from_index(site), 0)
}

impl Truth {
    fn of(facets: &[u64]) -> Self {
        let all: Vec<_> = facets.iter().map(|facet| Shown::unpacked(*facet)).collect();
        let mut truth = Self { graph: Graph::new(), all };
        for site in 0..truth.all.len() {
            truth.add_process(site);
            truth.add_resource(site);
        }
        truth
    }

    /// A wait is there until the other side has let go, whether or not word of that has arrived.
    fn add_process(&mut self, site: usize) {
        let shown = self.all[site];
        let takes = shown.resources > 0;
        let asked = (0..MOST_SITES).filter(|place| shown.on >> place & 1 == 1);
        let is_settled = |place: &usize| self.all.get(*place).is_some_and(|other| other.settled[site] >= shown.spell);
        let (settled, open): (Vec<_>, Vec<_>) = asked.partition(is_settled);
        if open.is_empty() || shown.any && !settled.is_empty() {
            return;
        }
        let on = open.into_iter().map(if takes { resource } else { process }).collect();
        self.graph.wait(process(site), if shown.any { Need::Any(on) } else { Need::All(on) });
    }

    /// A resource waits for its holder until that has given it back, unless it was granted to one who had given up.
    fn add_resource(&mut self, site: usize) {
        let shown = self.all[site];
        let Some((holder, number)) = shown.holder.map(usize::from).zip(self.number_of(site)) else { return };
        let Some(other) = self.all.get(holder) else { return };
        let has_received = other.received[number] >= shown.fence;
        let has_returned = other.returned[number] >= shown.fence;
        let is_void = !has_received && other.given_up >= shown.settled[holder];
        if !has_returned && !is_void {
            self.graph.wait(resource(site), Need::All(vec![process(holder)]));
        }
    }

    /// Resources are at the first sites, one each.
    fn number_of(&self, site: usize) -> Option<usize> {
        Some(site).filter(|site| *site < usize::from(self.all[*site].resources))
    }

    fn sites(&self, mask: u8) -> impl Iterator<Item = usize> {
        (0..MOST_SITES).filter(move |site| mask >> site & 1 == 1)
    }
}

/// Whoever was told to be part of a deadlock is one of those who bring it about. Where some need all and some need any, which of several reasons is told is a
/// matter of taste, and it is enough to be stuck.
pub(super) fn told_are_stuck(facets: &[u64]) -> bool {
    let told = facets.iter().fold(0, |told, facet| told | Shown::unpacked(*facet).told);
    if told == 0 {
        return true;
    }
    let truth = Truth::of(facets);
    let stuck = truth.graph.stuck();
    let is_mixed = truth.all.iter().any(|shown| shown.any);
    let is_culprit = |who| is_mixed || truth.graph.deadlock_of(&who).is_some();
    truth.sites(told).map(process).all(|who| stuck.contains(&who) && is_culprit(who))
}

/// Of every deadlock, and of every cycle behind one, somebody who brings it about was told, when nothing more happens.
pub(super) fn stuck_are_told(facets: &[u64]) -> bool {
    let truth = Truth::of(facets);
    let told = truth.all.iter().fold(0, |told, shown| told | shown.told);
    let is_told = |agent: &Agent| !agent.is_resource() && told >> agent.site.index() & 1 == 1;
    let behind = (0..truth.all.len()).filter_map(|site| truth.graph.deadlock_of(&process(site)));
    truth.graph.deadlocks().into_iter().chain(behind).all(|one| one.waits.iter().any(|(who, _)| is_told(who)))
}

pub(super) fn victims_are_stuck(facets: &[u64]) -> bool {
    if !facets.iter().any(|facet| Shown::unpacked(*facet).doomed) {
        return true;
    }
    let truth = Truth::of(facets);
    let doomed = (0..truth.all.len()).filter(|site| truth.all[*site].doomed);
    doomed.map(process).all(|who| truth.graph.deadlock_of(&who).is_some())
}

pub(super) fn nobody_is_stuck(facets: &[u64]) -> bool {
    Truth::of(facets).graph.stuck().is_empty()
}
