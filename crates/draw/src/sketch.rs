//! Watches a run and makes a scene of it.
