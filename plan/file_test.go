package plan_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/tfjson/tfjsontest"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

var same = cmp.Options{
	cmp.Comparer(func(a, b cty.Value) bool {
		return a == cty.NilVal && b == cty.NilVal || a != cty.NilVal && b != cty.NilVal && a.RawEquals(b)
	}),
	cmp.Comparer(func(a, b cty.Type) bool {
		return a == cty.NilType && b == cty.NilType || a != cty.NilType && b != cty.NilType && a.Equals(b)
	}),
	cmp.FilterValues(func(a, b cty.Path) bool { return len(a) > 0 || len(b) > 0 },
		cmp.Comparer(func(a, b cty.Path) bool { return a.Equals(b) })),
	cmp.Comparer(func(a, b addr.ModuleInstance) bool { return a == b }),
	cmp.Comparer(func(a, b addr.Module) bool { return a == b }),
	cmp.Comparer(func(a, b addr.Key) bool { return a == b }),
	cmp.Comparer(func(a, b *state.State) bool { return stateText(a) == stateText(b) }),
	cmpopts.IgnoreUnexported(state.Object{}),
	cmpopts.EquateEmpty(),
}

func stateText(s *state.State) string {
	if s == nil {
		return ""
	}
	var b bytes.Buffer
	if err := s.Encode(&b); err != nil {
		return err.Error()
	}
	return b.String()
}

// full returns a plan in which every field is set.
func full(t testing.TB) *plan.Plan {
	t.Helper()
	ty := cty.Object(map[string]cty.Type{"id": cty.String, "n": cty.Number, "any": cty.DynamicPseudoType,
		"set": cty.Set(cty.String)})
	instance := func(s string) addr.AbsResourceInstance {
		a, diags := addr.ParseInstance(s)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		return a
	}
	config := addr.AbsProviderConfig{Module: addr.ModuleOf("m"), Provider: addr.DefaultProvider("x"), Alias: "west"}
	refined := cty.UnknownVal(cty.String).Refine().NotNull().StringPrefix("pre-").NewValue()
	before := cty.ObjectVal(map[string]cty.Value{
		"id": cty.StringVal("i\x00\u202e"), "n": cty.MustParseNumberVal("12345678901234567890.5"),
		"any": cty.TupleVal([]cty.Value{cty.True}),
		"set": cty.SetVal([]cty.Value{cty.StringVal("a")}),
	})
	after := cty.ObjectVal(map[string]cty.Value{
		"id": refined, "n": cty.UnknownVal(cty.Number).Refine().NumberRangeLowerBound(cty.Zero, true).NewValue(),
		"any": cty.DynamicVal,
		"set": cty.SetVal([]cty.Value{cty.UnknownVal(cty.String)}),
	})
	object, err := state.NewObject(before, ty, state.Object{Sensitive: []cty.Path{cty.GetAttrPath("id")},
		Private: []byte("p")})
	if err != nil {
		t.Fatal(err)
	}
	a := instance(`module.m["k.\"x"].t_x.a[0]`)
	b := (*state.State)(nil).Builder()
	b.Fold(state.Edit{Put: &state.PutObject{Addr: addr.Object{Instance: a}, Provider: config, Object: object}})
	target, _ := addr.ParseTarget("module.m")
	return &plan.Plan{
		Mode: plan.Destroy, Created: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Workspace: "w",
		Variables: map[string]plan.Variable{
			"v": {Value: cty.ListVal([]cty.Value{cty.StringVal("x")})}, "s": {Value: cty.StringVal("s"),
				Sensitive: true}, "e": {Ephemeral: true},
		},
		Config: map[string][]byte{"main.tf": []byte("# x\n"), "../m/bad.tf": {0xff, 0xfe}},
		Base:   b.State(), Refreshed: []state.Edit{
			{Drop: &state.DropObject{Addr: addr.Object{Instance: a, Deposed: "01234567"}}}},
		Changes: []*plan.Change{{
			Object: addr.Object{Instance: a}, PrevAddr: new(instance("t_x.old")), Provider: &config,
			Action: plan.CreateThenDelete,
			Reason: plan.ReplaceByRequest, Before: plan.Value{Value: before, Sensitive: []cty.Path{
				cty.GetAttrPath("id")}},
			After: plan.Value{Value: after, Sensitive: []cty.Path{cty.GetAttrPath("any").IndexInt(0).GetAttr("x")}},
			Type:  ty, SchemaVersion: 3,
			ReplacePaths: []cty.Path{cty.GetAttrPath("n")}, Private: []byte{0, 1}, Dependencies: []addr.ConfigResource{
				a.Config()},
			Triggers: []plan.ReplaceTrigger{{Instance: instance("t_x.all"), All: true},
				{Instance: instance("module.m[1].t_x.y[\"k\"]"), Path: cty.GetAttrPath("v").IndexInt(1).GetAttr("w")}},
			CreateBeforeDestroy: true, Unprotected: true, DeposedKey: "89abcdef", Importing: &plan.Importing{
				ID: "imp", Identity: cty.NilVal}, GeneratedConfig: "x",
		}, {
			Object: addr.Object{Instance: a, Deposed: "01234567"}, Provider: &config, Action: plan.Delete,
			Before: plan.Value{Value: before}, After: plan.Value{Value: cty.NullVal(ty)}, Type: ty,
			Identities: &plan.Identities{Before: cty.ObjectVal(map[string]cty.Value{"x": cty.StringVal("y")})},
			NotImported: &plan.Importing{Sensitive: true,
				Identity: cty.ObjectVal(map[string]cty.Value{"x": cty.StringVal("z")})},
		}},
		Drift: []*plan.Change{{Object: addr.Object{Instance: a}, Provider: &config, Before: plan.Value{
			Value: before}, After: plan.Value{Value: before}, Type: ty}},
		Outputs: []*plan.OutputChange{{Name: "o", Action: plan.Update, Before: cty.NullVal(cty.DynamicPseudoType),
			After: refined, Sensitive: true}},
		Steps: []plan.Step{
			{Kind: plan.Write, Resource: a.AbsResource(), Changes: []int{0}},
			{Kind: plan.Dispose, Resource: a.AbsResource(), Changes: []int{1}, After: []int{0}},
		},
		Checks: []state.CheckResult{
			{Kind: "check", ConfigAddr: "check.c", Status: "fail", Objects: []state.CheckedObject{
				{Addr: "check.c", Status: "fail", Failures: []string{"no"}}}}},
		Targets: []addr.Target{target}, ForceReplace: []addr.AbsResourceInstance{a},
		Unsettled: []addr.Target{target}, LeftOut: []plan.LeftOut{
			{Address: "output.x", Reason: plan.LeftOutDependent, Because: a}},
		Deferred: []plan.Deferral{
			{Address: "test_a.a[*]", Reason: plan.DeferredInstances, Whole: true, Provider: config},
			{Address: "output.y", Reason: plan.DeferredPrerequisite, Because: "test_a.a[*]"}},
		Relevant: []plan.RelevantAttribute{{Resource: a, Path: cty.GetAttrPath("id")}},
		Complete: true, FunctionResults: map[string]string{"file": "abc"},
		Nonsensitive: []string{"not a secret"},
	}
}

