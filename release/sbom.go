package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/engine"
)

// The part of CycloneDX 1.5 for a list of Go modules.
type (
	bom struct {
		Format      string      `json:"bomFormat"`
		SpecVersion string      `json:"specVersion"`
		Version     int         `json:"version"`
		Metadata    bomMetadata `json:"metadata"`
		Components  []component `json:"components"`
	}
	bomMetadata struct {
		Component component `json:"component"`
	}
	component struct {
		Type    string     `json:"type"`
		Name    string     `json:"name"`
		Version string     `json:"version"`
		PURL    string     `json:"purl,omitempty"`
		Hashes  []hash     `json:"hashes,omitempty"`
		Values  []property `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

// printSBOM prints the modules of a Go binary, with their hashes. Its output is reproducible.
func printSBOM(_ context.Context, file string, out io.Writer) error {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	doc := bom{Format: "CycloneDX", SpecVersion: "1.5", Version: 1}
	doc.Metadata.Component = component{Type: "application", Name: strings.TrimSuffix(filepath.Base(file), ".exe"),
		Version: engine.Version, Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}}}
	for _, s := range info.Settings {
		doc.Metadata.Component.Values = append(doc.Metadata.Component.Values, property{"go:build:" + s.Key, s.Value})
	}
	std := strings.TrimPrefix(info.GoVersion, "go")
	doc.Components = append(doc.Components, component{Type: "library", Name: "std", Version: std,
		PURL: "pkg:golang/std@" + std})
	for _, m := range info.Deps {
		c, err := moduleOf(m)
		if err != nil {
			return fmt.Errorf("%s: module %s: %w", file, m.Path, err)
		}
		doc.Components = append(doc.Components, c)
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	_, err = out.Write(append(text, '\n'))
	return err
}

// moduleOf returns the component of a module. Its hash is in the form of go.sum: "h1:" and SHA-256 in base64.
func moduleOf(m *debug.Module) (component, error) {
	for m.Replace != nil {
		m = m.Replace
	}
	c := component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version}
	sum, ok := strings.CutPrefix(m.Sum, "h1:")
	if !ok {
		return c, fmt.Errorf("it has no hash of the kind h1, but %q", m.Sum)
	}
	content, err := base64.StdEncoding.DecodeString(sum)
	if err != nil {
		return c, err
	}
	c.Values = []property{{"go:h1", hex.EncodeToString(content)}}
	return c, nil
}
