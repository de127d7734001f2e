//! Rule by rule.
