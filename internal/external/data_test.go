//go:build unix

package external

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
	"github.com/tombolo-iac/tombolo/provider"
)

func self(mode string, args ...string) cty.Value { return list(programtest.Argv(mode, args...)...) }

func TestDataReadsTheAnswerOfAProgram(t *testing.T) {
	p := New(Options{})
	got := mustRead(t, p, typeData, attrs{"program": list("cat"), "query": strs(map[string]string{"a": "b", "": "x"})})
	expectResult(t, got, map[string]string{"a": "b", "": "x"})
}

func TestDataSendsTheQueryAsCompactSortedJSON(t *testing.T) {
	str, null := cty.StringVal, cty.NullVal(cty.String)
	tests := map[string]struct {
		query cty.Value
		want  string
	}{
		"null":          {cty.NullVal(cty.Map(cty.String)), `{}`},
		"empty":         {cty.MapValEmpty(cty.String), `{}`},
		"sorted":        {cty.MapVal(map[string]cty.Value{"b": str("2"), "a": str("1")}), `{"a":"1","b":"2"}`},
		"null elements": {cty.MapVal(map[string]cty.Value{"a": null, "b": str("")}), `{"b":""}`},
		"all null":      {cty.MapVal(map[string]cty.Value{"a": null}), `{}`},
		"escapes": {cty.MapVal(map[string]cty.Value{"a": str("<&>\u2028\u2029é")}),
			`{"a":"\u003c\u0026\u003e\u2028\u2029é"}`},
	}
	p := New(Options{})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := mustRead(t, p, typeData, attrs{"program": self("wrap"), "query": test.query})
			expectResult(t, got, map[string]string{"stdin": test.want})
		})
	}
}

// The engine converts the query; numbers must not be abbreviated.
func TestDataSendsConvertedValuesInFull(t *testing.T) {
	object := cty.ObjectVal(map[string]cty.Value{
		"int": cty.NumberIntVal(5), "bool": cty.True, "fraction": cty.MustParseNumberVal("1.10"),
		"large": cty.MustParseNumberVal("1e30"), "long": cty.MustParseNumberVal("12345678901234567890123"),
	})
	query, err := convert.Convert(object, cty.Map(cty.String))
	if err != nil {
		t.Fatal(err)
	}
	got := mustRead(t, New(Options{}), typeData, attrs{"program": list("cat"), "query": query})
	expectResult(t, got, map[string]string{
		"int": "5", "bool": "true", "fraction": "1.1",
		"large": "1000000000000000000000000000000", "long": "12345678901234567890123",
	})
}

func TestDataDropsNullAndEmptyWords(t *testing.T) {
	words := self("args", "a", "", "b", "").AsValueSlice()
	words = slices.Insert(words, 0, cty.NullVal(cty.String), cty.StringVal(""))
	words = append(words, cty.NullVal(cty.String), cty.StringVal("c"))
	got := mustRead(t, New(Options{}), typeData, attrs{"program": cty.ListVal(words)})
	expectResult(t, got, map[string]string{"args": "a|b|c"})
}

func TestDataWithoutAnyWordIsMissingItsProgram(t *testing.T) {
	for name, words := range map[string][]cty.Value{
		"empty": {cty.StringVal("")},
		"null":  {cty.NullVal(cty.String)},
		"both":  {cty.NullVal(cty.String), cty.StringVal(""), cty.NullVal(cty.String)},
	} {
		t.Run(name, func(t *testing.T) {
			_, diags := readData(t, New(Options{}), typeData, attrs{"program": cty.ListVal(words)})
			expectProblem(t, diags, "External Program Missing", nil)
		})
	}
}

func TestDataUsesNoShell(t *testing.T) {
	got := mustRead(t, New(Options{}), typeData, attrs{"program": self("args", "$HOME", "~", "*", "a;b", "c d")})
	expectResult(t, got, map[string]string{"args": "$HOME|~|*|a;b|c d"})
}

