package program

import "time"

// SetTimeout changes how long the program may take for an answer.
func (d *Driver) SetTimeout(t time.Duration) { d.c.o.Timeout = t }
