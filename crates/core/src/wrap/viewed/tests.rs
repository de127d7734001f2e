//! One member of a group, told views and leases by hand.
