//! The journal: the only record of a run, in one format for every driver.
//!
//! A journal is a text of JSON lines. The first line is a [`Header`], the last one an end mark, by which a journal that
//! was cut off is noticed; every other line is one step of a node (its input and the effects of it, in order) or one act
//! of the world. It is written and read as a stream, so a
//! million events never stand in memory together.
//!
//! ```json
//! {"journal":2,"algorithm":"ricart-agrawala","family":"mutex","nodes":3,"seed":7,"run":{…}}
//! {"time":0,"node":1,"input":{"command":"acquire"},"effects":[{"rule":{"id":"RA-1","text":"asks everyone …"}},…]}
//! {"time":2100000,"world":{"lost":{"id":"1.2","to":3,"why":"chance"}}}
//! {"end":4}
//! ```
//!
//! Times are nanoseconds. A step has a `clock` too where the node's own clock shows another time.

pub mod gather;
mod header;
mod line;
mod lines;
mod reader;
mod writer;

pub use header::{FORMAT, Header, Live};
pub use lines::Lines;
pub use reader::{Journal, JournalError};
pub use writer::{Fingerprint, Writer};
