//! Text formats for the settings of a run: delays, probabilities, faults and scripts.
//!
//! ```text
//! length    10ms   0.1ms   250us   3s   2m
//! range     1ms..5ms
//! latency   fixed:1ms   uniform:1ms..5ms   long-tail:2ms
//! chance    0.1   10%
//! level     8   2.5
//! offset    3ms   -3ms
//! drift     200ppm   -50ppm
//! fault     crash 2 at 10ms for 20ms   cut 1,2 | rest at 5ms   link 1 > 2 loss 50%
//! direction message 3 of 1 > 2 takes 9ms   message 4 of 1 > 2 is lost   timer 5 of 2 takes 153ms
//! script    one fault, command or direction a line, `#` before a comment
//! ```
//!
//! Each format is a type. [`FromStr`](std::str::FromStr) parses it, and
//! [`Display`](std::fmt::Display) prints a text that parses as the same value. Journals store
//! settings as that text. This module only parses; the drivers carry out the faults.

mod chance;
mod clauses;
mod decimal;
mod direction;
mod duration_range;
mod error;
mod fault;
mod latency;
mod length;
mod level;
mod nearest;
mod nodes;
mod paths;
mod quoted_text;
mod rate;
mod read_fault;
#[cfg(test)]
mod samples;
mod script;
#[cfg(test)]
mod tests;

pub use chance::Chance;
pub use direction::{Direction, Fate};
pub use duration_range::DurationRange;
pub use error::SettingError;
pub use fault::{DiskTrouble, Fault, FaultKind, LinkChange, RestartDisk, TimedFault, UnsyncedSaves};
pub use latency::Latency;
pub use length::{Length, Offset};
pub use level::Level;
pub use nearest::nearest;
pub use nodes::{NodeSet, Side};
pub use paths::{Cut, Links};
pub use rate::Ppm;
pub use script::{Script, TimedCommand};

/// Implements the conversions that serde's `try_from` and `into` need to store a setting as text.
macro_rules! stored_as_text {
    ($($setting:ty),+) => {$(
        impl TryFrom<String> for $setting {
            type Error = SettingError;
            fn try_from(text: String) -> Result<Self, SettingError> {
                text.parse()
            }
        }

        impl From<$setting> for String {
            fn from(setting: $setting) -> Self {
                setting.to_string()
            }
        }
    )+};
}

stored_as_text!(Chance, Fault, Latency, Length, Level, Offset, Ppm, Script, TimedFault);
