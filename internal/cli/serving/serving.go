// Package serving has the command serve, which shows states, history, plans, runs and drift as pages for a browser.
// Package pages makes the pages; this package opens the backends (places.go), reads saved plans (plans.go), runs what a
// page may start (runs.go), and listens (listen.go).
package serving

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/pages"
	"github.com/tombolo-iac/tombolo/internal/regular"
)

// Commands are the commands that a page can start.
type Commands struct{ Apply, Drift *command.Command }

// Serve is the command serve.
func Serve(start Commands) *command.Command {
	return &command.Command{
		Name: "serve", Short: "Show states, plans and drift as pages for a browser",
		Long: `Show the states of all workspaces, and of all units if the directory has a stack, as pages for a browser:
outputs, objects, history, operations in flight, and who holds the lock. Nothing is changed and no lock is taken.

By default, only this machine can reach the server. The link that is printed opens one session; for each further one,
another link is printed. On other addresses, the server needs a certificate, and either a file with a token or an
authority for the certificates of clients.

With -allow=approve, a page can apply the saved plans of -plans; with -allow=drift, it can check for drift. A session
gets these rights with a token of their own.`,
		Exits: "0  Ctrl-C ended it.\n1  There were errors.",
		Example: `~ serve
~ serve -plans=plans -allow=approve
~ serve -listen=:8443 -tls-cert=c.pem -tls-key=k.pem -token-file=token`,
		Setup: func(c *command.Call) command.Run {
			o := &options{}
			o.flags(c)
			return c.Stoppable(func(ctx context.Context) command.Outcome {
				if len(c.Args) > 0 {
					return c.TooMany(0)
				}
				if diags := o.check(); diags.HasErrors() {
					return c.Misuse(diags[0].Summary, "%s", diags[0].Detail)
				}
				return c.End(serve(ctx, c, o, start))
			})
		},
	}
}

// options are the flags of the command.
type options struct {
	listen, cert, key, clients string
	tokenFile, rightsFile      string
	plans, drift, accept       string
	allow                      []string
	token, rights              string // the content of the files
	loopback, secure           bool
}

func (o *options) flags(c *command.Call) {
	c.ConstantFlags()
	c.Flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "Listen on `ADDRESS`, with a port; port 0 is any free one.")
	c.Flags.StringVar(&o.plans, "plans", "", "Show the saved plans in the folder `DIR`.")
	c.Flags.StringVar(&o.drift, "drift", "", "Show the report of drift in `FILE`, which drift -json has written.")
	c.Flags.StringVar(&o.accept, "accept", "", "Read the accepted drift from `FILE` when a page checks for drift.")
	c.StringsFlag(&o.allow, "allow", "Allow sessions to get a right: `RIGHT` is approve, to apply the plans of "+
		"-plans, or drift, to check for drift. May be given more than once.")
	c.Flags.StringVar(&o.tokenFile, "token-file", "", "Open sessions with the token in `FILE`, as often as it is "+
		"used, instead of a link that is printed.")
	c.Flags.StringVar(&o.rightsFile, "rights-token-file", "", "Give sessions the rights of -allow with the token in "+
		"`FILE`, instead of one that is printed.")
	c.Flags.StringVar(&o.cert, "tls-cert", "", "Use TLS with the certificate in `FILE`, in PEM format. It names the "+
		"hosts that the server answers for.")
	c.Flags.StringVar(&o.key, "tls-key", "", "The private key of -tls-cert is in `FILE`.")
	c.Flags.StringVar(&o.clients, "client-ca", "", "Accept only clients with a certificate of the authorities in "+
		"`FILE`.")
}

// check reads the files with tokens and returns an error for options that do not fit together.
func (o *options) check() (diags diag.List) {
	wrong := func(format string, args ...any) diag.List {
		return diag.List{}.Errorf(nil, "Invalid options of the server", format, args...)
	}
	o.loopback, o.secure = onLoopback(o.listen), o.cert != ""
	for _, right := range o.allow {
		switch {
		case right != string(pages.Approve) && right != string(pages.Check):
			return wrong("-allow=%s is not a right. Expected approve or drift.", right)
		case right == string(pages.Approve) && o.plans == "":
			return wrong("-allow=approve needs the folder of the plans that may be applied: add -plans=DIR.")
		}
	}
	switch {
	case (o.cert == "") != (o.key == ""):
		return wrong("-tls-cert and -tls-key belong together: give both or none.")
	case o.clients != "" && !o.secure:
		return wrong("-client-ca needs TLS: add -tls-cert and -tls-key.")
	case !o.loopback && !o.secure:
		return wrong("Other machines can reach %s, so the server needs TLS: add -tls-cert and -tls-key, or listen on "+
			"127.0.0.1.", o.listen)
	case !o.loopback && o.tokenFile == "" && o.clients == "":
		return wrong("Other machines can reach %s, so the server must know its users: add -token-file, or -client-ca "+
			"for certificates of clients.", o.listen)
	case o.accept != "" && !slices.Contains(o.allow, string(pages.Check)):
		return wrong("-accept is for checks that a page starts: add -allow=drift.")
	}
	var err error
	if o.token, err = readToken(o.tokenFile); err == nil {
		o.rights, err = readToken(o.rightsFile)
	}
	switch {
	case err != nil:
		return wrong("%s", err)
	case o.token != "" && o.token == o.rights:
		return wrong("-token-file and -rights-token-file have the same token. Use another one for rights.")
	}
	return nil
}

