package settings

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/hcl/ast"

	"github.com/tombolo-iac/tombolo/addr"
)

// PlanPrograms selects the programs that a configuration may run during plans, validation and reads.
type PlanPrograms struct {
	// Commands are command lines for data sources and resources that contain a program.
	Commands []string
	// Providers are program providers.
	Providers []Pattern
	// Files are the files that contain the setting.
	Files []string
}

// planPrograms decodes a plan_programs block. Blocks of several files are combined, because all are settings of the
// same user.
func (r *reader) planPrograms(_ *ast.ObjectItem, _ []string, body *ast.ObjectType) {
	if r.PlanPrograms == nil {
		r.PlanPrograms = &PlanPrograms{}
	}
	p := r.PlanPrograms
	p.Files = append(p.Files, r.path)
	for _, item := range body.List.Items {
		switch name, _ := keys(item); name {
		case "commands":
			for _, text := range r.texts(item) {
				for _, word := range strings.Fields(text) {
					if _, err := path.Match(word, ""); err != nil {
						r.errorf(item, "Invalid CLI configuration",
							"The command %q cannot be used: the word %q is not a pattern.", text, word)
					}
				}
				p.Commands = append(p.Commands, text)
			}
		case "providers":
			p.Providers = append(p.Providers, r.patterns(item)...)
		default:
			r.errorf(item, "Invalid CLI configuration",
				`The block plan_programs has no argument %q. It has "commands" and "providers".`, name)
		}
	}
}

// Allows reports whether the user explicitly allows a command, rather than all commands.
func (p *PlanPrograms) Allows(words []string) bool {
	return p != nil && len(words) > 0 && p.Refusal(addr.Provider{}, words) == nil
}

// Refusal returns the reason why a program may not run during a plan, or nil if it may. words is the command line of a
// data source or resource; without any, the program is the provider's.
func (p *PlanPrograms) Refusal(of addr.Provider, words []string) error {
	if p == nil {
		return nil
	}
	where := strings.Join(p.Files, " and ")
	if len(words) == 0 {
		if slices.ContainsFunc(p.Providers, func(pattern Pattern) bool { return pattern.Matches(of) }) {
			return nil
		}
		return fmt.Errorf("the block plan_programs in %s does not allow the provider %s to run its program in "+
			"commands that change nothing. If you trust it, add %q to \"providers\" in that block",
			where, of.ForDisplay(),
			of.ForDisplay())
	}
	if slices.ContainsFunc(p.Commands, func(command string) bool { return fits(strings.Fields(command), words) }) {
		return nil
	}
	return fmt.Errorf("the block plan_programs in %s does not allow the command %q in commands that change nothing. "+
		"If you trust it, add it to \"commands\" in that block", where, strings.Join(words, " "))
}

// fits compares arguments one by one: * matches any characters except a slash. A pattern that ends with ... matches any
// further arguments.
func fits(pattern, words []string) bool {
	if n := len(pattern) - 1; n >= 0 && pattern[n] == "..." {
		pattern = pattern[:n]
		if len(words) > n {
			words = words[:n]
		}
	}
	return len(pattern) > 0 && slices.EqualFunc(pattern, words, func(p, word string) bool {
		ok, err := path.Match(p, word)
		return ok && err == nil
	})
}
