package handshake

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"runtime"
	"strconv"
)

// listen opens a socket in the way that the host requests.
func listen() (net.Listener, error) {
	if runtime.GOOS == "windows" {
		return listenOnPort(os.Getenv("PLUGIN_MIN_PORT"), os.Getenv("PLUGIN_MAX_PORT"))
	}
	return listenOnSocket(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), os.Getenv("PLUGIN_UNIX_SOCKET_GROUP"))
}

// listenOnSocket opens a socket in a folder, by default the one for temporary files, with access for the current user
// and a group. The socket's file is removed when the listener is closed.
func listenOnSocket(folder, group string) (net.Listener, error) {
	file, err := os.CreateTemp(folder, "plugin") // only for its name
	if err != nil {
		return nil, err
	}
	if err := errors.Join(file.Close(), os.Remove(file.Name())); err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", file.Name())
	if err != nil || group == "" {
		return listener, err
	}
	if err := share(file.Name(), group); err != nil {
		listener.Close()
		return nil, fmt.Errorf("allow the group %s to use the socket: %w", group, err)
	}
	return listener, nil
}

// share allows a group to write to a file. The group is an ID or a name.
func share(file, group string) error {
	id, err := strconv.Atoi(group)
	if err != nil {
		found, err := user.LookupGroup(group)
		if err != nil {
			return err
		}
		if id, err = strconv.Atoi(found.Gid); err != nil {
			return fmt.Errorf("it has the id %q, expected a number", found.Gid)
		}
	}
	return errors.Join(os.Chown(file, -1, id), os.Chmod(file, 0o660))
}

// listenOnPort opens the first free port in a range. Without a range the system selects one.
func listenOnPort(from, to string) (net.Listener, error) {
	var first, last uint64
	for _, bound := range []struct {
		text string
		into *uint64
	}{{from, &first}, {to, &last}} {
		if bound.text == "" {
			continue
		}
		var err error
		if *bound.into, err = strconv.ParseUint(bound.text, 10, 16); err != nil {
			return nil, fmt.Errorf("the host sets the port %q, expected a number up to 65535", bound.text)
		}
	}
	for port := first; port <= last; port++ {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return listener, nil
		}
	}
	return nil, fmt.Errorf("no port from %d to %d is free", first, last)
}
