package objects_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
)

// shelf is a space to which anyone may have written.
type shelf struct {
	mu    sync.Mutex
	data  map[string][]byte
	asked []string
}

// Get implements objects.Space.
func (s *shelf) Get(_ context.Context, name string) ([]byte, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, name)
	data, there := s.data[name]
	if !there {
		return nil, "", nil
	}
	return data, "1", nil
}

// Put implements objects.Space.
func (s *shelf) Put(_ context.Context, name string, data []byte, _ string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data[name] = data
	return "2", nil
}

// Remove implements objects.Space.
func (s *shelf) Remove(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, name)
	return nil
}

// Name implements objects.Space.
func (s *shelf) Name(name string) string { return name }

// judge reads a journal with this head, and starts a new one in its place. Both must only access parts of the journal.
func judge(t *testing.T, head string) (chunks int, err error) {
	t.Helper()
	s := &shelf{data: map[string][]byte{"folder/journal": []byte(head)}}
	j, err := objects.New(s, "folder/", 0).Read(t.Context())
	_, _ = objects.New(s, "folder/", 0).Start(t.Context(), j.Version, []byte("x"))
	for _, name := range s.asked {
		if name != "folder/journal" && (!strings.HasPrefix(name, "folder/") || strings.Contains(name, "..") ||
			strings.ContainsAny(name, "?#\\\n") || len(name) > 1<<16) {
			t.Errorf("the head %.200q has the object %.200q touched", head, name)
		}
	}
	return len(j.Chunks), err
}

// Forged heads cannot make the store read objects outside the journal, or use memory without limit.
func TestHostileHeadsAreRefused(t *testing.T) {
	const begins = `{"tombolo_journal":1,"epoch":3,"id":"A","write":"B",`
	for _, more := range []string{
		`"parts":[{"name":"1-A/00000000-B","pieces":4611686018427387904,"count":1}]`,
		`"parts":[{"name":"1-A/00000000-B","pieces":-1,"count":1}]`,
		`"parts":[{"name":"1-A/00000000-B","pieces":1,"count":-1}]`,
		`"parts":[{"name":"../other/journal","sizes":[1]}]`,
		`"parts":[{"name":"/etc/passwd","sizes":[1]}]`,
		`"parts":[{"name":"1-A/00000000-B?x=y","sizes":[1]}]`,
		`"parts":[{"name":"","sizes":[1]}]`,
		`"old":["../../state"]`,
		`"sizes":[-1]`, `"sizes":[9223372036854775807]`,
		`"parts":[` + strings.Repeat(`{"name":"1-A/00000000-B","pieces":65000},`, 99) + `{"name":"1-A/00000000-B"}]`,
	} {
		if n, err := judge(t, begins+more+"}\n"); err == nil {
			t.Errorf("%.100s gives %d chunks", more, n)
		}
	}
	for _, fine := range []string{`"sizes":[1]`, `"old":["1-A/00000000-B","1-A/00000001-B-3"],"sizes":[1]`} {
		if n, err := judge(t, begins+fine+"}\nx"); err != nil || n != 1 {
			t.Errorf("%s gives %d chunks, %v", fine, n, err)
		}
	}
}

// Any head is handled without a panic.
func FuzzHead(f *testing.F) {
	f.Add(`{"tombolo_journal":1,"epoch":1,"id":"A","write":"B","sizes":[1]}` + "\nx")
	f.Add(fmt.Sprintf(`{"tombolo_journal":1,"epoch":1,"id":"A","parts":[{"name":%q,"sizes":[1]}]}`, "1-A/00000000-B") + "\n")
	f.Add(`{"tombolo_journal":1,"epoch":1,"parts":[{"name":"1-A/0-B","pieces":3,"count":9}],"old":["1-A/0-C"]}` + "\n")
	f.Fuzz(func(t *testing.T, head string) { judge(t, head) })
}
