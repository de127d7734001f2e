//! A scene as a [Mermaid](https://mermaid.js.org) sequence diagram.
//!
//! Messages stand in the order in which they arrive, because an arrow there has no slope; a lost one stands where it was
//! sent. What nodes do is a note over them, a node that is inside or leads is active, and what lasts is a coloured
//! stretch, or two notes where it overlaps with another one.
//!
//! Everything that comes from a journal is text: whatever Mermaid could take for something else is written by its number.
//! By default Mermaid refuses diagrams of more than 50,000 characters. One that would be longer loses its rules first, and
//! then its end, and says so in a note. It also says how many nodes it leaves out, if there are very many.

mod escape;
mod replies;
mod story;

use crate::scene::Scene;
use story::{Detail, Story};

/// How many characters Mermaid takes, unless somebody allowed it more.
pub const MOST_CHARACTERS: usize = 50_000;

pub fn draw(scene: &Scene) -> String {
    match Story::new(scene, Detail::All).tell() {
        (text, 0) => text,
        _ => Story::new(scene, Detail::Less).tell().0,
    }
}
