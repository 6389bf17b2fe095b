package schematest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/world"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// planet is a remote system for tests, and a case with it.
type planet struct {
	t     *testing.T
	world *world.World
	dir   string
}

func newPlanet(t *testing.T) *planet {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "world")
	w, err := world.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return &planet{t, w, dir}
}

func (p *planet) of(steps ...Step) Case {
	return Case{New: world.Factory(world.Options{Dir: p.dir}), Source: "tombolo/world", Steps: steps,
		CheckDestroyed: func() error {
			left, err := p.world.Exists()
			if err == nil && len(left) > 0 {
				err = fmt.Errorf("%d objects are left, the first is %s", len(left), left[0].Name)
			}
			return err
		}}
}

// fails runs a case in process, which must fail.
func (p *planet) fails(c Case) string {
	p.t.Helper()
	source, err := c.prepare()
	if err == nil {
		err = c.steps(context.Background(), newLibrary(source, c.New), p.t.TempDir())
	}
	if err == nil {
		p.t.Error("the case succeeds")
		return ""
	}
	return err.Error()
}

func object(name, more string) string {
	return fmt.Sprintf("resource \"world_object\" %q {\n  name = %q\n%s\n}\n", name, name, more)
}

// dry is a check block that warns.
const dry = "locals {\n  rain = \"no\"\n}\ncheck \"rain\" {\n  assert {\n    condition     = local.rain == \"yes\"\n " +
	"   error_message = \"it is dry\"\n  }\n}\n"

// change changes an object outside of the provider.
func (p *planet) change(name string, change func(*world.Object)) func() error {
	return func() error {
		all, err := p.world.Exists()
		if err != nil {
			return err
		}
		for _, o := range all {
			if o.Name == name {
				return p.world.Change(o.ID, change)
			}
		}
		return errors.New("there is no " + name)
	}
}

func TestStepsCoverTheLifecycleOfAnObject(t *testing.T) {
	t.Parallel()
	p := newPlanet(t)
	var id any
	c := p.of(
		Step{
			Config: object("a", `size = 1`), PlanOnly: true, Plan: Actions{"world_object.a": Create},
			CheckPlan: AllPlanned(PlannedUnknown("world_object.a", "id"), Planned("world_object.a", "size", 1)),
			Check:     Gone("world_object.a"),
		},
		Step{
			Config: object("a", "size = 1\ntags = { \"x.y\" = \"z\" }") + `output "id" { value = world_object.a.id }`,
			Check: All(Exists("world_object.a"), Attr("world_object.a", "tags.x.y", "z"),
				Attr("world_object.a", "tags.%", 1), Attr("world_object.a", "size", 1),
				Set("world_object.a", "id", "revision"), Absent("world_object.a", "secret", "none"),
				Capture("world_object.a", "id", &id), Output("id", &id), Output("id", regexp.MustCompile("^a-")),
				Attr("world_object.a", "tags", Unordered{}).not(), Attr("world_object.a", "revision", 1.0)),
		},
		Step{EmptyPlan: true, Plan: Actions{}},
		Step{Import: &Import{Address: "world_object.a", Ignore: []string{"behave"}}},
		Step{Name: "update", Config: object("a", `size = 2`), Plan: Actions{"world_object.a": Update},
			Check: All(Attr("world_object.a", "id", &id), Attr("world_object.a", "revision", 2),
				Absent("world_object.a", "tags"))},
		Step{Name: "drift", Before: p.change("a", func(o *world.Object) { o.Size = "7" }), Refresh: true,
			CheckPlan: Drifted("world_object.a"), Check: Attr("world_object.a", "size", 7)},
		Step{Name: "repair", Plan: Actions{"world_object.a": Update}, Check: Attr("world_object.a", "size", 2)},
		Step{Name: "failure", Config: object("a", "size = 3\nbehave = { fail = \"update\" }"), Error: "told to fail",
			Check: Attr("world_object.a", "size", 2)},
		Step{Name: "half", Config: object("a", "size = 2") + object("b", "behave = { half = \"error\" }"),
			Error: `"b" was created, but not finished`, Check: All(Tainted("world_object.b"),
				Exists("world_object.a"))},
		Step{Config: object("a", "size = 2"), Plan: Actions{"world_object.b": Delete}, Check: Gone("world_object.b")},
		Step{Config: object("a", "size = 2") + dry, Warning: "Check block assertion failed.* it is dry",
			EmptyPlan: true},
		Step{Config: object("a", "size = 2"), EmptyPlan: true},
		Step{Destroy: true, Plan: Actions{"world_object.a": Delete}, Check: Gone("world_object.a")},
		Step{Config: object("c", ""), Check: Exists("world_object.c")},
	)
	c.Programs = []string{"terraform"}
	Run(t, c)
}

