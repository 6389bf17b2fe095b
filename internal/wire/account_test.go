package wire

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin5"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
)

var update = flag.Bool("update", false, "write testdata/protocol.txt anew")

// account names the tests that cover a part of the protocol on both sides, or the reason why there is none.
type account struct{ client, server string }

// passing is the test that covers every part which accounts does not contain: the test in this file checks that each
// occurs in the messages of its exchanges.
const passing = "TestEverythingPassesUnchanged"

const (
	inShort  = "TestGetMetadata"
	problems = "TestProblemsOfSchemasArePassedOn"
	failures = "TestFailuresOfFunctionsKeepTheirArgument"
	stopping = "TestStopReturnsErrors"
	bySchema = "not called, since the schema says the same"
	noStores = "not there, since state stores are experimental: states in programs have a protocol of their own " +
		"(docs/state-programs.md)"
)

// accounts are the parts of the protocol that the exchanges do not cover. A leading version number restricts an entry
// to that version.
var accounts = map[string]account{
	"rpc GetMetadata":  {bySchema, inShort},
	"rpc GetFunctions": {bySchema, inShort},
	"rpc StopProvider": {stopping, stopping},
	"rpc Stop":         {stopping, stopping},

	"Block.version": {"not read, since Schema.version is what counts", "not written"},
	"DynamicValue.json": {"TestJSONIsAccepted, and not written, since msgpack keeps unknown values",
		"TestJSONIsAccepted, and not written"},
	"6 ValidateProviderResponse.prepared": {"not read, since version 5 alone has it", "not written"},
	"StopResponse.error":                  {stopping, stopping},
	"CallResponse.error":                  {failures, failures},
	"FunctionError.argument":              {failures, failures},
	"FunctionError.text":                  {failures, failures},
	"SchemaResponse.diagnostics":          {problems, problems},
	"IdentitySchemasResponse.diagnostics": {problems, problems},
	"FunctionsResponse.diagnostics":       {bySchema, problems},
	"FunctionsResponse.functions":         {bySchema, inShort},

	"MetadataResponse.Name.name":           {bySchema, inShort},
	"MetadataResponse.actions":             {bySchema, inShort},
	"MetadataResponse.data_sources":        {bySchema, inShort},
	"MetadataResponse.diagnostics":         {bySchema, problems},
	"MetadataResponse.ephemeral_resources": {bySchema, inShort},
	"MetadataResponse.functions":           {bySchema, inShort},
	"MetadataResponse.list_resources":      {bySchema, inShort},
	"MetadataResponse.resources":           {bySchema, inShort},
	"MetadataResponse.server_capabilities": {bySchema, inShort},

	"MetadataResponse.state_stores": {noStores, noStores},
	"SchemaResponse.state_stores":   {noStores, noStores},
}

// ofStores matches the methods and messages of state stores.
var ofStores = regexp.MustCompile(`^(rpc (ValidateStateStoreConfig|ConfigureStateStore|ReadStateBytes|WriteStateBytes|` +
	`LockState|UnlockState|GetStates|DeleteState)|(ConfigureStore(Request|Response)|ChunkSize|StoreRequest|` +
	`StateRequest|StatesResponse|ByteRange|StateChunk|StateWrite|LockRequest|LockResponse|UnlockRequest)\.\w+)$`)

// accountOf returns the account of a part of the protocol, and its key in accounts.
func accountOf(v *version, part string) (key string, a account, ok bool) {
	if ofStores.MatchString(part) {
		return "", account{noStores, noStores}, true
	}
	key = fmt.Sprintf("%d %s", v.number, part)
	if a, ok = accounts[key]; ok {
		return key, a, true
	}
	a, ok = accounts[part]
	return part, a, ok
}

