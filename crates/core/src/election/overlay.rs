//! A peer-to-peer overlay: node ids on a circle, and the super-peer of each region.
//!
//! Every node has an id of m bits, derived from its number by a hash. The first k bits of an id
//! name its region. The super-peer of a node is the successor of its id with all but these k bits
//! cleared: the first live node of the region. So every region with a live node has exactly one
//! super-peer.

use crate::fixed::Fixed;
use crate::group::Group;
use crate::node::NodeId;
use alloc::vec::Vec;

/// The positions of nodes on the circle. Clones share one table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Overlay {
    size: usize,
    seed: u64,
    /// Length of an id.
    bits: u32,
    /// Number of leading bits of an id that name its region.
    reserved: u32,
    table: Fixed<Table>,
}

#[derive(Debug)]
struct Table {
    /// All nodes by id; of two nodes with the same id, the lower number comes first.
    order: Vec<(u64, NodeId)>,
    /// The nodes' ids in the order of their numbers.
    ids: Vec<u64>,
}

/// Maximum length of an id, in bits.
pub const MAX_ID_BITS: u32 = 64;

/// Default length of an id, and default number of its bits that name the region.
pub const DEFAULT_ID_BITS: (u32, u32) = (32, 3);

impl Overlay {
    /// Creates an overlay of the nodes 1 to `size` with ids of `bits` bits, the first `reserved` of
    /// which name the region. Ids are derived from the seed. `bits` is clamped to 1 to 64, and
    /// `reserved` to at most `bits`.
    pub fn new(size: usize, seed: u64, bits: u32, reserved: u32) -> Self {
        let bits = bits.clamp(1, MAX_ID_BITS);
        let id = |node: NodeId| mix(mix(seed) ^ u64::from(node.number())) >> (MAX_ID_BITS - bits);
        let ids: Vec<_> = Group::of_size(size).iter().map(id).collect();
        let mut order: Vec<_> = Group::of_size(size).iter().map(|node| (id(node), node)).collect();
        order.sort_unstable();
        Self { size, seed, bits, reserved: reserved.min(bits), table: Fixed::new(Table { order, ids }) }
    }

    /// Returns an overlay of the same nodes and ids with this number of reserved bits.
    #[must_use]
    pub fn with_reserved(&self, reserved: u32) -> Self {
        Self { reserved: reserved.min(self.bits), ..self.clone() }
    }

    /// Returns the overlay with the fewest reserved bits in which no super-peer serves more than
    /// `maximum_load` other nodes; `None` if too many nodes share an id. Here and below, `gone`
    /// returns whether a node has left the overlay.
    pub fn bounded(&self, maximum_load: usize, gone: impl Fn(NodeId) -> bool) -> Option<Self> {
        let mut candidates = (0..=self.bits).map(|reserved| self.with_reserved(reserved));
        candidates.find(|overlay| overlay.largest_load(&gone) <= maximum_load)
    }

    /// Returns the number of nodes on the circle.
    pub const fn len(&self) -> usize {
        self.size
    }

    /// Returns whether the overlay has no nodes.
    pub const fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// Returns the length of an id, in bits.
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns the number of bits that name the region.
    pub const fn reserved(&self) -> u32 {
        self.reserved
    }

    /// Returns a node's id.
    pub fn id(&self, node: NodeId) -> u64 {
        self.table.ids.get(node.index()).copied().unwrap_or_default()
    }

    /// Returns the region of a node: the first bits of its id.
    pub fn region(&self, node: NodeId) -> u64 {
        self.region_of(self.id(node))
    }

    fn region_of(&self, id: u64) -> u64 {
        id.checked_shr(self.bits - self.reserved).unwrap_or(0)
    }

    /// Returns the first id of a node's region: the node's id with all but the reserved bits
    /// cleared.
    pub fn key(&self, node: NodeId) -> u64 {
        self.region(node).checked_shl(self.bits - self.reserved).unwrap_or(0)
    }

    /// Returns the first node on the circle, from this id on, that is not gone; `None` if all are.
    pub fn successor(&self, id: u64, gone: impl Fn(NodeId) -> bool) -> Option<NodeId> {
        let order = &self.table.order;
        let (before, after) = order.split_at(order.partition_point(|(other, _)| *other < id));
        after.iter().chain(before).map(|(_, node)| *node).find(|node| !gone(*node))
    }

    /// Returns the super-peer of a node, which must not be gone.
    pub fn super_peer(&self, node: NodeId, gone: impl Fn(NodeId) -> bool) -> NodeId {
        self.successor(self.key(node), |other| other != node && gone(other)).unwrap_or(node)
    }

