//go:build unix

package main

import (
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
)

// TestSharedStates measures commands with a state in a service, at several network latencies, and compares them with
// terraform and tofu. It prints a table and checks no times.
//
//	TOMBOLO_BENCH_SHARED=1 go test ./bench -run TestSharedStates -v -timeout 60m
//
// TOMBOLO_TOFU names a tofu binary to measure as well; TOMBOLO_BENCH_OBJECTS is the number of objects in the large
// state.
func TestSharedStates(t *testing.T) {
	if os.Getenv("TOMBOLO_BENCH_SHARED") == "" {
		t.Skip("runs with TOMBOLO_BENCH_SHARED=1: it takes minutes")
	}
	binaries := []binary{{"tombolo", filepath.Join(t.TempDir(), "tombolo")}}
	if out, err := exec.Command("go", "build", "-o", binaries[0].path, "../cmd/tombolo").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if path, err := exec.LookPath("terraform"); err == nil {
		binaries = append(binaries, binary{"terraform", path})
	}
	if path := os.Getenv("TOMBOLO_TOFU"); path != "" {
		binaries = append(binaries, binary{"tofu", path})
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| service\t| latency\t| command\t| program\t| time\t| round trips\t| bytes\t|")
	fmt.Fprintln(w, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	large := 100_000
	fmt.Sscan(os.Getenv("TOMBOLO_BENCH_OBJECTS"), &large)
	for _, kind := range []string{"pg", "s3"} {
		for _, latency := range []time.Duration{0, 10 * time.Millisecond, 100 * time.Millisecond} {
			for _, b := range binaries {
				measureShared(t, w, kind, latency, b, 50)
			}
		}
		measureShared(t, w, kind, 0, binaries[0], large)
	}
	w.Flush()
	t.Logf("medians of three; the large state once\n%s", table.String())
}

type binary struct{ name, path string }

// measureShared measures the commands from creation to destruction of n objects with one program.
func measureShared(t *testing.T, w io.Writer, kind string, latency time.Duration, b binary, n int) {
	t.Helper()
	net, block := service(t, kind, latency)
	dir := t.TempDir()
	config := "terraform {\n" + block + "\n}\nvariable \"v\" { default = 0 }\n" +
		fmt.Sprintf("resource \"terraform_data\" \"x\" {\n  count = %d\n  input = var.v\n}\n", n)
	for name, text := range map[string]string{"main.tf": config, "cli.tfrc": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (time.Duration, int64, int64) {
		trips, bytes, began := net.trips.Load(), net.bytes.Load(), time.Now()
		cmd := exec.Command(b.path, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1",
			"TF_IN_AUTOMATION=1", "HOME="+dir, "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", b.name, strings.Join(args, " "), err, out)
		}
		return time.Since(began), net.trips.Load() - trips, net.bytes.Load() - bytes
	}
	run("init", "-input=false")
	rounds := 3
	if n > 1000 {
		rounds = 1
	}
	steps := []struct {
		what string
		args []string
	}{
		{fmt.Sprintf("first apply of %d", n), []string{"apply", "-auto-approve"}},
		{"plan, no change", []string{"plan"}},
		{"apply, all change", []string{"apply", "-auto-approve", "-var=v=1"}},
		{"destroy", []string{"destroy", "-auto-approve"}},
	}
	times := make([][]time.Duration, len(steps))
	trips, bytes := make([]int64, len(steps)), make([]int64, len(steps))
	for range rounds {
		for i, step := range steps {
			var took time.Duration
			took, trips[i], bytes[i] = run(step.args...)
			times[i] = append(times[i], took)
		}
	}
	for i, step := range steps {
		slices.Sort(times[i])
		fmt.Fprintf(w, "| %s\t| %s\t| %s\t| %s\t| %s\t| %d\t| %d\t|\n", kind, latency, step.what, b.name,
			times[i][len(times[i])/2].Round(10*time.Millisecond), trips[i], bytes[i])
	}
}

// service starts a service behind a network, and returns its backend block.
func service(t *testing.T, kind string, latency time.Duration) (*network, string) {
	t.Helper()
	if kind == "s3" {
		objects := s3mem.New()
		if err := objects.CreateBucket("states"); err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(gofakes3.New(objects).Server())
		t.Cleanup(server.Close)
		n := newNetwork(t, "tcp", server.Listener.Addr().String(), latency)
		return n, fmt.Sprintf(`backend "s3" {
  bucket                      = "states"
  key                         = "bench"
  region                      = "eu-central-1"
  use_lockfile                = true
  use_path_style              = true
  skip_credentials_validation = true
  skip_requesting_account_id  = true
  skip_metadata_api_check     = true
  endpoints                   = { s3 = "http://%s" }
}`, n.address)
	}
	dsn := pgtest.Database(t)
	part := func(name string) string {
		return regexp.MustCompile(name + `=(\S+)`).FindStringSubmatch(dsn)[1]
	}
	n := newNetwork(t, "unix", filepath.Join(part("host"), ".s.PGSQL.5432"), latency)
	return n, fmt.Sprintf("backend \"pg\" {\n  conn_str = \"postgres://%s@%s/%s?sslmode=disable\"\n}", part("user"),
		n.address, part("dbname"))
}

// network forwards connections with a delay.
type network struct {
	address, kind, to string
	latency           time.Duration // latency of a round trip
	trips, bytes      atomic.Int64
}

func newNetwork(t *testing.T, kind, to string, latency time.Duration) *network {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{address: l.Addr().String(), kind: kind, to: to, latency: latency}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go n.forward(client)
		}
	}()
	return n
}

func (n *network) forward(client net.Conn) {
	defer client.Close()
	time.Sleep(n.latency) // the handshake
	server, err := net.Dial(n.kind, n.to)
	if err != nil {
		return
	}
	defer server.Close()
	n.trips.Add(1)
	var asking atomic.Bool
	var wg sync.WaitGroup
	for _, way := range [2][2]net.Conn{{client, server}, {server, client}} {
		wg.Go(func() {
			n.pump(way[1], way[0], func() {
				if was := asking.Swap(way[0] == client); !was && way[0] == client {
					n.trips.Add(1)
				}
			})
		})
	}
	wg.Wait()
}

// pump copies data from one end to the other, half a round trip later.
func (n *network) pump(to, from net.Conn, seen func()) {
	type piece struct {
		data []byte
		due  time.Time
	}
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		buffer := make([]byte, 64<<10)
		for {
			read, err := from.Read(buffer)
			if read > 0 {
				seen()
				n.bytes.Add(int64(read))
				pieces <- piece{slices.Clone(buffer[:read]), time.Now().Add(n.latency / 2)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		to.Write(p.data)
	}
	to.Close()
}
