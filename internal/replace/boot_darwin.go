package replace

import (
	"sync"

	"golang.org/x/sys/unix"
)

// boot identifies the current boot of the system, which sees the locks of all its processes. It is "" if unknown.
var boot = sync.OnceValue(func() string {
	text, _ := unix.Sysctl("kern.bootsessionuuid")
	return text
})