func write(t testing.TB, p *plan.Plan) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(b []byte) (*plan.Plan, error) { return plan.Decode(bytes.NewReader(b), int64(len(b))) }

func TestDecodeReturnsTheWrittenPlan(t *testing.T) {
	want := full(t)
	got, err := decode(write(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, same); d != "" {
		t.Errorf("plan differs (-want +got):\n%s", d)
	}
	schemas := tfjsontest.Schemas(t)
	for _, c := range tfjsontest.Cases(t) {
		p := c.Plan(t, schemas)
		if p == nil {
			continue
		}
		got, err := decode(write(t, p))
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if d := cmp.Diff(p, got, same); d != "" {
			t.Errorf("%s: plan differs (-want +got):\n%s", c.Name, d)
		}
	}
}

func TestThePlanFileCanBeListed(t *testing.T) {
	b := write(t, full(t))
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	want := []string{"tombolo-plan.json", "plan.json", "state.json", "refreshed.json", "config.json"}
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("members differ (-want +got):\n%s", d)
	}
}

// archive returns a zip archive with the given members.
func archive(members ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(members); i += 2 {
		f, _ := z.Create(members[i])
		_, _ = io.WriteString(f, members[i+1])
	}
	_ = z.Close()
	return b.Bytes()
}

func TestOtherFilesAreRecognised(t *testing.T) {
	whole := write(t, full(t))
	for _, c := range []struct {
		name    string
		content []byte
		want    string // in the error
	}{
		{"empty", nil, "It is empty"},
		{"text", []byte("resource {}"), "not a plan file"},
		{"state", []byte(`{"version": 4}`), "JSON document"},
		{"cut", whole[:len(whole)/2], "it is damaged"},
		{"cut by one byte", whole[:len(whole)-1], "it is damaged"},
		{"start alone", whole[:4], "it is damaged"},
		{"foreign archive", archive("a", "b"), "not one that plan -out has written"},
		{"Terraform's", archive("tfplan", "x", "tfstate", "{}"), "Terraform or OpenTofu"},
		{"newer", archive("tombolo-plan.json", `{"format_version": 99}`), "format version 99"},
		{"header alone", archive("tombolo-plan.json", `{"format_version": 1}`), "plan.json is missing"},
		{"twice the same member", archive("tombolo-plan.json", `{}`, "tombolo-plan.json", `{}`), "twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := decode(c.content)
			var fe *plan.FileError
			if !errors.As(err, &fe) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a FileError with %q", err, c.want)
			}
		})
	}
}

