//! A peer-to-peer overlay: node ids on a circle, and the super-peer of each region.
//!
//! Every node has an id of m bits, derived from its number by a hash. The first k bits of an id
//! name its region. The super-peer of a node is the successor of its id with all but these k bits
//! cleared: the first live node of the region. So every region with a live node has exactly one
//! super-peer, which leads it.

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
    id_bits: u32,
    /// Number of leading bits of an id that name its region.
    region_bits: u32,
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

/// Default length of an id, in bits.
pub const DEFAULT_ID_BITS: u32 = 32;

/// Default number of bits of an id that name its region: up to 8 regions.
pub const DEFAULT_REGION_BITS: u32 = 3;

impl Overlay {
    /// Creates an overlay of the nodes 1 to `size` with ids of `id_bits` bits, the first
    /// `region_bits` of which name the region. Ids are derived from the seed. `id_bits` is clamped
    /// to 1 to 64, and `region_bits` to at most `id_bits`.
    pub fn new(size: usize, seed: u64, id_bits: u32, region_bits: u32) -> Self {
        let id_bits = id_bits.clamp(1, MAX_ID_BITS);
        let id = |node: NodeId| mix_bits(mix_bits(seed) ^ u64::from(node.number())) >> (MAX_ID_BITS - id_bits);
        let ids: Vec<_> = Group::of_size(size).iter().map(id).collect();
        let mut order: Vec<_> = Group::of_size(size).iter().map(|node| (id(node), node)).collect();
        order.sort_unstable();
        Self { size, seed, id_bits, region_bits: region_bits.min(id_bits), table: Fixed::new(Table { order, ids }) }
    }

    /// Returns an overlay of the same nodes and ids with this number of region bits.
    #[must_use]
    pub fn with_region_bits(&self, region_bits: u32) -> Self {
        Self { region_bits: region_bits.min(self.id_bits), ..self.clone() }
    }

