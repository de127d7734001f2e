//! The rules of the ring that survives its members, one script each and more for the nasty cases.

mod deaths;
mod world;
