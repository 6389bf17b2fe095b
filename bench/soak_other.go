//go:build !unix

package main

import (
	"context"
	"errors"
	"io"
)

func soak(context.Context, []string, io.Writer, io.Writer) error {
	return errors.New("soak needs a Unix system: its programs are shell scripts")
}
