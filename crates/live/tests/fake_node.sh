#!/bin/sh
# A fake `quorate node`: follows its contract on standard input and output, and grants entry at once.
# The seed chooses how it misbehaves; src/tests.rs names the seeds.
for word in "$@"; do
    case $word in
        --id=*) id=${word#--id=} ;;
        --seed=*) seed=${word#--seed=} ;;
        --life=*) life=${word#--life=} ;;
        --listen=*) listen=${word#--listen=} ;;
        */node-*) trace=$word folder=${word%/*} ;;
    esac
done
tries="$folder/tries-$id-$life"
echo try >>"$tries"
# The first two tries after a restart fail, as if the address were still in use.
if [ "$seed" = 5 ] && [ "$life" = 1 ] && [ "$(wc -l <"$tries")" -lt 3 ]; then exit 2; fi
# Node 2 cannot start.
if [ "$seed" = 6 ] && [ "$id" = 2 ]; then
    echo "no disk today" >&2
    exit 1
fi
case $listen in *:0) listen="${listen%:0}:700$id" ;; esac
echo "{\"listening\":\"$listen\"}"
read -r peers || exit 0
echo "$peers" >>"$folder/peers-$id"
# It begins its journal, or leaves it empty as if it were killed before its first write.
if [ "$seed" = 8 ]; then : >"$trace"; else echo "the header" >"$trace"; fi
echo "{\"started\":{\"incarnation\":$life}}"
while read -r line; do
    echo "$life $line" >>"$folder/received-$id"
    case $line in
        stop) break ;;
        '"acquire"')
            # The seed and the node: 22 is node 2 with seed 2.
            case $seed$id in
                22) echo "out of paper" >&2; exit 7 ;;
                32) echo 'hello?' ;;
                42) continue ;;
                72) echo '{"refused":"not today"}' ;;
            esac
            echo '{"event":{"entered":{"fence":{"epoch":0,"counter":1}}},"time":1}'
            ;;
        '"release"') echo '{"event":"left","time":2}' ;;
    esac
done
echo '{"stopped":{}}'
