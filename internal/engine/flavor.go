package engine

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/state"
)

// Flavor returns the program that the project is written for. The first of these decides: Surroundings.ChosenFlavor,
// the environment, the CLI configuration, the name of the program, and the program that initialised the project.
func (s *Surroundings) Flavor() flavor.Flavor {
	set, _ := s.Settings() // their problems are reported where they are used
	return set.Flavor
}

// LanguageVersion returns the version that required_version is compared with, and that programs receive.
func (s *Surroundings) LanguageVersion() string { return s.Flavor().Version(state.LanguageVersion) }

// ConfigOptions returns the options to load the configuration of the working directory.
func (s *Surroundings) ConfigOptions() config.Options {
	o := config.Options{Dir: s.dir(), DataDir: s.DataDir(), LanguageVersion: s.LanguageVersion(), Flavor: s.Flavor(),
		Workspace: s.workspaceName()}
	if o.Flavor.EarlyVariables() { // the backend block may use them
		o.Constants = s.Constants
	}
	return o
}

// initialised returns the tool that wrote the directory's lock file or, if there is none, its state file.
func (s *Surroundings) initialised() flavor.Flavor {
	if src, err := regular.Read(s.In(lockfile.Name), lockfile.MaxSize); err == nil {
		return lockfile.Writer(src)
	}
	src, err := regular.Read(s.In("terraform.tfstate"), regular.Note)
	if err != nil {
		return flavor.Unset
	}
	in := func(f flavor.Flavor) bool { return bytes.Contains(src, []byte(`provider[\"`+f.RegistryHost()+`/`)) }
	if in(flavor.OpenTofu) && !in(flavor.Terraform) {
		return flavor.OpenTofu
	}
	return flavor.Unset
}

// adopt returns a state in a flavor's form. If the state has providers of Terraform's registry and the configuration
// has none from there, they are replaced by the providers of the same name in the flavor's registry, as in OpenTofu.
func adopt(st *state.State, f flavor.Flavor, uses map[addr.Provider]bool) *state.State {
	if st == nil || f.RegistryHost() == addr.DefaultProviderHost {
		return st
	}
	var edits []state.Edit
	for _, r := range st.Resources() {
		if p := r.Provider.Provider; p.Host != addr.DefaultProviderHost || uses[p] {
			continue
		}
		edits = append(edits, ProviderEdits(r, addr.Provider{Host: f.RegistryHost(),
			Namespace: r.Provider.Provider.Namespace, Type: r.Provider.Provider.Type})...)
	}
	b := st.Builder()
	b.Fold(edits...)
	return b.State()
}

// takeOver adds the selected versions of HashiCorp's providers to a lock file of Terraform, for a flavor with its own
// registry, like OpenTofu. Hashes are not copied, because the packages of the two registries differ.
func takeOver(f lockfile.File, fl flavor.Flavor) (lockfile.File, diag.List) {
	if fl.RegistryHost() == addr.DefaultProviderHost {
		return f, nil
	}
	var list []string
	for _, e := range f.Entries() {
		own := e.Provider
		own.Host = fl.RegistryHost()
		_, known := f.Entry(own)
		if e.Provider.Host != addr.DefaultProviderHost || own.Namespace != addr.DefaultProviderNamespace || known {
			continue
		}
		list = append(list, fmt.Sprintf("  - %s => %s", e.Provider, own))
		f = f.With(lockfile.Entry{Provider: own, Version: e.Version, Constraints: e.Constraints})
	}
	if len(list) == 0 {
		return f, nil
	}
	return f, diag.List{}.Warnf(nil, "Dependency lock file entries automatically updated", "The lock file was written "+
		"for Terraform's registry. The same versions of these providers are selected in the registry of %s:\n%s\n\n"+
		"The hashes are not copied, because the packages of the two registries differ.", fl.Title(),
		strings.Join(list, "\n"))
}

// ProviderEdits returns the edits that change the provider of all objects of a resource.
func ProviderEdits(r *state.Resource, p addr.Provider) (edits []state.Edit) {
	for _, key := range r.Keys() {
		i := r.Instances[key]
		put := func(deposed addr.DeposedKey, o *state.Object) {
			of := r.Manager(o)
			of.Provider = p
			edits = append(edits, state.Edit{Put: &state.PutObject{
				Addr: addr.Object{Instance: r.Addr.Instance(key), Deposed: deposed}, Provider: of, Object: o}})
		}
		if i.Current != nil {
			put("", i.Current)
		}
		for _, deposed := range i.DeposedKeys() {
			put(deposed, i.Deposed[deposed])
		}
	}
	return edits
}
