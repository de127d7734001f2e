//! Complete outputs. `./fix golden` updates them; review the difference like code.

use crate::run::run;
use expect_test::expect;

#[test]
fn list_prints_all_algorithms() {
    expect![[r#"
        name                       family     class             messages                                                    idea
        central                    mutex      centralised       per entry: 3, own 0                                         one coordinator grants from a queue
        central-deny               mutex      centralised       per entry: 3 + 2/denial, own 0                              one coordinator denies while busy; nodes retry until it grants
        central-deny-and-queue     mutex      centralised       per entry: 3 or 4, own 0                                    one coordinator denies and queues while busy, and grants later
        lamport                    mutex      permission-based  per entry: 3(n−1)                                           all nodes keep the queue of all requests; the first enters once no older one can arrive
        ricart-agrawala            mutex      permission-based  per entry: 2(n−1)                                           ask all nodes; the holder and nodes with older requests defer their replies
        ricart-agrawala-broadcast  mutex      permission-based  per entry: n                                                ricart-agrawala where one request message reaches all nodes
        ricart-agrawala-ring       mutex      permission-based  per entry: n                                                ricart-agrawala whose request goes round a ring; each node passes it on when it consents
        ricart-agrawala-implicit   mutex      permission-based  per entry: (n−1)…3(n−1)                                     ricart-agrawala where silence means consent, if messages are never late
        ricart-agrawala-modulo     mutex      permission-based  per entry: 2(n−1)                                           ricart-agrawala with numbers modulo 2n−1: finitely many states
        token-ring                 mutex      token-based       per entry: 1…∞, full load 1                                 one token goes round a ring; its holder may enter
        token-ring-acknowledged    mutex      token-based       per entry: 1…∞, full load 1                                 a token ring that skips crashed nodes and replaces a lost token, if messages are never late
        token-request              mutex      token-based       per entry: 0 or n                                           ask all nodes for the token, which records the answered requests
        raymond                    mutex      token-based       per entry: ≤ 2D, full load ≈ 4                              a token on a tree; each node knows in which direction the token is
        roucairol-carvalho         mutex      permission-based  per entry: 0…2(n−1)                                         ricart-agrawala whose permissions last until their giver requests entry
        readers-writers            mutex      permission-based  per entry: 2(n−1)                                           ricart-agrawala whose readers reply to readers at once
        maekawa                    mutex      quorum-based      per entry: ≤5(K−1)                                          ask a row and a column; younger requests return votes
        maekawa-plane              mutex      quorum-based      per entry: ≤5(K−1)                                          ask a line of a projective plane; younger requests return votes
        voting                     mutex      quorum-based      per entry: 2nk+n                                            ask all replicas' voters at once; a majority of votes admits, else back off
        voting-sequential          mutex      quorum-based      per entry: 2mk+m                                            ask the replicas' voters one by one until a majority has voted
        mutex-by-election          mutex      by reduction      per entry: 3n−2 … n(n+1)/2 + 2(n−1)                         nodes that want to enter elect one of them, which enters
        local                      –          shared memory     per entry: 0                                                counter++ concurrent with counter-- in one process, and the locks that end the race
        chang-roberts              election   on a ring         per election: 2n … n(n+1)/2+n                               only the greatest rank comes all the way around
        lelann                     election   on a ring         per election: n²                                            every node sends its rank around, and every node sees all ranks
        ring-list                  election   on a ring         per election: 2n per starter                                one message collects the ranks of all nodes that are up
        hirschberg-sinclair        election   on a ring         per election: ≤ 8n(1+⌈log₂ n⌉)                              probes on both sides whose reach doubles
        franklin                   election   on a ring         per election: ≤ 2n(⌊log₂ n⌋+1)                              in each round, local maxima among both neighbours remain
        peterson                   election   on a ring         per election: ≤ 2n⌊log₂ n⌋+n                                in each round, local maxima among two predecessors remain
        bully                      election   among all         per election: n−2 … n²−n−1                                  ask all nodes of higher rank; lead if none of them answers
        invitation                 election   among all         per election: 3(n−1)                                        groups merge under the higher coordinator; each side of a partition has its own
        majority-lease             election   by majority       per election: 2(n−1) + (n−1)                                a majority of saved votes makes a leader for one lease, which it renews
        raft                       election   by majority       per election: 2(n−1) + (n−1)                                a majority of saved votes in a term makes a leader
        super-peer                 election   by region         per election: 2 for each of the M−S peers of S super-peers  the first peer of each region of an overlay leads it
        by-mutex                   election   by reduction      per election: 2(n−1) + (n−1)                                the node in a critical section leads for as long as it stays there
        consensus-by-election      election   by reduction      per election: as chang-roberts, + (n−1)                     the group decides what the elected node proposes
        basic                      multicast  unordered         per multicast: n−1                                          the sender sends to all members, and each delivers at once
        reliable                   multicast  unordered         per multicast: n(n−1)                                       members relay each message, so that all get it even if its sender crashes while sending
        fifo                       multicast  partial order     per multicast: n−1                                          numbered messages: members deliver each sender's messages in sending order
        causal                     multicast  partial order     per multicast: n−1                                          vector clocks: members deliver a message after all that its sender had delivered
        sequencer                  multicast  total order       per multicast: 2(n−1)                                       one member numbers all messages, and all members deliver them in that order
        isis                       multicast  total order       per multicast: 3(n−1)                                       all members propose a priority, the sender takes the greatest, and all deliver in that order
        fifo-total                 multicast  total order       per multicast: 2(n−1)                                       a sequencer that numbers each sender's messages in the order in which they were sent
        causal-total               multicast  total order       per multicast: 2(n−1)                                       a sequencer that numbers a message after all that its sender had delivered
        fifo-isis                  multicast  total order       per multicast: 3(n−1)                                       agreed priorities, proposed for each sender's messages in the order in which they were sent
        causal-isis                multicast  total order       per multicast: 3(n−1)                                       agreed priorities, proposed for a message after all that its sender had delivered
        deadlock-and               deadlock   edge chasing      per detection: ≤ e (textbooks: m(n−1)/2)                    a probe follows the waits; if it returns, they form a cycle
        deadlock-or                deadlock   diffusion         per detection: ≤ 2e                                         a waiting agent asks all it waits for whether they wait too; if all reply, none can answer it
        deadlock-central           deadlock   central           per detection: 1 per change, 2 per site                     all sites report to one detector, which searches the whole graph and confirms what it finds
        replica                    replica    replicated log    –                                                           a leader's log on the disks of a majority, and the same state machine on all members
        armies                     –          two armies        in total: 3                                                 two armies agree on who leads the attack and, if delays are bounded, on when to attack

        n: nodes   own: an entry of the coordinator   voters: an entry of a voter   full load: an entry when all nodes request   e: waits between sites   other letters: see 'quorate explain NAME'
        'quorate explain NAME' explains an algorithm; 'quorate sim NAME' runs it.
        'quorate list --fixtures' lists faulty variants, which are wrong on purpose.
    "#]].assert_eq(&run("list").exits(0));
}

#[test]
fn list_prints_all_fixtures() {
    expect![[r#"
        name                                   family     class             messages                                  flaw
        no-lock                                mutex      none              per entry: 0                              two nodes that ask at the same time both enter
        ricart-agrawala-1981                   mutex      permission-based  per entry: 2(n−1)                         replies name no request and carry no clock
        ricart-agrawala-clock-only             mutex      permission-based  per entry: 2(n−1)                         of two nodes with equal clock readings, each lets the other go first
        ricart-agrawala-node-only              mutex      permission-based  per entry: 2(n−1)                         requests are ordered by node number alone
        ricart-agrawala-first-only             mutex      permission-based  per entry: 2(n−1)                         a release answers only one of the deferred requests
        central-any-return-ends                mutex      centralised       per entry: 3, own 0                       a returned ticket ends the current entry, whichever node it belongs to
        central-deny-and-queue-forgets         mutex      centralised       per entry: 3 or 4, own 0                  the coordinator does not queue a node that it denies, and the node waits forever
        lamport-any-order                      mutex      permission-based  per entry: 3(n−1)                         the algorithm needs FIFO links, but its links reorder messages
        lamport-crosses-out-first              mutex      permission-based  per entry: 3(n−1)                         a release removes the first request, whichever other node it belongs to
        token-ring-uncancelled                 mutex      token-based       per entry: 1…∞, full load 1               the timer of a resting token fires during an entry, and the node passes the token on
        token-ring-regenerated                 mutex      token-based       per entry: 1…∞, full load 1               a node that waits for as long as a round takes creates a new token
        token-request-no-tick                  mutex      token-based       per entry: 0 or n                         a request carries the number that the token already has for its node
        raymond-forgets-to-ask                 mutex      token-based       per entry: ≤ 2D, full load ≈ 4            a node that sends the token away does not request it back, although others are queued
        raymond-deaf                           mutex      token-based       per entry: ≤ 2D, full load ≈ 4            a node ignores a request from the direction of the token
        ricart-agrawala-ring-throws-away       mutex      permission-based  per entry: n                              a node drops a request that it should hold
        ricart-agrawala-implicit-keeps-silent  mutex      permission-based  per entry: (n−1)…3(n−1)                   a node that defers a request sends no message
        ricart-agrawala-implicit-one-way       mutex      permission-based  per entry: (n−1)…3(n−1)                   the timeout covers a request, but not the answer to it
        roucairol-carvalho-asks-once           mutex      permission-based  per entry: 0…2(n−1)                       a node that replies to an older request does not request the permission that it lost
        roucairol-carvalho-any-reply           mutex      permission-based  per entry: 0…2(n−1)                       a late reply to a cancelled request counts for the next one
        readers-writers-all-are-readers        mutex      permission-based  per entry: 2(n−1)                         nodes treat every request as that of a reader
        maekawa-plain                          mutex      quorum-based      per entry: 3(K−1)                         nodes that hold each other's votes deadlock
        maekawa-plain-plane                    mutex      quorum-based      per entry: 3(K−1)                         nodes that hold each other's votes deadlock
        maekawa-1985                           mutex      quorum-based      per entry: ≤5(K−1)                        a voter does not notify the first request in its queue when an older one arrives
        maekawa-hasty                          mutex      quorum-based      per entry: ≤5(K−1)                        a voter inquires, and votes again before its vote is returned
        maekawa-rows                           mutex      quorum-based      per entry: ≤5(K−1)                        nodes ask only the row of their grid position, and two rows share no voter
        voting-half                            mutex      quorum-based      per entry: 2nk+n                          half of the votes suffice, and another node may have the other half
        voting-forgetful                       mutex      quorum-based      per entry: 2nk+n                          voters forget their votes, as if they had restarted, and vote again
        toy-forgetful                          mutex      centralised       per entry: 3, own 0                       the arbiter forgets its grant, and grants another node entry
        toy-mindful                            mutex      centralised       per entry: 3, own 0                       none: the correct twin of toy-forgetful
        toy-embrace                            mutex      permission-based  per entry: 6, voters 3                    two nodes can hold a vote each and wait for the other's
        toy-ordered                            mutex      permission-based  per entry: 6, voters 3                    none: the correct twin of toy-embrace
        toy-favourite                          mutex      centralised       per entry: 3, own 0                       nodes with low numbers overtake one with a high number forever
        toy-fair                               mutex      centralised       per entry: 3, own 0                       none: the correct twin of toy-favourite
        toy-slip                               mutex      centralised       per entry: 3, own 0                       of exactly two waiting nodes, the arbiter grants entry to one and forgets the other
        toy-tidy                               mutex      centralised       per entry: 3, own 0                       none: the correct twin of toy-slip
        toy-lease                              mutex      centralised       per entry: 3, own 0                       a lease leaves no margin for clocks that drift
        toy-lease-margin                       mutex      centralised       per entry: 3, own 0                       none: the correct twin of toy-lease
        chang-roberts-passes-all               election   on a ring         per election: 2n … n(n+1)/2+n             a node that takes part passes on lesser ranks too, so more than one rank may come around
        lelann-any-order                       election   on a ring         per election: n²                          a node decides when its own rank returns, although that may have overtaken a greater one
        ring-list-first                        election   on a ring         per election: 2n per starter              a starter takes the first rank on its list, its own, as the winner
        hirschberg-sinclair-one-sided          election   on a ring         per election: ≤ 8n(1+⌈log₂ n⌉)            one reply counts for two, although a greater node may be on the other side
        peterson-any-order                     election   on a ring         per election: ≤ 2n⌊log₂ n⌋+n              the algorithm needs FIFO links, but its links reorder messages
        peterson-forgetful                     election   on a ring         per election: ≤ 2n⌊log₂ n⌋+n              nodes do not save epochs, so a node that restarts elects another leader in an old epoch
        bully-hasty                            election   among all         per election: n−2 … n²−n−1                a node declares itself the leader as soon as it has asked the higher nodes, and waits for no answer
        bully-unasking                         election   among all         per election: n−2 … n²−n−1                a node that restarts takes over without asking which epochs were used meanwhile
        majority-lease-forgetful               election   by majority       per election: 2(n−1) + (n−1)              a voter that restarts forgets its promise, and votes for another node
        majority-lease-trusting                election   by majority       per election: 2(n−1) + (n−1)              a leader counts its full lease from the arrival of the votes, so it outlasts the voters' promises
        basic-deaf                             multicast  unordered         per multicast: n−1                        a member delivers the messages of others, but never its own
        reliable-unrelayed                     multicast  unordered         per multicast: n(n−1)                     if the sender crashes while sending, some members deliver its message and others never get it
        fifo-hasty                             multicast  partial order     per multicast: n−1                        a message that overtakes another is delivered before it
        causal-blind                           multicast  partial order     per multicast: n−1                        a reply to another member's message may be delivered before that message
        sequencer-hasty                        multicast  total order       per multicast: 2(n−1)                     a member delivers messages before it knows their numbers
        isis-hasty                             multicast  total order       per multicast: 3(n−1)                     a member delivers by its own proposals, before the priorities are agreed
        uniform-hasty                          multicast  partial order     per multicast: n−1                        a member delivers at once; if it then crashes, perhaps no other member ever delivers the message
        deadlock-and-selfish                   deadlock   edge chasing      per detection: ≤ e (textbooks: m(n−1)/2)  two processes that find the same deadlock both abort, the second one for a phantom
        deadlock-or-forgetful                  deadlock   diffusion         per detection: ≤ 2e                       a process that continued and waits again replies as if it had waited all the time, and the detector reports a phantom deadlock
        deadlock-central-hasty                 deadlock   central           per detection: 1 per change, 2 per site   reports take time: the detector combines waits that never existed at the same time, and reports a phantom deadlock
        replica-early-ack                      replica    replicated log    –                                         a replica acknowledges entries that are not on its disk yet, so a crash loses them
        replica-local-read                     replica    replicated log    –                                         a replica answers queries without asking a majority, so answers may be stale
        replica-forgotten-vote                 replica    replicated log    –                                         a replica does not save its vote, so a restarted voter can vote twice
        replica-no-report                      replica    replicated log    –                                         a replica never reports a lost snapshot, so a lagging peer never catches up
        replica-applied-twice                  replica    replicated log    –                                         a replica applies an entry again after a restart, so its state diverges
        replica-lost-outcome                   replica    replicated log    –                                         a replica to which a session moves does not report what the session missed
        replica-forwarded-twice                replica    replicated log    –                                         a leader renumbers forwarded requests, so one that is sent again is executed again
        replica-too-new                        replica    replicated log    –                                         a leader proposes commands that a member of an older release cannot read
        replica-long-lease                     replica    replicated log    –                                         a leader's clock is 70 % slow, so its lease outlasts the promises of its followers

        n: nodes   own: an entry of the coordinator   voters: an entry of a voter   full load: an entry when all nodes request   e: waits between sites   other letters: see 'quorate explain NAME'
        'quorate explain NAME' explains an algorithm; 'quorate sim NAME' runs it.
    "#]].assert_eq(&run("list --fixtures").exits(0));
}

#[test]
fn explain_prints_central() {
    expect![[r#"
        central   A central coordinator (the lock server of every textbook).

        One node manages the lock. A node that wants to enter sends it a numbered request, its ticket, and
        it grants one ticket at a time. The coordinator's own requests take the same path without messages.
        If the critical section is occupied, the coordinator has three ways to answer: `block` queues the
        request without an answer, `deny` denies it, so that the requester retries later, and
        `deny-and-queue` denies it now and grants it later, so the requester knows that it waits.

        Rules
          CE-1  the client asks to enter    → take a ticket and send it to the coordinator
          CE-2  a ticket arrives            → grant it if no ticket is granted, else queue it
          CE-3  a grant arrives             → enter, if it is for our pending ticket
          CE-4  the client releases         → return the ticket
          CE-5  a ticket is returned        → if it was granted, grant the next one in the queue; if it was
                                              queued, remove it
          CE-6  the client cancels          → return the ticket, granted or not; a try is answered soon, so
                                              return only its grant, if one arrives
          CE-7  a try arrives while another ticket is granted
                                            → deny it instead of queueing it
          CE-8  denied (deny)               → retry with the same ticket after a delay; we send every ticket
                                              as a try
          CE-9  queued (deny-and-queue)     → send a denial to the requester, which continues to wait

        Cost
          3 messages per entry, 0 for the coordinator's own; 2T (two message times) from request to entry;
          2T from a release to the next entry. With deny, 2 more messages for each denial, and 2T to 7T from
          a release to the next entry of the waiting node. The release message takes T. At best the ticket
          arrives right after it, and the grant takes T. At worst the ticket arrives right before it; then
          the denial, a delay of up to 3T, the ticket and the grant take 6T. With deny-and-queue, 4 messages
          if the ticket was queued, else 3.

        Assumes
          No node crashes or restarts; every message arrives once, in any order. The queue is in order of
          arrival, which is not happened-before order. With deny there is no queue: the first ticket to
          arrive after a release is granted. If all messages take the same time, a node that requests again
          in the instant of its release wins again, and the others enter once it pauses between two
          requests. If all nodes pause between requests, a node waits forever only with probability 0.

        When it fails
          A crashed coordinator blocks all nodes; a restarted one has forgotten the holder and may grant a
          second entry. A crashed holder blocks all other nodes. A crashed waiter blocks all nodes once its
          turn comes; with deny it blocks them only if its ticket was just granted. A crashed idle node
          blocks no other. To a requester, a crashed coordinator looks like a busy one that blocks; a
          coordinator that denies shows that it is alive.

        Try
          The coordinator answers within 2T with a grant or a denial; it never queues a try. Until the grant
          of a cancelled try is returned, the coordinator denies the same node's next try.

        In views
          A member reports the state of its client, and the coordinator also reports its queue. The lowest
          member of the new view coordinates: it rebuilds the holder and the queue from the reports. Nodes
          whose requests are not queued repeat them.

        Departs from the textbook
          Tickets are numbered, so that a node recognises a grant that crosses a cancellation, and the
          coordinator never grants a ticket that was returned before it arrived.

        Three nodes request entry at once; one message time is 1 ms
              time   1  2  3
             0.000  [█] ·  ·   acquire · CE-1 requests entry with ticket 1/1 · CE-2 grants ticket 1/1 · CE-3 enters with ticket 1/1 · ENTERS (fence 0.1)
             0.000   █ [?] ·   acquire · CE-1 requests entry with ticket 2/1 · request → 1
             0.000   █  ? [?]  acquire · CE-1 requests entry with ticket 3/1 · request → 1
             1.000  [█] ?  ?   request from 2 · CE-2 queues ticket 2/1: ticket 1/1 is granted
             1.000  [█] ?  ?   request from 3 · CE-2 queues ticket 3/1: ticket 1/1 is granted
             1.000  [·] ?  ?   release · LEAVES · CE-4 returns ticket 1/1 · CE-5 receives ticket 1/1 back · CE-2 grants ticket 2/1 · grant → 2
             2.000   · [█] ?   grant from 1 · CE-3 enters with ticket 2/1 · ENTERS (fence 0.2)
             3.000   · [·] ?   release · LEAVES · CE-4 returns ticket 2/1 · release → 1
             4.000  [·] ·  ?   release from 2 · CE-5 receives ticket 2/1 back · CE-2 grants ticket 3/1 · grant → 3
             5.000   ·  · [█]  grant from 1 · CE-3 enters with ticket 3/1 · ENTERS (fence 0.3)
             6.000   ·  · [·]  release · LEAVES · CE-4 returns ticket 3/1 · release → 1
             7.000  [·] ·  ·   release from 3 · CE-5 receives ticket 3/1 back; the queue is empty
                    · idle   ? waiting   █ in the critical section   ‖ paused   ✗ down   [ ] acting node   times in milliseconds

        To run it yourself: quorate sim central --nodes 3 --seed 1 --entries 3 --workload all --latency fixed:1ms --steps
    "#]].assert_eq(&run("explain central").exits(0));
}

#[test]
fn explain_prints_ricart_agrawala() {
    expect![[r#"
        ricart-agrawala   Ricart–Agrawala mutual exclusion (1981).

        A node that wants to enter asks all others, with a stamp that gives the age of the request. A node
        that is in the critical section, or that asked earlier itself, holds back its reply until it has
        released; all other nodes reply at once. A node with all replies has the permission of all.

        Rules
          RA-1  the client asks to enter    → stamp a request and send it to every peer
          RA-2  a request arrives           → reply; defer the reply instead if we are in the critical
                                              section, or if ours is older
          RA-3  all replies have arrived    → enter; a reply counts only if it answers our pending request
          RA-4  the client releases         → send all deferred replies
          RA-5  the client cancels          → forget the request and send all deferred replies
          RA-6  a try conflicts with ours   → deny it where RA-2 would defer; one denial ends the try like
                                              RA-5

        Cost
          2(n−1) messages per entry; 2T (two message times) from request to entry; T from a release to the
          next entry. If one message reaches all nodes, as on a shared cable (`--requests broadcast`), a
          request is one message, and an entry costs n.

        Assumes
          No node crashes or restarts; every message arrives once, in any order. Requests are granted in
          happened-before order.

        When it fails
          One crashed node, even an idle one, blocks all later requests; no other node enters wrongly. A
          restarted node has forgotten which replies it deferred and sent, and its clock starts again, so
          its next request looks older than the pending ones: two nodes may enter. Lost messages block the
          nodes that wait for them.

        Try
          Decided within 2T, by the first denial or by all replies.

        In views
          A member reports the state of its client and the age of its request. The node in the critical
          section defers the others as before, and waiting nodes ask all members of the new view, with new
          stamps in the old order.

        Departs from the paper
          A reply names the request it answers (else the late reply to a cancelled request admits two nodes)
          and carries the clock (else a node that knows of a request through a reply can stamp its own as
          older). Replies also carry the largest known fence, from which the next entry's fence follows.

        Three nodes request entry at once; one message time is 1 ms
              time   1  2  3
             0.000  [?] ·  ·   acquire · RA-1 requests entry with (1, 1) · request → 2,3
             0.000   ? [?] ·   acquire · RA-1 requests entry with (1, 2) · request → 1,3
             0.000   ?  ? [?]  acquire · RA-1 requests entry with (1, 3) · request → 1,2
             1.000   ? [?] ?   request from 1 · RA-2 replies to (1, 1) · reply → 1
             1.000   ?  ? [?]  request from 1 · RA-2 replies to (1, 1) · reply → 1
             1.000  [?] ?  ?   request from 2 · RA-2 defers (1, 2): ours (1, 1) goes first
             1.000   ?  ? [?]  request from 2 · RA-2 replies to (1, 2) · reply → 2
             1.000  [?] ?  ?   request from 3 · RA-2 defers (1, 3): ours (1, 1) goes first
             1.000   ? [?] ?   request from 3 · RA-2 defers (1, 3): ours (1, 2) goes first
             2.000  [?] ?  ?   reply from 2
             2.000  [█] ?  ?   reply from 3 · RA-3 has every reply to (1, 1) · ENTERS (fence 0.1)
             2.000   █ [?] ?   reply from 3
             3.000  [·] ?  ?   release · LEAVES · RA-4 sends its deferred reply to (1, 2) · reply → 2 · RA-4 sends its deferred reply to (1, 3) · reply → 3
             4.000   · [█] ?   reply from 1 · RA-3 has every reply to (1, 2) · ENTERS (fence 0.2)
             4.000   ·  █ [?]  reply from 1
             5.000   · [·] ?   release · LEAVES · RA-4 sends its deferred reply to (1, 3) · reply → 3
             6.000   ·  · [█]  reply from 2 · RA-3 has every reply to (1, 3) · ENTERS (fence 0.3)
             7.000   ·  · [·]  release · LEAVES
                    · idle   ? waiting   █ in the critical section   ‖ paused   ✗ down   [ ] acting node   times in milliseconds

        To run it yourself: quorate sim ricart-agrawala --nodes 3 --seed 1 --entries 3 --workload all --latency fixed:1ms --steps
    "#]].assert_eq(&run("explain ricart-agrawala").exits(0));
}

#[test]
fn demo_prints_the_same_run_every_time() {
    let printed = run("").exits(0);
    expect![[r#"
        Quorate simulates, checks, draws and runs algorithms of distributed coordination.

        Three nodes share a resource that only one of them may use at a time. They have no shared memory, only a
        network, and follow the rules of Ricart and Agrawala (quorate explain ricart-agrawala):

              time   1  2  3
             4.862   · [?] ·   acquire · RA-1 requests entry with (1, 2) · request → 1,3
             4.965   ·  ? [?]  acquire · RA-1 requests entry with (1, 3) · request → 1,2
             5.862  [·] ?  ?   request from 2 · RA-2 replies to (1, 2) · reply → 2
             5.862   ·  ? [?]  request from 2 · RA-2 replies to (1, 2) · reply → 2
             5.965  [·] ?  ?   request from 3 · RA-2 replies to (1, 3) · reply → 3
             5.965   · [?] ?   request from 3 · RA-2 defers (1, 3): ours (1, 2) goes first
             6.862   · [?] ?   reply from 1
             6.862   · [█] ?   reply from 3 · RA-3 has every reply to (1, 2) · ENTERS (fence 0.1)
             6.965   ·  █ [?]  reply from 1
             7.862   · [·] ?   release · LEAVES · RA-4 sends its deferred reply to (1, 3) · reply → 3
             7.944  [?] ·  ?   acquire · RA-1 requests entry with (2, 1) · request → 2,3
             8.862   ?  · [█]  reply from 2 · RA-3 has every reply to (1, 3) · ENTERS (fence 0.2)
             8.944   ? [·] █   request from 1 · RA-2 replies to (2, 1) · reply → 1
             8.944   ?  · [█]  request from 1 · RA-2 defers (2, 1): ours (1, 3) goes first
             9.862   ?  · [·]  release · LEAVES · RA-4 sends its deferred reply to (2, 1) · reply → 1
             9.944  [?] ·  ·   reply from 2
            10.862  [█] ·  ·   reply from 3 · RA-3 has every reply to (2, 1) · ENTERS (fence 0.3)
            11.862  [·] ·  ·   release · LEAVES
            12.315  [?] ·  ·   acquire · RA-1 requests entry with (3, 1) · request → 2,3
            13.315   ? [·] ·   request from 1 · RA-2 replies to (3, 1) · reply → 1
            13.315   ?  · [·]  request from 1 · RA-2 replies to (3, 1) · reply → 1
            14.315  [?] ·  ·   reply from 2
            14.315  [█] ·  ·   reply from 3 · RA-3 has every reply to (3, 1) · ENTERS (fence 0.4)
            15.315  [·] ·  ·   release · LEAVES
            16.748   ·  · [?]  acquire · RA-1 requests entry with (4, 3) · request → 1,2
            17.493   · [?] ?   acquire · RA-1 requests entry with (4, 2) · request → 1,3
            17.748  [·] ?  ?   request from 3 · RA-2 replies to (4, 3) · reply → 3
            17.748   · [?] ?   request from 3 · RA-2 defers (4, 3): ours (4, 2) goes first
            18.493  [·] ?  ?   request from 2 · RA-2 replies to (4, 2) · reply → 2
            18.493   ·  ? [?]  request from 2 · RA-2 replies to (4, 2) · reply → 2
            18.748   ·  ? [?]  reply from 1
            19.493   · [?] ?   reply from 1
            19.493   · [█] ?   reply from 3 · RA-3 has every reply to (4, 2) · ENTERS (fence 0.5)
            20.493   · [·] ?   release · LEAVES · RA-4 sends its deferred reply to (4, 3) · reply → 3
            21.493   ·  · [█]  reply from 2 · RA-3 has every reply to (4, 3) · ENTERS (fence 0.6)
            22.493   ·  · [·]  release · LEAVES
                    · idle   ? waiting   █ in the critical section   ‖ paused   ✗ down   [ ] acting node   times in milliseconds

                                      measured   expected
          entries                            6
          messages per entry                 4   4 = 2(n−1)
          client delay                     2 T   2T   (1 sample)
          synchronization delay            1 T   T   (2 samples)
          most overtaken                     1
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
          quorate list                                            all algorithms, with their message costs
          quorate explain central                                 idea, rules, cost, failures
          quorate compare mutex --nodes 4,9,16                    mutual exclusion beside the expected figures
          quorate sim central --fault "crash 1 at 40ms"           crash a node
          quorate sweep ricart-agrawala --seeds 10000 --loss 0.1  search ten thousand runs for a failure
          quorate run ricart-agrawala --nodes 5                   the same in real processes
          quorate --help                                          everything else
    "#]]
    .assert_eq(&printed);
    assert_eq!(run("demo").exits(0), printed);
    assert_eq!(run("demo --fast --seed 1").exits(0), printed);
}

#[test]
fn sim_prints_steps_and_figures() {
    let printed = run("sim central --nodes 2 --entries 2 --latency fixed:1ms --workload all --steps").exits(0);
    expect![[r#"
              time   1  2
             0.000  [█] ·   acquire · CE-1 requests entry with ticket 1/1 · CE-2 grants ticket 1/1 · CE-3 enters with ticket 1/1 · ENTERS (fence 0.1)
             0.000   █ [?]  acquire · CE-1 requests entry with ticket 2/1 · request → 1
             1.000  [█] ?   request from 2 · CE-2 queues ticket 2/1: ticket 1/1 is granted
             1.000  [·] ?   release · LEAVES · CE-4 returns ticket 1/1 · CE-5 receives ticket 1/1 back · CE-2 grants ticket 2/1 · grant → 2
             2.000   · [█]  grant from 1 · CE-3 enters with ticket 2/1 · ENTERS (fence 0.2)
             3.000   · [·]  release · LEAVES · CE-4 returns ticket 2/1 · release → 1
             4.000  [·] ·   release from 2 · CE-5 receives ticket 2/1 back; the queue is empty
                    · idle   ? waiting   █ in the critical section   ‖ paused   ✗ down   [ ] acting node   times in milliseconds

        central · 2 nodes · seed 1 · fixed:1ms · bare links

                                      measured   expected
          entries                            2
          messages per entry                 3   3
            the coordinator's own            0   0
          client delay                       –   2T
          synchronization delay              –   2T
          most overtaken                     0
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

          done at 4ms, 9 events, trace 6946c8e2385ed3d5
    "#]].assert_eq(&printed);
}

#[test]
fn sim_prints_the_steps_to_a_violation() {
    let printed = run("sim central --fault 'crash 1 at 10ms' --entries 4").exits(1);
    expect![[r#"
        central · 3 nodes · seed 1 · uniform:1ms..5ms · bare links

                                      measured   expected
          entries                            0
          messages per entry                 –   3, own 0
            the coordinator's own            –   0
          client delay                       –   2T
          synchronization delay              –   2T
          most overtaken                     0
          out of order                       0   no promise
          busiest node's share            100%
          messages                           2   2 request
          bytes                              8

          always      exclusion               holds
          always      asked-first             holds
          always      fences-grow             holds
          always      overtaking-bounded      holds
          eventually  served                  FAILS: at 28.718ms node 2 has still not entered, although it requested entry at 24.31ms; other waiting requests: 1
          sometimes   contention              happened

          blocked at 28.718ms: nothing more can happen; 0 of 4 planned entries took place, 5 events, trace 869299dba78542ab

        The steps that lead to the violation of 'served':
              time   1  2  3
            10.000   ✗  ·  ·   node 1 crashes
            24.310   ✗ [?] ·   acquire · CE-1 requests entry with ticket 2/1 · request → 1
            24.828   ✗  ? [?]  acquire · CE-1 requests entry with ticket 3/1 · request → 1
            26.032   ✗  ?  ?   message 3.1 to 1: the receiver is down
            28.718   ✗  ?  ?   message 2.1 to 1: the receiver is down
                    · idle   ? waiting   █ in the critical section   ‖ paused   ✗ down   [ ] acting node   times in milliseconds

        To see it again: quorate sim central --nodes 3 --seed 1 --entries 4 --fault "crash 1 at 10ms"
        To draw it: quorate sim central --nodes 3 --seed 1 --entries 4 --fault "crash 1 at 10ms" --svg broken.svg
        To shrink it: quorate shrink central --nodes 3 --seed 1 --entries 4 --fault "crash 1 at 10ms"
    "#]].assert_eq(&printed);
}

#[test]
fn sim_prints_the_figures_of_reliable_links() {
    expect![[r#"
        ricart-agrawala · 3 nodes · seed 1 · uniform:1ms..5ms · reliable links

                                      measured   expected
          entries                           10
          messages per entry                 4   4 = 2(n−1)
          client delay                17.01 ms   2T   (3 samples)
          synchronization delay        2.05 ms   T   (2 samples)
          most overtaken                     1
          out of order                       0   0: happened-before order
          busiest node's share             70%
          messages                          40   20 reply, 20 request
          bytes                            440
          control messages                  60   326 bytes of acknowledgements and retransmissions

          always      exclusion               holds
          always      asked-first             holds
          always      fences-grow             holds
          always      happened-before-order   holds
          eventually  served                  holds
          sometimes   contention              happened

          done at 255.351ms, 129 events, trace 611feab624a34fe6
    "#]]
    .assert_eq(&run("sim ricart-agrawala --loss 0.1 --duplicate 10%").exits(0));
}

#[test]
fn sweep_prints_the_first_failure() {
    let printed = run("sweep ricart-agrawala-clock-only --nodes 2 --entries 2 --seeds 40").exits(1);
    let (begin, end) = printed.split_once(" events in ").unwrap();
    let end = end.split_once(" s\n").unwrap().1;
    expect![[r#"
        ricart-agrawala-clock-only · 2 nodes · 10 of 40 seeds from 1 · 100 events in … s

          always      exclusion               FAILS with 1 of 10 seeds
          always      asked-first             holds with every seed
          always      happened-before-order   holds with every seed
          eventually  served                  holds with every seed
          sometimes   contention              happened with 6 of 10 seeds

        With seed 10, 'exclusion' fails: node 2 entered while node 1 was in the critical section.

        The steps that lead to the violation of 'exclusion':
              time   1  2
             4.831  [?] ·   acquire · RA-1 asks all nodes with (1, 1) · request → 2
             7.584   ? [?]  acquire · RA-1 asks all nodes with (1, 2) · request → 1
             9.761   ? [?]  request from 1 · RA-2 replies to (1, 1) · reply → 1
            12.476  [?] ?   request from 2 · RA-2 replies to (1, 2) · reply → 2
            12.955  [█] ?   reply from 2 · RA-3 has every reply · ENTERS (fence 0.0)
            16.778   █ [█]  reply from 1 · RA-3 has every reply · ENTERS (fence 0.0)
                    · idle   ? waiting   █ in the critical section   ‖ paused   ✗ down   [ ] acting node   times in milliseconds

        To see it again: quorate sim ricart-agrawala-clock-only --nodes 2 --seed 10 --entries 2
        To draw it: quorate sim ricart-agrawala-clock-only --nodes 2 --seed 10 --entries 2 --svg broken.svg
        To shrink it: quorate shrink ricart-agrawala-clock-only --nodes 2 --seed 10 --entries 2
        The sweep stops at the first failure; --keep-going counts all failures.
    "#]]
    .assert_eq(&format!("{begin} events in … s\n{end}"));
}
