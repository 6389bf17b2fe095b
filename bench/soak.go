//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// A trial is a repeated external failure. Its cost and its leftovers must be the same in the first and in the last
// round.
type trial struct {
	name   string
	config string
	words  []string      // the command
	kill   time.Duration // time after which the engine is killed; then the command runs again without a kill
	fails  bool          // the command is expected to fail
	plugin bool          // the configuration is for the plugin of internal/world, whose data is beside the project
	many   bool          // the configuration is for manySession
}

// worlds returns a configuration of objects and leases of the plugin.
func worlds(blocks string) string {
	return `terraform {
  required_providers {
    world = {
      source = "tombolo/world"
    }
  }
}
provider "world" {
  dir = "../world"
}
` + blocks
}

// five returns a configuration for the plugin over version 5 of its protocol.
func five(config string) string {
	return strings.Replace(config, `"tombolo/world"`, `"`+fiveSource+`"`, 1)
}

// quick are twenty objects that take no time.
const quick = `resource "world_object" "a" {
  count = 20
  name  = "a${count.index}"
}
`

// slow are twenty objects that take their time.
const slow = `resource "world_object" "a" {
  count  = 20
  name   = "a${count.index}"
  behave = { delay = "3s" }
}
`

// leases are ten ephemeral resources that are renewed every second while an object is created, and one whose renewal
// fails every time.
const leases = `ephemeral "world_lease" "l" {
  count = 10
  name  = "l${count.index}"
  renew = "1s"
}
ephemeral "world_lease" "broken" {
  name  = "broken"
  renew = "1s"
  fail  = "renew"
}
resource "world_object" "a" {
  name   = "a"
  behave = { delay = "4s" }
}
`

const soakMark = "TOMBOLO_BENCH_SOAK"

// external returns an external_resource whose creation runs a script.
func external(script string) string {
	return `terraform {
  required_providers {
    external = {
      source = "tombolo/external"
    }
  }
}
resource "external_resource" "a" {
  program = ["sh", "-c", <<-EOT
    case "$0" in
    create) ` + script + ` ;;
    *) echo '{"id":"1","arguments":{},"result":{}}' ;;
    esac
  EOT
  ]
}
`
}

const soakAnswer = `echo '{"id":"1","arguments":{},"result":{}}'`

// doublings returns a configuration with n local values, each of which contains the previous one twice.
func doublings(n int) string {
	var b strings.Builder
	b.WriteString("locals {\n  d0 = \"x\"\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "  d%d = \"${local.d%d}${local.d%d}\"\n", i, i-1, i-1)
	}
	fmt.Fprintf(&b, "}\noutput \"o\" {\n  value = local.d%d\n}\n", n)
	return b.String()
}

// manyManifest and manySession are a provider whose program is one process for many calls. An object whose name is slow
// takes two seconds.
const (
	manyManifest = `{
  "protocol": 1, "name": "many", "command": ["sh", "./many.sh"], "mode": "session", "concurrency": 1,
  "schema": { "resource_schemas": { "many_thing": { "implements": ["create", "update", "delete"], "attributes": {
    "id": { "type": "string", "computed": true }, "name": { "type": "string", "required": true } } } } }
}`
	manySession = `while IFS= read -r line; do
  id=$(printf %s "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
  [ -n "$id" ] || continue
  case $line in
  *'"initialize"'*) result='{"protocol":1}' ;;
  *'"create"'*) case $line in *slow*) sleep 2 ;; esac; result='{"state":{"id":"i"}}' ;;
  *) result='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`
)

func things(name string) string {
	return "terraform {\n  required_providers {\n    many = {\n      source = \"many\"\n    }\n  }\n}\n" +
		"resource \"many_thing\" \"a\" {\n  count = 10\n  name  = \"" + name + "\"\n}\n"
}

// repeats is a template that repeats a megabyte a million times.
const repeats = `locals {
  long = join("", [for i in range(1024) : format("%01024d", i)])
}
output "o" {
  value = "%{ for c in split("", local.long) }${local.long}%{ endfor }"
}
`

// lists returns a configuration with n local values, each of which contains the previous one twice.
func lists(n int) string {
	return strings.ReplaceAll(strings.NewReplacer(`"${`, "[", "}${", ", ", `}"`, "]").Replace(doublings(n)),
		`d0 = "x"`, `d0 = ["x"]`)
}

var apply = []string{"apply", "-auto-approve", "-input=false", "-no-color"}