// TestNoFlippedBitPasses flips bits of a plan file: decoding fails with a FileError, or returns the original plan if
// zip ignores the bit.
func TestNoFlippedBitPasses(t *testing.T) {
	want := full(t)
	whole := write(t, want)
	reference, err := decode(whole)
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 1 << (i % 8)
		p, err := decode(b)
		var fe *plan.FileError
		switch {
		case err == nil:
			read++
			if d := cmp.Diff(reference, p, same); d != "" {
				t.Fatalf("byte %d: a changed plan was read:\n%s", i, d)
			}
		case !errors.As(err, &fe) || fe.Detail == "" || fe.Summary == "":
			t.Fatalf("byte %d: the error does not say what to do: %v", i, err)
		}
	}
	if read > len(whole)/2 {
		t.Errorf("%d of %d damaged files were read", read, len(whole))
	}
}

// sealed returns a plan file with members with correct checksums, as a deliberate forger would make it.
func sealed(members map[string][]byte) []byte {
	sums := map[string]string{}
	var list []string
	for name, content := range members {
		sum := sha256.Sum256(content)
		sums[name] = hex.EncodeToString(sum[:])
		list = append(list, name, string(content))
	}
	h, _ := json.Marshal(map[string]any{"format_version": plan.FormatVersion, "sha256": sums})
	return archive(append([]string{"tombolo-plan.json", string(h)}, list...)...)
}

func FuzzDecode(f *testing.F) {
	b := write(f, full(f))
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		f.Fatal(err)
	}
	content := map[string][]byte{}
	for _, m := range z.File {
		r, _ := m.Open()
		content[m.Name], _ = io.ReadAll(r)
	}
	f.Add(content["plan.json"], content["state.json"], content["refreshed.json"], content["config.json"])
	f.Add([]byte(`{}`), []byte(``), []byte(`null`), []byte(`null`))
	f.Add([]byte(
		`{"types":["string"],"changes":[{"address":"a.b","provider":"provider[\"x\"]","before":{"value":"wA=="},"after":{"value":"wA=="}}]}`), []byte(``), []byte(`[]`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, body, base, refreshed, config []byte) {
		members := map[string][]byte{"plan.json": body, "refreshed.json": refreshed, "config.json": config}
		if len(base) > 0 {
			members["state.json"] = base
		}
		p, err := decode(sealed(members))
		if err != nil {
			var fe *plan.FileError
			if !errors.As(err, &fe) {
				t.Fatalf("not a FileError: %v", err)
			}
			return
		}
		// A plan that can be decoded can be used, and encoded and decoded again without changes.
		p.Applyable()
		p.Summary()
		p.Prior()
		again, err := decode(write(t, p))
		if err != nil {
			t.Fatalf("cannot be read again: %v", err)
		}
		if d := cmp.Diff(p, again, same); d != "" {
			t.Fatalf("differs when read again:\n%s", d)
		}
	})
}