    /// Returns the overlay with the fewest region bits in which no super-peer serves more than
    /// `max_load` other nodes; `None` if too many nodes share an id. Here and below, `is_gone`
    /// returns whether a node has left the overlay.
    pub fn with_bounded_load(&self, max_load: usize, is_gone: impl Fn(NodeId) -> bool) -> Option<Self> {
        let mut candidates = (0..=self.id_bits).map(|region_bits| self.with_region_bits(region_bits));
        candidates.find(|overlay| overlay.largest_load(&is_gone) <= max_load)
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
    pub const fn id_bits(&self) -> u32 {
        self.id_bits
    }

    /// Returns the number of bits of an id that name its region.
    pub const fn region_bits(&self) -> u32 {
        self.region_bits
    }

    /// Returns a node's id; 0 if the overlay has no such node.
    pub fn id(&self, node: NodeId) -> u64 {
        self.table.ids.get(node.index()).copied().unwrap_or_default()
    }

    /// Returns the region of a node: the first bits of its id.
    pub fn region(&self, node: NodeId) -> u64 {
        self.region_of(self.id(node))
    }

    /// Returns the region of an id. A shift by 64 bits leaves 0: without region bits there is one
    /// region, which starts at 0.
    fn region_of(&self, id: u64) -> u64 {
        id.checked_shr(self.id_bits - self.region_bits).unwrap_or(0)
    }

    /// Returns the first id of a node's region: the node's id with all but the region bits cleared.
    pub fn region_start(&self, node: NodeId) -> u64 {
        self.region(node).checked_shl(self.id_bits - self.region_bits).unwrap_or(0)
    }

    /// Returns the first node on the circle, from this id on, that is not gone; `None` if all nodes
    /// are gone.
    pub fn successor(&self, id: u64, is_gone: impl Fn(NodeId) -> bool) -> Option<NodeId> {
        let order = &self.table.order;
        let (before, after) = order.split_at(order.partition_point(|(other, _)| *other < id));
        after.iter().chain(before).map(|(_, node)| *node).find(|node| !is_gone(*node))
    }

    /// Returns the super-peer of a node. The node itself counts as live, whatever `is_gone`
    /// returns.
    pub fn super_peer(&self, node: NodeId, is_gone: impl Fn(NodeId) -> bool) -> NodeId {
        self.successor(self.region_start(node), |other| other != node && is_gone(other)).unwrap_or(node)
    }

    /// Returns the nodes of the region that come before this node, in order. The first of them that
    /// is up, if any, is this node's super-peer.
    pub fn preceding_in_region(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let (region_start, own_entry) = (self.region_start(node), (self.id(node), node));
        let first = self.table.order.partition_point(|(id, _)| *id < region_start);
        self.table.order.iter().skip(first).take_while(move |other| **other < own_entry).map(|(_, node)| *node)
    }

    /// Returns every super-peer in the order of ids, with the number of other nodes that it serves.
    pub fn loads(&self, is_gone: impl Fn(NodeId) -> bool) -> Vec<(NodeId, usize)> {
        let mut loads: Vec<(NodeId, usize)> = Vec::new();
        let mut current_region = None;
        for &(id, node) in self.table.order.iter().filter(|(_, node)| !is_gone(*node)) {
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
    pub fn largest_load(&self, is_gone: impl Fn(NodeId) -> bool) -> usize {
        self.loads(is_gone).into_iter().map(|(_, load)| load).max().unwrap_or(0)
    }

    /// Returns the expected number of super-peers among `nodes` nodes with random ids:
    /// 2^k·(1−(1−2^−k)^M) for k region bits and M nodes, the expected number of regions that have a
    /// node.
    pub fn expected_super_peers(&self, nodes: usize) -> f64 {
        let regions = power(2.0, u64::from(self.region_bits));
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

/// Hashes a word: every bit of the result depends on every bit of the word (one step of the
/// generator SplitMix64).
pub(super) const fn mix_bits(word: u64) -> u64 {
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

    /// Searches the live nodes for the first one from (id AND mask) on, around the circle, where
    /// the mask keeps the region bits of the id of `node`.
    fn super_peer_by_search(overlay: &Overlay, node: NodeId, live: &[NodeId]) -> NodeId {
        let mask = if overlay.region_bits() == 0 {
            0
        } else {
            (u64::MAX << (64 - overlay.region_bits())) >> (64 - overlay.id_bits())
        };
        let key = overlay.id(node) & mask;
        let distance = |other: &NodeId| {
            // The shift drops the bits above the id, so that distances wrap around the circle.
            let clockwise_distance = overlay.id(*other).wrapping_sub(key) << (64 - overlay.id_bits());
            (clockwise_distance, other.number())
        };
        live.iter().copied().min_by_key(distance).unwrap_or(node)
    }

    #[test]
    fn a_super_peer_is_the_successor_of_the_id_with_its_last_bits_cleared() {
        for seed in 0..200 {
            let (id_bits, region_bits) = ([1, 3, 8, 32, 64][seed as usize % 5], seed as u32 % 6);
            let overlay = Overlay::new(30, seed, id_bits, region_bits);
            let everyone = Group::of_size(30);
            let live: Vec<_> =
                everyone.iter().filter(|node| !(node.number() as u64 + seed).is_multiple_of(3)).collect();
            let is_gone = |node: NodeId| !live.contains(&node);
            for node in &live {
                let leader = overlay.super_peer(*node, is_gone);
                assert_eq!(leader, super_peer_by_search(&overlay, *node, &live), "seed {seed}, node {node}");
                assert_eq!(overlay.region(leader), overlay.region(*node), "the super-peer is in the region");
                assert_eq!(overlay.super_peer(leader, is_gone), leader, "a super-peer is its own super-peer");
                assert_eq!(overlay.preceding_in_region(*node).find(|other| !is_gone(*other)).unwrap_or(*node), leader);
            }
        }
    }

    #[test]
    fn loads_are_counted_by_region() {
        for seed in 0..100 {
            let overlay = Overlay::new(40, seed, 16, 1 + seed as u32 % 5);
            let is_gone = |node: NodeId| u64::from(node.number()) % 5 == seed % 5;
            let live: Vec<_> = Group::of_size(40).iter().filter(|node| !is_gone(*node)).collect();
            let loads = overlay.loads(is_gone);
            let leaders: BTreeSet<_> = live.iter().map(|node| overlay.super_peer(*node, is_gone)).collect();
            assert_eq!(loads.iter().map(|(leader, _)| *leader).collect::<BTreeSet<_>>(), leaders);
            for (leader, load) in loads {
                let served = live.iter().filter(|node| overlay.super_peer(**node, is_gone) == leader).count();
                assert_eq!(load + 1, served, "a super-peer is its own super-peer, but not part of its load");
            }
        }
    }

    #[test]
    fn the_expected_number_is_the_mean_over_many_groups() {
        for (nodes, region_bits) in [(10, 3), (100, 3), (100, 6), (50, 8), (7, 0)] {
            let groups = 2_000;
            let count = |seed| Overlay::new(nodes, seed, 32, region_bits).loads(|_| false).len();
            let mean = (0..groups).map(count).sum::<usize>() as f64 / groups as f64;
            let expected = Overlay::new(nodes, 0, 32, region_bits).expected_super_peers(nodes);
            assert!(
                (mean - expected).abs() < 0.02 * expected,
                "{nodes} nodes, {region_bits} region bits: mean {mean}, expected {expected}"
            );
        }
        // With M = 2^m nodes, as here, the textbook formula 2^(k−m)·M gives 2^3 = 8 too.
        let crowded = Overlay::new(256, 1, 8, 3);
        assert!((crowded.expected_super_peers(256) - 8.0).abs() < 1e-9);
    }

    #[test]
    fn a_bounded_load_takes_the_fewest_region_bits() {
        for seed in 0..50 {
            let overlay = Overlay::new(60, seed, 32, 0);
            for bound in [0, 1, 5, 20, 59] {
                let chosen = overlay.with_bounded_load(bound, |_| false).map(|chosen| chosen.region_bits());
                let by_search = (0..=32).find(|bits| overlay.with_region_bits(*bits).largest_load(|_| false) <= bound);
                assert_eq!(chosen, by_search, "seed {seed}, bound {bound}");
            }
            assert_eq!(overlay.with_bounded_load(59, |_| false).map(|chosen| chosen.region_bits()), Some(0));
        }
        assert_eq!(
            Overlay::new(5, 1, 1, 0).with_bounded_load(0, |_| false),
            None,
            "five nodes cannot have five different ids of one bit"
        );
    }
}
