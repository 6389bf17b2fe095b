#!/usr/bin/env bash
# Objects that exist only in the state. What is created takes a moment, so that there is something to see.
set -euo pipefail
in=$(cat)
field() { jq -r "$1" <<<"$in"; }
case $1 in
  read)
    # Somebody has changed one of them in the console of the cloud.
    if [ -e "${CLOUD_CHANGED:-/nonexistent}" ]; then
      jq '{state: (.state | if .rules then .rules += [{port: 22, from: "0.0.0.0/0"}] else . end)}' <<<"$in"
    else
      jq '{state: .state}' <<<"$in"
    fi
    ;;
  create | update)
    type=$(field .type)
    case $type in
      cloud_database) sleep 1.4 ;;
      cloud_server) sleep 0.6 ;;
      cloud_balancer) sleep 0.8 ;;
      *) sleep 0.2 ;;
    esac
    if [ "$(field '.planned.name // ""')" = fails.example.com ]; then
      echo '{"diagnostics":[{"severity":"error","summary":"The name is taken","detail":"Another account owns fails.example.com."}]}'
      exit
    fi
    id=${type#cloud_}-$(cksum <<<"$(field '.planned | tostring')" | cut -c1-6)
    jq --arg id "$id" --arg type "$type" '
      .planned + {id: (.planned.id // $id)}
      + (if $type == "cloud_server" or $type == "cloud_database" then {address: ("10.0." + (.planned.size // "db" | length | tostring) + ".7")} else {} end)
      + (if $type == "cloud_database" then {url: ("postgres://shop:" + .planned.password + "@" + $id + ".db.example.com/shop")} else {} end)
      | {state: .}' <<<"$in"
    ;;
  delete) sleep 0.3 ;;
esac
