//! Draws nodes as boxes: processes with round corners, resources with square ones.

use super::shape::{NodeBox, Point};
use super::{Node, NodeKind, NodeState};
use crate::svg::canvas::{Anchor, Canvas};
use crate::svg::text::{bold_width, truncate};

const FONT_SIZE: f64 = 14.5;
/// Maximum number of characters of a name; the end of a longer one is cut off.
const MAX_CHARS: usize = 26;
const HALF_HEIGHT: f64 = 19.0;

/// Returns the box that a node needs, at the origin.
pub(super) fn node_box(node: &Node) -> NodeBox {
    let half_width = (bold_width(&short_name(node), FONT_SIZE) / 2.0 + 15.0).max(30.0);
    let half_height = if permits_text(node).is_some() { HALF_HEIGHT + 5.0 } else { HALF_HEIGHT };
    let half_width = if permits_text(node).is_some() { half_width.max(44.0) } else { half_width };
    NodeBox { middle: Point::ZERO, half_width, half_height }
}

fn short_name(node: &Node) -> String {
    truncate(&node.name, MAX_CHARS)
}

fn permits_text(node: &Node) -> Option<String> {
    match node.kind {
        NodeKind::Process | NodeKind::Resource(None) => None,
        NodeKind::Resource(Some(1)) => Some("1 permit".to_owned()),
        NodeKind::Resource(Some(permits)) => Some(format!("{permits} permits")),
    }
}

/// Returns the CSS class of a node in this state.
pub(super) fn class(state: NodeState) -> &'static str {
    match state {
        NodeState::Deadlock(_) => "in-deadlock",
        NodeState::BlockedBehind => "behind",
        NodeState::Waiting => "waits",
        NodeState::Free => "free",
    }
}

pub(super) fn draw(canvas: &mut Canvas, node: &Node, node_box: &NodeBox) {
    let tooltip = if node.tooltip.is_empty() { &node.name } else { &node.tooltip };
    let class = format!("node {}", class(node.state));
    canvas.group_with_tooltip(&class, tooltip, |canvas| {
        draw_outline(canvas, node.kind, node_box);
        let Point { x, y } = node_box.middle;
        let permits = permits_text(node);
        let baseline = if permits.is_some() { y - 1.0 } else { y + 5.0 };
        canvas.text("name", (x, baseline), Anchor::Middle, &short_name(node));
        if let Some(permits) = permits {
            canvas.text("permits", (x, y + 14.5), Anchor::Middle, &permits);
        }
        if node.is_victim {
            draw_victim_badge(canvas, node_box.middle.plus(node_box.half_width - 3.0, 3.0 - node_box.half_height));
        }
    });
}

/// Draws the box on an opaque background that hides arrows behind it.
pub(super) fn draw_outline(canvas: &mut Canvas, kind: NodeKind, node_box: &NodeBox) {
    let corner = node_box.middle.plus(-node_box.half_width, -node_box.half_height);
    let size = (node_box.half_width * 2.0, node_box.half_height * 2.0);
    let (class, corner_radius) = match kind {
        NodeKind::Process => ("process", node_box.half_height.min(16.0)),
        NodeKind::Resource(_) => ("resource", 1.5),
    };
    canvas.rectangle("ground", (corner.x, corner.y), size, corner_radius);
    canvas.rectangle(class, (corner.x, corner.y), size, corner_radius);
}

pub(super) fn draw_victim_badge(canvas: &mut Canvas, middle: Point) {
    canvas.circle("victim", (middle.x, middle.y), 8.5);
    let arm = 3.2;
    canvas.line("cross", (middle.x - arm, middle.y - arm), (middle.x + arm, middle.y + arm));
    canvas.line("cross", (middle.x - arm, middle.y + arm), (middle.x + arm, middle.y - arm));
}
