//! Tests of wait-for graphs: the output is well-formed XML whatever the names, and shows the
//! deadlocks.

use crate::common::{hostile, parsed};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, proptest};
use quorate_draw::style::Theme;
use quorate_draw::wait_for::{Diagram, Edge, Kind, Link, Mark, Node};

fn node(name: &str, mark: Mark, is_victim: bool) -> Node {
    Node { name: name.into(), kind: Kind::Process, mark, is_victim, hover: format!("{name} waits.") }
}

fn edge(from: usize, to: usize, link: Link, is_marked: bool) -> Edge {
    Edge { from, to, link, is_marked }
}

#[test]
fn every_node_is_named_and_the_legend_explains_what_occurs() {
    let resource = Node { kind: Kind::Resource(Some(2)), ..node("pool", Mark::Free, false) };
    let nodes = vec![
        node("P1", Mark::Deadlock(0), false),
        node("P2", Mark::Deadlock(0), true),
        node("P3", Mark::Behind, false),
        resource,
    ];
    let edges = vec![
        edge(0, 1, Link::All, true),
        edge(1, 0, Link::All, true),
        edge(2, 0, Link::Any(0), false),
        edge(2, 1, Link::Any(0), false),
        edge(3, 2, Link::Held, false),
    ];
    let diagram = Diagram { title: "Deadlock: a cycle of 2".into(), subtitle: "P2 gives up".into(), nodes, edges };
    let svg = diagram.svg(Theme::Auto).expect("a picture");
    let ((wide, high), texts) = parsed(&svg);
    let written: Vec<_> = texts.iter().map(|text| text.text.as_str()).collect();
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
        "waits for any one of these",
    ] {
        assert!(written.contains(&text), "no '{text}' in {written:?}");
    }
    assert!(!written.contains(&"not deadlocked") && !written.contains(&"is queued behind"), "{written:?}");
    assert!(wide < 900.0 && high < 700.0, "{wide} x {high}");
    assert_eq!((svg.matches("class=\"victim\"").count(), svg.matches("class=\"fork\"").count()), (2, 1));
}

#[test]
fn an_empty_graph_can_be_drawn() {
    parsed(&Diagram::default().svg(Theme::Light).expect("a picture"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_name_breaks_the_picture(names in vec(hostile(), 1..8), title in hostile(), subtitle in hostile()) {
        let marks = [Mark::Deadlock(0), Mark::Behind, Mark::Waits, Mark::Free];
        let nodes: Vec<_> = names.iter().zip(marks.iter().cycle()).map(|(name, mark)| node(name, *mark, true)).collect();
        let edges = (0..nodes.len()).map(|place| edge(place, (place * 3 + 1) % nodes.len(), Link::Any(place % 2), true)).collect();
        let svg = Diagram { title, subtitle, nodes, edges }.svg(Theme::Auto).expect("a picture");
        parsed(&svg);
    }
}
