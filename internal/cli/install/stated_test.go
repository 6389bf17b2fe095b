package install_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
)

const statedProvider = `
terraform {
  required_providers {
    thing = {
      source  = "HOST/corp/thing"
      version = "~> 1.0"
    }
  }
}
`

// throughTrusted is a CLI configuration with a mirror.
const throughTrusted = `
provider_installation {
  network_mirror {
    url              = "https://mirror.example/p/"
    trust_all_hashes = TRUST
  }
}
`

func trusting(how string) func(*site) {
	return files("cli.tfrc", strings.ReplaceAll(throughTrusted, "TRUST", how))
}

// allHashes returns the hashes of a package as stated by OpenTofu's registry.
func allHashes(release fetchtest.Release, platform string) []string {
	_, content := release.Archive(platform)
	return []string{fetchtest.ArchiveHash(content), fetchtest.FilesHash(content)}
}

// statedHashes have the same lock file and exit codes here and in OpenTofu, if registries and mirrors state hashes for
// all platforms.
var statedHashes = map[string]struct {
	host   string
	stated func(release fetchtest.Release, platform string) []string
	steps  []step
	// differs is why OpenTofu has another result.
	differs string
}{
	"OpenTofu's registry": {"registry.opentofu.org", allHashes, []step{
		{command: "init"}, {command: "init -upgrade"},
		{before: func(s *site) { s.remove("work/.terraform") }, command: "init -lockfile=readonly"},
		{before: fresh, command: "providers lock"},
		{before: fresh, command: "providers lock -platform=windows_amd64 -platform=linux_arm64"},
		{command: "init"},
		{before: fresh, command: "init -json"},
	}, ""},
	"it states nothing": {"registry.opentofu.org", nil, []step{{command: "init"}}, ""},
	"it states other platforms": {"registry.opentofu.org", func(r fetchtest.Release, p string) []string {
		if p == here {
			return []string{}
		}
		return allHashes(r, p)
	}, []step{{command: "init"}}, unbelieved},
	"it states something else": {"registry.opentofu.org", func(r fetchtest.Release, _ string) []string {
		return allHashes(r, "plan9_mips")
	}, []step{{command: "init"}}, unbelieved},
	"another registry": {"example.com", allHashes, []step{{command: "init"},
		{before: fresh, command: "providers lock"}}, ""},
	"another registry, and wrong": {"example.com", func(r fetchtest.Release, _ string) []string {
		return allHashes(r, "plan9_mips")
	}, []step{{command: "init"}}, unbelieved},
	"a trusted mirror": {"registry.opentofu.org", nil, []step{{before: trusting("true"), command: "init"},
		{command: "init"},
		{before: func(s *site) { s.remove("work/.terraform") }, command: "init -lockfile=readonly"}}, ""},
	"a trusted mirror of another registry": {"example.com", nil, []step{{before: trusting("true"), command: "init"}},
		"OpenTofu trusts mirrors for providers of its own registry alone, against its documentation"},
	"a mirror": {"example.com", nil, []step{{before: trusting("false"), command: "init"}},
		"OpenTofu locks the hash of the archive, too"},
	"a mirror and a wrong setting": {"example.com", nil, []step{
		{before: trusting(`"often"`), command: "init", code: 1}}, ""},
}

const unbelieved = "OpenTofu refuses a registry whose statements do not fit the archive; they are not believed here"

// TOMBOLO_TOFU is the path of OpenTofu 1.12.6.
func TestPublishedHashesAreLocked(t *testing.T) {
	programs := besideOpenTofu(t)
	for name, c := range statedHashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := make([][]observation, 2)
			for i, p := range programs {
				net, registry := fetchtest.New(t), fetchtest.NewRegistry(t)
				registry.Stated = c.stated
				mirror := &fetchtest.Mirror{Path: "/p/", Host: c.host}
				for _, v := range []string{"0.9.0", "1.1.0", "1.2.0"} {
					registry.Add(fetchtest.Release{Source: "corp/thing", Version: v})
					mirror.Add(fetchtest.Release{Source: "corp/thing", Version: v})
				}
				net.Serve(c.host, registry)
				net.Serve("mirror.example", mirror)
				s := newSite(t, p, net)
				s.env = append(s.env, "TOMBOLO_FLAVOR=opentofu")
				s.write("work/main.tf", strings.ReplaceAll(statedProvider, "HOST", c.host))
				for n, step := range c.steps {
					o := observe(s, &internet{Net: net}, step)
					if seen[i] = append(seen[i], o); i == 0 && o.code != step.code {
						t.Errorf("step %d ends with %d, want %d:\n%s", n, o.code, step.code, o.output)
					}
				}
			}
			for n := range seen[1] {
				theirs, ours := seen[1][n], seen[0][n]
				if c.differs == "" {
					compareWithOpenTofu(t, n, theirs, ours)
				} else if theirs.code == ours.code && cmp.Equal(theirs.trees, ours.trees) {
					t.Errorf("step %d does not differ any more: %s", n, c.differs)
				}
			}
		})
	}
}
