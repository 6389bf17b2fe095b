package planning_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/builtin"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/host"
	"github.com/tombolo-iac/tombolo/internal/planning"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

func TestSmoke(t *testing.T) {
	dir := os.Getenv("SMOKE")
	if dir == "" {
		t.Skip()
	}
	ctx := context.Background()
	start := time.Now()
	cfg, diags := config.Load(ctx, config.Options{Dir: dir, LanguageVersion: "1.11.4"})
	for _, d := range diags {
		t.Log(d)
	}
	fmt.Println("load", time.Since(start))
	reg := host.NewRegistry(map[addr.Provider]provider.Factory{addr.BuiltinProvider("terraform"): func(context.Context) (provider.Provider, error) { return builtin.New(builtin.Options{}), nil }})
	prog, diags := eval.New(cfg, reg)
	for _, d := range diags {
		t.Log(d)
	}
	fmt.Println("new", time.Since(start))
	if diags.HasErrors() {
		return
	}
	p, diags := planning.Run(ctx, ctx, prog, nil, reg.NewPool(), planning.Options{Functions: funcs.Table(funcs.Options{Pure: true}), Events: event.Discard, Parallelism: 10, Now: time.Now(),
		DeposedKey: func() addr.DeposedKey { return "00000000" }})
	for _, d := range diags {
		t.Log(d)
	}
	fmt.Println("plan", time.Since(start), p.Summary())
	for _, c := range p.Changes[:min(len(p.Changes), 5)] {
		fmt.Println(c.Object, c.Action, c.Reason, c.After.Value.GoString()[:100])
	}
	for _, s := range p.Steps[:min(len(p.Steps), 5)] {
		fmt.Println(s.Kind, s.Resource, s.After, len(s.Changes))
	}
	_ = plan.Normal
}
