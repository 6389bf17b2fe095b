package handshake

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tombolo-iac/tombolo/internal/wire/rpc"
)

// Paths of the methods that hosts call on every plugin.
const (
	Shutdown = "/plugin.GRPCController/Shutdown"
	Output   = "/plugin.GRPCStdio/StreamStdio"
	Health   = "/grpc.health.v1.Health/Check"
	broker   = "/plugin.GRPCBroker/StartStream"
)

// services returns these methods. The output may be nil.
func services(stop func(), o *output) map[string]rpc.Method {
	return map[string]rpc.Method{
		Health: {Request: empty, Answer: func(context.Context, proto.Message) (proto.Message, error) {
			return raw(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)), nil // "serving"
		}},
		Shutdown: {Request: empty, Answer: func(context.Context, proto.Message) (proto.Message, error) {
			stop()
			return empty(), nil
		}},
		Output: {Request: empty, Answers: func(ctx context.Context, _ proto.Message,
			send func(proto.Message) error) error {
			return o.stream(ctx, send)
		}},
		// Additional connections, which no provider needs. Hosts open the stream nevertheless.
		broker: {Request: empty, Answers: func(ctx context.Context, _ proto.Message,
			_ func(proto.Message) error) error {
			<-ctx.Done()
			return nil
		}},
	}
}

func empty() proto.Message { return new(emptypb.Empty) }

// raw returns a message with encoded fields. They are unknown fields of a message that declares none, which are sent
// unchanged.
func raw(fields []byte) proto.Message {
	m := new(emptypb.Empty)
	m.ProtoReflect().SetUnknown(fields)
	return m
}

// output forwards the standard output and standard error of the process to the host.
type output struct {
	chunks chan chunk
	over   chan struct{} // closed when the host no longer listens: the rest is dropped
	end    func()
}

// chunk is a piece of output. Channel 1 is standard output, 2 is standard error.
type chunk struct {
	channel uint64
	data    []byte
}

// takeOutput replaces os.Stdout and os.Stderr with pipes. They are not restored, and are read as long as the process
// lives, so that writers never block for long.
func takeOutput() (*output, error) {
	o := &output{chunks: make(chan chunk), over: make(chan struct{})}
	o.end = sync.OnceFunc(func() { close(o.over) })
	var writers [2]*os.File
	for i := range writers {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		writers[i] = w
		go o.copy(uint64(i+1), r)
	}
	os.Stdout, os.Stderr = writers[0], writers[1]
	return o, nil
}

// copy reads one of the pipes.
func (o *output) copy(channel uint64, from io.Reader) {
	for buf := make([]byte, 4<<10); ; {
		n, err := from.Read(buf)
		if n > 0 {
			select {
			case o.chunks <- chunk{channel, append([]byte(nil), buf[:n]...)}:
			case <-o.over:
			}
		}
		if err != nil {
			return
		}
	}
}

// discard drops all further output.
func (o *output) discard() { o.end() }

// stream sends the output to a host until the host closes the stream.
func (o *output) stream(ctx context.Context, send func(proto.Message) error) error {
	if o == nil { // the output is not redirected
		<-ctx.Done()
		return nil
	}
	for {
		select {
		case c := <-o.chunks:
			if err := send(c.message()); err != nil {
				return fmt.Errorf("send the output of the plugin to its host: %w", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// message encodes the chunk for hosts: field 1 is the channel, field 2 the bytes.
func (c chunk) message() proto.Message {
	var fields []byte
	fields = protowire.AppendVarint(protowire.AppendTag(fields, 1, protowire.VarintType), c.channel)
	return raw(protowire.AppendBytes(protowire.AppendTag(fields, 2, protowire.BytesType), c.data))
}

// ReadOutput decodes such a message, and reports whether it is from standard error.
func ReadOutput(m *emptypb.Empty) (data []byte, isError bool) {
	for b := []byte(m.ProtoReflect().GetUnknown()); len(b) > 0; {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, false
		}
		b = b[n:]
		switch {
		case number == 1 && kind == protowire.VarintType:
			channel, _ := protowire.ConsumeVarint(b)
			isError = channel == 2
		case number == 2 && kind == protowire.BytesType:
			data, _ = protowire.ConsumeBytes(b)
		}
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			return nil, false
		}
		b = b[n:]
	}
	return data, isError
}
