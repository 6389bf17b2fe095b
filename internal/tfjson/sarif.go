package tfjson

import (
	"io"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/diag"
)

// Sarif describes a document in the format SARIF 2.1.0, for services that show problems in source files.
type Sarif struct {
	Tool, Version string
	// Dir is the base directory of file names, relative to the repository.
	Dir     string
	Sources map[string][]byte // by the file names in ranges
}

type (
	sarifText struct {
		Text string `json:"text"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
		Help  sarifText `json:"help"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine"`
		EndColumn   int `json:"endColumn"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifResult struct {
		Rule      string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"semanticVersion"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifDocument struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
)

// foreignRule is the rule of problems that providers report, which have no code.
const foreignRule = "provider"

// Write writes the document of problems, with their codes as rules.
func (s Sarif) Write(w io.Writer, list diag.List) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: s.Tool, Version: s.Version, Rules: []sarifRule{}}
	known := map[string]bool{}
	for _, d := range list {
		id := d.Code()
		if id == "" {
			id = foreignRule
		}
		if !known[id] {
			known[id] = true
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, ruleOf(id, d))
		}
		text := d.Summary
		if more := d.Text(diag.Program); more != "" {
			text += "\n\n" + more
		}
		run.Results = append(run.Results, sarifResult{Rule: id, Level: d.Severity.String(), Message: sarifText{text},
			Locations: s.locations(d)})
	}
	slices.SortFunc(run.Tool.Driver.Rules, func(a, b sarifRule) int { return strings.Compare(a.ID, b.ID) })
	return writeDocument(w, sarifDocument{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{run}})
}

func ruleOf(id string, d *diag.Diagnostic) sarifRule {
	if id == foreignRule {
		return sarifRule{id, sarifText{"A problem that a provider reports"},
			sarifText{"See the documentation of the provider."}}
	}
	title := d.Summary
	for _, k := range diag.Kinds() {
		if k.Code == id {
			title = k.Title
		}
	}
	return sarifRule{id, sarifText{title}, sarifText{"Run: " + diag.Program + " explain " + id}}
}

func (s Sarif) locations(d *diag.Diagnostic) []sarifLocation {
	l := sarifLocation{}
	if r := d.Subject; r != nil {
		name := url.URL{Path: path.Join(s.Dir, r.Filename)}
		l.Physical = &sarifPhysical{sarifArtifact{name.EscapedPath(), "%SRCROOT%"}, sarifRegion{
			r.Start.Line, s.column(r.Filename, r.Start), r.End.Line, s.column(r.Filename, r.End)}}
	}
	if d.Address != "" {
		l.Logical = []sarifLogical{{d.Address}}
	}
	if l.Physical == nil && l.Logical == nil {
		return []sarifLocation{}
	}
	return []sarifLocation{l}
}

// column returns the column of a position in code points: hcl counts grapheme clusters.
func (s Sarif) column(file string, at hcl.Pos) int {
	src, ok := s.Sources[file]
	if !ok || at.Byte > len(src) || strings.HasSuffix(file, ".json") {
		return at.Column
	}
	begin := strings.LastIndexByte(string(src[:at.Byte]), '\n') + 1
	return utf8.RuneCount(src[begin:at.Byte]) + 1
}