// not inverts a check, to detect a check that cannot fail.
func (c Check) not() Check {
	return func(s *State) error {
		if c(s) == nil {
			return errors.New("a check succeeds that must not")
		}
		return nil
	}
}

func TestFailuresReportActualAndExpectedValues(t *testing.T) {
	t.Parallel()
	a := object("a", "size = 1\nsecret = \"hunter2\"")
	for name, c := range map[string]struct {
		steps []Step
		want  []string
	}{
		"value": {[]Step{{Name: "first", Config: a, Check: Attr("world_object.a", "size", "2")}}, []string{
			`step 1 (first), in process: world_object.a: size is 1, expected "2"`, "The plan:"}},
		"several": {
			[]Step{{Config: a, Check: All(Attr("world_object.a", "size", "2"), Set("world_object.a", "tags"))}},
			[]string{"size is", "world_object.a: tags has no value"}},
		"secret": {[]Step{{Config: a, Check: Attr("world_object.a", "secret", "x")}}, []string{
			"secret, which is sensitive, is not as expected"}},
		"secret, absent": {[]Step{{Config: a, Check: Absent("world_object.a", "secret")}}, []string{
			"has a sensitive value, expected none"}},
		"no attribute": {[]Step{{Config: a, Check: Attr("world_object.a", "sise", "2")}}, []string{
			"there is no sise", "size"}},
		"no object": {[]Step{{Config: a, Check: Exists("world_object.b")}}, []string{
			"there is no world_object.b in the state, which has world_object.a"}},
		"object": {[]Step{{Config: a, Check: Gone("world_object.a")}}, []string{
			"world_object.a is in the state"}},
		"output": {[]Step{{Config: a + `output "x" { value = 1 }`, Check: Output("x", 2)}}, []string{
			"output x is 1, expected 2"}},
		"no output": {[]Step{{Config: a, Check: Output("x", 2)}}, []string{"there is no output x"}},
		"pattern": {[]Step{{Config: a, Check: Attr("world_object.a", "name", regexp.MustCompile("^b"))}},
			[]string{`name is "a", expected a text that matches "^b"`}},
		"action": {[]Step{{Config: a, Plan: Actions{"world_object.a": Update}}}, []string{
			`the plan for world_object.a is "create", expected "update"`, "will be created"}},
		"missing action": {[]Step{{Config: a, Plan: Actions{}}}, []string{
			`the plan for world_object.a is "create", expected nothing`}},
		"not empty": {[]Step{{Config: a, EmptyPlan: true}}, []string{
			"the plan is not empty: create world_object.a"}},
		"planned": {[]Step{{Config: a, CheckPlan: Planned("world_object.a", "size", "2")}}, []string{
			`size is planned as 1, expected "2"`}},
		"unknown": {[]Step{{Config: a, CheckPlan: Planned("world_object.a", "id", "2")}}, []string{
			"id is not known before apply"}},
		"known": {[]Step{{Config: a, CheckPlan: PlannedUnknown("world_object.a", "size")}}, []string{
			`size is planned as 1`}},
		"no drift": {[]Step{{Config: a, CheckPlan: Drifted("world_object.a")}}, []string{
			"changed outside are nothing, expected world_object.a"}},
		"error": {[]Step{{Config: object("a", `behave = { fail = "create" }`)}}, []string{
			"step 1, in process", "told to fail", "world_object.a"}},
		"no error": {[]Step{{Config: a, Error: "told"}}, []string{
			`there is no error, expected one that matches "told"`}},
		"another error": {[]Step{{Config: object("a", `behave = { fail = "create" }`), Error: "tolled"}}, []string{
			`does not match "tolled"`, "told to fail"}},
		"no warning": {[]Step{{Config: a, Warning: "Deprecated"}}, []string{
			`there is no warning, expected one that matches "Deprecated"`}},
		"another warning": {[]Step{{Config: a + dry, Warning: "rain"}}, []string{`the warnings do not match "rain"`,
			"it is dry"}},
		"before": {[]Step{{Config: a, Before: func() error { return errors.New("no power") }}}, []string{
			"in Before: no power"}},
		"configuration": {[]Step{{Config: "resource"}}, []string{"step 1", "main.tf line 1"}},
		"never done": {[]Step{{Config: `resource "world_object" "a" { name = timestamp() }`}}, []string{
			"the plan after applying is not empty", "world_object.a"}},
		"import of none": {[]Step{{Config: a}, {Import: &Import{Address: "world_object.b"}}}, []string{
			"there is no world_object.b to import"}},
		"import that fails": {[]Step{{Config: a}, {Import: &Import{Address: "world_object.a", ID: "zz"}}}, []string{
			"step 2", "zz"}},
		"import that differs": {[]Step{{Config: a + object("b", "size = 2"), Check: func(*State) error { return nil }},
			{Import: &Import{Address: "world_object.a", ID: "b-1"}}},
			[]string{`world_object.a imported as "b-1" differs`, `name is "b", expected "a"`, `size is 2, expected 1`}},
		"a mistake after objects": {[]Step{{Config: a}, {Config: a + "resource"}}, []string{
			"step 2, in process", "main.tf line 6", "resource"}},
		"two things at once": {[]Step{{Config: a, Refresh: true, Destroy: true}}, []string{
			"step 1: at most one of"}},
		"pattern that is none": {[]Step{{Config: a, Error: "("}}, []string{"missing closing"}},
		"no configuration":     {[]Step{{}}, []string{"the first step has no configuration"}},
		"no steps":             {nil, []string{"no steps"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlanet(t)
			text := p.fails(p.of(c.steps...))
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("there is no %q in:\n%s", want, text)
				}
			}
			if strings.Contains(text, "hunter2") {
				t.Errorf("a secret is shown:\n%s", text)
			}
			if left, _ := p.world.Exists(); len(left) > 0 {
				t.Errorf("%d objects are left", len(left))
			}
		})
	}
}