// TestEveryPartOfTheProtocolIsAccountedFor writes every method and every field of both versions of the protocol, with
// the tests that cover it for the client and for the server, or the reason why it is not supported:
// testdata/protocol.txt.
func TestEveryPartOfTheProtocolIsAccountedFor(t *testing.T) {
	tests := testsHere(t)
	var table []string
	used := map[string]bool{}
	eachVersion(t, func(t *testing.T, v *version) {
		seen := exchanged(t, v)
		for _, part := range parts(v) {
			key, a, apart := accountOf(v, part)
			used[key] = true
			switch {
			case apart && seen[part]:
				t.Errorf("%s passes in %s: remove it from the accounts", part, passing)
			case !apart && !seen[part]:
				t.Errorf("%s does not pass in %s: add it to its exchanges, or to the accounts", part, passing)
			case !apart:
				a = account{passing, passing}
			}
			for _, output := range []string{a.client, a.server} {
				name, _, _ := strings.Cut(output, ",")
				if !strings.HasPrefix(output, "not ") && !tests[name] {
					t.Errorf("%s: there is no test %s", part, name)
				}
			}
			line := fmt.Sprintf("%d %s: client and server: %s\n", v.number, part, a.client)
			if a.server != a.client {
				line = fmt.Sprintf("%d %s: client: %s; server: %s\n", v.number, part, a.client, a.server)
			}
			table = append(table, line)
		}
	})
	for part := range accounts {
		if !used[part] {
			t.Errorf("the protocol has no %s", part)
		}
	}
	const file = "testdata/protocol.txt"
	got := strings.Join(table, "")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is stale, write it anew with -update (-have +want):\n%s", file, diff)
	}
}

// parts lists the methods of a version, and the fields of all their messages.
func parts(v *version) (list []string) {
	methods := plugin6.File_plugin6_tombolo_plugin6_proto.Services().Get(0).Methods()
	if v.number == 5 {
		methods = plugin5.File_plugin5_tombolo_plugin5_proto.Services().Get(0).Methods()
	}
	known := map[protoreflect.FullName]bool{}
	var fields []string
	var visit func(m protoreflect.MessageDescriptor)
	visit = func(m protoreflect.MessageDescriptor) {
		if known[m.FullName()] || !strings.HasPrefix(string(m.FullName()), "tombolo.") {
			return
		}
		known[m.FullName()] = true
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			if !m.IsMapEntry() {
				fields = append(fields, fieldName(f))
			}
			if f.Message() != nil {
				visit(f.Message())
			}
		}
	}
	for i := range methods.Len() {
		list = append(list, "rpc "+string(methods.Get(i).Name()))
		visit(methods.Get(i).Input())
		visit(methods.Get(i).Output())
	}
	slices.Sort(list)
	slices.Sort(fields)
	return append(list, fields...)
}

// fieldName returns the name of a field with its message, without the package.
func fieldName(f protoreflect.FieldDescriptor) string {
	_, name, _ := strings.Cut(strings.TrimPrefix(string(f.Parent().FullName()), "tombolo."), ".")
	return name + "." + string(f.Name())
}

// exchanged performs the exchanges of that test, and returns which methods were called and which fields were set.
func exchanged(t *testing.T, v *version) map[string]bool {
	seen := map[string]bool{}
	for seed := range uint64(60) {
		r := newRandom(seed)
		m := &mirror{schema: r.schema(v)}
		p, l := connect(t, m, v.number)
		l.passed = func(method string, m proto.Message) {
			seen["rpc "+path.Base(method)] = true
			noteFields(m.ProtoReflect(), seen)
		}
		schema, diags := p.Schema(t.Context())
		if err := diags.Err(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, x := range exchanges(r, schema) {
			m.answer = x.resp
			x.call(p)
		}
	}
	return seen
}

func noteFields(m protoreflect.Message, seen map[string]bool) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		seen[fieldName(f)] = true
		switch {
		case f.IsMap() && f.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				noteFields(v.Message(), seen)
				return true
			})
		case f.IsMap() || f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				noteFields(v.List().Get(i).Message(), seen)
			}
		default:
			noteFields(v.Message(), seen)
		}
		return true
	})
}

// testsHere returns the tests of this package.
func testsHere(t *testing.T) map[string]bool {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				tests[f.Name.Name] = true
			}
		}
	}
	return tests
}

