package host_test

import (
	"testing"

	"github.com/tombolo-iac/tombolo/internal/host"
)

// FuzzParseReattach decodes any text as the value of ReattachVariable: accepted addresses can be dialled.
func FuzzParseReattach(f *testing.F) {
	for _, text := range []string{
		``, `{}`, `null`, `[]`, `{"a/b": {"Protocol": "grpc", "ProtocolVersion": 6, "Pid": 1, "Test": true, "Addr": ` +
			`{"Network": "unix", "String": "/x"}}}`,
		`{"A/B": {"addr": {"network": "tcp", "STRING": ":1"}}, "a/b": {"protocolVersion": 1e0}}`,
		`{"registry.terraform.io/-/x": {}}`, `{"": null}`, `{"a/b": {"Addr": {"Network": "unix", "String": "\u0000"}}}`,
		"{\"\xff\": {}}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := host.ParseReattach(text)
		if err != nil && len(all) > 0 {
			t.Fatal("an error and providers")
		}
		for p, r := range all {
			if p != r.Provider || r.Protocol != 5 && r.Protocol != 6 || r.Network != "unix" && r.Network != "tcp" ||
				r.Address == "" {
				t.Errorf("%q: %s is at %+v", text, p, r)
			}
		}
	})
}