func TestDataLookupFailureNamesTheFirstWordAsWritten(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Chdir(t.TempDir())
	script(t, "here", "#!/bin/sh\n")
	if err := os.WriteFile("plain", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	null := cty.NullVal(cty.String)
	tests := map[string]struct {
		program    cty.Value
		first, err string
	}{
		"not in PATH": {list(`no "such" program`), `"no \"such\" program"`,
			`exec: "no \"such\" program": executable file not found in $PATH`},
		"only here": {list("here"), `"here"`, `exec: "here": executable file not found in $PATH`},
		"with a slash": {list("./gone", "x"), `"./gone"`,
			`exec: "./gone": stat ./gone: no such file or directory`},
		"not executable":  {list("./plain"), `"./plain"`, `exec: "./plain": permission denied`},
		"behind an empty": {list("", "gone"), `""`, `exec: "gone": executable file not found in $PATH`},
		"behind a null one": {cty.ListVal([]cty.Value{null, cty.StringVal("gone")}), `<null>`,
			`exec: "gone": executable file not found in $PATH`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, diags := readData(t, New(Options{}), typeData, attrs{"program": test.program})
			expectProblem(t, diags, "External Program Lookup Failed", []string{
				"Platform: " + runtime.GOOS, "Program: " + test.first, "Error: " + test.err,
			})
		})
	}
}

func TestDataSearchesRelativeDirectoriesOfPath(t *testing.T) {
	t.Chdir(t.TempDir())
	script(t, "here", "#!/bin/sh\necho '{\"ran\":\"'$0'\"}'\n")
	t.Setenv("PATH", ".:"+os.Getenv("PATH"))
	expectResult(t, mustRead(t, New(Options{}), typeData, attrs{"program": list("here")}), map[string]string{
		"ran": "here"})
}

func TestDataLooksUpHereAndExecutesInTheWorkingDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("there", 0o755); err != nil {
		t.Fatal(err)
	}
	script(t, "there/p.sh", "#!/bin/sh\necho '{\"ran\":\"there\"}'\n")
	a := attrs{"program": list("./p.sh"), "working_dir": cty.StringVal("there")}
	_, diags := readData(t, New(Options{}), typeData, a)
	expectProblem(t, diags, "External Program Lookup Failed", nil)
	script(t, "p.sh", "#!/bin/sh\necho '{\"ran\":\"here\"}'\n")
	expectResult(t, mustRead(t, New(Options{}), typeData, a), map[string]string{"ran": "there"})
}

func TestDataRunsInTheWorkingDirectory(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		dir  cty.Value
		want string
	}{
		{cty.NullVal(cty.String), cwd}, {cty.StringVal(""), cwd}, {cty.StringVal("testdata"), cwd + "/testdata"},
		{cty.StringVal(dir), dir},
	} {
		got := mustRead(t, New(Options{}), typeData, attrs{"program": self("dir"), "working_dir": test.dir})
		expectResult(t, got, map[string]string{"dir": test.want})
	}
	got := mustRead(t, New(Options{Dir: dir}), typeData, attrs{"program": self("dir")})
	expectResult(t, got, map[string]string{"dir": dir})
}

