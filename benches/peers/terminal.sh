#!/usr/bin/env bash
# terminal.sh OUT.json SECONDS STARTS PEER…: runs terminal.py in a network with loopback only, with the scripted model on 127.0.0.1:8099.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export PEERS_HOME=${PEERS_HOME:-$HOME/.cache/lariat-peers} HERE=$here
export MOCK_LOG=$PEERS_HOME/logs/terminal.jsonl HOLD=$PEERS_HOME/logs/hold; mkdir -p "$PEERS_HOME/logs"; : > "$MOCK_LOG"; rm -f "$HOLD"
exec unshare -n bash -c '
ip link set lo up
ready=$(mktemp -u); MOCK_READY=$ready node --import "$HERE/hold.mjs" "$HERE/mock.mjs" 8099 "$MOCK_LOG" & mock=$!
for i in $(seq 100); do [ -e $ready ] && break; sleep 0.05; done; rm -f $ready
python3 "$HERE/terminal.py" "$@"; rc=$?; kill $mock; wait $mock 2>/dev/null; exit $rc' terminal "$@"
