//go:build unix

package plugged

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/internal/wire/handshake"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
	"github.com/tombolo-iac/tombolo/internal/wire/rpc"
	"github.com/tombolo-iac/tombolo/internal/world"
	"github.com/tombolo-iac/tombolo/provider"
)

// badName is the name under which the test binary is a plugin that misbehaves as the variable BAD selects. Its process
// and the processes that it leaves running append their ids to the file PIDS.
const badName = "terraform-provider-bad"

func init() { roles[badName] = badPlugin }

func badPlugin() {
	notePID(os.Getpid())
	switch os.Getenv("BAD") {
	case "start-panic":
		panic("no licence")
	case "start-words":
		fmt.Println("This provider needs python3, which is not installed.")
		os.Exit(1)
	case "start-escape":
		fmt.Printf("\x1b[2J\x1b]0;title\x07gone\r\u009b31m\u202e\n")
		syscall.Write(2, []byte("\x1b[2Jred\n"))
		os.Exit(1)
	case "start-plain":
		fmt.Println("1|6|tcp|127.0.0.1:1|grpc|")
		time.Sleep(time.Minute)
	case "start-old":
		fmt.Println("1|4|tcp|127.0.0.1:1|grpc|" + strings.Repeat("A", 100))
		time.Sleep(time.Minute)
	case "start-flood":
		for {
			fmt.Print(strings.Repeat("x", 1<<16))
		}
	}
	version := 6
	if os.Getenv("BAD_PROTOCOL") == "5" {
		version = 5
	}
	server, err := wire.NewServer(func(context.Context) (provider.Provider, error) {
		sane := world.New(world.Options{Five: true})
		if call, ok := strings.CutPrefix(os.Getenv("BAD"), "deferred-"); ok {
			return deferring{sane, call}, nil
		}
		if os.Getenv("BAD") == "tell" {
			return repeater{sane}, nil
		}
		return &bad{Provider: sane, mode: os.Getenv("BAD")}, nil
	}, version)
	if err != nil {
		panic(err)
	}
	if err := handshake.Serve(context.Background(), &handshake.Options{
		Servers: map[int]*wire.Server{version: server},
		Server:  rpc.Server{MaxRequest: 1 << 30, Around: answerNonsense},
	}); err != nil {
		panic(err)
	}
	if os.Getenv("BAD") == "deaf" {
		select {} // it continues when told to shut down
	}
}

