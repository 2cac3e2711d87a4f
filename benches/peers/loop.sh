#!/usr/bin/env bash
# loop.sh [AGENT]...: lets installed agents act in `lariat loop` against the scripted model, in a network with loopback only.
# Prints a row of a Markdown table for each. LARIAT is the program. Fails if an agent did not do its two tool calls.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export PEERS_HOME=${PEERS_HOME:-$HOME/.cache/lariat-peers} HERE=$here
export LARIAT=${LARIAT:?the program}
[ $# -gt 0 ] || set -- gemini opencode:mock/mock-model goose claude headless:claude headless:codex headless:gemini headless:opencode headless:goose pi:mock/mock-model
npm_into() { [ -d "$PEERS_HOME/npm/$1/node_modules" ] || npm install --silent --no-fund --no-audit --prefix "$PEERS_HOME/npm/$1" "$2" || echo "agent $1: not installed" >&2; }
npm_into ccacp @zed-industries/claude-code-acp@0.16.2
B=$PEERS_HOME/loop/bin; export B; mkdir -p "$B" "$PEERS_HOME/logs"
nb=$PEERS_HOME/npm node=$PEERS_HOME/npm/node22/node_modules/node/bin/node
program() { printf '#!/bin/sh\nexec %s "$@"\n' "$2" > "$B/$1"; chmod +x "$B/$1"; }
program claude "$nb/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude"
program codex "$nb/codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
program gemini "$node $nb/gemini/node_modules/@google/gemini-cli/bundle/gemini.js"
program goose "$nb/goosebin/node_modules/@aaif/goose-binary-linux-x64/bin/goose"
program opencode "$nb/opencode/node_modules/opencode-linux-x64/bin/opencode"
program pi "$node $nb/pi/node_modules/@earendil-works/pi-coding-agent/dist/cli.js"
program claude-code-acp "$node $(readlink -f "$nb/ccacp/node_modules/.bin/claude-code-acp")"
ln -sf "$node" "$B/node"
export MOCK_LOG=$PEERS_HOME/logs/loop.jsonl; : > "$MOCK_LOG"
# The directories of the agents exist, as after their first start: a sandbox cannot make a path writable that is missing.
one() {
  home=$PEERS_HOME/loop/home; rm -rf "$home"; mkdir -p "$home"/{.claude,.codex,.gemini,.config/{opencode,goose},.local/{share,state}/{opencode,goose},.cache/opencode,.pi/agent,work}; cd "$home/work"
  printf 'model = "mock-model"\nmodel_provider = "mock"\ncheck_for_update_on_startup = false\n[model_providers.mock]\nname = "mock"\nbase_url = "http://127.0.0.1:8099/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n' > "$home/.codex/config.toml"
  printf '{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}},"privacy":{"usageStatisticsEnabled":false},"general":{"enableAutoUpdate":false,"disableAutoUpdate":true}}' > "$home/.gemini/settings.json"
  printf '{"autoupdate":false,"share":"disabled","model":"mock/mock-model","small_model":"mock/mock-model","provider":{"mock":{"npm":"@ai-sdk/openai-compatible","name":"mock","options":{"baseURL":"http://127.0.0.1:8099/v1","apiKey":"x"},"models":{"mock-model":{"name":"mock-model","tool_call":true,"limit":{"context":200000,"output":8000}}}}}}' > "$home/.config/opencode/opencode.json"
  printf '{}' > "$home/.claude.json"; printf '{"providers":{"mock":{"baseUrl":"http://127.0.0.1:8099/v1","api":"openai-completions","apiKey":"x","models":[{"id":"mock-model","name":"mock","reasoning":false,"input":["text"],"contextWindow":200000,"maxTokens":8000,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}}]}}}' > "$home/.pi/agent/models.json"
  git init -q; echo hi > a.txt
  name=${1#headless:}; name=${name%%:*}
  e="env -i HOME=$home PATH=$B:/usr/local/bin:/usr/bin:/bin TERM=dumb LANG=C.UTF-8 NO_COLOR=1 GEMINI_API_KEY=x GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8099 GEMINI_CLI_TRUST_WORKSPACE=true GOOSE_PROVIDER=openai GOOSE_MODEL=mock-model GOOSE_DISABLE_KEYRING=1 OPENAI_API_KEY=x OPENAI_HOST=http://127.0.0.1:8099 OPENAI_BASE_PATH=v1/chat/completions ANTHROPIC_API_KEY=sk-mock ANTHROPIC_BASE_URL=http://127.0.0.1:8099"
  version=$($e "$name" --version 2>/dev/null | grep -o '[0-9][0-9.]*' | head -1 || true)
  began=$(date +%s%N)
  $e "$LARIAT" loop "Do it. TOOLS=2" --max-time 120s --max-iterations 1 --env GOOSE_DISABLE_KEYRING --env OPENAI_HOST --env OPENAI_BASE_PATH --env GEMINI_CLI_TRUST_WORKSPACE \
    --actor "$1" --critic "echo '{\"decision\": \"DONE\", \"summary\": \"ok\"}' # {prompt}" > out.txt 2> err.txt || true
  took=$((($(date +%s%N) - began) / 1000000))
  mode="headless mode"; calls=$(grep -c '^  .*: completed$' err.txt || true); [ "$calls" -gt 0 ] && mode="ACP, $calls tool calls reported"
  result=failed; [ -e b0.txt ] && [ -e b1.txt ] && grep -q ': DONE (' err.txt && ! grep -q 'ended with exit code' err.txt && result="two files written"
  echo "| \`$1\` | $version | $mode | $result | $took ms |"
  [ "$result" != failed ] || { sed 's/^/    /' err.txt >&2; return 1; }
}
export -f one
exec unshare -n bash -c '
ip link set lo up
ready=$(mktemp -u); MOCK_CMD="echo hi > b{n}.txt" MOCK_READY=$ready node "$HERE/mock.mjs" 8099 "$MOCK_LOG" & mock=$!
for i in $(seq 100); do [ -e $ready ] && break; sleep 0.05; done; rm -f $ready
failed=0; for agent in "$@"; do (set -eu; one "$agent") || failed=1; done
kill $mock; wait $mock 2>/dev/null; exit $failed' loop "$@"
