#!/usr/bin/env bash
set -euo pipefail
in=$(cat)
get() { jq -j "$1" <<<"$in"; }

case $1 in
  create|update) f=$(get .planned.path); get .planned.text >"$f" ;;
  read)          f=$(get .state.path); [ -e "$f" ] || { echo null; exit; } ;;
  import)        f=$(get .id); [ -e "$f" ] || { echo null; exit; } ;;
  delete)        rm -f "$(get .state.path)"; exit ;;
  call)          jq '{result: (.args[0] | ascii_downcase | gsub("[^a-z0-9]+"; "-"))}' <<<"$in"; exit ;;
esac
jq -n --arg path "$f" --rawfile text "$f" '{state: {id: $path, path: $path, text: $text, bytes: ($text | utf8bytelength)}}'
