package program

import "time"

// SetTimeout sets how long a driver waits for a response.
func (d *Driver) SetTimeout(t time.Duration) { d.c.o.Timeout = t }
