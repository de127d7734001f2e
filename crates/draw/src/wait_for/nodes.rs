//! Draws nodes as boxes: processes with round corners, resources with square ones.

use super::shape::{NodeBox, Point};
use super::{Kind, Mark, Node};
use crate::svg::canvas::{Anchor, Canvas};
use crate::svg::text::{bold, shortened};

const FONT_SIZE: f64 = 14.5;
/// Maximum number of characters of a name; the tooltip shows the rest.
const MAX_CHARS: usize = 26;
const HALF_HEIGHT: f64 = 19.0;

pub(super) fn node_box(node: &Node) -> NodeBox {
    let half_width = (bold(&short_name(node), FONT_SIZE) / 2.0 + 15.0).max(30.0);
    let half_height = if permits(node).is_some() { HALF_HEIGHT + 5.0 } else { HALF_HEIGHT };
    let half_width = if permits(node).is_some() { half_width.max(44.0) } else { half_width };
    NodeBox { middle: Point::ZERO, half_width, half_height }
}

fn short_name(node: &Node) -> String {
    shortened(&node.name, MAX_CHARS)
}

fn permits(node: &Node) -> Option<String> {
    match node.kind {
        Kind::Process | Kind::Resource(None) => None,
        Kind::Resource(Some(1)) => Some("1 permit".to_owned()),
        Kind::Resource(Some(permits)) => Some(format!("{permits} permits")),
    }
}

pub(super) fn class(mark: Mark) -> &'static str {
    match mark {
        Mark::Deadlock(_) => "in-deadlock",
        Mark::Behind => "behind",
        Mark::Waits => "waits",
        Mark::Free => "free",
    }
}

pub(super) fn draw(canvas: &mut Canvas, node: &Node, node_box: &NodeBox) {
    let hover = if node.hover.is_empty() { &node.name } else { &node.hover };
    let class = format!("node {}", class(node.mark));
    canvas.titled(&class, hover, |canvas| {
        outline(canvas, node.kind, node_box);
        let Point { x, y } = node_box.middle;
        let below = permits(node);
        let baseline = if below.is_some() { y - 1.0 } else { y + 5.0 };
        canvas.text("name", (x, baseline), Anchor::Middle, &short_name(node));
        if let Some(permits) = below {
            canvas.text("permits", (x, y + 14.5), Anchor::Middle, &permits);
        }
        if node.is_victim {
            badge(canvas, node_box.middle.plus(node_box.half_width - 3.0, 3.0 - node_box.half_height));
        }
    });
}

/// Draws the box on an opaque background that hides arrows behind it.
pub(super) fn outline(canvas: &mut Canvas, kind: Kind, node_box: &NodeBox) {
    let corner = node_box.middle.plus(-node_box.half_width, -node_box.half_height);
    let size = (node_box.half_width * 2.0, node_box.half_height * 2.0);
    let (class, round) = match kind {
        Kind::Process => ("process", node_box.half_height.min(16.0)),
        Kind::Resource(_) => ("resource", 1.5),
    };
    canvas.rectangle("ground", (corner.x, corner.y), size, round);
    canvas.rectangle(class, (corner.x, corner.y), size, round);
}

pub(super) fn badge(canvas: &mut Canvas, middle: Point) {
    canvas.circle("victim", (middle.x, middle.y), 8.5);
    let arm = 3.2;
    canvas.line("cross", (middle.x - arm, middle.y - arm), (middle.x + arm, middle.y + arm));
    canvas.line("cross", (middle.x - arm, middle.y + arm), (middle.x + arm, middle.y - arm));
}