func notePID(pid int) {
	f, err := os.OpenFile(os.Getenv("PIDS"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, pid)
}

// answerNonsense replaces the responses to calls for the object "bad".
func answerNonsense(ctx context.Context, _ string, req proto.Message, handle func(context.Context,
	proto.Message) (proto.Message, error)) (proto.Message, error) {
	if nonsense := nonsenseOnce(req); nonsense != nil {
		return nonsense, nil
	}
	in, ok := req.(*plugin6.ApplyRequest)
	if !ok || !strings.Contains(string(in.GetPlanned().GetMsgpack()), "name\xa3bad") {
		return handle(ctx, req)
	}
	switch os.Getenv("BAD") {
	case "nothing":
		return &plugin6.ApplyResponse{}, nil
	case "garbage":
		return &plugin6.ApplyResponse{State: &plugin6.DynamicValue{Msgpack: []byte("\xdf\xff\xff\xff\xff\xc1garbage")}},
			nil
	case "other-message":
		// Text in place of a message.
		return &plugin6.CallRequest{Name: "\x00\xff\xff\xff"}, nil
	case "huge":
		return &plugin6.ApplyResponse{State: &plugin6.DynamicValue{Msgpack: make([]byte, 100<<20)}}, nil
	case "too-huge":
		return &plugin6.ApplyResponse{Private: make([]byte, wire.MaxMessage+1)}, nil
	}
	return handle(ctx, req)
}

// nonsenseOnce replaces the responses to calls before the first apply.
func nonsenseOnce(req proto.Message) proto.Message {
	switch req.(type) {
	case *plugin6.UpgradeStateRequest:
		if os.Getenv("BAD") == "upgrade-nothing" {
			return &plugin6.UpgradeStateResponse{}
		}
	case *plugin6.PlanRequest:
		switch os.Getenv("BAD") {
		case "plan-problems":
			list := make([]*plugin6.Diagnostic, 100_000)
			for i := range list {
				list[i] = &plugin6.Diagnostic{Severity: plugin6.Diagnostic_ERROR, Summary: "One of many"}
			}
			return &plugin6.PlanResponse{Diagnostics: list}
		case "plan-long-problem":
			return &plugin6.PlanResponse{Diagnostics: []*plugin6.Diagnostic{
				{Severity: plugin6.Diagnostic_ERROR, Summary: "One long", Detail: strings.Repeat("x", 20<<20)}}}
		case "plan-infinite":
			return &plugin6.PlanResponse{Planned: &plugin6.DynamicValue{
				Msgpack: []byte("\x81\xa4size\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00")}}
		}
	}
	return nil
}

// bad is a provider that misbehaves for the object "bad".
type bad struct {
	provider.Provider
	mode string
}

func (b *bad) Schema(ctx context.Context) (*provider.Schema, diag.List) {
	switch b.mode {
	case "schema-panic":
		go panic("no schema")
		select {}
	case "schema-hang":
		if err := os.WriteFile(os.Getenv("PIDS")+".hung", []byte("schema"), 0o666); err != nil {
			panic(err)
		}
		<-ctx.Done()
		return nil, diag.FromError("Ended", ctx.Err())
	case "schema-exit":
		os.Exit(7)
	case "schema-words":
		return nil, diag.List{}.Errorf(nil, "Licence expired", "There is a new one in the shop.")
	case "schema-control":
		s, diags := b.Provider.Schema(ctx)
		changed := *s
		attributes := maps.Clone(s.Resources["world_object"].Block.Attributes)
		attributes["a\x1b[2Jb"] = &provider.Attribute{Type: cty.String, Optional: true}
		changed.Resources = map[string]*provider.ResourceType{"world_object": {
			Block: &provider.Block{Attributes: attributes}}}
		return &changed, diags
	case "schema-version":
		s, diags := b.Provider.Schema(ctx)
		changed, old := *s, *s.Resources["world_object"]
		old.Version = -5
		changed.Resources = map[string]*provider.ResourceType{"world_object": &old}
		return &changed, diags
	}
	return b.Provider.Schema(ctx)
}

func (b *bad) Configure(ctx context.Context, req provider.ConfigureRequest) provider.ConfigureResponse {
	if b.mode == "configure-exit" {
		os.Exit(7)
	}
	return b.Provider.Configure(ctx, req)
}

func (b *bad) Plan(ctx context.Context, req provider.PlanRequest) provider.PlanResponse {
	if b.mode == "plan-panic" && !req.Proposed.IsNull() && req.Proposed.GetAttr("name").AsString() == "bad" {
		go panic("no plan")
		select {}
	}
	return b.Provider.Plan(ctx, req)
}

func (b *bad) Apply(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if req.Planned.IsNull() || req.Planned.GetAttr("name").AsString() != "bad" {
		return b.Provider.Apply(ctx, req)
	}
	othersBegun()
	switch b.mode {
	case "apply-panic":
		go panic("assignment to entry in nil map")
		select {}
	case "apply-exit":
		syscall.Write(2, []byte("cannot go on: the disk is on fire\n")) // os.Stderr is the library's
		os.Exit(3)
	case "apply-killed":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "kill-others":
		text, _ := os.ReadFile(os.Getenv("PIDS"))
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil && pid != os.Getpid() {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	case "apply-hang":
		if err := os.WriteFile(os.Getenv("PIDS")+".hung", []byte("bad"), 0o666); err != nil {
			panic(err)
		}
		select {}
	case "flood":
		chunk := []byte(strings.Repeat("x", 1<<20-1) + "\n")
		for range 100 {
			os.Stdout.Write(chunk)
			os.Stderr.Write(chunk)
		}
	case "flood-endless-line":
		chunk := []byte(strings.Repeat("x", 1<<20))
		for range 100 {
			os.Stdout.Write(chunk)
			os.Stderr.Write(chunk)
		}
	case "talk":
		secret := req.Config.GetAttr("secret").AsString()
		for _, line := range []string{
			`{"@level":"warn","@message":"as warned, with ` + secret + `","@module":"m","key":"` + secret +
				`","list":["` + secret + `"]}`,
			`{"@level":"debug","@message":"as debug"}`,
			"[ERROR] as text " + secret,
			"plain " + secret,
		} {
			syscall.Write(2, []byte(line+"\n"))
		}
		fmt.Println("over the connection", secret)
		if req.Planned.GetAttr("value").AsString() == "crash" {
			time.Sleep(100 * time.Millisecond)
			go panic("with " + secret)
			select {}
		}
	case "escape":
		syscall.Write(2,
			[]byte("\x1b[2Jon stderr \u009b31m \u202e\n"+
				"{\"@level\":\"info\",\"@message\":\"m\",\"k\":\"\u009b\u202e\"}\n"))
		return provider.ApplyResponse{
			Diagnostics: diag.List{}.Errorf(nil, "Clear \x1b[2J", "The \x1b]0;title\x07 screen \u009b31m \u202e.\r")}
	case "big":
		resp := b.Provider.Apply(ctx, req)
		vals := resp.State.AsValueMap()
		vals["id"] = cty.StringVal(strings.Repeat("x", 20<<20))
		resp.State = cty.ObjectVal(vals)
		return resp
	case "stdin":
		text, err := io.ReadAll(os.Stdin)
		if len(text) > 0 || err != nil {
			return provider.ApplyResponse{Diagnostics: diag.List{}.Errorf(nil, "Standard input", "It holds %q, %v",
				text, err)}
		}
	case "remove-state":
		removeState()
	case "problems":
		return provider.ApplyResponse{State: req.Prior, Diagnostics: slices.Repeat(diag.List{}.Errorf(nil,
			"One of many", "The same once more."), manyProblems)}
	case "grandchild":
		leave(exec.Command("sleep", "600"))
	case "daemon":
		cmd := exec.Command("sleep", "600")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		leave(cmd)
	}
	return b.Provider.Apply(ctx, req)
}

func (b *bad) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, error) {
	if b.mode == "function-changes" {
		return cty.StringVal(fmt.Sprint("call ", os.Getpid(), time.Now())), nil
	}
	return b.Provider.CallFunction(ctx, name, args)
}

// manyProblems is the number of diagnostics in a response with very many.
const manyProblems = 50_000

// removeState removes all files of the state, like git clean.
func removeState() {
	names, err := filepath.Glob("*tfstate*")
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		if err := os.RemoveAll(name); err != nil {
			panic(err)
		}
	}
}

// othersBegun waits, up to a minute, until the creation of OTHERS slow objects has begun.
func othersBegun() {
	want, _ := strconv.Atoi(os.Getenv("OTHERS")) // 0 if it is not set
	for range 6000 {
		if text, _ := os.ReadFile("w/ledger"); strings.Count(string(text), strings.TrimSuffix(begun("slow"),
			`"`)) >= want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func leave(cmd *exec.Cmd) {
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	notePID(cmd.Process.Pid)
}
