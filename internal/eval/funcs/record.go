package funcs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/internal/value"
)

// providerPrefix is the prefix of provider functions in a record.
const providerPrefix = "provider::"

// FileRecord holds hashes of the results of functions that read files and other external data, so that a plan is
// applied with the files that it was made from. It is filled while planning, stored with the plan (Results), and
// restored for applying (NewFileRecord). It may be used concurrently.
type FileRecord struct {
	mu      sync.Mutex
	results map[string]string // hash of function and arguments -> hash of result; guarded by mu
}

// NewFileRecord returns a record with the results of another one; nil means empty.
func NewFileRecord(results map[string]string) *FileRecord {
	known := maps.Clone(results)
	if known == nil {
		known = map[string]string{}
	}
	return &FileRecord{results: known}
}

// Results returns a copy of the record, for NewFileRecord.
func (r *FileRecord) Results() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.results)
}

// Check compares the result of a call with the recorded one of the same call, or records it. It accepts calls with
// unknown arguments or results. The error names the function but shows no value. Provider functions can be checked,
// too, under a name that distinguishes them.
func (r *FileRecord) Check(name string, args []cty.Value, result cty.Value) error {
	if !result.IsWhollyKnown() || !allWhollyKnown(args) {
		return nil
	}
	call, err := hashValues(name, args)
	if err != nil {
		return err
	}
	got, err := hashValues(name, []cty.Value{result})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before, found := r.results[call]
	switch {
	case found && before != got && strings.HasPrefix(name, providerPrefix):
		return fmt.Errorf("function returned an inconsistent result: %s was called with the same arguments before, "+
			"in this run or during planning, and returned another result. %s", name,
			strings.TrimSuffix(value.ProviderBug, "."))
	case found && before != got:
		return fmt.Errorf("function returned an inconsistent result: the result of %s has changed since the plan was "+
			"made, probably because a file was changed. Make a new plan", name)
	}
	r.results[call] = got
	return nil
}

// checked returns a function whose results are checked against the record.
func (r *FileRecord) checked(name string, f function.Function) function.Function {
	if r == nil {
		return f
	}
	return wrapped(f, func(args []cty.Value) (cty.Value, error) {
		result, err := f.Call(args)
		if err != nil {
			return cty.NilVal, err
		}
		return result, r.Check(name, args, result)
	})
}

func allWhollyKnown(values []cty.Value) bool {
	return !slices.ContainsFunc(values, func(v cty.Value) bool { return !v.IsWhollyKnown() })
}

// hashValues ignores marks: whether a value is secret does not change what was computed with it.
func hashValues(name string, values []cty.Value) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q", name)
	for _, v := range values {
		v, _ = v.UnmarkDeep()
		encoded, err := ctyjson.Marshal(v, cty.DynamicPseudoType)
		if err != nil {
			return "", fmt.Errorf("record the result of %s: %w", name, err)
		}
		fmt.Fprintf(h, " %d %s", len(encoded), encoded)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
