package replace

import (
	"sync"

	"golang.org/x/sys/unix"
)

// boot names this start of the system, which sees the locks of all its processes; "" if it is unknown.
var boot = sync.OnceValue(func() string {
	text, _ := unix.Sysctl("kern.bootsessionuuid")
	return text
})
