#!/bin/bash
# A resource in bash: a note is a file in $NOTES, its text the argument "text".
set -euo pipefail

request=$(cat)
get() { jq -r "$1 // empty" <<<"$request"; }
echo "$1 $(jq -cS . <<<"$request")" >>"$NOTES/log"

case $1 in
create) id=note-$(date +%N)-$$ ;;
*)      id=$(get .id) ;;
esac
file=$NOTES/$id.txt

case $1 in
create|update)
	jq -j .arguments.text <<<"$request" >"$file"
	;;
read)
	[ -e "$file" ] || { echo null; exit; }
	;;
delete)
	rm -f "$file"
	echo "removed $id"
	exit
	;;
esac

jq -n --arg id "$id" --arg text "$(cat "$file")" --arg bytes "$(wc -c <"$file" | tr -d ' ')" \
	'{id: $id, arguments: {text: $text}, result: {bytes: $bytes}}'
