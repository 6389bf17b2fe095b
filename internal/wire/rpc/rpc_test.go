package rpc_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tombolo-iac/tombolo/internal/wire/handshake"
	"github.com/tombolo-iac/tombolo/internal/wire/rpc"
	"github.com/tombolo-iac/tombolo/internal/wire/wiretest"
)

// limit is the maximum size of the test's messages.
const limit = 1 << 20

// say is a method for both servers: its request determines its responses.
func say(ctx context.Context, text string, send func(proto.Message) error) error {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "fail":
		return status.Error(codes.FailedPrecondition, rest)
	case "plain":
		return errors.New(rest)
	case "nothing":
		return nil
	case "wait":
		<-ctx.Done()
		return ctx.Err()
	case "huge":
		return send(wrapperspb.String(strings.Repeat("x", 2*limit)))
	case "many":
		for i := range 100 {
			if err := send(wrapperspb.String(fmt.Sprint(i))); err != nil {
				return err
			}
		}
		return nil
	case "cut":
		return errors.Join(send(wrapperspb.String("one")), status.Error(codes.DataLoss, "cut"))
	}
	return send(wrapperspb.String(text))
}

const sayPath, streamPath = "/demo.Echo/Say", "/demo.Echo/Stream"

// ours starts a server of this package.
func ours(t *testing.T, config *tls.Config) net.Addr {
	request := func() proto.Message { return new(wrapperspb.StringValue) }
	s := &rpc.Server{TLS: config, MaxRequest: limit, Methods: map[string]rpc.Method{
		sayPath: {Request: request, Answer: func(ctx context.Context, req proto.Message) (answer proto.Message,
			err error) {
			err = say(ctx, req.(*wrapperspb.StringValue).Value, func(m proto.Message) error {
				answer = m
				return nil
			})
			return answer, err
		}},
		streamPath: {Request: request, Answers: func(ctx context.Context, req proto.Message,
			send func(proto.Message) error) error {
			return say(ctx, req.(*wrapperspb.StringValue).Value, send)
		}},
	}}
	return serve(t, s.Serve, s.Stop)
}

// theirs starts a server of google.golang.org/grpc.
func theirs(t *testing.T, config *tls.Config) net.Addr {
	options := []grpc.ServerOption{grpc.MaxRecvMsgSize(limit)}
	if config != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	g := grpc.NewServer(options...)
	g.RegisterService(&grpc.ServiceDesc{ServiceName: "demo.Echo", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Say", Handler: func(_ any, ctx context.Context,
			decode func(any) error, _ grpc.UnaryServerInterceptor) (answer any, err error) {
			req := new(wrapperspb.StringValue)
			if err := decode(req); err != nil {
				return nil, err
			}
			err = say(ctx, req.Value, func(m proto.Message) error {
				answer = m
				return nil
			})
			return answer, err
		}}},
		Streams: []grpc.StreamDesc{{StreamName: "Stream", ServerStreams: true, Handler: func(_ any,
			s grpc.ServerStream) error {
			req := new(wrapperspb.StringValue)
			if err := s.RecvMsg(req); err != nil {
				return err
			}
			return say(s.Context(), req.Value, func(m proto.Message) error { return s.SendMsg(m) })
		}}}}, nil)
	return serve(t, g.Serve, g.Stop)
}

func serve(t *testing.T, serve func(net.Listener) error, stop func()) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- serve(l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr()
}

// conn is a connection of either package.
type conn interface {
	Invoke(ctx context.Context, method string, request, answer proto.Message, limit int) (bool, error)
	Stream(ctx context.Context, method string, request, answer proto.Message, limit int, each func() bool) (bool, error)
	Close() error
}

func dialOurs(t *testing.T, to net.Addr, config *tls.Config) conn {
	t.Helper()
	c, err := rpc.Dial(t.Context(), func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, to.Network(), to.String())
	}, config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func dialTheirs(t *testing.T, to net.Addr, config *tls.Config) conn {
	t.Helper()
	how := insecure.NewCredentials()
	if config != nil {
		how = credentials.NewTLS(config)
	}
	c, err := grpc.NewClient("passthrough:///"+to.String(), grpc.WithTransportCredentials(how))
	if err != nil {
		t.Fatal(err)
	}
	return wiretest.GRPC{ClientConn: c}
}

// eachPair runs a test with this package on at least one side, with and without certificates.
func eachPair(t *testing.T, f func(t *testing.T, c conn)) {
	own, err := handshake.Identity()
	if err != nil {
		t.Fatal(err)
	}
	known := x509.NewCertPool()
	leaf, err := x509.ParseCertificate(own.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	known.AddCert(leaf)
	server := &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs: known}
	client := &tls.Config{Certificates: []tls.Certificate{own}, RootCAs: known, ServerName: handshake.ServerName}
	for name, pair := range map[string]struct {
		serve func(*testing.T, *tls.Config) net.Addr
		dial  func(*testing.T, net.Addr, *tls.Config) conn
	}{"ours to ours": {ours, dialOurs}, "ours to theirs": {theirs, dialOurs}, "theirs to ours": {ours, dialTheirs}} {
		for _, secured := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, secured %v", name, secured), func(t *testing.T) {
				t.Parallel()
				var s, c *tls.Config
				if secured {
					s, c = server, client
				}
				conn := pair.dial(t, pair.serve(t, s), c)
				defer conn.Close()
				f(t, conn)
			})
		}
	}
}