var trials = []trial{
	{name: "a program that does its work", config: external(soakAnswer), words: apply},
	{name: "100 MB of messages", words: apply,
		config: external(`head -c 100000000 /dev/zero | tr '\0' x >&2; ` + soakAnswer)},
	{name: "an answer of 70 MB", words: apply, fails: true,
		config: external(`head -c 70000000 /dev/zero | tr '\0' ' '`)},
	{name: "the engine is killed, the program answers", words: apply, kill: time.Second,
		config: external(`sleep 2; ` + soakAnswer)},
	{name: "the engine is killed, the program writes 200 MB", words: apply, kill: time.Second, fails: true,
		config: external(`sleep 2; head -c 200000000 /dev/zero | tr '\0' ' '`)},
	{name: "a text doubled forty times", config: doublings(40), words: []string{"plan", "-input=false", "-no-color"},
		fails: true},
	{name: "a plugin that does its work", plugin: true, words: apply,
		config: worlds(quick)},
	{name: "the engine is killed, a plugin works", plugin: true, words: apply, kill: time.Second, fails: true,
		config: worlds(slow)},
	{name: "the engine is killed, a plugin hears nothing", plugin: true, words: apply, kill: time.Second, fails: true,
		config: worlds(strings.Replace(slow, `"3s"`, `"3s", deaf = "yes"`, 1))},
	{name: "ephemeral resources are renewed", plugin: true, words: apply, config: worlds(leases)},
	{name: "a plugin of version 5 does its work", plugin: true, words: apply, config: five(worlds(quick))},
	{name: "the engine is killed, a plugin of version 5 works", plugin: true, words: apply, kill: time.Second,
		fails: true, config: five(worlds(slow))},
	{name: "the engine is killed, a plugin of version 5 hears nothing", plugin: true, words: apply, kill: time.Second,
		fails: true, config: five(worlds(strings.Replace(slow, `"3s"`, `"3s", deaf = "yes"`, 1)))},
	{name: "ephemeral resources of version 5 are renewed", plugin: true, words: apply, config: five(worlds(leases))},
	{name: "a session that does its work", many: true, words: apply, config: things("quick")},
	{name: "the engine is killed, a session works", many: true, words: apply, kill: time.Second, fails: true,
		config: things("slow")},
	{name: "a list doubled forty times", config: lists(40), words: []string{"plan", "-input=false", "-no-color"},
		fails: true},
	{name: "a megabyte repeated a million times", config: repeats, fails: true,
		words: []string{"plan", "-input=false", "-no-color"}},
	{name: "100 000 problems of a program", words: apply, fails: true, config: external(
		`yes '{"severity":"error","summary":"x"},' | head -n 100000 | ` +
			`{ printf '{"diagnostics":['; tr -d '\n'; echo '{"severity":"error","summary":"x"}]}'; }`)},
	{name: "2 000 duplicate variables", words: []string{"validate", "-no-color"}, fails: true,
		config: strings.Repeat("variable \"v\" {\n}\n", 2001)},
	{name: "200 references to nothing", words: []string{"validate", "-no-color"}, fails: true,
		config: strings.Repeat("resource \"terraform_data\" \"a\" {\n  input = var.none\n}\n", 200)},
}

// soak runs every trial for several rounds and prints the cost and the leftovers of the first and the last round.
func soak(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	rounds := flags.Int("rounds", 10, "how often each trial runs")
	named := flags.String("trials", "", "only the trials that have this text in their name")
	o := options{terraform: "none", tofu: "none"}
	flags.StringVar(&o.tombolo, "tombolo", "", "tombolo to measure; empty to build ./cmd/tombolo")
	err := flags.Parse(args)
	if err != nil {
		return err
	}
	remove, err := o.prepare(ctx)
	defer remove()
	if err != nil {
		return err
	}
	bin := o.contenders[len(o.contenders)-1].bin
	mirror, err := o.preparePlugins()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "trial\trounds\ttime of first, last\tmemory of first, last, most\tprinted\tdisk\t"+
		"processes left\tfiles left")
	for i, tr := range trials {
		if !strings.Contains(tr.name, *named) {
			continue
		}
		fmt.Fprintln(stderr, "soak:", tr.name)
		s := &soaking{trial: tr, bin: bin, dir: filepath.Join(o.workDir, fmt.Sprint(i)), mirror: mirror}
		for range *rounds {
			if err := s.round(ctx); err != nil {
				return fmt.Errorf("%s, round %d: %w", tr.name, len(s.samples)+1, err)
			}
		}
		s.report(w)
	}
	return w.Flush()
}

// soaking is a running trial.
type soaking struct {
	trial
	bin, dir string
	mirror   string // the CLI configuration for plugins
	samples  []sample
	printed  int // maximum of a round
	left     []string
	kept     int64 // bytes on disk
	alive    int
}

