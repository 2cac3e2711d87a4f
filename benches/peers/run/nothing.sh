# No agent and no work: `true`, started as every peer is. What is below every start on this machine.
PEER=nothing; . "$(dirname "$0")/common.sh"; exec $E true
