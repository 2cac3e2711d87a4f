# No agent: one request, one command, again. What is below every gap on this machine.
PEER=bare; . "$(dirname "$0")/common.sh"; exec $E python3 "$(dirname "$0")/../bare.py" "$1"
