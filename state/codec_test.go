package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
)

// testdata/terraform.tfstate was written by Terraform 1.11.4 (state push): it has every field, all orders and every
// kind of key.

func TestTerraformStateRoundTripsByteForByte(t *testing.T) {
	want, err := os.ReadFile("testdata/terraform.tfstate")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Decode(want)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := asOurs(want), encode(t, s); got != want {
		t.Errorf("written differently (-terraform +tombolo):\n%s", cmp.Diff(want, got))
	}
}

// asOurs returns a state of Terraform 1.11.4 with the version that this package writes.
func asOurs(text []byte) string {
	return strings.Replace(string(text), `"terraform_version": "1.11.4"`, `"terraform_version": "`+LanguageVersion+`"`, 1)
}

func TestReadAcceptsAnyChunkSizes(t *testing.T) {
	want, err := os.ReadFile("testdata/terraform.tfstate")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Read(iotest.OneByteReader(bytes.NewReader(want)))
	if err != nil {
		t.Fatal(err)
	}
	if want, got := asOurs(want), encode(t, s); got != want {
		t.Errorf("byte by byte:\n%s", cmp.Diff(want, got))
	}
	broken := errors.New("cable pulled")
	if _, err := Read(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(want)))); !errors.Is(err,
		iotest.ErrTimeout) {
		t.Errorf("an error of the reader became %v", err)
	}
	if _, err := Read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("an error of the reader became %v", err)
	}
}

func TestDecodeKeepsEveryField(t *testing.T) {
	s := decodeFile(t, "testdata/terraform.tfstate")
	if s.Serial != 4 || s.Lineage != "aaaa" || s.TerraformVersion != "1.11.4" {
		t.Errorf("head: %d %q %q", s.Serial, s.Lineage, s.TerraformVersion)
	}
	if o := s.Output("o"); o == nil || !o.Sensitive || o.Value.GetAttr("n").AsBigFloat().Text('g', -1) != "1.5" {
		t.Errorf("output o: %#v", o)
	}
	r := addr.AbsResource{Resource: addr.Resource{Mode: addr.Managed, Type: "t", Name: "inst"}}
	b := s.Object(addr.Object{Instance: r.Instance(addr.StringKey("b"))})
	wantPaths := []cty.Path{cty.GetAttrPath("list").IndexInt(0).GetAttr("x"), cty.GetAttrPath("id"),
		cty.GetAttrPath("m").IndexString("k")}
	for i, p := range wantPaths {
		if !b.Sensitive[i].Equals(p) {
			t.Errorf("sensitive path %d: %#v", i, b.Sensitive[i])
		}
	}
	if string(b.Private) != "hello" || !b.CreateBeforeDestroy || b.SchemaVersion != 2 || len(b.Dependencies) != 3 {
		t.Errorf("object: %+v", b)
	}
	if got := b.Dependencies[2].String(); got != "module.b.t.a" {
		t.Errorf("dependency: %s", got)
	}
	two := s.Instance(r.Instance(addr.IntKey(2)))
	if two.Current.Status != Tainted || len(two.Deposed) != 2 {
		t.Errorf("instance 2: %+v", two)
	}
	if flat := s.Object(addr.Object{Instance: r.Instance(addr.NoKey)}).Flat; flat["tags.%"] != "0" {
		t.Errorf("flat attributes: %v", flat)
	}
	if c := s.Checks(); len(c) != 4 || c[0].Objects[0].Failures[1] != "b" {
		t.Errorf("checks: %+v", c)
	}
	mod, _ := addr.ParseTarget(`module.b["q"]`)
	if s.Resource(addr.AbsResource{Module: mod.Module, Resource: addr.Resource{Mode: addr.Managed, Type: "t",
		Name: "z"}}) == nil {
		t.Error("module path with a key is not found by its address")
	}
}

