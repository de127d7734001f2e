//! What every mutual-exclusion algorithm promises, and what some promise besides.

use super::overtaking::{Overtaking, Promise};
use super::{Change, Standing, change};
use quorate_core::mutex::{Access, Command, Event, Patience};
use quorate_core::{Fence, NodeId, Time, VectorClock};
use quorate_journal::causality::Causality;
use quorate_journal::clocks::Clocks;
use quorate_journal::moment::{Moment, Observer, Taken};
use quorate_journal::property::{Kind, Verdict, Violation};

/// What an algorithm promises beyond exclusion and service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expectations {
    /// Every entry has a larger fence than all before it.
    pub fences: bool,
    pub order: OrderWatch,
    pub overtaking: Option<Promise>,
    /// Everyone who asks gets in.
    pub service: bool,
    /// Those who only read are inside together.
    pub shares: bool,
    /// Entries hold for as long as their leases, by their nodes' own clocks.
    pub leases: bool,
    /// More than one node asks, so contention should be seen.
    pub contention: bool,
}

impl Default for Expectations {
    /// Everyone enters alone and is served, and nothing else is promised.
    fn default() -> Self {
        Self {
            fences: false,
            order: OrderWatch::Ignored,
            overtaking: None,
            service: true,
            shares: false,
            leases: false,
            contention: false,
        }
    }
}

/// What is made of the happened-before order of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderWatch {
    /// Nothing: vector clocks cost time and memory with the square of the group.
    Ignored,
    Counted,
    /// The algorithm promises it, so an entry out of order is a breach.
    Promised,
}

#[derive(Default)]
pub struct Properties {
    expects: Expectations,
    nodes: Vec<Node>,
    waiting: usize,
    inside: usize,
    /// The largest fences of entries so far: of those that nobody may share, and of all.
    exclusive_fence: Option<Fence>,
    fence: Option<Fence>,
    overtaking: Option<Overtaking>,
    causality: Option<Causality>,
    /// What nodes' clocks show, where entries have leases.
    clocks: Option<Clocks>,
    out_of_order: u64,
    contended: bool,
    end: Time,
    /// How many steps and acts of the world there were.
    lines: u64,
    exclusion: Option<Violation>,
    asked_first: Option<Violation>,
    fences_grow: Option<Violation>,
    order: Option<Violation>,
    overtaken: Option<Violation>,
}

#[derive(Clone, Debug)]
struct Node {
    standing: Standing,
    access: Access,
    asked: Time,
    /// Up to when the entry holds, on the node's own clock.
    until: Time,
    /// Who entered since, though this entry, which had lapsed, would not have let it.
    succeeded_by: Option<NodeId>,
    clock: VectorClock,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            standing: Standing::Outside,
            access: Access::Exclusive,
            asked: Time::ZERO,
            until: Time::NEVER,
            succeeded_by: None,
            clock: VectorClock::default(),
        }
    }
}

impl Properties {
    pub fn new(nodes: usize, expects: Expectations) -> Self {
        Self {
            expects,
            nodes: vec![Node::default(); nodes],
            overtaking: expects.overtaking.map(|promise| Overtaking::new(nodes, promise)),
            causality: (expects.order != OrderWatch::Ignored).then(|| Causality::new(nodes)),
            clocks: expects.leases.then(|| Clocks::new(nodes)),
            ..Self::default()
        }
    }

    /// How many entries went ahead of a waiting request that had happened before theirs, if anybody counted.
    pub fn out_of_order(&self) -> Option<u64> {
        self.causality.as_ref().map(|_| self.out_of_order)
    }

    pub fn end(&self) -> Time {
        self.end
    }

    pub fn verdicts(&self) -> Vec<Verdict> {
        let always = |name, breach: &Option<Violation>| Verdict::judged(name, Kind::Always, breach.clone());
        let mut verdicts = vec![always("exclusion", &self.exclusion), always("asked-first", &self.asked_first)];
        if self.expects.fences {
            verdicts.push(always("fences-grow", &self.fences_grow));
        }
        if self.expects.order == OrderWatch::Promised {
            verdicts.push(always("happened-before-order", &self.order));
        }
        if self.expects.overtaking.is_some() {
            verdicts.push(always("overtaking-bounded", &self.overtaken));
        }
        if self.expects.service {
            verdicts.push(Verdict::judged("served", Kind::Eventually, self.starved()));
        }
        if self.expects.contention {
            verdicts.push(Verdict::sometimes("contention", self.contended));
        }
        verdicts
    }

