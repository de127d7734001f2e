//! Tests of the layout of wait-for graphs, and that everything is drawn once.

use super::cluster::arrange;
use super::nodes::node_box;
use super::route::route_arrows;
use super::shape::NodeBox;
use super::{Diagram, DiagramError, Edge, EdgeKind, MAX_NODES, Node, NodeKind, NodeState};
use crate::style::Theme;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

fn node(name: &str, state: NodeState) -> Node {
    Node { name: name.into(), kind: NodeKind::Process, state, is_victim: false, tooltip: String::new() }
}

/// A diagram of processes in these states. An edge is its source, its target, and whether it is
/// part of a deadlock.
fn diagram(states: &[NodeState], edges: &[(usize, usize, bool)]) -> Diagram {
    let nodes = states.iter().enumerate().map(|(index, state)| node(&format!("P{index}"), *state)).collect();
    let edge = |(from, to, is_in_deadlock): &(usize, usize, bool)| Edge {
        from: *from,
        to: *to,
        kind: EdgeKind::All,
        is_in_deadlock: *is_in_deadlock,
    };
    Diagram { title: "T".into(), subtitle: String::new(), nodes, edges: edges.iter().map(edge).collect() }
}

fn boxes(diagram: &Diagram) -> Vec<NodeBox> {
    let sizes: Vec<NodeBox> = diagram.nodes.iter().map(node_box).collect();
    arrange(diagram, &sizes)
}

#[test]
fn opposite_arrows_run_apart() {
    let pair = diagram(&[NodeState::Deadlock(0); 2], &[(0, 1, true), (1, 0, true)]);
    let curves = route_arrows(&pair, &boxes(&pair));
    let middle_point = |index: usize| curves[index].as_ref().expect("a curve").segment_points(2)[1];
    assert!(middle_point(0).distance(middle_point(1)) > 20.0, "{:?} and {:?}", middle_point(0), middle_point(1));
}

#[test]
fn an_arrow_runs_past_the_boxes_in_between() {
    // A chain of four, in which the first node also waits for the last.
    let row = diagram(
        &[NodeState::Waiting, NodeState::Waiting, NodeState::Waiting, NodeState::Free],
        &[(0, 1, false), (1, 2, false), (2, 3, false), (0, 3, false)],
    );
    let boxes = boxes(&row);
    let curves = route_arrows(&row, &boxes);
    let long_arrow = curves[3].as_ref().expect("a curve").segment_points(40);
    for between in &boxes[1..3] {
        assert!(
            long_arrow.iter().all(|point| !between.contains(*point, 0.0)),
            "{long_arrow:?} must not cross {between:?}"
        );
    }
}

#[test]
fn the_members_of_a_cycle_are_placed_in_its_order() {
    // Numbered so that the cycle is 0, 3, 1, 4, 2.
    let cycle =
        diagram(&[NodeState::Deadlock(0); 5], &[(0, 3, true), (3, 1, true), (1, 4, true), (4, 2, true), (2, 0, true)]);
    let boxes = boxes(&cycle);
    let distance = |one: usize, other: usize| boxes[one].middle.distance(boxes[other].middle);
    for edge in &cycle.edges {
        // Of two neighbours on the circle, one may be nearer than the other, but no third node.
        let nearer_nodes = (0..5)
            .filter(|other| *other != edge.from && distance(edge.from, *other) < distance(edge.from, edge.to) - 1.0);
        assert!(nearer_nodes.count() <= 1, "{edge:?} does not lead to a neighbour");
    }
}

#[test]
fn a_loop_leaves_its_box_and_an_arrow_to_a_missing_node_is_left_out() {
    let alone = diagram(&[NodeState::Deadlock(0)], &[(0, 0, true), (0, 7, false), (9, 0, false)]);
    let curves = route_arrows(&alone, &boxes(&alone));
    let node_box = boxes(&alone)[0];
    let lowest =
        curves[0].as_ref().expect("a curve").segment_points(20).iter().map(|point| point.y).fold(0.0, f64::max);
    assert!(lowest > node_box.middle.y + node_box.half_height + 15.0);
    assert_eq!((&curves[1], &curves[2]), (&None, &None));
    assert_eq!(alone.svg(Theme::Light).expect("a picture").matches("<g class=\"arrow").count(), 1);
}

#[test]
fn a_graph_that_is_too_large_is_refused() {
    let large = diagram(&[NodeState::Free; MAX_NODES + 1], &[]);
    let refused = large.svg(Theme::Auto).expect_err("too many");
    assert_eq!(refused, DiagramError::TooLarge { nodes: MAX_NODES + 1, edges: 0 });
    assert!(refused.to_string().ends_with("or read the report."), "{refused}");
    assert!(diagram(&[NodeState::Free; MAX_NODES], &[]).svg(Theme::Auto).is_ok());
}

/// Graphs of up to 30 nodes in arbitrary states; some arrows lead to or from missing nodes.
fn graphs() -> impl Strategy<Value = Diagram> {
    let state = prop_oneof![
        2 => (0..3usize).prop_map(NodeState::Deadlock),
        2 => Just(NodeState::BlockedBehind),
        1 => Just(NodeState::Waiting),
        1 => Just(NodeState::Free),
    ];
    let node = (state, any::<bool>(), "[A-Za-z0-9]{1,14}");
    (vec(node, 1..31), vec((0..31usize, 0..31usize, any::<bool>()), 0..40)).prop_map(|(nodes, edges)| {
        let states: Vec<NodeState> = nodes.iter().map(|(state, _, _)| *state).collect();
        let mut diagram = diagram(&states, &edges);
        for (node, (_, is_resource, name)) in diagram.nodes.iter_mut().zip(nodes) {
            node.name = name;
            node.kind = if is_resource { NodeKind::Resource(Some(2)) } else { NodeKind::Process };
        }
        diagram
    })
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]

    #[test]
    fn no_two_boxes_touch(diagram in graphs()) {
        let boxes = boxes(&diagram);
        for (index, one) in boxes.iter().enumerate() {
            for other in &boxes[..index] {
                assert!(!one.is_near(other, (8.0, 8.0)), "{one:?} and {other:?}");
            }
        }
    }

    #[test]
    fn every_box_and_every_arrow_is_drawn_once_and_the_output_is_deterministic(diagram in graphs()) {
        let svg = diagram.svg(Theme::Dark).expect("a picture");
        let drawn_edges = diagram.edges.iter().filter(|edge| edge.from.max(edge.to) < diagram.nodes.len());
        assert_eq!(svg.matches("<g class=\"node ").count(), diagram.nodes.len());
        assert_eq!(svg.matches("<g class=\"arrow").count(), drawn_edges.clone().count());
        assert_eq!(svg.matches("<g class=\"arrow marked\"").count(), drawn_edges.filter(|edge| edge.is_in_deadlock).count());
        let deadlocked_nodes = diagram.nodes.iter().filter(|node| matches!(node.state, NodeState::Deadlock(_))).count();
        assert_eq!(svg.matches("<g class=\"node in-deadlock\"").count(), deadlocked_nodes);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert_eq!(diagram.svg(Theme::Dark).expect("a picture"), svg);
    }
}
