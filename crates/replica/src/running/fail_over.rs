//! The leadership moves: transfers, campaigns, and leaders whose process has ended. The rules
//! (`RP-…`) are at the head of `replica.rs`.

use super::{Out, RunningReplica};
use crate::command::Event;
use crate::machine::StateMachine;
use crate::replica::Timer;
use crate::settings::ReadMode;
use quorate_core::{Duration, NodeId, Span, Time};

/// Number of ticks from the end of a leader's process to the first campaign.
const FIRST_CAMPAIGN_TICKS: u64 = 1;
/// Number of ticks between the campaigns of two replicas: enough for an election.
const TICKS_BETWEEN_CAMPAIGNS: u64 = 2;
/// Number of ticks until a replica that stood for a lost leader does so again.
const TICKS_PER_ATTEMPT: u64 = 4;

impl<S: StateMachine> RunningReplica<S> {
    /// RP-18. Transfers the leadership. There is no lease in this term afterwards, because the
    /// other node may become a candidate at any time.
    pub(crate) fn transfer(&mut self, to: NodeId, out: &mut Out<'_, S>) {
        if self.role.leads && to != self.me && self.engine.configuration().incoming.voters.contains(&to) {
            out.note("RP-18", format_args!("offers the leadership to {to}"));
            self.lease.end_for_term(self.role.term);
            self.engine.transfer(to);
        }
    }

    /// RP-18. Gives up the leadership, and does not campaign while another node takes over.
    pub(crate) fn retire(&mut self, out: &mut Out<'_, S>) {
        out.note("RP-18", format_args!("retires"));
        self.retirement_ticks = 4 * self.settings.election_ticks;
        self.must_report_retirement = true;
        self.offer_leadership(out);
    }

    /// RP-18. Reports that this replica does not lead any more, or that no other replica can take
    /// over.
    pub(super) fn report_retirement(&mut self, out: &mut Out<'_, S>) {
        let has_retired = !self.role.leads || self.engine.successors().is_empty();
        if self.must_report_retirement && has_retired {
            self.must_report_retirement = false;
            out.emit_ahead(Event::Retired);
        }
    }

    /// RP-11 and RP-18. A leader with a full disk, or one that retires, offers the leadership to
    /// each successor in turn, because an offer can be lost, and the successor's disk may be full
    /// too.
    pub(super) fn offer_leadership(&mut self, out: &mut Out<'_, S>) {
        let has_reason = self.is_disk_full || self.retirement_ticks > 0 || self.must_report_retirement;
        if has_reason && self.role.leads && !self.engine.is_transferring_leadership() {
            self.offer_to_one_of(&self.engine.successors(), out);
        }
    }

    /// RP-18. Offers the leadership to the next of these successors, if possible to one that is not
    /// suspected. Returns `false` if there are none.
    pub(super) fn offer_to_one_of(&mut self, successors: &[NodeId], out: &mut Out<'_, S>) -> bool {
        // The process of a suspected successor seems to have ended.
        let trusted: Vec<_> = successors.iter().copied().filter(|node| !self.suspected.contains_key(node)).collect();
        let successors = if trusted.is_empty() { successors } else { &trusted[..] };
        let Some(place) = self.offer_count.checked_rem(successors.len()) else { return false };
        self.offer_count += 1;
        self.transfer(successors[place], out);
        true
    }

    /// Whether this replica may become a candidate, as far as its promise allows it.
    pub(super) fn may_campaign(&self) -> bool {
        self.engine.has_saved_all() && !self.is_disk_full && self.retirement_ticks == 0
    }

    /// Campaigns, unless the replica is no voter, is bound by its promise to a leader, or may not
    /// campaign.
    pub(crate) fn campaign(&mut self, now: Time, out: &mut Out<'_, S>) {
        let is_voter = self.engine.configuration().is_voter(self.me);
        if is_voter && now >= self.promised_until && self.may_campaign() {
            out.note("RP-13", format_args!("campaigns"));
            self.engine.campaign();
        }
    }

    /// RP-13. Prepares to replace a leader whose process has ended. The unsuspected voters stand in
    /// the order of their numbers, so that they do not split the votes. The first one waits for a
    /// tick, because a replica votes only once it suspects the leader too. With leases the promise
    /// remains until it expires, because a wrong suspicion would break the lease; the order of the
    /// voters begins then.
    pub(crate) fn handle_suspicion(&mut self, now: Time, node: NodeId, out: &mut Out<'_, S>) {
        self.suspected.insert(node, now);
        if self.role.leader != Some(node) {
            return;
        }
        self.is_standing = true;
        if self.settings.reads == ReadMode::Quorum {
            out.note("RP-13", format_args!("drops its promise to {node}, which seems to have crashed"));
            self.promised_until = now;
        }
        self.engine.forget_leader();
        if let Some(turn) = self.ticks_until_turn() {
            let ticks = FIRST_CAMPAIGN_TICKS + turn;
            self.set_campaign_timer(self.promised_until.since(now) + self.settings.tick.times(ticks), out);
        }
    }

    /// RP-13. How much later than the first of the unsuspected voters this one stands; `None` if it
    /// is no voter.
    fn ticks_until_turn(&self) -> Option<u64> {
        let voters = self.engine.configuration().incoming.voters;
        let mut unsuspected = voters.iter().filter(|voter| !self.suspected.contains_key(voter));
        unsuspected.position(|voter| *voter == self.me).map(|place| place as u64 * TICKS_BETWEEN_CAMPAIGNS)
    }

    /// RP-13. Records that a peer's process is running.
    pub(crate) fn handle_trust(&mut self, node: NodeId) {
        self.suspected.remove(&node);
    }

    /// RP-13. Whether a message was on its way when the process of its sender ended. If messages
    /// keep coming, the process runs.
    pub(super) fn is_late_message(&mut self, now: Time, from: NodeId) -> bool {
        let Some(since) = self.suspected.get(&from) else { return false };
        let is_late = now.since(*since) < self.settings.tick;
        if !is_late {
            self.suspected.remove(&from);
        }
        is_late
    }

    /// RP-13. Stands for the lost leader; there is no other one yet. A replica that waits for its
    /// disk stands later. So does one that waits for votes, because it would ignore them if it
    /// campaigned again; raft's own timeout ends its candidacy.
    pub(crate) fn stand(&mut self, now: Time, out: &mut Out<'_, S>) {
        let tick = self.settings.tick;
        let delay = if self.may_campaign() && !self.engine.requests_votes() {
            self.campaign(now, out);
            // Voters that stood at the same time, and split the votes, do not do so again.
            tick.times(TICKS_PER_ATTEMPT + self.ticks_until_turn().unwrap_or(0))
        } else {
            tick
        };
        self.set_campaign_timer(delay, out);
    }

    fn set_campaign_timer(&self, delay: Duration, out: &mut Out<'_, S>) {
        out.set_timer(Timer::Campaign, Span::exactly(delay));
    }

    /// RP-13 and RP-19. A message of a leader: promises it not to vote for another candidate for
    /// some time, and stops standing for a lost leader.
    pub(super) fn follow(&mut self, now: Time, out: &mut Out<'_, S>) {
        self.promised_until = now + self.settings.promise_duration();
        self.stop_standing(out);
    }

    /// RP-13. There is a leader again.
    pub(super) fn stop_standing(&mut self, out: &mut Out<'_, S>) {
        if std::mem::take(&mut self.is_standing) {
            out.cancel_timer(Timer::Campaign);
        }
    }
}
