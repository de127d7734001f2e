//! tests

mod storms;

use crate::bounds::Bounds;
use crate::time::Duration;

const BOUNDS: Bounds = Bounds { message: Duration::from_millis(5), processing: Duration::ZERO };
