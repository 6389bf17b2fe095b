#!/usr/bin/env bash
# Pairs are files in a folder. handle answers one call, as a one-shot program does; the loop makes a session of it.
set -uo pipefail

handle() {
  local in f
  in=$(cat); get() { jq -j "$1" <<<"$in"; }
  case $1 in
    initialize)    echo '{"protocol":1}'; return ;;
    create|update) f=$(get .planned.key); get .planned.value >"$(get .provider.root)/$f" || return ;;
    read)          f=$(get .state.id); [ -e "$(get .provider.root)/$f" ] || { echo null; return; } ;;
    delete)        rm -f "$(get .provider.root)/$(get .state.id)"; echo null; return ;;
    call)          jq '{result: (.args[0] | explode | reverse | implode)}' <<<"$in"; return ;;
    *)             return 1 ;;
  esac
  jq -n --arg id "$f" --rawfile v "$(get .provider.root)/$f" '{state: {id: $id, key: $id, value: $v, length: ($v | length)}}'
}

while IFS= read -r line; do
  id=$(jq .id <<<"$line") action=$(jq -r .method <<<"$line")
  [ "$id" = null ] && continue
  if result=$(jq .params <<<"$line" | handle "$action"); then
    jq -cn --argjson id "$id" --argjson result "${result:-null}" '{jsonrpc: "2.0", id: $id, result: $result}'
  else
    jq -cn --argjson id "$id" --arg a "$action" '{jsonrpc: "2.0", id: $id, error: {code: 1, message: ($a + " failed")}}'
  fi
done
