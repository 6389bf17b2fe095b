package replace

import (
	"os"
	"strings"
	"sync"
)

// boot names this start of the system, which sees the locks of all its processes; "" if it is unknown.
var boot = sync.OnceValue(func() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
})