func TestDecodeMovesInstanceProvidersToTheResource(t *testing.T) {
	s := decodeText(t, `{"version":4,"resources":[{"mode":"managed","type":"t","name":"x","instances":[
		{"index_key":0,"schema_version":0,"attributes":{},"provider":"provider[\"registry.opentofu.org/h/t\"]","skip_destroy":true},
		{"index_key":1,"schema_version":0,"attributes":{},"provider":"provider[\"registry.opentofu.org/h/t\"].west"}]}]}`)
	r := s.Resources()[0]
	if got := r.Provider.String(); got != `provider["registry.opentofu.org/h/t"]` {
		t.Errorf("provider of the resource: %s", got)
	}
	if o := r.Instances[addr.IntKey(0)].Current; o.Provider != nil || !o.SkipDestroy {
		t.Errorf("instance 0: %+v", o)
	}
	if o := r.Instances[addr.IntKey(1)].Current; o.Provider == nil || o.Provider.Alias != "west" {
		t.Errorf("instance 1 lost its own provider: %+v", o)
	}
	if again := decodeText(t, encode(t, s)); !again.SameContent(s) {
		t.Error("writing and reading changed the state")
	}
}

func TestInstancesOfProvidersAreKept(t *testing.T) {
	text := `{"version":4,"resources":[{"mode":"managed","type":"t","name":"x","instances":[
		{"index_key":0,"provider":"provider[\"registry.opentofu.org/h/t\"].at[\"a\"]","schema_version":0,"attributes":{}},
		{"index_key":1,"provider":"provider[\"registry.opentofu.org/h/t\"].at[\"b.c\"]","schema_version":0,"attributes":{}},
		{"index_key":2,"provider":"provider[\"registry.opentofu.org/h/t\"].at","schema_version":0,"attributes":{}}]}]}`
	whole := decodeText(t, `{"version":4,"resources":[{"mode":"managed","type":"t","name":"x",
		"provider":"provider[\"registry.opentofu.org/h/t\"].at[\"a\"]","instances":[
		{"schema_version":0,"attributes":{}}]}]}`)
	if r := whole.Resources()[0]; !r.Provider.Key.IsNone() || r.Manager(r.Instances[addr.NoKey].Current).Key.IsNone() {
		t.Errorf("a key that the resource names belongs to its objects: %+v", r)
	}
	s := decodeText(t, text)
	of := func(s *State, n int) string {
		return s.ProviderOf(addr.Object{Instance: s.Resources()[0].Addr.Instance(addr.IntKey(n))}).String()
	}
	check := func(s *State, want ...string) {
		t.Helper()
		for n, key := range want {
			if got := of(s, n); got != `provider["registry.opentofu.org/h/t"].at`+key {
				t.Errorf("instance %d belongs to %s, expected the instance %s", n, got, key)
			}
		}
	}
	check(s, `["a"]`, `["b.c"]`, ``)
	written := encode(t, s)
	if strings.Count(written, `"provider"`) != 3 {
		t.Errorf("each object has to name its provider, and the resource none:\n%s", written)
	}
	check(decodeText(t, written), `["a"]`, `["b.c"]`, ``)
	r := s.Resources()[0]
	b := s.Builder()
	to := r.Provider
	to.Key = addr.StringKey("z")
	for n, p := range []addr.AbsProviderConfig{to, r.Provider} {
		put := Edit{Put: &PutObject{Addr: addr.Object{Instance: r.Addr.Instance(addr.IntKey(n))}, Provider: p,
			Object: r.Instances[addr.IntKey(n)].Current}}
		line, err := put.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var again Edit
		if err := again.UnmarshalJSON(line); err != nil {
			t.Fatal(err)
		}
		b.Fold(again)
	}
	check(b.State(), `["z"]`, ``, ``)
}

func TestDecodeReadsProviderAddressesOfOldStates(t *testing.T) {
	for in, want := range map[string]string{
		`provider.t`:                              `provider["registry.terraform.io/-/t"]`,
		`module.a.provider.t.west`:                `module.a.provider["registry.terraform.io/-/t"].west`,
		`provider["registry.terraform.io/-/t"].w`: `provider["registry.terraform.io/-/t"].w`,
		`provider["h/t"]`:                         `provider["registry.terraform.io/h/t"]`,
	} {
		if got, err := parseProvider(in); err != nil || got.String() != want {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
		}
	}
}

