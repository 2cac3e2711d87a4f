#!/usr/bin/env bash
# Installs other agents by package name into $PEERS_HOME (default: ~/.cache/lariat-peers), where `bench peers` finds them, too.
# Needs node and npm. An agent that does not install here is named, and is left out.
set -eu
export PEERS_HOME=${PEERS_HOME:-$HOME/.cache/lariat-peers}
mkdir -p "$PEERS_HOME/npm" "$PEERS_HOME/logs"
cd "$PEERS_HOME"
install() {
  [ -d "npm/$1/node_modules" ] || npm install --silent --no-fund --no-audit --prefix "npm/$1" "$2" || echo "agent $1 ($2): not installed" >&2
}
install node22   node@22   # a system's node may be older; npm then picks old versions of the agents
export PATH="$PEERS_HOME/npm/node22/node_modules/node/bin:$PATH"
install gemini   @google/gemini-cli@0.61.0
install opencode opencode-ai@1.18.33
install goosebin @aaif/goose-binary-linux-x64@1.52.0
install claude   @anthropic-ai/claude-code@2.1.325
install ccacp    @zed-industries/claude-code-acp@0.16.2
install codex    @openai/codex@0.166.0
install pi       @earendil-works/pi-coding-agent@0.87.1
