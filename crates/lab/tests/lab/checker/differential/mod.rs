//! Compares the checker's verdicts with the family's observers on random walks.

mod elections;
mod multicasts;
mod mutex;
