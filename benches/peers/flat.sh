#!/usr/bin/env bash
# flat.sh PEER TURNS: one run of PEER with so many tool calls, in a network with loopback only. Prints the gaps between requests in ms, one per line.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export PEERS_HOME=${PEERS_HOME:-$HOME/.cache/lariat-peers} HERE=$here
export MOCK_LOG=$PEERS_HOME/logs/flat.jsonl; mkdir -p "$PEERS_HOME/logs"; : > "$MOCK_LOG"
exec unshare -n bash -c '
ip link set lo up
ready=$(mktemp -u); MOCK_READY=$ready node "$HERE/mock.mjs" 8099 "$MOCK_LOG" & mock=$!
for i in $(seq 100); do [ -e $ready ] && break; sleep 0.05; done; rm -f $ready
bash "$HERE/run/$1.sh" "Run it. TOOLS=$2" > "$PEERS_HOME/logs/flat.out" 2>&1; rc=$?
kill $mock; wait $mock 2>/dev/null
python3 -c "
import json,sys
t=[j[\"t\"] for j in map(json.loads,open(sys.argv[1])) if j.get(\"n\")==int(sys.argv[2])]
for a,b in zip(t,t[1:]): print(b-a)
" "$MOCK_LOG" "$2"; exit $rc' flat "$@"
