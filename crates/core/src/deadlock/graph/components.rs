//! Strongly connected components (Tarjan's algorithm, without recursion, so that long chains do not
//! overflow the stack).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The search's knowledge about a node that it has visited.
#[derive(Clone, Copy)]
struct Mark {
    /// The order of its first visit.
    number: usize,
    /// The number of the earliest open node that it reaches.
    lowest: usize,
    /// Whether its component is not complete yet.
    is_open: bool,
}

/// Returns the components without outgoing edges that have several nodes or one node with an edge
/// to itself.
pub(super) fn terminal_components<'a, N: Ord>(successors: &BTreeMap<&'a N, Vec<&'a N>>) -> Vec<Vec<&'a N>> {
    let successors_of = |node: &N| successors.get(node).map_or(&[][..], Vec::as_slice);
    let mut marks: BTreeMap<&N, Mark> = BTreeMap::new();
    let mut open: Vec<&N> = Vec::new();
    let mut found = Vec::new();
    for root in successors.keys().copied() {
        if marks.contains_key(root) {
            continue;
        }
        let mut path = alloc::vec![(root, 0_usize)];
        visit(root, &mut marks, &mut open);
        while let Some((node, index)) = path.last_mut() {
            let node = *node;
            if let Some(next) = successors_of(node).get(*index).copied() {
                *index += 1;
                match marks.get(next).copied() {
                    None => {
                        visit(next, &mut marks, &mut open);
                        path.push((next, 0));
                    }
                    Some(mark) if mark.is_open => lower_mark(node, mark.number, &mut marks),
                    Some(_) => {}
                }
                continue;
            }
            path.pop();
            let Some(mark) = marks.get(node).copied() else { continue };
            if let Some((parent, _)) = path.last().copied() {
                lower_mark(parent, mark.lowest, &mut marks);
            }
            if mark.lowest == mark.number {
                let members = close(node, &mut marks, &mut open);
                let is_member = |next: &&N| members.binary_search(next).is_ok();
                let is_terminal = members.iter().all(|member| successors_of(member).iter().all(is_member));
                if is_terminal && members.iter().any(|member| !successors_of(member).is_empty()) {
                    found.push(members);
                }
            }
        }
    }
    found
}

fn visit<'a, N: Ord>(node: &'a N, marks: &mut BTreeMap<&'a N, Mark>, open: &mut Vec<&'a N>) {
    let number = marks.len();
    marks.insert(node, Mark { number, lowest: number, is_open: true });
    open.push(node);
}

fn lower_mark<'a, N: Ord>(node: &'a N, number: usize, marks: &mut BTreeMap<&'a N, Mark>) {
    if let Some(mark) = marks.get_mut(node) {
        mark.lowest = mark.lowest.min(number);
    }
}

/// Closes a complete component: all nodes visited since its first one.
fn close<'a, N: Ord>(first: &'a N, marks: &mut BTreeMap<&'a N, Mark>, open: &mut Vec<&'a N>) -> Vec<&'a N> {
    let mut members = Vec::new();
    while let Some(member) = open.pop() {
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
