//! The whole family in a small world: crashes at any moment, views on each other's heels, newcomers, and what must hold nevertheless.

mod judge;
mod storms;
mod world;
