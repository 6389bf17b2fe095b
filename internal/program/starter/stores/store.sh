#!/usr/bin/env bash
# The store of states "NAME": a file and a lock for each workspace, in a folder that all machines reach. Replace what
# the functions do by what reaches your own place. It needs jq.
#
# The engine starts this program once and sends it calls, one JSON object a line; docs/state-programs.md of Tombolo has
# all of them. It keeps no journal and no conditions: the engine does what it can without.
set -uo pipefail
export LC_ALL=C

call=$(mktemp) && trap 'rm -f "$call"' EXIT
param() { jq -r ".params.$1" "$call"; }

# What a function prints is its result. Status 3 is a failure whose data it prints, any other one a failure of which
# nothing is known.
open() { mkdir -p "$folder" && echo '{"features": ["workspaces"]}'; }

workspaces() {
  local file
  for file in "$folder"/*.state; do
    if [ -e "$file" ]; then basename "$file" .state; fi
  done | jq -Rcn '{workspaces: [inputs]}'
}

read_state() {
  if [ -e "$state" ]; then
    base64 <"$state" | tr -d '\n' | jq -Rsc '{data: .}'
  else
    echo '{"data": null}'
  fi
}

# A new file takes the place of the old one, once its bytes are on the disk.
write() {
  held && jq -r .params.data "$call" | base64 -d >"$state.$$" && sync && mv "$state.$$" "$state" && echo '{}'
}

# A link can be made once: who makes it has the lock.
lock() {
  jq -c .params.info "$call" >"$lock.$$"
  if ln "$lock.$$" "$lock" 2>/dev/null; then
    rm "$lock.$$" && echo '{}'
    return
  fi
  rm "$lock.$$"
  jq -c '{kind: "locked", holder: .}' "$lock" 2>/dev/null || echo '{"kind": "locked"}'
  return 3
}

holder() { if [ -e "$lock" ]; then jq -c '{holder: .}' "$lock"; else echo '{"holder": null}'; fi; }

# The lock is held under the id of the call. Without an id nobody asks.
held() {
  local id
  id=$(param 'lock // ""')
  [ -z "$id" ] || [ "$(jq -r .ID "$lock" 2>/dev/null)" = "$id" ] || { echo '{"kind": "lost"}'; return 3; }
}

unlock() { held && rm -f "$lock" && echo '{}'; }

delete() { held && rm -f "$state" && echo '{}'; }

while IFS= read -r line; do
  printf '%s' "$line" >"$call"
  id=$(jq .id "$call") verb=$(jq -r .method "$call")
  [ "$id" = null ] && continue # a notification
  state=${folder:-}/$(param 'workspace // ""').state lock=${state%.state}.lock
  case $verb in
    initialize) result='{"protocol": 1}' status=0 ;;
    open) folder=$(param 'config.folder // "NAME.states"') result=$(open) status=$? ;;
    read) result=$(read_state) status=$? ;;
    workspaces | write | lock | holder | unlock | delete) result=$("$verb") status=$? ;;
    *) result='' status=4 ;;
  esac
  case $status in
    0) jq -cn --argjson id "$id" '{jsonrpc: "2.0", id: $id, result: input}' <<<"$result" ;;
    3) jq -cn --argjson id "$id" '{jsonrpc: "2.0", id: $id, error: {code: 1, message: "refused", data: input}}' <<<"$result" ;;
    4) jq -cn --argjson id "$id" --arg verb "$verb" '{jsonrpc: "2.0", id: $id, error: {code: -32601, message: $verb}}' ;;
    *) jq -cn --argjson id "$id" --arg m "status $status" '{jsonrpc: "2.0", id: $id, error: {code: 1, message: $m}}' ;;
  esac
done