    fn starved(&self) -> Option<Violation> {
        let waiting = self.nodes.iter().enumerate().filter(|(_, node)| node.standing == Standing::Waiting);
        let (index, first) = waiting.min_by_key(|(_, node)| node.asked)?;
        let others = match self.waiting {
            0 | 1 => String::new(),
            more => format!(", and {} more wait with it", more - 1),
        };
        let text =
            format!("node {} asked at {} and is not in at the end{others}", NodeId::from_index(index), first.asked);
        Some(Violation { time: self.end, line: self.lines, since: first.asked, text })
    }

    fn asks(&mut self, time: Time, node: NodeId, patience: Patience, access: Access) {
        let access = if self.expects.shares { access } else { Access::Exclusive };
        // Nobody can go ahead of a try: it does not wait its turn, not even while its denial is under way.
        if let Some(overtaking) = self.overtaking.as_mut().filter(|_| patience == Patience::Wait) {
            overtaking.asks(node, access);
        }
        self.waiting += 1;
        self.contended |= self.waiting + self.inside > 1;
        let clock = self.causality.as_ref().and_then(|causality| causality.clock(node)).cloned();
        if let Some(state) = self.nodes.get_mut(node.index()) {
            state.asked = time;
            state.access = access;
            state.clock = clock.unwrap_or_default();
        }
    }

    fn enters(&mut self, time: Time, node: NodeId, before: Standing, fence: Fence) {
        self.inside += usize::from(before != Standing::Inside);
        match before {
            Standing::Waiting => self.waiting -= 1,
            Standing::Outside | Standing::Inside => {
                let text = format!("node {node} entered without asking");
                self.asked_first.get_or_insert(Violation { time, line: self.lines, since: time, text });
            }
        }
        self.check_exclusion(time, node, "entered");
        self.succeed(node);
        self.check_fence(time, node, fence);
        self.check_order(time, node);
        self.check_overtaking(time, node);
    }

    fn access(&self, node: NodeId) -> Access {
        self.nodes.get(node.index()).map_or(Access::Exclusive, |state| state.access)
    }

    /// An entry counts for as long as it holds on its node's own clock.
    fn check_exclusion(&mut self, time: Time, node: NodeId, came: &str) {
        if self.inside < 2 || self.exclusion.is_some() {
            return;
        }
        let others = self.nodes.iter().enumerate().filter(|(index, _)| *index != node.index());
        let access = self.access(node);
        let shown = |index| self.clocks.as_ref().map(|clocks| clocks.at(NodeId::from_index(index), time));
        let holds = |index, state: &Node| shown(index).is_none_or(|shown| shown < state.until);
        let insiders = others.filter(|(index, state)| {
            state.standing == Standing::Inside && access.conflicts(state.access) && holds(*index, state)
        });
        let Some((index, first)) = insiders.min_by_key(|(_, state)| state.asked) else { return };
        let since = self.nodes.get(node.index()).map_or(time, |state| state.asked.min(first.asked));
        let text = format!("node {node} {came} while node {} was inside", NodeId::from_index(index));
        self.exclusion = Some(Violation { time, line: self.lines, since, text });
    }

    /// Whoever is inside beside a new entry that it excludes has lapsed, if all is well, and must not go on.
    fn succeed(&mut self, node: NodeId) {
        let access = self.access(node);
        for (index, state) in self.nodes.iter_mut().enumerate() {
            let is_passed = index != node.index() && state.standing == Standing::Inside;
            if is_passed && access.conflicts(state.access) {
                state.succeeded_by = Some(node);
            }
        }
    }

    /// An entry that lapsed goes on only if nobody was inside meanwhile, not even one who has left again.
    fn check_succession(&mut self, time: Time, node: NodeId) {
        let Some(state) = self.nodes.get(node.index()).filter(|_| self.exclusion.is_none()) else { return };
        let Some(successor) = state.succeeded_by else { return };
        let text = format!("node {node} went on inside after node {successor} had entered");
        self.exclusion = Some(Violation { time, line: self.lines, since: state.asked, text });
    }

