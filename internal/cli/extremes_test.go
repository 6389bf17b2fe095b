//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// extremes generates expressions of calls and operators with arguments that are as large, deep, numerous or unusual as
// possible in a few characters.
type extremes struct {
	*rand.Rand
	calls map[string][]cty.Type // the parameters of functions
	free  map[string]cty.Type   // the type of variadic parameters
	give  map[cty.Type][]string // the functions by result type; types that are not primitive count as dynamic
}

func newExtremes(seed uint64) *extremes {
	x := &extremes{Rand: rand.New(rand.NewPCG(seed, 26)), calls: map[string][]cty.Type{}, free: map[string]cty.Type{},
		give: map[cty.Type][]string{}}
	table := funcs.Table(funcs.Options{})
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if strings.ContainsAny(name, ":\x00") || name == "bcrypt" {
			continue // duplicates, functions that expressions cannot call, and slow ones
		}
		f := table[name]
		for _, p := range f.Params() {
			x.calls[name] = append(x.calls[name], p.Type)
		}
		if v := f.VarParam(); v != nil {
			x.free[name] = v.Type
		}
		result, err := f.ReturnType(x.calls[name])
		if err != nil || !result.IsPrimitiveType() {
			result = cty.DynamicPseudoType
		}
		x.give[result] = append(x.give[result], name)
	}
	return x
}

// of returns an expression of a type, with a maximum depth.
func (x *extremes) of(ty cty.Type, depth int) string {
	if depth > 0 && x.IntN(4) > 0 {
		return x.compound(ty, depth-1)
	}
	switch {
	case ty == cty.String:
		return x.text()
	case ty == cty.Number:
		return x.number()
	case ty == cty.Bool:
		return x.among("true", "false", "null", "local.huge == local.wide", "1 > 1e99999")
	case ty == cty.DynamicPseudoType:
		return x.any()
	}
	return x.collection()
}

func (x *extremes) among(list ...string) string { return list[x.IntN(len(list))] }

func (x *extremes) any() string {
	switch x.IntN(4) {
	case 0:
		return x.text()
	case 1:
		return x.number()
	}
	return x.collection()
}

func (x *extremes) number() string {
	return x.among("0", "-1", "2", "31", "64", "1000000", "2147483648", "9223372036854775808", "1e99999", "-1e99999",
		"1e-99999", "1e9", "1e18", "0.1", "(1/3)", "1e999999999", `"1e999999999"`, `"-1e-999999999"`,
		"local.digits", strings.Repeat("7", 1+x.IntN(3)*100_000), "1."+strings.Repeat("3", 50_000), "null",
		"tonumber(local.digits)", `"${local.digits}.${local.digits}"`, "(1e99999 * 1e99999)", "length(local.huge)")
}

func (x *extremes) text() string {
	return x.among(`""`, `"x"`, "local.huge", "local.huge", "local.lines", "local.digits", "local.brackets",
		"local.braces",
		"local.dashes", "local.commas", "local.percents", "local.parens", `"%999999999d"`, `"%.999999999f"`,
		`"%[999999999]s"`, `"%-2147483647s"`, `"/(a{999}){999}/"`, `"((a{999}){999}){999}"`, `"(.*)*(.*)*x"`,
		`"/(?:x?){500}x{500}/"`, `"(?i)(x|xx)*$"`, `"10.0.0.0/8"`, `"fd00::/1"`, `"::/0"`, `"2020-01-01T00:00:00Z"`,
		`"9999-12-31T23:59:59Z"`, `"9999999999h"`, `"YYYYYYYYYY"`, `"UTF-16LE"`, `"utf-7"`, `"shift_jis"`,
		"base64gzip(local.huge)", "base64encode(local.huge)", `"$${a}$${a}"`, `"%%{ for x in a }$${x}%%{ endfor }"`,
		"jsonencode(local.wide)", "yamlencode(local.wide)", `"a: &a [x]\nb: *a"`, "local.aliases", "null", `"\u0000"`,
		`"**/**/**/**"`, `"/dev/zero"`, `"/proc/self/mem"`, `"."`, `"/"`)
}

