package diag_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/tombolo-iac/tombolo/diag"
)

// Errors of the operating system have advice, however they are wrapped.
func TestSystemErrorsHaveAdvice(t *testing.T) {
	start := func(err error) error { return &fs.PathError{Op: "fork/exec", Path: "/bin/sh", Err: err} }
	open := func(err error) error { return &fs.PathError{Op: "open", Path: "f", Err: err} }
	for name, c := range map[string]struct {
		err  error
		want string // "" for none
	}{
		"files":         {open(syscall.EMFILE), "ulimit -n"},
		"pipes":         {os.NewSyscallError("pipe2", syscall.EMFILE), "-parallelism=1"},
		"all files":     {open(syscall.ENFILE), "The processes of this machine"},
		"processes":     {start(syscall.EAGAIN), "ulimit -u"},
		"memory":        {start(syscall.ENOMEM), "not enough memory for another process"},
		"not a start":   {open(syscall.EAGAIN), ""},
		"read-only":     {open(syscall.EROFS), "read-only"},
		"permission":    {open(syscall.EACCES), "check the owners"},
		"rename":        {&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EPERM}, "check the owners"},
		"no program":    {&exec.Error{Name: "x", Err: fs.ErrPermission}, ""},
		"not a program": {start(syscall.EACCES), ""},
		"no path":       {fmt.Errorf("write main.tf: %w", syscall.EACCES), "check the owners"},
		"a connection":  {&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EACCES)}, ""},
		"another":       {errors.New("permission denied"), ""},
	} {
		for _, list := range []diag.List{diag.FromError("It failed", fmt.Errorf("reading: %w", c.err)),
			diag.List{}.Errorf(nil, "It failed", "Reading: %s.", c.err),
			diag.List{}.Warnf(nil, "It failed", "Reading: %s.", c.err)} {
			detail := list[0].Detail
			advice := strings.TrimPrefix(detail, "Reading: "+c.err.Error()+".")
			if advice == detail || c.want == "" && advice != "" || !strings.Contains(advice, c.want) {
				t.Errorf("%s: %q, want %q", name, detail, c.want)
			}
		}
	}
}

func TestInterruptsHavePlainMessages(t *testing.T) {
	if got := diag.FromError("Operation canceled", context.Canceled)[0].Detail; strings.Contains(got, "ontext") {
		t.Errorf("%q", got)
	}
}
