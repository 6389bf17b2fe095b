#!/bin/sh
# A data source: returns facts about this computer.
#
# It reads {"greeting":"..."} from standard input and writes one JSON object of strings.
set -eu
. "${0%/*}/json.sh"

request=$(cat)
printf '{"greeting":%s,"system":%s}\n' "$(quoted "$(member greeting)")" "$(quoted "$(uname -s)")"