// damaged maps documents that must be refused to the words that the error must contain. Terraform 1.11.4 accepts those
// marked with + silently.
func damaged() map[string][2]string {
	whole := `{"version":4,"terraform_version":"1.11.4","serial":3,"lineage":"l","outputs":{},"resources":[` +
		`{"mode":"managed","type":"t","name":"x","provider":"provider[\"registry.terraform.io/h/t\"]","instances":[` +
		`{"schema_version":0,"attributes":{"id":"1"}}]}],"check_results":null}`
	edit := func(old, new string) string { return strings.Replace(whole, old, new, 1) }
	return map[string][2]string{
		"empty +":         {"", "zero bytes"},
		"white space":     {" \n", "not a JSON object"},
		"null":            {"null", "not a JSON object"},
		"array":           {"[]", "not a JSON object"},
		"no version":      {"{}", `no "version"`},
		"cut":             {whole[:200], "cut off"},
		"cut in a string": {whole[:20], "cut off"},
		"text behind":     {whole + "x", "follows the end"},
		"NULs behind":     {whole + "\x00\x00", "NUL bytes follow"},
		"NULs":            {"\x00\x00\x00\x00", "starts with NUL"},
		"byte order mark": {"\ufeff" + whole, "byte order mark"},
		"zip":             {"PK\x03\x04xxxx", "zip"},
		"gzip":            {"\x1f\x8b\x08xxx", "gzip"},
		"encrypted": {
			`{"serial":1,"lineage":"l","meta":{},"encrypted_data":"eA==","encryption_version":"v0"}`, "encrypted"},
		"show -json":          {`{"format_version":"1.0","values":{}}`, "show -json"},
		"version 5":           {edit(`"version":4`, `"version":5`), "newer program"},
		"version 3 +":         {edit(`"version":4`, `"version":3`), "terraform state pull"},
		"version 0":           {edit(`"version":4`, `"version":0`), "positive whole number"},
		"version 4.0":         {edit(`"version":4`, `"version":4.0`), "whole number"},
		"version in quotes":   {edit(`"version":4`, `"version":"4"`), "whole number"},
		"second resources +":  {edit(`"check_results":null`, `"resources":[]`), `"resources" occurs twice`},
		"other letter case +": {edit(`"check_results":null`, `"RESOURCES":[]`), "letter case"},
		"instances twice +":   {edit(`"instances":[`, `"instances":[],"instances":[`), `"instances" occurs twice`},
		"instance twice": {
			edit(`{"schema_version":0,"attributes":{"id":"1"}}`,
				`{"schema_version":0,"attributes":{}},{"schema_version":0,"attributes":{}}`), "t.x is listed twice"},
		"deposed twice": {
			edit(`{"schema_version":0,"attributes":{"id":"1"}}`,
				`{"deposed":"0000000a","attributes":{}},{"deposed":"0000000a","attributes":{}}`),
			"deposed object 0000000a) is listed twice"},
		"bad deposed key": {edit(`"schema_version":0`, `"deposed":"zz"`), "eight hexadecimal"},
		"unknown status":  {edit(`"schema_version":0`, `"status":"odd"`), `unknown status "odd"`},
		"unknown mode":    {edit(`"managed"`, `"ephemeral"`), `unknown resource mode "ephemeral"`},
		"unknown path step": {edit(`"schema_version":0`, `"sensitive_attributes":[[{"type":"jump","value":"x"}]]`),
			`unknown type "jump"`},
		"path step of number": {edit(`"schema_version":0`, `"sensitive_attributes":[[{"type":"get_attr","value":1}]]`),
			"name of an attribute"},
		"empty dependency": {edit(`"schema_version":0`, `"dependencies":[""]`), "a dependency is empty"},
		"no dependency":    {edit(`"schema_version":0`, `"dependencies":[null]`), "a dependency is empty"},
		"bad private data": {edit(`"schema_version":0`, `"private":"!!"`), "base64"},
		"no provider +":    {edit(`,"provider":"provider[\"registry.terraform.io/h/t\"]"`, ""), `no "provider"`},
		"bad provider +": {edit(`provider[\"registry.terraform.io/h/t\"]`, "x"),
			"not a provider configuration address"},
		"bad module":        {edit(`"mode":`, `"module":"a.b","mode":`), "not the path of a module"},
		"bad name +":        {edit(`"name":"x"`, `"name":"1 x"`), "not a valid name"},
		"key 1.5 +":         {edit(`"schema_version":0`, `"index_key":1.5`), "whole number"},
		"key -1 +":          {edit(`"schema_version":0`, `"index_key":-1`), "whole number"},
		"key true":          {edit(`"schema_version":0`, `"index_key":true`), "must be a string or a whole number"},
		"schema version -1": {edit(`"schema_version":0`, `"schema_version":-1`), "whole number"},
		"serial 1.5":        {edit(`"serial":3`, `"serial":1.5`), "whole number"},
		"serial too large":  {edit(`"serial":3`, `"serial":18446744073709551616`), "too large"},
		"dependency with key": {edit(`"schema_version":0`, `"dependencies":["t.x[0]"]`),
			"not the address of a resource"},
		"output without type": {edit(`"outputs":{}`, `"outputs":{"a":{"value":1}}`), `needs a "value" and a "type"`},
		"output of other": {edit(`"outputs":{}`, `"outputs":{"a":{"value":[],"type":"string"}}`),
			"does not fit its type"},
		"invalid UTF-8 +":   {edit(`"id":"1"`, "\"id\":\"\xff\""), "not valid UTF-8"},
		"control in string": {edit(`"id":"1"`, "\"id\":\"\n\""), "must be escaped"},
		"bad escape":        {edit(`"id":"1"`, `"id":"\x"`), "invalid escape"},
		"bad number":        {edit(`"id":"1"`, `"id":01`), "not a number"},
		"missing comma":     {edit(`,"lineage"`, `"lineage"`), "expected ','"},
		"deep attributes":   {edit(`"id":"1"`, `"id":`+strings.Repeat("[", 1_000_000)), "nested deeper"},
	}
}

