package regular_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/regular"
)

// special creates files that are not regular, by kind.
var special = map[string]func(t *testing.T, name string){}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Skipf("needs symbolic links: %s", err)
	}
}

func TestOnlyRegularFilesAreRead(t *testing.T) {
	for what, make := range special {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			name := filepath.Join(dir, "x.tf")
			make(t, name)
			text, err := regular.Read(name, 100)
			var pathErr *fs.PathError
			if !errors.Is(err, regular.ErrKind) || !errors.As(err, &pathErr) || !strings.HasSuffix(err.Error(),
				", not a regular file") {
				t.Errorf("Read returns %d bytes and %v, expected an error that says what it is", len(text), err)
			}
			if _, err := regular.Open(name); !errors.Is(err, regular.ErrKind) {
				t.Errorf("Open returns %v", err)
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			if _, err := regular.ReadIn(root, "x.tf", 100); err == nil {
				t.Error("ReadIn returns no error")
			}
		})
	}
}

func TestContentIsReadUpToTheLimit(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.tf")
	for _, size := range []int{0, 1, 99, 100, 101, 4096} {
		want := bytes.Repeat([]byte{'x'}, size)
		if err := os.WriteFile(name, want, 0o600); err != nil {
			t.Fatal(err)
		}
		for title, read := range map[string]func(string, int64) ([]byte, error){
			"Read": regular.Read, "Named": regular.Named} {
			got, err := read(name, 100)
			switch {
			case size <= 100 && (err != nil || !bytes.Equal(got, want)):
				t.Errorf("%s of %d bytes returns %d bytes and %v", title, size, len(got), err)
			case size > 100 && (!errors.Is(err, regular.ErrSize) || got != nil):
				t.Errorf("%s of %d bytes returns %d bytes and %v, expected that it is too large", title, size, len(got),
					err)
			}
		}
	}
}

// A file that claims to be empty, as those in /proc do, is read to its end.
func TestFilesOfSizeZeroAreRead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	text, err := regular.Read("/proc/self/status", regular.Note)
	if err != nil || !bytes.Contains(text, []byte("Pid:")) {
		t.Errorf("returns %d bytes and %v", len(text), err)
	}
	if _, err := regular.Read("/proc/self/status", 10); !errors.Is(err, regular.ErrSize) {
		t.Errorf("with a limit of 10 bytes: %v", err)
	}
}

func TestLinksToRegularFilesAreFollowed(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "project"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shared.tf"), []byte("shared"), 0o600); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "project", "main.tf")
	link(t, filepath.Join("..", "shared.tf"), name)
	if text, err := regular.Read(name, 100); err != nil || string(text) != "shared" {
		t.Errorf("returns %q and %v", text, err)
	}
	root, err := os.OpenRoot(filepath.Join(dir, "project"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if text, err := regular.ReadIn(root, "main.tf", 100); err == nil {
		t.Errorf("below the project, a file outside of it was read: %q", text)
	}
}

func TestErrorsOfTheSystemStay(t *testing.T) {
	dir := t.TempDir()
	if _, err := regular.Read(filepath.Join(dir, "none"), 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a missing file: %v", err)
	}
	if _, err := regular.Read(dir, 100); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("of a folder: %v", err)
	}
}

// A file that claims too large a size is not read, however it was opened.
func TestFilesBeyondTheLimitAreNotRead(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "x.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(regular.State + 1); err != nil {
		t.Skipf("needs files with holes: %s", err)
	}
	if _, err := regular.Rest(f, regular.State); !errors.Is(err, regular.ErrSize) ||
		!strings.Contains(err.Error(), "more than 4 GiB") {
		t.Errorf("got %v", err)
	}
	if at, err := f.Seek(0, io.SeekCurrent); at != 0 || err != nil {
		t.Errorf("%d bytes were read; %v", at, err)
	}
	if text, err := regular.Rest(strings.NewReader("12345"), 5); string(text) != "12345" || err != nil {
		t.Errorf("up to the limit: got %q and %v", text, err)
	}
	if _, err := regular.Rest(strings.NewReader("123456"), 5); !errors.Is(err, regular.ErrSize) {
		t.Errorf("beyond the limit: got %v", err)
	}
}
