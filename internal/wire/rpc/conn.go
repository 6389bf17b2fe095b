package rpc

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// window is the maximum number of unread bytes of a response.
const window = 4<<20 - 1

// serverName is the name of every server in requests, and in its certificate unless the caller names another one.
const serverName = "plugin"

// Conn is a connection for calls, which may be concurrent.
type Conn struct {
	conn *http.ClientConn
	url  url.URL // without the method
}

// Dial connects to a server. If config is nil, the connection is unencrypted. The context only limits the start.
func Dial(ctx context.Context, dial func(context.Context) (net.Conn, error), config *tls.Config) (*Conn, error) {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true) // net/http need not know that a gathering connection is encrypted
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := dial(ctx)
			if err != nil {
				return nil, err
			}
			return gather(conn), nil
		},
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := dial(ctx)
			if err != nil {
				return nil, err
			}
			if conn, err = encrypted(ctx, conn, config); err != nil {
				return nil, err
			}
			return gather(conn), nil
		},
		Protocols: &protocols, DisableCompression: true,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: window, MaxReadFrameSize: 1 << 18},
	}
	scheme := "http"
	if config != nil {
		scheme = "https"
	}
	conn, err := t.NewClientConn(ctx, scheme, serverName+":443")
	if err != nil {
		return nil, err
	}
	return &Conn{conn: conn, url: url.URL{Scheme: scheme, Host: serverName}}, nil
}

// encrypted returns a connection over TLS on which the server speaks HTTP/2. It closes conn after an error.
func encrypted(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error) {
	config = config.Clone()
	config.NextProtos = []string{"h2"}
	if config.ServerName == "" {
		config.ServerName = serverName
	}
	over := tls.Client(conn, config)
	err := over.HandshakeContext(ctx)
	if got := over.ConnectionState().NegotiatedProtocol; err == nil && got != "h2" {
		err = fmt.Errorf("the server has chosen the protocol %q, expected h2", got)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return over, nil
}

// Close closes the connection. Calls in progress fail.
func (c *Conn) Close() error { return c.conn.Close() }

// Invoke performs a call that has one response, of at most limit bytes. sent reports whether the server may have
// received it.
func (c *Conn) Invoke(ctx context.Context, method string, request, answer proto.Message, limit int) (sent bool,
	err error) {
	found := 0
	sent, err = c.call(ctx, method, request, func(from io.Reader) (more bool, err error) {
		into := answer
		if found > 0 {
			into = new(emptypb.Empty) // one response too many
		}
		if err := decode(from, limit, into); err != nil {
			return false, err
		}
		found++
		return true, nil
	})
	if err == nil && found != 1 {
		err = status.Errorf(codes.Internal, "the call has %d answers, expected one", found)
	}
	return sent, err
}

// Stream performs a call that has any number of responses, each of at most limit bytes. It decodes each response into
// answer and then calls each, which reports whether to continue. sent reports whether the server may have received the
// call.
func (c *Conn) Stream(ctx context.Context, method string, request, answer proto.Message, limit int,
	each func() bool) (sent bool, err error) {
	return c.call(ctx, method, request, func(from io.Reader) (more bool, err error) {
		proto.Reset(answer)
		if err := decode(from, limit, answer); err != nil {
			return false, err
		}
		return each(), nil
	})
}

// call performs a call, and reads its responses until read reports that it is done or returns io.EOF.
func (c *Conn) call(ctx context.Context, method string, request proto.Message,
	read func(io.Reader) (more bool, err error)) (sent bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b, err := encode(request)
	if err != nil {
		return false, err
	}
	body := &body{from: bytes.NewReader(b)}
	at := c.url
	at.Path = method
	req := (&http.Request{Method: http.MethodPost, URL: &at, Host: serverName, Body: body}).WithContext(ctx)
	req.Header = http.Header{"Content-Type": {contentType}, "Te": {"trailers"}, "User-Agent": {"tombolo"}}
	if end, ok := ctx.Deadline(); ok {
		// A little more than the remaining time, because the caller's clock decides.
		left := min(max(time.Until(end).Milliseconds(), 0)+1, 99_999_999)
		req.Header.Set(timeoutField, strconv.FormatInt(left, 10)+"m")
	}
	resp, err := c.conn.RoundTrip(req)
	if err != nil {
		return body.begun.Load(), failure(ctx, err)
	}
	defer resp.Body.Close()
	if err := refusal(resp); err != nil {
		return true, err
	}
	for {
		switch more, err := read(resp.Body); {
		case errors.Is(err, io.EOF):
			return true, outcome(resp)
		case err != nil:
			return true, failure(ctx, err)
		case !more:
			return true, nil
		}
	}
}

// body is a request body that records whether it was read.
type body struct {
	from  *bytes.Reader
	begun atomic.Bool
}

// Close implements io.Closer.
func (b *body) Close() error { return nil }

// Read implements io.Reader. It returns io.EOF with the last bytes, because net/http then ends the stream in the same
// frame; otherwise the end is a frame, an encrypted record and a system call of its own.
func (b *body) Read(p []byte) (int, error) {
	b.begun.Store(true)
	n, err := b.from.Read(p)
	if err == nil && b.from.Len() == 0 {
		err = io.EOF
	}
	return n, err
}

// refusal returns the error of a response before its first message.
func refusal(resp *http.Response) error {
	kind := resp.Header.Get("Content-Type")
	switch {
	case resp.StatusCode != http.StatusOK:
		return status.Errorf(codes.Unavailable, "unexpected HTTP status code received from server: %s", resp.Status)
	case !strings.HasPrefix(kind, contentType):
		return status.Errorf(codes.Unknown, "the answer has the content type %q, expected %s", kind, contentType)
	}
	return nil
}

// outcome returns the status that the server reports for a call.
func outcome(resp *http.Response) error {
	fields := resp.Trailer
	if fields.Get(codeField) == "" {
		fields = resp.Header // a response without a message may have no trailers
	}
	code, err := strconv.ParseUint(fields.Get(codeField), 10, 32)
	if err != nil {
		return status.Error(codes.Internal, "server closed the stream without sending trailers")
	}
	if code == uint64(codes.OK) {
		return nil
	}
	return status.Error(codes.Code(code), unescape(fields.Get(messageField)))
}

// failure returns an error of the connection with a code.
func failure(ctx context.Context, err error) error {
	if _, has := status.FromError(err); has {
		return err
	}
	end, bounded := ctx.Deadline()
	switch cause := ctx.Err(); {
	case errors.Is(cause, context.DeadlineExceeded), bounded && cause == nil && !time.Now().Before(end):
		return status.Error(codes.DeadlineExceeded, context.DeadlineExceeded.Error())
	case cause != nil:
		return status.Error(codes.Canceled, context.Canceled.Error())
	}
	return status.Error(codes.Unavailable, fmt.Sprintf("error reading from server: %v", err))
}