// A description needs no provider address as long as hosts start the provider.
func TestProviderAddressDefaultsToItsTypes(t *testing.T) {
	types := func(names ...string) map[string]*schema.Resource {
		m := map[string]*schema.Resource{}
		for _, name := range names {
			m[name] = &schema.Resource{
				Create: func(d *schema.ResourceData, _ interface{}) error { d.SetId("1"); return nil },
				Read:   schema.Noop, Delete: schema.Noop, Schema: map[string]*schema.Schema{},
			}
		}
		return m
	}
	Run(t, Case{
		Provider: func() *schema.Provider {
			return &schema.Provider{ResourcesMap: types("compute_address", "compute_disk")}
		},
		Steps: []Step{{Config: `resource "compute_disk" "a" {}`, Check: Attr("compute_disk.a", "id", "1")}},
	})
	for _, c := range []Case{
		{Provider: func() *schema.Provider { return &schema.Provider{} }},
		{New: world.Factory(world.Options{})},
	} {
		if _, err := c.prepare(); err == nil || !strings.Contains(err.Error(),
			`no Address; set it, or Source of the case`) {
			t.Errorf("without any type: %v", err)
		}
	}
}

func TestLeftoversAfterDestructionFail(t *testing.T) {
	t.Parallel()
	p := newPlanet(t)
	c := p.of(Step{Config: object("a", ""), Before: func() error {
		_, err := p.world.Create(world.Object{Name: "stray"})
		return err
	}})
	if text := p.fails(c); !strings.Contains(text,
		"after everything was destroyed: 1 objects are left, the first is stray") {
		t.Error(text)
	}
}

func TestCaseFilesAreWritten(t *testing.T) {
	t.Parallel()
	p := newPlanet(t)
	c := p.of(Step{
		Config: "module \"m\" {\n  source = \"./m\"\n}\noutput \"text\" {\n  value = file(\"m/text\")\n}\n",
		Check:  All(Exists("module.m.world_object.a"), Output("text", "hello")),
	}, Step{Import: &Import{Address: "module.m.world_object.a"}})
	source, err := c.prepare()
	if err != nil {
		t.Fatal(err)
	}
	c.Files = map[string]string{"m/main.tf": header(source) + object("a", ""), "m/text": "hello"}
	c.Programs = []string{"terraform"}
	Run(t, c)
}

func TestLookupFollowsPaths(t *testing.T) {
	t.Parallel()
	v, err := normalized(map[string]any{"a.b": map[string]any{"c": []any{1, map[string]any{"d": nil}}},
		"a": map[string]any{"x": true}})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"a.b.c.0": "1", "a.b.c.#": "2", "a.b.c.1.d": "null", "a.x": "true",
		"a.%": "1", "": show(v)} {
		if got, ok := lookup(v, path); !ok || show(got) != want {
			t.Errorf("%q leads to %s, %t; want %s", path, show(got), ok, want)
		}
	}
	for _, path := range []string{"b", "a.b.d", "a.b.c.2", "a.b.c.-1", "a.x.y", "a.b.c.x", ".", "a."} {
		if got, ok := lookup(v, path); ok {
			t.Errorf("%q leads to %s, want nothing", path, show(got))
		}
	}
}
