package view

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var moreObjects = regexp.MustCompile(`and (\d+) more`)

// For random plans the Markdown is within its limit, lists or counts each change once, lists losses first, and closes
// all elements.
func TestMarkdownIsValidAndCompleteAtAnySize(t *testing.T) {
	order := map[string]int{"delete": 0, "replace": 1, "forget": 2, "update": 3, "create": 4}
	cut := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 2))
		p := randomPlan(r)
		limit := 0
		if r.IntN(4) > 0 {
			limit = LeastMarkdown + r.IntN(6000)
		}
		var out bytes.Buffer
		hash := []string{"", "sha256:" + strings.Repeat("0", 64)}[r.IntN(2)]
		if err := Markdown(Options{Out: &out}, p, nil, limit, hash); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if hash != "" && !strings.HasSuffix(text, "\n\nPlan file: `"+hash+"`\n") {
			t.Errorf("seed %d: the hash is missing", seed)
		}
		if limit > 0 && len(text) > limit {
			t.Errorf("seed %d: %d bytes, at most %d are allowed", seed, len(text), limit)
		}
		text, _, _ = strings.Cut(text, "\nPlan file: ")
		table, details, has := strings.Cut(text, "<details>")
		fences := 2 * strings.Count(text, "<details>")
		if has != strings.HasSuffix(text, "```\n\n</details>\n") || strings.Count(text, "\n```") != fences {
			t.Errorf("seed %d: something is not closed", seed)
		}
		whole := has && !strings.Contains(details, "more lines\n```")
		if !whole {
			cut++
		}
		if limit == 0 && !whole || !has && !strings.Contains(text, "no room") {
			t.Errorf("seed %d: details are left out, and nothing says so", seed)
		}
		want, got, last := len(shownChanges(p)), 0, 0
		for line := range strings.Lines(table) {
			cells := strings.Split(strings.TrimSpace(line), "|")
			if len(cells) < 4 || strings.Contains(line, "---") || strings.Contains(line, "Action") {
				continue
			}
			if action := strings.TrimSpace(cells[1]); action != "" {
				if order[action] < last {
					t.Errorf("seed %d: %s comes late", seed, action)
				}
				last = order[action]
			}
			addresses, more := named(strings.Trim(strings.TrimSpace(cells[2]), "`"))
			if m := moreObjects.FindStringSubmatch(line); m != nil && strings.TrimSpace(cells[1]) == "" {
				n, _ := strconv.Atoi(m[1])
				got += n
				continue
			}
			got += len(addresses) + more
		}
		if got != want {
			t.Errorf("seed %d: %d changes are named or counted, want %d", seed, got, want)
		}
		if t.Failed() {
			t.Fatal(fmt.Sprintf("limit %d\n", limit) + text)
		}
	}
	if cut < 50 {
		t.Errorf("only %d were cut", cut)
	}
}
