//! The legend: the symbols that occur in the graph.

use super::page::{MARGIN, arrow};
use super::shape::{NodeBox, Point};
use super::{Diagram, Kind, Link, Mark, nodes};
use crate::svg::canvas::{Anchor, Canvas};
use crate::svg::text::width;

const FONT_SIZE: f64 = 12.5;
const ROW: f64 = 25.0;
/// Width of a symbol and the space after it.
const SYMBOL_WIDTH: f64 = 42.0;

enum Symbol {
    Box(Kind, Mark),
    Arrow(Link, bool),
    Victim,
}

/// Draws the legend below `top` and left of `right`. Returns its lower edge.
pub(super) fn draw(canvas: &mut Canvas, diagram: &Diagram, top: f64, right: f64) -> f64 {
    let (mut x, mut y) = (MARGIN, top);
    for (symbol, words) in symbols(diagram) {
        let item_width = SYMBOL_WIDTH + width(words, FONT_SIZE) + 24.0;
        if x + item_width > right && x > MARGIN {
            (x, y) = (MARGIN, y + ROW);
        }
        swatch(canvas, &symbol, Point { x, y: y - 4.5 });
        canvas.text("legend", (x + SYMBOL_WIDTH, y), Anchor::Start, words);
        x += item_width;
    }
    y + ROW / 2.0
}

/// Returns its width in one row; no picture needs to be wider.
pub(super) fn single_row_width(diagram: &Diagram) -> f64 {
    symbols(diagram).iter().map(|(_, words)| SYMBOL_WIDTH + width(words, FONT_SIZE) + 24.0).sum()
}

fn symbols(diagram: &Diagram) -> Vec<(Symbol, &'static str)> {
    let has_node = |wanted: fn(&super::Node) -> bool| diagram.nodes.iter().any(wanted);
    let has_edge = |wanted: fn(&super::Edge) -> bool| diagram.edges.iter().any(wanted);
    let is_process = |node: &super::Node| node.kind == Kind::Process;
    let symbols = [
        (
            has_node(|node| matches!(node.mark, Mark::Deadlock(_))),
            Symbol::Box(Kind::Process, Mark::Deadlock(0)),
            "in a deadlock",
        ),
        (has_node(|node| node.is_victim), Symbol::Victim, "victim"),
        (
            has_node(|node| node.mark == Mark::Behind),
            Symbol::Box(Kind::Process, Mark::Behind),
            "blocked behind a deadlock",
        ),
        (
            diagram.nodes.iter().any(|node| is_process(node) && matches!(node.mark, Mark::Free | Mark::Waits)),
            Symbol::Box(Kind::Process, Mark::Free),
            "not deadlocked",
        ),
        (has_node(|node| node.kind != Kind::Process), Symbol::Box(Kind::Resource(None), Mark::Free), "resource"),
        (has_edge(|edge| edge.link == Link::All && !edge.is_marked), Symbol::Arrow(Link::All, false), "waits for"),
        (has_edge(|edge| edge.is_marked), Symbol::Arrow(Link::All, true), "part of a deadlock"),
        (has_edge(|edge| edge.link == Link::Held), Symbol::Arrow(Link::Held, false), "is held by"),
        (
            has_edge(|edge| matches!(edge.link, Link::Any(_))),
            Symbol::Arrow(Link::Any(0), false),
            "waits for any one of these",
        ),
        (has_edge(|edge| edge.link == Link::Queue), Symbol::Arrow(Link::Queue, false), "is queued behind"),
    ];
    symbols.into_iter().filter(|(occurs, _, _)| *occurs).map(|(_, symbol, words)| (symbol, words)).collect()
}

fn swatch(canvas: &mut Canvas, symbol: &Symbol, at: Point) {
    match symbol {
        Symbol::Box(kind, mark) => {
            let node_box = NodeBox { middle: at.plus(16.0, 0.0), half_width: 15.0, half_height: 8.5 };
            canvas.raw(format_args!("<g class=\"sign {}\">", nodes::class(*mark)));
            nodes::outline(canvas, *kind, &node_box);
            canvas.raw(format_args!("</g>"));
        }
        Symbol::Victim => nodes::badge(canvas, at.plus(20.0, 0.0)),
        Symbol::Arrow(link, is_marked) => {
            let line = [at, at.plus(16.0, 0.0), at.plus(26.0, 0.0)];
            let mark = if *is_marked { " marked" } else { "" };
            canvas.raw(format_args!("<g class=\"sign{mark}\">"));
            arrow(canvas, *link, *is_marked, &line, (at.plus(33.0, 0.0), at.plus(20.0, 0.0)));
            canvas.raw(format_args!("</g>"));
        }
    }
}
