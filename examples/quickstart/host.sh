#!/bin/sh
# Reads what the configuration wants to know of this computer: a data source.
#
# It gets {"greeting":"..."} on standard input and answers with one JSON object of strings.
set -eu
. "${0%/*}/json.sh"

request=$(cat)
printf '{"greeting":%s,"system":%s}\n' "$(quoted "$(member greeting)")" "$(quoted "$(uname -s)")"
