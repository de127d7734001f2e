//! The legend: the symbols that occur in the graph.

use super::page::{MARGIN, draw_arrow};
use super::shape::{NodeBox, Point};
use super::{Diagram, EdgeKind, NodeKind, NodeState, nodes};
use crate::svg::canvas::{Anchor, Canvas};
use crate::svg::text::text_width;

const FONT_SIZE: f64 = 12.5;
const ROW_HEIGHT: f64 = 25.0;
/// Width of a symbol and the space after it, in pixels.
const SYMBOL_WIDTH: f64 = 42.0;
/// Distance between two items side by side, in pixels.
const ITEM_GAP: f64 = 24.0;

enum Symbol {
    Box(NodeKind, NodeState),
    Arrow { kind: EdgeKind, is_in_deadlock: bool },
    Victim,
}

/// Draws the legend left of `right`, with the text of its first row on this baseline. Returns its
/// lower edge.
pub(super) fn draw(canvas: &mut Canvas, diagram: &Diagram, first_baseline: f64, right: f64) -> f64 {
    let (mut x, mut y) = (MARGIN, first_baseline);
    for (symbol, words) in symbols(diagram) {
        let item_width = SYMBOL_WIDTH + text_width(words, FONT_SIZE) + ITEM_GAP;
        if x + item_width > right && x > MARGIN {
            (x, y) = (MARGIN, y + ROW_HEIGHT);
        }
        draw_symbol(canvas, &symbol, Point { x, y: y - 4.5 });
        canvas.text("legend", (x + SYMBOL_WIDTH, y), Anchor::Start, words);
        x += item_width;
    }
    y + ROW_HEIGHT / 2.0
}

/// Returns the width of the legend in one row, in pixels.
pub(super) fn single_row_width(diagram: &Diagram) -> f64 {
    symbols(diagram).iter().map(|(_, words)| SYMBOL_WIDTH + text_width(words, FONT_SIZE) + ITEM_GAP).sum()
}

fn symbols(diagram: &Diagram) -> Vec<(Symbol, &'static str)> {
    let has_node = |is_wanted: fn(&super::Node) -> bool| diagram.nodes.iter().any(is_wanted);
    let has_edge = |is_wanted: fn(&super::Edge) -> bool| diagram.edges.iter().any(is_wanted);
    let is_process = |node: &super::Node| node.kind == NodeKind::Process;
    // No symbol shows the number of its deadlock or wait, so this number is 0 here.
    let symbols = [
        (
            has_node(|node| matches!(node.state, NodeState::Deadlock(_))),
            Symbol::Box(NodeKind::Process, NodeState::Deadlock(0)),
            "in a deadlock",
        ),
        (has_node(|node| node.is_victim), Symbol::Victim, "victim"),
        (
            has_node(|node| node.state == NodeState::BlockedBehind),
            Symbol::Box(NodeKind::Process, NodeState::BlockedBehind),
            "blocked behind a deadlock",
        ),
        (
            diagram
                .nodes
                .iter()
                .any(|node| is_process(node) && matches!(node.state, NodeState::Free | NodeState::Waiting)),
            Symbol::Box(NodeKind::Process, NodeState::Free),
            "not deadlocked",
        ),
        (
            has_node(|node| node.kind != NodeKind::Process),
            Symbol::Box(NodeKind::Resource(None), NodeState::Free),
            "resource",
        ),
        (
            has_edge(|edge| edge.kind == EdgeKind::All && !edge.is_in_deadlock),
            Symbol::Arrow { kind: EdgeKind::All, is_in_deadlock: false },
            "waits for",
        ),
        (
            has_edge(|edge| edge.is_in_deadlock),
            Symbol::Arrow { kind: EdgeKind::All, is_in_deadlock: true },
            "part of a deadlock",
        ),
        (
            has_edge(|edge| edge.kind == EdgeKind::Held),
            Symbol::Arrow { kind: EdgeKind::Held, is_in_deadlock: false },
            "is held by",
        ),
        (
            has_edge(|edge| matches!(edge.kind, EdgeKind::Any(_))),
            Symbol::Arrow { kind: EdgeKind::Any(0), is_in_deadlock: false },
            "any one of these suffices",
        ),
        (
            has_edge(|edge| edge.kind == EdgeKind::Queue),
            Symbol::Arrow { kind: EdgeKind::Queue, is_in_deadlock: false },
            "is queued behind",
        ),
    ];
    symbols.into_iter().filter(|(occurs, _, _)| *occurs).map(|(_, symbol, words)| (symbol, words)).collect()
}

fn draw_symbol(canvas: &mut Canvas, symbol: &Symbol, at: Point) {
    match symbol {
        Symbol::Box(kind, state) => {
            let node_box = NodeBox { middle: at.plus(16.0, 0.0), half_width: 15.0, half_height: 8.5 };
            canvas.write_markup(format_args!("<g class=\"sign {}\">", nodes::class(*state)));
            nodes::draw_outline(canvas, *kind, &node_box);
            canvas.write_markup(format_args!("</g>"));
        }
        Symbol::Victim => nodes::draw_victim_badge(canvas, at.plus(20.0, 0.0)),
        Symbol::Arrow { kind, is_in_deadlock } => {
            let line = [at, at.plus(16.0, 0.0), at.plus(26.0, 0.0)];
            let marked_class = if *is_in_deadlock { " marked" } else { "" };
            canvas.write_markup(format_args!("<g class=\"sign{marked_class}\">"));
            draw_arrow(canvas, *kind, *is_in_deadlock, &line, (at.plus(33.0, 0.0), at.plus(20.0, 0.0)));
            canvas.write_markup(format_args!("</g>"));
        }
    }
}