// FuzzArchive decodes arbitrary bytes as a plan file: it returns a FileError or a plan.
func FuzzArchive(f *testing.F) {
	whole := write(f, full(f))
	f.Add(whole)
	for _, b := range [][]byte{
		nil, []byte("PK\x03\x04"), []byte("{}"), whole[:len(whole)/2], whole[1:], archive("tfplan", "x"),
		archive("tombolo-plan.json", "{}"), archive("tombolo-plan.json", `{"FORMAT_VERSION":1,"sha256":{"a":""}}`),
		archive("a", "x", "a", "y"), archive("../a", "x"), archive("tombolo-plan.json", "null"), archive("", ""),
	} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decode(b)
		var fe *plan.FileError
		switch {
		case err == nil && p == nil:
			t.Fatal("neither a plan nor an error")
		case err != nil && (!errors.As(err, &fe) || fe.Summary == "" || fe.Detail == ""):
			t.Fatalf("the error does not say what to do: %v", err)
		}
	})
}

// many returns a plan with n changes.
func many(n int) *plan.Plan {
	ty := cty.Object(map[string]cty.Type{"id": cty.String, "input": cty.DynamicPseudoType,
		"output": cty.DynamicPseudoType, "triggers_replace": cty.DynamicPseudoType})
	p := &plan.Plan{Complete: true}
	provider := addr.AbsProviderConfig{Provider: addr.BuiltinProvider("terraform")}
	for i := range n {
		r := addr.AbsResource{Resource: addr.Resource{Mode: addr.Managed, Type: "terraform_data", Name: "a"}}
		input := cty.StringVal(fmt.Sprintf("value %d", i))
		p.Changes = append(p.Changes, &plan.Change{
			Object: addr.Object{Instance: r.Instance(addr.IntKey(i))}, Provider: &provider,
			Action: plan.Create, Type: ty,
			Before: plan.Value{Value: cty.NullVal(ty)},
			After: plan.Value{Value: cty.ObjectVal(map[string]cty.Value{
				"id": cty.UnknownVal(cty.String).RefineNotNull(), "input": input, "output": cty.UnknownVal(cty.String),
				"triggers_replace": cty.NullVal(cty.DynamicPseudoType),
			})},
		})
	}
	return p
}

func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		p := many(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Write(io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		file := write(b, many(n))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decode(file); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// bomb returns an archive like a plan file, whose members have any declared size and content.
func bomb(t *testing.T, claims map[string]uint64, deflated, content []byte) []byte {
	t.Helper()
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	sums := map[string]string{"plan.json": sum, "refreshed.json": sum, "config.json": sum}
	header, err := json.Marshal(map[string]any{"format_version": plan.FormatVersion, "sha256": sums})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("tombolo-plan.json")
	if err == nil {
		_, err = w.Write(header)
	}
	for _, name := range []string{"config.json", "plan.json", "refreshed.json"} {
		if err != nil {
			t.Fatal(err)
		}
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, CRC32: crc32.ChecksumIEEE(content),
			CompressedSize64: uint64(len(deflated)), UncompressedSize64: claims[name]}
		if w, err = z.CreateRaw(h); err == nil {
			_, err = w.Write(deflated)
		}
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The unpacked size of a file is bounded, whatever sizes it declares.
func TestPlansWithHugeContentAreRefused(t *testing.T) {
	const size = 64 << 20
	var deflated bytes.Buffer
	w, err := flate.NewWriter(&deflated, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, size)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		config, plan uint64 // declared sizes of these members
		summary      string
	}{
		"too much":            {1 << 30, 1, "Plan file is too large"},
		"more than there are": {1 << 63, 1, "Plan file is too large"},
		"less than it has":    {10, 10, "Plan file is damaged"},
	} {
		t.Run(what, func(t *testing.T) {
			file := bomb(t, map[string]uint64{"config.json": c.config, "plan.json": c.plan}, deflated.Bytes(), content)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := plan.Decode(bytes.NewReader(file), int64(len(file)))
			runtime.ReadMemStats(&after)
			var problem *plan.FileError
			if !errors.As(err, &problem) || problem.Summary != c.summary {
				t.Errorf("got %v, want %q", err, c.summary)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > size/8 {
				t.Errorf("refusing it took %d bytes", took)
			}
		})
	}
	// Together they are too large, and each alone is not. The declared size of the first is correct.
	file := bomb(t, map[string]uint64{"config.json": size, "plan.json": 1 << 30}, deflated.Bytes(), content)
	_, err = plan.Decode(bytes.NewReader(file), int64(len(file)))
	var problem *plan.FileError
	if !errors.As(err, &problem) || problem.Summary != "Plan file is too large" {
		t.Errorf("got %v", err)
	}
}
