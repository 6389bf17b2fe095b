package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// secretsMain implements "bench secrets". It measures how much longer the plan of a change of n objects takes, with its
// text, if the run knows secrets that it has to hide. A project whose variable is sensitive is compared with one in
// which the same variable is not. The two are measured in pairs, alternately first, so that both see the same machine;
// the medians are compared.
func secretsMain(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench secrets", flag.ContinueOnError)
	flags.SetOutput(stderr)
	n := flags.Int("n", 100_000, "number of objects")
	numbers := flags.String("secrets", "1,1000", "numbers of secrets, separated by commas")
	pairs := flags.Int("pairs", 7, "pairs of plans for each number")
	limit := flags.Float64("limit", 0, "fail if the CPU time grows by more than this percentage")
	o := options{terraform: "none", tofu: "none", timeout: 10 * time.Minute}
	flags.StringVar(&o.tombolo, "tombolo", "", "tombolo to measure; empty to build ./cmd/tombolo")
	if err := flags.Parse(args); err != nil {
		return err
	}
	remove, err := o.prepare(ctx)
	defer remove()
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s\n\nplan of a change of %d objects, medians of %d pairs\n\n", header(ctx, o.contenders), *n,
		*pairs)
	fmt.Fprint(stdout, "| secrets | CPU without | with | | wall without | with | |\n|---|---|---|---|---|---|---|\n")
	for _, word := range strings.Split(*numbers, ",") {
		secrets, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || secrets < 1 {
			return fmt.Errorf("number of secrets %q: want at least 1", word)
		}
		p, err := o.measurePairs(ctx, *n, secrets, *pairs, stderr)
		if err != nil {
			return err
		}
		cpu, wall := p.growth(func(s sample) time.Duration { return s.CPU }),
			p.growth(func(s sample) time.Duration { return s.Wall })
		fmt.Fprintf(stdout, "| %d | %s | %+.1f %% | %s | %+.1f %% |\n", secrets,
			p.medians(func(s sample) time.Duration { return s.CPU }), cpu,
			p.medians(func(s sample) time.Duration { return s.Wall }), wall)
		if *limit > 0 && cpu > *limit {
			return fmt.Errorf("with %d secrets a plan takes %.1f %% more CPU time; at most %.1f %% are promised",
				secrets, cpu, *limit)
		}
	}
	return nil
}

// pairs are the samples of plans without secrets and with them, in pairs.
type pairs struct{ without, with cell }

// growth returns the percentage by which the median of a measure grows. The median of the pairs' growths would be that
// of one order: the second plan of a pair finds the machine in another state than the first.
func (p pairs) growth(of func(sample) time.Duration) float64 {
	return 100 * (float64(middle(p.with.Samples, of))/float64(middle(p.without.Samples, of)) - 1)
}

func (p pairs) medians(of func(sample) time.Duration) string {
	return fmt.Sprintf("%.2f s | %.2f s", middle(p.without.Samples, of).Seconds(), middle(p.with.Samples, of).Seconds())
}

// measurePairs applies both projects and plans a change of all objects.
func (o options) measurePairs(ctx context.Context, n, secrets, number int, progress io.Writer) (pairs, error) {
	change := step{"plan", []string{"plan", "-input=false", "-no-color", "-var=edition=2"},
		"Plan: 0 to add, %d to change, 0 to destroy."}
	var p pairs
	both := []struct {
		e *entrant
		c *cell
	}{{nil, &p.without}, {nil, &p.with}}
	for i := range both {
		dir := filepath.Join(o.workDir, fmt.Sprintf("secrets-%d-%d", secrets, i))
		e := &entrant{contender: o.contenders[0], dir: dir,
			steps: []step{change}, cliConfig: filepath.Join(o.workDir, "empty.tfrc")}
		defer os.RemoveAll(e.dir)
		if err := writeSource(filepath.Join(e.dir, "main.tf"), func(w io.Writer) {
			writeSecrets(w, n, secrets, i == 1)
		}); err != nil {
			return p, err
		}
		e.prepare(ctx)
		var c cell
		e.measure(ctx, &c, usual[1], n+1, o.timeout)
		if c.Failed != "" || c.TimedOut {
			return p, fmt.Errorf("apply: %s", c.Failed)
		}
		both[i].e = e
	}
	for i := range number {
		fmt.Fprintf(progress, "%d secrets: pair %d of %d\n", secrets, i+1, number)
		for j := range both {
			b := both[(i+j)%2]
			b.e.measure(ctx, b.c, change, n, o.timeout)
			if b.c.Failed != "" || b.c.TimedOut {
				return p, fmt.Errorf("plan: %s", b.c.Failed)
			}
		}
	}
	return p, ctx.Err()
}

// writeSecrets writes n objects that do not contain secrets, and one that has all of them.
func writeSecrets(w io.Writer, n, secrets int, sensitive bool) {
	fmt.Fprintf(w, "variable \"edition\" { default = 1 }\nvariable \"secrets\" {\n  sensitive = %v\n  default = [\n",
		sensitive)
	for i := range secrets {
		fmt.Fprintf(w, "    \"correct horse %08x battery staple\",\n", uint32(i+1)*2654435761)
	}
	fmt.Fprintf(w, `  ]
}
resource "terraform_data" "secret" { input = var.secrets }
resource "terraform_data" "a" {
  count = %d
  input = {
    name    = "item ${count.index}"
    address = "https://host-${count.index}.example.com/v${var.edition}"
    edition = var.edition
  }
}
`, n)
}
