// Command release builds the parts of a release other than its archives. The script release/build calls it; see
// docs/releases.md.
//
//	go run ./release version                  prints the version of this tree
//	go run ./release prepare DIR              writes man pages and completion scripts
//	go run ./release pages DIR                writes a page for each command, for the site
//	go run ./release errors DIR               writes a page for each group of codes of problems, for the site
//	go run ./release functions DIR            writes a page with all functions, for the site
//	go run ./release sbom BINARY              prints what a binary was built from, as a CycloneDX document
//	go run ./release image DIST               writes a container image for two platforms, as an OCI layout
//	go run ./release formula DIST             prints the formula for Homebrew
//	go run ./release check DIST              checks the image and the manifests of package managers
//	go run ./release installer KEY            prints install.sh with a public key in PEM
//	go run ./release grammars DIR            writes grammars for editors from the tables of the readers
//	go run ./release extension FILE          writes the extension for Visual Studio Code
//	go run ./release kits DIR                writes the kits for program providers as packages of their languages
//	go run ./release hosts DIR               writes the hosts in packages of program providers, for all platforms
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"

	"github.com/tombolo-iac/tombolo/internal/engine"
)

// jobs are the subcommands, each with the name of its argument.
var jobs = map[string]struct {
	argument string
	run      func(ctx context.Context, argument string, out io.Writer) error
}{
	"version":   {"", printVersion},
	"prepare":   {"DIR", prepare},
	"pages":     {"DIR", writePages},
	"errors":    {"DIR", writeErrors},
	"functions": {"DIR", writeFunctions},
	"sbom":      {"BINARY", printSBOM},
	"image":     {"DIST", writeImage},
	"formula":   {"DIST", printFormula},
	"installer": {"KEY", printInstaller},
	"check":     {"DIST", checkRelease},
	"grammars":  {"DIR", writeGrammars},
	"extension": {"FILE", writeExtension},
	"kits":      {"DIR", writeKits},
	"hosts":     {"DIR", writeHosts},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("name one of %v", names())
	}
	job, known := jobs[args[0]]
	switch {
	case !known:
		return fmt.Errorf("there is no job %q, only %v", args[0], names())
	case job.argument == "" && len(args) == 1:
		return job.run(ctx, "", out)
	case job.argument != "" && len(args) == 2:
		return job.run(ctx, args[1], out)
	}
	return fmt.Errorf("usage: release %s %s", args[0], job.argument)
}

func names() (list []string) {
	for name := range jobs {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func printVersion(_ context.Context, _ string, out io.Writer) error {
	_, err := fmt.Fprintln(out, engine.Version)
	return err
}
