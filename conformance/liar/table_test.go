//go:build unix

package liar

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestTableMatchesTheVerdicts compares VERDICTS.md with verdicts.json. TOMBOLO_LIAR=fill regenerates it.
func TestTableMatchesTheVerdicts(t *testing.T) {
	stored := map[string]verdict{}
	read(t, "verdicts.json", &stored)
	random := map[string]verdict{}
	read(t, "random.json", &random)
	tofu := map[string]verdict{}
	read(t, "random_tofu.json", &tofu)
	want := table(stored) + randomTable("Random lies", "What terraform 1.15.9 says of lies that are told in one "+
		"random place of an answer, from random.json (random_test.go): the place and what was put there.", random)
	maps.DeleteFunc(tofu, func(name string, v verdict) bool {
		t, known := random[name]
		return known && (t.Exit == 0) == (v.Exit == 0)
	})
	want += randomTable("Random lies to OpenTofu", "What OpenTofu 1.12.6 says of such lies where terraform 1.15.9 "+
		"says otherwise, from random_tofu.json.", tofu)
	if os.Getenv("TOMBOLO_LIAR") == "fill" {
		if err := os.WriteFile("VERDICTS.md", []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("VERDICTS.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("VERDICTS.md is not what verdicts.json says: run this test with TOMBOLO_LIAR=fill")
	}
}

// table lists which lies are refused in which situation, by the titles of the errors, and which are accepted.
func table(stored map[string]verdict) string {
	var text strings.Builder
	text.WriteString("# What Terraform refuses in the answers of plugins\n\n" +
		wrapped("Written by the tests of this folder from verdicts.json, the answers of terraform 1.11.4. The name of "+
			"a lie says what is wrong with the answer (lies_test.go); a heading names the situation in which it is "+
			"told (scenes_test.go). The version of the plugin protocol is 6; the last part is about plugins that "+
			"claim the legacy type system, over version 5. A lie that is missing does not fit the answer, or "+
			"terraform was not asked.", ""))
	for _, kind := range []struct {
		legacy bool
		title  string
	}{{false, ""}, {true, ", legacy type system"}} {
		for _, s := range scenes {
			of := map[string][]string{}
			for _, lie := range slices.Concat(slices.Collect(maps.Keys(lies)), slices.Collect(maps.Keys(rawLies))) {
				c := lieCase{scene: s, lie: lie, protocol: 6, legacy: kind.legacy}
				if kind.legacy {
					c.protocol = 5
				}
				v, ok := stored[c.name()]
				switch {
				case !ok:
					continue
				case v.Exit == 0:
					of["accepted"] = append(of["accepted"], lie)
				case len(v.Errors) == 0:
					of["crash of terraform"] = append(of["crash of terraform"], lie)
				default:
					of[v.Errors[0]] = append(of[v.Errors[0]], lie)
				}
			}
			if len(of) == 0 {
				continue
			}
			fmt.Fprintf(&text, "\n## %s%s\n\n", s.name, kind.title)
			for _, title := range slices.Sorted(maps.Keys(of)) {
				slices.Sort(of[title])
				text.WriteString(wrapped("- **"+title+"**: "+strings.Join(of[title], ", "), "  "))
			}
		}
	}
	return text.String()
}

// wrapped wraps a paragraph at 120 columns; lines after the first are indented.
func wrapped(paragraph, indent string) string {
	var text strings.Builder
	line := ""
	for _, word := range strings.Fields(paragraph) {
		if line != "" && len(line)+1+len(word) > 120 {
			text.WriteString(line + "\n")
			line = indent + word
			continue
		}
		if line != "" {
			word = " " + word
		}
		line += word
	}
	return text.String() + line + "\n"
}

// randomTable lists the values and places of random lies, in the same way.
func randomTable(title, about string, stored map[string]verdict) string {
	var text strings.Builder
	text.WriteString("\n# " + title + "\n\n" + wrapped(about, ""))
	for _, s := range randomScenes {
		of := map[string][]string{}
		for name, v := range stored {
			switch {
			case !strings.HasPrefix(name, s.name+": ") || v.Lie == "":
			case v.Exit == 0:
				of["accepted"] = append(of["accepted"], v.Lie)
			case len(v.Errors) == 0:
				of["crash of terraform"] = append(of["crash of terraform"], v.Lie)
			default:
				title := strings.Join(strings.Fields(v.Errors[0]), " ")
				of[title] = append(of[title], v.Lie)
			}
		}
		if len(of) == 0 {
			continue
		}
		fmt.Fprintf(&text, "\n## %s, at random\n\n", s.name)
		for _, title := range slices.Sorted(maps.Keys(of)) {
			slices.Sort(of[title])
			titles := "`" + strings.Join(slices.Compact(of[title]), "`, `") + "`"
			text.WriteString(wrapped("- **"+title+"**: "+titles, "  "))
		}
	}
	return text.String()
}
