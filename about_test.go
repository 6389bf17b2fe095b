package tombolo_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/go/packages"

	"github.com/tombolo-iac/tombolo/diag"
)

var updateAbout = flag.Bool("update-about", false, "write the texts of each code in the source")

// aboutFile holds what the command "explain" prints about codes that have no page.
const aboutFile = "internal/explain/about.txt"

// checkAbout compares a file with the facts that the source has about each code: the packages that report it, and the
// texts of its problems. An ellipsis replaces each part of a text that is only known at run time.
func checkAbout(t *testing.T, pkgs []*packages.Package) {
	t.Helper()
	a := &titles{pkgs: pkgs, flows: map[types.Object][]flow{}, results: map[types.Object][]flow{},
		open: map[types.Object]bool{}, known: map[types.Object][]string{},
		closures: map[string][]*types.Signature{}}
	a.eachFile(a.closuresOf)
	a.eachFile(a.file)
	var b strings.Builder
	texts := a.codeTexts()
	for _, k := range diag.Kinds() {
		if k.Retired {
			continue
		}
		s := texts[k.Code]
		if s == nil {
			s = &codeTexts{}
		}
		slices.Sort(s.components)
		fmt.Fprintf(&b, "%s %s\n", k.Code, strings.Join(s.components, " "))
		for _, text := range s.shortest() {
			fmt.Fprintf(&b, "\t%s\n", text)
		}
	}
	if *updateAbout {
		if err := os.WriteFile(aboutFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(aboutFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s does not match the source; write it with -update-about, and then the archive of it with "+
			"\"go test ./internal/explain -update\" (-file +source):\n%s", aboutFile, diff)
	}
}

// codeTexts holds the packages and the texts of a code.
type codeTexts struct{ components, texts []string }

// maxTexts is the number of texts to list for a code.
const maxTexts = 3

// shortest returns the most informative texts of the code: few and short.
func (s *codeTexts) shortest() []string {
	slices.SortStableFunc(s.texts, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return s.texts[:min(len(s.texts), maxTexts)]
}

// codeTexts returns, by title, all texts that can be a title, each with the text beside it: the next argument of the
// call, or the Detail.
func (t *titles) codeTexts() map[string]*codeTexts {
	out := map[string]*codeTexts{}
	t.eachFile(func(p *packages.Package, file *ast.File) {
		list := func(all []ast.Expr) {
			for i, e := range all {
				var next ast.Expr
				if i+1 < len(all) {
					next = all[i+1]
				}
				t.addText(p, e, next, out)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				list(n.Args)
			case *ast.ReturnStmt:
				list(n.Results)
			case *ast.AssignStmt:
				list(n.Rhs)
			case *ast.ValueSpec:
				list(n.Values)
			case *ast.CompositeLit:
				if title := fieldOf(n, "Summary"); title != nil {
					t.addText(p, title, fieldOf(n, "Detail"), out)
				} else if len(n.Elts) > 0 && !isPair(n.Elts[0]) {
					list(n.Elts)
				}
			case *ast.KeyValueExpr: // an entry of a table of titles
				t.addText(p, n.Value, nil, out)
			}
			return true
		})
	})
	return out
}

func isPair(e ast.Expr) bool {
	_, ok := e.(*ast.KeyValueExpr)
	return ok
}

func fieldOf(lit *ast.CompositeLit, name string) ast.Expr {
	for _, el := range lit.Elts {
		if kv, ok := el.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && id.Name == name {
				return kv.Value
			}
		}
	}
	return nil
}

// addText records the package and the text of a title, if the expression is a constant text.
func (t *titles) addText(p *packages.Package, title, text ast.Expr, out map[string]*codeTexts) {
	typ := p.TypesInfo.TypeOf(title)
	if typ == nil || !isText(typ) {
		return
	}
	switch e := ast.Unparen(title).(type) {
	case *ast.BasicLit, *ast.BinaryExpr:
	case *ast.Ident: // a constant
		if p.TypesInfo.Types[e].Value == nil {
			return
		}
	case *ast.CallExpr:
		if !isSprintf(e, p.TypesInfo) {
			return
		}
	default:
		return
	}
	var details []string
	if text != nil {
		if typ := p.TypesInfo.TypeOf(text); typ != nil && isText(typ) {
			details = t.texts(text, p.TypesInfo)
		}
	}
	if len(details) == 0 || len(details) > maxTexts {
		details = []string{""}
	}
	for _, summary := range t.texts(title, p.TypesInfo) {
		if strings.Trim(summary, unknownText+" ") == "" {
			continue
		}
		for _, detail := range details {
			code := (&diag.Diagnostic{Summary: summary, Detail: detail}).Code()
			if code == "" {
				continue
			}
			s := out[code]
			if s == nil {
				s = &codeTexts{}
				out[code] = s
			}
			if component := partOf(p.PkgPath); !slices.Contains(s.components, component) {
				s.components = append(s.components, component)
			}
			if text := readable(detail); text != "" && !slices.Contains(s.texts, text) {
				s.texts = append(s.texts, text)
			}
		}
	}
}

func isSprintf(call *ast.CallExpr, info *types.Info) bool {
	fn, ok := objectOf(info, call.Fun).(*types.Func)
	return ok && fn.FullName() == "fmt.Sprintf"
}

// partOf returns the part of the program that a package belongs to; for a command, its family.
func partOf(pkg string) string {
	below, ours := strings.CutPrefix(pkg, modulePath)
	below = strings.TrimPrefix(below, "/")
	switch parts := strings.Split(below, "/"); {
	case !ours:
		return "hcl"
	case below == "":
		return "library"
	case parts[0] == "internal" && parts[1] == "cli" && len(parts) > 2:
		return "cli/" + parts[2]
	case parts[0] == "internal":
		return parts[1]
	default:
		return parts[0]
	}
}

var verbs = regexp.MustCompile(`%(\[\d+\])?[-+#]?[0-9.]*[a-zA-Z]|\*`)

// readable returns a text with ellipses for what is only known at run time, or "" if little else is left.
func readable(text string) string {
	text = strings.ReplaceAll(text, "[*]", "[\x00]")
	text = strings.ReplaceAll(verbs.ReplaceAllString(text, "…"), "\x00", "*")
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "%%", "%")), " ")
	if len(strings.ReplaceAll(text, "…", "")) < 24 || !strings.Contains(text, " ") {
		return ""
	}
	return text
}
