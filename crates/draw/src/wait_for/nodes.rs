//! Draws nodes as boxes: processes with round corners, resources with square ones.

use super::shape::{Frame, Point};
use super::{Kind, Mark, Node};
use crate::svg::canvas::{Anchor, Canvas};
use crate::svg::text::{bold, shortened};

const LETTERS: f64 = 14.5;
/// Maximum number of characters of a name; the tooltip shows the rest.
const MOST_LETTERS: usize = 26;
const HIGH: f64 = 19.0;

pub(super) fn frame(node: &Node) -> Frame {
    let wide = (bold(&shown(node), LETTERS) / 2.0 + 15.0).max(30.0);
    let high = if permits(node).is_some() { HIGH + 5.0 } else { HIGH };
    let wide = if permits(node).is_some() { wide.max(44.0) } else { wide };
    Frame { middle: Point::ZERO, wide, high }
}

fn shown(node: &Node) -> String {
    shortened(&node.name, MOST_LETTERS)
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

pub(super) fn draw(canvas: &mut Canvas, node: &Node, frame: &Frame) {
    let hover = if node.hover.is_empty() { &node.name } else { &node.hover };
    let class = format!("node {}", class(node.mark));
    canvas.titled(&class, hover, |canvas| {
        outline(canvas, node.kind, frame);
        let Point { x, y } = frame.middle;
        let below = permits(node);
        let baseline = if below.is_some() { y - 1.0 } else { y + 5.0 };
        canvas.text("name", (x, baseline), Anchor::Middle, &shown(node));
        if let Some(permits) = below {
            canvas.text("permits", (x, y + 14.5), Anchor::Middle, &permits);
        }
        if node.is_victim {
            badge(canvas, frame.middle.plus(frame.wide - 3.0, 3.0 - frame.high));
        }
    });
}

/// Draws the box on an opaque background that hides arrows behind it.
pub(super) fn outline(canvas: &mut Canvas, kind: Kind, frame: &Frame) {
    let corner = frame.middle.plus(-frame.wide, -frame.high);
    let size = (frame.wide * 2.0, frame.high * 2.0);
    let (class, round) = match kind {
        Kind::Process => ("process", frame.high.min(16.0)),
        Kind::Resource(_) => ("resource", 1.5),
    };
    canvas.rectangle("ground", (corner.x, corner.y), size, round);
    canvas.rectangle(class, (corner.x, corner.y), size, round);
}

pub(super) fn badge(canvas: &mut Canvas, at: Point) {
    canvas.circle("victim", (at.x, at.y), 8.5);
    let arm = 3.2;
    canvas.line("cross", (at.x - arm, at.y - arm), (at.x + arm, at.y + arm));
    canvas.line("cross", (at.x - arm, at.y + arm), (at.x + arm, at.y - arm));
}
