//! Tests of rules: each has a name that begins with its rule's id, a script, and the expected
//! trace.

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
