//! What the group records about its members. The rules (`RP-…`) are at the head of `replica.rs`.

use super::{Out, RunningReplica};
use crate::batch::Batch;
use crate::command::Event;
use crate::directory::{MemberRecord, Notice};
use crate::machine::StateMachine;
use crate::message::Message;
use quorate_core::{Incarnation, NodeId, Time};

impl<S: StateMachine> RunningReplica<S> {
    /// RP-10. Proposes the admission of a replica without a log, if it is a learner, with its
    /// incarnation. A release that does not understand all entries is not admitted.
    pub(super) fn propose_admission(
        &mut self,
        now: Time,
        learner: NodeId,
        (incarnation, level): (Incarnation, u32),
        out: &mut Out<'_, S>,
    ) {
        if level < self.directory.level() {
            let needed = self.directory.level();
            return out.note("RP-10", format_args!("does not admit {learner}: level {level} is below {needed}"));
        }
        let is_known = self.directory.admitted.get(&learner) >= Some(&incarnation);
        let is_learner = self.engine.configuration().incoming.learners.contains(&learner);
        if is_learner && !is_known {
            self.propose_notice(now, Notice::Admitted { learner, incarnation }, out);
        }
    }

    /// RP-17. Records what a member reports about itself.
    pub(super) fn receive_report(&mut self, now: Time, member: NodeId, record: MemberRecord, out: &mut Out<'_, S>) {
        let needed = self.directory.level();
        if record.level < needed {
            return out
                .note("RP-17", format_args!("sends {member} no entries: level {} is below {needed}", record.level));
        }
        let is_member = self.engine.configuration().contains(member);
        if is_member && self.directory.record(member) != Some(&record) {
            self.propose_notice(now, Notice::Recorded { member, record }, out);
        }
    }

    /// What this replica reports about itself.
    pub(super) fn own_record(&self) -> MemberRecord {
        // An address that came with a change of the members stays if the replica knows no other.
        let recorded_address = || self.directory.record(self.me).and_then(|record| record.address.clone());
        let address = self.settings.address.clone().or_else(recorded_address);
        MemberRecord { address, level: self.known_level() }
    }

    /// The report of this replica, unless the group has recorded just that.
    fn own_report(&self) -> Option<MemberRecord> {
        let record = self.own_record();
        (self.is_member() && self.directory.record(self.me) != Some(&record)).then_some(record)
    }

    /// RP-17. Asks members that may be outdated for their reports. Such a member may have been
    /// removed and added again without noticing, and believe that its report is recorded.
    pub(super) fn request_reports(&self, out: &mut Out<'_, S>) {
        for member in self.outdated_members.iter().filter(|member| **member != self.me) {
            out.send_ahead(*member, Message::ReportRequest);
        }
    }

    /// RP-17. Records what this leader reports about itself.
    pub(super) fn record_own_report(&mut self, now: Time, out: &mut Out<'_, S>) {
        if let Some(record) = self.own_report() {
            self.receive_report(now, self.me, record, out);
        }
    }

    /// RP-17. Reports to the leader, until the report is recorded.
    pub(super) fn report_to_leader(&self, out: &mut Out<'_, S>) {
        if let Some(leader) = self.role.leader
            && let Some(record) = self.own_report()
        {
            out.send_ahead(leader, Message::Report(record));
        }
    }

    /// Appends a notice to the log, unless this leader has just done so.
    fn propose_notice(&mut self, now: Time, notice: Notice, out: &mut Out<'_, S>) {
        if !self.role.leads || self.is_disk_full || self.proposed_notices.contains(&notice) {
            return;
        }
        let time = self.clock.advance_to(now);
        let batch = Batch::<S::Command>::of_notices(time, vec![notice.clone()]);
        let Some(index) = batch.write().ok().and_then(|bytes| self.engine.propose(bytes)) else { return };
        match &notice {
            Notice::Admitted { learner, .. } => out.note("RP-10", format_args!("admits {learner} by entry {index}")),
            Notice::Recorded { member, record } => {
                let address = record.address.as_deref().unwrap_or("no address");
                let level = record.level;
                out.note("RP-17", format_args!("records {member} by entry {index}: {address}, level {level}"));
            }
        }
        self.proposed_notices.push(notice);
    }

    /// RP-10 and RP-17.
    pub(super) fn apply_notices(&mut self, notices: Vec<Notice>) {
        for notice in notices {
            self.proposed_notices.retain(|proposed| *proposed != notice);
            if self.directory.apply(notice, &self.engine.configuration()) {
                self.engine.mark_checkpoint_outdated();
                self.record_new_configuration();
            }
        }
    }

    /// RP-17. The members, their addresses or the level of the group may have changed.
    pub(crate) fn record_new_configuration(&mut self) {
        self.has_new_configuration = true;
        let configuration = self.engine.configuration();
        self.outdated_members = configuration.nodes().filter(|node| self.directory.may_be_outdated(*node)).collect();
    }

    /// RP-17. Reports the members, their addresses and the level of the group when they change.
    pub(super) fn report_configuration(&mut self, out: &mut Out<'_, S>) {
        if self.is_joining() || !std::mem::take(&mut self.has_new_configuration) {
            return;
        }
        let members = self.engine.configuration().incoming;
        let configuration = (members, self.directory.addresses(), self.directory.level());
        if self.reported_configuration.as_ref() != Some(&configuration) {
            let (members, addresses, level) = configuration.clone();
            self.reported_configuration = Some(configuration);
            out.emit_ahead(Event::Configured { members, addresses, level });
        }
    }
}
