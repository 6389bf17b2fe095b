package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// A result is the complete result of one run of bench.
type result struct {
	Header  string    `json:"header"`
	Started time.Time `json:"started"`
	Rows    []row     `json:"rows"`
}

// header describes the machine, as far as it affects the numbers, and the versions of the programs.
func header(ctx context.Context, contenders []contender) string {
	parts := []string{cpuModel(), fmt.Sprintf("%d cores", runtime.NumCPU()), runtime.GOOS + "/" + runtime.GOARCH}
	for _, c := range contenders {
		cmd := exec.CommandContext(ctx, c.bin, "version")
		cmd.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1")
		out, err := cmd.Output()
		first, _, _ := strings.Cut(string(out), "\n")
		if err != nil || first == "" {
			first = "version unknown"
		}
		parts = append(parts, c.name+": "+first)
	}
	return strings.Join(parts, "; ")
}

func cpuModel() string {
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	if out, err := exec.Command("sysctl", "-n", "machdep.cpu.brand_string").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	return "unknown CPU"
}

// A tableWriter writes one table.
type tableWriter func(w io.Writer, head []string, lines [][]string) error

func textTable(w io.Writer, head []string, lines [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range append([][]string{head}, lines...) {
		fmt.Fprintln(tw, strings.Join(line, "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

func markdownTable(w io.Writer, head []string, lines [][]string) error {
	write := func(line []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(line, " | ")) }
	write(head)
	rule := make([]string, len(head))
	for i := range rule {
		rule[i] = "---"
	}
	write(rule)
	for _, line := range lines {
		write(line)
	}
	_, err := fmt.Fprintln(w)
	return err
}

// writeTable writes the rows of one shape at one size: for each contender wall time, CPU time and peak memory, and for
// each reference the ratios of its wall time and memory to tombolo's.
func writeTable(w io.Writer, rows []row, table tableWriter) error {
	if len(rows) == 0 {
		return nil
	}
	contenders := rows[0].Cells
	references := len(contenders) - 1
	head := []string{fmt.Sprintf("%s n=%d", rows[0].Shape, rows[0].N)}
	for _, c := range contenders {
		head = append(head, c.Contender, "cpu", "memory")
	}
	for _, c := range contenders[:references] {
		head = append(head, c.Contender+"/tombolo time", "memory")
	}
	var lines [][]string
	var failures []string
	for _, r := range rows {
		for len(r.Cells) <= references { // the baseline of the external shape only has the first step
			r.Cells = append([]cell{{absent: true}}, r.Cells...)
		}
		line := []string{r.Step}
		for _, c := range r.Cells {
			line = append(line, describe(c)...)
			if c.Failed != "" {
				failures = append(failures, fmt.Sprintf("%s, %s: %s", r.Step, c.Contender, c.Failed))
			}
		}
		for _, c := range r.Cells[:references] {
			line = append(line, ratios(c, r.Cells[references])...)
		}
		lines = append(lines, line)
	}
	if line := total(rows); line != nil {
		lines = append(lines, line)
	}
	if err := table(w, head, lines); err != nil {
		return err
	}
	for _, f := range failures {
		fmt.Fprintf(w, "failed: %s\n\n", f)
	}
	return nil
}

// total returns the totals of all contenders: the sum of times and the maximum of memory. A total is empty if a step is
// missing, and for the baseline of the external shape, which only has one step.
func total(rows []row) []string {
	width := len(rows[0].Cells)
	sums := make([]sample, width)
	for _, r := range rows {
		if len(r.Cells) != width {
			return nil
		}
		for i, c := range r.Cells {
			m, ok := c.median()
			if !ok {
				return nil
			}
			sums[i] = sample{Wall: sums[i].Wall + m.Wall, CPU: sums[i].CPU + m.CPU, RSS: max(sums[i].RSS, m.RSS)}
		}
	}
	line := []string{"all"}
	for _, s := range sums {
		line = append(line, describe(cell{Samples: []sample{s}})...)
	}
	for _, s := range sums[:width-1] {
		line = append(line, ratios(cell{Samples: []sample{s}}, cell{Samples: []sample{sums[width-1]}})...)
	}
	return line
}

func describe(c cell) []string {
	m, ok := c.median()
	switch {
	case c.absent:
		return []string{"", "", ""}
	case c.TimedOut:
		return []string{"> " + seconds(c.Limit), "", ""}
	case c.Failed != "":
		return []string{"failed", "", ""}
	case !ok:
		return []string{"skipped", "", ""}
	}
	return []string{seconds(m.Wall), seconds(m.CPU), megabytes(m.RSS)}
}

func seconds(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	if d < time.Second {
		return fmt.Sprintf("%.0f ms", d.Seconds()*1000)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func megabytes(n int64) string {
	if n == 0 {
		return "?"
	}
	return fmt.Sprintf("%d MB", (n+500_000)/1_000_000)
}

// ratios returns the ratios of a reference to tombolo.
func ratios(reference, tombolo cell) []string {
	a, okA := reference.median()
	b, okB := tombolo.median()
	if !okA || !okB || b.Wall == 0 {
		return []string{"", ""}
	}
	memory := ""
	if a.RSS > 0 && b.RSS > 0 {
		memory = times1(float64(a.RSS) / float64(b.RSS))
	}
	return []string{times1(float64(a.Wall) / float64(b.Wall)), memory}
}

func times1(f float64) string { return fmt.Sprintf("%.1fx", f) }

// writeGrowth writes, for every shape with several sizes, the ratio of the times for a larger and the smallest size.
// Linear growth shows as the ratio of the sizes.
func writeGrowth(w io.Writer, rows []row, table tableWriter) error {
	var lines [][]string
	for i, small := range rows {
		for _, large := range rows[i+1:] {
			if large.Shape != small.Shape || large.Step != small.Step || large.N <= small.N {
				continue
			}
			line := []string{small.Shape, small.Step, fmt.Sprintf("%d to %d", small.N, large.N),
				times1(float64(large.N) / float64(small.N))}
			a, okA := small.Cells[len(small.Cells)-1].median()
			b, okB := large.Cells[len(large.Cells)-1].median()
			if okA && okB {
				lines = append(lines, append(line, times1(float64(b.Wall)/float64(a.Wall)),
					times1(float64(b.CPU)/float64(max(a.CPU, 1))), times1(float64(b.RSS)/float64(max(a.RSS, 1))),
					perObject(b.RSS-a.RSS, large.Objects-small.Objects)))
			}
			break
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return table(w, []string{"tombolo's growth", "step", "n", "size", "time", "cpu", "memory",
		"more memory an object"}, lines)
}

// perObject returns the additional bytes for each additional object.
func perObject(bytes int64, objects int) string {
	if objects <= 0 {
		return ""
	}
	return fmt.Sprintf("%.1f kB", float64(bytes)/float64(objects)/1000)
}

func (r result) writeMarkdown(w io.Writer) error {
	fmt.Fprintf(w, "%s (%s)\n\nMedians of wall time, CPU time and peak memory.\n\n", r.Header,
		r.Started.Format(time.DateOnly))
	for start := 0; start < len(r.Rows); {
		end := start
		for end < len(r.Rows) && r.Rows[end].Shape == r.Rows[start].Shape && r.Rows[end].N == r.Rows[start].N {
			end++
		}
		if err := writeTable(w, r.Rows[start:end], markdownTable); err != nil {
			return err
		}
		start = end
	}
	return writeGrowth(w, r.Rows, markdownTable)
}

func (r result) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}
