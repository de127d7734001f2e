//! A scene as a [Mermaid](https://mermaid.js.org) sequence diagram.
//!
//! Messages appear in the order of their arrival, because arrows in Mermaid have no slope; a
//! message that stays in flight or is lost appears where it was sent, or, if the scene begins
//! later, where it is lost. Notes over a node describe its steps and faults. A node in the
//! critical section and a leader are drawn as active. Notes say where a lasting fault begins and
//! ends. The fault is also a coloured block, unless it outlasts the block around it.
//!
//! All texts from a journal are escaped, so that Mermaid shows them and does not interpret them. By
//! default Mermaid refuses diagrams of more than 50,000 characters. A longer diagram loses its rule
//! notes first and then its end, and says so in a note. A note also gives the number of nodes left
//! out of a very large group.

mod diagram;
mod escape;
mod replies;

use crate::scene::Scene;
use diagram::{Detail, SequenceDiagram};

/// Maximum number of characters that Mermaid accepts by default.
pub const MAX_CHARACTERS: usize = 50_000;

/// Returns the scene as the source text of a sequence diagram.
pub fn draw(scene: &Scene) -> String {
    let (text, missing_items) = SequenceDiagram::new(scene, Detail::All).write();
    if missing_items == 0 { text } else { SequenceDiagram::new(scene, Detail::WithoutRules).write().0 }
}
