package world

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// behaviour combines the directives of an object and the rates of the provider for one call.
type behaviour struct {
	delay time.Duration
	// fail fails before the change takes effect. half makes a creation fail after it: "error" returns the object,
	// "lost" does not.
	fail  bool
	half  string
	drift string
	deaf  bool
	early bool
}

// directives maps the keys of `behave` to descriptions of their values.
var directives = map[string]string{
	"delay": "a duration such as 50ms",
	"fail": "create, update, delete or read, or several of them with commas between; with :2 behind for the first " +
		"two tries",
	"half": "error (fails after creating, and tells what it created), lost (the same, and its answer does not say " +
		"what exists) or early (tells the id before it goes on)",
	"drift": "value or removed: what happens to the object before it is read next, once",
	"deaf":  "yes: interruptions are not heard",
}

// readDirectives checks directives and returns an invalid key.
func readDirectives(d map[string]string, op string, try int) (b behaviour, wrong string, err error) {
	for _, key := range slices.Sorted(keys(d)) {
		v := d[key]
		switch key {
		case "delay":
			b.delay, err = time.ParseDuration(v)
		case "fail":
			b.fail, err = failing(v, op, try)
		case "half":
			b.half, b.early = v, v == "early"
			if b.early {
				b.half = ""
			}
			if v != "error" && v != "lost" && v != "early" {
				err = errors.New("no such kind")
			}
		case "drift":
			if b.drift = v; v != "value" && v != "removed" {
				err = errors.New("no such kind")
			}
		case "deaf":
			if b.deaf = v == "yes"; !b.deaf {
				err = errors.New("no such answer")
			}
		default:
			return b, key, fmt.Errorf("there is no directive %q; there are delay, fail, half, drift and deaf", key)
		}
		if err != nil {
			return b, key, fmt.Errorf("%s: expected %s, found %q", key, directives[key], v)
		}
	}
	return b, "", nil
}

func keys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// failing parses "create:2,update" and reports whether this try fails.
func failing(v, op string, try int) (bool, error) {
	fails := false
	for _, part := range strings.Split(v, ",") {
		what, times, limited := strings.Cut(strings.TrimSpace(part), ":")
		if what != "create" && what != "update" && what != "delete" && what != "read" {
			return false, errors.New("no such operation")
		}
		n := math.MaxInt
		if limited {
			var err error
			if n, err = strconv.Atoi(times); err != nil {
				return false, err
			}
		}
		fails = fails || what == op && try <= n
	}
	return fails, nil
}

// rates are the provider's rates of faults.
type rates struct {
	seed              int64
	delay             time.Duration
	fail, half, drift float64
}

// of returns the behaviour of one call. It only depends on the call, not on concurrent ones.
func (r rates) of(b behaviour, op, name string, try int) behaviour {
	if b.delay == 0 && r.delay > 0 {
		b.delay = time.Duration(r.roll("delay", op, name, try) * float64(r.delay))
	}
	b.fail = b.fail || op != "read" && r.roll("fail", op, name, try) < r.fail
	if b.half == "" && op == "create" && r.roll("half", op, name, try) < r.half {
		b.half = "error"
	}
	if b.drift == "" && op == "read" && r.roll("drift", op, name, try) < r.drift {
		b.drift = "value"
	}
	return b
}

// roll returns a number from 0 to below 1.
func (r rates) roll(what, op, name string, try int) float64 {
	h := fnv.New64a()
	var seed [8]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(r.seed))
	h.Write(seed[:])
	fmt.Fprintf(h, "%s %s %d %s", what, op, try, name)
	// The last bytes hardly affect the upper bits of this hash: mix once more.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

var errInterrupted = errors.New("interrupted")

// pause waits for the delay, unless it is interrupted.
func (b behaviour) pause(ctx context.Context, stopped <-chan struct{}) error {
	if !b.deaf && ctx.Err() != nil {
		return errInterrupted
	}
	if b.delay <= 0 {
		return nil
	}
	timer := time.NewTimer(b.delay / 2)
	defer timer.Stop()
	if b.deaf {
		<-timer.C
		return nil
	}
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
	case <-stopped:
	}
	return errInterrupted
}
