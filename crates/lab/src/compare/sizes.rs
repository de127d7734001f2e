//! How many nodes the groups of a comparison have.

/// How many nodes groups have, in the order in which they are to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sizes(pub(super) Vec<usize>);

/// Groups beyond that tell nothing new, and take their time.
const MOST_NODES: usize = 1_000;

/// Reads sizes and ranges of them: `2,4,8`, `2-16`.
pub(super) fn sizes(text: &str) -> Result<Sizes, String> {
    let mut sizes = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (size(text, first)?, size(text, last)?);
        if first > last {
            return Err(format!("'{part}' ends before it begins; write {last}-{first}."));
        }
        if let Some(twice) = (first..=last).find(|size| sizes.contains(size)) {
            return Err(format!("'{text}' names groups of {twice} twice; once is enough."));
        }
        sizes.extend(first..=last);
    }
    Ok(Sizes(sizes))
}

/// Reads one size, before a range of it is spelled out.
fn size(text: &str, part: &str) -> Result<usize, String> {
    let part = part.trim();
    if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        let text = text.escape_debug();
        return Err(format!("'{text}' does not say how large groups are; write for example 2,4,8 or 2-16."));
    }
    match part.parse() {
        Ok(0 | 1) => Err("A comparison needs at least two nodes: alone, nobody sends anything.".into()),
        Ok(size) if size <= MOST_NODES => Ok(size),
        Ok(_) | Err(_) => Err(format!("groups of {part} are too large to compare; at most {MOST_NODES} nodes fit.")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Sizes, sizes};

    #[test]
    fn sizes_are_lists_and_ranges_in_the_order_given() {
        for (text, expected) in
            [("2", &[2][..]), ("8,2", &[8, 2]), ("2-5", &[2, 3, 4, 5]), ("9, 3-4", &[9, 3, 4]), ("7-7", &[7])]
        {
            assert_eq!(sizes(text), Ok(Sizes(expected.to_vec())), "{text}");
        }
        assert_eq!(sizes("2-1000").map(|sizes| sizes.0.len()), Ok(999));
    }

    #[test]
    fn sizes_that_make_no_sense_are_told() {
        for (text, expected) in [
            ("", "does not say how large groups are"),
            ("2,,4", "does not say how large groups are"),
            ("2-", "does not say how large groups are"),
            ("-3", "does not say how large groups are"),
            ("2-3-4", "does not say how large groups are"),
            ("two", "does not say how large groups are"),
            ("+2", "does not say how large groups are"),
            ("0", "at least two nodes"),
            ("1-4", "at least two nodes"),
            ("5-3", "ends before it begins; write 3-5."),
            ("2-9,4", "names groups of 4 twice"),
            ("1001", "at most 1000 nodes fit"),
            ("2-99999999999999999999999", "at most 1000 nodes fit"),
        ] {
            let told = sizes(text).expect_err(text);
            assert!(told.contains(expected), "{text}: {told}");
        }
    }
}
