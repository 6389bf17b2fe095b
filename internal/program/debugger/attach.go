package debugger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program"
)

// ListenVariable is the variable of the environment that makes a program listen on a socket, instead of reading
// standard input.
const ListenVariable = "TOMBOLO_LISTEN"

// socketPrefix begins the value for a program that its author has started.
const socketPrefix = "unix:"

// lookEvery is the time between two attempts to reach a program that has not been started yet.
const lookEvery = 100 * time.Millisecond

// Socket returns the socket on which a program listens that its author has started, such as in an editor. It is "" if
// the environment does not name one for this provider. A relative path is relative to dir.
func Socket(env []string, provider, dir string) string {
	name, text, _ := strings.Cut(value(env), "=")
	path, ok := strings.CutPrefix(strings.TrimSpace(text), socketPrefix)
	if !ok || name != provider || path == "" {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path
}

// Connect returns a connection to the program that listens on a socket, as a program inside of this process. It waits
// for the program until stop is closed, and calls waiting once if it has to.
//
// Errors say that the socket cannot be used: other users could connect to it, or have created it.
func Connect(socket string, waiting func(), stop <-chan struct{}) (program.Inside, error) {
	if runtime.GOOS == "windows" {
		return nil, fmt.Errorf("%s names the socket %s, and sockets of programs are not supported on Windows. Let "+
			"it name the command of a debugger instead", Variable, socket)
	}
	for first := true; ; first = false {
		conn, err := dial(socket)
		if err == nil {
			return connection{conn}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, err
		}
		if first {
			waiting()
		}
		select {
		case <-stop:
			return nil, ErrStopped
		case <-time.After(lookEvery):
		}
	}
}

// ErrStopped means that the wait for a program was stopped.
var ErrStopped = errors.New("the wait for the program was stopped")

// dial connects to a socket that belongs to this user alone: through it go all values of a configuration.
func dial(socket string) (net.Conn, error) {
	info, err := os.Lstat(socket)
	switch {
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s names %s, which is not a socket. Name the socket on which the program listens, "+
			"the value of %s in its environment", Variable, socket, ListenVariable)
	case !private(info):
		return nil, fmt.Errorf("%s names the socket %s, to which other users of this machine can connect, or which "+
			"one of them has created. Its owner must be you, and its mode 0600", Variable, socket)
	}
	return net.Dial("unix", socket)
}

// connection is a program at the other end of a connection.
type connection struct{ net.Conn }

// Run implements program.Inside: it transports the input and the output until the program has closed the connection.
func (c connection) Run(ctx context.Context, s program.Streams) program.Exit {
	defer context.AfterFunc(ctx, func() { c.Close() })()
	defer c.Close()
	go func() { // ends with the input, which is closed after Run
		_, _ = io.Copy(c, s.Stdin)
		if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite() // the program has closed the connection
		}
	}()
	if _, err := io.Copy(s.Stdout, c); err != nil && ctx.Err() == nil {
		return program.Exit{Code: -1, State: fmt.Sprintf("a broken connection (%s)", err)}
	}
	return program.Exit{State: "the end of the connection"}
}
