//! What somebody probably meant to type.

/// The known word that this one is most likely a slip of, or nothing if none is close.
///
/// Close means that a third of the letters or fewer must change, or that the word begins a known one.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    known
        .into_iter()
        .filter_map(|candidate| Some((distance(&word, &candidate.to_lowercase())?, candidate)))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// How many slips lie between the two, if few enough to call them close.
fn distance(word: &str, candidate: &str) -> Option<usize> {
    const SHORTEST_BEGINNING: usize = 3;
    let (typed, meant) = (word.chars().count(), candidate.chars().count());
    let allowed = typed.max(meant) / 3;
    // The difference in length is a lower bound: it spares comparing a page of text with a word.
    let slips = if typed.abs_diff(meant) > allowed { usize::MAX } else { strsim::osa_distance(word, candidate) };
    if slips <= allowed {
        Some(slips)
    } else if typed >= SHORTEST_BEGINNING && candidate.starts_with(word) {
        Some(meant - typed)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    const FAULTS: [&str; 9] = ["crash", "restart", "pause", "resume", "cut", "heal", "skew", "drift", "link"];

    #[test]
    fn a_slip_finds_its_word() {
        let typed = ["crsh", "restrat", "PASUE", "cutt", "haal", "linc"];
        let meant = typed.map(|word| nearest(word, FAULTS).unwrap_or("nothing"));
        assert_eq!(meant, ["crash", "restart", "pause", "cut", "heal", "link"]);
    }

    #[test]
    fn a_beginning_finds_its_word() {
        assert_eq!(nearest("ricart", ["central", "ricart-agrawala"]), Some("ricart-agrawala"));
    }

    #[test]
    fn an_exact_word_is_its_own_nearest() {
        assert_eq!(nearest("cut", ["cat", "cut"]), Some("cut"));
    }

    #[test]
    fn a_stranger_finds_nothing() {
        let strangers = ["banana", "x", "", "at", "☃", "partition"];
        assert_eq!(strangers.map(|word| nearest(word, FAULTS)), [None; 6]);
        assert_eq!(nearest("crash", []), None);
    }
}
