//go:build unix

package team

import (
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tombolo-iac/tombolo/internal/store/gcs/gcstest"
)

// bytesCodec passes messages unchanged.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error)      { return v.([]byte), nil }
func (bytesCodec) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (bytesCodec) Name() string                       { return "proto" }

// fields returns the fields of a message that are strings.
func fields(message []byte) map[protowire.Number][]byte {
	all := map[protowire.Number][]byte{}
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return all
		}
		message = message[size:]
		if kind == protowire.BytesType {
			text, size := protowire.ConsumeBytes(message)
			all[n], message = text, message[max(size, 0):]
		} else {
			message = message[max(protowire.ConsumeFieldValue(n, kind, message), 0):]
		}
	}
	return all
}

// cloudKeys is Cloud KMS with both of its protocols: OpenTofu uses one and we the other.
func cloudKeys() http.Handler {
	service := gcstest.New()
	calls := grpc.NewServer(grpc.ForceServerCodec(bytesCodec{}), grpc.UnknownServiceHandler(
		func(_ any, stream grpc.ServerStream) error {
			var message []byte
			if err := stream.RecvMsg(&message); err != nil {
				return err
			}
			in := fields(message)
			method, _ := grpc.MethodFromServerStream(stream)
			number, call := protowire.Number(2), service.Seal
			if strings.HasSuffix(method, "/Decrypt") {
				number, call = 1, service.Open
			}
			out, err := call(string(in[1]), in[2])
			if err != nil {
				return status.Error(codes.InvalidArgument, err.Error())
			}
			return stream.SendMsg(protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), out))
		}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			calls.ServeHTTP(w, r)
			return
		}
		service.ServeHTTP(w, r)
	})
}
