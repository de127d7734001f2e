#!/bin/sh
# A fake `quorate node`: follows its contract on standard input and output, and grants entry at once.
# The seed chooses how it misbehaves; src/tests.rs names the seeds.
for word in "$@"; do
    case $word in
        --id=*) id=${word#--id=} ;;
        --seed=*) seed=${word#--seed=} ;;
        --life=*) life=${word#--life=} ;;
        --listen=*) listen=${word#--listen=} ;;
        # The value of --trace: the path of the journal.
        */node-*) trace=$word folder=${word%/*} ;;
    esac
done
attempts="$folder/attempts-$id-$life"
echo attempt >>"$attempts"
# With seed 5, the first two attempts after a restart fail, as if the address were still in use.
if [ "$seed" = 5 ] && [ "$life" = 1 ] && [ "$(wc -l <"$attempts")" -lt 3 ]; then exit 2; fi
# With seed 6, node 2 cannot start.
if [ "$seed" = 6 ] && [ "$id" = 2 ]; then
    echo "no disk today" >&2
    exit 1
fi
case $listen in *:0) listen="${listen%:0}:700$id" ;; esac
echo "{\"listening\":\"$listen\"}"
read -r peers || exit 0
echo "$peers" >>"$folder/peers-$id"
# Begin the journal. With seed 8, leave it empty, as if the node were killed before its first write.
if [ "$seed" = 8 ]; then : >"$trace"; else echo "the header" >"$trace"; fi
echo "{\"started\":{\"incarnation\":$life}}"
while read -r line; do
    echo "$life $line" >>"$folder/received-$id"
    case $line in
        stop) break ;;
        '"acquire"')
            # A seed and a node: 22 is node 2 with seed 2.
            case $seed$id in
                # It dies.
                22) echo "out of paper" >&2; exit 7 ;;
                # It writes garbage.
                32) echo 'hello?' ;;
                # It never grants.
                42) continue ;;
                # It refuses commands.
                72) echo '{"refused":"not today"}' ;;
            esac
            echo '{"event":{"entered":{"fence":{"epoch":0,"counter":1}}},"time":1}'
            ;;
        '"release"') echo '{"event":"left","time":2}' ;;
    esac
done
echo '{"stopped":{}}'
