package remote

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// Zip compresses what a service has little room for.
func Zip(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// Unzip returns what Zip has compressed, up to a number of bytes: a few may stand for very many.
func Unzip(zipped []byte, most int64) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(z, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it is larger than %d bytes, the limit for a state", most)
	}
	return data, err
}
