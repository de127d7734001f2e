//! How much memory this process has.

/// What is resident, as the system counts it; nothing where it does not say.
pub(crate) fn resident() -> Option<u64> {
    const PAGE: u64 = 4_096;
    let sizes = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = sizes.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * PAGE)
}
