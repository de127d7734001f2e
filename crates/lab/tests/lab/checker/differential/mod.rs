//! What the checker judges beside the state, held against the family's observers on random walks.

mod elections;
mod multicasts;
mod mutex;
