package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/internal/wire/wiretest"
)

// replayParallelism is the parallelism of the engines.
const replayParallelism = 10

// bytesCodec passes messages unchanged, as recorded.
type bytesCodec struct{}

func (bytesCodec) Name() string                  { return "proto" }
func (bytesCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (bytesCodec) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), b...)
	return nil
}

// replay starts a plugin and repeats recorded calls, in order and with the concurrency of an engine: the cost of an
// engine without any work of its own. Calls that prepare others (schema, configuration) run alone. The responses are
// discarded. With a journal, it also does what any engine must do that loses nothing.
func replay(ctx context.Context, program string, calls []call, journal *intents) error {
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: wiretest.Handshake, VersionedPlugins: wiretest.Calling(6), Cmd: exec.Command(program),
		AutoMTLS:         true,
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC}, Logger: hclog.NewNullLogger(),
	})
	defer client.Kill()
	conn, err := wiretest.Connected(client)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, replayParallelism)
	var under sync.WaitGroup
	for _, c := range calls {
		if alone(c.Method) {
			under.Wait()
		}
		slots <- struct{}{}
		under.Go(func() {
			defer func() { <-slots }()
			if err := repeat(ctx, conn.ClientConn, c, journal); err != nil {
				cancel(fmt.Errorf("%s: %w", c.Method, err))
			}
		})
		if alone(c.Method) {
			under.Wait()
		}
	}
	under.Wait()
	return context.Cause(ctx)
}

// repeat repeats a call.
func repeat(ctx context.Context, conn *grpc.ClientConn, c call, journal *intents) error {
	changes := journal != nil && strings.Contains(c.Method, "/Apply")
	if changes {
		if err := journal.intent(c.Request); err != nil {
			return err
		}
	}
	var answer []byte
	if err := conn.Invoke(ctx, c.Method, &c.Request, &answer, grpc.ForceCodec(bytesCodec{}),
		grpc.MaxCallRecvMsgSize(wire.MaxMessage)); err != nil || !changes {
		return err
	}
	_, err := journal.add(answer)
	return err
}

func alone(method string) bool {
	for _, name := range []string{"Validate", "Upgrade", "Read", "Plan", "Apply"} {
		if strings.Contains(method, "/"+name) && !strings.Contains(method, "ValidateProvider") {
			return false
		}
	}
	return true
}

// replayMain implements "bench replay PROGRAM DIRECTORY [JOURNAL]"; the calls are in the directory.
func replayMain(ctx context.Context, args []string) error {
	if len(args) != 2 && len(args) != 3 {
		return errors.New("usage: bench replay PROGRAM DIRECTORY [JOURNAL]")
	}
	calls, err := readCalls(args[1])
	if err != nil || len(args) == 2 {
		return errors.Join(err, replay(ctx, args[0], calls, nil))
	}
	journal, err := newIntents(args[2])
	if err != nil {
		return err
	}
	return errors.Join(replay(ctx, args[0], calls, journal), journal.close())
}
