//! The algorithms and sizes of a comparison.

use crate::compare::CompareError;
use crate::mutex::MutexEntry;

/// The algorithms to compare.
pub(super) struct ComparedAlgorithms {
    /// The algorithms that support at least one of the sizes.
    pub(super) algorithms: Vec<&'static MutexEntry>,
    pub(super) unsupported_sizes: Vec<UnsupportedSizes>,
}

/// An algorithm that does not support some sizes.
pub(super) struct UnsupportedSizes {
    pub(super) algorithm: &'static str,
    pub(super) sizes: Vec<usize>,
    /// The supported sizes, in words, from [`Facts`](quorate_core::mutex::Facts).
    pub(super) reason: &'static str,
}

/// Maximum number of sizes that [`UnsupportedSizes::to_sentence`] lists.
const MAX_LISTED_SIZES: usize = 5;

impl UnsupportedSizes {
    pub(super) fn to_sentence(&self) -> String {
        let Self { algorithm, sizes, reason } = self;
        // The reason is more useful than a long list.
        let unsupported =
            if sizes.len() > MAX_LISTED_SIZES { "other numbers of".into() } else { join_sizes(sizes, "and") };
        format!("{algorithm} is omitted for {unsupported} nodes: {reason}.")
    }
}

impl ComparedAlgorithms {
    /// Omits algorithms at sizes that they do not support. Fails if no algorithm is left, or if an
    /// algorithm that the user `named` supports none of the sizes.
    pub(super) fn new(all: Vec<&'static MutexEntry>, sizes: &[usize], named: &[String]) -> Result<Self, CompareError> {
        let mut compared = Self { algorithms: Vec::new(), unsupported_sizes: Vec::new() };
        for entry in all {
            let algorithm = entry.facts.profile.name;
            let unsupported =
                sizes.iter().filter_map(|size| Some((*size, (entry.facts.check_group_size)(*size).err()?)));
            let (unsupported, reasons): (Vec<_>, Vec<_>) = unsupported.unzip();
            let supports_any = unsupported.len() < sizes.len();
            if let Some(reason) = reasons.first().copied() {
                if !supports_any && named.iter().any(|name| name == algorithm) {
                    let sizes = join_sizes(&unsupported, "or");
                    return CompareError::invalid_option(format!(
                        "'{algorithm}' does not support groups of {sizes}: {reason}."
                    ));
                }
                compared.unsupported_sizes.push(UnsupportedSizes { algorithm, sizes: unsupported, reason });
            }
            compared.algorithms.extend(supports_any.then_some(entry));
        }
        if compared.algorithms.is_empty() {
            let omission = compared.unsupported_sizes.first().map(UnsupportedSizes::to_sentence).unwrap_or_default();
            return CompareError::invalid_option(format!("no algorithm supports the given sizes. {omission}"));
        }
        Ok(compared)
    }
}

/// Joins sizes as a person would: `4`, `4 and 9`, `4, 9 and 16`.
fn join_sizes(sizes: &[usize], conjunction: &str) -> String {
    let numbers: Vec<_> = sizes.iter().map(ToString::to_string).collect();
    match &numbers[..] {
        [first @ .., last] if !first.is_empty() => format!("{} {conjunction} {last}", first.join(", ")),
        numbers => numbers.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::{ComparedAlgorithms, join_sizes};
    use crate::mutex::MutexEntry;
    use crate::mutex::compare::{Variants, select_algorithms};
    use quorate_core::mutex::Facts;

    /// A variant of `central` that supports only square sizes.
    fn squares_only() -> &'static MutexEntry {
        let [central] = select_algorithms(&["central".into()], Variants::Default).unwrap()[..] else {
            panic!("one algorithm")
        };
        let fits = |nodes: usize| if nodes.isqrt().pow(2) == nodes { Ok(()) } else { Err("it needs a square") };
        let facts: &Facts = Box::leak(Box::new(Facts { check_group_size: fits, ..*central.facts }));
        Box::leak(Box::new(MutexEntry { facts, make: central.make.clone(), codec: central.codec.clone() }))
    }

    /// Compares `squares_only`, and `ricart-agrawala` as well if no algorithm is named. Returns the
    /// number of algorithms that are left, and the sentences about omitted sizes.
    fn compared(sizes: &[usize], named: &[String]) -> Result<(usize, String), String> {
        let others = select_algorithms(&["ricart-agrawala".into()], Variants::Default).unwrap();
        let all = std::iter::once(squares_only()).chain(others.into_iter().filter(|_| named.is_empty())).collect();
        let compared = ComparedAlgorithms::new(all, sizes, named).map_err(|error| error.to_string())?;
        Ok((
            compared.algorithms.len(),
            compared.unsupported_sizes.iter().map(|omitted| omitted.to_sentence()).collect::<Vec<_>>().join(" "),
        ))
    }

    #[test]
    fn algorithms_are_omitted_at_unsupported_sizes() {
        assert_eq!(compared(&[4, 9], &[]), Ok((2, String::new())));
        assert_eq!(
            compared(&[4, 5, 7], &[]),
            Ok((2, "central is omitted for 5 and 7 nodes: it needs a square.".into()))
        );
        assert_eq!(compared(&[5], &[]), Ok((1, "central is omitted for 5 nodes: it needs a square.".into())));
    }

    #[test]
    fn a_named_algorithm_must_support_a_size() {
        let named = ["central".to_owned()];
        assert_eq!(compared(&[4, 5], &named), Ok((1, "central is omitted for 5 nodes: it needs a square.".into())));
        assert_eq!(
            compared(&[5, 6, 7], &named),
            Err("'central' does not support groups of 5, 6 or 7: it needs a square.".into())
        );
    }

    #[test]
    fn at_least_one_algorithm_must_be_left() {
        let result = ComparedAlgorithms::new(vec![squares_only()], &[2], &[])
            .map(|compared| compared.algorithms.len())
            .map_err(|error| error.to_string());
        let error = "no algorithm supports the given sizes. central is omitted for 2 nodes: it needs a square.";
        assert_eq!(result, Err(error.into()));
        assert_eq!(join_sizes(&[], "and"), "");
    }
}
