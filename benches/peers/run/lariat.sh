# Lariat as a peer: durable journal, no sandbox. LARIAT names the program; LARIAT_WALLS=1 switches the sandbox on.
PEER=${LARIAT_PEER:-lariat}; . "$(dirname "$0")/common.sh"; mkdir -p $H/.config/lariat
cat > $H/.config/lariat/config.toml <<T
model = "mock/mock-model"
mode = "${LARIAT_MODE:-bypass}"
[sandbox]
enabled = ${LARIAT_WALLS:-false}
[limits]
turns = 100000
[providers.mock]
api = "openai-chat"
base_url = "http://127.0.0.1:8099/v1"
T
[ -n "$1" ] && case "$1" in --version|--help) exec $E $LARIAT "$1";; esac
exec $E $LARIAT run "$1" </dev/null
