package plan

import "github.com/tombolo-iac/tombolo/addr"

// Deferral is a part of the configuration, or an object, that a later plan plans.
type Deferral struct {
	// Address is that of an instance, of a block or module call whose instances are unknown ("[*]" at the end), of a
	// provider configuration, of an import ("import of ADDRESS") or of an output value ("output.name").
	Address string
	Reason  DeferralReason
	// Because is the address of the deferral that is the cause, for something that only depends on it.
	Because string
	// Whole means that the address stands for all instances of a block, a call, a provider configuration or an import.
	Whole bool
	// Provider manages the objects at the address; zero if there are none.
	Provider addr.AbsProviderConfig
}

// Direct reports whether the address is deferred itself, and not because of another one.
func (d Deferral) Direct() bool { return d.Because == "" }

// DeferralReason is the reason of a deferral.
type DeferralReason string

// The reasons, in words that Terraform's documents also have, except the last: the instances are unknown; the provider
// has to wait for the object's configuration, for its own, or for another object; it depends on something deferred; an
// object is kept because something deferred depends on it.
const (
	DeferredInstances     DeferralReason = "instance_count_unknown"
	DeferredConfigUnknown DeferralReason = "resource_config_unknown"
	DeferredProvider      DeferralReason = "provider_config_unknown"
	DeferredAbsent        DeferralReason = "absent_prereq"
	DeferredUnknownReason DeferralReason = "unknown"
	DeferredPrerequisite  DeferralReason = "deferred_prereq"
	DeferredNeeded        DeferralReason = "needed_by"
)

// Why returns the reason in words.
func (d Deferral) Why() string {
	switch d.Reason {
	case DeferredInstances:
		return "its instances depend on values that are known only after apply"
	case DeferredConfigUnknown:
		return "its arguments depend on values that are known only after apply"
	case DeferredProvider:
		return "the configuration of its provider depends on values that are known only after apply"
	case DeferredAbsent:
		return "its provider waits for something that does not exist yet"
	case DeferredPrerequisite:
		return "depends on " + d.Because
	case DeferredNeeded:
		return "kept for " + d.Because
	}
	return "its provider cannot plan it yet"
}

type jsonDeferral struct {
	Address  string         `json:"address"`
	Reason   DeferralReason `json:"reason"`
	Because  string         `json:"because,omitempty"`
	Whole    bool           `json:"whole,omitempty"`
	Provider string         `json:"provider,omitempty"`
}

func encodeDeferrals(list []Deferral) (out []jsonDeferral) {
	for _, d := range list {
		j := jsonDeferral{Address: d.Address, Reason: d.Reason, Because: d.Because, Whole: d.Whole}
		if d.Provider != (addr.AbsProviderConfig{}) {
			j.Provider = d.Provider.String()
		}
		out = append(out, j)
	}
	return out
}

func (d *decoder) deferrals(list []jsonDeferral) (out []Deferral) {
	for _, j := range list {
		one := Deferral{Address: j.Address, Reason: j.Reason, Because: j.Because, Whole: j.Whole}
		if j.Provider != "" {
			one.Provider = *d.provider(j.Provider)
		}
		out = append(out, one)
	}
	return out
}
