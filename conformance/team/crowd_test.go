//go:build unix

package team

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Many applies at once, from ten machines, wait for each other, and each finds what the others made: nothing is lost,
// and nothing is made twice. TOMBOLO_TEAM_APPLIES=n asks for n of them.
func TestManyAppliesAtOnceLoseNothing(t *testing.T) {
	const machines = 10
	applies := 10
	if n, err := strconv.Atoi(os.Getenv("TOMBOLO_TEAM_APPLIES")); err == nil {
		applies = n
	}
	for _, name := range []string{"pg 1", "s3 1"} {
		t.Run(name, func(t *testing.T) {
			p := places(t)[name]
			var crowd []*member
			for n := range machines {
				crowd = append(crowd, p.member(t, fmt.Sprint("machine ", n), ours))
			}
			var names []string
			for n := range applies {
				names = append(names, fmt.Sprintf("%q", fmt.Sprint("n", n)))
			}
			all := "-var=names=[" + strings.Join(names, ",") + "]"
			began := time.Now()
			errs := make([]error, applies)
			var wg sync.WaitGroup
			for n := range applies {
				wg.Go(func() {
					out, err := crowd[n%machines].try("apply", "-auto-approve", "-no-color", "-lock-timeout=20m", all,
						fmt.Sprintf("-target=terraform_data.thing[%s]", names[n]))
					if err == nil && !strings.Contains(out, "1 added, 0 changed, 0 destroyed") {
						err = errors.New("it did not add one object")
					}
					if err != nil {
						errs[n] = fmt.Errorf("apply %d: %w\n%s", n, err, out)
					}
				})
			}
			wg.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d applies took %s", applies, time.Since(began).Round(time.Millisecond))
			crowd[0].run("apply", "-auto-approve", "-no-color", all) // the output, and nothing else
			crowd[1].idle(all)
			ids := crowd[2].ids()
			distinct := map[string]bool{}
			for _, id := range ids {
				distinct[id] = true
			}
			if len(distinct) != applies {
				t.Errorf("%d objects, want %d", len(distinct), applies)
			}
			if list := strings.Count(crowd[3].run("state", "list"), "\n"); list != applies {
				t.Errorf("the state has %d objects", list)
			}
		})
	}
}
