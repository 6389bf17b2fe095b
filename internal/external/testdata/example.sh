#!/bin/bash
# A data source in bash: FOO and BAZ come in, FOOBAZ goes out. jq does the quoting both ways.
set -e

eval "$(jq -r '@sh "FOO=\(.foo) BAZ=\(.baz)"')"

FOOBAZ="$FOO $BAZ"

jq -n --arg foobaz "$FOOBAZ" '{"foobaz":$foobaz}'
