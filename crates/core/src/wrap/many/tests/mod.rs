//! Tests of many resources side by side: one a rule, and properties on a stage of their own.

mod clerk;
mod properties;
mod rules;
mod table;
