//! The rules of the armies by hand, and whole wars in either model of time.

mod rules;
mod wars;
