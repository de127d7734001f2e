//! A stage for tests of detectors.
