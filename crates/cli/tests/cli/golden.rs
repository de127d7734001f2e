//! Complete outputs. `./fix golden` updates them; review the difference like code.

use crate::run::run;
use expect_test::expect;

#[test]
fn list() {
    expect![[r#"
        name                       family    class             messages                       idea
        central                    mutex     centralised       an entry: 3, own 0             one coordinator grants from a queue
        central-deny               mutex     centralised       an entry: 3 + 2/denial, own 0  one coordinator, whose clients ask until it is free
        central-deny-and-queue     mutex     centralised       an entry: 3 or 4, own 0        one coordinator denies at once whom it queues, and grants later
        lamport                    mutex     permission-based  an entry: 3(n−1)               everyone keeps the queue of all requests; the first one enters once nothing older can come
        ricart-agrawala            mutex     permission-based  an entry: 2(n−1)               ask everyone; whoever is older or inside defers the reply
        ricart-agrawala-broadcast  mutex     permission-based  an entry: n                    ricart-agrawala where one request reaches everyone
        ricart-agrawala-ring       mutex     permission-based  an entry: n                    ricart-agrawala whose request goes round a ring, from consent to consent
        ricart-agrawala-implicit   mutex     permission-based  an entry: (n−1)…3(n−1)         ricart-agrawala where silence means consent, if messages are never late
        ricart-agrawala-modulo     mutex     permission-based  an entry: 2(n−1)               ricart-agrawala with numbers modulo 2n−1: finitely many states
        token-ring                 mutex     token-based       an entry: 1…∞, full 1          one token goes round; whoever has it may enter
        token-ring-acknowledged    mutex     token-based       an entry: 1…∞, full 1          a token ring that skips the dead and replaces a lost token, if messages are never late
        token-request              mutex     token-based       an entry: 0 or n               ask everyone for the token, which knows whose requests were answered
        raymond                    mutex     token-based       an entry: ≤ 2D, full ≈ 4       a token on a tree; each node knows in which direction it is
        roucairol-carvalho         mutex     permission-based  an entry: 0…2(n−1)             ricart-agrawala whose permissions last until their giver asks for one
        readers-writers            mutex     permission-based  an entry: 2(n−1)               ricart-agrawala whose readers answer readers at once
        maekawa                    mutex     quorum-based      an entry: ≤5(K−1)              ask a row and a column; younger ones give votes back
        maekawa-plane              mutex     quorum-based      an entry: ≤5(K−1)              ask a line of a projective plane; younger ones give votes back
        voting                     mutex     quorum-based      an entry: 2nk+n                ask all replicas' voters at once; a majority of votes admits, else back off
        voting-sequential          mutex     quorum-based      an entry: 2mk+m                ask the replicas' voters one by one until a majority has voted
        mutex-by-election          mutex     by reduction      an entry: 3n−2 … n(n+1)/2 + 2(n−1)whoever wins an election among those who want in enters
        local                      –         shared memory     an entry: 0                    counter++ beside counter-- in one process, and the locks that end the race
        chang-roberts              election  on a ring         an election: 2n … n(n+1)/2+n   the greatest rank alone comes all the way round
        lelann                     election  on a ring         an election: n²                everyone sends its rank round, and everyone sees them all
        ring-list                  election  on a ring         an election: 2n a starter      one message collects the ranks of all who are up
        hirschberg-sinclair        election  on a ring         an election: ≤ 8n(1+⌈log₂ n⌉)  probes of doubling reach on both sides
        franklin                   election  on a ring         an election: ≤ 2n(⌊log₂ n⌋+1)  rounds of local maxima, heard on both sides
        peterson                   election  on a ring         an election: ≤ 2n⌊log₂ n⌋+n    rounds of local maxima, heard on one side
        bully                      election  among all         an election: n−2 … n²−n−1      ask everyone who ranks higher; whoever meets with silence leads
        invitation                 election  among all         an election: 3(n−1)            groups that meet merge under the higher coordinator; each part of a cut network has its own
        majority-lease             election  by majority       an election: 2(n−1) + (n−1)    a majority of saved votes makes a master for the length of a lease, which it renews
        raft                       election  by majority       an election: 2(n−1) + (n−1)    a majority of saved votes in a term makes a leader
        super-peer                 election  by region         an election: 2 for each of the M−S peers of S super-peersthe first peer of each region of an overlay leads it
        by-mutex                   election  by reduction      an election: 2(n−1) + (n−1)    whoever gets into a critical section leads, and stays inside
        consensus-by-election      election  by reduction      an election: as chang-roberts, + (n−1)what the elected one proposes is decided
        basic                      multicast unordered         a multicast: n−1               the sender sends to all; whoever receives delivers
        reliable                   multicast unordered         a multicast: n(n−1)            whoever receives a message passes it on, so that all get it although its sender dies midway
        fifo                       multicast partial order     a multicast: n−1               numbered messages: what one member sends is delivered in the order in which it was sent
        causal                     multicast partial order     a multicast: n−1               vector clocks: what was said after something was heard is delivered after it
        sequencer                  multicast total order       a multicast: 2(n−1)            one member numbers all messages, and everyone delivers them in that order
        isis                       multicast total order       a multicast: 3(n−1)            everyone proposes a priority, the sender takes the greatest, and all deliver in that order
        fifo-total                 multicast total order       a multicast: 2(n−1)            a sequencer that numbers each sender's messages in the order in which they were sent
        causal-total               multicast total order       a multicast: 2(n−1)            a sequencer that numbers no message before one that its sender had heard
        fifo-isis                  multicast total order       a multicast: 3(n−1)            agreed priorities, proposed for each sender's messages in the order in which they were sent
        causal-isis                multicast total order       a multicast: 3(n−1)            agreed priorities, proposed for no message before one that its sender had heard
        deadlock-and               deadlock  edge chasing      a look: ≤ e (books: m(n−1)/2)  a probe follows those who wait; if it comes back, they wait for each other
        deadlock-or                deadlock  diffusion         a look: ≤ 2e                   whoever waits asks all it waits for whether they wait too; if all reply, nobody can wake it
        deadlock-central           deadlock  central           a look: 1 a change, 2 a site   all sites report to one, which sees the whole graph and asks before it believes
        replica                    replica   replicated log    –                              a leader's log on a majority's disks, and one state machine on all members
        armies                     –         two armies        in total: 3                    two armies agree on who leads the attack, and on when to attack as far as delays are bounded

        quorate explain NAME explains an algorithm; quorate sim NAME runs it.
        quorate list --fixtures lists faulty variants, which are wrong on purpose.
    "#]].assert_eq(&run("list").ok(0));
}

#[test]
fn list_of_fixtures() {
    expect![[r#"
        name                                   family    class             messages                       flaw
        no-lock                                mutex     none              an entry: 0                    two are inside as soon as two want in
        ricart-agrawala-1981                   mutex     permission-based  an entry: 2(n−1)               replies name no request and carry no clock
        ricart-agrawala-clock-only             mutex     permission-based  an entry: 2(n−1)               equal clock readings both go first
        ricart-agrawala-node-only              mutex     permission-based  an entry: 2(n−1)               requests are ordered by node number alone
        ricart-agrawala-first-only             mutex     permission-based  an entry: 2(n−1)               a leave answers only the first one deferred
        central-any-return-ends                mutex     centralised       an entry: 3, own 0             a ticket that comes back ends the entry under way, whoever's it is
        central-deny-and-queue-forgets         mutex     centralised       an entry: 3 or 4, own 0        whoever is denied is not queued, and waits for ever
        lamport-any-order                      mutex     permission-based  an entry: 3(n−1)               its links do not keep the order that it needs
        lamport-crosses-out-first              mutex     permission-based  an entry: 3(n−1)               a release crosses out the first request, whoever's it is
        token-ring-uncancelled                 mutex     token-based       an entry: 1…∞, full 1          the timer of the token's rest goes on while its node is inside, and sends the token away
        token-ring-regenerated                 mutex     token-based       an entry: 1…∞, full 1          one that waits for as long as a round takes makes a new token
        token-request-no-tick                  mutex     token-based       an entry: 0 or n               a request bears the number that the token already has for its node
        raymond-forgets-to-ask                 mutex     token-based       an entry: ≤ 2D, full ≈ 4       one that sends the token away does not ask for it back, though others are queued
        raymond-deaf                           mutex     token-based       an entry: ≤ 2D, full ≈ 4       a request from the direction of the token is ignored
        ricart-agrawala-ring-throws-away       mutex     permission-based  an entry: n                    a request that should be held is lost
        ricart-agrawala-implicit-keeps-silent  mutex     permission-based  an entry: (n−1)…3(n−1)         whoever defers does not say so
        ricart-agrawala-implicit-one-way       mutex     permission-based  an entry: (n−1)…3(n−1)         the wait is as long as a request takes, not as long as an answer to it
        roucairol-carvalho-asks-once           mutex     permission-based  an entry: 0…2(n−1)             whoever lets an older request pass does not ask for the permission that it lost by that
        roucairol-carvalho-any-reply           mutex     permission-based  an entry: 0…2(n−1)             a late reply to a request that was given up counts for the next one
        readers-writers-all-are-readers        mutex     permission-based  an entry: 2(n−1)               every request is taken for that of a reader
        maekawa-plain                          mutex     quorum-based      an entry: 3(K−1)               nodes that have each other's votes wait for each other for ever
        maekawa-plain-plane                    mutex     quorum-based      an entry: 3(K−1)               nodes that have each other's votes wait for each other for ever
        maekawa-1985                           mutex     quorum-based      an entry: ≤5(K−1)              the first in a queue is not told when an older one comes before it
        maekawa-hasty                          mutex     quorum-based      an entry: ≤5(K−1)              a voter inquires, and votes again before it has its vote back
        maekawa-rows                           mutex     quorum-based      an entry: ≤5(K−1)              nodes ask their row of the grid alone, and two rows share no voter
        voting-half                            mutex     quorum-based      an entry: 2nk+n                half of the votes admit, and another node has the other half
        voting-forgetful                       mutex     quorum-based      an entry: 2nk+n                voters forget whom they voted for, as if they had restarted, and vote again
        toy-forgetful                          mutex     centralised       an entry: 3, own 0             the arbiter forgets who is inside, and grants again
        toy-mindful                            mutex     centralised       an entry: 3, own 0             none: the correct twin of toy-forgetful
        toy-embrace                            mutex     permission-based  an entry: 6, voters 3          two can hold a vote each and wait for the other's
        toy-ordered                            mutex     permission-based  an entry: 6, voters 3          none: the correct twin of toy-embrace
        toy-favourite                          mutex     centralised       an entry: 3, own 0             low numbers overtake a high one for ever
        toy-fair                               mutex     centralised       an entry: 3, own 0             none: the correct twin of toy-favourite
        toy-slip                               mutex     centralised       an entry: 3, own 0             of exactly two who wait, one is granted and one forgotten
        toy-tidy                               mutex     centralised       an entry: 3, own 0             none: the correct twin of toy-slip
        toy-lease                              mutex     centralised       an entry: 3, own 0             a lease leaves no margin for clocks that drift
        toy-lease-margin                       mutex     centralised       an entry: 3, own 0             none: the correct twin of toy-lease
        chang-roberts-passes-all               election  on a ring         an election: 2n … n(n+1)/2+n   a node that takes part passes on lesser ranks too, and every starter's comes round
        lelann-any-order                       election  on a ring         an election: n²                a node is done when its own rank is back, though that may have overtaken a greater one
        ring-list-first                        election  on a ring         an election: 2n a starter      a starter takes the first on its list for the winner, which is itself
        hirschberg-sinclair-one-sided          election  on a ring         an election: ≤ 8n(1+⌈log₂ n⌉)  one reply counts for two, though somebody greater may be on the other side
        peterson-any-order                     election  on a ring         an election: ≤ 2n⌊log₂ n⌋+n    its links do not keep the order that it needs
        peterson-forgetful                     election  on a ring         an election: ≤ 2n⌊log₂ n⌋+n    epochs are not saved, and one that boots again elects another leader in an old one
        bully-hasty                            election  among all         an election: n−2 … n²−n−1      a node declares itself as soon as it has asked, and waits for no answer
        bully-unasking                         election  among all         an election: n−2 … n²−n−1      a node that boots again takes over without asking which epochs were used meanwhile
        majority-lease-forgetful               election  by majority       an election: 2(n−1) + (n−1)    a voter that starts again forgets its promise, and votes for another
        majority-lease-trusting                election  by majority       an election: 2(n−1) + (n−1)    a master trusts its lease for all of it, from the arrival of the votes, as if clocks never drifted
        basic-deaf                             multicast unordered         a multicast: n−1               a member delivers what it receives, and what it sends itself it never received
        reliable-unrelayed                     multicast unordered         a multicast: n(n−1)            if the sender dies midway, some deliver its message and others never get it
        fifo-hasty                             multicast partial order     a multicast: n−1               a message that overtakes another is delivered before it
        causal-blind                           multicast partial order     a multicast: n−1               a reply is delivered before what it replies to, if that is somebody else's
        sequencer-hasty                        multicast total order       a multicast: 2(n−1)            a member delivers what it holds, whatever number the sequencer gives it
        isis-hasty                             multicast total order       a multicast: 3(n−1)            a member delivers by its own proposals, before the priorities are agreed
        uniform-hasty                          multicast partial order     a multicast: n−1               a member delivers at once, and if it dies then, nobody else need ever hear the same
        deadlock-and-selfish                   deadlock  edge chasing      a look: ≤ e (books: m(n−1)/2)  two who find the same deadlock both give up, the second one for a phantom
        deadlock-or-forgetful                  deadlock  diffusion         a look: ≤ 2e                   one who has gone on and waits again replies as if it had waited all the time, and a deadlock is told that is none
        deadlock-central-hasty                 deadlock  central           a look: 1 a change, 2 a site   reports take time: it sees waits together that never were together, and takes a phantom for a deadlock
        replica-early-ack                      replica   replicated log    –                              acknowledges what is not on its disk yet, so a crash forgets it
        replica-local-read                     replica   replicated log    –                              answers queries without asking a majority, so they may be stale
        replica-forgotten-vote                 replica   replicated log    –                              does not save for whom it voted, so a restarted voter votes twice
        replica-no-report                      replica   replicated log    –                              never reports a lost snapshot, so a peer that lags stays behind for ever
        replica-applied-twice                  replica   replicated log    –                              applies an entry again after a restart, so its state differs

        quorate explain NAME explains an algorithm; quorate sim NAME runs it.
    "#]].assert_eq(&run("list --fixtures").ok(0));
}

#[test]
fn explain_central() {
    expect![[r#"
        central   A central coordinator (the lock server of every textbook).

        One node keeps the lock. Whoever wants to enter asks it, and it grants one request at a time. The
        coordinator's own requests go the same way and cost no message. If somebody is inside, it has three
        ways to be busy: `block` queues the request in silence, `deny` denies it, so that the client asks
        again later, and `deny-and-queue` denies it now and grants it later, so that the client knows that
        it waits.

        Rules
          CE-1  asked to enter              → take a ticket and send it to the coordinator
          CE-2  a ticket arrives            → grant it if nobody is inside, else queue it
          CE-3  a grant arrives             → enter, if it is for the ticket we wait with
          CE-4  asked to leave              → give the ticket back
          CE-5  a ticket comes back         → if it was granted, grant the next one in the queue; if it was
                                              queued, remove it
          CE-6  asked to give up            → give the ticket back, granted or not; discard a try, and its
                                              grant when it comes
          CE-7  a try finds one inside      → deny it instead of queueing it
          CE-8  denied (deny)               → ask again with the same ticket after a while; every ticket is
                                              sent like a try
          CE-9  queued (deny-and-queue)     → tell the client that it is denied so far; it waits on

        Cost
          3 messages an entry, 0 for the coordinator's own; 2T from asking to entering; 2T from a leave to
          the next entry. With deny, 2 messages more each time that a ticket is denied, and from 2T to 7T
          from a leave to the next entry of the one who waits: at best its ticket arrives right behind the
          release, at worst right before it, and then the denial, a wait of up to 3T, the ticket and the
          grant take 6T. With deny-and-queue, 4 messages where somebody was in the way, else 3.

        Assumes
          No node dies or restarts; every message arrives once, in any order. The queue is in order of
          arrival, which is not happened-before order. With deny there is no queue: whoever asks at the
          right moment is next. A node that asks again in the instant in which it leaves is always first,
          and the others get in once it pauses; where all pause, one can be unlucky for ever only with
          probability 0.

        When it fails
          A dead coordinator stops everyone; one that restarts has forgotten who is inside, and may let a
          second in. A dead holder stops everyone else. A dead waiter stops everyone once its turn comes;
          with deny it stops nobody unless its ticket was just granted. A dead idle node stops nobody. To a
          client a dead coordinator looks like a busy one that blocks; one that denies is heard.

        Try
          Answered within 2T, by a grant or a denial; it is never queued. A try that was given up may still
          be in the way of the same node's next one.

        In views
          A member reports where its user stands, and the coordinator its queue too. The lowest member of
          the new view coordinates: it rebuilds the holder and the queue from the reports, and whoever would
          be denied asks anew.

        Departs from the book
          Tickets are numbered, so that a grant which crosses a cancellation admits nobody and a ticket
          given back before it arrived is never granted.

        Three nodes ask at once; one message time is 1 ms
              time   1  2  3
             0.000  [█] ·  ·   acquire · CE-1 asks with ticket 1/1 · CE-2 grants ticket 1/1 · CE-3 enters with ticket 1/1 · ENTERS (fence 0.1)
             0.000   █ [?] ·   acquire · CE-1 asks with ticket 2/1 · request → 1
             0.000   █  ? [?]  acquire · CE-1 asks with ticket 3/1 · request → 1
             1.000  [█] ?  ?   request from 2 · CE-2 queues ticket 2/1: ticket 1/1 is inside
             1.000  [█] ?  ?   request from 3 · CE-2 queues ticket 3/1: ticket 1/1 is inside
             1.000  [·] ?  ?   release · LEAVES · CE-4 gives ticket 1/1 back · CE-5 has ticket 1/1 back · CE-2 grants ticket 2/1 · grant → 2
             2.000   · [█] ?   grant from 1 · CE-3 enters with ticket 2/1 · ENTERS (fence 0.2)
             3.000   · [·] ?   release · LEAVES · CE-4 gives ticket 2/1 back · release → 1
             4.000  [·] ·  ?   release from 2 · CE-5 has ticket 2/1 back · CE-2 grants ticket 3/1 · grant → 3
             5.000   ·  · [█]  grant from 1 · CE-3 enters with ticket 3/1 · ENTERS (fence 0.3)
             6.000   ·  · [·]  release · LEAVES · CE-4 gives ticket 3/1 back · release → 1
             7.000  [·] ·  ·   release from 3 · CE-5 has ticket 3/1 back; nobody waits
                    · outside   ? waiting   █ inside   ‖ paused   ✗ down   [ ] whose step it is   times in milliseconds

        To run it yourself: quorate sim central --nodes 3 --seed 1 --entries 3 --workload all --latency fixed:1ms --steps
    "#]].assert_eq(&run("explain central").ok(0));
}

#[test]
fn explain_ricart_agrawala() {
    expect![[r#"
        ricart-agrawala   Ricart–Agrawala mutual exclusion (1981).

        Whoever wants to enter asks everyone, with a stamp that says how old the request is. A node that is
        inside, or that asked earlier itself, keeps its answer until it has left; everybody else answers at
        once. Who has all answers has everyone's permission.

        Rules
          RA-1  asked to enter              → stamp a request and send it to every peer
          RA-2  a request arrives           → reply; defer the reply instead if inside, or if ours is older
          RA-3  all replies are in          → enter; a reply counts only if it answers the stamp we wait
                                              with
          RA-4  asked to leave              → reply to everyone deferred
          RA-5  asked to give up            → forget the request and reply to everyone deferred
          RA-6  a try is in our way         → deny it where RA-2 would defer; one denial ends the try like
                                              RA-5

        Cost
          2(n−1) messages an entry; 2T from asking to entering; T from a leave to the next entry. Where one
          message reaches everyone, as on a shared cable (`--requests broadcast`), the requests of an entry
          are one, and it costs n.

        Assumes
          No node dies or restarts; every message arrives once, in any order. Requests are served in
          happened-before order.

        When it fails
          One dead node, even an idle one, stops everyone who asks from then on; nobody else enters wrongly.
          One that restarts has forgotten whom it owes a reply and whom it let pass, and its clock begins
          again, so that its next request looks older than theirs: two may be inside. Lost messages stop
          those who wait for them.

        Try
          Answered within 2T, by the first denial or by all replies.

        In views
          A member reports where its user stands and how old its request is. Whoever is inside defers the
          others as before, and those who wait ask all members of the new view, with new stamps in the old
          order.

        Departs from the paper
          A reply names the request it answers (else the late reply to a cancelled request admits two) and
          carries the clock (else a node that heard of a request can stamp its own as older). Replies also
          carry the largest fence known, from which the next entry's fence follows.

        Three nodes ask at once; one message time is 1 ms
              time   1  2  3
             0.000  [?] ·  ·   acquire · RA-1 asks everyone with (1, 1) · request → 2,3
             0.000   ? [?] ·   acquire · RA-1 asks everyone with (1, 2) · request → 1,3
             0.000   ?  ? [?]  acquire · RA-1 asks everyone with (1, 3) · request → 1,2
             1.000   ? [?] ?   request from 1 · RA-2 lets (1, 1) pass · reply → 1
             1.000   ?  ? [?]  request from 1 · RA-2 lets (1, 1) pass · reply → 1
             1.000  [?] ?  ?   request from 2 · RA-2 defers (1, 2): ours (1, 1) goes first
             1.000   ?  ? [?]  request from 2 · RA-2 lets (1, 2) pass · reply → 2
             1.000  [?] ?  ?   request from 3 · RA-2 defers (1, 3): ours (1, 1) goes first
             1.000   ? [?] ?   request from 3 · RA-2 defers (1, 3): ours (1, 2) goes first
             2.000  [?] ?  ?   reply from 2
             2.000  [█] ?  ?   reply from 3 · RA-3 has every reply to (1, 1) · ENTERS (fence 0.1)
             2.000   █ [?] ?   reply from 3
             3.000  [·] ?  ?   release · LEAVES · RA-4 lets (1, 2) pass at last · reply → 2 · RA-4 lets (1, 3) pass at last · reply → 3
             4.000   · [█] ?   reply from 1 · RA-3 has every reply to (1, 2) · ENTERS (fence 0.2)
             4.000   ·  █ [?]  reply from 1
             5.000   · [·] ?   release · LEAVES · RA-4 lets (1, 3) pass at last · reply → 3
             6.000   ·  · [█]  reply from 2 · RA-3 has every reply to (1, 3) · ENTERS (fence 0.3)
             7.000   ·  · [·]  release · LEAVES
                    · outside   ? waiting   █ inside   ‖ paused   ✗ down   [ ] whose step it is   times in milliseconds

        To run it yourself: quorate sim ricart-agrawala --nodes 3 --seed 1 --entries 3 --workload all --latency fixed:1ms --steps
    "#]].assert_eq(&run("explain ricart-agrawala").ok(0));
}

#[test]
fn demo() {
    let printed = run("").ok(0);
    expect![[r#"
        Quorate simulates, checks, draws and runs algorithms of distributed coordination.

        Three nodes share a resource that only one of them may use at a time. They have no shared memory, only a
        network, and follow the rules of Ricart and Agrawala (quorate explain ricart-agrawala):

              time   1  2  3
             4.862   · [?] ·   acquire · RA-1 asks everyone with (1, 2) · request → 1,3
             4.965   ·  ? [?]  acquire · RA-1 asks everyone with (1, 3) · request → 1,2
             5.862  [·] ?  ?   request from 2 · RA-2 lets (1, 2) pass · reply → 2
             5.862   ·  ? [?]  request from 2 · RA-2 lets (1, 2) pass · reply → 2
             5.965  [·] ?  ?   request from 3 · RA-2 lets (1, 3) pass · reply → 3
             5.965   · [?] ?   request from 3 · RA-2 defers (1, 3): ours (1, 2) goes first
             6.862   · [?] ?   reply from 1
             6.862   · [█] ?   reply from 3 · RA-3 has every reply to (1, 2) · ENTERS (fence 0.1)
             6.965   ·  █ [?]  reply from 1
             7.862   · [·] ?   release · LEAVES · RA-4 lets (1, 3) pass at last · reply → 3
             7.944  [?] ·  ?   acquire · RA-1 asks everyone with (2, 1) · request → 2,3
             8.862   ?  · [█]  reply from 2 · RA-3 has every reply to (1, 3) · ENTERS (fence 0.2)
             8.944   ? [·] █   request from 1 · RA-2 lets (2, 1) pass · reply → 1
             8.944   ?  · [█]  request from 1 · RA-2 defers (2, 1): ours (1, 3) goes first
             9.862   ?  · [·]  release · LEAVES · RA-4 lets (2, 1) pass at last · reply → 1
             9.944  [?] ·  ·   reply from 2
            10.862  [█] ·  ·   reply from 3 · RA-3 has every reply to (2, 1) · ENTERS (fence 0.3)
            11.862  [·] ·  ·   release · LEAVES
            12.315  [?] ·  ·   acquire · RA-1 asks everyone with (3, 1) · request → 2,3
            13.315   ? [·] ·   request from 1 · RA-2 lets (3, 1) pass · reply → 1
            13.315   ?  · [·]  request from 1 · RA-2 lets (3, 1) pass · reply → 1
            14.315  [?] ·  ·   reply from 2
            14.315  [█] ·  ·   reply from 3 · RA-3 has every reply to (3, 1) · ENTERS (fence 0.4)
            15.315  [·] ·  ·   release · LEAVES
            16.748   ·  · [?]  acquire · RA-1 asks everyone with (4, 3) · request → 1,2
            17.493   · [?] ?   acquire · RA-1 asks everyone with (4, 2) · request → 1,3
            17.748  [·] ?  ?   request from 3 · RA-2 lets (4, 3) pass · reply → 3
            17.748   · [?] ?   request from 3 · RA-2 defers (4, 3): ours (4, 2) goes first
            18.493  [·] ?  ?   request from 2 · RA-2 lets (4, 2) pass · reply → 2
            18.493   ·  ? [?]  request from 2 · RA-2 lets (4, 2) pass · reply → 2
            18.748   ·  ? [?]  reply from 1
            19.493   · [?] ?   reply from 1
            19.493   · [█] ?   reply from 3 · RA-3 has every reply to (4, 2) · ENTERS (fence 0.5)
            20.493   · [·] ?   release · LEAVES · RA-4 lets (4, 3) pass at last · reply → 3
            21.493   ·  · [█]  reply from 2 · RA-3 has every reply to (4, 3) · ENTERS (fence 0.6)
            22.493   ·  · [·]  release · LEAVES
                    · outside   ? waiting   █ inside   ‖ paused   ✗ down   [ ] whose step it is   times in milliseconds

                                      measured   expected
          entries                            6
          messages an entry                  4   4 = 2(n−1)
          client delay                     2 T   2T   (1 sample)
          synchronization delay            1 T   T   (2 samples)
          overtaken at most                  1
          out of order                       0   0: happened-before order
          busiest node's share             67%
          messages                          24   12 reply, 12 request
          bytes                            120

          always      exclusion               holds
          always      asked-first             holds
          always      fences-grow             holds
          always      happened-before-order   holds
          always      overtaking-bounded      holds
          eventually  served                  holds
          sometimes   contention              happened

        Next steps   (or cargo run --release -- instead of quorate)
          quorate list                                            all 47 algorithms
          quorate explain central                                 idea, rules, cost, failures
          quorate compare mutex --nodes 4,9,16                    all of them beside the expected figures
          quorate sim central --fault "crash 1 at 40ms"           crash a node
          quorate sweep ricart-agrawala --seeds 10000 --loss 0.1  search ten thousand runs for a failure
          quorate run ricart-agrawala --nodes 5                   the same in real processes
          quorate --help                                          everything else
    "#]]
    .assert_eq(&printed);
    assert_eq!(run("demo").ok(0), printed);
    assert_eq!(run("demo --fast --seed 1").ok(0), printed);
}

#[test]
fn sim_with_steps() {
    let printed = run("sim central --nodes 2 --entries 2 --latency fixed:1ms --workload all --steps").ok(0);
    expect![[r#"
              time   1  2
             0.000  [█] ·   acquire · CE-1 asks with ticket 1/1 · CE-2 grants ticket 1/1 · CE-3 enters with ticket 1/1 · ENTERS (fence 0.1)
             0.000   █ [?]  acquire · CE-1 asks with ticket 2/1 · request → 1
             1.000  [█] ?   request from 2 · CE-2 queues ticket 2/1: ticket 1/1 is inside
             1.000  [·] ?   release · LEAVES · CE-4 gives ticket 1/1 back · CE-5 has ticket 1/1 back · CE-2 grants ticket 2/1 · grant → 2
             2.000   · [█]  grant from 1 · CE-3 enters with ticket 2/1 · ENTERS (fence 0.2)
             3.000   · [·]  release · LEAVES · CE-4 gives ticket 2/1 back · release → 1
             4.000  [·] ·   release from 2 · CE-5 has ticket 2/1 back; nobody waits
                    · outside   ? waiting   █ inside   ‖ paused   ✗ down   [ ] whose step it is   times in milliseconds

        central · 2 nodes · seed 1 · fixed:1ms · bare links

                                      measured   expected
          entries                            2
          messages an entry                  3   3
            the coordinator's own            0   0
          client delay                       –   2T
          synchronization delay              –   2T
          overtaken at most                  0
          out of order                       0   no promise
          busiest node's share            100%
          messages                           3   1 grant, 1 release, 1 request
          bytes                             14

          always      exclusion               holds
          always      asked-first             holds
          always      fences-grow             holds
          always      overtaking-bounded      holds
          eventually  served                  holds
          sometimes   contention              happened

          done at 4ms, 9 events, trace 612f5f02aa123dd8
    "#]].assert_eq(&printed);
}

#[test]
fn sim_with_faults() {
    let printed = run("sim central --fault 'crash 1 at 10ms' --entries 4").ok(1);
    expect![[r#"
        central · 3 nodes · seed 1 · uniform:1ms..5ms · bare links

                                      measured   expected
          entries                            0
          messages an entry                  –   3, own 0
            the coordinator's own            –   0
          client delay                       –   2T
          synchronization delay              –   2T
          overtaken at most                  0
          out of order                       0   no promise
          busiest node's share            100%
          messages                           2   2 request
          bytes                              8

          always      exclusion               holds
          always      asked-first             holds
          always      fences-grow             holds
          always      overtaking-bounded      holds
          eventually  served                  FAILS: at 28.718ms node 2 asked at 24.31ms and is not in at the end, and 1 more wait with it
          sometimes   contention              happened

          stuck at 28.718ms: nothing more can happen; 0 of 4 requests led to an entry, 5 events, trace 42d555a977a53803

        The steps that lead to the violation of 'served':
              time   1  2  3
            10.000   ✗  ·  ·   node 1 crashes
            24.310   ✗ [?] ·   acquire · CE-1 asks with ticket 2/1 · request → 1
            24.828   ✗  ? [?]  acquire · CE-1 asks with ticket 3/1 · request → 1
            26.032   ✗  ?  ?   message 3.1 to 1: its receiver is down
            28.718   ✗  ?  ?   message 2.1 to 1: its receiver is down
                    · outside   ? waiting   █ inside   ‖ paused   ✗ down   [ ] whose step it is   times in milliseconds

        To see it again: quorate sim central --nodes 3 --seed 1 --entries 4 --fault "crash 1 at 10ms"
        To draw it: quorate sim central --nodes 3 --seed 1 --entries 4 --fault "crash 1 at 10ms" --svg broken.svg
        To shrink it: quorate shrink central --nodes 3 --seed 1 --entries 4 --fault "crash 1 at 10ms"
    "#]].assert_eq(&printed);
}

#[test]
fn sim_over_reliable_links() {
    expect![[r#"
        ricart-agrawala · 3 nodes · seed 1 · uniform:1ms..5ms · reliable links

                                      measured   expected
          entries                           10
          messages an entry                  4   4 = 2(n−1)
          client delay                17.01 ms   2T   (3 samples)
          synchronization delay        2.05 ms   T   (2 samples)
          overtaken at most                  1
          out of order                       0   0: happened-before order
          busiest node's share             70%
          messages                          40   20 reply, 20 request
          bytes                            440
          control messages                  60   326 bytes of acknowledgements and repetitions

          always      exclusion               holds
          always      asked-first             holds
          always      fences-grow             holds
          always      happened-before-order   holds
          eventually  served                  holds
          sometimes   contention              happened

          done at 255.351ms, 129 events, trace 69bc29536fe21d53
    "#]]
    .assert_eq(&run("sim ricart-agrawala --loss 0.1 --duplicate 10%").ok(0));
}

#[test]
fn sweep() {
    let printed = run("sweep ricart-agrawala-clock-only --nodes 2 --entries 2 --seeds 40").ok(1);
    let (begin, end) = printed.split_once(" events in ").unwrap();
    let end = end.split_once(" s\n").unwrap().1;
    expect![[r#"
        ricart-agrawala-clock-only · 2 nodes · 10 seeds from 1 · 100 events in … s

          always      exclusion               FAILS with 1 of 10 seeds
          always      asked-first             holds with every seed
          always      happened-before-order   holds with every seed
          eventually  served                  holds with every seed
          sometimes   contention              happened with 6 of 10 seeds

        With seed 10, 'exclusion' fails: node 2 entered while node 1 was inside.

        The steps that lead to the violation of 'exclusion':
              time   1  2
             4.831  [?] ·   acquire · RA-1 asks everyone with (1, 1) · request → 2
             7.584   ? [?]  acquire · RA-1 asks everyone with (1, 2) · request → 1
             9.761   ? [?]  request from 1 · RA-2 lets (1, 1) pass · reply → 1
            12.476  [?] ?   request from 2 · RA-2 lets (1, 2) pass · reply → 2
            12.955  [█] ?   reply from 2 · RA-3 has every reply · ENTERS (fence 0.0)
            16.778   █ [█]  reply from 1 · RA-3 has every reply · ENTERS (fence 0.0)
                    · outside   ? waiting   █ inside   ‖ paused   ✗ down   [ ] whose step it is   times in milliseconds

        To see it again: quorate sim ricart-agrawala-clock-only --nodes 2 --seed 10 --entries 2
        To draw it: quorate sim ricart-agrawala-clock-only --nodes 2 --seed 10 --entries 2 --svg broken.svg
        To shrink it: quorate shrink ricart-agrawala-clock-only --nodes 2 --seed 10 --entries 2
        The sweep stops at the first failure; --keep-going counts all failures.
    "#]]
    .assert_eq(&format!("{begin} events in … s\n{end}"));
}
