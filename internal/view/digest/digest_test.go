package digest

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	create = Verbs{"creating", "created"}
	remove = Verbs{"destroying", "destroyed"}
)

func TestAGroupHasOneLineInTenSeconds(t *testing.T) {
	var lines []string
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		d := New(Options{Say: func(line string) {
			lines = append(lines, fmt.Sprintf("%3.0fs %s", time.Since(began).Seconds(), line))
		}})
		for i := range 30 {
			d.Start("demo_thing.web", fmt.Sprint(i), create)
		}
		d.Start("demo_thing.db", "", remove)
		time.Sleep(5 * time.Second)
		for i := range 12 {
			d.End("demo_thing.web", fmt.Sprint(i), create, false)
		}
		d.End("demo_thing.db", "", remove, false)
		time.Sleep(9 * time.Second)
		for i := range 17 {
			d.End("demo_thing.web", fmt.Sprint(i+12), create, i == 0)
		}
		time.Sleep(30 * time.Second)
		d.End("demo_thing.web", "29", create, false)
		d.Close()
		d.Close()
	})
	want := `
 10s demo_thing.web: 12 created, 18 creating (the longest for 10s)
 10s demo_thing.db: 1 destroyed
 20s demo_thing.web: 28 created, 1 not created, 1 creating (for 20s)
 30s demo_thing.web: 28 created, 1 not created, 1 creating (for 30s)
 40s demo_thing.web: 28 created, 1 not created, 1 creating (for 40s)
 44s demo_thing.web: 29 created, 1 not created`
	if got := "\n" + strings.Join(lines, "\n"); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

var counted = regexp.MustCompile(`(\d+) (not )?(created|destroyed)`)

// After random operations the last lines of the groups count each operation once, and no group has more lines than
// ten-second intervals and flushes.
func TestLastLinesCountAllOperations(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		want, last, lines := map[string]int{}, map[string]string{}, map[string]int{}
		var took time.Duration
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			d := New(Options{Say: func(line string) {
				name, rest, _ := strings.Cut(line, ": ")
				last[name] = rest
				lines[name]++
			}})
			for i := range r.IntN(200) {
				name, v := fmt.Sprintf("g%d", r.IntN(5)), []Verbs{create, remove}[r.IntN(2)]
				d.Start(name, fmt.Sprint(i), v)
				time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
				failed := r.IntN(4) == 0
				d.End(name, fmt.Sprint(i), v, failed)
				key := name + " " + v.Done
				if failed {
					key = name + " not " + v.Done
				}
				want[key]++
			}
			d.Close()
			took = time.Since(began)
		})
		got := map[string]int{}
		for name, rest := range last {
			for _, m := range counted.FindAllStringSubmatch(rest, -1) {
				got[name+" "+m[2]+m[3]], _ = strconv.Atoi(m[1])
			}
			if most := int(took/Every) + 1; lines[name] > most {
				t.Errorf("seed %d: %d lines of %s in %s", seed, lines[name], name, took)
			}
		}
		for key, n := range want {
			if got[key] != n {
				t.Errorf("seed %d: %s: %d, want %d", seed, key, got[key], n)
			}
		}
		if len(got) != len(want) {
			t.Errorf("seed %d: got %v, want %v", seed, got, want)
		}
	}
}
