//! What happened in words, in as few as there is room for.

use super::Ink;
use super::text::width;
use quorate_sim::words::Sort;

/// What stands between two things that happened.
pub(super) const BETWEEN: &str = " · ";

/// The words in as much detail as there is room for. First what the algorithm does not see is left out, then what is
/// sent, because arrows show that, and then what rules say, but for their names: what users are told stays longest.
pub(super) fn shortened(words: &[(Ink, String)], room: usize) -> Vec<(Ink, String)> {
    let mut words = together(words);
    if total(&words) > room {
        words.retain(|(ink, _)| *ink != Ink::Part(Sort::Control));
    }
    let there = |sort| words.iter().any(|(ink, _)| *ink == Ink::Part(sort));
    let (ruled, told) = (there(Sort::Rule), there(Sort::Event));
    if total(&words) > room && (ruled || told) {
        words.retain(|(ink, _)| *ink != Ink::Part(Sort::Send));
    }
    for index in (0..words.len()).rev() {
        if total(&words) <= room {
            break;
        }
        if let Some((Ink::Part(Sort::Rule), text)) = words.get_mut(index)
            && let Some(end) = text.find(' ').filter(|_| told)
        {
            text.truncate(end);
        }
    }
    words
}

/// How wide they are, with what stands between them.
fn total(words: &[(Ink, String)]) -> usize {
    let all: usize = words.iter().map(|(_, text)| width(text) + width(BETWEEN)).sum();
    all.saturating_sub(width(BETWEEN))
}

/// The same message to one after the other is told once, whatever the node does for itself in between.
fn together(words: &[(Ink, String)]) -> Vec<(Ink, String)> {
    let mut told: Vec<(Ink, String)> = Vec::with_capacity(words.len());
    for (ink, text) in words {
        match addressed(*ink, text).and_then(|(kind, to)| Some((told_before(&mut told, *ink, kind)?, to))) {
            Some((before, to)) => {
                before.push(',');
                before.push_str(to);
            }
            None => told.push((*ink, text.clone())),
        }
    }
    told
}

/// The words that tell of the same message last, if only what the algorithm does not see was told since.
fn told_before<'a>(told: &'a mut [(Ink, String)], ink: Ink, kind: &str) -> Option<&'a mut String> {
    for (last_ink, last) in told.iter_mut().rev() {
        if *last_ink == ink && addressed(ink, last).is_some_and(|(last_kind, _)| last_kind == kind) {
            return Some(last);
        }
        if *last_ink != Ink::Part(Sort::Control) {
            return None;
        }
    }
    None
}

/// What is sent, and whom to.
fn addressed(ink: Ink, text: &str) -> Option<(&str, &str)> {
    matches!(ink, Ink::Part(Sort::Send | Sort::Control)).then(|| text.rsplit_once(" → ")).flatten()
}
