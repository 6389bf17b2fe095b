package oss

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
)

// domain is where the services of Alibaba Cloud are.
const domain = "aliyuncs.com"

// programs returns the credentials of the user that requests to addresses of the block are signed with. The signatures
// of these services do not cover the host: whoever gets one can send the request to the real service. Nothing is
// started because a block says so.
func programs(config cty.Value, o remote.Surroundings) (all []remote.Program) {
	if config.IsNull() || remote.Written(config, "secret_key") != "" {
		return nil
	}
	s, _ := read(config, arguments.Complete(o)) // what is wrong is told where it is needed
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
	if s.who.role.arn != "" {
		add("sts_endpoint", s.who.sts, stsVariables...)
	}
	return all
}
