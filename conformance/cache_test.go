package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// recordVersion is part of every cache key. Raise it when run_test.go starts to ask for something else.
const recordVersion = "1"

// A cache keeps Records of terraform, which does the same thing for the same case every time. The key covers the case, the
// harness, the version of terraform and the published providers. Cases in which programs of ours run on terraform's side too (the
// binaries change places, or there are plugins of ours) are not kept. A zero cache keeps nothing.
type cache struct {
	dir     string
	version string // of terraform
}

func openCache(version string) cache {
	if os.Getenv("TOMBOLO_CONFORMANCE_CACHE") == "off" || os.Getenv("TOMBOLO_CONFORMANCE_KEEP") != "" {
		return cache{}
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return cache{}
	}
	return cache{dir: filepath.Join(base, "tombolo-conformance"), version: version}
}

func (c cache) path(cs *Case) string {
	key := []string{recordVersion, c.version, runtime.GOOS, cs.Hash}
	for _, name := range cs.plugins {
		key = append(key, plugins[name].key())
	}
	sum := sha256.Sum256([]byte(strings.Join(key, "\n")))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:])+".json")
}

// load gives the cached Record of a case, or false. What cannot be read counts as absent.
func (c cache) load(cs *Case) (*Record, bool) {
	if c.dir == "" || !cs.cacheable() {
		return nil, false
	}
	data, err := os.ReadFile(c.path(cs))
	if err != nil {
		return nil, false
	}
	var rec Record
	if json.Unmarshal(data, &rec) != nil || len(rec.Results) != len(cs.Steps) {
		return nil, false
	}
	return &rec, true
}

// store keeps a Record. It writes beside and renames, so that a run stopped half way leaves no half record; a cache that
// cannot be written is only slow.
func (c cache) store(cs *Case, rec *Record) {
	if c.dir == "" || !cs.cacheable() {
		return
	}
	data, err := json.Marshal(rec)
	if err != nil || os.MkdirAll(c.dir, 0o777) != nil {
		return
	}
	tmp, err := os.CreateTemp(c.dir, "new-*")
	if err != nil {
		return
	}
	_, werr := tmp.Write(data)
	if cerr := tmp.Close(); werr != nil || cerr != nil || os.Rename(tmp.Name(), c.path(cs)) != nil {
		os.Remove(tmp.Name())
	}
}
