module github.com/tombolo-iac/tombolo/conformance/drivers/atlantis

go 1.26.8

require (
	github.com/hashicorp/go-version v1.7.0
	github.com/runatlantis/atlantis v0.28.5
)

require (
	github.com/agext/levenshtein v1.2.3 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/twmb/murmur3 v1.1.8 // indirect
	github.com/uber-go/tally/v4 v4.1.10 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	go.uber.org/zap v1.27.0 // indirect
	golang.org/x/text v0.15.0 // indirect
)