// round runs the trial in a new folder with its own temporary folder.
func (s *soaking) round(ctx context.Context) error {
	defer os.RemoveAll(s.dir)
	work, tmp := filepath.Join(s.dir, "work"), filepath.Join(s.dir, "tmp")
	for _, dir := range []string{work, tmp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(work, "main.tf"), []byte(s.config), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.dir, "empty.tfrc"), nil, 0o600); err != nil {
		return err
	}
	if s.many {
		if err := s.writeMany(); err != nil {
			return err
		}
	}
	if _, _, err := s.run(ctx, []string{"init", "-input=false"}, 0); err != nil && !s.fails {
		return fmt.Errorf("init: %w", err)
	}
	if s.kill > 0 {
		if _, _, err := s.run(ctx, s.words, s.kill); err == nil {
			return fmt.Errorf("%s ended before it was killed", s.words[0])
		}
	}
	got, printed, err := s.run(ctx, s.words, 0)
	if (err != nil) != s.fails {
		return fmt.Errorf("%s: %v", s.words[0], err)
	}
	s.samples, s.printed = append(s.samples, got), max(s.printed, printed)
	time.Sleep(100 * time.Millisecond) // guard processes end after the engine
	alive, err := marked(s.dir)
	if err != nil {
		return err
	}
	s.alive += alive
	if s.kept, err = onDisk(s.dir); err != nil {
		return err
	}
	s.left, err = leftOver(work, tmp, s.fails)
	return err
}

// writeMany writes the provider of manySession beside the project.
func (s *soaking) writeMany() error {
	dir := filepath.Join(s.dir, "many")
	return errors.Join(os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "tombolo-provider.json"), []byte(manyManifest), 0o600),
		os.WriteFile(filepath.Join(dir, "many.sh"), []byte(manySession), 0o600))
}

// run runs a command of the engine, and kills it after a while unless that is 0. It also returns the size of the
// output.
func (s *soaking) run(ctx context.Context, words []string, kill time.Duration) (sample, int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if kill > 0 {
		ctx, cancel = context.WithTimeout(ctx, kill)
		defer cancel()
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, s.bin, words...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = filepath.Join(s.dir, "work"), &out, &out, time.Second
	settings := filepath.Join(s.dir, "empty.tfrc")
	if s.plugin {
		settings = s.mirror
	}
	cmd.Env = append(os.Environ(), soakMark+"="+s.dir, "TMPDIR="+filepath.Join(s.dir, "tmp"), "CHECKPOINT_DISABLE=1",
		"TF_CLI_CONFIG_FILE="+settings)
	if s.many {
		cmd.Env = append(cmd.Env, "TOMBOLO_PROGRAM_PROVIDERS=many=../many")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	start := time.Now()
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return sample{}, 0, err
	}
	return sample{Wall: time.Since(start), RSS: maxRSS(cmd.ProcessState)}, out.Len(), err
}

// marked counts the processes that a round has left, or 0 on systems without /proc.
func marked(dir string) (count int, err error) {
	names, err := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		if env, err := os.ReadFile(name); err == nil && bytes.Contains(env, []byte(soakMark+"="+dir+"\x00")) {
			count++
		}
	}
	return count, err
}

// leftOver returns the files that are no longer needed: all temporary ones and, in the project, all except the state,
// its backup, files of init and, while an operation is open, its response.
func leftOver(work, tmp string, open bool) (list []string, err error) {
	for _, root := range []string{work, tmp} {
		err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			switch name := e.Name(); {
			case err != nil:
				return err
			case path == root || name == "main.tf" || strings.HasPrefix(name, "terraform.tfstate") && !e.IsDir():
			case name == ".terraform" && e.IsDir():
				return filepath.SkipDir
			case open && strings.HasSuffix(path, ".answers"):
				return filepath.SkipDir
			case name == ".terraform.lock.hcl":
			default:
				list = append(list, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// onDisk returns the disk usage of a folder.
func onDisk(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if st, ok := info.Sys().(*syscall.Stat_t); ok && err == nil {
			total += st.Blocks * 512
		}
		return err
	})
	return total, err
}

func (s *soaking) report(w io.Writer) {
	first, last, most := s.samples[0], s.samples[len(s.samples)-1], int64(0)
	for _, one := range s.samples {
		most = max(most, one.RSS)
	}
	left := "none"
	if len(s.left) > 0 {
		left = strings.Join(s.left, " ")
	}
	fmt.Fprintf(w, "%s\t%d\t%.2f s, %.2f s\t%d MB, %d MB, %d MB\t%d kB\t%d kB\t%d\t%s\n", s.name,
		len(s.samples), first.Wall.Seconds(), last.Wall.Seconds(), first.RSS/1e6, last.RSS/1e6, most/1e6,
		(s.printed+999)/1000, s.kept/1000, s.alive, left)
}