    /// Returns the nodes of the same region that precede this node as candidates for super-peer.
    pub fn ahead(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let (region_start, own_entry) = (self.key(node), (self.id(node), node));
        let first = self.table.order.partition_point(|(id, _)| *id < region_start);
        self.table.order.iter().skip(first).take_while(move |other| **other < own_entry).map(|(_, node)| *node)
    }

    /// Returns every super-peer in the order of ids, with the number of other nodes that it serves.
    pub fn loads(&self, gone: impl Fn(NodeId) -> bool) -> Vec<(NodeId, usize)> {
        let mut loads: Vec<(NodeId, usize)> = Vec::new();
        let mut current_region = None;
        for &(id, node) in self.table.order.iter().filter(|(_, node)| !gone(*node)) {
            let region = self.region_of(id);
            match loads.last_mut() {
                Some((_, load)) if current_region == Some(region) => *load += 1,
                Some(_) | None => loads.push((node, 0)),
            }
            current_region = Some(region);
        }
        loads
    }

    /// Returns the number of other nodes that the busiest super-peer serves.
    pub fn largest_load(&self, gone: impl Fn(NodeId) -> bool) -> usize {
        self.loads(gone).into_iter().map(|(_, load)| load).max().unwrap_or(0)
    }

    /// Returns the expected number of super-peers among `nodes` nodes with random ids:
    /// 2^k·(1−(1−2^−k)^M) for k reserved bits and M nodes, the expected number of regions that
    /// have a node.
    pub fn expected(&self, nodes: usize) -> f64 {
        let regions = power(2.0, u64::from(self.reserved));
        regions * (1.0 - power(1.0 - 1.0 / regions, nodes as u64))
    }
}

/// Computes a power by repeated squaring.
fn power(base: f64, exponent: u64) -> f64 {
    let (mut square, mut product, mut remaining_exponent) = (base, 1.0, exponent);
    while remaining_exponent > 0 {
        if remaining_exponent % 2 == 1 {
            product *= square;
        }
        square *= square;
        remaining_exponent /= 2;
    }
    product
}

/// Spreads the bits of a word evenly. The constants are those of the generator splitmix64.
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

    /// Searches all nodes for the first live one from (id AND mask) on, around the circle.
    fn super_peer_by_search(overlay: &Overlay, node: NodeId, live: &[NodeId]) -> NodeId {
        let mask =
            if overlay.reserved() == 0 { 0 } else { (u64::MAX << (64 - overlay.reserved())) >> (64 - overlay.bits()) };
        let key = overlay.id(node) & mask;
        let distance = |other: &NodeId| {
            // The shift drops the bits above the id, so that distances wrap around the circle.
            let clockwise = overlay.id(*other).wrapping_sub(key) << (64 - overlay.bits());
            (clockwise, other.number())
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
                assert_eq!(leader, super_peer_by_search(&overlay, *node, &live), "seed {seed}, node {node}");
                assert_eq!(overlay.region(leader), overlay.region(*node), "the super-peer is in the region");
                assert_eq!(overlay.super_peer(leader, gone), leader, "a super-peer is its own super-peer");
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

    /// The textbook formula 2^(k−m)·M holds only if every one of the 2^m ids belongs to a node.
    #[test]
    fn the_expected_number_is_the_mean_over_many_groups() {
        for (nodes, reserved) in [(10, 3), (100, 3), (100, 6), (50, 8), (7, 0)] {
            let groups = 2_000;
            let count = |seed| Overlay::new(nodes, seed, 32, reserved).loads(|_| false).len();
            let mean = (0..groups).map(count).sum::<usize>() as f64 / groups as f64;
            let expected = Overlay::new(nodes, 0, 32, reserved).expected(nodes);
            assert!(
                (mean - expected).abs() < 0.02 * expected,
                "{nodes} nodes, {reserved} bits: mean {mean}, expected {expected}"
            );
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
                let by_search = (0..=32).find(|bits| overlay.with_reserved(*bits).largest_load(|_| false) <= bound);
                assert_eq!(chosen, by_search, "seed {seed}, bound {bound}");
            }
            assert_eq!(overlay.bounded(59, |_| false).map(|chosen| chosen.reserved()), Some(0));
        }
        assert_eq!(Overlay::new(5, 1, 1, 0).bounded(0, |_| false), None, "five nodes cannot have ids of one bit each");
    }
}