func TestDataReportsWhyItCannotStart(t *testing.T) {
	t.Chdir(t.TempDir())
	script(t, "noshebang", "echo hello\n")
	sh, err := filepath.Abs(script(t, "p.sh", "#!/bin/sh\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, diags := readData(t, New(Options{}), typeData, attrs{"program": list(sh), "working_dir": cty.StringVal("nope")})
	expectProblem(t, diags, "External Program Execution Failed",
		[]string{"Program: " + sh, "State: chdir nope: no such file or directory"}, "no additional error messaging")
	_, diags = readData(t, New(Options{}), typeData, attrs{"program": list("./noshebang")})
	expectProblem(t, diags, "External Program Execution Failed", []string{
		"Program: ./noshebang", "State: fork/exec ./noshebang: exec format error"})
}

func TestDataPassesTheEnvironmentWithoutPluginVariables(t *testing.T) {
	t.Setenv("EXTERNAL_TEST", "here")
	for _, name := range []string{"TF_PLUGIN_MAGIC_COOKIE", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_MIN_PORT",
		"PLUGIN_MAX_PORT", "PLUGIN_CLIENT_CERT"} {
		t.Setenv(name, "x")
	}
	vars := mustRead(t, New(Options{}), typeData, attrs{"program": self("env")}).AsValueMap()
	if v := vars["EXTERNAL_TEST"]; v == cty.NilVal || v.AsString() != "here" {
		t.Errorf("a variable is missing: %#v", vars)
	}
	for name := range vars {
		if name == "TF_PLUGIN_MAGIC_COOKIE" || strings.HasPrefix(name, "PLUGIN_") {
			t.Errorf("the program sees %s", name)
		}
	}
	vars = mustRead(t, New(Options{Env: []string{"ONLY=this"}}), typeData, attrs{"program": self("env")}).AsValueMap()
	if v := vars["ONLY"]; v == cty.NilVal || vars["EXTERNAL_TEST"] != cty.NilVal {
		t.Errorf("an environment of one's own: got %#v", vars)
	}
}

func TestDataThatFailsShowsItsMessage(t *testing.T) {
	sh := func(text string) cty.Value { return list("sh", "-c", text) }
	path := lookPath(t, "sh")
	tests := map[string]struct {
		program cty.Value
		lines   []string
		phrase  string
	}{
		"with a message": {sh("echo no such thing >&2; exit 3"), []string{"Error Message: no such thing",
			"State: exit status 3"}, ""},
		"in lines": {sh("printf 'one\n\ntwo' >&2; exit 3"), []string{"Error Message: one", "", "two",
			"State: exit status 3"}, ""},
		"silently": {sh("exit 4"), []string{"State: exit status 4"}, "returned no additional error messaging."},
		"by a signal": {sh("kill -9 $$"), []string{"State: signal: killed"},
			"returned no additional error messaging."},
		"with output": {sh(`echo '{"a":"b"}'; echo bad >&2; exit 1`), []string{
			"Error Message: bad", "State: exit status 1"}, ""},
		"in other bytes": {sh(`printf 'a\377b' >&2; exit 1`), []string{"Error Message: a\uFFFDb",
			"State: exit status 1"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, diags := readData(t, New(Options{}), typeData, attrs{"program": test.program})
			expectProblem(t, diags, "External Program Execution Failed", append([]string{"Program: " + path},
				test.lines...), test.phrase)
		})
	}
}

func TestDataShowsTheWholeMessage(t *testing.T) {
	_, diags := readData(t, New(Options{}), typeData, attrs{"program": list("sh", "-c", "seq 1 10000 >&2; exit 1")})
	var all strings.Builder
	for i := range 10000 {
		fmt.Fprintln(&all, i+1)
	}
	expectProblem(t, diags, "External Program Execution Failed", nil, all.String())
}

func TestSuccessfulDataShowsNothing(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	p := New(Options{Stderr: func(l Line) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, l.Label+": "+l.Text)
	}})
	got := mustRead(t, p, typeData, attrs{"program": list("sh", "-c", "echo hello >&2; echo '{}'")})
	expectResult(t, got, map[string]string{})
	if diff := cmp.Diff([]string{"external sh: hello"}, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDataAcceptsOddAnswers(t *testing.T) {
	tests := map[string]struct {
		out  string
		want map[string]string
	}{
		"white space":            {`\r\n {\"a\":\r\n\"b\"}\n\n`, map[string]string{"a": "b"}},
		"empty object":           {`{}`, map[string]string{}},
		"null value":             {`{\"a\":null}`, map[string]string{"a": ""}},
		"null":                   {`null`, nil},
		"duplicate key":          {`{\"a\":\"1\",\"a\":\"2\"}`, map[string]string{"a": "2"}},
		"empty key":              {`{\"\":\"x\"}`, map[string]string{"": "x"}},
		"keys differing in case": {`{\"a\":\"1\",\"A\":\"2\"}`, map[string]string{"a": "1", "A": "2"}},
		"invalid UTF-8":          {`{\"a\":\"x\xffy\"}`, map[string]string{"a": "x\uFFFDy"}},
		"lone surrogate":         {`{\"a\":\"\\ud800\"}`, map[string]string{"a": "\uFFFD"}},
		"NUL":                    {`{\"a\":\"\\u0000\"}`, map[string]string{"a": "\x00"}},
		"another normal form":    {`{\"e\u0301\":\"o\u0308\"}`, map[string]string{"é": "ö"}},
		"two that become one":    {`{\"e\u0301\":\"1\",\"\u00e9\":\"2\"}`, map[string]string{"é": "2"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := mustRead(t, New(Options{}), typeData, attrs{
				"program": self("print", strings.ReplaceAll(test.out, `\"`, `"`))})
			expectResult(t, got, test.want)
		})
	}
}

func TestDataRefusesOtherAnswers(t *testing.T) {
	tests := map[string]struct{ out, err, excerpt string }{
		"nothing":          {``, "unexpected end of JSON input", "(nothing)"},
		"half an object":   {`{"a":`, "unexpected end of JSON input", `{"a":`},
		"text":             {`Hello`, "invalid character 'H' looking for beginning of value", "Hello"},
		"trailing text":    {`{} x`, "invalid character 'x' after top-level value", "{} x"},
		"two objects":      {`{}{}`, "invalid character '{' after top-level value", "{}{}"},
		"number":           {`{"a":1}`, "json: cannot unmarshal number into Go value of type string", `{"a":1}`},
		"bool":             {`{"a":true}`, "json: cannot unmarshal bool into Go value of type string", `{"a":true}`},
		"array":            {`{"a":[]}`, "json: cannot unmarshal array into Go value of type string", `{"a":[]}`},
		"object":           {`{"a":{}}`, "json: cannot unmarshal object into Go value of type string", `{"a":{}}`},
		"top-level array":  {`[]`, "json: cannot unmarshal array into Go value of type map[string]string", `[]`},
		"top-level string": {`"x"`, "json: cannot unmarshal string into Go value of type map[string]string", `"x"`},
		"byte order mark":  {`\xef\xbb\xbf{}`, "invalid character 'ï' looking for beginning of value", `\ufeff{}`},
		"raw NUL":          {`{"a":"\x00"}`, `invalid character '\x00' in string literal`, `{"a":"\x00"}`},
		"control codes":    {`\x1b[2Jx`, `invalid character '\x1b' looking for beginning of value`, `\x1b[2Jx`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			argv := programtest.Argv("print", test.out)
			_, diags := readData(t, New(Options{}), typeData, attrs{"program": list(argv...)})
			expectProblem(t, diags, "Unexpected External Program Results",
				[]string{"Program: " + argv[0], "Result Error: " + test.err, "Output: " + test.excerpt})
		})
	}
}

func TestDataWithHostilePrograms(t *testing.T) {
	large := strs(map[string]string{"a": strings.Repeat("x", 900_000)})
	tests := map[string]struct {
		program cty.Value
		summary string // "" means success
		phrase  string
	}{
		"that never reads its input": {self("deaf"), "", ""},
		"that closes its input":      {self("closing"), "", ""},
		"that floods its output": {self("flood", "104857600"), sumResults,
			"Result Error: the program printed more than 64 MiB on standard output, and was killed"},
		"that floods standard error":  {self("errflood", "104857600"), "", ""},
		"that is deep":                {self("deep", "1000000"), sumResults, "exceeded max depth"},
		"whose child holds the pipes": {self("parent", `{"a":"b"}`, "0", "after", "2m", ""), "", ""},
		"that leaves a daemon":        {self("daemon", `{"a":"b"}`, "0", "after", "2m", ""), "", ""},
		"whose child keeps the answer back": {self("parent", `{"a":`, "0", "after", "2m", ""), sumResults,
			"unexpected end of JSON input"},
		"that kills itself": {self("killself"), sumExecution, "signal: killed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			_, diags := readData(t, New(Options{}), typeData, attrs{"program": test.program, "query": large})
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("took %s", took)
			}
			if test.summary == "" {
				if len(diags) > 0 {
					t.Error(diags.Err())
				}
				return
			}
			expectProblem(t, diags, test.summary, nil, test.phrase)
		})
	}
}

