package host

import (
	"os"
	"runtime"
	"slices"
)

// longestForSockets is the maximum length of the name of a folder for plugins' sockets. Systems limit the path of a
// socket to 103 bytes; below the folder there is one for the plugin, with the socket in it:
// "/plugin-dir1234567890/plugin1234567890".
const longestForSockets = 103 - 38

// socketFolder selects the folder for a plugin's socket: the one for temporary files, or the system's default if no
// socket can be created there, because the name is too long or the folder is not writable. The second result is the
// environment that the plugin then needs, because older plugins ignore the variable for the folder.
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
	return first, nil // the start will fail with the reason
}

func holdsSockets(dir string) bool {
	if len(dir) > longestForSockets {
		return false
	}
	try, err := os.MkdirTemp(dir, "plugin-dir")
	return err == nil && os.Remove(try) == nil
}
