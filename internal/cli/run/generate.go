package run

import (
	"fmt"
	"io"
	"os"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/plan"
)

// checkGenerate refuses a file that exists: what is in it would be lost, or read as part of the configuration.
func (p *planning) checkGenerate() diag.List {
	if p.generate == "" {
		return nil
	}
	if info, err := os.Stat(p.generate); err == nil {
		if info.IsDir() {
			return diag.List{}.Errorf(nil, "Target generated file is a directory", "%s is a directory. Name a file in it that does not exist yet.", p.generate)
		}
		return diag.List{}.Errorf(nil, "Target generated file already exists", "Configuration is generated into a new file only, and %s exists. Name another one, or move what it holds elsewhere and delete it.", p.generate)
	}
	return nil
}

// generatedFile gives the name of the file that was written, if the plan had anything to write.
func generatedFile(name string, pl *plan.Plan) string {
	for _, c := range pl.Changes {
		if c.GeneratedConfig != "" {
			return name
		}
	}
	return ""
}

// writeGenerated writes the blocks that a plan has generated.
func writeGenerated(name, title string, pl *plan.Plan) diag.List {
	if generatedFile(name, pl) == "" {
		return nil
	}
	err := command.ReplaceFile(name, 0o644, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "# __generated__ by %s\n# Read these resources, and move them to the files where they belong.\n", title)
		for _, c := range pl.Changes {
			if err == nil && c.GeneratedConfig != "" {
				_, err = fmt.Fprintf(w, "\n# __generated__ by %s from %q\n%s\n", title, c.Importing.ID, c.GeneratedConfig)
			}
		}
		return err
	})
	if err != nil {
		return diag.FromError("Failed to write generated configuration", err)
	}
	return diag.List{}.Warnf(nil, "Config generation is experimental", "Generated blocks say all that the configuration of an object can say. Look at them before you make them part of yours: much of it is usually not needed.")
}
