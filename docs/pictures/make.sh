#!/usr/bin/env bash
# make.sh LARIAT PICTURE: draws run.svg from the real program (PICTURE is the example `picture` of lariat-cli).
set -eu
here=$(cd "$(dirname "$0")" && pwd) lariat=$(realpath "$1") picture=$(realpath "$2")
home=$(mktemp -d); trap 'kill $model 2>/dev/null; rm -rf "$home"' EXIT
coproc MODEL { exec python3 "$here/model.py"; }; model=$MODEL_PID; read -r port <&"${MODEL[0]}"
mkdir -p "$home/.config/lariat" "$home/greeting"; cd "$home/greeting"; git init -q
printf 'model = "local/coder"\n[providers.local]\napi = "openai-chat"\nbase_url = "http://127.0.0.1:%s/v1"\n' "$port" > "$home/.config/lariat/config.toml"
echo 'echo "Hello, $1!"' > greet.sh; echo 'test "$(bash greet.sh Ada)" = "Good day, Ada!" && echo passed' > test.sh
say='$ lariat run --mode auto "Make test.sh pass"'
run="stty cols 92 rows 32; printf '%s\r\n' '$say'; PATH=${lariat%/*}:\$PATH lariat run --mode auto 'Make test.sh pass'"
env -i HOME="$home" PATH=/usr/bin:/bin TERM=xterm-256color LANG=C.UTF-8 script -qec "$run" /dev/null < /dev/null | "$picture" 92 32 > "$here/run.svg"
