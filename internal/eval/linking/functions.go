package linking

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/internal/regex"
)

// CalledProviders returns the local names of providers whose functions a source text may call. Only these providers are
// started for their functions. Additional names are harmless.
func CalledProviders(src []byte, filename string) []string {
	if !bytes.Contains(src, []byte("provider")) || !bytes.Contains(src, []byte("::")) {
		return nil
	}
	var names []string
	if strings.HasSuffix(filename, ".json") {
		for _, found := range jsonCall().FindAllSubmatch(src, -1) {
			names = append(names, string(found[1]))
		}
	} else {
		names = calledInTokens(src, filename)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// jsonCall matches the calls in the templates of JSON strings.
var jsonCall = regex.Lazy(`\bprovider\s*::\s*([\p{L}\p{N}_-]+)\s*::`)

func calledInTokens(src []byte, filename string) (names []string) {
	tokens, _ := hclsyntax.LexConfig(src, filename, hcl.InitialPos) // errors in the text have been reported
	tokens = slices.DeleteFunc(tokens, func(t hclsyntax.Token) bool {
		return t.Type == hclsyntax.TokenNewline || t.Type == hclsyntax.TokenComment
	})
	for i := 0; i+3 < len(tokens); i++ {
		if tokens[i].Type == hclsyntax.TokenIdent && string(tokens[i].Bytes) == "provider" &&
			tokens[i+1].Type == hclsyntax.TokenDoubleColon &&
			tokens[i+2].Type == hclsyntax.TokenIdent && tokens[i+3].Type == hclsyntax.TokenDoubleColon {
			names = append(names, string(tokens[i+2].Bytes))
		}
	}
	return names
}

// findProviderCalls records for each module the providers whose functions it calls.
func (p *Program) findProviderCalls(files map[string][]byte) {
	called := map[string][]string{} // by directory
	for name, src := range files {
		if names := CalledProviders(src, name); names != nil {
			dir := path.Dir(name)
			called[dir] = append(called[dir], names...)
		}
	}
	for _, u := range p.order {
		u.Called = called[u.Module.Dir]
	}
}
