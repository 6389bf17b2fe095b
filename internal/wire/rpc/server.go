package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Method handles the calls of one method. Either Answer or Answers is set.
type Method struct {
	// Request returns an empty request.
	Request func() proto.Message
	// Answer handles a call with one response.
	Answer func(ctx context.Context, request proto.Message) (proto.Message, error)
	// Answers handles a call with any number of responses. send fails if the client is gone.
	Answers func(ctx context.Context, request proto.Message, send func(proto.Message) error) error
}

// Server serves methods. Only Methods is required.
type Server struct {
	Methods map[string]Method // by path, such as "/demo.Echo/Say"
	// MaxRequest and MaxAnswer limit messages, in bytes; 0 means 4 MiB for requests, as is usual, and no limit for
	// responses.
	MaxRequest, MaxAnswer int
	// Around, if set, is called instead of each method with one response; next calls the method.
	Around func(ctx context.Context, path string, request proto.Message, next func(context.Context,
		proto.Message) (proto.Message, error)) (proto.Message, error)
	// Passing, if set, is called with each response of a method with several, and returns the message to send instead.
	Passing func(path string, answer proto.Message) proto.Message
	// TLS encrypts the connections; without it they are unencrypted.
	TLS *tls.Config
	// Connection is called when a connection is opened or closed.
	Connection func(net.Conn, http.ConnState)

	http http.Server
}

// Serve serves the connections of a listener until Stop is called. Calls may still be in progress when it returns.
func (s *Server) Serve(listener net.Listener) error {
	var protocols http.Protocols
	protocols.SetHTTP2(s.TLS != nil)
	protocols.SetUnencryptedHTTP2(s.TLS == nil)
	s.http.Protocols, s.http.ConnState = &protocols, s.Connection
	s.http.Handler, s.http.ErrorLog = http.HandlerFunc(s.handle), log.New(io.Discard, "", 0)
	s.http.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: math.MaxInt32, MaxReceiveBufferPerConnection: window,
		MaxReceiveBufferPerStream: window, MaxReadFrameSize: 1 << 18}
	var err error
	if s.TLS != nil {
		s.http.TLSConfig = s.TLS.Clone()
		err = s.http.ServeTLS(listener, "", "")
	} else {
		err = s.http.Serve(listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Stop closes all connections, which cancels their calls, and makes Serve return.
func (s *Server) Stop() { _ = s.http.Close() }

// handle handles a call in a separate goroutine, because a panic in an HTTP handler would not end the program. The host
// shows how a program crashed.
func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Header().Set("Content-Type", contentType)
		out := &sender{w: w, limit: s.MaxAnswer}
		reply := status.Convert(s.answer(r, out))
		if !out.begun {
			_ = http.NewResponseController(w).Flush() // otherwise a length of 0 would be sent
		}
		w.Header().Set(http.TrailerPrefix+codeField, strconv.Itoa(int(reply.Code())))
		if reply.Message() != "" {
			w.Header().Set(http.TrailerPrefix+messageField, escape(reply.Message()))
		}
	}()
	<-done
}

func (s *Server) answer(r *http.Request, out *sender) error {
	ctx := r.Context()
	if left, ok := timeout(r.Header.Get(timeoutField)); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left)
		defer cancel()
	}
	m, ok := s.Methods[r.URL.Path]
	if !ok {
		return status.Errorf(codes.Unimplemented, "unknown method %s", r.URL.Path)
	}
	limit := s.MaxRequest
	if limit == 0 {
		limit = 4 << 20
	}
	request := m.Request()
	if err := decode(r.Body, limit, request); err != nil {
		if _, has := status.FromError(err); has {
			return err
		}
		return status.Errorf(codes.Internal, "the request cannot be read: %v", err)
	}
	if m.Answers != nil {
		return coded(m.Answers(ctx, request, func(answer proto.Message) error {
			if s.Passing != nil {
				answer = s.Passing(r.URL.Path, answer)
			}
			if err := out.send(answer); err != nil {
				return err
			}
			return gone(http.NewResponseController(out.w).Flush())
		}))
	}
	var answer proto.Message
	var err error
	if s.Around != nil {
		answer, err = s.Around(ctx, r.URL.Path, request, m.Answer)
	} else {
		answer, err = m.Answer(ctx, request)
	}
	if err != nil {
		return coded(err)
	}
	return out.send(answer)
}

// coded returns an error with a code.
func coded(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	}
	return err
}

// sender writes responses.
type sender struct {
	w     http.ResponseWriter
	limit int
	begun bool
}

func (s *sender) send(m proto.Message) error {
	b, err := encode(m)
	if err != nil {
		return err
	}
	if size := len(b) - prefix; s.limit > 0 && size > s.limit {
		return status.Errorf(codes.ResourceExhausted, "trying to send message larger than max (%d vs. %d)", size,
			s.limit)
	}
	s.begun = true
	_, err = s.w.Write(b)
	return gone(err)
}

// gone returns an error of the connection with a code.
func gone(err error) error {
	if err != nil {
		return status.Errorf(codes.Unavailable, "the client is gone: %v", err)
	}
	return nil
}

// units maps the units of timeouts to durations.
var units = map[byte]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond,
	'u': time.Microsecond, 'n': time.Nanosecond}

// timeout parses the timeout of a client: up to eight digits and a unit.
func timeout(text string) (time.Duration, bool) {
	if text == "" || len(text) > 9 {
		return 0, false
	}
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
	unit, ok := units[text[len(text)-1]]
	return time.Duration(n) * unit, err == nil && ok
}
