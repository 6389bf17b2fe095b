package command

import (
	"strconv"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/fetch/credentials"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

const defaultRetries = 1

// Web is what asks servers: with the hosts and credentials of the CLI configuration, and the bounds of the environment.
func (c *Call) Web() *web.Client {
	if c.web != nil {
		return c.web
	}
	set, _ := c.Settings() // whose problems are reported by who needs the settings
	tokens := &credentials.Source{Settings: set, Environ: c.Environ, HelperDirs: c.SettingsEnvironment().HelperDirs()}
	c.web = web.New(web.Options{
		Credentials: tokens.Token, Services: set.Hosts,
		Agent:   strings.TrimSpace(c.Title + " " + strings.TrimSpace(c.Getenv("TF_APPEND_USER_AGENT"))),
		Retries: c.number("TF_REGISTRY_DISCOVERY_RETRY", defaultRetries),
		Timeout: time.Duration(c.number("TF_REGISTRY_CLIENT_TIMEOUT", 0)) * time.Second, // the default is the client's
	})
	return c.web
}

// most bounds what the environment may ask for.
const most = 3600

// number reads a variable of the environment; what is no number of use counts as unset.
func (a *App) number(variable string, otherwise int) int {
	n, err := strconv.Atoi(a.Getenv(variable))
	if err != nil || n < 0 {
		return otherwise
	}
	return min(n, most)
}
