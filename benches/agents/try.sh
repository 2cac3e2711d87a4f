#!/usr/bin/env bash
# try.sh [AGENT]...: lets installed agents act in `lariat loop` and `lariat race` against the scripted model, in a network with loopback only.
# LARIAT is the program. Prints a row of a Markdown table for each agent, and fails if one did not do its two tool calls in both.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export PEERS_HOME=${PEERS_HOME:-$HOME/.cache/lariat-peers} HERE=$here
export LARIAT=${LARIAT:?the program}
[ $# -gt 0 ] || set -- gemini opencode:mock/mock-model goose claude headless:claude headless:codex headless:gemini headless:opencode headless:goose pi:mock/mock-model
export PLACE=$PEERS_HOME/try B=$PEERS_HOME/try/bin LOG=$PEERS_HOME/logs/try.jsonl; mkdir -p "$B" "$PEERS_HOME/logs"; : > "$LOG"
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

# A home with the agents' settings. Their directories exist, as after their first start: a sandbox cannot make a path writable that is missing.
home() {
  home=$PLACE/home; rm -rf "$home"
  mkdir -p "$home"/{.claude,.codex,.gemini,.config/{opencode,goose},.local/{share,state}/{opencode,goose},.cache/opencode,.pi/agent,work}
  printf 'model = "mock-model"\nmodel_provider = "mock"\ncheck_for_update_on_startup = false\n[model_providers.mock]\nname = "mock"\nbase_url = "http://127.0.0.1:8099/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n' > "$home/.codex/config.toml"
  printf '{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}},"privacy":{"usageStatisticsEnabled":false},"general":{"enableAutoUpdate":false,"disableAutoUpdate":true}}' > "$home/.gemini/settings.json"
  printf '{"autoupdate":false,"share":"disabled","model":"mock/mock-model","small_model":"mock/mock-model","provider":{"mock":{"npm":"@ai-sdk/openai-compatible","name":"mock","options":{"baseURL":"http://127.0.0.1:8099/v1","apiKey":"x"},"models":{"mock-model":{"name":"mock-model","tool_call":true,"limit":{"context":200000,"output":8000}}}}}}' > "$home/.config/opencode/opencode.json"
  printf '{}' > "$home/.claude.json"
  printf '{"providers":{"mock":{"baseUrl":"http://127.0.0.1:8099/v1","api":"openai-completions","apiKey":"x","models":[{"id":"mock-model","name":"mock","reasoning":false,"input":["text"],"contextWindow":200000,"maxTokens":8000,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}}]}}}' > "$home/.pi/agent/models.json"
  cd "$home/work"; git init -q; echo hi > a.txt
}

one() {
  home
  local name=${1#headless:} began took version loop=failed race=failed mode=headless calls
  name=${name%%:*}
  local pass="--env GOOSE_DISABLE_KEYRING --env OPENAI_HOST --env OPENAI_BASE_PATH --env GEMINI_CLI_TRUST_WORKSPACE"
  local e="env -i HOME=$home PATH=$B:/usr/local/bin:/usr/bin:/bin TERM=dumb LANG=C.UTF-8 NO_COLOR=1 GEMINI_API_KEY=x GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8099 GEMINI_CLI_TRUST_WORKSPACE=true GOOSE_PROVIDER=openai GOOSE_MODEL=mock-model GOOSE_DISABLE_KEYRING=1 OPENAI_API_KEY=x OPENAI_HOST=http://127.0.0.1:8099 OPENAI_BASE_PATH=v1/chat/completions ANTHROPIC_API_KEY=sk-mock ANTHROPIC_BASE_URL=http://127.0.0.1:8099"
  version=$($e "$name" --version 2>/dev/null | grep -o '[0-9][0-9.]*' | head -1 || true)
  began=$(date +%s%N)
  $e "$LARIAT" loop "Do it. TOOLS=2" --max-time 180s --max-iterations 1 $pass \
    --actor "$1" --critic "echo '{\"decision\": \"DONE\", \"summary\": \"ok\"}' # {prompt}" > ../loop.out 2> ../loop.err || true
  took=$((($(date +%s%N) - began) / 1000000))
  calls=$(grep -c '^  .*: completed$' ../loop.err || true); [ "$calls" -gt 0 ] && mode="ACP, $calls tool calls reported"
  [ -e b0.txt ] && [ -e b1.txt ] && grep -q ': DONE (' ../loop.err && ! grep -q 'ended with exit code' ../loop.err && loop="two files"
  rm -f b0.txt b1.txt
  $e "$LARIAT" race "Do it. TOOLS=2" --max-time 180s --branches 2 $pass --agents "$1" --check "test -e b0.txt && test -e b1.txt" \
    > ../race.out 2> ../race.err || true
  [ "$(grep -c ': check passed (' ../race.err)" = 2 ] && [ -e b0.txt ] && [ -e b1.txt ] && race="two branches, one applied"
  echo "| \`$1\` | $version | $mode | $loop | $race | loop: $took ms |"
  if [ "$loop" = failed ]; then sed 's/^/    loop: /' ../loop.err >&2; fi
  if [ "$race" = failed ]; then sed 's/^/    race: /' ../race.err >&2; fi
  [ "$loop" != failed ] && [ "$race" != failed ]
}
export -f home one
unshare=-n; [ "$(id -u)" = 0 ] || unshare=-rn
exec unshare $unshare bash -c '
ip link set lo up
ready=$(mktemp -u); MODEL_COMMAND="echo hi > b{n}.txt" MODEL_READY=$ready node "$HERE/model.mjs" 8099 "$LOG" & model=$!
for i in $(seq 200); do [ -e "$ready" ] && break; sleep 0.05; done; rm -f "$ready"
failed=0; for agent in "$@"; do (set -eu; one "$agent") || failed=1; done
kill $model; wait $model 2>/dev/null; exit $failed' try "$@"
