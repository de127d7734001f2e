//! A macro that declares tests of rules. Each row is one test: a name that begins with the rule's
//! id, and the arguments of the check, such as a script and the expected trace.

macro_rules! rule_tests {
    ($check:path; $($(#[$meta:meta])* $name:ident($($argument:expr),+);)*) => {$(
        $(#[$meta])*
        #[test]
        fn $name() {
            $check($($argument),+);
        }
    )*};
}
pub(crate) use rule_tests;
