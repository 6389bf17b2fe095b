#!/bin/sh
# Manages a page, which is a file with a text: run with create, read, update or delete, and a request on standard input.
set -eu
. "${0%/*}/json.sh"

request=$(cat)
id=$(member id)
path=$(member arguments.path)

# answer prints the actual content of the file, so that the next plan shows external changes.
answer() {
	set -- $(cksum <"$1") "$1"
	printf '{"id":%s,"arguments":{"path":%s,"text":%s},"result":{"checksum":"%s","bytes":"%s"}}\n' \
		"$(quoted "$3")" "$(quoted "$3")" "$(quoted "$(cat "$3")")" "$1" "$2"
}

# put writes the text to a temporary file and then renames it, so that readers never see half a page.
put() {
	member arguments.text >"$path.new"
	echo >>"$path.new"
	mv "$path.new" "$path"
	answer "$path"
}

case $1 in
create)
	[ ! -e "$path" ] || fail "There is a file $path already, which this configuration has not made."
	put
	;;
read)
	if [ -f "$id" ]; then answer "$id"; else echo null; fi
	;;
update)
	[ "$path" = "$id" ] || fail "A page stays where it was made ($id). To have it elsewhere, replace it: -replace=ADDRESS."
	put
	;;
delete)
	rm -f "$id"
	;;
*)
	fail "no such action: $1"
	;;
esac
