//! Plots of what was measured, with the formula behind it.
