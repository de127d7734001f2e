//! An overlay of peers: ids on a circle, and who of them stands for the rest of its region.
//!
//! Every node has an id of m bits, which follows from its number like a hash. The first k bits of an id name the region that it is in, and the
//! super-peer of a node is the successor of its id with all but these k bits cleared: the first live node of its region. So every region in which
//! anybody lives has exactly one.

use crate::fixed::Fixed;
use crate::group::Group;
use crate::node::NodeId;
use alloc::vec::Vec;

/// Who sits where on the circle. Clones share one table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Overlay {
    size: usize,
    seed: u64,
    bits: u32,
    reserved: u32,
    table: Fixed<Table>,
}

#[derive(Debug)]
struct Table {
    /// Everyone in the order of their ids; of two with the same, the lower number comes first.
    order: Vec<(u64, NodeId)>,
    ids: Vec<u64>,
}

/// How long an id is at most, in bits.
pub const MOST_BITS: u32 = 64;

/// How long an id is and how much of it names the region, unless somebody says otherwise.
pub const USUAL_BITS: (u32, u32) = (32, 3);

impl Overlay {
    /// The nodes 1 to `size` with ids of so many bits, the first `reserved` of which name the region. Ids follow from the seed. There are from 1 to
    /// 64 bits, and no more are reserved than there are.
    pub fn new(size: usize, seed: u64, bits: u32, reserved: u32) -> Self {
        let bits = bits.clamp(1, MOST_BITS);
        let id = |node: NodeId| mix(mix(seed) ^ u64::from(node.number())) >> (MOST_BITS - bits);
        let ids: Vec<_> = Group::of_size(size).iter().map(id).collect();
        let mut order: Vec<_> = Group::of_size(size).iter().map(|node| (id(node), node)).collect();
        order.sort_unstable();
        Self { size, seed, bits, reserved: reserved.min(bits), table: Fixed::new(Table { order, ids }) }
    }

    /// The same nodes, with so many bits reserved.
    #[must_use]
    pub fn reserving(&self, reserved: u32) -> Self {
        Self { reserved: reserved.min(self.bits), ..self.clone() }
    }

    /// The same nodes with as few bits reserved as keep every super-peer's load within this bound. Nothing if there are too many of the same id.
    pub fn bounded(&self, load: usize, gone: impl Fn(NodeId) -> bool) -> Option<Self> {
        (0..=self.bits).map(|reserved| self.reserving(reserved)).find(|overlay| overlay.largest_load(&gone) <= load)
    }

    /// How many nodes sit on the circle.
    pub const fn len(&self) -> usize {
        self.size
    }

    /// Whether nobody does.
    pub const fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// How many bits an id has.
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// How many of them name the region.
    pub const fn reserved(&self) -> u32 {
        self.reserved
    }

    /// A node's id.
    pub fn id(&self, node: NodeId) -> u64 {
        self.table.ids.get(node.index()).copied().unwrap_or_default()
    }

    /// The region that a node is in: the first bits of its id.
    pub fn region(&self, node: NodeId) -> u64 {
        self.region_of(self.id(node))
    }

    fn region_of(&self, id: u64) -> u64 {
        id.checked_shr(self.bits - self.reserved).unwrap_or(0)
    }

    /// The first id of a node's region: its own, with all bits but the reserved ones cleared.
    pub fn key(&self, node: NodeId) -> u64 {
        self.region(node).checked_shl(self.bits - self.reserved).unwrap_or(0)
    }

    /// The first node on the circle from this id on that is not gone.
    pub fn successor(&self, id: u64, gone: impl Fn(NodeId) -> bool) -> Option<NodeId> {
        let order = &self.table.order;
        let (before, after) = order.split_at(order.partition_point(|(other, _)| *other < id));
        after.iter().chain(before).map(|(_, node)| *node).find(|node| !gone(*node))
    }

    /// The super-peer of a node that is not gone.
    pub fn super_peer(&self, node: NodeId, gone: impl Fn(NodeId) -> bool) -> NodeId {
        self.successor(self.key(node), |other| other != node && gone(other)).unwrap_or(node)
    }

    /// Those of a node's region who would come before it as super-peers.
    pub fn ahead(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let (key, own) = (self.key(node), (self.id(node), node));
        let first = self.table.order.partition_point(|(id, _)| *id < key);
        self.table.order.iter().skip(first).take_while(move |other| **other < own).map(|(_, node)| *node)
    }

    /// Every super-peer, in the order of their ids, and how many others it serves.
    pub fn loads(&self, gone: impl Fn(NodeId) -> bool) -> Vec<(NodeId, usize)> {
        let mut loads: Vec<(NodeId, usize)> = Vec::new();
        let mut present = None;
        for &(id, node) in self.table.order.iter().filter(|(_, node)| !gone(*node)) {
            let region = self.region_of(id);
            match loads.last_mut() {
                Some((_, load)) if present == Some(region) => *load += 1,
                Some(_) | None => loads.push((node, 0)),
            }
            present = Some(region);
        }
        loads
    }

