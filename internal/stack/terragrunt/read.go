package terragrunt

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
)

// reader reads what the file of one unit and the files that it includes say.
type reader struct {
	*converter

	dir          string            // of the unit
	reads        map[string]bool   // the files that it reads
	dependencies map[string]string // directories by the name of the dependency block
	used         []string          // names of dependencies whose outputs the inputs use
	before       []string          // directories of dependencies without outputs
	inputs       map[string]input
	source       *hclsyntax.Attribute // of the terraform block
	sourceText   string
	includes     bool
	hasInputs    bool
}

// input is the expression of a variable, in the scope of its file.
type input struct {
	expr  hclsyntax.Expression
	scope *hcl.EvalContext
	file  string
}

// isUnit reports whether the directory is a root module, and not only the place of a file that others include.
func (u *reader) isUnit(dirs []string) bool {
	if u.source != nil || u.includes || len(u.dependencies) > 0 {
		return true
	}
	entries, _ := os.ReadDir(filepath.Join(u.root, filepath.FromSlash(u.dir)))
	has := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".tf") })
	below := slices.ContainsFunc(dirs, func(dir string) bool {
		return dir != u.dir && (u.dir == "." || strings.HasPrefix(dir, u.dir+"/"))
	})
	return has || u.hasInputs && !below
}

// read reads a file. from is the directory of the file that was named by the user: path functions depend on both.
func (u *reader) read(name, from string) {
	if u.reads[name] {
		u.note(name, 1, "the file is included by a file that it includes, or twice; the second time is left out")
		return
	}
	u.reads[name] = true
	body := u.parse(name)
	if body == nil {
		return
	}
	scope := u.scope(path.Dir(name))
	u.locals(body, scope)
	for _, block := range body.Blocks {
		if block.Type == "include" { // the values of the unit itself override those of the files that it includes
			u.include(block, scope, name, from)
		}
	}
	for _, block := range body.Blocks {
		u.block(block, scope, name)
	}
	for _, a := range sortedAttributes(body.Attributes) {
		if a.Name != "inputs" {
			u.noteAt(a.SrcRange, "the argument %q is not converted", a.Name)
			continue
		}
		u.hasInputs = true
		object, ok := a.Expr.(*hclsyntax.ObjectConsExpr)
		if !ok {
			u.noteAt(a.SrcRange, "the inputs are not an object in braces, so they are not converted: move them to "+
				"variables of the unit by hand")
			continue
		}
		for _, item := range object.Items {
			key, problems := item.KeyExpr.Value(scope)
			if problems.HasErrors() || !isText(key) {
				u.noteAt(item.KeyExpr.Range(), "the name of an input is not constant, so it is not converted")
				continue
			}
			u.inputs[key.AsString()] = input{item.ValueExpr, scope, name}
		}
	}
}

// block converts one block of a file.
func (u *reader) block(block *hclsyntax.Block, scope *hcl.EvalContext, name string) {
	switch block.Type {
	case "include", "locals":
	case "dependency":
		u.dependency(block, scope)
	case "dependencies":
		for _, a := range sortedAttributes(block.Body.Attributes) {
			v, problems := a.Expr.Value(scope)
			if a.Name != "paths" || problems.HasErrors() || v.IsMarked() || !v.CanIterateElements() {
				u.noteAt(a.SrcRange, "the dependencies are not a constant list of paths, so they are not converted: "+
					"add them to depends_on")
				continue
			}
			for it := v.ElementIterator(); it.Next(); {
				if _, e := it.Element(); isText(e) {
					u.before = append(u.before, path.Join(u.dir, filepath.ToSlash(e.AsString())))
				}
			}
		}
	case "terraform":
		u.terraform(block, scope)
	case "remote_state":
		u.remoteState(block, scope)
	case "generate":
		u.generate(block, scope)
	default:
		u.noteAt(block.DefRange(), "the block %q is not converted", block.Type)
	}
}

// isText reports whether a value is a string that is known, not null and not sensitive.
func isText(v cty.Value) bool {
	return !v.IsMarked() && v.Type() == cty.String && v.IsKnown() && !v.IsNull()
}

func sortedAttributes(attributes hclsyntax.Attributes) (list []*hclsyntax.Attribute) {
	for _, a := range attributes {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b *hclsyntax.Attribute) int { return a.SrcRange.Start.Byte - b.SrcRange.Start.Byte })
	return list
}

