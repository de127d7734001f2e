//! The journal: the only record of a run, in one format for every driver.
//!
//! A journal is a text file of JSON lines. The first line is a [`Header`]. The last line is an end
//! mark, which shows that the file is complete; a process that is killed leaves none. Every other
//! line is one step of a node (its input and its effects, in order) or one world event, such as a
//! crash. Journals are written and read as streams, so their length does not affect memory use.
//!
//! ```json
//! {"journal":2,"algorithm":"ricart-agrawala","family":"mutex","nodes":3,"seed":7,"run":{…}}
//! {"time":0,"node":1,"input":{"command":"acquire"},"effects":[{"rule":{"id":"RA-1","text":"asks everyone …"}},…]}
//! {"time":2100000,"world":{"lost":{"id":"1.2","to":3,"why":"chance"}}}
//! {"end":4}
//! ```
//!
//! Times are nanoseconds. A step also has a `clock` if the node's own clock does not show true
//! time.

pub mod gather;
mod header;
mod line;
mod lines;
mod reader;
mod writer;

pub use header::{FORMAT, Header, LiveHeader};
pub use lines::Lines;
pub use reader::{Journal, JournalError};
pub use writer::{Fingerprint, Writer};
