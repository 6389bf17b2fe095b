package remote

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// Zip compresses data for a service with limited space.
func Zip(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// Unzip decompresses the result of Zip, up to a number of bytes, because a few bytes may expand to very many.
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