    /// How many others the busiest super-peer serves.
    pub fn largest_load(&self, gone: impl Fn(NodeId) -> bool) -> usize {
        self.loads(gone).into_iter().map(|(_, load)| load).max().unwrap_or(0)
    }

    /// How many super-peers there are to be expected among so many nodes with ids drawn at random: 2^k·(1−(1−2^−k)^M), the regions in
    /// which somebody lives.
    pub fn expected(&self, nodes: usize) -> f64 {
        let regions = power(2.0, u64::from(self.reserved));
        regions * (1.0 - power(1.0 - 1.0 / regions, nodes as u64))
    }
}

/// A power, by squares.
fn power(base: f64, exponent: u64) -> f64 {
    let (mut square, mut product, mut left) = (base, 1.0, exponent);
    while left > 0 {
        if left % 2 == 1 {
            product *= square;
        }
        square *= square;
        left /= 2;
    }
    product
}

/// Spreads the bits of a word evenly (the finisher of splitmix64).
pub(super) const fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::Overlay;
    use crate::group::Group;
    use crate::node::NodeId;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    /// Looks at everybody: the first live node from (id AND mask) on, round the circle.
    fn plainly(overlay: &Overlay, node: NodeId, live: &[NodeId]) -> NodeId {
        let mask =
            if overlay.reserved() == 0 { 0 } else { (u64::MAX << (64 - overlay.reserved())) >> (64 - overlay.bits()) };
        let key = overlay.id(node) & mask;
        let distance = |other: &NodeId| {
            let ahead = overlay.id(*other).wrapping_sub(key) << (64 - overlay.bits());
            (ahead, other.number())
        };
        live.iter().copied().min_by_key(distance).unwrap_or(node)
    }

    #[test]
    fn a_super_peer_is_the_successor_of_the_id_with_its_last_bits_cleared() {
        for seed in 0..200 {
            let (bits, reserved) = ([1, 3, 8, 32, 64][seed as usize % 5], seed as u32 % 6);
            let overlay = Overlay::new(30, seed, bits, reserved);
            let everyone = Group::of_size(30);
            let live: Vec<_> =
                everyone.iter().filter(|node| !(node.number() as u64 + seed).is_multiple_of(3)).collect();
            let gone = |node: NodeId| !live.contains(&node);
            for node in &live {
                let leader = overlay.super_peer(*node, gone);
                assert_eq!(leader, plainly(&overlay, *node, &live), "seed {seed}, node {node}");
                assert_eq!(overlay.region(leader), overlay.region(*node), "it is one of the region");
                assert_eq!(overlay.super_peer(leader, gone), leader, "it is its own");
                assert_eq!(overlay.ahead(*node).find(|other| !gone(*other)).unwrap_or(*node), leader);
            }
        }
    }

    #[test]
    fn loads_are_counted_by_region() {
        for seed in 0..100 {
            let overlay = Overlay::new(40, seed, 16, 1 + seed as u32 % 5);
            let gone = |node: NodeId| u64::from(node.number()) % 5 == seed % 5;
            let live: Vec<_> = Group::of_size(40).iter().filter(|node| !gone(*node)).collect();
            let loads = overlay.loads(gone);
            let leaders: BTreeSet<_> = live.iter().map(|node| overlay.super_peer(*node, gone)).collect();
            assert_eq!(loads.iter().map(|(leader, _)| *leader).collect::<BTreeSet<_>>(), leaders);
            for (leader, load) in loads {
                let served = live.iter().filter(|node| overlay.super_peer(**node, gone) == leader).count();
                assert_eq!(load + 1, served);
            }
        }
    }

    /// The deck's 2^(k−m)·M holds only where every id is taken.
    #[test]
    fn the_expected_number_is_the_mean_over_many_groups() {
        for (nodes, reserved) in [(10, 3), (100, 3), (100, 6), (50, 8), (7, 0)] {
            let groups = 2_000;
            let count = |seed| Overlay::new(nodes, seed, 32, reserved).loads(|_| false).len();
            let mean = (0..groups).map(count).sum::<usize>() as f64 / groups as f64;
            let expected = Overlay::new(nodes, 0, 32, reserved).expected(nodes);
            assert!((mean - expected).abs() < 0.02 * expected, "{nodes} nodes, {reserved} bits: {mean} for {expected}");
        }
        let full = Overlay::new(256, 1, 8, 3);
        assert!((full.expected(256) - 8.0).abs() < 1e-9);
    }

    #[test]
    fn the_fewest_bits_that_keep_a_bound_are_found() {
        for seed in 0..50 {
            let overlay = Overlay::new(60, seed, 32, 0);
            for bound in [0, 1, 5, 20, 59] {
                let chosen = overlay.bounded(bound, |_| false).map(|chosen| chosen.reserved());
                let plainly = (0..=32).find(|bits| overlay.reserving(*bits).largest_load(|_| false) <= bound);
                assert_eq!(chosen, plainly, "seed {seed}, bound {bound}");
            }
            assert_eq!(overlay.bounded(59, |_| false).map(|chosen| chosen.reserved()), Some(0));
        }
        assert_eq!(Overlay::new(5, 1, 1, 0).bounded(0, |_| false), None, "five nodes cannot have ids of one bit each");
    }
}
