#!/usr/bin/env bash
# demo.sh: records `lariat loop` and `lariat race` in a terminal (tmux) against a scripted model, as text for docs/loop.md and docs/race.md.
# LARIAT is the program. Needs node, tmux, git and python3. Everything is in a directory of its own, and the network is loopback.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
LARIAT=$(readlink -f "${LARIAT:?the program}")
place=$(mktemp -d)
tmux=(tmux -L "lariat-demo-$$" -f /dev/null)
trap '"${tmux[@]}" kill-server 2>/dev/null || true; kill "$model" 2>/dev/null || true; rm -rf "$place"' EXIT
node "$here/demo.mjs" 8098 > "$place/ready" & model=$!
for _ in $(seq 200); do [ -s "$place/ready" ] && break; sleep 0.05; done

mkdir -p "$place/bin" "$place/home/.config/lariat" "$place/home/dates"
ln -s "$LARIAT" "$place/bin/lariat"
printf 'model = "test/actor"\nmode = "accept-edits"\n[providers.test]\napi = "openai-chat"\nbase_url = "http://127.0.0.1:8098/v1"\n' > "$place/home/.config/lariat/config.toml"
cat > "$place/home/dates/check.py" <<'P'
import dates
for good in ["2024-02-29", "2026-12-31"]:
    dates.parse(good)
for bad in ["2026-13-01", "2026-01-32", "2026-02-30"]:
    try:
        dates.parse(bad)
    except ValueError:
        continue
    raise SystemExit(f"{bad} is accepted")
P
# An agent that speaks ACP: it has a list of tasks, reads a file, runs a test and wants to push.
cat > "$place/bin/my-agent" <<'A'
#!/bin/sh
say() { printf '%s\n' "$1"; }
update() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'"$1"'}}'; }
tool() {
  update '{"sessionUpdate":"tool_call","toolCallId":"'"$1"'","title":"'"$2"'","kind":"'"$3"'","status":"in_progress"}'
  update '{"sessionUpdate":"tool_call_update","toolCallId":"'"$1"'","status":"'"$4"'"}'
}
while IFS= read -r line; do
  case "$line" in
  *'"method":"initialize"'*) say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}';;
  *'"method":"session/new"'*) say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}';;
  *'"method":"session/prompt"'*)
    update '{"sessionUpdate":"plan","entries":[{"content":"read the file","priority":"high","status":"completed"},{"content":"write the parser","priority":"high","status":"in_progress"},{"content":"push","priority":"low","status":"pending"}]}'
    tool t1 'Read dates.py' read completed
    tool t2 'python3 check.py' execute failed
    say '{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t3","title":"git push","kind":"execute","rawInput":{"command":"git push"}},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}';;
  *'"id":"p"'*)
    update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"The parser is written, and I could not push."}}'
    say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}';;
  esac
done
A
chmod +x "$place/bin/my-agent"
cd "$place/home/dates"

fresh() {
  rm -rf .git; printf 'def parse(text):\n    return tuple(map(int, text.split("-")))\n' > dates.py; printf '__pycache__/\n' > .gitignore
  git init -q; git add -A; git -c user.name=a -c user.email=a@localhost commit -qm first
}

# Runs a command in a terminal of 170 columns, and prints what the terminal shows in the end.
record() {
  fresh
  printf '%s; printf "\\n[ended with %%s]\\n" $?; sleep 600\n' "$1" > "$place/command"
  "${tmux[@]}" new-session -d -x 170 -y 60 -s demo \
    "env -i HOME=$place/home PATH=$place/bin:/usr/local/bin:/usr/bin:/bin TERM=xterm-256color LANG=C.UTF-8 NO_COLOR=1 bash $place/command"
  for _ in $(seq 1200); do "${tmux[@]}" capture-pane -p -t demo | grep -q '^\[ended with ' && break; sleep 0.2; done
  printf '\n$ %s\n' "$1"
  "${tmux[@]}" capture-pane -p -S - -t demo | sed -e 's/ *$//' | cat -s
  "${tmux[@]}" kill-session -t demo
}

record 'lariat loop "validate the dates in dates.py" --check "python3 check.py"'
record 'lariat race "validate the dates in dates.py" --models test/model-a,test/model-b,test/model-c --check "python3 check.py"'
record 'lariat loop "validate the dates in dates.py" --actor "acp:my-agent" --critic "echo '"'"'{\"decision\": \"DONE\", \"summary\": \"ok\", \"confidence\": 1}'"'"' # {prompt}" --deny "Bash(git push:*)"'
