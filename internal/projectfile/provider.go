package projectfile

import (
	"regexp"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/patience"
)

// Provider is a provider block, of which there may be several.
type Provider struct {
	Source    string   `hcl:"source,label"`
	AtOnce    *int     `hcl:"calls_at_once,optional" doc:"the maximum number of concurrent calls"`
	PerSecond *float64 `hcl:"calls_per_second,optional" doc:"the maximum number of calls that begin per second"`
	Retry     *Retry   `hcl:"retry,block" doc:"which failed calls are retried"`
	Types     []Type   `hcl:"type,block" doc:"the same for one type; limits apply in addition to the provider's"`

	SourceRange    hcl.Range `hcl:"source,label_range"`
	AtOnceRange    hcl.Range `hcl:"calls_at_once,attr_value_range"`
	PerSecondRange hcl.Range `hcl:"calls_per_second,attr_value_range"`
}

// Type is a type block within a provider block.
type Type struct {
	Name      string   `hcl:"name,label"`
	AtOnce    *int     `hcl:"calls_at_once,optional" doc:"the maximum number of concurrent calls"`
	PerSecond *float64 `hcl:"calls_per_second,optional" doc:"the maximum number of calls that begin per second"`
	Retry     *Retry   `hcl:"retry,block" doc:"which failed calls are retried"`

	NameRange      hcl.Range `hcl:"name,label_range"`
	AtOnceRange    hcl.Range `hcl:"calls_at_once,attr_value_range"`
	PerSecondRange hcl.Range `hcl:"calls_per_second,attr_value_range"`
}

// Retry is a retry block within a provider or type block.
type Retry struct {
	Errors   []string `hcl:"errors,optional" doc:"expressions for errors after which all but creations are retried"`
	Refusals []string `hcl:"refusals,optional" doc:"the same for errors that prove nothing was done: creations, too"`
	Attempts *int     `hcl:"attempts,optional" doc:"the maximum number of attempts, 10 unless set"`
	Wait     string   `hcl:"wait,optional" doc:"the time before the second attempt, 1s unless set; it doubles"`
	MaxWait  string   `hcl:"max_wait,optional" doc:"the longest time between attempts, 1m unless set"`

	ErrorsRange   hcl.Range `hcl:"errors,attr_value_range"`
	RefusalsRange hcl.Range `hcl:"refusals,attr_value_range"`
	AttemptsRange hcl.Range `hcl:"attempts,attr_value_range"`
	WaitRange     hcl.Range `hcl:"wait,attr_value_range"`
	MaxWaitRange  hcl.Range `hcl:"max_wait,attr_value_range"`
}

// Patience returns how providers are called. registry is the host of sources without one.
func (f File) Patience(registry string) patience.Policy {
	policy := patience.Policy{}
	for _, p := range f.Providers {
		a, err := addr.ParseProviderIn(p.Source, registry)
		if err != nil {
			continue // validated with another registry
		}
		rules := patience.Rules{Limit: limit(p.AtOnce, p.PerSecond), Retry: p.Retry.rules(),
			Types: map[string]patience.Rules{}}
		for _, t := range p.Types {
			rules.Types[t.Name] = patience.Rules{Limit: limit(t.AtOnce, t.PerSecond), Retry: t.Retry.rules()}
		}
		policy[a] = rules
	}
	return policy
}

func limit(atOnce *int, perSecond *float64) (l patience.Limit) {
	if atOnce != nil {
		l.AtOnce = *atOnce
	}
	if perSecond != nil {
		l.PerSecond = *perSecond
	}
	return l
}

// rules returns a checked block as rules, or nil for nil.
func (r *Retry) rules() *patience.Retry {
	if r == nil {
		return nil
	}
	out := &patience.Retry{Errors: expressions(r.Errors), Refusals: expressions(r.Refusals)}
	if r.Attempts != nil {
		out.Attempts = *r.Attempts
	}
	out.Wait, _ = time.ParseDuration(r.Wait)
	out.MaxWait, _ = time.ParseDuration(r.MaxWait)
	return out
}

func expressions(list []string) (out []*regexp.Regexp) {
	for _, text := range list {
		if re, err := regexp.Compile(text); err == nil {
			out = append(out, re)
		}
	}
	return out
}

// checkProviders reports problems of provider blocks.
func (f File) checkProviders() (diags diag.List) {
	seen := map[string]bool{}
	for _, p := range f.Providers {
		_, err := addr.ParseProvider(p.Source)
		switch {
		case err != nil:
			diags = diags.Errorf(&p.SourceRange, "Invalid source of a provider", "%s.", err)
		case seen[p.Source]:
			diags = diags.Errorf(&p.SourceRange, "Duplicate provider", "There is a block for %q already.", p.Source)
		}
		seen[p.Source] = true
		diags = diags.Extend(checkLimit(p.AtOnce, p.PerSecond, p.AtOnceRange, p.PerSecondRange)).
			Extend(p.Retry.check())
		types := map[string]bool{}
		for _, t := range p.Types {
			if types[t.Name] {
				diags = diags.Errorf(&t.NameRange, "Duplicate type", "There is a block for %q already.", t.Name)
			}
			types[t.Name] = true
			diags = diags.Extend(checkLimit(t.AtOnce, t.PerSecond, t.AtOnceRange, t.PerSecondRange)).
				Extend(t.Retry.check())
		}
	}
	return diags
}

func checkLimit(atOnce *int, perSecond *float64, atOnceRange, perSecondRange hcl.Range) (diags diag.List) {
	if atOnce != nil && *atOnce < 1 {
		diags = diags.Errorf(&atOnceRange, "Invalid limit", "calls_at_once is %d. Expected 1 or more.", *atOnce)
	}
	if perSecond != nil && (*perSecond < 0.001 || *perSecond > 1e6) {
		diags = diags.Errorf(&perSecondRange, "Invalid limit", "calls_per_second is %v. Expected a number from 0.001 "+
			"to 1000000.", *perSecond)
	}
	return diags
}

func (r *Retry) check() (diags diag.List) {
	if r == nil {
		return nil
	}
	if r.Attempts != nil && (*r.Attempts < 1 || *r.Attempts > 1000) {
		diags = diags.Errorf(&r.AttemptsRange, "Invalid number of attempts", "attempts is %d. Expected a number from "+
			"1 to 1000; 1 means no retries.", *r.Attempts)
	}
	diags = diags.Extend(checkDuration("wait", r.Wait, r.WaitRange)).
		Extend(checkDuration("max_wait", r.MaxWait, r.MaxWaitRange))
	return diags.Extend(checkExpressions("errors", r.Errors, r.ErrorsRange)).
		Extend(checkExpressions("refusals", r.Refusals, r.RefusalsRange))
}

func checkExpressions(name string, list []string, at hcl.Range) (diags diag.List) {
	for _, text := range list {
		if _, err := regexp.Compile(text); err != nil || text == "" {
			diags = diags.Errorf(&at, "Invalid regular expression", "%s has %q, which is empty or not a valid "+
				"regular expression (see the function regex).", name, text)
		}
	}
	return diags
}