func TestDataEndsWithItsContextOrTheProvider(t *testing.T) {
	for name, mode := range map[string]string{"politely": "hang", "by force": "stubborn"} {
		for _, how := range []string{"context", "stop"} {
			t.Run(name+", "+how, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var p provider.Provider
				p = New(Options{Grace: 200 * time.Millisecond, Stderr: func(Line) {
					if how == "context" {
						cancel()
					} else if err := p.Stop(ctx); err != nil {
						t.Error(err)
					}
				}})
				schema, _ := p.Schema(ctx)
				begin := time.Now()
				resp := p.ReadData(ctx, provider.ReadDataRequest{
					Type: typeData, Config: attrs{"program": self(mode)}.object(schema.Data[typeData])})
				if took := time.Since(begin); took > time.Minute {
					t.Errorf("took %s", took)
				}
				reason := "context canceled"
				if how == "stop" {
					reason = "the run is being interrupted"
				}
				expectProblem(t, resp.Diagnostics, sumExecution, nil, "did not finish", reason,
					"State: signal: ")
			})
		}
	}
}

func TestSecondDataSource(t *testing.T) {
	p := New(Options{})
	sh := testdata(t, "example.sh")
	for name, a := range map[string]attrs{
		"program as a list":  {"program": self("args", "x")},
		"program as a tuple": {"program": tuple(programtest.Argv("args", "x")...)},
		"interpreter as a string": {"program": tuple(programtest.Argv("args", "x")...),
			"interpreter": cty.StringVal("env")},
	} {
		t.Run(name, func(t *testing.T) {
			expectResult(t, mustRead(t, p, typeDataSource, a), map[string]string{"args": "x"})
		})
	}
	t.Run("program as a string with an interpreter", func(t *testing.T) {
		needs(t, "bash", "jq")
		for _, interpreter := range []cty.Value{cty.StringVal("bash"), tuple("bash", "-e"),
			cty.NullVal(cty.DynamicPseudoType)} {
			got := mustRead(t, p, typeDataSource, attrs{
				"program": cty.StringVal(sh), "interpreter": interpreter,
				"query": strs(map[string]string{"foo": "a", "baz": "$b 'c'"}),
			})
			expectResult(t, got, map[string]string{"foobaz": "a $b 'c'"})
		}
	})
	t.Run("a program that is not there", func(t *testing.T) {
		_, diags := readData(t, p, typeDataSource, attrs{"program": cty.StringVal("no-such-program"),
			"interpreter": cty.NullVal(cty.String)})
		expectProblem(t, diags, sumLookup, []string{
			"Platform: " + runtime.GOOS, `Program: "no-such-program"`,
			`Error: exec: "no-such-program": executable file not found in $PATH`,
		})
	})
}

