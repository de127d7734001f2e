//! Helpers for tests of pictures: scripts and simulated runs. A script here is not a file of
//! commands and faults: it is a list of actions, hand-written or random, which an observer sees as
//! a run.

mod hostile;
mod markup;
mod random;
mod runs;
mod script;

pub(crate) use hostile::hostile_text;
pub(crate) use markup::{check_layout, parse_svg};
pub(crate) use random::any_script;
pub(crate) use runs::MutexRun;
pub(crate) use script::{Action, Script, header};

use quorate_core::{NodeId, Time};
use quorate_draw::scene::Heading;
use quorate_draw::scene_builder::{Options, SceneBuilder};
use quorate_draw::{Drawing, Scene, Window};
use quorate_journal::role::Role;

pub(crate) fn node(number: u32) -> NodeId {
    NodeId::new(number).expect("nodes are numbered from 1")
}

pub(crate) fn ms(millis: i64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

pub(crate) fn window_between(from: i64, to: i64) -> Window {
    Window { from: Some(ms(from)), to: Some(ms(to)), nodes: std::collections::BTreeSet::new() }
}

pub(crate) fn heading(nodes: usize) -> Heading {
    let roles = [(Role::Idle, "outside"), (Role::Waiting, "waiting"), (Role::Chosen, "inside")];
    Heading {
        algorithm: "scripted".into(),
        nodes,
        detail: "seed 1".into(),
        roles: roles.map(|(role, word)| (role, word.into())).into(),
        rules: Vec::new(),
    }
}

pub(crate) fn scene_builder(nodes: usize, window: Window) -> SceneBuilder<String, String> {
    let options = Options { window, max_steps: 10_000, ..Options::default() };
    SceneBuilder::new(&header(nodes), heading(nodes), script::roles, options)
}

pub(crate) fn finish_scene<C: std::fmt::Display, E: std::fmt::Display>(scene_builder: SceneBuilder<C, E>) -> Scene {
    match scene_builder.finish() {
        Drawing::Scene(scene) => *scene,
        Drawing::Overview(_) => panic!("expected a scene, got an overview"),
    }
}

pub(crate) fn scene_of(nodes: usize, window: Window, actions: &[Action]) -> Scene {
    finish_scene(Script::new(scene_builder(nodes, window)).with_nodes(nodes).run(actions))
}
