package engine

import (
	"strings"

	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// encrypted holds the encryption settings of a root module. They are evaluated on first use.
type encrypted struct {
	root *config.Module
	made *encryption.Encryption
}

// Encryption returns the encryption of a root module's states and plans: its encryption block overrides the CLI
// configuration, and the environment overrides both. root may be nil, for a folder without one.
func (s *Surroundings) Encryption(root *config.Module) (*encryption.Encryption, diag.List) {
	if s.encrypted != nil && s.encrypted.root == root {
		return s.encrypted.made, nil
	}
	set, problems := s.Settings()
	if problems.HasErrors() {
		return nil, problems.OnlyErrors()
	}
	c, diags := encryption.Parse(set.Encryption, "the setting encryption of "+set.EncryptionFile)
	if root != nil {
		for _, block := range root.Encryption {
			over, more := encryption.Decode(block.Body, block.Range)
			diags = diags.Extend(more)
			c = encryption.Merge(c, over)
		}
	}
	over, more := encryption.Parse(s.Getenv(encryption.Variable), encryption.Variable)
	if diags = diags.Extend(more); diags.HasErrors() {
		return nil, diags
	}
	c = encryption.Merge(c, over)
	e, more := encryption.New(c, encryption.Options{Dir: s.In(""), Scope: s.staticScope(root),
		Kinds: backend.KeyProviders(remote.Surroundings{Getenv: s.Getenv, Dir: s.In("."), Version: s.StateVersion(),
			Log: func(string, ...any) {}}),
		MayRun: func(words []string) error {
			if err := s.MayRead(addr.Provider{}, words); err != nil {
				return err
			}
			return s.approveEncryption(root, strings.Join(words, " "))
		},
		MayDo: func(line string) error { return s.approveEncryption(root, line) }})
	if diags = diags.Extend(more); diags.HasErrors() {
		return nil, diags
	}
	s.encrypted = &encrypted{root, e}
	return e, diags
}

// approveEncryption returns an error if the encryption block of a module refers to a program that was not approved.
func (s *Surroundings) approveEncryption(root *config.Module, line string) error {
	if s.Agree == nil || root == nil || len(root.Encryption) == 0 {
		return nil
	}
	return s.Agree(line)
}

// staticScope returns the scope for expressions that are needed before anything is evaluated, with the variables that
// are already known.
func (s *Surroundings) staticScope(root *config.Module) encryption.Scope {
	if root == nil {
		root = &config.Module{}
	}
	var evaluate encryption.Scope
	return func(e hcl.Expression, more map[string]cty.Value) (cty.Value, hcl.Diagnostics) {
		if evaluate == nil {
			values, _ := root.VariableValues(s.Constants(root)) // problems of values are reported where they are used
			evaluate = root.Evaluator(s.dir(), values)
		}
		return evaluate(e, more)
	}
}

// encryptionModule returns the module whose settings apply to the states of a saved plan: that of the working
// directory, as in OpenTofu. The settings in the plan are those of its planning time; since then, keys may have been
// replaced, or encryption may have become required. If the folder has no configuration, that of the plan is used.
func (s *Surroundings) encryptionModule(ctx context.Context, saved *config.Module) *config.Module {
	if s.folder == nil {
		if _, diags := s.RootModule(ctx); diags.HasErrors() {
			return saved
		}
	}
	return s.folder
}

// PlanReady fetches the key for a plan that will be written.
func (s *Surroundings) PlanReady(ctx context.Context, root *config.Module) error {
	e, diags := s.Encryption(root)
	if err := diags.Err(); err != nil {
		return err
	}
	return e.Plan().Ready(ctx)
}

// ReadState reads a state from a file that the user named, which may be encrypted.
func (s *Surroundings) ReadState(ctx context.Context, from io.Reader) (*state.State, error) {
	b, err := regular.Rest(from, regular.State)
	switch {
	case err != nil:
		return nil, err
	case !encryption.IsSealed(b):
		return state.Decode(b)
	}
	cfg, diags := s.RootModule(ctx)
	var e *encryption.Encryption
	if !diags.HasErrors() {
		e, diags = s.Encryption(cfg.Root)
	}
	if err := diags.Err(); err != nil {
		return nil, err
	}
	if b, _, err = e.State().Open(ctx, b); err != nil {
		return nil, err
	}
	return state.Decode(b)
}

// WritePlan writes the content of a plan file, encrypted if the settings of its configuration require it.
func (s *Surroundings) WritePlan(ctx context.Context, to io.Writer, root *config.Module, pl *plan.Plan) error {
	e, diags := s.Encryption(root)
	if err := diags.Err(); err != nil {
		return err
	}
	if !e.Plan().Seals() {
		return pl.Write(to)
	}
	var plain bytes.Buffer
	if err := pl.Write(&plain); err != nil {
		return err
	}
	sealed, err := e.Plan().Seal(ctx, plain.Bytes(), nil, 0)
	if err != nil {
		return err
	}
	_, err = to.Write(sealed)
	return err
}

// maxPlanFile is the maximum size in bytes of an encrypted plan file, which is read into memory.
const maxPlanFile = 1 << 30

// ReadPlan reads a plan file of the given size. The settings of the working directory decrypt it, and may refuse an
// unencrypted one. It returns an error for a file that is invalid or cannot be decrypted.
func (s *Surroundings) ReadPlan(ctx context.Context, from io.ReaderAt, size int64) (*plan.Plan, diag.List, error) {
	var root *config.Module
	if cfg, diags := s.RootModule(ctx); !diags.HasErrors() { // a folder without a configuration has no settings
		root = cfg.Root
	}
	e, diags := s.Encryption(root)
	if diags.HasErrors() {
		return nil, nil, diags.Err()
	}
	head := make([]byte, 1)
	if n, _ := from.ReadAt(head, 0); n == 0 || head[0] != '{' && e.Plan() == nil {
		pl, err := plan.Decode(from, size)
		return pl, nil, err
	}
	if size > maxPlanFile {
		return nil, nil, fmt.Errorf("it has more than %d MiB", maxPlanFile>>20)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(from, 0, size), b); err != nil {
		return nil, nil, err
	}
	if encryption.IsSealed(b) && e.Plan() == nil {
		return nil, nil, fmt.Errorf("it is encrypted, and there are no encryption settings for plans: neither in the "+
			"encryption block of the working directory nor in %s", encryption.Variable)
	}
	plain, _, err := e.Plan().Open(ctx, b)
	if err != nil {
		return nil, nil, err
	}
	pl, err := plan.Decode(bytes.NewReader(plain), int64(len(plain)))
	return pl, diags, err
}
