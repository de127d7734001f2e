//! Strongly connected components (Tarjan's algorithm, without recursion, so that long chains do not
//! overflow the stack).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The search's knowledge about a node that it has visited. The node is open (on Tarjan's stack)
/// until the search has visited its whole component.
#[derive(Clone, Copy)]
struct Mark {
    /// The number of nodes visited before this one.
    visit_number: usize,
    /// Tarjan's lowlink: the lowest visit number of an open node that this one is known to reach.
    lowest_reachable: usize,
    is_open: bool,
}

/// Returns the components that have no edge to another component. Omits single nodes without an
/// edge to themselves.
pub(super) fn terminal_components<'a, N: Ord>(successors: &BTreeMap<&'a N, Vec<&'a N>>) -> Vec<Vec<&'a N>> {
    let successors_of = |node: &N| successors.get(node).map_or(&[][..], Vec::as_slice);
    let mut marks: BTreeMap<&N, Mark> = BTreeMap::new();
    let mut open_nodes: Vec<&N> = Vec::new();
    let mut components = Vec::new();
    for root in successors.keys().copied() {
        if marks.contains_key(root) {
            continue;
        }
        // The nodes from the root to the current one, each with the index of its next successor.
        let mut path = alloc::vec![(root, 0_usize)];
        visit(root, &mut marks, &mut open_nodes);
        while let Some((node, index)) = path.last_mut() {
            let node = *node;
            if let Some(next) = successors_of(node).get(*index).copied() {
                *index += 1;
                match marks.get(next).copied() {
                    None => {
                        visit(next, &mut marks, &mut open_nodes);
                        path.push((next, 0));
                    }
                    Some(mark) if mark.is_open => record_reachable(node, mark.visit_number, &mut marks),
                    Some(_) => {}
                }
                continue;
            }
            path.pop();
            let Some(mark) = marks.get(node).copied() else { continue };
            if let Some((parent, _)) = path.last().copied() {
                record_reachable(parent, mark.lowest_reachable, &mut marks);
            }
            if mark.lowest_reachable == mark.visit_number {
                let members = close_component(node, &mut marks, &mut open_nodes);
                let is_member = |next: &&N| members.binary_search(next).is_ok();
                let is_terminal = members.iter().all(|member| successors_of(member).iter().all(is_member));
                if is_terminal && members.iter().any(|member| !successors_of(member).is_empty()) {
                    components.push(members);
                }
            }
        }
    }
    components
}

fn visit<'a, N: Ord>(node: &'a N, marks: &mut BTreeMap<&'a N, Mark>, open_nodes: &mut Vec<&'a N>) {
    let visit_number = marks.len();
    marks.insert(node, Mark { visit_number, lowest_reachable: visit_number, is_open: true });
    open_nodes.push(node);
}

/// Records that a node can reach the open node with this visit number.
fn record_reachable<'a, N: Ord>(node: &'a N, visit_number: usize, marks: &mut BTreeMap<&'a N, Mark>) {
    if let Some(mark) = marks.get_mut(node) {
        mark.lowest_reachable = mark.lowest_reachable.min(visit_number);
    }
}

/// Closes a complete component: all open nodes from its first one on. Returns them sorted.
fn close_component<'a, N: Ord>(
    first: &'a N,
    marks: &mut BTreeMap<&'a N, Mark>,
    open_nodes: &mut Vec<&'a N>,
) -> Vec<&'a N> {
    let mut members = Vec::new();
    while let Some(member) = open_nodes.pop() {
        if let Some(mark) = marks.get_mut(member) {
            mark.is_open = false;
        }
        members.push(member);
        if member == first {
            break;
        }
    }
    members.sort();
    members
}
