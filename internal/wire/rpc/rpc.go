// Package rpc is the part of gRPC that plugins use, based on the HTTP of the standard library: calls with one request
// and one or more responses, over one connection, without compression. Dial returns the client side, and Server is the
// server side.
//
//	conn, err := rpc.Dial(ctx, dial, nil)
//	sent, err := conn.Invoke(ctx, "/demo.Echo/Say", request, answer, 1<<20)
//
// Both sides work with other implementations of gRPC; the tests use google.golang.org/grpc on either side. This program
// does not use that package because it contains web pages, whose templates look up methods by name, and in a program
// that does so the linker keeps every exported method of every library: a fifth of the program's size.
//
// A Conn owns its connection, which is not reopened after a loss. A Server owns a goroutine for each call. Errors have
// a code of gRPC (status.Code).
package rpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// contentType is the content type of messages of both sides.
const contentType = "application/grpc"

// Names of header fields and trailers.
const (
	codeField    = "Grpc-Status"
	messageField = "Grpc-Message"
	timeoutField = "Grpc-Timeout"
)

// prefix is the number of bytes before a message: whether it is compressed, and its length.
const prefix = 5

// encode returns a message with its prefix.
func encode(m proto.Message) ([]byte, error) {
	size := proto.Size(m)
	if size > math.MaxInt32 {
		return nil, status.Errorf(codes.ResourceExhausted, "trying to send message larger than max (%d vs. %d)", size,
			math.MaxInt32)
	}
	b, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(make([]byte, prefix, prefix+size), m)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "the message cannot be sent: %v", err)
	}
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-prefix))
	return b, nil
}

// decode decodes one message. It returns io.EOF after the last one, and an error with a code for invalid data, or for a
// message larger than limit.
func decode(from io.Reader, limit int, into proto.Message) error {
	var head [prefix]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return err
	}
	size := int64(binary.BigEndian.Uint32(head[1:]))
	switch {
	case head[0] != 0:
		return status.Error(codes.Internal, "the message is compressed, which was not negotiated")
	case size > int64(limit):
		return status.Errorf(codes.ResourceExhausted, "received message larger than max (%d vs. %d)", size, limit)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(from, b); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	if err := proto.Unmarshal(b, into); err != nil {
		return status.Errorf(codes.Internal, "the message cannot be read: %v", err)
	}
	return nil
}

// escape encodes a text for a trailer: printable ASCII, with "%" and other characters in hexadecimal.
func escape(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c >= ' ' && c <= '~' && c != '%' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// unescape reverses escape. It leaves invalid escapes unchanged.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if c, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