// tell sends the server a call that our client never makes.
func tell(t *testing.T, l *loop, v *version, method string, answer proto.Message) {
	t.Helper()
	if _, err := l.Invoke(t.Context(), v.path(method), &plugin6.Nothing{}, answer, MaxMessage); err != nil {
		t.Fatal(err)
	}
}

func TestGetMetadata(t *testing.T) {
	eachVersion(t, func(t *testing.T, v *version) {
		m := &mirror{schema: newRandom(3).schema(v)}
		m.schema.PlanDestroy, m.schema.GenerateConfig = true, true
		_, l := connect(t, m, v.number)
		var short plugin6.MetadataResponse
		tell(t, l, v, methodMetadata, &short)
		one := []*plugin6.MetadataResponse_Name{{Name: "t"}}
		want := &plugin6.MetadataResponse{Resources: one, DataSources: one, EphemeralResources: one, ListResources: one,
			Actions: one, Functions: []*plugin6.MetadataResponse_Name{{Name: "f"}},
			ServerCapabilities: encodeCapabilities(m.schema)}
		if !proto.Equal(&short, want) {
			t.Errorf("got %v, want %v", &short, want)
		}
		var functions plugin6.FunctionsResponse
		tell(t, l, v, methodFunctions, &functions)
		f := functions.GetFunctions()["f"]
		if len(functions.GetFunctions()) != 1 || f.GetSummary() != m.schema.Functions["f"].Summary ||
			f.GetParameters()[0].GetName() != "p" || f.GetVariadicParameter().GetName() != "more" {
			t.Errorf("got %v", &functions)
		}
	})
}

func TestProblemsOfSchemasArePassedOn(t *testing.T) {
	eachVersion(t, func(t *testing.T, v *version) {
		m := &mirror{broken: diag.List{}.Errorf(nil, "Out of order", "")}
		p, l := connect(t, m, v.number)
		s, diags := p.Schema(t.Context())
		if err := diags.Err(); s != nil || err == nil || !strings.Contains(err.Error(), "Out of order") {
			t.Errorf("schema: %v, %v", s, err)
		}
		var short plugin6.MetadataResponse
		tell(t, l, v, methodMetadata, &short)
		var functions plugin6.FunctionsResponse
		tell(t, l, v, methodFunctions, &functions)
		var identities plugin6.IdentitySchemasResponse
		tell(t, l, v, methodIdentities, &identities)
		for what, list := range map[string][]*plugin6.Diagnostic{"metadata": short.GetDiagnostics(),
			"functions": functions.GetDiagnostics(), "identities": identities.GetDiagnostics()} {
			if len(list) != 1 || list[0].GetSummary() != "Out of order" {
				t.Errorf("%s: got %v", what, list)
			}
		}
		// A plugin may return a schema, and report problems only when it is asked for identities.
		m.broken, m.schema = nil, newRandom(1).schema(v)
		p, l = connect(t, m, v.number)
		l.answer = func(method string, m proto.Message) proto.Message {
			if path.Base(method) == methodIdentities {
				return &plugin6.IdentitySchemasResponse{Diagnostics: []*plugin6.Diagnostic{{
					Severity: plugin6.Diagnostic_ERROR, Summary: "No identities today"}}}
			}
			return m
		}
		if _, diags := p.Schema(t.Context()); diags.Err() == nil ||
			!strings.Contains(diags.Err().Error(), "No identities today") {
			t.Errorf("identities: got %v", diags.Err())
		}
	})
}

func TestStopReturnsErrors(t *testing.T) {
	eachVersion(t, func(t *testing.T, v *version) {
		m := &mirror{schema: newRandom(1).schema(v)}
		p, _ := connect(t, m, v.number)
		p.Schema(t.Context()) // starts the provider
		if err := p.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		m.err = errors.New("stuck")
		if err := p.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "stuck") {
			t.Errorf("got %v", err)
		}
		if !slices.Equal(m.calls, []string{"stop", "stop"}) {
			t.Errorf("calls: %q", m.calls)
		}
	})
}
