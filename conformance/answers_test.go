package conformance

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// answersDir holds the recorded results of terraform for the cases of the corpus, so that the corpus runs without
// terraform, and compares with the same results every time.
const answersDir = "answers"

// answersFormat is part of every digest. Increment it if run_test.go runs terraform in another way.
const answersFormat = "1"

var (
	recordAnswers = flag.String("answers", "",
		"instead of running the corpus, ask terraform for its answers: `missing` ones or all")
	recordRuns = flag.Int("answers.runs", 10, "how often terraform is asked about a case")
)

// An Answer is the result of terraform in a case: one complete run, and the places at which other runs of the case
// differed.
type Answer struct {
	Terraform string // version of the oracle
	Digest    string // of the case, see digest
	Runs      int    // the number of runs
	Varies    []Place
	Record    Record
}

// A Place is a path in one step's documents at which the runs of terraform differed.
type Place struct {
	Step int // index into the case's steps
	Path string
}

// covers reports whether a difference is at, above or below the place.
func (p Place) covers(d Difference) bool {
	return p.Step == d.Step && (within(p.Path, d.Path) || within(d.Path, p.Path))
}

// within reports whether path is outer or below it.
func within(outer, path string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// digest identifies the version of a case. It covers the text of the case, the method of the harness, and the published
// providers that it uses.
func (c *Case) digest() string {
	key := []string{answersFormat, c.Hash}
	for _, name := range c.plugins {
		key = append(key, plugins[name].key())
	}
	sum := sha256.Sum256([]byte(strings.Join(key, "\n")))
	return hex.EncodeToString(sum[:8])
}

// storable reports whether the answer to a case can be stored: only if terraform runs every step. If the binaries swap,
// the answer depends on what tombolo did before.
func (c *Case) storable() bool { return !c.swaps() }

func answerPath(dir string, c *Case) string {
	return filepath.Join(dir, filepath.FromSlash(c.Name)+".json.gz")
}

// loadAnswer returns the stored answer to a case, or nil without one for this platform and version of the case.
func loadAnswer(dir string, c *Case) (*Answer, error) {
	if !c.storable() || runtime.GOOS != "linux" { // the answers were recorded there; paths and signals differ elsewhere
		return nil, nil
	}
	data, err := os.ReadFile(answerPath(dir, c))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a, err := parseAnswer(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", answerPath(dir, c), err)
	}
	if a.Digest != c.digest() || a.Terraform != c.oracle.version || len(a.Record.Results) != len(c.Steps) {
		return nil, nil
	}
	a.Record.tidy(c)
	return a, nil
}

func parseAnswer(data []byte) (*Answer, error) {
	var a Answer
	return &a, unpackJSON(data, &a)
}

func storeAnswer(dir string, c *Case, a *Answer) error { return storeJSON(answerPath(dir, c), a) }

// unpackJSON decodes the output of storeJSON into v.
func unpackJSON(packed []byte, v any) error {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// storeJSON writes v as compressed JSON to a temporary file and renames it, so that an interrupted run leaves no
// partial file.
func storeJSON(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, werr := z.Write(text)
	if err := errors.Join(werr, z.Close()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", packed.Bytes(), 0o666); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// add merges another run of terraform into an answer, and reports whether it differed at a new place.
func (a *Answer) add(c *Case, rec *Record) bool {
	before := len(a.Varies)
	for _, d := range differences(c, &a.Record, rec) {
		if !slices.ContainsFunc(a.Varies, func(p Place) bool { return p.covers(d) }) {
			a.Varies = append(a.Varies, Place{d.Step, container(d.Path)})
		}
	}
	a.Runs++
	return len(a.Varies) > before
}

// container returns the path of the list that contains an element if the element itself is added, removed or moved,
// because the next run may have yet another one. Any other path is returned unchanged.
func container(path string) string {
	path = strings.TrimSuffix(path, ".(order)")
	if !strings.HasSuffix(path, "]") {
		return path
	}
	depth := 0
	for i := len(path) - 1; i >= 0; i-- {
		switch path[i] {
		case ']':
			depth++
		case '[':
			if depth--; depth == 0 {
				return path[:i]
			}
		}
	}
	return path
}

// differences compares two runs of one case, each with its own names for random values. It stops at a step whose exit
// codes differ, because all later differences would follow from that.
func differences(c *Case, a, b *Record) (all []Difference) {
	left, right := c.normaliser(), c.normaliser()
	for i, s := range c.Steps {
		x, y := view(s, a.Results[i], left), view(s, b.Results[i], right)
		onlyShared(x, y)
		for _, d := range compareDocuments(x, y) {
			d.Case, d.Step = c.Name, i
			all = append(all, d)
		}
		if compact(x["exit"]) != compact(y["exit"]) {
			break
		}
	}
	return all
}

// ask runs a case once with terraform.
func (h *harness) ask(t *testing.T, c *Case) *Record {
	t.Helper()
	rec, err := record(h.oracle(c), h.ours(c), caseDir(t, c, "terraform"), c)
	if err != nil {
		t.Fatalf("terraform: %v", err)
	}
	rec.tidy(c)
	return rec
}

// answer returns the result of terraform in a case, stored or from a run now.
func (h *harness) answer(t *testing.T, c *Case) (a *Answer, live bool) {
	t.Helper()
	a, err := loadAnswer(h.answers, c)
	if err != nil {
		t.Fatal(err)
	}
	if a != nil && !h.asksAnyway {
		return a, false
	}
	if h.oracle(c) == "" {
		t.Skipf("needs %s: there is no stored answer to this case", c.oracle.where())
	}
	return &Answer{Terraform: c.oracle.version, Digest: c.digest(), Runs: 1, Record: *h.ask(t, c)}, true
}

// recordMissing stores the answers to the cases that have none, or to all cases.
func (h *harness) recordMissing(t *testing.T, cases []*Case, which string) {
	slots := make(chan struct{}, atOnce)
	t.Run("record", func(t *testing.T) {
		for _, c := range cases {
			if a, err := loadAnswer(h.answers, c); !c.storable() || err == nil && a != nil && which == "missing" {
				continue
			}
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				h.recordOne(t, c)
			})
		}
	})
}

func (h *harness) recordOne(t *testing.T, c *Case) {
	if why := c.missing(); why != "" {
		t.Skip(why)
	}
	if h.oracle(c) == "" {
		t.Fatalf("needs %s to be asked", c.oracle.where())
	}
	a := &Answer{Terraform: c.oracle.version, Digest: c.digest(), Runs: 1, Record: *h.ask(t, c)}
	for a.Runs < *recordRuns {
		a.add(c, h.ask(t, c))
	}
	for _, p := range a.Varies {
		t.Logf("line %d: terraform's answer varies at %s", c.Steps[p.Step].Line, p.Path)
	}
	if err := storeAnswer(h.answers, c, a); err != nil {
		t.Fatal(err)
	}
}

// TestStoredAnswersAreThoseOfTerraform runs the real terraform again and compares with the stored answers, case by
// case. It takes as long as recording once, so it only runs with TOMBOLO_CONFORMANCE_ANSWERS=check.
func TestStoredAnswersAreThoseOfTerraform(t *testing.T) {
	if os.Getenv("TOMBOLO_CONFORMANCE_ANSWERS") != "check" {
		t.Skip("runs with TOMBOLO_CONFORMANCE_ANSWERS=check: it asks terraform about the whole corpus")
	}
	h := newHarness(t, "testdata", answersDir, "intended.json")
	if h.oracles[terraform1_11.name] == "" {
		t.Fatalf("TOMBOLO_CONFORMANCE_ANSWERS=check needs %s", terraform1_11.where())
	}
	slots := make(chan struct{}, atOnce)
	for _, c := range h.corpus {
		t.Run(c.Name, func(t *testing.T) {
			if !c.storable() || c.missing() != "" {
				t.Skip("runs for cases with a stored answer")
			}
			if h.oracle(c) == "" {
				t.Skipf("needs %s", c.oracle.where())
			}
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			a, err := loadAnswer(h.answers, c)
			if err != nil || a == nil {
				t.Fatalf("no stored answer: %v", err)
			}
			if a.add(c, h.ask(t, c)) {
				t.Errorf("terraform gives another answer than the stored one, of %d runs, at %v", a.Runs-1, a.Varies)
			}
		})
	}
}

// TestEveryCaseHasAnAnswer finds cases that were added or changed without recording an answer, and answers without a
// case.
func TestEveryCaseHasAnAnswer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("runs on Linux: the stored answers are from there")
	}
	cases, err := loadCases("testdata")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range cases {
		known[answerPath(answersDir, c)] = c.storable()
		a, err := loadAnswer(answersDir, c)
		if err != nil {
			t.Error(err)
		} else if a == nil && c.storable() && c.missing() == "" {
			t.Errorf("%s has no stored answer: go test ./conformance -run 'TestConformance$' -answers=missing", c.Name)
		}
	}
	err = filepath.WalkDir(answersDir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !known[path] {
			t.Errorf("%s is the answer to no case: remove it", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
