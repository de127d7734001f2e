//! Suggestions for misspelt words.

/// Returns the known word that is closest to `word`, or `None` if none is close.
///
/// A known word is close if at most a third of the letters differ, or if `word` is a prefix of it
/// with at least three letters.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    known
        .into_iter()
        .filter_map(|candidate| Some((distance(&word, &candidate.to_lowercase())?, candidate)))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the edit distance of two close words, or `None` if they are not close.
fn distance(word: &str, candidate: &str) -> Option<usize> {
    const MIN_PREFIX_CHARS: usize = 3;
    let (word_chars, candidate_chars) = (word.chars().count(), candidate.chars().count());
    let max_edits = word_chars.max(candidate_chars) / 3;
    // The difference in length is a lower bound of the distance. Checking it first avoids comparing
    // a long text with a word.
    let edits = if word_chars.abs_diff(candidate_chars) > max_edits {
        usize::MAX
    } else {
        strsim::osa_distance(word, candidate)
    };
    if edits <= max_edits {
        Some(edits)
    } else if word_chars >= MIN_PREFIX_CHARS && candidate.starts_with(word) {
        Some(candidate_chars - word_chars)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    const KNOWN_WORDS: [&str; 9] = ["crash", "restart", "pause", "resume", "cut", "heal", "skew", "drift", "link"];

    #[test]
    fn a_misspelt_word_finds_its_match() {
        let misspelt = ["crsh", "restrat", "PASUE", "cutt", "haal", "linc"];
        let found = misspelt.map(|word| nearest(word, KNOWN_WORDS).unwrap_or("none"));
        assert_eq!(found, ["crash", "restart", "pause", "cut", "heal", "link"]);
    }

    #[test]
    fn a_prefix_finds_its_word() {
        assert_eq!(nearest("ricart", ["central", "ricart-agrawala"]), Some("ricart-agrawala"));
    }

    #[test]
    fn an_exact_word_is_its_own_nearest() {
        assert_eq!(nearest("cut", ["cat", "cut"]), Some("cut"));
    }

    #[test]
    fn an_unrelated_word_finds_none() {
        let unrelated = ["banana", "x", "", "at", "☃", "partition"];
        assert_eq!(unrelated.map(|word| nearest(word, KNOWN_WORDS)), [None; 6]);
        assert_eq!(nearest("crash", []), None);
    }
}
