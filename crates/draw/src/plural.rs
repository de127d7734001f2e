//! Counts with their noun in the singular or plural.

/// Returns the count with its noun: `1 step`, `2 steps`.
pub(crate) fn count_with_noun(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
