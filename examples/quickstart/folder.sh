#!/bin/sh
# Manages a folder: run with create, read, update or delete, and a request on standard input.
#
# Every response except that to delete has the id of the object, the actual arguments, and results.
set -eu
. "${0%/*}/json.sh"

request=$(cat)
id=$(member id)
path=$(member arguments.path)

answer() {
	printf '{"id":%s,"arguments":{"path":%s},"result":{}}\n' "$(quoted "$path")" "$(quoted "$path")"
}

case $1 in
create)
	mkdir -p "$path"
	answer
	;;
read)
	if [ -d "$id" ]; then path=$id && answer; else echo null; fi
	;;
update)
	[ "$path" = "$id" ] || fail "A folder stays where it was made ($id). To have it elsewhere, destroy it first, or replace it: -replace=ADDRESS."
	answer
	;;
delete)
	# Only an empty folder: other files in it are not managed here.
	rmdir "$id" || fail "The folder $id holds more than this configuration has made. Look at it, and remove it by hand."
	;;
*)
	fail "no such action: $1"
	;;
esac
