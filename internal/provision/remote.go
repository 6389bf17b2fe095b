package provision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/provision/machines"
	"github.com/tombolo-iac/tombolo/provider"
)

var remoteExec = &provider.Block{Attributes: map[string]*provider.Attribute{
	"inline":  {Type: cty.List(cty.String), Optional: true},
	"script":  {Type: cty.String, Optional: true},
	"scripts": {Type: cty.List(cty.String), Optional: true},
}}

var fileSchema = &provider.Block{Attributes: map[string]*provider.Attribute{
	"source":      {Type: cty.String, Optional: true},
	"content":     {Type: cty.String, Optional: true},
	"destination": {Type: cty.String, Required: true},
}}

// given counts the arguments that are set.
func given(config cty.Value, names ...string) (n int) {
	for _, name := range names {
		if !config.GetAttr(name).IsNull() {
			n++
		}
	}
	return n
}

func checkRemote(config cty.Value) diag.List {
	n := given(config, "inline", "script", "scripts")
	if n == 1 {
		return nil
	}
	return diag.List{{Severity: diag.Error, Summary: "Invalid remote-exec provisioner configuration",
		Detail: fmt.Sprintf("This block sets %d of the arguments inline, script and scripts. Set exactly one: inline "+
			"is a list of commands, script and scripts name files with them.", n)}}
}

func checkFile(config cty.Value) diag.List {
	switch given(config, "source", "content") {
	case 0:
		return diag.List{{Severity: diag.Error, Summary: "Must provide one of 'source' or 'content'",
			Detail: "A file provisioner either copies source, a file or directory on this machine, or writes " +
				"content, a string."}}
	case 2:
		return diag.List{{Severity: diag.Error, Summary: "Cannot set both 'source' and 'content'",
			Detail: "A file provisioner either copies source, a file or directory on this machine, or writes " +
				"content, a string. Remove one of the two arguments."}}
	}
	return nil
}

var errNoConnection = errors.New(
	"missing connection configuration for provisioner: it runs on another machine. Add a connection block to it or " +
		"to its resource, with at least the argument host")

// connect opens the connection of a request.
func connect(ctx context.Context, req Request, tell func(line string)) (*machines.Machine, error) {
	if req.Connection == cty.NilVal {
		return nil, errNoConnection
	}
	c, diags := machines.Read(req.Connection)
	if diags.HasErrors() {
		return nil, diags.Err()
	}
	return machines.Connect(ctx, c, tell)
}

// defaultShell begins a script of commands that does not name an interpreter.
const defaultShell = "#!/bin/sh\n"

// scripts opens the scripts of a remote-exec block, in order.
func scripts(req Request) (list []io.ReadCloser, err error) {
	defer func() {
		if err != nil {
			closeAll(list)
		}
	}()
	if v := req.Config.GetAttr("inline"); !v.IsNull() {
		lines, err := texts("inline", v)
		if err != nil {
			return nil, err
		}
		text := strings.Join(lines, "\n") + "\n"
		if !strings.HasPrefix(text, "#!") && !machines.OnWindows(req.Connection) {
			text = defaultShell + text
		}
		return []io.ReadCloser{io.NopCloser(strings.NewReader(text))}, nil
	}
	names := []string{req.text("script")}
	argument := "script"
	if v := req.Config.GetAttr("scripts"); !v.IsNull() {
		argument = "scripts"
		if names, err = texts(argument, v); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		file, err := openRegular(req.path(name))
		if err != nil {
			return list, fmt.Errorf("failed to open script '%s', which %s names: %w", name, argument, err)
		}
		list = append(list, file)
	}
	return list, nil
}

// texts returns the elements of a list, which must have elements that are not empty.
func texts(name string, list cty.Value) (texts []string, err error) {
	for i, v := range list.AsValueSlice() {
		if v.IsNull() || v.AsString() == "" {
			return nil, fmt.Errorf("the element of %s with index %d is null or empty", name, i)
		}
		texts = append(texts, v.AsString())
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s is an empty list: there is nothing to run", name)
	}
	return texts, nil
}

func closeAll(list []io.ReadCloser) {
	for _, f := range list {
		_ = f.Close() // only read
	}
}

// openRegular opens a file for reading. It refuses devices and pipes, which may have no end.
func openRegular(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	return os.Open(name)
}

// path returns a local file name, resolved relative to the directory of the request.
func (r *Request) path(name string) string {
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(name, "~/") {
		return home + name[1:]
	}
	if filepath.IsAbs(name) || r.Dir == "" {
		return name
	}
	joined := filepath.Join(r.Dir, name)
	if strings.HasSuffix(name, "/") {
		joined += "/" // selects the content of the directory
	}
	return joined
}

// runRemote runs the scripts of a remote-exec block, each after the previous one has succeeded.
func runRemote(ctx context.Context, req Request, tell func(line string)) error {
	list, err := scripts(req)
	if err != nil {
		return err
	}
	defer closeAll(list)
	m, err := connect(ctx, req, tell)
	if err != nil {
		return err
	}
	defer m.Close()
	for _, script := range list {
		if err := m.Script(ctx, script, tell); err != nil {
			return err
		}
	}
	return nil
}

// runFile runs a file block.
func runFile(ctx context.Context, req Request, _ func(line string)) error {
	m, err := connect(ctx, req, func(string) {}) // Terraform reports no connections here
	if err != nil {
		return err
	}
	defer m.Close()
	destination := req.text("destination")
	if v := req.Config.GetAttr("content"); !v.IsNull() {
		err = m.Write(ctx, destination, "", 0o644, strings.NewReader(v.AsString()))
	} else {
		err = m.Copy(ctx, req.path(req.text("source")), destination)
	}
	if err != nil {
		return fmt.Errorf("upload failed: %w", err)
	}
	return nil
}
