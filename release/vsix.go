package main

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/tombolo-iac/tombolo/internal/engine"
)

// schemas is the folder of the files that the extension for Visual Studio Code contains.
const schemas = "docs/schemas"

// writeExtension writes the extension for Visual Studio Code, which has no code: the grammars, and the JSON Schemas by
// the names of their files. It is an archive whose bytes only depend on these.
func writeExtension(_ context.Context, file string, _ io.Writer) error {
	content, err := extension(".")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(content)) {
		w, err := z.Create(name)
		if err != nil {
			return err
		}
		if _, err := w.Write(content[name]); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// extension returns the files of the extension by their names in the archive.
func extension(tree string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range []string{"tombolo.tmLanguage.json", "tombolo-project.tmLanguage.json",
		"tombolo-provider.schema.json", "tombolo-test.schema.json"} {
		text, err := os.ReadFile(filepath.Join(tree, filepath.FromSlash(schemas), name))
		if err != nil {
			return nil, err
		}
		files["extension/"+name] = text
	}
	for name, value := range map[string]any{
		"extension/package.json": extensionManifest(), "extension/language-configuration.json": languageConfiguration,
	} {
		text, err := indented(value)
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	files["extension.vsixmanifest"] = []byte(fmt.Sprintf(vsixManifest, engine.Version))
	files["[Content_Types].xml"] = []byte(contentTypes)
	return files, nil
}

type object = map[string]any

// extensionManifest returns package.json: which files have which language.
func extensionManifest() object {
	const configuration = "./language-configuration.json"
	validation := func(name, schema string) object { return object{"fileMatch": name, "url": "./" + schema} }
	return object{
		"name": program, "displayName": title, "publisher": "tombolo-iac", "version": engine.Version,
		"description": "Files of Tombolo: *.tombolo, tombolo.hcl, and the manifests of program providers",
		"license":     "Apache-2.0",
		"repository":  object{"type": "git", "url": "https://" + module},
		"engines":     object{"vscode": "^1.75.0"},
		"categories":  []string{"Programming Languages"},
		"contributes": object{
			"languages": []object{
				{"id": "tombolo", "aliases": []string{title}, "extensions": []string{".tombolo", ".tombolotest.hcl"},
					"configuration": configuration},
				{"id": "tombolo-project", "aliases": []string{title + " project file"},
					"filenames": []string{"tombolo.hcl"}, "configuration": configuration},
			},
			"grammars": []object{
				{"language": "tombolo", "scopeName": "source.tombolo", "path": "./tombolo.tmLanguage.json"},
				{"language": "tombolo-project", "scopeName": "source.tombolo.project",
					"path": "./tombolo-project.tmLanguage.json"},
			},
			"jsonValidation": []object{
				validation("tombolo-provider.json", "tombolo-provider.schema.json"),
				validation("tombolo-test.json", "tombolo-test.schema.json"),
			},
		},
	}
}

// languageConfiguration is the file that describes comments, brackets and quotes.
var languageConfiguration = object{
	"comments":         object{"lineComment": "#", "blockComment": []string{"/*", "*/"}},
	"brackets":         [][]string{{"{", "}"}, {"[", "]"}, {"(", ")"}},
	"autoClosingPairs": [][]string{{"{", "}"}, {"[", "]"}, {"(", ")"}, {`"`, `"`}},
	"surroundingPairs": [][]string{{"{", "}"}, {"[", "]"}, {"(", ")"}, {`"`, `"`}},
}

const vsixManifest = `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="tombolo" Version="%s" Publisher="tombolo-iac"/>
    <DisplayName>Tombolo</DisplayName>
    <Description xml:space="preserve">Files of Tombolo: *.tombolo, tombolo.hcl, and manifests of providers</Description>
    <Categories>Programming Languages</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="^1.75.0"/>
    </Properties>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
  </Assets>
</PackageManifest>
`

const contentTypes = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension=".json" ContentType="application/json"/>
  <Default Extension=".vsixmanifest" ContentType="text/xml"/>
</Types>
`
