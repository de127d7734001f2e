//! Who takes part in a comparison, in groups of which sizes.

use crate::compare::CompareError;
use crate::mutex::MutexEntry;

/// Who takes part.
pub(super) struct Field {
    /// Those who can run in a group of one of the sizes at least.
    pub(super) contenders: Vec<&'static MutexEntry>,
    pub(super) left_out: Vec<LeftOut>,
}

/// An algorithm that cannot run in groups of some sizes.
pub(super) struct LeftOut {
    pub(super) algorithm: &'static str,
    pub(super) sizes: Vec<usize>,
    /// For how many nodes there is a group.
    pub(super) why: &'static str,
}

impl LeftOut {
    pub(super) fn sentence(&self) -> String {
        let Self { algorithm, sizes, why } = self;
        // A reader of a long list wants to know the rule, not the list.
        let left_out = if sizes.len() > 5 { "other numbers of".into() } else { list(sizes, "and") };
        format!("{algorithm} is left out with {left_out} nodes: {why}.")
    }
}

impl Field {
    /// Whoever cannot run in a group of some size is left out there. That is a mistake if nobody is left, or if the user
    /// named one who then is not there at all.
    pub(super) fn of(all: Vec<&'static MutexEntry>, sizes: &[usize], named: &[String]) -> Result<Self, CompareError> {
        let mut field = Self { contenders: Vec::new(), left_out: Vec::new() };
        for entry in all {
            let algorithm = entry.facts.profile.name;
            let misfits = sizes.iter().filter_map(|size| Some((*size, (entry.facts.fits)(*size).err()?)));
            let (misfits, reasons): (Vec<_>, Vec<_>) = misfits.unzip();
            let is_there = misfits.len() < sizes.len();
            if let Some(why) = reasons.first().copied() {
                if !is_there && named.iter().any(|name| name == algorithm) {
                    let sizes = list(&misfits, "or");
                    return CompareError::refused(format!("'{algorithm}' has no group of {sizes}: {why}."));
                }
                field.left_out.push(LeftOut { algorithm, sizes: misfits, why });
            }
            field.contenders.extend(is_there.then_some(entry));
        }
        if field.contenders.is_empty() {
            let why = field.left_out.first().map(LeftOut::sentence).unwrap_or_default();
            return CompareError::refused(format!("Nobody is left to be compared. {why}"));
        }
        Ok(field)
    }
}

/// `4`, `4 and 9`, `4, 9 and 16`.
fn list(sizes: &[usize], and: &str) -> String {
    let words: Vec<_> = sizes.iter().map(ToString::to_string).collect();
    match &words[..] {
        [first @ .., last] if !first.is_empty() => format!("{} {and} {last}", first.join(", ")),
        few => few.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Field, list};
    use crate::mutex::MutexEntry;
    use crate::mutex::compare::{Forms, contenders};
    use quorate_core::mutex::Facts;

    /// Someone like `central` who is at home only in groups whose size is a square.
    fn particular() -> &'static MutexEntry {
        let [central] = contenders(&["central".into()], Forms::Usual).unwrap()[..] else { panic!("one algorithm") };
        let fits = |nodes: usize| if nodes.isqrt().pow(2) == nodes { Ok(()) } else { Err("it needs a square") };
        let facts: &Facts = Box::leak(Box::new(Facts { fits, ..*central.facts }));
        Box::leak(Box::new(MutexEntry { facts, make: central.make.clone(), codec: central.codec.clone() }))
    }

    fn field(sizes: &[usize], named: &[String]) -> Result<(usize, String), String> {
        let others = contenders(&["ricart-agrawala".into()], Forms::Usual).unwrap();
        let all = std::iter::once(particular()).chain(others.into_iter().filter(|_| named.is_empty())).collect();
        let field = Field::of(all, sizes, named).map_err(|error| error.to_string())?;
        Ok((field.contenders.len(), field.left_out.iter().map(|left| left.sentence()).collect::<Vec<_>>().join(" ")))
    }

    #[test]
    fn who_does_not_fit_is_left_out_with_a_sentence() {
        assert_eq!(field(&[4, 9], &[]), Ok((2, String::new())));
        assert_eq!(
            field(&[4, 5, 7], &[]),
            Ok((2, "central is left out with 5 and 7 nodes: it needs a square.".into()))
        );
        assert_eq!(field(&[5], &[]), Ok((1, "central is left out with 5 nodes: it needs a square.".into())));
    }

    #[test]
    fn who_was_named_must_be_there() {
        let named = ["central".to_owned()];
        assert_eq!(field(&[4, 5], &named), Ok((1, "central is left out with 5 nodes: it needs a square.".into())));
        assert_eq!(field(&[5, 6, 7], &named), Err("'central' has no group of 5, 6 or 7: it needs a square.".into()));
    }

    #[test]
    fn somebody_must_be_left() {
        let told = Field::of(vec![particular()], &[2], &[])
            .map(|field| field.contenders.len())
            .map_err(|error| error.to_string());
        let why = "Nobody is left to be compared. central is left out with 2 nodes: it needs a square.";
        assert_eq!(told, Err(why.into()));
        assert_eq!(list(&[], "and"), "");
    }
}
