//! One member of a group, told views and leases by hand: one test a rule and more.

mod changes;
mod desk;
mod leases;
mod stays;
