package main

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/internal/wire/handshake"
	"github.com/tombolo-iac/tombolo/internal/wire/rpc"
	"github.com/tombolo-iac/tombolo/internal/world"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/serve"
)

// bench also serves as its own plugins, the provider of internal/world and that of wide.go, if it is called by a
// plugin's name. With recordTo in the environment, the plugin also records its requests, which the driver (replay.go)
// replays.

const (
	recordTo = "TOMBOLO_BENCH_RECORD" // a directory, in which each process of the plugin creates a file
)

// isPlugin reports whether this process is a plugin.
func isPlugin() bool { return strings.HasPrefix(filepath.Base(os.Args[0]), "terraform-provider-") }

// pluginSources are the addresses of the plugins, without the host.
var pluginSources = []string{world.Source, wideSource, cloudSource, fiveSource}

// fiveSource is the address of world.Source over only version 5 of the protocol.
const fiveSource = world.Source + "5"

// pluginName returns the file name of a plugin.
func pluginName(source string) string { return "terraform-provider-" + path.Base(source) + "_v1.0.0" }

func bePlugin() int {
	o := serve.Options{Address: "registry.terraform.io/" + world.Source, New: world.Factory(world.Options{})}
	switch filepath.Base(os.Args[0]) {
	case pluginName(fiveSource):
		return serveFive()
	case pluginName(wideSource):
		o = serve.Options{Address: "registry.terraform.io/" + wideSource, New: func(context.Context) (provider.Provider,
			error) {
			return wide{}, nil
		}}
	}
	if filepath.Base(os.Args[0]) == pluginName(cloudSource) {
		o = serve.Options{Address: "registry.terraform.io/" + cloudSource, New: newCloud}
	}
	dir := os.Getenv(recordTo)
	if dir == "" {
		return serve.Run(o)
	}
	if err := recordCalls(o, dir); err != nil {
		fmt.Fprintln(os.Stderr, "bench plugin:", err)
		return 1
	}
	return 0
}

// serveFive serves the provider over version 5 of the protocol, only.
func serveFive() int {
	server, err := wire.NewServer(world.Factory(world.Options{Five: true}), 5)
	if err == nil {
		err = handshake.Serve(context.Background(), &handshake.Options{
			Servers: map[int]*wire.Server{5: server}, Server: rpc.Server{MaxRequest: wire.MaxMessage},
		})
		err = errors.Join(err, server.Close(context.Background()))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench plugin:", err)
		return 1
	}
	return 0
}

// installPlugins puts the plugins into a mirror and links their programs beside it.
func installPlugins(mirror string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	for _, source := range pluginSources {
		dir := filepath.Join(mirror, "registry.terraform.io", filepath.FromSlash(source), "1.0.0", runtime.GOOS+"_"+
			runtime.GOARCH)
		program := filepath.Join(dir, pluginName(source))
		if err := errors.Join(os.MkdirAll(dir, 0o777), os.Symlink(exe, program),
			os.Symlink(program, filepath.Join(mirror, pluginName(source)))); err != nil {
			return err
		}
	}
	return nil
}

// A call is one request to a plugin.
type call struct {
	Method  string
	Request []byte
}

// recordCalls serves the provider over version 6 of the protocol and records every call when it begins.
func recordCalls(o serve.Options, dir string) error {
	file, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d-%d", time.Now().UnixNano(), os.Getpid())))
	if err != nil {
		return err
	}
	defer file.Close()
	server, err := wire.NewServer(o.New, 6)
	if err != nil {
		return err
	}
	var mu sync.Mutex // guards out
	out := gob.NewEncoder(file)
	record := func(ctx context.Context, path string, req proto.Message, handle func(context.Context,
		proto.Message) (proto.Message, error)) (proto.Message, error) {
		if strings.HasPrefix(path, "/tfplugin6.") {
			b, err := proto.Marshal(req)
			if err != nil {
				return nil, err
			}
			mu.Lock()
			err = out.Encode(call{path, b})
			mu.Unlock()
			if err != nil {
				return nil, err
			}
		}
		return handle(ctx, req)
	}
	err = handshake.Serve(context.Background(), &handshake.Options{
		Servers: map[int]*wire.Server{6: server}, Server: rpc.Server{Around: record, MaxRequest: wire.MaxMessage},
	})
	return errors.Join(err, server.Close(context.Background()))
}

// readCalls returns the calls that the processes of a plugin recorded, in the order in which the processes started.
func readCalls(dir string) ([]call, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var calls []call
	for _, f := range files {
		file, err := os.Open(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		for in := gob.NewDecoder(file); ; {
			var c call
			if err = in.Decode(&c); err != nil {
				break
			}
			calls = append(calls, c)
		}
		file.Close()
		if !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	return calls, nil
}
