package schema

import "errors"

// InternalValidate finds mistakes in the description of a provider. Call it in a unit test.
func (p *Provider) InternalValidate() error {
	return errors.Join()
}
