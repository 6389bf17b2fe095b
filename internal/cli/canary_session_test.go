package cli

import (
	"os/exec"
	"strings"
	"testing"
)

// sessionManifest is the manifest of a provider with a resource, a data source and a function. Their arguments are
// sensitive only in the configuration.
const sessionManifest = `{
  "protocol": 1, "name": "demo", "command": ["sh", "./demo.sh"], "mode": "session", "implements": ["configure"],
  "schema": {
    "provider": { "attributes": { "token": { "type": "string", "optional": true } } },
    "resource_schemas": { "demo_thing": { "implements": ["validate", "plan", "create", "read", "update", "delete"],
      "attributes": {
        "id":    { "type": "string", "computed": true },
        "token": { "type": "string", "required": true },
        "size":  { "type": "number", "computed": true },
        "made":  { "type": "string", "computed": true }
      } } },
    "data_source_schemas": { "demo_look": { "attributes": {
        "token": { "type": "string", "required": true }, "found": { "type": "number", "computed": true } } } },
    "functions": { "show": { "parameters": [{ "name": "token", "type": "string" }], "return_type": "number" } }
  }
}`

// sessionProgram behaves correctly except for one action, in which it repeats its input in one of many places.
const sessionProgram = `
member() { printf %s "$line" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
diagnose() { result=$(printf %s "$result" | sed 's/}$/,"diagnostics":[{"severity":'"$1"'}]}/; s/{,/{/'); }
while IFS= read -r line; do
  id=$(printf %s "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
  action=$(printf %s "$line" | sed -n 's/^[^m]*"method":"\([^"]*\)".*/\1/p')
  [ -n "$id" ] || continue
  token=$(member token); [ -n "$token" ] || token=$(printf %s "$line" | grep -o 'c4naryplanted' | head -n 1)
  result='{}'
  case $action in
  initialize) result='{"protocol":1}' ;;
  create|update) result='{"state":{"id":"i","token":"'$token'","size":1,"made":"x"}}' ;;
  data) result='{"state":{"token":"'$token'","found":1}}' ;;
    call) result='{"result":1}' ;;
  esac
  if [ "$action" = ACTION ] && [ -n "$token" ]; then case WAY in
    message)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"no %s here"}}\n' "$id" "$token"
      continue ;;
    diagnostic) diagnose '"error","summary":"no '$token'","detail":"a'$token'b","attribute":["token"]' ;;
    warning)    diagnose '"warning","summary":"'$token'"' ;;
    place)      diagnose '"error","summary":"no","attribute":["'$token'",{"key":"'$token'"}]' ;;
    progress)
      printf '{"jsonrpc":"2.0","method":"$/progress","params":{"id":%s,"message":"have %s"}}\n' "$id" "$token" ;;
    foreign)    printf '{"jsonrpc":"2.0","method":"$/%s","params":{}}\n' "$token" ;;
    stderr)     echo "[WARN] have $token" >&2; echo "[DEBUG] have $token" >&2; echo "$token" >&2 ;;
    whole)      echo "$line" >&2 ;;
    noise)      echo "have $token" ;;
    unfinished) printf '{"jsonrpc":"2.0","id":%s,"result":{"x":"%s"\n' "$id" "$token"; continue ;;
    unasked)    printf '{"jsonrpc":"2.0","id":987654,"result":"%s"}\n' "$token"; continue ;;
    envelope)   printf '{"id":%s,"%s":1}\n' "$id" "$token"; continue ;;
    shape)      result='"'$token'"' ;;
    member)     result='{"state":{"id":"i","token":"'$token'","size":1,"made":"x","'$token'":1}}' ;;
    type)       result='{"state":{"id":"i","token":"x","size":"'$token'","found":"'$token'"},"result":"'$token'"}' ;;
    changed)    result='{"state":{"id":"i","token":"not'$token'","size":1,"made":"x","found":1},"result":2}' ;;
    severity)   diagnose '"'$token'","summary":"s"' ;;
    exit)       echo "bye $token" >&2; exit 3 ;;
  esac; fi
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`

// TestSessionsDoNotShowSecrets has a program repeat its input in each action and in each part of a response, and looks
// for it in output, logs and files.
func TestSessionsDoNotShowSecrets(t *testing.T) {
	for _, needed := range []string{"sh", "sed", "grep"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skip("needs " + needed)
		}
	}
	const demo = `
terraform {
  required_providers { demo = { source = "demo" } }
}
provider "demo" { token = var.text }
`
	uses := map[string]string{
		"create": `resource "demo_thing" "a" { token = var.text }`,
		"data":   `data "demo_look" "a" { token = "a-${var.text}-b" }`,
		"call":   `resource "terraform_data" "a" { input = provider::demo::show(var.list[0]) }`,
	}
	ways := []string{"message", "diagnostic", "warning", "place", "progress", "foreign", "stderr", "whole", "noise",
		"unfinished", "unasked", "envelope", "shape", "member", "type", "changed", "severity", "exit"}
	for action, use := range map[string]string{"configure": "create", "validate": "create", "plan": "create",
		"create": "create", "data": "data", "call": "call"} {
		for _, way := range ways {
			t.Run(action+", "+way, func(t *testing.T) {
				p := newPlanting(t)
				p.setVariables()
				p.environ = append(p.environ, "TOMBOLO_PROGRAM_PROVIDERS=demo=./demo")
				p.write("demo/tombolo-provider.json", []byte(sessionManifest))
				program := strings.NewReplacer("ACTION", action, "WAY", way).Replace(sessionProgram)
				p.write("demo/demo.sh", []byte(program))
				main := strings.ReplaceAll(canaryVariables, "  ephemeral = true\n", "") + demo + uses[use] + "\n"
				p.write("main.tf", []byte(main))
				text := p.run("apply", "-auto-approve")
				p.lookAtFiles("apply")
				if action == "create" || way == "message" {
					p.run("apply", "-auto-approve", "-json")
					p.run("plan")
					p.run("show")
					p.run("state", "list")
				}
				if way == "message" && !strings.Contains(text, "no (sensitive value") {
					t.Errorf("%s was not called:\n%s", action, text)
				}
			})
		}
	}
}