func (x *extremes) collection() string {
	return x.among("[]", "{}", "local.wide", "local.wide", "local.grid", "local.deep", "local.names", "local.huges",
		"local.texts",
		"toset(local.texts)", "toset(local.wide)", "range(1e9)", "range(0, 1, 1e-9)", "range(1e99999)", "null",
		"[local.huge, local.huge]", "{ a = local.huge, b = local.wide }", "[for i in local.wide : local.wide]",
		"[for i in local.wide : local.huge]", "{ for i in local.wide : i => local.names }",
		"[for i in local.wide : [for j in local.wide : [for k in local.wide : k]]]",
		`{ for i in local.wide : "k" => i... }`, "split(\"\", local.huge)", "[1e99999, -1e99999]", "local.doubled")
}

// compound returns a call, an operation or a `for` expression of a type.
func (x *extremes) compound(ty cty.Type, depth int) string {
	list := func() string { return x.of(cty.List(cty.DynamicPseudoType), depth) }
	any, text, number := func() string { return x.of(cty.DynamicPseudoType, depth) },
		func() string { return x.of(cty.String, depth) }, func() string { return x.of(cty.Number, depth) }
	switch n := x.IntN(8); {
	case n == 0:
		return "try(" + x.of(ty, depth) + ", " + x.of(ty, depth) + ")"
	case n == 1:
		return "(" + x.of(cty.Bool, depth) + " ? " + x.of(ty, depth) + " : " + x.of(ty, depth) + ")"
	case n > 3: // a call
	case ty == cty.String && n == 2:
		return `"%{ for x in ` + list() + " }${" + x.among("x", "jsonencode(x)", "local.huge", text()) + `}%{ endfor }"`
	case ty == cty.String:
		return `"${` + text() + "}${" + text() + `}"`
	case ty == cty.Number:
		return "(" + number() + " " + x.among("+", "-", "*", "/", "%") + " " + number() + ")"
	case ty == cty.Bool:
		return "(" + any() + " " + x.among("==", "!=") + " " + any() + ")"
	default:
		return x.loop(list, any, text, number)
	}
	if !ty.IsPrimitiveType() {
		ty = cty.DynamicPseudoType
	}
	name := x.among(x.give[ty]...)
	var args []string
	for _, ty := range x.calls[name] {
		args = append(args, x.of(ty, depth))
	}
	if ty, ok := x.free[name]; ok {
		for range 1 + x.IntN(3) {
			args = append(args, x.of(ty, depth))
		}
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

// loop returns an expression that is a collection or an element of one.
func (x *extremes) loop(list, any, text, number func() string) string {
	switch x.IntN(5) {
	case 0:
		return "[for x in " + list() + " : " + x.among("x", "[x, x]", "local.huge", "jsonencode([x, x])", any()) + "]"
	case 1:
		return "{ for k, v in " + list() + " : " + x.among("k", "jsonencode(v)", `"${k}"`, text()) + " => v" +
			x.among("", "...") + " }"
	case 2:
		return list() + "[" + x.among(number(), text(), "*") + "]"
	case 3:
		return "{ a = " + any() + ", (" + text() + ") = " + any() + " }"
	}
	return "[" + any() + ", " + any() + ", " + any() + "]"
}

// extremeLocals are the values that expressions refer to.
const extremeLocals = `locals {
  huge     = join("", [for i in range(1024) : format("%01024d", i)])
  lines    = join("\n", [for i in range(1024) : format("%0100d", i)])
  digits   = format("%0100000d", 1)
  brackets = replace(format("%020000d", 0), "0", "[")
  braces   = replace(format("%020000d", 0), "0", "{\"a\":")
  dashes   = replace(format("%020000d", 0), "0", "- ")
  commas   = replace(format("%0100000d", 0), "0", "a,")
  percents = replace(format("%010000d", 0), "0", "%s")
  parens   = replace(format("%010000d", 0), "0", "(")
  aliases  = join("\n", concat(["a0: &a0 [x, x]"], [for i in range(60) : "a${i + 1}: &a${i + 1} [*a${i}, *a${i}]"]))
  wide     = range(1024)
  grid     = [for i in range(100) : range(100)]
  deep     = jsondecode("${replace(format("%0400d", 0), "0", "[")}${replace(format("%0400d", 0), "0", "]")}")
  names    = { for i in range(1000) : "k${i}" => i }
  huges    = [for i in range(200) : local.huge]
  texts    = [for i in range(1000) : "t${i}"]
  d0       = ["x", "x"]
DOUBLINGS
  doubled  = local.d40
}
output "o" {
  value     = EXPRESSION
  sensitive = true
}
`

func extremeConfig(expression string) string {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "  d%d = [local.d%d, local.d%d]\n", i+1, i, i)
	}
	locals := strings.NewReplacer("DOUBLINGS\n", b.String(), "EXPRESSION", expression)
	if !strings.Contains(expression, "doubled") {
		locals = strings.NewReplacer("DOUBLINGS\n", "", "local.d40", "null", "EXPRESSION", expression)
	}
	return locals.Replace(extremeLocals)
}

