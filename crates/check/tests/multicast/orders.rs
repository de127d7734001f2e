//! The orders of the book.

use crate::{Case, broken};
use quorate_core::multicast::{Causal, Fifo, Isis, Plan, Sequencer, Unordered};
use quorate_sim::multicast::Promises;

#[test]
fn survey() {
    let show = |name: &str, findings: quorate_check::Findings| {
        let p = &findings.states;
        println!("{name}: {} states {} gen, depth {} {:.1}s fair {:?} broken {:?}", p.states, p.generated, p.depth, p.seconds, findings.fair.map(|f| f.states), broken(&findings));
    };
    let case = |crashes, views, promises: Promises| {
        let case = Case::new(3, 2, 1);
        Case { crashes, fifo: views, promises: Promises { views, ..promises }, ..case }
    };
    for (crashes, views) in [(0, false), (1, false), (1, true)] {
        let p = Promises::RELIABLE;
        let fifo = Promises { fifo: true, ..p };
        let causal = Promises { causal: true, ..fifo };
        let total = Promises { total: true, ..p };
        println!("crashes {crashes} views {views}");
        show("basic", case(crashes, views, p).check::<Unordered>());
        show("fifo", case(crashes, views, fifo).check::<Fifo>());
        show("causal", case(crashes, views, causal).check::<Causal>());
        show("sequencer", case(crashes, views, total).check::<Sequencer<Unordered>>());
        show("isis", case(crashes, views, total).check::<Isis<Unordered>>());
        let c = case(crashes, views, p);
        show("reliable", Case { plan: Plan { relay: true, ..c.plan.clone() }, ..c }.check::<Unordered>());
    }
}
