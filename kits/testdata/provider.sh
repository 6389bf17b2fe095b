#!/usr/bin/env bash
# Items are JSON files in a folder.
set -euo pipefail
export LC_ALL=C.UTF-8 # for ^^
. "$(dirname "$0")/tombolo.sh"

kit_item.validate() {
  if [ "$(call.get .config.name)" = bad ]; then tombolo.error 'No such name' attribute:='["name"]'; fi
}

kit_item.create() {
  local id=$RANDOM$RANDOM$RANDOM i name slow
  call.get .planned.name name .planned.slow slow
  if [ -n "$slow" ]; then
    call.progress waiting 0.5
    for ((i = 0; i < 10 * slow; i++)); do
      sleep 0.1
      call.progress 'still waiting'
    done
  fi
  if [ "$name" = half ]; then
    call.made id="$id"
    call.warn 'Half is done'
    tombolo.error 'Only half' detail='the other half is missing'
  fi
  echo "what is printed is no answer"
  call.keep made:=true
  store "$id"
}

kit_item.update() {
  local id made
  call.get .planned.id id .private.made made
  [ "$made" = true ] || tombolo.error 'The private data is missing'
  store "$id"
}

store() {
  local root name
  call.get .provider.root root .planned.name name
  call.jq --arg id "$1" --arg shout "${name^^}" '.planned + {id: $id, shout: $shout}' >"$root/$1.json"
  call.answer - <"$root/$1.json"
}

kit_item.read() {
  local root id
  call.get .provider.root root .state.id id
  if [ -e "$root/$id.json" ]; then call.answer - <"$root/$id.json"; else call.answer null; fi
}

kit_item.delete() {
  local root id
  call.get .provider.root root .state.id id
  rm -f "$root/$id.json"
}

kit_item.import() {
  local root id
  call.get .provider.root root '.identity.id // .id' id
  if [ -e "$root/$id.json" ]; then call.answer id="$id"; else call.answer null; fi
}

kit_item.list() {
  local file name
  for file in "$(call.get .provider.root)"/*.json; do
    [ -e "$file" ] || continue
    name=$(jq -r .name "$file")
    [[ $name = "$(call.get .config.prefix)"* ]] || continue
    set -- identity:="$(jq '{id}' "$file")" display_name="$name"
    if call.has .include_object; then set -- "$@" object:="$(jq . "$file")"; fi
    call.found "$@"
  done
}

kit_append.plan() {
  if call.has '.config.text == ""'; then tombolo.error 'Nothing to append' attribute:='["text"]'; fi
}

kit_append.invoke() {
  call.progress appending 0.5
  call.get .config.text >>"$(call.get .provider.root)/log"
  call.warn Appended
}

kit_count.data() { call.answer files:="$(find "$(call.get .config.folder)" -mindepth 1 | wc -l)"; }

kit_token.open() {
  call.keep lease:=7
  call.answer token="t-$(call.get .config.scope)"
}

kit_token.close() { [ "$(call.get .private.lease)" = 7 ] || tombolo.error 'no lease'; }

function.upper() {
  if [ -z "$1" ]; then tombolo.error 'it is empty' argument:=0; fi
  printf '%s' "${1^^}" | jq -Rs . | call.answer -
}

provider.configure() {
  if [ -z "$(call.get .provider.root)" ]; then tombolo.error 'There is no root' attribute:='["root"]'; fi
}

tombolo.run
