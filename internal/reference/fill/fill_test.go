package fill

import (
	"strings"
	"testing"
	"text/template"
)

var data = map[string]any{"Name": "demo <thing>", "Empty": "", "Yes": true, "No": false, "Count": 3, "Part": 1.5,
	"List": []string{"a", "b", "c"}, "None": []string{},
	"Map": map[string]any{"x": "1", "inner": map[string]any{"y": "2"}}}

// functions are those of the test, in either form.
var (
	ours = map[string]Func{
		"upper": func(args []any) (any, error) {
			texts, err := Texts(args, 1)
			if err != nil {
				return nil, err
			}
			return strings.ToUpper(texts[0]), nil
		},
		"split": func(args []any) (any, error) {
			texts, err := Texts(args, 2)
			if err != nil {
				return nil, err
			}
			return strings.Split(texts[0], texts[1]), nil
		},
	}
	theirs = template.FuncMap{"upper": strings.ToUpper, "split": strings.Split}
)

// examples are templates that the standard library executes or refuses.
var examples = []string{
	``, `plain`, `{{ .Name }}`, `{{ .Name | upper }}`, `{{- .Name -}}  x`, `{{/* a comment */}}x`, `{{ . | len }}`,
	`{{ if .Yes }}yes{{ else }}no{{ end }}`, `{{ if .No }}yes{{ else if .Yes }}else{{ end }}`,
	`{{ if .Empty }}x{{ end }}`,
	`{{ if and .Yes .Name }}x{{ end }}`, `{{ and .No .Nmae }}`, `{{ or .Yes .Nmae }}`, `{{ or .Empty "b" }}`,
	`{{ .Name | and .Yes }}`, `{{ .Name | or .Yes }}`, `{{ and }}`,
	`{{ if not .No }}x{{ end }}`, `{{ with .Name }}<{{ . }}|{{ $.Count }}>{{ end }}`,
	`{{ with .Empty }}x{{ else }}y{{ end }}`,
	`{{ with $x := .Name }}{{ $x }}{{ end }}`, `{{ with .Empty }}x{{ else with .Name }}{{ . }}{{ end }}`,
	`{{ range .List }}{{ . }},{{ end }}`, `{{ range $i, $e := .List }}{{ $i }}={{ $e }};{{ end }}`,
	`{{ range $e := .List }}{{ $e }};{{ end }}`, `{{ range .None }}x{{ else }}none{{ end }}`,
	`{{ range $k, $v := .Map }}{{ $k }};{{ end }}`, `{{ range .Count }}{{ . }}{{ end }}`,
	`{{ range .List }}{{ if eq . "b" }}{{ continue }}{{ end }}{{ . }}{{ end }}`,
	`{{ range .List }}{{ if eq . "b" }}{{ break }}{{ end }}{{ . }}{{ end }}`,
	`{{ range .Name }}{{ end }}`, `{{ range split "a/b" "/" }}[{{ . }}]{{ end }}`,
	`{{ $x := 1 }}{{ if .Yes }}{{ $x = 2 }}{{ $x := 3 }}{{ $x }}{{ end }}{{ $x }}`,
	`{{ $last := "" }}{{ range $e := .List }}{{ $last = $e }}{{ end }}{{ $last }}`,
	`{{ $i := 9 }}{{ $e := 8 }}{{ range $i, $e = .List }}{{ end }}{{ $i }}{{ $e }}`,
	`{{ define "t" }}({{ . }}){{ end }}{{ template "t" .Name }}{{ template "t" }}`,
	`{{ block "b" .Count }}{{ . }}{{ end }}`,
	`{{ define "t" }}{{ $.Name }}{{ end }}{{ template "t" . }}`, `{{ template "none" }}`,
	`{{ define "t" }}{{ template "t" }}{{ end }}{{ template "t" }}`, `{{ $x := 1 }}{{ define "t" }}{{ $x }}{{ end }}`,
	`{{ len .Name }}{{ len .List }}{{ len .Map }}`, `{{ len .Count }}`, `{{ index .List 1 }}`, `{{ index .List 3 }}`,
	`{{ index .Map "inner" "y" }}`, `{{ index .List "a" }}`, `{{ index .Name 0 }}`, `{{ index .Map 1 }}`, `{{ index }}`,
	`{{ slice .Name 1 3 }}`, `{{ slice .List 1 }}`, `{{ slice .Name 3 1 }}`, `{{ slice .Map 1 }}`,
	`{{ slice .List 1 9 }}`,
	`{{ print .Name 1 2 "x" }}`, `{{ println .Name }}`, `{{ printf "%s-%d-%q" .Name .Count "x" }}`, `{{ printf }}`,
	`{{ html .Name }}`, `{{ urlquery .Name }}`, `{{ .Name | printf "%s %s" "a" | html }}`,
	`{{ eq .Name "demo <thing>" }}`, `{{ eq .Count 1 2 3 }}`, `{{ eq .Yes true }}`, `{{ eq .Name 1 }}`,
	`{{ eq .Name }}`,
	`{{ ne .Name "x" }}`, `{{ lt 1 2 }}{{ le 2 2 }}{{ gt 1 2 }}{{ ge 1.5 .Part }}`, `{{ lt "a" "b" }}`,
	`{{ lt 1 "b" }}`,
	`{{ lt true false }}`, `{{ eq nil nil }}`, `{{ .Part }} {{ .Count }} {{ .List }} {{ .Yes }}`, `{{ nil }}`,
	`{{ .Nmae.x }}`, `{{ .Map.inner.y }}`, `{{ (.Map).inner.y }}`, `{{ (index .Map "inner").y }}`, `{{ .Name.x }}`,
	`{{ $.Map.x }}`, `{{ $x := .Map }}{{ $x.inner.y }}`, `{{ (upper .Name) }}`, `{{ upper (print "a" "b") }}`,
	`{{ upper }}`, `{{ upper 1 }}`, `{{ upper .Name .Name }}`, `{{ .Name 1 }}`, `{{ 1 | .Name }}`, `{{ "a" "b" }}`,
	`{{ none .Name }}`, `{{ .Name `, `{{ end }}`, `{{ if .Yes }}`, `{{ 'a' }}`,
	`{{ 0x10 }} {{ 1e3 }} {{ -2 }}`, "{{ `raw` }}",
	`{{ true }}{{ false }}`, `{{ break }}`, `{{ not }}`, `{{ not 1 2 }}`, `{{ "}}" }}`, `{{ define "a" }}only{{ end }}`,
}

func TestTemplatesEqualTheStandardLibrary(t *testing.T) {
	for _, text := range examples {
		compareOne(t, text)
	}
}

func compareOne(t *testing.T, text string) {
	t.Helper()
	got, err := Template("page", text, data, ours)
	var b strings.Builder
	tmpl, wantErr := template.New("page").Option("missingkey=error").Funcs(theirs).Parse(text)
	if wantErr == nil {
		wantErr = tmpl.Execute(&b, data)
	}
	switch {
	case (err != nil) != (wantErr != nil):
		t.Errorf("%s: error %v, the standard library has %v", text, err, wantErr)
	case err == nil && got != b.String():
		t.Errorf("%s: got %q, the standard library %q", text, got, b.String())
	}
}

func TestErrorsHavePositions(t *testing.T) {
	_, err := Template("index.md.tmpl", "a\n{{ .Nmae }}", data, ours)
	if err == nil || !strings.Contains(err.Error(), "index.md.tmpl:2") || !strings.Contains(err.Error(), "Nmae") {
		t.Errorf("got %v", err)
	}
}
