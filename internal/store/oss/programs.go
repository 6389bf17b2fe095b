package oss

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
)

// domain is the domain of Alibaba Cloud's services.
const domain = "aliyuncs.com"

// programs returns the user's credentials that sign requests to addresses of the block. The signatures of these
// services do not cover the host, so anyone who gets one can send the request to the real service. A block cannot start
// programs.
func programs(config cty.Value, o remote.Surroundings) (all []remote.Program) {
	if config.IsNull() || remote.Written(config, "secret_key") != "" {
		return nil
	}
	s, _ := read(config, arguments.Complete(o)) // problems are reported where the settings are needed
	add := func(argument, to string, variables ...string) {
		for _, name := range variables {
			if o.Getenv(name) != "" && remote.Written(config, argument) == "" {
				return
			}
		}
		if remote.Elsewhere(to, domain) {
			all = append(all, remote.Sent(argument, "requests with your signatures", to))
		}
	}
	if s.endpoint != nil {
		add("endpoint", s.endpoint.String(), endpointVariables...)
	}
	if s.tables != nil {
		add("tablestore_endpoint", s.tables.String(), tableVariables...)
	}
	if s.credentials.role.arn != "" {
		add("sts_endpoint", s.credentials.sts, stsVariables...)
	}
	return all
}
