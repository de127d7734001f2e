//! Memory use of this process.

use std::fs;

/// Peak memory use of this process in bytes; 0 on systems without `/proc`.
pub(crate) fn peak() -> u64 {
    status_field("VmHWM:")
}

/// Current memory use of this process in bytes; 0 on systems without `/proc`.
pub(crate) fn current() -> u64 {
    status_field("VmRSS:")
}

fn status_field(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024
}
