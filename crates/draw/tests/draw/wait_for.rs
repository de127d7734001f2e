//! Tests of wait-for graphs: the output is well-formed XML whatever the names, and shows the
//! deadlocks.

use crate::common::{hostile_text, parse_svg};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, proptest};
use quorate_draw::style::Theme;
use quorate_draw::wait_for::{Diagram, Edge, EdgeKind, Node, NodeKind, NodeState};

fn node(name: &str, state: NodeState, is_victim: bool) -> Node {
    Node { name: name.into(), kind: NodeKind::Process, state, is_victim, tooltip: format!("{name} waits.") }
}

fn edge(from: usize, to: usize, kind: EdgeKind, is_in_deadlock: bool) -> Edge {
    Edge { from, to, kind, is_in_deadlock }
}

#[test]
fn every_node_is_named_and_the_legend_explains_what_occurs() {
    let resource = Node { kind: NodeKind::Resource(Some(2)), ..node("pool", NodeState::Free, false) };
    let nodes = vec![
        node("P1", NodeState::Deadlock(0), false),
        node("P2", NodeState::Deadlock(0), true),
        node("P3", NodeState::BlockedBehind, false),
        resource,
    ];
    let edges = vec![
        edge(0, 1, EdgeKind::All, true),
        edge(1, 0, EdgeKind::All, true),
        edge(2, 0, EdgeKind::Any(0), false),
        edge(2, 1, EdgeKind::Any(0), false),
        edge(3, 2, EdgeKind::Held, false),
    ];
    let diagram = Diagram { title: "Deadlock: a cycle of 2".into(), subtitle: "P2 gives up".into(), nodes, edges };
    let svg = diagram.svg(Theme::Auto).expect("a picture");
    let ((width, height), texts) = parse_svg(&svg);
    let contents: Vec<_> = texts.iter().map(|text| text.text.as_str()).collect();
    for text in [
        "Deadlock: a cycle of 2",
        "P2 gives up",
        "P1",
        "P2",
        "P3",
        "pool",
        "2 permits",
        "in a deadlock",
        "victim",
        "blocked behind a deadlock",
        "resource",
        "part of a deadlock",
        "is held by",
        "any one of these suffices",
    ] {
        assert!(contents.contains(&text), "no '{text}' in {contents:?}");
    }
    assert!(!contents.contains(&"not deadlocked") && !contents.contains(&"is queued behind"), "{contents:?}");
    assert!(width < 900.0 && height < 700.0, "{width} x {height} pixels");
    // A victim's badge in the graph and one in the legend; an arc across the arrows of P3.
    assert_eq!((svg.matches("class=\"victim\"").count(), svg.matches("class=\"fork\"").count()), (2, 1));
}

#[test]
fn an_empty_graph_can_be_drawn() {
    parse_svg(&Diagram::default().svg(Theme::Light).expect("a picture"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_name_breaks_the_picture(names in vec(hostile_text(), 1..8), title in hostile_text(), subtitle in hostile_text()) {
        let states = [NodeState::Deadlock(0), NodeState::BlockedBehind, NodeState::Waiting, NodeState::Free];
        let nodes: Vec<_> = names.iter().zip(states.iter().cycle()).map(|(name, state)| node(name, *state, true)).collect();
        let edges = (0..nodes.len()).map(|index| edge(index, (index * 3 + 1) % nodes.len(), EdgeKind::Any(index % 2), true)).collect();
        let svg = Diagram { title, subtitle, nodes, edges }.svg(Theme::Auto).expect("a picture");
        parse_svg(&svg);
    }
}
