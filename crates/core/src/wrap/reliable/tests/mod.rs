//! Tests of reliable links: one a rule, and properties on a stage of their own.

mod properties;
mod rules;
mod world;
