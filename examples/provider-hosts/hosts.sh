#!/usr/bin/env bash
# A provider for units and users of a host: each call is one SSH connection, whose standard input is a script.
set -euo pipefail
dir=$(cd "$(dirname "$0")" && pwd)
. "$dir/tombolo.sh"

# on_host FILTER FUNCTION: runs a function of host.sh on the host, and prints what it prints. The filter makes an object of the request, whose
# members are variables of the script: texts, and lists as lines. No value is an argument of a process, here or there.
on_host() {
  local options=() port user key host_key host config status=0 out
  keys=$(mktemp -d) # also known to the trap, which runs in case of an error
  trap 'rm -rf "$keys"' EXIT
  call.get .provider.host host .provider.port port .provider.user user .provider.private_key key .provider.host_key host_key \
    .provider.config_file config
  options=(-T -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15)
  config=${config:-${HOSTS_SSH_CONFIG:-}}
  [ -z "$config" ] || options+=(-F "$config")
  [ -z "$port" ] || options+=(-p "$port")
  [ -z "$user" ] || options+=(-l "$user")
  if [ -n "$key" ]; then
    (umask 077 && printf '%s\n' "${key%$'\n'}" >"$keys/key")
    options+=(-i "$keys/key" -o IdentitiesOnly=yes -o IdentityAgent=none)
  fi
  if [ -n "$host_key" ]; then
    printf 'the-host %s\n' "$host_key" >"$keys/known"
    options+=(-o UserKnownHostsFile="$keys/known" -o GlobalKnownHostsFile=/dev/null -o HostKeyAlias=the-host -o StrictHostKeyChecking=yes)
  fi
  {
    call.jq -r "$1"' + {unit_folder: (.provider.unit_folder // "/etc/systemd/system")} | to_entries[] |
      "\(.key)=\(.value | if type == "array" then join("\n") elif . == null then "" else tostring end | @sh)"'
    cat "$dir/host.sh"
    printf '%s\n' "$2"
  } >"$keys/script"
  out=$(ssh "${options[@]}" -- "$host" "$(if call.has .provider.sudo; then echo sudo -n sh -s; else echo sh -s; fi)" \
    <"$keys/script" 2>"$keys/messages") || status=$?
  case $status in
    0) printf '%s' "$out" ;;
    255) tombolo.temporary "The host cannot be reached" detail="ssh $host: $(tail -n 3 "$keys/messages")" ;;
    *) tombolo.error "The host refused" detail="$host: $(tail -n 5 "$keys/messages")" ;;
  esac
}

# answer FILTER TEXT: answers with what the host printed, the lines NAME=VALUE with values in base64. The filter changes the object.
answer() {
  if [ -z "$2" ]; then
    call.answer null
    return
  fi
  printf '%s\n' "$2" | call_state=$(call.jq '.state // {}') jq -cR --slurp '
    split("\n") | map(select(. != "") | index("=") as $i | {(.[:$i]): (.[$i+1:] | @base64d)}) | add
    | (env.call_state | fromjson) as $state | '"$1" | call.answer -
}

unit='{id: .name, name, content, enabled: (.enabled == "yes"), running: (.running == "yes")}'
user='{id: .name, name, comment, shell, uid: (.uid | tonumber), home,
  groups: (if $imported or $state.groups != null then .groups | split(" ") | map(select(. != "")) else null end),
  authorized_keys: (if $imported or $state.authorized_keys != null then .keys | split("\n") | map(select(. != "" and (startswith("#") | not))) else null end)}'

hosts_unit.create() {
  local out
  out=$(on_host '.planned' unit_create)
  call.answer id="$(call.get .planned.name)"
}
hosts_unit.read() {
  local out
  out=$(on_host '{name: .state.name}' unit_read)
  answer "$unit" "$out"
}
hosts_unit.update() {
  local out
  out=$(on_host '.planned' unit_write)
  call.answer '{}'
}
hosts_unit.delete() {
  local out
  out=$(on_host '{name: .state.name}' unit_delete)
}
hosts_unit.import() {
  local out
  out=$(on_host '{name: (.identity.name? // .id)}' "check_unit_name; unit_read")
  answer "$unit" "$out"
}

# planned_user has the members of a planned user, and which of the optional ones are managed.
planned_user='.planned + {with_groups: (.planned.groups != null), with_keys: (.planned.authorized_keys != null)}'

hosts_user.create() {
  local out
  out=$(on_host "$planned_user" "user_create && user_read")
  answer '{id: .name, uid: (.uid | tonumber), home}' "$out"
}
hosts_user.read() {
  local out
  out=$(on_host '{name: .state.name}' user_read)
  answer "false as \$imported | $user" "$out"
}
hosts_user.update() {
  local out
  out=$(on_host "$planned_user" user_write)
  call.answer '{}'
}
hosts_user.delete() {
  local out
  out=$(on_host '{name: .state.name, remove_home: .state.remove_home}' user_delete)
}
hosts_user.import() {
  local out
  out=$(on_host '{name: (.identity.name? // .id)}' "check_user_name; user_read")
  answer "true as \$imported | $user + {remove_home: false}" "$out"
}

tombolo.run
