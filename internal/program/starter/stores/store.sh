#!/usr/bin/env bash
# The store of states "NAME": a file and a lock for each workspace, in a folder that all machines share. Change the
# functions to use your own storage. It needs jq.
#
# The engine starts this program once and sends it calls, one JSON object per line; docs/state-programs.md of Tombolo
# describes them. It has neither a journal nor conditional writes, so the engine works without these.
set -uo pipefail
export LC_ALL=C

call=$(mktemp) && trap 'rm -f "$call"' EXIT
param() { jq -r ".params.$1" "$call"; }

# The output of a function is its result, on one line. Exit status 3 means an error whose data is the output; any other
# status except 0 means that the result is unknown.
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

# The new file replaces the old one after its content is on disk.
write() {
  held && jq -r .params.data "$call" | base64 -d >"$state.$$" && sync && mv "$state.$$" "$state" && echo '{}'
}

# Creating a link is atomic: the creator holds the lock.
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

# The lock must have the id of the call. A call without an id is not checked.
held() {
  local id
  id=$(param 'lock // ""')
  [ -z "$id" ] || [ "$(jq -r .ID "$lock" 2>/dev/null)" = "$id" ] || { echo '{"kind": "lost"}'; return 3; }
}

unlock() { held && rm -f "$lock" && echo '{}'; }

delete() { held && rm -f "$state" && echo '{}'; }

while IFS= read -r line; do
  printf '%s' "$line" >"$call"
  { IFS= read -r id && read -r verb && IFS= read -r workspace; } < <(
    jq -r '(.id | tojson), .method, (.params.workspace // "")' "$call")
  [ "$id" = null ] && continue # a notification
  state=${folder:-}/$workspace.state lock=${state%.state}.lock
  case $verb in
    initialize) result='{"protocol": 1}' status=0 ;;
    open) folder=$(param 'config.folder // "NAME.states"') result=$(open) status=$? ;;
    read) result=$(read_state) status=$? ;;
    workspaces | write | lock | holder | unlock | delete) result=$("$verb") status=$? ;;
    *) result='' status=4 ;;
  esac
  case $status in
    0) printf '{"jsonrpc": "2.0", "id": %s, "result": %s}\n' "$id" "$result" ;;
    3) printf '{"jsonrpc": "2.0", "id": %s, "error": {"code": 1, "message": "refused", "data": %s}}\n' "$id" "$result" ;;
    4) jq -cn --argjson id "$id" --arg verb "$verb" '{jsonrpc: "2.0", id: $id, error: {code: -32601, message: $verb}}' ;;
    *) printf '{"jsonrpc": "2.0", "id": %s, "error": {"code": 1, "message": "status %s"}}\n' "$id" "$status" ;;
  esac
done
