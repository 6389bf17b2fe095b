package host

import (
	"os"
	"runtime"
	"slices"
)

// longestForSockets is the maximum length of the name of a folder for the sockets of plugins. Systems take at most 103
// bytes of path as the address of a socket; below that folder comes one only for the plugin, and in it the socket:
// "/plugin-dir1234567890/plugin1234567890".
const longestForSockets = 103 - 38

// socketFolder chooses the folder for a plugin's socket: that for temporary files, or, where no socket can be made
// there because its name is too long or nothing can be written, the system's. The second result is what the environment
// of the plugin then needs, since older plugins ignore the variable for the folder.
func socketFolder() (dir string, env []string) {
	first := os.TempDir()
	if runtime.GOOS == "windows" {
		return first, nil // plugins listen on a port there
	}
	for i, dir := range slices.Compact([]string{first, "/tmp", "/var/tmp"}) {
		if !holdsSockets(dir) {
			continue
		}
		if i > 0 {
			env = []string{"TMPDIR=" + dir}
		}
		return dir, env
	}
	return first, nil // the start fails with the reason
}

func holdsSockets(dir string) bool {
	if len(dir) > longestForSockets {
		return false
	}
	try, err := os.MkdirTemp(dir, "plugin-dir")
	return err == nil && os.Remove(try) == nil
}
