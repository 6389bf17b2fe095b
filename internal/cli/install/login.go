package install

import (
	"context"
	"errors"
	"fmt"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// usualHost is the default host of login and logout in projects of Terraform.
const usualHost = "app.terraform.io"

// Login is the command login.
func Login() *command.Command {
	return &command.Command{
		Name: "login", Short: "Save the token of a host", Args: "[HOST]",
		Long: `Ask for a token of a host, such as that of a private registry or of HCP Terraform, and save it for all later
commands. The default HOST is app.terraform.io. Create the token in a browser, on a page of the host; the command does
not open a browser. If the host has the API of HCP Terraform, the token is checked before it is saved.

The token is saved by the credentials helper of the CLI configuration. Without a helper, it is saved as plain text in
the file credentials.tfrc.json in your settings directory, which Terraform reads, too.`,
		Example: `~ login tfe.example.com`,
		Setup: func(c *command.Call) command.Run {
			return func(ctx context.Context) command.Outcome {
				host, outcome, ok := hostOf(c)
				if !ok {
					return outcome
				}
				return login(ctx, c, host)
			}
		},
	}
}

// Logout is the command logout.
func Logout() *command.Command {
	return &command.Command{
		Name: "logout", Short: "Remove the saved token of a host", Args: "[HOST]",
		Long: `Remove the token of a host that "login" has saved. The default HOST is app.terraform.io. The token stays
valid: revoke it on the pages of the host.`,
		Example: `~ logout tfe.example.com`,
		Setup: func(c *command.Call) command.Run {
			return func(ctx context.Context) command.Outcome {
				host, outcome, ok := hostOf(c)
				if !ok {
					return outcome
				}
				return logout(ctx, c, host)
			}
		},
	}
}

// hostOf returns the host of the arguments.
func hostOf(c *command.Call) (host string, outcome command.Outcome, ok bool) {
	switch {
	case len(c.Args) > 1:
		return "", c.TooMany(1), false
	case len(c.Args) == 0 && c.Flavor() == flavor.OpenTofu:
		return "", c.WrongNumber("Expected a single argument: HOST."), false
	case len(c.Args) == 0:
		return usualHost, 0, true
	}
	name, err := svchost.ForComparison(c.Args[0])
	if err != nil {
		return "", c.End(diag.List{}.Errorf(nil, "Invalid hostname", "%q is not the name of a host: %s. Use a name "+
			"such as %s, without https:// and without a path.", c.Args[0], err, usualHost)), false
	}
	return name.ForDisplay(), 0, true
}

func login(ctx context.Context, c *command.Call, host string) command.Outcome {
	tokens := c.Tokens(command.MakeDir)
	if _, diags := c.Settings(); diags.HasErrors() {
		return c.End(diags)
	}
	elsewhere, err := tokens.Elsewhere(host)
	switch {
	case err != nil:
		return c.Finish("Failed to read the saved tokens", err)
	case elsewhere != "":
		return c.End(diag.List{}.Errorf(nil, fmt.Sprintf("Credentials for %s are manually configured", host),
			"The token of the host comes from %s, which takes precedence over a token that this command saves. "+
				"Remove the token there first.", elsewhere))
	case !c.InputAllowed():
		return c.End(diag.List{}.Errorf(nil, "Login is an interactive command", "The variable TF_INPUT does not "+
			"allow asking for the token. Unset it, or write the token into a block credentials %q of the CLI "+
			"configuration.", host))
	}
	text := fmt.Sprintf("Create a token in your browser, for example at\n  https://%s/app/settings/tokens\nand paste "+
		"it here. It will be saved as plain text in\n  %s", host, tokens.Place())
	if tokens.Settings.Helper != nil {
		text = fmt.Sprintf("Create a token in your browser, for example at\n  https://%s/app/settings/tokens\nand "+
			"paste it here. It will be saved by %s.", host, tokens.Place())
	}
	token, err := c.Ask(ctx, fmt.Sprintf("Token for %s:", host), text, true)
	if token = strings.TrimSpace(token); err == nil && token == "" {
		err = errors.New("no token was given")
	}
	if err != nil {
		return c.Say("Failed to retrieve token: %s", err)
	}
	user, err := c.User(ctx, host, token)
	if err != nil {
		return c.End(diag.List{}.Errorf(nil, "Token is invalid", "The token was not saved, because the host %s did "+
			"not accept it or could not be reached: %s.", host, strings.ReplaceAll(err.Error(), token, "(hidden)")))
	}
	if err := tokens.Save(ctx, host, token); err != nil {
		return c.Finish("Failed to save API token", err)
	}
	if user != "" {
		c.Tell("Retrieved token for user %s\n", c.Bold(view.CleanLine(user)))
	}
	c.Tell("%s\n", c.Green(fmt.Sprintf("Success! %s has saved the token for %s.", c.Title, host)))
	if variable := c.SettingsEnvironment().Replaced(); variable != "" && tokens.Settings.Helper == nil {
		c.Report(diag.List{}.Warnf(nil, "The saved token is not used now", "The variable %s names a CLI "+
			"configuration file that replaces the usual ones, and the token was saved in one of those. Unset the "+
			"variable, or write the token into the file that it names.", variable))
	}
	return command.Done
}

func logout(ctx context.Context, c *command.Call, host string) command.Outcome {
	tokens := c.Tokens(command.MakeDir)
	elsewhere, err := tokens.Elsewhere(host)
	switch {
	case err != nil:
		return c.Finish("Failed to read the saved tokens", err)
	case elsewhere != "":
		return c.End(diag.List{}.Errorf(nil, fmt.Sprintf("Credentials for %s are manually configured", host),
			"The token of the host comes from %s. Remove it there: this command removes only what \"login\" has saved.",
			elsewhere))
	}
	was, err := tokens.Forget(ctx, host)
	switch {
	case err != nil:
		return c.Finish("Failed to remove API token", err)
	case !was:
		c.Tell("No credentials for %s are stored.\n", host)
	default:
		c.Tell("%s\n", c.Green(fmt.Sprintf("Success! %s has removed the saved token for %s.", c.Title, host)))
	}
	return command.Done
}