// locals evaluates the locals of a file, in any order. Those that cannot be evaluated are noted where they are used.
func (u *reader) locals(body *hclsyntax.Body, scope *hcl.EvalContext) {
	open := map[string]hclsyntax.Expression{}
	for _, block := range body.Blocks {
		if block.Type == "locals" {
			for name, a := range block.Body.Attributes {
				open[name] = a.Expr
			}
		}
	}
	known := map[string]cty.Value{}
	for found := true; found; {
		found = false
		scope.Variables["local"] = cty.ObjectVal(known)
		for name, e := range open {
			if v, problems := e.Value(scope); !problems.HasErrors() && v.IsWhollyKnown() {
				known[name], found = v, true
				delete(open, name)
			}
		}
	}
}

// include reads the file that an include block names.
func (u *reader) include(block *hclsyntax.Block, scope *hcl.EvalContext, name, from string) {
	u.includes = true
	for _, a := range sortedAttributes(block.Body.Attributes) {
		if a.Name != "path" {
			u.noteAt(a.SrcRange, "the argument %q of an include block is not converted: inputs of the unit replace "+
				"those of the included file one by one", a.Name)
		}
	}
	a := block.Body.Attributes["path"]
	if a == nil {
		return
	}
	v, problems := a.Expr.Value(scope)
	if problems.HasErrors() || !isText(v) {
		u.noteAt(a.SrcRange, "the path of the included file is not constant, so the file is not converted")
		return
	}
	file := filepath.ToSlash(v.AsString())
	if filepath.IsAbs(file) {
		file = u.rel(file)
	} else {
		file = path.Join(path.Dir(name), file)
	}
	if file == ".." || strings.HasPrefix(file, "../") {
		u.noteAt(a.SrcRange, "the included file %s is outside of the converted directory, so it is not converted", file)
		return
	}
	u.read(file, from)
}

// dependency records the directory of another unit.
func (u *reader) dependency(block *hclsyntax.Block, scope *hcl.EvalContext) {
	for _, a := range sortedAttributes(block.Body.Attributes) {
		if a.Name != "config_path" {
			if !strings.HasPrefix(a.Name, "mock_outputs") { // a unit waits for outputs that do not exist yet
				u.noteAt(a.SrcRange, "the argument %q of a dependency block is not converted", a.Name)
			}
			continue
		}
		v, problems := a.Expr.Value(scope)
		if problems.HasErrors() || !isText(v) || len(block.Labels) != 1 {
			u.noteAt(a.SrcRange, "the path of the dependency is not constant, so it is not converted")
			continue
		}
		dir := filepath.ToSlash(v.AsString())
		if filepath.IsAbs(dir) {
			dir = u.rel(dir)
		} else {
			dir = path.Join(u.dir, dir)
		}
		u.dependencies[block.Labels[0]] = dir
	}
}

// terraform reads the source of the module, and notes everything else.
func (u *reader) terraform(block *hclsyntax.Block, scope *hcl.EvalContext) {
	for _, a := range sortedAttributes(block.Body.Attributes) {
		v, problems := a.Expr.Value(scope)
		if a.Name != "source" || problems.HasErrors() || !isText(v) {
			u.noteAt(a.SrcRange, "the argument %q of the terraform block is not converted", a.Name)
			continue
		}
		u.source, u.sourceText = a, v.AsString()
	}
	for _, b := range block.Body.Blocks {
		advice := ""
		if strings.HasSuffix(b.Type, "_hook") {
			advice = ": write a hook block in the tombolo.hcl of the unit"
		} else if b.Type == "extra_arguments" {
			advice = ": files with values belong to var_files of the unit"
		}
		u.noteAt(b.DefRange(), "the block %q is not converted%s", b.Type, advice)
	}
}

// remoteState writes the backend of the unit.
func (u *reader) remoteState(block *hclsyntax.Block, scope *hcl.EvalContext) {
	kind, config := "", cty.NilVal
	for _, a := range sortedAttributes(block.Body.Attributes) {
		v, problems := a.Expr.Value(scope)
		v = u.portable(v)
		switch {
		case a.Name == "generate" || a.Name == "disable_init":
		case problems.HasErrors() || !v.IsWhollyKnown() || a.Name != "backend" && a.Name != "config":
			u.noteAt(a.SrcRange, "the argument %q of the remote state is not converted", a.Name)
		case a.Name == "backend" && isText(v):
			kind = v.AsString()
		case a.Name == "config" && v.Type().IsObjectType() && !v.IsNull():
			config = v
		}
	}
	if kind == "" || config == cty.NilVal {
		u.noteAt(block.DefRange(), "the remote state has no constant backend and config, so no backend block was "+
			"written")
		return
	}
	f := hclwrite.NewEmptyFile()
	body := f.Body().AppendNewBlock("terraform", nil).Body().AppendNewBlock("backend", []string{kind}).Body()
	for it := config.ElementIterator(); it.Next(); {
		k, v := it.Element()
		if name := k.AsString(); onlyTerragrunt[name] {
			u.noteAt(block.DefRange(), "the setting %q of the remote state is only for Terragrunt, and is left "+
				"out", name)
		} else {
			body.SetAttributeValue(name, v)
		}
	}
	u.add(path.Join(u.dir, "backend.tf"), f.Bytes())
}

