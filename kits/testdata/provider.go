//go:build ignore

// Items are JSON files in a folder.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/kits/tombolo"
)

func path(call *tombolo.Call, id any) string {
	return filepath.Join(call.Provider["root"].(string), fmt.Sprint(id)+".json")
}

func validate(_ context.Context, call *tombolo.Call) (any, error) {
	if call.Config["name"] == "bad" {
		return nil, &tombolo.Error{Summary: "No such name", Attribute: []any{"name"}}
	}
	return nil, nil
}

func create(ctx context.Context, call *tombolo.Call) (any, error) {
	id := rand.Text()
	if slow, ok := call.Planned["slow"].(json.Number); ok {
		if err := call.Progress("waiting", 0.5); err != nil {
			return nil, err
		}
		seconds, err := slow.Int64()
		if err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(seconds) * time.Second):
		}
	}
	if call.Planned["name"] == "half" {
		call.Made(tombolo.Object{"id": id})
		call.Warn("Half is done", "")
		return nil, &tombolo.Error{Summary: "Only half", Detail: "the other half is missing"}
	}
	fmt.Println("what is printed is no answer")
	call.Keep(tombolo.Object{"made": true})
	call.Planned["id"] = id
	return store(call)
}

func update(_ context.Context, call *tombolo.Call) (any, error) {
	if private, _ := call.Private.(map[string]any); private["made"] != true {
		return nil, fmt.Errorf("the private data is %v", call.Private)
	}
	return store(call)
}

func store(call *tombolo.Call) (any, error) {
	item := call.Planned
	item["shout"] = strings.ToUpper(item["name"].(string))
	text, err := json.Marshal(item)
	if err != nil {
		return nil, err
	}
	return item, os.WriteFile(path(call, item["id"]), text, 0o600)
}

func load(name string) (item tombolo.Object, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return item, d.Decode(&item)
}

func read(_ context.Context, call *tombolo.Call) (any, error) {
	item, err := load(path(call, call.State["id"]))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return item, err
}

func remove(_ context.Context, call *tombolo.Call) (any, error) {
	err := os.Remove(path(call, call.State["id"]))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return nil, err
}

func adopt(_ context.Context, call *tombolo.Call) (any, error) {
	var id any = call.ID
	if call.Identity != nil {
		id = call.Identity["id"]
	}
	if _, err := os.Stat(path(call, id)); err != nil {
		return nil, nil
	}
	return tombolo.Object{"id": id}, nil
}

func list(_ context.Context, call *tombolo.Call) (any, error) {
	names, err := filepath.Glob(filepath.Join(call.Provider["root"].(string), "*.json"))
	var results []tombolo.Object
	for _, name := range names {
		var item tombolo.Object
		if item, err = load(name); err != nil {
			return nil, err
		}
		if strings.HasPrefix(item["name"].(string), call.Config["prefix"].(string)) {
			one := tombolo.Object{"identity": tombolo.Object{"id": item["id"]}, "display_name": item["name"]}
			if call.IncludeObject {
				one["object"] = item
			}
			results = append(results, one)
		}
	}
	return results, err
}

func planAppend(_ context.Context, call *tombolo.Call) (any, error) {
	if call.Config["text"] == "" {
		return nil, &tombolo.Error{Summary: "Nothing to append", Attribute: []any{"text"}}
	}
	return nil, nil
}

func invokeAppend(_ context.Context, call *tombolo.Call) (any, error) {
	if err := call.Progress("appending", 0.5); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(call.Provider["root"].(string), "log"),
		os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	call.Warn("Appended", "")
	_, err = f.WriteString(call.Config["text"].(string))
	return nil, errors.Join(err, f.Close())
}

func count(_ context.Context, call *tombolo.Call) (any, error) {
	entries, err := os.ReadDir(call.Config["folder"].(string))
	return tombolo.Object{"files": len(entries)}, err
}

func openToken(_ context.Context, call *tombolo.Call) (any, error) {
	call.Keep(tombolo.Object{"lease": 7})
	return tombolo.Object{"token": "t-" + call.Config["scope"].(string)}, nil
}

func closeToken(_ context.Context, call *tombolo.Call) (any, error) {
	if private, _ := call.Private.(map[string]any); fmt.Sprint(private["lease"]) != "7" {
		return nil, errors.New("no lease")
	}
	return nil, nil
}

func upper(args ...any) (any, error) {
	text := args[0].(string)
	if text == "" {
		return nil, &tombolo.Error{Summary: "it is empty", Argument: new(int)}
	}
	return strings.ToUpper(text), nil
}

func configure(_ context.Context, call *tombolo.Call) (any, error) {
	if call.Provider["root"] == "" {
		return nil, &tombolo.Error{Summary: "There is no root", Attribute: []any{"root"}}
	}
	return nil, nil
}

func main() {
	tombolo.Run(tombolo.Provider{
		Resources: map[string]tombolo.Resource{"kit_item": {Validate: validate, Create: create, Read: read,
			Update: update, Delete: remove, Import: adopt, List: list}},
		Data:      map[string]tombolo.DataSource{"kit_count": {Data: count}},
		Ephemeral: map[string]tombolo.Ephemeral{"kit_token": {Open: openToken, Close: closeToken}},
		Actions:   map[string]tombolo.Action{"kit_append": {Plan: planAppend, Invoke: invokeAppend}},
		Functions: map[string]func(args ...any) (any, error){"upper": upper},
		Configure: configure,
	})
}
