package handler

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/provider"
)

// kept is the location of an answer that is stored for reuse: its name depends on the program's files, the call and all
// of its input. The zero value means that the answer is not stored.
type kept struct {
	path string
	age  time.Duration
}

// kept returns the location for the answer of a call. Secret answers are not stored.
func (r *request) kept() kept {
	if r.h.opts.Private != nil && r.h.opts.Private() {
		return kept{}
	}
	if api := r.h.m().HTTP; api != nil && len(api.Env) > 0 {
		return kept{} // the answer also depends on the environment
	}
	if r.cache <= 0 || r.h.opts.Cache == "" || r.h.hash() == "" || r.h.secrets.Any() || r.secrets.Any() {
		return kept{}
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n%s\n", r.h.hash(), r.action, r.typ)
	sum.Write(r.params.Bytes())
	return kept{filepath.Join(r.h.opts.Cache, hex.EncodeToString(sum.Sum(nil))+".json"), r.cache}
}

// hasSecrets reports whether a schema has sensitive attributes.
func hasSecrets(b *provider.Block) bool {
	for _, nb := range b.Blocks {
		if hasSecrets(&nb.Block) {
			return true
		}
	}
	return secretAmong(b.Attributes)
}

func secretAmong(attrs map[string]*provider.Attribute) bool {
	for _, a := range attrs {
		if a.Sensitive || a.Nested != nil && secretAmong(a.Nested.Attributes) {
			return true
		}
	}
	return false
}

// CacheDir returns the folder in which a provider may store files.
func CacheDir(m *manifest.Manifest, s Surroundings) (string, error) { return cacheDir(m, s) }

// read returns a stored answer that has not expired, or nil.
func (k kept) read(r *request, expected string) *answer {
	if k.path == "" {
		return nil
	}
	info, err := os.Stat(k.path)
	if err != nil || time.Since(info.ModTime()) > k.age || time.Since(info.ModTime()) < 0 {
		return nil
	}
	text, err := regular.Read(k.path, maxAnswer)
	if err != nil {
		return nil
	}
	a, diags := r.read(&Answer{Result: text, Program: "an answer from " + k.path}, expected)
	if len(diags) > 0 {
		return nil
	}
	return a
}

// write stores an answer. Errors are ignored.
func (k kept) write(text []byte) {
	if k.path == "" || os.MkdirAll(filepath.Dir(k.path), 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(k.path), "new-*") // readable only by the user
	if err != nil {
		return
	}
	_, err = f.Write(text)
	if err2 := f.Close(); err != nil || err2 != nil || os.Rename(f.Name(), k.path) != nil {
		_ = os.Remove(f.Name())
	}
}

// maxAnswer limits a stored answer, in bytes, as it does the output of a program.
const maxAnswer = 64 << 20

// maxHashed limits the size of a program's folder, in bytes, for storing its answers.
const maxHashed = 256 << 20

// hashFolder returns a hash of the names, contents and modes of all files in a folder, or "" if that is not possible.
func hashFolder(dir string) string {
	sum, size := sha256.New(), int64(0)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := regular.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if size += info.Size(); size > maxHashed || !info.Mode().IsRegular() {
			return fmt.Errorf("%s cannot be hashed", path)
		}
		fmt.Fprintf(sum, "%q %o %d\n", path, info.Mode().Perm(), info.Size())
		_, err = io.Copy(sum, f)
		return err
	})
	if err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}
