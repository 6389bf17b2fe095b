package tombolo

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// listen serves a session for each connection to a socket, which only this user can reach. It returns an error if it
// cannot wait for connections.
func listen(p Provider, path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		if err := os.Remove(path); err != nil { // of a program that was killed
			return err
		}
	}
	restore := narrow()
	listener, err := net.Listen("unix", path)
	restore()
	if err != nil {
		return err
	}
	shown, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "Waiting for connections. The host needs this variable in its environment, with the name "+
		"of your provider: TOMBOLO_PROGRAM_DEBUG=NAME=unix:%s\n", shown)
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			h := &host{provider: p, out: conn}
			if err := h.session(conn); err != nil {
				fmt.Fprintln(os.Stderr, "The session cannot continue:", err)
			}
		}()
	}
}

// attach takes the directory and the variables that a program lacks that was not started by its host.
func attach(params []byte) error {
	var hello struct {
		Attached *struct {
			Directory   string            `json:"directory"`
			Environment map[string]string `json:"environment"`
		} `json:"attached"`
	}
	if len(params) == 0 {
		return nil
	}
	if err := json.Unmarshal(params, &hello); err != nil || hello.Attached == nil {
		return err
	}
	for name, text := range hello.Attached.Environment {
		if err := os.Setenv(name, text); err != nil {
			return err
		}
	}
	return os.Chdir(hello.Attached.Directory)
}
