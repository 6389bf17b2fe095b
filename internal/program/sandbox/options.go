// Package sandbox runs WASI modules inside of this process: programs that are one file for all platforms, and that
// reach nothing but their standard streams, a clock, random numbers, and what the caller gives them: variables,
// folders, and hosts to which they can send HTTP requests through this process. They cannot start processes or open
// sockets.
//
// A Module is compiled once, and the compiled code is stored in the user's cache folder by the hash of the module. Its
// memory is limited, and it ends when its context ends, even in an endless loop. In programs that call Child, a process
// with limits of time and memory compiles it.
//
//	m, err := sandbox.Open(ctx, sandbox.Options{Path: "provider.wasm", Cache: sandbox.CacheDir()})
//	exit := m.Run(ctx, program.Streams{Args: []string{"provider", "read"}, Stdin: in, Stdout: out, Stderr: messages})
//	err = m.Close()
//
// A module may be hostile: Open and Run return errors, and never panic, whatever its bytes are.
package sandbox

import "time"

// Options selects a module.
type Options struct {
	// Path is the file.
	Path string
	// Memory limits the memory of each run, in MiB; 0 means DefaultMemory.
	Memory int
	// Cache is the folder for compiled code; "" means that it is only in memory. A folder that another user could write
	// to is not used.
	Cache string
	// Folders are the folders of the machine that a run can use. Hosts are the servers to which it can send HTTP
	// requests: "api.example.com", "*.example.com:8443", "http://localhost:8080".
	Folders []Folder
	Hosts   []string
	// Compile limits the compilation.
	Compile CompileLimits
}

// Folder is a folder of the machine that a module gets.
type Folder struct {
	// Path is the folder, As its absolute path inside of the module.
	Path, As string
	Write    bool
	// Below, if it is not empty, is a folder that contains Path: links do not lead out of it.
	Below string
}

// CompileLimits limits the compilation of a module. Zero means the default.
type CompileLimits struct {
	Time time.Duration
	// Memory is in bytes. It only limits compilers in child processes; see Child.
	Memory uint64
}
