//! Free memory, memory limits and peak memory use.

use anyhow::Context;
use std::fmt;
use std::fs;
use std::str::FromStr;

const BYTES_PER_GIGABYTE: u64 = 1_000_000_000;

/// Default limit if the free memory is unknown.
const FALLBACK_LIMIT: Memory = Memory(4 * BYTES_PER_GIGABYTE);

/// An amount of memory, written in GB: `2` or `0.5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory(u64);

impl Memory {
    pub(crate) fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(self) -> u64 {
        self.0
    }

    /// Caps the amount at half the address space limit of this process. The rest is for stacks and
    /// unused mappings.
    pub(crate) fn capped_by_process_limit(self) -> Self {
        let limits = fs::read_to_string("/proc/self/limits").ok();
        match limits.and_then(|text| address_space_limit(&text)) {
            Some(limit) => Self(self.0.min(limit / 2)),
            None => self,
        }
    }
}

/// Returns the address space limit in `/proc/self/limits`, if there is one.
fn address_space_limit(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

impl FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid =
            || format!("'{}' is not an amount of memory; write it in GB, such as 2 or 0.5.", text.escape_debug());
        let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let gigabytes: f64 = text.parse().ok().filter(|_| is_decimal).ok_or_else(invalid)?;
        // The conversion saturates for amounts that no machine has.
        match (gigabytes * BYTES_PER_GIGABYTE as f64) as u64 {
            0 => Err(invalid()),
            bytes => Ok(Self(bytes)),
        }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gigabytes = format!("{:.3}", self.0 as f64 / BYTES_PER_GIGABYTE as f64);
        write!(f, "{} GB", gigabytes.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Returns the default limit of a command: three quarters of the free memory, or
/// [`FALLBACK_LIMIT`].
pub(crate) fn default_limit() -> Memory {
    let read = |path: &str| fs::read_to_string(path).ok();
    let system_bytes = read("/proc/meminfo").and_then(|text| parse_available_bytes(&text));
    let limit = read("/sys/fs/cgroup/memory.max").zip(read("/sys/fs/cgroup/memory.current"));
    let container_bytes = limit.and_then(|(limit, used)| parse_remaining_bytes(&limit, &used));
    let free = system_bytes.into_iter().chain(container_bytes).min();
    free.map_or(FALLBACK_LIMIT, |free| Memory(free / 4 * 3))
}

/// Returns the memory in bytes that `/proc/meminfo` reports as available to new processes.
fn parse_available_bytes(meminfo: &str) -> Option<u64> {
    field_in_bytes(meminfo, "MemAvailable:")
}

/// Returns the bytes of memory that a container may still use; `None` if it has no limit.
fn parse_remaining_bytes(limit: &str, used: &str) -> Option<u64> {
    let limit: u64 = limit.trim().parse().ok()?;
    Some(limit.saturating_sub(used.trim().parse().ok()?))
}

/// Returns the peak memory of this process in bytes. Fails on systems other than Linux.
pub(crate) fn peak_bytes() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("memory can only be measured on Linux")?;
    field_in_bytes(&status, "VmHWM:").context("/proc/self/status has no VmHWM")
}

/// Returns the value in bytes of a field that a file of `/proc` gives in kB.
fn field_in_bytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    kilobytes.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::{Memory, address_space_limit, parse_available_bytes, parse_remaining_bytes};

    #[test]
    fn memory_is_parsed_in_gigabytes() {
        let read = |text: &str| text.parse::<Memory>().map(Memory::bytes);
        assert_eq!(
            ["2", "0.5", ".001", "1.25"].map(read),
            [2_000, 500, 1, 1_250].map(|megabytes| Ok(megabytes * 1_000_000))
        );
        for text in ["0", "0.0", "-1", "1e3", "NaN", "inf", "", ".", "2GB", "0.0000000001"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn memory_is_printed_in_gigabytes() {
        let printed =
            ["2", "0.5", "0.001", "17.4636", "100"].map(|text| text.parse::<Memory>().map(|memory| memory.to_string()));
        assert_eq!(printed, ["2 GB", "0.5 GB", "0.001 GB", "17.464 GB", "100 GB"].map(|text| Ok(text.into())));
    }

    #[test]
    fn the_address_space_limit_is_parsed() {
        let line =
            |soft: &str| format!("Limit  Soft Limit  Hard Limit\nMax address space   {soft}   unlimited   bytes\n");
        assert_eq!(["4096", "unlimited"].map(|soft| address_space_limit(&line(soft))), [Some(4_096), None]);
    }

    #[test]
    fn free_memory_is_parsed() {
        assert_eq!(parse_available_bytes("MemTotal:  9 kB\nMemAvailable:   24 kB\n"), Some(24_576));
        assert_eq!(parse_available_bytes("MemTotal:  9 kB\n"), None);
        assert_eq!(
            [("max\n", "7\n"), ("10\n", "7\n"), ("7\n", "10\n")]
                .map(|(limit, used)| parse_remaining_bytes(limit, used)),
            [None, Some(3), Some(0)]
        );
    }
}
