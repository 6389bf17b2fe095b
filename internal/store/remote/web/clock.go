package web

import (
	"net/http"
	"sync"
	"time"
)

// Clock is the clock of a service, which determines the time in signatures. It equals the clock of this machine until
// the service refuses a request and reports another time. Its methods may be called concurrently.
type Clock struct {
	mu   sync.Mutex
	skew time.Duration // how far the service's clock is ahead
}

// Clocks may differ by less than tolerated. A reported time that differs from the adopted one by less than same is
// not a new one.
const (
	tolerated = 5 * time.Minute
	same      = time.Minute
)

// Now returns the current time of the service.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.skew).UTC()
}

// Adopt adopts the service's time if a request was refused and the clocks differ too much. It is the Renew function of
// a client.
func (c *Clock) Adopt(_ *http.Request, a *Answer) bool {
	there, err := http.ParseTime(a.Header.Get("Date"))
	if a.Status != http.StatusForbidden && a.Status != http.StatusUnauthorized || err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	off := time.Until(there)
	if off.Abs() < tolerated || (off-c.skew).Abs() < same {
		return false
	}
	c.skew = off
	return true
}
