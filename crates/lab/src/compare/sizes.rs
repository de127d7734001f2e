//! The sizes of groups in a comparison.

/// Sizes of groups in display order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sizes(pub(super) Vec<usize>);

/// Larger groups take long and show nothing new.
const MAX_NODES: usize = 1_000;

/// Parses sizes and ranges: `2,4,8`, `2-16`.
pub(super) fn parse_sizes(text: &str) -> Result<Sizes, String> {
    let mut sizes = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (parse_size(text, first)?, parse_size(text, last)?);
        if first > last {
            return Err(format!("'{part}' has its bounds in the wrong order; write {last}-{first}."));
        }
        if let Some(duplicate) = (first..=last).find(|size| sizes.contains(size)) {
            return Err(format!("sizes must not repeat; got {duplicate} twice in '{text}'."));
        }
        sizes.extend(first..=last);
    }
    Ok(Sizes(sizes))
}

/// Parses one size, which is a `part` of `text`.
fn parse_size(text: &str, part: &str) -> Result<usize, String> {
    let part = part.trim();
    if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        let text = text.escape_debug();
        return Err(format!("'{text}' is not a list of group sizes; write for example 2,4,8 or 2-16."));
    }
    match part.parse() {
        Ok(0 | 1) => {
            Err(format!("groups must have at least 2 nodes, because a single node sends no messages; got {part}."))
        }
        Ok(size) if size <= MAX_NODES => Ok(size),
        Ok(_) | Err(_) => Err(format!("groups must have at most {MAX_NODES} nodes; got {part}.")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Sizes, parse_sizes};

    #[test]
    fn sizes_are_lists_and_ranges_in_the_order_given() {
        for (text, expected) in
            [("2", &[2][..]), ("8,2", &[8, 2]), ("2-5", &[2, 3, 4, 5]), ("9, 3-4", &[9, 3, 4]), ("7-7", &[7])]
        {
            assert_eq!(parse_sizes(text), Ok(Sizes(expected.to_vec())), "{text}");
        }
        assert_eq!(parse_sizes("2-1000").map(|sizes| sizes.0.len()), Ok(999));
    }

    #[test]
    fn invalid_sizes_are_rejected_with_a_reason() {
        for (text, expected) in [
            ("", "is not a list of group sizes"),
            ("2,,4", "is not a list of group sizes"),
            ("2-", "is not a list of group sizes"),
            ("-3", "is not a list of group sizes"),
            ("2-3-4", "is not a list of group sizes"),
            ("two", "is not a list of group sizes"),
            ("+2", "is not a list of group sizes"),
            ("0", "at least 2 nodes"),
            ("1-4", "at least 2 nodes"),
            ("5-3", "has its bounds in the wrong order; write 3-5."),
            ("2-9,4", "got 4 twice"),
            ("1001", "at most 1000 nodes"),
            ("2-99999999999999999999999", "at most 1000 nodes"),
        ] {
            let error = parse_sizes(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
