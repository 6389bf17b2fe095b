package author

import (
	"context"
	"fmt"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/pack"
)

// publishOptions are the flags of provider publish.
type publishOptions struct {
	source, from, key, newKey string
	unsigned                  bool
}

func cmdPublish() *command.Command {
	return &command.Command{
		Name: "publish", Short: "Add releases to a registry that any web server can host", Args: "DIR", Mixed: true,
		Long: `Add releases that provider build has made to the provider registry in the folder DIR. A registry consists
of files only: any web server with HTTPS that serves DIR as the root of a host is a registry for ~~, Terraform and
OpenTofu, with signed packages. Configurations name the provider HOST/NAMESPACE/NAME.

Checksums and signatures are verified before anything is written, and repeating the command changes nothing. A release
that was published is never replaced. Addresses in the files are relative, so that DIR can be moved to another host.
Links in DIR are not followed.`,
		Example: `~ provider build ./notes -source example.com/corp/notes -sign key.asc
~ provider publish public -source example.com/corp/notes -key key.asc
~ provider publish public -source corp/notes -new-key key.asc`,
		Setup: func(c *command.Call) command.Run {
			var o publishOptions
			c.Flags.StringVar(&o.source, "source", "",
				"The source `ADDRESS` of the provider in configurations, such as example.com/corp/notes. Required.")
			c.Flags.StringVar(&o.from, "from", defaultOut,
				"Publish all releases of the provider in `DIRECTORY`, the output of provider build.")
			c.Flags.StringVar(&o.key, "key", "",
				"Verify signatures with the OpenPGP key in `FILE`. If it is a private key, sign what is not signed.")
			c.Flags.StringVar(&o.newKey, "new-key", "",
				"Make a key, write it to the new `FILE`, and sign with it. Keep it for later releases.")
			c.Flags.BoolVar(&o.unsigned, "unsigned", false,
				"Publish without signatures. Only OpenTofu installs such packages.")
			return c.Stoppable(func(ctx context.Context) command.Outcome {
				if len(c.Args) != 1 {
					return c.Misuse("Wrong number of arguments",
						"Expected one, the folder of the registry, and got %d.", len(c.Args))
				}
				return publish(ctx, c, o)
			})
		},
	}
}

func publish(ctx context.Context, c *command.Call, o publishOptions) command.Outcome {
	if o.source == "" {
		return c.Misuse("The address is missing",
			"Set the address of the provider in configurations with -source=HOST/NAMESPACE/NAME.")
	}
	source, err := addr.ParseProvider(o.source)
	if err != nil {
		return c.Finish("Invalid provider address", err)
	}
	ways := 0
	for _, set := range []bool{o.key != "", o.newKey != "", o.unsigned} {
		if set {
			ways++
		}
	}
	if ways != 1 {
		return c.Misuse("How are the releases signed?",
			"Set one of -key=FILE, -new-key=FILE and -unsigned. Only OpenTofu installs unsigned packages.")
	}
	options := pack.PublishOptions{From: o.from, Source: source, Dir: c.Args[0]}
	switch {
	case o.key != "":
		options.Key, err = pack.OpenKey(o.key, []byte(c.Getenv("TOMBOLO_SIGNING_PASSPHRASE")))
	case o.newKey != "":
		if options.Key, err = pack.NewKey(o.newKey, source.Namespace); err == nil {
			fmt.Fprintf(c.Out, "Wrote the private key to %s. Keep it secret; later releases need it.\n", o.newKey)
		}
	}
	if err != nil {
		return c.Finish("The key cannot be used", err)
	}
	done, err := pack.Publish(ctx, options)
	for _, p := range done {
		how, what := "unsigned", "has"
		if p.Signed {
			how = "signed"
		}
		if p.Changed {
			what = "got"
		}
		var on []string
		for _, one := range p.Platforms {
			on = append(on, one.String())
		}
		fmt.Fprintf(c.Out, "%s %s %s of %s, %s, for %s\n", c.Args[0], what, p.Version, source.ForDisplay(), how,
			strings.Join(on, ", "))
	}
	return c.Finish("Provider cannot be published", err)
}