// TestExtremeArgumentsAreBounded evaluates expressions of random calls with extreme arguments, each in its own process,
// and interrupts slow ones. Each must end with a value or an error that states the problem, within limits of memory and
// of time after an interrupt. TOMBOLO_EXTREMES=n-m selects the seeds.
func TestExtremeArgumentsAreBounded(t *testing.T) {
	from, to := uint64(0), uint64(12)
	if _, err := fmt.Sscanf(os.Getenv("TOMBOLO_EXTREMES"), "%d-%d", &from, &to); err != nil && testing.Short() {
		to = 4
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "tombolo")
	if err := os.Symlink(exe, program); err != nil {
		t.Skip("needs a system with symbolic links: ", err)
	}
	for seed := from; seed < to; seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			expression := newExtremes(seed).compound(cty.DynamicPseudoType, 3)
			dir := t.TempDir()
			config := []byte(extremeConfig(expression))
			if err := os.WriteFile(filepath.Join(dir, "main.tf"), config, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := programtest.Bounded(t, program, "plan", "-no-color", "-out=p")
			cmd.Dir, cmd.Env = dir, programtest.Environ("HOME="+dir, "GOTRACEBACK=single")
			r := endure(t, cmd)
			if len(expression) > 500 {
				expression = expression[:500] + "…"
			}
			for _, word := range []string{"panic", "goroutine", "fatal error", "internal error", "bug"} {
				if strings.Contains(r.out, word) {
					t.Errorf("%s:\n%.3000s", expression, r.out)
					break
				}
			}
			if r.code != 0 && r.code != 1 || r.code == 1 && !strings.Contains(r.out, "Error: ") && !r.interrupted ||
				r.megabyte > extremeMemory {
				t.Errorf("%s: exit code %d after %s, %d MB:\n%.3000s", expression, r.code, r.took, r.megabyte, r.out)
			}
			t.Logf("%d MB, %s, code %d: %s", r.megabyte, r.took, r.code, expression)
		})
	}
}

const (
	// extremeMemory is the maximum memory of an expression in megabytes, several times the limits of 256 MiB of text
	// and 2^24 elements.
	extremeMemory = 4000
	// An expression is interrupted after extremeWork of CPU time, and must end within extremePatience more. CPU time
	// excludes other processes of the machine.
	extremeWork, extremePatience = 10 * time.Second, 20 * time.Second
)

// endured is the result of a process that may be slow.
type endured struct {
	code        int
	out         string // both streams
	took        time.Duration
	megabyte    int64 // maximum memory
	interrupted bool
}

// endure runs a command, interrupts it twice after a while, and kills it if it uses too much memory or ignores the
// interrupts.
func endure(t *testing.T, cmd *exec.Cmd) endured {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var e endured
	for signals := 0; ; {
		select {
		case <-ended:
			e.code, e.out = cmd.ProcessState.ExitCode(), out.String()
			e.took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			return e
		case <-time.After(20 * time.Millisecond):
		}
		e.megabyte = max(e.megabyte, resident(cmd.Process.Pid))
		work := worked(cmd.Process.Pid)
		if e.megabyte > extremeMemory || work > extremeWork+extremePatience {
			_ = cmd.Process.Kill()
		}
		if signals < 2 && work > extremeWork+time.Duration(signals)*time.Second {
			e.interrupted = true
			signals++
			_ = cmd.Process.Signal(syscall.SIGINT)
		}
	}
}

// worked returns the CPU time of a process, or 0 without /proc.
func worked(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if err != nil || len(fields) < 13 {
		return 0
	}
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		return 0
	}
	return time.Duration(user+system) * time.Second / 100 // the unit is documented in proc(5)
}

// resident returns the resident memory of a process in megabytes, or 0 without /proc.
func resident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var total, held int64
	if _, err := fmt.Sscan(string(text), &total, &held); err != nil {
		return 0
	}
	return held * int64(os.Getpagesize()) >> 20
}