// leastToken is the minimum length of a token in a file.
const leastToken = 20

// readToken reads the file of a token, or returns "" without a file.
func readToken(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	b, err := regular.Read(name, regular.Note)
	if err != nil {
		return "", fmt.Errorf("the token cannot be read: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if len(token) < leastToken || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("the file %s must have one line with a token of at least %d characters, such as the "+
			"output of \"openssl rand -hex 24\"", name, leastToken)
	}
	return token, nil
}

// serve listens until ctx is done.
func serve(ctx context.Context, c *command.Call, o *options, start Commands) diag.List {
	c.Settings() // shows its warnings
	places, diags := open(ctx, c)
	if diags.HasErrors() {
		return diags
	}
	var rights []pages.Right
	for _, right := range o.allow {
		rights = append(rights, pages.Right(right))
	}
	config := pages.Options{Title: c.Title, Version: engine.Version, Secure: o.secure, Allow: rights, Places: places}
	if o.plans != "" {
		folder := &folder{dir: o.plans, call: c, base: c.Surroundings.At(""), view: viewOptions(c)}
		if err := folder.check(); err != nil {
			return diag.List{}.AppendError("The folder of the plans cannot be read", err)
		}
		config.Plans = folder
	}
	runs := newRuns(ctx, c, o, start)
	if len(rights) > 0 {
		config.Runs = runs
	}
	if o.drift != "" || slices.Contains(rights, pages.Check) {
		config.Drift = &reports{file: o.drift, runs: runs}
	}
	l, diags := listen(o)
	if diags.HasErrors() {
		return diags
	}
	diags = l.serve(ctx, c, o, config)
	runs.wait()
	return diags
}

// access returns how sessions begin, and prints the tokens that are needed.
func (o *options) access(c *command.Call, link func(token string) string) pages.Access {
	a := pages.Access{Token: o.token, Certificates: o.clients != "", Rights: o.rights}
	if a.Token == "" && !a.Certificates {
		a.Once, a.Token = true, pages.NewToken()
		a.Announce = func(token string) {
			fmt.Fprintf(c.Err, "The link was used. For another session, open:\n  %s\n", link(token))
		}
	}
	return a
}

// stopTime is how long requests may take to end after an interrupt.
const stopTime = 5 * time.Second

// serve answers requests until ctx is done.
func (l *listener) serve(ctx context.Context, c *command.Call, o *options, config pages.Options) diag.List {
	var pagesServer *pages.Server
	link := func(token string) string { return l.address + pagesServer.Path(token) }
	config.Host, config.Prefix = l.host, l.prefix
	config.Access = o.access(c, link)
	if len(config.Allow) > 0 && config.Access.Rights == "" {
		config.Access.Rights = pages.NewToken()
	}
	pagesServer = pages.New(config)
	server := &http.Server{Handler: pagesServer, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 3 * time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10, ErrorLog: silent(),
		TLSConfig: l.tls}
	token := ""
	if config.Access.Once {
		token = config.Access.Token
	}
	fmt.Fprintf(c.Out, "Open this page in a browser:\n  %s\n", link(token))
	if len(config.Allow) > 0 && o.rights == "" {
		fmt.Fprintf(c.Out, "The token for rights is:\n  %s\n", config.Access.Rights)
	}
	fmt.Fprintln(c.Out, "Ctrl-C ends the server.")
	ended := make(chan error, 1)
	go func() { ended <- l.run(server) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		pagesServer.Stop()
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		if server.Shutdown(limited) != nil {
			_ = server.Close() // it has waited long enough
		}
		err = <-ended
	}
	pagesServer.Stop()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return diag.FromError("The server has failed", err)
}
