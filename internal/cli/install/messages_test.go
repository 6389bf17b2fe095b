package install_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
)

// zipOf returns an archive with these names, in this order.
func zipOf(names ...string) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range names {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte("# " + name))
		}
		if err != nil {
			panic(err)
		}
	}
	w.Close()
	return out.Bytes()
}

// tarOf is like zipOf for a compressed tar archive.
func tarOf(names ...string) []byte {
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	w := tar.NewWriter(packed)
	for _, name := range names {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: 1}); err != nil {
			panic(err)
		}
		_, _ = w.Write([]byte("#"))
	}
	w.Close()
	packed.Close()
	return out.Bytes()
}

// zipDeflated returns an archive with one compressed file.
func zipDeflated(content string) []byte { return fetchtest.Zip(map[string]string{"main.tf": content}) }

// flipped returns the archive with one byte changed. A negative index counts from the end.
func flipped(archive []byte, at int) []byte {
	if at < 0 {
		at += len(archive)
	}
	archive[at] ^= 0x55
	return archive
}

// machinery holds texts that no message may contain: internal errors of libraries, and names of temporary folders.
var machinery = []string{"mkdirat", "magic value", "flate:", "openat", "file exists", ": EOF", "unexpected EOF",
	"invalid header", "zip: not a valid", ".new-",
	"tombolo-provider-", "ontext canceled", "goroutine", "%!", ".archive", "no such file"}

// The message about every possible error in a package has the address and the reason.
func TestMessagesNameTheAddressAndTheMistake(t *testing.T) {
	page := []byte("<!doctype html><title>Log in</title>")
	big := zipOf("main.tf", "a.tf")
	packages := map[string]struct {
		name string
		body []byte
		want string
	}{
		"a name twice, zip": {"p.zip", zipOf("main.tf", "f", "f"), "twice"},
		"a name twice, tar": {"p.tar.gz", tarOf("main.tf", "f", "f"), "twice"},
		"a file and a folder": {"p.zip", zipOf("f", "f/main.tf"),
			"needs a folder where another entry is a file"},
		"nothing, zip":                {"p.zip", nil, "it is not a zip archive, or is truncated"},
		"nothing, tar":                {"p.tar.gz", nil, "not a gzip archive"},
		"nothing, bzip2":              {"p.tar.bz2", nil, "it is cut off"},
		"a page, zip":                 {"p.zip", page, "it is not a zip archive, or is truncated"},
		"a page, tar":                 {"p.tgz", page, "not a gzip archive"},
		"a page, bzip2":               {"p.tbz2", page, "it is not a bzip2 archive"},
		"an archive without files":    {"p.zip", zipOf(), "no files"},
		"a tar without files":         {"p.tar.gz", tarOf(), "no files"},
		"a cut archive":               {"p.zip", big[:len(big)-10], "it is not a zip archive, or is truncated"},
		"a cut tar":                   {"p.tar.gz", tarOf("main.tf")[:40], "cut off"},
		"a damaged zip":               {"p.zip", flipped(zipDeflated(strings.Repeat("x = 1\n", 99)), 70), "damaged"},
		"a damaged tar":               {"p.tar.gz", flipped(tarOf("main.tf"), -6), "damaged"},
		"a zip with the wrong name":   {"p.tar.gz", zipOf("main.tf"), "not a gzip archive"},
		"out of the package":          {"p.zip", zipOf("../main.tf"), "could leave the folder"},
		"a kind that is not unpacked": {"p.tar.xz", nil, "expected"},
	}
	own := program(t)
	for title, p := range packages {
		t.Run("module, "+title, func(t *testing.T) {
			t.Parallel()
			net := fetchtest.New(t)
			net.Serve("web.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write(p.body)
			}))
			s := newSite(t, own, net)
			s.write("work/main.tf", calls("x", "https://web.example/"+p.name))
			expectMessages(t, s, "https://web.example/"+p.name, p.want)
		})
		if !strings.HasSuffix(p.name, ".zip") || strings.Contains(title, "files") {
			continue
		}
		t.Run("provider, "+title, func(t *testing.T) {
			t.Parallel()
			net := fetchtest.New(t)
			net.Serve("mirror.example", &fetchtest.Mirror{Path: "/p/", Host: "example.com"})
			net.Answer("mirror.example", "/p/example.com/corp/thing/index.json", sends(`{"versions": {"1.2.0": {}}}`))
			net.Answer("mirror.example", "/p/example.com/corp/thing/1.2.0.json",
				sends(`{"archives": {"`+here+`": {"url": "x.zip"}}}`))
			net.Answer("mirror.example", "/p/example.com/corp/thing/x.zip", sends(string(p.body)))
			s := newSite(t, own, net)
			s.write("cli.tfrc", throughMirror)
			s.write("work/main.tf", ociProvider)
			expectMessages(t, s, "https://mirror.example/p/example.com/corp/thing/x.zip", p.want)
		})
	}
}

func sends(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
}

// expectMessages runs init, which must fail, and checks its output.
func expectMessages(t *testing.T, s *site, wants ...string) {
	t.Helper()
	output, code := s.run("init")
	plain := flat(output)
	t.Log(plain)
	if code != 1 {
		t.Errorf("init ends with %d:\n%s", code, output)
	}
	for _, want := range wants {
		if !strings.Contains(plain, want) {
			t.Errorf("it does not say %q:\n%s", want, output)
		}
	}
	for _, word := range machinery {
		if strings.Contains(plain, word) {
			t.Errorf("it says %q:\n%s", word, output)
		}
	}
	if strings.Contains(plain, s.dir+"/tmp") {
		t.Errorf("it names a temporary folder:\n%s", output)
	}
}

// An interrupt is reported as such in every phase.
func TestInterruptsAreReportedAsSuch(t *testing.T) {
	own := program(t)
	for _, where := range []string{"module", "provider"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			net, asked := fetchtest.New(t), make(chan bool, 10)
			slow := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				asked <- true
				w.Header().Set("Content-Length", "1000000")
				_, _ = w.Write([]byte("PK"))
				_ = http.NewResponseController(w).Flush()
				<-q.Context().Done()
			})
			net.Serve("web.example", slow)
			net.Serve("mirror.example", slow)
			s := newSite(t, own, net)
			s.write("cli.tfrc", throughMirror)
			s.write("work/main.tf", map[string]string{"module": calls("x", "https://web.example/p.zip"),
				"provider": ociProvider}[where])
			command := s.command("init")
			var out bytes.Buffer
			command.Stdout, command.Stderr = &out, &out
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			select {
			case <-asked:
			case <-time.After(time.Minute):
				t.Error("nothing was asked for")
			}
			if err := command.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
			_ = command.Wait()
			plain := flat(out.String())
			t.Log(plain)
			if command.ProcessState.ExitCode() != 1 || !strings.Contains(strings.ToLower(plain), "interrupt") {
				t.Errorf("ends with %s:\n%s", command.ProcessState, out.String())
			}
			for _, word := range machinery {
				if strings.Contains(plain, word) {
					t.Errorf("it says %q:\n%s", word, out.String())
				}
			}
		})
	}
}
