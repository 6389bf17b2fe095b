# shellcheck shell=bash
# Program providers for Tombolo as functions: one file to copy beside a provider. It needs bash 4.4 or newer, and jq 1.6 or newer.
#
#     #!/usr/bin/env bash
#     set -euo pipefail
#     . "$(dirname "$0")/tombolo.sh"
#
#     notes_note.create() {
#       call.get .planned.text >"$(call.get .planned.path)"
#       call.answer id="$(call.get .planned.path)"
#     }
#     notes_note.read() { ...; }    # call.answer with the current attributes, or call.answer null if the object no longer exists
#
#     tombolo.run
#
# A function has the name of a type and of an action of docs/program-protocol.md. It answers with the attributes that it knows; those that it
# leaves out are unchanged. "implements" in the manifest lists the actions. Those of the provider as a whole are provider.configure,
# provider.validate and provider.schema. The functions of the provider are function.NAME, and get their arguments: strings as they are, other
# values as JSON.
#
# Where a function takes MEMBERS, these are NAME=TEXT, NAME:=JSON and NAME@=FILE for the text in a file; or one argument, which is JSON; or -, for
# JSON on standard input. Values are not passed to other programs as arguments.
#
# The same program works with "mode": "one-shot" and "mode": "session" in the manifest. Each call runs in a shell of its own, with "set -e": what
# it changes in variables is gone afterwards. With "concurrency" above 1 calls run at the same time.
#
# Output of functions goes to standard error and is shown to the user. jq 1.6 keeps about 17 digits of a number; if all digits must be kept, use
# "encoding": "string" in the manifest, which makes numbers strings, or jq 1.7.

if [ "${BASH_VERSINFO[0]}${BASH_VERSINFO[1]}" -lt 44 ]; then
  echo "The kit of Tombolo needs bash 4.4 or newer, and this is $BASH_VERSION. On macOS: brew install bash." >&2
  exit 1
fi

# _tombolo_text is the beginning of jq programs: null becomes "", and variables cannot hold NUL, which separates values.
_tombolo_text='def text: if . == null then "" elif type == "string" then split("\u0000") | join("") else tojson end;'
# _tombolo_dir holds the request and the answer of each call; only this user can read it.
_tombolo_dir='' _tombolo_call='' _tombolo_params='.' _tombolo_action='' _tombolo_type=''

# call.jq [OPTION...] FILTER: runs jq with the request as input: call.jq --arg id 7 '.planned + {id: $id}'
call.jq() { jq -c "${@:1:$#-1}" "$_tombolo_params | (${!#})" "$_tombolo_call.request"; }