    /// A lease that is over when it is told of ends what it would have been valid for.
    fn end_with_lease(&mut self, moment: &Moment<'_, Command, Event>) {
        if let Moment::Input { now, node, input: Taken::Lease(until), .. } = moment
            && until <= now
            && let Some(state) = self.nodes.get_mut(node.index())
        {
            state.until = *until;
        }
    }

    fn check_fence(&mut self, time: Time, node: NodeId, fence: Fence) {
        let exclusive = self.access(node) == Access::Exclusive;
        if let Some(largest) = if exclusive { self.fence } else { self.exclusive_fence }
            && fence <= largest
            && self.fences_grow.is_none()
        {
            let since = self.nodes.get(node.index()).map_or(time, |state| state.asked);
            let text = format!("node {node} entered with fence {fence}, but {largest} was given before");
            self.fences_grow = Some(Violation { time, line: self.lines, since, text });
        }
        self.fence = self.fence.max(Some(fence));
        if exclusive {
            self.exclusive_fence = self.exclusive_fence.max(Some(fence));
        }
    }

    /// No request that is still waiting may have happened before the one that enters.
    fn check_order(&mut self, time: Time, node: NodeId) {
        if self.causality.is_none() {
            return;
        }
        let Some(entering) = self.nodes.get(node.index()) else { return };
        let overtaken = self.nodes.iter().enumerate().find(|(index, waiter)| {
            let waiter_id = NodeId::from_index(*index);
            waiter_id != node
                && waiter.standing == Standing::Waiting
                && waiter.access.conflicts(entering.access)
                && entering.clock.get(waiter_id) >= waiter.clock.get(waiter_id)
        });
        let Some((index, waiter)) = overtaken else { return };
        self.out_of_order += 1;
        if self.order.is_some() {
            return;
        }
        let text = format!(
            "node {node} entered first, but node {}'s request happened before node {node}'s",
            NodeId::from_index(index)
        );
        self.order = Some(Violation { time, line: self.lines, since: waiter.asked, text });
    }

    fn check_overtaking(&mut self, time: Time, node: NodeId) {
        let access = self.access(node);
        let Some((waiter, passed)) = self.overtaking.as_mut().and_then(|overtaking| overtaking.enters(node, access))
        else {
            return;
        };
        if self.overtaken.is_some() {
            return;
        }
        let since = self.nodes.get(waiter.index()).map_or(time, |state| state.asked);
        let most = self.expects.overtaking.map_or(0, |promise| promise.most);
        let text = format!("node {node} is number {passed} to go ahead of node {waiter}, and at most {most} may");
        self.overtaken = Some(Violation { time, line: self.lines, since, text });
    }
}

impl Observer<Command, Event> for Properties {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        self.end = moment.time();
        self.lines += u64::from(!matches!(moment, Moment::Effect { .. }));
        if let Some(clocks) = &mut self.clocks {
            clocks.observe(moment);
        }
        if let Some(causality) = &mut self.causality {
            causality.observe(moment);
        }
        if let Some(overtaking) = &mut self.overtaking {
            overtaking.watch(moment);
        }
        self.end_with_lease(moment);
        let Some((time, node, change)) = change(moment) else { return };
        let Some(state) = self.nodes.get_mut(node.index()) else { return };
        let before = state.standing;
        state.standing = before.after(change);
        match (before, change) {
            (Standing::Outside, Change::Asks(patience, access)) => self.asks(time, node, patience, access),
            (before, Change::Enters { fence, until }) => {
                (state.until, state.succeeded_by) = (until, None);
                self.enters(time, node, before, fence);
            }
            (Standing::Inside, Change::Extends { until }) => {
                state.until = until;
                self.check_exclusion(time, node, "went on inside");
                self.check_succession(time, node);
            }
            (Standing::Inside, Change::Leaves | Change::Loses | Change::GivesUp | Change::Dies) => self.inside -= 1,
            (Standing::Waiting, Change::Leaves | Change::Loses | Change::GivesUp | Change::Dies) => {
                self.waiting -= 1;
                if let Some(overtaking) = &mut self.overtaking {
                    overtaking.ends(node);
                }
            }
            (Standing::Waiting | Standing::Inside, Change::Asks(..))
            | (Standing::Outside | Standing::Waiting, Change::Extends { .. })
            | (Standing::Outside, Change::Leaves | Change::Loses | Change::GivesUp | Change::Dies) => {}
        }
    }
}
