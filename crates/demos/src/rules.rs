//! Tests of rules: each has a name that begins with its rule's id, what is played, and the trace that must come of it.

macro_rules! rules {
    ($check:path; $($(#[$meta:meta])* $name:ident($($argument:expr),+);)*) => {$(
        $(#[$meta])*
        #[test]
        fn $name() {
            $check($($argument),+);
        }
    )*};
}
pub(crate) use rules;
