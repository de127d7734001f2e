//! Pictures: a run as a space-time diagram, a comparison as a plot, a wait-for graph.
//!
//! A [`SceneBuilder`] observes a run, live or from its journal, and builds a [`Scene`] of it or of
//! a [`Window`] of it. A scene is drawn as [`svg`], as text for a [`terminal`] or as a [`mermaid`]
//! sequence diagram. [`shiviz`] writes a log for the ShiViz tool while the run is observed. A run
//! that is too long for a scene is drawn as an [`overview`]. [`wait_for`] draws wait-for graphs,
//! [`plot`] draws measurements.

pub mod mermaid;
pub mod overview;
pub mod plot;
mod plural;
pub mod scene;
pub mod scene_builder;
pub mod shiviz;
pub mod style;
pub mod svg;
pub mod terminal;
mod text;
mod timeline;
pub mod wait_for;
mod window;

pub use scene::Scene;
pub use scene_builder::{Drawing, SceneBuilder};
pub use window::Window;
