package replace

import (
	"os"
	"strings"
	"sync"
)

// boot identifies the current boot of the system, which sees the locks of all its processes. It is "" if unknown.
var boot = sync.OnceValue(func() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
})
