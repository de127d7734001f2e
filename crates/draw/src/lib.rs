//! Pictures: any journal as a space-time diagram, any comparison as a plot.
//!
//! A [`Sketch`] watches a run, as it happens or as its journal is read, and makes a [`Scene`] of it, or of a window of it.
//! A scene is drawn as [`svg`], as text for a [`terminal`], or as a [`mermaid`] sequence diagram; [`shiviz`] writes a log
//! for the tool of that name as the run goes by. What is too long for a scene is shown as an [`overview`].
//! Who waits for whom is a graph of its own, [`wait_for`].

mod lettering;
pub mod mermaid;
pub mod overview;
pub mod plot;
mod plural;
pub mod scene;
pub mod shiviz;
pub mod sketch;
pub mod style;
pub mod svg;
pub mod terminal;
mod timeline;
pub mod wait_for;
mod window;

pub use scene::Scene;
pub use sketch::{Drawing, Sketch};
pub use window::Window;