# call.get FILTER: prints a member of the request, such as .planned.path, without a newline: a string as it is, nothing for null, other values as
# JSON. call.get FILTER VARIABLE ... sets variables to members, as many as are needed, which is faster and keeps newlines at their ends:
# call.get .planned.path path .planned.text text
call.get() {
  if [ $# = 1 ]; then
    jq -j "$_tombolo_text $_tombolo_params | [$1][0] | text" "$_tombolo_call.request"
    return
  fi
  local _tombolo_filter=$_tombolo_text _tombolo_i
  for ((_tombolo_i = 1; _tombolo_i < $#; _tombolo_i += 2)); do
    _tombolo_filter+=" ($_tombolo_params | [${!_tombolo_i}][0] | text), \"\\u0000\","
  done
  {
    while [ $# -gt 1 ]; do
      IFS= read -r -d '' "$2" || break
      shift 2
    done
  } < <(jq -j "$_tombolo_filter empty" "$_tombolo_call.request")
  wait $!
}

# call.has FILTER: reports whether a member of the request is neither null nor false.
call.has() { jq -e "$_tombolo_params | ($1)" "$_tombolo_call.request" >/dev/null; }

# call.answer MEMBERS: answers with attributes; with null, if the object does not exist; or with the result of a function.
call.answer() { _tombolo_report answer "$@"; }

# call.found MEMBERS: adds a result of a list, with identity:=JSON, display_name=TEXT and object:=JSON.
call.found() { _tombolo_report found "$@"; }

# call.keep MEMBERS: stores any JSON value with the object, for .private of later calls.
call.keep() { _tombolo_report private "$@"; }

# call.identify MEMBERS: reports the identity of the object.
call.identify() { _tombolo_report identity "$@"; }

# call.made MEMBERS: reports what already exists, so that it is stored if the call fails later.
call.made() { _tombolo_report made "$@"; }

# call.renew_at TIME: reports when an ephemeral object has to be renewed, as an RFC 3339 time.
call.renew_at() { _tombolo_report renew_at value="$1"; }

# call.warn SUMMARY [detail=TEXT] [attribute:=JSON]: adds a warning. An attribute is a path such as ["tags", "env"].
call.warn() { _tombolo_report warning summary="$1" "${@:2}"; }

# call.remote_state BACKEND [CONFIG [WORKSPACE]]: prints the output values of a state of another configuration as JSON, or null if there is none.
# CONFIG is JSON. The host reads the state: the call ends here and is made again from the beginning, so it must not have had any effect before. Not
# in create, update and delete. Write it as a command of its own: state=$(call.remote_state s3 '{"bucket": "b"}')
call.remote_state() {
  local asked state
  asked=$(_tombolo_members backend="$1" workspace="${3:-default}" config:="${2:-"{}"}") || exit 1
  state=$(printf '%s' "$asked" | jq -cr --slurpfile request "$_tombolo_call.request" '. as $asked | ($asked | tojson) as $name |
    ($request[0] | '"$_tombolo_params"' | .remote_state // {}) |
    if has($name) then .[$name] else "asking", ([keys[] | fromjson] + [$asked]) end') || exit 1
  if [ "${state%%$'\n'*}" = asking ]; then
    _tombolo_report asking "${state#*$'\n'}"
    exit 1
  fi
  printf '%s\n' "$state"
}

# call.progress MESSAGE [FRACTION]: reports the progress of the call, and ends it if it was cancelled.
call.progress() {
  if [ "$_tombolo_params" = . ]; then
    _tombolo_members @level=info @message="$1" ${2:+@progress:="$2"} >&2
  else
    _tombolo_say "$(_tombolo_members jsonrpc=2.0 method='$/progress' \
      params:="$(_tombolo_members id:="${_tombolo_call##*/}" message="$1" ${2:+fraction:="$2"})")"
  fi
  if call.cancelled; then
    _tombolo_report cancelled
    exit 1
  fi
}

# call.cancelled: reports whether the call was cancelled.
call.cancelled() { [ -e "$_tombolo_call.cancelled" ]; }

# tombolo.error SUMMARY [detail=TEXT] [attribute:=JSON] [argument:=NUMBER]: fails the call with a message for the user. argument is the number of a
# function's argument.
tombolo.error() {
  _tombolo_report error summary="$1" "${@:2}"
  exit 1
}

# tombolo.temporary SUMMARY [detail=TEXT]: fails the call, and requests a retry: see "retry" in the manifest.
tombolo.temporary() {
  _tombolo_report temporary
  tombolo.error "$@"
}

# tombolo.run: handles the calls of the host.
tombolo.run() {
  _tombolo_dir=$(mktemp -d)
  trap 'rm -rf "$_tombolo_dir"' EXIT
  set +e
  exec 3>&1 1>&2 # from here on, only responses are written to standard output
  _tombolo_action=${_tombolo_arguments[0]-} _tombolo_type=${_tombolo_arguments[1]-}
  if [ -n "$_tombolo_action" ]; then _tombolo_one_shot; else _tombolo_session; fi
  exit
}
_tombolo_arguments=("$@")

# _tombolo_members MEMBERS: prints them as one JSON value on one line. Texts are passed on standard input.
_tombolo_members() {
  local one
  for one in "$@"; do
    case ${one%%=*} in *?@) [ -r "${one#*=}" ] || { echo "${one#*=} cannot be read" >&2 && return 1; } ;; esac
  done
  if [ $# = 1 ] && ! [[ $1 =~ ^[@A-Za-z_][A-Za-z0-9_]*[:@]?= ]]; then
    if [ "$1" = - ]; then jq -c .; else printf '%s' "$1" | jq -c .; fi
    return
  fi
  {
    for one in "$@"; do
      case ${one%%=*} in
        *?@) printf '%s:\0' "${one%%@=*}" && jq -Rs . <"${one#*=}" && printf '\0' ;;
        *) printf '%s\0' "${one%%=*}" "${one#*=}" ;;
      esac
    done
    printf .
  } | jq -Rsc 'split("\u0000")[:-1] | [range(0; length; 2) as $i | .[$i] as $name | .[$i + 1] as $text |
    if $name | endswith(":") then {($name[:-1]): ($text | fromjson)} else {($name): $text} end] | add // {}'
}

# _tombolo_report KIND [MEMBERS]: adds a line to the answer of the call.
_tombolo_report() {
  local value=null
  if [ $# -gt 1 ]; then
    value=$(_tombolo_members "${@:2}") && [ -n "$value" ] || return 1
  fi
  printf '{"%s":%s}\n' "$1" "$value" >>"$_tombolo_call.answer"
}

# _tombolo_perform FILTER: calls the function in a shell of its own, and prints [CODE, ANSWER, MESSAGE] as the filter of jq does. CODE is 0 if the
# call succeeded.
_tombolo_perform() {
  local function=$_tombolo_type.$_tombolo_action status
  case $_tombolo_action in
    call) function=function.$_tombolo_type ;;
    *) [ -n "$_tombolo_type" ] || function=provider.$_tombolo_action ;;
  esac
  if ! declare -F "$function" >/dev/null; then
    jq -nr --arg text "The program does not know $_tombolo_action of ${_tombolo_type:-the provider}." "[-32601, null, \$text] | $1"
    return
  fi
  : >"$_tombolo_call.answer"
  (
    exec 3>&- 1>&2
    trap - EXIT TERM
    trap '_tombolo_trace' ERR
    set -eE
    if [ "$_tombolo_action" = call ]; then
      arguments=()
      while IFS= read -r -d '' one; do arguments+=("$one"); done < <(
        jq -j "$_tombolo_text $_tombolo_params | .args[] | text, \"\\u0000\"" "$_tombolo_call.request")
      "$function" ${arguments[@]+"${arguments[@]}"}
    else
      "$function"
    fi
  )
  status=$?
  jq -sr --arg action "$_tombolo_action" --argjson status "$status" --arg function "$function" "$_tombolo_fold | $1" "$_tombolo_call.answer" ||
    jq -nr "[1, {diagnostics: [{severity: \"error\", summary: \"The answer is not JSON\"}]}, \"The answer is not JSON\"] | $1"
}

# _tombolo_trace reports which line of the provider has failed, once.
_tombolo_trace() {
  local i=1
  [ -e "$_tombolo_call.traced" ] && return
  : >"$_tombolo_call.traced"
  while [ "${BASH_SOURCE[i]}" = "${BASH_SOURCE[0]}" ]; do i=$((i + 1)); done
  _tombolo_report where text="${BASH_SOURCE[i]##*/}, line ${BASH_LINENO[i - 1]}"
}

# _tombolo_fold makes [CODE, ANSWER, MESSAGE] of the lines of an answer.
_tombolo_fold='
def only(name): map(select(has(name))[name]);
def last_of(name): if any(.[]; has(name)) then {(name): (only(name) | last)} else {} end;
def message(severity): {severity: severity} + .;
. as $lines
| (last_of("private") + last_of("identity") + (last_of("renew_at") | map_values(.value))) as $extra
| (only("warning") | map(message("warning"))) as $warnings
| (if any(.[]; has("answer")) then only("answer") | last else {} end) as $answer
| (if ($warnings | length) > 0 then {diagnostics: ($warnings + (($answer | objects | .diagnostics) // []))} else {} end) as $said
| (only("where") | first | .text?) as $where
| (if any(.[]; has("cancelled")) then {summary: "The call was cancelled"} else
    (only("error") | first) // (if $status == 0 then null else {summary: "\($function) ended with exit status \($status)",
      detail: ("The program has a bug" + if $where then ": \($where)." else "." end)} end) end) as $problem
| if any(.[]; has("asking")) then
    [0, {remote_state: ([only("asking")[][] | {(tojson): .}] | add)}]
  elif $problem and $action == "call" then
    [0, {error: ({message: ([$problem.summary, $problem.detail] | map(select(.)) | join(": ")), argument: $problem.argument})}]
  elif $problem then
    (if any(.[]; has("cancelled")) then -32800 elif any(.[]; has("temporary")) then 75 else 1 end) as $code
    | [$code, ($extra + (if any(.[]; has("made")) then {state: (only("made") | last)} else {} end)
        + {diagnostics: ($warnings + [$problem | message("error")])}), $problem.summary]
  elif $action == "call" then [0, {result: $answer}]
  elif $action | IN("create", "read", "update", "import", "upgrade", "data") then [0, $extra + {state: $answer} + $said]
  elif $action == "open" then [0, $extra + {result: $answer} + $said]
  elif $action == "list" then [0, {results: only("found")} + $said]
  elif $action == "schema" then [0, {schema: $answer}]
  elif $action | IN("renew", "delete", "close", "invoke") then [0, $extra + $said]
  else [0, ($answer // {}) + $said] end'

_tombolo_one_shot() {
  local code
  _tombolo_call=$_tombolo_dir/0
  cat >"$_tombolo_call.request"
  trap ': >"$_tombolo_call.cancelled"; [ ! -e "$_tombolo_call.answer" ] || _tombolo_report cancelled' TERM
  _tombolo_perform '.[0], (if .[0] == -32601 then .[2] else .[1] | tojson end)' >"$_tombolo_call.result"
  {
    IFS= read -r code
    case $code in
      -32601) cat >&2 ;;
      *) cat >&3 ;;
    esac
  } <"$_tombolo_call.result"
  case $code in 0 | 75) exit "$code" ;; *) exit 1 ;; esac
}

# _tombolo_say JSON: sends a message. Calls at the same time must not mix their lines: each writes a file, and announces it to the one process that
# writes to standard output. An announcement is short enough to be written at once.
_tombolo_say() {
  local file
  file=$(mktemp "$_tombolo_dir/message.XXXXXX") && printf '%s\n' "$1" >"$file" && echo "$file" >&4
}

_tombolo_session() {
  local line id method
  exec 4> >(
    trap - EXIT
    while IFS= read -r file; do
      cat "$file" >&3
      rm -f "$file"
    done
  )
  _tombolo_params=.params
  while IFS= read -r line; do
    _tombolo_call=$_tombolo_dir/incoming
    printf '%s\n' "$line" >"$_tombolo_call.request"
    { IFS= read -r id && IFS= read -r method && IFS= read -r _tombolo_type; } < <(
      jq -r '(.id | tojson), .method, (.params | .type // .function // .id // "")' "$_tombolo_call.request")
    case $method:$id in
      initialize:*) _tombolo_say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocol\":1}}" ;;
      '$/cancelRequest:'*) if [ -e "$_tombolo_dir/$_tombolo_type.request" ]; then : >"$_tombolo_dir/$_tombolo_type.cancelled"; fi ;;
      *:null) ;;
      *)
        _tombolo_call=$_tombolo_dir/$id _tombolo_action=$method
        mv "$_tombolo_dir/incoming.request" "$_tombolo_call.request"
        _tombolo_serve "$id" </dev/null &
        ;;
    esac
  done
  kill $(jobs -p) 2>/dev/null # calls that the host no longer waits for
}

# _tombolo_serve ID: performs a call of a session.
_tombolo_serve() {
  local file
  trap - EXIT
  file=$(mktemp "$_tombolo_dir/message.XXXXXX")
  _tombolo_perform "{jsonrpc: \"2.0\", id: $1} + if .[0] == 0 then {result: .[1]} else {error: {code: .[0], message: .[2], data: .[1]}} end |
    tojson" >"$file"
  rm -f "$_tombolo_call".*
  echo "$file" >&4
}
