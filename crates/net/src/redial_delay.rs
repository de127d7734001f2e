//! The delay before this node dials a peer again.

use crate::settings::Limits;
use std::time::Duration;

/// The delay before the next dial. It doubles with each failed dial, and with each connection that
/// ends too soon.
pub(crate) struct RedialDelay {
    min: Duration,
    max: Duration,
    /// The part of each delay that is added to it.
    addition: f64,
    current: Duration,
    /// The delay after the last connection. Failed dials do not change it, so that a peer that
    /// was down for long and ends soon after its restart is dialled again at once.
    after_connection: Duration,
}

impl RedialDelay {
    /// `addition` is the part of each delay that is added to it. It should differ between the two
    /// nodes of a pair, so that they do not keep dialling each other at the same time.
    pub(crate) fn new(limits: &Limits, addition: f64) -> Self {
        let Limits { min_backoff: min, max_backoff: max, .. } = *limits;
        Self { min, max, addition, current: Duration::ZERO, after_connection: Duration::ZERO }
    }

    pub(crate) fn current(&self) -> Duration {
        self.current
    }

    pub(crate) fn handle_failed_dial(&mut self) {
        self.current = self.next(self.current);
    }

    /// A connection ended after this time. If that is less than the next delay, the delay grows;
    /// otherwise two nodes that end each other's connections could redial in a busy loop.
    pub(crate) fn handle_lost_connection(&mut self, lasted: Duration) {
        let next = self.next(self.after_connection);
        self.after_connection = if lasted < next { next } else { Duration::ZERO };
        self.current = self.after_connection;
    }

    /// The peer has a new address, which is dialled at once.
    pub(crate) fn reset(&mut self) {
        self.current = Duration::ZERO;
    }

    fn next(&self, delay: Duration) -> Duration {
        let next = delay.saturating_mul(2).clamp(self.min, self.max);
        next + next.mul_f64(self.addition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: Duration = Duration::from_millis(20);
    const MAX: Duration = Duration::from_secs(1);

    fn create_delay() -> RedialDelay {
        RedialDelay::new(&Limits { min_backoff: MIN, max_backoff: MAX, ..Limits::default() }, 0.0)
    }

    #[test]
    fn the_first_dial_is_immediate_and_each_failure_doubles_the_delay_up_to_its_maximum() {
        let mut delay = create_delay();
        assert_eq!(delay.current(), Duration::ZERO);
        let mut millis = Vec::new();
        for _ in 0..8 {
            delay.handle_failed_dial();
            millis.push(delay.current().as_millis());
        }
        assert_eq!(millis, [20, 40, 80, 160, 320, 640, 1_000, 1_000]);
    }

    #[test]
    fn a_connection_after_many_failed_dials_makes_the_next_dial_immediate() {
        let mut delay = create_delay();
        (0..8).for_each(|_| delay.handle_failed_dial());
        delay.handle_lost_connection(Duration::from_millis(300));
        assert_eq!(delay.current(), Duration::ZERO);
    }

    #[test]
    fn connections_that_end_at_once_are_dialled_more_and_more_rarely() {
        let mut delay = create_delay();
        let mut millis = Vec::new();
        for _ in 0..8 {
            delay.handle_lost_connection(Duration::from_millis(1));
            millis.push(delay.current().as_millis());
        }
        assert_eq!(millis, [20, 40, 80, 160, 320, 640, 1_000, 1_000]);
    }

    #[test]
    fn the_addition_keeps_two_nodes_from_dialling_at_the_same_time() {
        let mut delay = RedialDelay::new(&Limits { min_backoff: MIN, max_backoff: MAX, ..Limits::default() }, 0.25);
        delay.handle_failed_dial();
        assert_eq!(delay.current(), Duration::from_millis(25));
    }
}