func TestDecodeRefusesDamagedDocuments(t *testing.T) {
	for name, c := range damaged() {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(c[0]))
			var d *DecodeError
			if !errors.As(err, &d) || !strings.Contains(err.Error(), c[1]) || d.Advice == "" {
				t.Errorf("got %v, want a DecodeError about %q with advice", err, c[1])
			}
			if _, slow := Read(iotest.OneByteReader(strings.NewReader(c[0][:min(len(c[0]), 1<<15)]))); slow == nil {
				t.Error("reading byte by byte took it")
			}
		})
	}
}

func TestDecodeErrorsHavePositions(t *testing.T) {
	_, err := Decode(
		[]byte(`{"version":4,"resources":[{"mode":"data","type":"t","name":"x","provider":"provider[\"h/t\"]","instances":[{},{"index_key":1,"status":"q"}]}]}`))
	want := `invalid state at byte 134, in resources[0] (data.t.x).instances[1]: unknown status "q"`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s...", err, want)
	}
}

func TestTruncatedStatesAreRefused(t *testing.T) {
	whole, err := os.ReadFile("testdata/terraform.tfstate")
	if err != nil {
		t.Fatal(err)
	}
	whole = bytes.TrimSpace(whole)
	for n := range whole {
		if _, err := Decode(whole[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were taken for a state", n, len(whole))
		}
	}
}

func TestEncodeRefusesInvalidJSONAttributes(t *testing.T) {
	b := (*State)(nil).Builder()
	b.Fold(Edit{Put: &PutObject{Addr: instance("t.x"), Object: &Object{Attributes: json.RawMessage(`{"a":`)}}})
	if err := b.State().Encode(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "t.x") {
		t.Errorf("got %v", err)
	}
}

func TestEmptyStateEqualsTerraform(t *testing.T) {
	want := "{\n  \"version\": 4,\n  \"terraform_version\": \"1.15.9\",\n  \"serial\": 1,\n  \"lineage\": \"x\",\n  " +
		"\"outputs\": {},\n  \"resources\": [],\n  \"check_results\": null\n}\n"
	if got := encode(t, &State{Serial: 1, Lineage: "x"}); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

func instance(s string) addr.Object {
	i, diags := addr.ParseInstance(s)
	if diags.HasErrors() {
		panic(diags)
	}
	return addr.Object{Instance: i}
}

func encode(t testing.TB, s *State) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func decodeText(t testing.TB, text string) *State {
	t.Helper()
	s, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func decodeFile(t testing.TB, name string) *State {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return decodeText(t, string(b))
}

// FuzzDecode checks that any input is either refused or decoded to a state that survives encoding and decoding
// unchanged.
func FuzzDecode(f *testing.F) {
	whole, err := os.ReadFile("testdata/terraform.tfstate")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	for _, c := range damaged() {
		f.Add([]byte(c[0][:min(len(c[0]), 2000)]))
	}
	f.Fuzz(checkDecode)
}

func checkDecode(t *testing.T, in []byte) {
	t.Helper()
	s, err := Decode(in)
	if err != nil {
		if _, ok := err.(*DecodeError); !ok {
			t.Fatalf("error of another kind: %v", err)
		}
		return
	}
	if !json.Valid(in) {
		t.Fatal("took what is not JSON")
	}
	first := encode(t, s)
	again, err := Read(iotest.HalfReader(strings.NewReader(first)))
	if err != nil {
		t.Fatalf("cannot read what was written: %v\n%s", err, first)
	}
	if second := encode(t, again); second != first {
		t.Fatalf("not stable:\n%s", cmp.Diff(first, second))
	}
	if !s.SameContent(again) {
		t.Fatal("reading back gave other content")
	}
	for _, r := range s.Resources() {
		for _, key := range r.Keys() {
			checkEdit(t, r, key)
		}
	}
}

func checkEdit(t *testing.T, r *Resource, key addr.Key) {
	i := r.Instances[key]
	var edits []Edit
	if i.Current != nil {
		edits = append(edits, Edit{Put: &PutObject{Addr: addr.Object{Instance: r.Addr.Instance(key)},
			Provider: r.Manager(i.Current), Object: i.Current}})
	}
	for _, k := range i.DeposedKeys() {
		edits = append(edits, Edit{Put: &PutObject{Addr: addr.Object{Instance: r.Addr.Instance(key), Deposed: k},
			Provider: r.Manager(i.Deposed[k]), Object: i.Deposed[k]}})
	}
	text, err := EncodeEdits(edits)
	if err != nil {
		t.Fatal(err)
	}
	again, err := DecodeEdits(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var b Builder
	b.Fold(again...)
	if got := b.State().Instance(r.Addr.Instance(key)); !sameInstance(got, i) {
		t.Fatalf("edits changed on their way: %s", text)
	}
}

func bigState(n int) *State {
	b := (*State)(nil).Builder()
	provider, _ := addr.ParseAbsProviderConfig(`provider["registry.terraform.io/h/t"]`)
	for i := range n {
		r := addr.AbsResource{Resource: addr.Resource{Mode: addr.Managed, Type: "t", Name: fmt.Sprintf("r%d", i/1000)}}
		b.Fold(Edit{Put: &PutObject{Addr: addr.Object{Instance: r.Instance(addr.IntKey(i % 1000))}, Provider: provider,
			Object: &Object{
				Attributes: json.RawMessage(fmt.Sprintf(`{"id":"i-%d","input":{"a":"some text of a usual `+
					`length","list":[1,2,3],"tags":{"env":"prod","team":"x"}},"output":null}`, i)),
				Dependencies: []addr.ConfigResource{
					{Resource: addr.Resource{Mode: addr.Managed, Type: "t", Name: "first"}}},
				decoded: nil,
			}}})
	}
	return b.State()
}

func BenchmarkEncode100k(b *testing.B) {
	s := decodeText(b, encode(b, bigState(100_000)))
	var out bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		if err := s.Encode(&out); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(out.Len()))
}

func BenchmarkDecode100k(b *testing.B) {
	text := []byte(encode(b, bigState(100_000)))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(bytes.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}