// onlyTerragrunt are settings of remote states that backends do not have.
var onlyTerragrunt = map[string]bool{"skip_bucket_versioning": true, "skip_bucket_ssencryption": true,
	"skip_bucket_root_access": true, "skip_bucket_enforced_tls": true, "skip_bucket_public_access_blocking": true,
	"disable_bucket_update": true, "s3_bucket_tags": true, "dynamodb_table_tags": true,
	"accesslogging_bucket_name": true,
	"bucket_sse_algorithm":      true, "bucket_sse_kms_key_id": true, "enable_lock_table_ssencryption": true,
	"skip_bucket_creation": true, "gcs_bucket_labels": true, "project": true, "location": true}

// generate writes the file of a generate block.
func (u *reader) generate(block *hclsyntax.Block, scope *hcl.EvalContext) {
	text := func(name string) (string, bool) {
		a := block.Body.Attributes[name]
		if a == nil {
			return "", false
		}
		v, problems := a.Expr.Value(scope)
		if problems.HasErrors() || !isText(v) {
			return "", false
		}
		return v.AsString(), true
	}
	name, ok := text("path")
	content, alsoOK := text("contents")
	if !ok || !alsoOK || path.IsAbs(name) || strings.HasPrefix(path.Clean(name), "..") {
		u.noteAt(block.DefRange(), "the generate block has no constant path and contents, so its file was not written")
		return
	}
	if strings.Contains(content, u.root) {
		u.noteAt(block.DefRange(), "the generated file has the path of this repository on this machine: make it "+
			"relative")
	}
	u.add(path.Join(u.dir, name), []byte(content))
}

// portable returns a value without marks, in which paths in the repository are relative to the directory of the unit.
func (u *reader) portable(v cty.Value) cty.Value {
	v, _ = v.UnmarkDeep()
	out, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
			return v, nil
		}
		text := v.AsString()
		if rest, inside := strings.CutPrefix(text, u.root); inside && (rest == "" || strings.HasPrefix(rest, "/")) {
			return cty.StringVal(relative(u.dir, u.rel(text))), nil
		}
		return v, nil
	})
	if err != nil {
		return v
	}
	return out
}

// scope returns the functions for a file in a directory.
func (u *reader) scope(fileDir string) *hcl.EvalContext {
	table := funcs.Table(funcs.Options{BaseDir: filepath.Join(u.root, filepath.FromSlash(u.dir)), Pure: true})
	text := func(name string, f func(args []string) (string, error)) {
		table[name] = function.New(&function.Spec{
			VarParam: &function.Parameter{Name: "arguments", Type: cty.String},
			Type:     function.StaticReturnType(cty.String),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				var texts []string
				for _, a := range args {
					texts = append(texts, a.AsString())
				}
				v, err := f(texts)
				return cty.StringVal(v), err
			},
		})
	}
	full := func(dir string) string { return filepath.Join(u.root, filepath.FromSlash(dir)) }
	text("find_in_parent_folders", func(args []string) (string, error) { return u.inParents(args) })
	text("get_terragrunt_dir", func([]string) (string, error) { return full(u.dir), nil })
	text("get_original_terragrunt_dir", func([]string) (string, error) { return full(u.dir), nil })
	text("get_parent_terragrunt_dir", func([]string) (string, error) { return full(fileDir), nil })
	text("get_repo_root", func([]string) (string, error) { return u.root, nil })
	text("path_relative_to_include", func([]string) (string, error) { return relative(fileDir, u.dir), nil })
	text("path_relative_from_include", func([]string) (string, error) { return relative(u.dir, fileDir), nil })
	return &hcl.EvalContext{Functions: table, Variables: map[string]cty.Value{}}
}

// relative returns the path from one directory to another.
func relative(from, to string) string {
	r, err := filepath.Rel(filepath.FromSlash(from), filepath.FromSlash(to))
	if err != nil {
		return to
	}
	return filepath.ToSlash(r)
}

// inParents looks for a file in the directories above the unit, up to the repository.
func (u *reader) inParents(args []string) (string, error) {
	name := FileName
	if len(args) > 0 {
		name = args[0]
	}
	for dir := u.dir; dir != "."; {
		dir = path.Dir(dir)
		file := filepath.Join(u.root, filepath.FromSlash(dir), filepath.FromSlash(name))
		if _, err := os.Stat(file); err == nil {
			return file, nil
		}
	}
	if len(args) > 1 {
		return args[1], nil
	}
	return "", function.NewArgErrorf(0, "there is no file %s above %s", name, u.dir)
}
