package tfjson

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/state"
)

// This file has the documents of commands with one result, which include errors.

// Instance writes the current object of an instance in the state: the output of `state show -json`.
func Instance(w io.Writer, st *state.State, a addr.AbsResourceInstance, schemas Schemas) error {
	var b bytes.Buffer
	s := newStream(&b)
	s.open('{')
	s.member("format_version", stateFormat)
	s.key("resource")
	r := st.Resource(a.AbsResource())
	if err := s.stateObject(r, a.Key, "", r.Instances[a.Key].Current, schemas); err != nil {
		return err
	}
	s.key("diagnostics")
	s.raw("[]")
	s.close('}')
	return writeIndented(w, s, &b)
}

// NoInstance writes the document of an instance that cannot be shown. sources holds the text of files by name.
func NoInstance(w io.Writer, list diag.List, sources map[string][]byte) error {
	type nothing struct {
		Provider string `json:"provider_name"`
		Version  int    `json:"schema_version"`
	}
	return writeDocument(w, struct {
		FormatVersion string       `json:"format_version"`
		Resource      nothing      `json:"resource"`
		Diagnostics   []Diagnostic `json:"diagnostics"`
	}{FormatVersion: stateFormat, Diagnostics: Diagnostics(list, sources)})
}

// Workspaces writes the names of workspaces: the output of `workspace list -json`.
func Workspaces(w io.Writer, names []string, current string, list diag.List, sources map[string][]byte) error {
	type workspace struct {
		Name    string `json:"name"`
		Current bool   `json:"is_current,omitempty"`
	}
	workspaces := []workspace{}
	if !list.HasErrors() {
		for _, name := range names {
			workspaces = append(workspaces, workspace{name, name == current})
		}
	}
	return writeDocument(w, struct {
		FormatVersion string       `json:"format_version"`
		Workspaces    []workspace  `json:"workspaces"`
		Diagnostics   []Diagnostic `json:"diagnostics"`
	}{workspacesFormat, workspaces, Diagnostics(list, sources)})
}

// Identities writes identities by the addresses of their instances: the output of `state identities -json`.
func Identities(w io.Writer, identities map[string]json.RawMessage) error {
	return writeDocument(w, identities)
}

func writeDocument(w io.Writer, doc any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}