func invoke(ctx context.Context, c conn, text string) (string, error) {
	answer := new(wrapperspb.StringValue)
	_, err := c.Invoke(ctx, sayPath, wrapperspb.String(text), answer, limit)
	return answer.Value, err
}

func TestCallsAreAnswered(t *testing.T) {
	eachPair(t, func(t *testing.T, c conn) {
		for _, text := range []string{"", "hello", strings.Repeat("long ", limit/6)} {
			if got, err := invoke(t.Context(), c, text); err != nil || got != text {
				t.Errorf("told %d bytes, got %d, %v", len(text), len(got), err)
			}
		}
		const large = "larger than max (2097157 vs. 1048576)"
		for text, want := range map[string]struct {
			code    codes.Code
			message string
		}{
			"fail 100% of äöü\n\x01": {codes.FailedPrecondition, "100% of äöü\n\x01"},
			"fail ":                  {codes.FailedPrecondition, ""},
			"plain words":            {codes.Unknown, "words"}, "huge": {codes.ResourceExhausted, large},
			strings.Repeat("x", 2*limit): {codes.ResourceExhausted, large},
		} {
			_, err := invoke(t.Context(), c, text)
			if got := status.Convert(err); got.Code() != want.code || !strings.HasSuffix(got.Message(), want.message) {
				t.Errorf("%.20q: got %v: %q, want %v: %q", text, got.Code(), got.Message(), want.code, want.message)
			}
		}
		_, err := c.Invoke(t.Context(), "/demo.Echo/None", wrapperspb.String(""), new(wrapperspb.StringValue), limit)
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("a method that is not there: %v", err)
		}
	})
}

func TestStreamsAreReadToTheirEnd(t *testing.T) {
	eachPair(t, func(t *testing.T, c conn) {
		for text, want := range map[string]struct {
			count int
			code  codes.Code
		}{"many": {100, codes.OK}, "nothing": {0, codes.OK}, "cut": {1, codes.DataLoss},
			"fail": {0, codes.FailedPrecondition}} {
			count, answer := 0, new(wrapperspb.StringValue)
			_, err := c.Stream(t.Context(), streamPath, wrapperspb.String(text), answer, limit, func() bool {
				count++
				return true
			})
			if count != want.count || status.Code(err) != want.code {
				t.Errorf("%s: %d answers, %v", text, count, err)
			}
		}
		count, answer := 0, new(wrapperspb.StringValue)
		if _, err := c.Stream(t.Context(), streamPath, wrapperspb.String("many"), answer, limit, func() bool {
			count++
			return count < 3
		}); err != nil || count != 3 || answer.Value != "2" {
			t.Errorf("stopped after three: %d, %q, %v", count, answer.Value, err)
		}
		if got, err := invoke(t.Context(), c, "still there"); err != nil || got != "still there" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
	})
}

func TestCancelledCallsEnd(t *testing.T) {
	eachPair(t, func(t *testing.T, c conn) {
		ctx, cancel := context.WithCancel(t.Context())
		stop := time.AfterFunc(20*time.Millisecond, cancel)
		defer stop.Stop()
		if _, err := invoke(ctx, c, "wait"); status.Code(err) != codes.Canceled {
			t.Errorf("cancelled: %v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := invoke(ctx, c, "wait"); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("late: %v", err)
		}
	})
}

func TestManyCallsAtOnce(t *testing.T) {
	eachPair(t, func(t *testing.T, c conn) {
		var calls sync.WaitGroup
		for i := range 500 {
			calls.Go(func() {
				if got, err := invoke(t.Context(), c, fmt.Sprint(i)); err != nil || got != fmt.Sprint(i) {
					t.Errorf("call %d: %q, %v", i, got, err)
				}
			})
		}
		calls.Wait()
	})
}

func TestLostConnectionsAreReported(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	request := func() proto.Message { return new(wrapperspb.StringValue) }
	s := &rpc.Server{Methods: map[string]rpc.Method{sayPath: {Request: request}}}
	s.Methods[sayPath] = rpc.Method{Request: request, Answer: func(ctx context.Context, _ proto.Message) (proto.Message,
		error) {
		s.Stop()
		return nil, ctx.Err()
	}}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	c := dialOurs(t, l.Addr(), nil)
	for _, wantSent := range []bool{true, false} {
		sent, err := c.Invoke(t.Context(), sayPath, wrapperspb.String(""), new(wrapperspb.StringValue), limit)
		if status.Code(err) != codes.Unavailable || sent != wantSent {
			t.Errorf("sent %v, want %v: %v", sent, wantSent, err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Any program may be listening at the address.
func TestForeignServersAreRefused(t *testing.T) {
	for _, says := range []string{"", "HTTP/1.1 200 OK\r\n\r\n", strings.Repeat("x", 1<<20), "1|6|unix|x|grpc|\n"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, says)
				c.Close()
			}
		}()
		c, err := rpc.Dial(t.Context(), func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
		}, nil)
		if err == nil {
			_, err = c.Invoke(t.Context(), sayPath, wrapperspb.String(""), new(wrapperspb.StringValue), math.MaxInt32)
			c.Close()
		}
		if err == nil {
			t.Errorf("%.20q is an answer", says)
		}
		l.Close()
	}
}