func TestExampleInBash(t *testing.T) {
	needs(t, "bash", "jq")
	got := mustRead(t, New(Options{}), typeData, attrs{
		"program": list("bash", testdata(t, "example.sh")),
		"query":   strs(map[string]string{"foo": "Hello", "baz": "wor'ld \"\n"}),
	})
	expectResult(t, got, map[string]string{"foobaz": "Hello wor'ld \"\n"})
}

func TestExampleInPython(t *testing.T) {
	needs(t, "python3")
	p := New(Options{})
	query := strs(map[string]string{"foo": "baz"})
	got := mustRead(t, p, typeData, attrs{"program": list("python3", testdata(t, "example.py")), "query": query})
	expectResult(t, got, map[string]string{"bar": "xyxy"})
	got = mustRead(t, p, typeDataSource, attrs{
		"program": cty.StringVal(testdata(t, "example.py")), "interpreter": cty.StringVal("python3"), "query": query,
	})
	expectResult(t, got, map[string]string{"bar": "xyxy"})
}

// Output of a program may have any length; the part in messages is limited.
func TestProblemsOfProgramsAreCut(t *testing.T) {
	for name, script := range map[string]string{
		"message": `head -c 9000000 /dev/zero | tr '\0' e >&2; echo "at the end" >&2; exit 3`,
		"key":     `printf '{"'; head -c 9000000 /dev/zero | tr '\0' k; printf '": 1}'`,
		"answer":  `head -c 9000000 /dev/zero | tr '\0' x`,
	} {
		_, diags := readData(t, New(Options{}), "external", attrs{"program": list("sh", "-c", script)})
		if !diags.HasErrors() {
			t.Errorf("%s: no error", name)
			continue
		}
		text := diags.Err().Error()
		if len(text) > diag.MaxText+4096 {
			t.Errorf("%s: %d bytes", name, len(text))
		}
		if name == "message" && !strings.Contains(text, "at the end") {
			t.Errorf("the end of the message is missing:\n%.2000s", text)
		}
	}
}
