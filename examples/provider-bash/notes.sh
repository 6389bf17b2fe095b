#!/usr/bin/env bash
set -euo pipefail
in=$(cat); get() { jq -j "$1" <<<"$in"; }
case $1 in
  create|update) f=$(get .planned.path); get .planned.text >"$f" ;;
  read)          f=$(get .state.path); [ -e "$f" ] || { echo null; exit; } ;;
  call)          jq '{result: (.args[0] | ascii_downcase | gsub("[^a-z0-9]+"; "-"))}' <<<"$in"; exit ;;
  delete)        rm -f "$(get .state.path)"; exit ;;
esac
jq -n --arg id "$f" --rawfile t "$f" '{state: {id: $id, text: $t, bytes: ($t|utf8bytelength)}}'
