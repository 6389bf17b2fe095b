#!/usr/bin/env bash
set -euo pipefail
. "$(dirname "$0")/tombolo.sh"

NAME_file.create() {
  call.get .planned.path path .planned.text text
  printf '%s' "$text" >"$path"
  look "$path"
}

NAME_file.update() { NAME_file.create; }

NAME_file.read() { look "$(call.get .state.path)"; }

NAME_file.import() { look "$(call.get .id)"; }

NAME_file.delete() { rm -f "$(call.get .state.path)"; }

look() {
  if [ -e "$1" ]; then
    call.answer id="$1" path="$1" text@="$1" bytes:="$(wc -c <"$1")"
  else
    call.answer null
  fi
}

function.slug() { call.jq '.args[0] | ascii_downcase | gsub("[^a-z0-9]+"; "-")' | call.answer -; }

tombolo.run
