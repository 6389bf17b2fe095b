package s3

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
)

// fileArguments are the arguments that name configuration files of the SDK.
var fileArguments = []string{"shared_config_files", "shared_credentials_files", "shared_credentials_file"}

// Keys of profiles that name programs, files, and tokens of a login. The SDK sends these to a service that the same
// profile or the endpoints of the block name.
const (
	processKey = "credential_process"
	tokenKey   = "web_identity_token_file"
	bundleKey  = "ca_bundle"
)

var loginKeys = []string{"sso_session", "sso_start_url", "login_session"}

// judgeNamed refuses files named by configuration files, if the SDK would wait for them or read them without end.
func judgeNamed(settings []string) error {
	for _, name := range settings {
		text, err := regular.Read(name, regular.Record)
		if err != nil {
			continue // a missing file is reported where it is needed
		}
		for _, setting := range remote.Settings(text, tokenKey, bundleKey) {
			if err := regular.CheckFile(setting.Value, regular.Record); err != nil {
				return fmt.Errorf("%s: %s: %w", name, setting.Key, err)
			}
		}
	}
	return nil
}

// programs returns the programs that the SDK starts for credentials because files of the working directory say so, and
// the user's tokens that it sends to addresses from the directory. The lines of all profiles count, because profiles
// refer to each other.
func programs(config cty.Value, o remote.Surroundings) (all []remote.Program) {
	if config.IsNull() {
		return nil
	}
	r := reader{arguments.New(config, o)}
	for _, argument := range fileArguments {
		names := []string{}
		if argument == "shared_credentials_file" {
			names = append(names, r.Given(argument))
		} else {
			names = r.texts(argument)
		}
		for _, name := range names {
			if !o.FromProject(name) {
				continue
			}
			text, err := regular.Read(o.Path(name), regular.Record)
			if err != nil {
				continue // reported where it is needed
			}
			for _, setting := range remote.Settings(text, append([]string{processKey, tokenKey}, loginKeys...)...) {
				if setting.Key != tokenKey || o.Own(setting.Value) {
					all = append(all, remote.Program{Argument: argument, Line: setting.Line,
						Token: setting.Key != processKey})
				}
			}
		}
	}
	return append(all, handedOn(r, o)...)
}

// handedOn returns the user's tokens that are sent to services which the block names.
func handedOn(r reader, o remote.Surroundings) (all []remote.Program) {
	endpoints, _ := r.nested("endpoints")
	add := func(argument, line string) {
		all = append(all, remote.Program{Argument: argument, Line: line, Token: true})
	}
	if to := endpoints.Given("sso"); elsewhere(to) {
		add("endpoints", "the token of a login, for "+to)
	}
	to, argument := endpoints.Given("sts"), "endpoints"
	if to == "" {
		to, argument = r.Given(formerly["sts"][0]), formerly["sts"][0]
	}
	web, _ := r.nested("assume_role_with_web_identity")
	file := web.Given("web_identity_token_file")
	if file == "" && web.Given("web_identity_token") == "" {
		file = o.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE")
	}
	if elsewhere(to) && file != "" && o.Own(file) {
		add(argument, "the token in "+file+", for "+to)
	}
	to, argument = endpoints.Given("s3"), "endpoints"
	if to == "" {
		to, argument = r.Given(formerly["s3"][0]), formerly["s3"][0]
	}
	const key = "AWS_SSE_CUSTOMER_KEY"
	if elsewhere(to) && r.Given("sse_customer_key") == "" && o.Getenv(key) != "" {
		all = append(all, remote.Sent(argument, "the value of "+key, to))
	}
	return all
}

// elsewhere reports whether an address is neither Amazon's nor on this machine.
func elsewhere(address string) bool {
	return remote.Elsewhere(address, "amazonaws.com", "amazonaws.com.cn", "api.aws")
}
