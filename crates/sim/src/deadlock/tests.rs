//! The true graph, users and judges.
