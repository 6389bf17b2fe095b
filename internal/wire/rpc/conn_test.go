package rpc

import (
	"bytes"
	"io"
	"testing"
)

// TestRequestsEndWithTheirLastBytes: net/http sends the end of a stream in the frame of the last bytes only if the body
// ends together with them.
func TestRequestsEndWithTheirLastBytes(t *testing.T) {
	for _, size := range []int{0, 1, 7, 8, 9, 16, 17} {
		body := &body{from: bytes.NewReader(make([]byte, size))}
		for read := 0; ; {
			n, err := body.Read(make([]byte, 8))
			read += n
			if last := read == size; last != (err == io.EOF) || err != nil && !last {
				t.Fatalf("%d of %d bytes: %v", read, size, err)
			}
			if err != nil {
				break
			}
		}
	}
}
