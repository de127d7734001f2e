//! The whole family in a small world: crashes at any moment, views on each other's heels, newcomers, and what must hold nevertheless.

mod book;
mod judge;
mod mistakes;
mod storms;
mod strangers;
pub(super) mod world;
