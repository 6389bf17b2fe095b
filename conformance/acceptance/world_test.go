package acceptance

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/echoprovider"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/tombolo-iac/tombolo/internal/world"
)

const object = "world_object.a"

func one(value string) string {
	return fmt.Sprintf(`
resource "world_object" "a" {
  name   = "a"
  value  = %q
  size   = 3
  tags   = { k = "v" }
  secret = "hidden"
}
output "value" {
  value = world_object.a.value
}
`, value)
}

func pre(checks ...plancheck.PlanCheck) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: checks}
}

func TestObjectIsCreatedChangedReplacedImportedAndDestroyed(t *testing.T) {
	dir := t.TempDir()
	sameID, otherID := statecheck.CompareValue(compare.ValuesSame()), statecheck.CompareValue(compare.ValuesDiffer())
	id := tfjsonpath.New("id")
	resource.ParallelTest(t, resource.TestCase{
		ExternalProviders: providers,
		CheckDestroy: func(*terraform.State) error {
			if made, gone := events(t, dir, world.Created), events(t, dir, world.Deleted); made != gone || made != 2 {
				return fmt.Errorf("made %d objects, deleted %d, want 2 and 2", made, gone)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{
				Config: in(dir, one("first")),
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{
						plancheck.ExpectNonEmptyPlan(),
						plancheck.ExpectResourceAction(object, plancheck.ResourceActionCreate),
						plancheck.ExpectUnknownValue(object, id),
						plancheck.ExpectSensitiveValue(object, tfjsonpath.New("secret")),
						plancheck.ExpectKnownValue(object, tfjsonpath.New("size"), knownvalue.Int64Exact(3)),
						plancheck.ExpectKnownOutputValue("value", knownvalue.StringExact("first")),
						plancheck.ExpectNoDeferredChanges(),
					},
					PostApplyPreRefresh:  []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
				ConfigStateChecks: []statecheck.StateCheck{
					sameID.AddStateValue(object, id),
					statecheck.ExpectKnownValue(object, tfjsonpath.New("tags").AtMapKey("k"),
						knownvalue.StringExact("v")),
					statecheck.ExpectKnownValue(object, tfjsonpath.New("revision"), knownvalue.NotNull()),
					statecheck.ExpectSensitiveValue(object, tfjsonpath.New("secret")),
					statecheck.ExpectKnownOutputValue("value", knownvalue.StringExact("first")),
				},
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(object, "tags.%", "1"),
					resource.TestCheckResourceAttrSet(object, "id"),
					resource.TestCheckOutput("value", "first"),
				),
			},
			{
				Config:           in(dir, one("second")),
				ConfigPlanChecks: pre(plancheck.ExpectResourceAction(object, plancheck.ResourceActionUpdate)),
				ConfigStateChecks: []statecheck.StateCheck{sameID.AddStateValue(object, id),
					otherID.AddStateValue(object, id)},
			},
			{RefreshState: true},
			{
				ResourceName: object, ImportState: true, ImportStateVerify: true,
				ImportStateVerifyIgnore: []string{"behave"},
				ImportStateIdFunc: func(s *terraform.State) (string, error) {
					r := s.RootModule().Resources[object]
					if r == nil {
						return "", errors.New("there is no such object")
					}
					return r.Primary.ID, nil
				},
			},
			{ResourceName: object, ImportState: true, ImportStateKind: resource.ImportBlockWithID},
			{ResourceName: object, ImportState: true, ImportStateId: "nobody", ExpectError: regexp.MustCompile(
				"nobody")},
			{Config: in(dir, one("third")), PlanOnly: true, ExpectNonEmptyPlan: true},
			{
				Taint:  []string{object},
				Config: in(dir, one("second")),
				ConfigPlanChecks: pre(plancheck.ExpectResourceAction(object,
					plancheck.ResourceActionDestroyBeforeCreate)),
				ConfigStateChecks: []statecheck.StateCheck{
					otherID.AddStateValue(object, id),
				},
			},
			{Config: in(dir, one("second")), Destroy: true},
			{Config: in(dir, `output "none" { value = 1 }`), ConfigPlanChecks: pre(plancheck.ExpectNonEmptyPlan())},
		},
	})
}

func TestConfigurationComesFromADirectoryWithVariables(t *testing.T) {
	dir := t.TempDir()
	step := func(name string, action plancheck.ResourceActionType) resource.TestStep {
		return resource.TestStep{
			ConfigDirectory:  config.StaticDirectory("testdata/directory"),
			ConfigVariables:  config.Variables{"dir": config.StringVariable(dir), "name": config.StringVariable(name)},
			ConfigPlanChecks: pre(plancheck.ExpectResourceAction(object, action)),
			Check:            resource.TestCheckResourceAttr(object, "name", name),
		}
	}
	last := step("b", plancheck.ResourceActionNoop)
	last.ConfigDirectory, last.ConfigFile = nil, config.StaticFile("testdata/directory/main.tf")
	skipped := step("never", plancheck.ResourceActionCreate)
	skipped.SkipFunc = func() (bool, error) { return true, nil }
	resource.ParallelTest(t, resource.TestCase{
		Steps: []resource.TestStep{
			step("a", plancheck.ResourceActionCreate),
			step("b", plancheck.ResourceActionDestroyBeforeCreate),
			skipped, last,
		},
	})
	if made := events(t, dir, world.Created); made != 2 {
		t.Errorf("made %d objects, want 2", made)
	}
}

func TestDriftIsRefreshedAndCorrected(t *testing.T) {
	dir := t.TempDir()
	const drifting = `
resource "world_object" "a" {
  name   = "a"
  value  = "wanted"
  behave = { drift = "value" }
}
`
	prepared := false
	resource.ParallelTest(t, resource.TestCase{
		ExternalProviders: providers,
		Steps: []resource.TestStep{
			{
				PreConfig:          func() { prepared = true },
				Config:             in(dir, drifting),
				ExpectNonEmptyPlan: true,
			},
			{
				RefreshState:       true,
				ExpectNonEmptyPlan: true,
				RefreshPlanChecks: resource.RefreshPlanChecks{
					PostRefresh: []plancheck.PlanCheck{
						plancheck.ExpectResourceAction(object, plancheck.ResourceActionUpdate)},
				},
			},
		},
	})
	if !prepared {
		t.Error("PreConfig was not called")
	}
}

func TestErrorsAreFoundByTheirText(t *testing.T) {
	dir := t.TempDir()
	resource.ParallelTest(t, resource.TestCase{
		ExternalProviders: providers,
		Steps: []resource.TestStep{
			{Config: in(dir, `resource "world_object" "a" { name = "" }`), ExpectError: regexp.MustCompile(
				`The name must not be empty`)},
			{Config: in(dir, `resource "world_object" "a" {}`), ExpectError: regexp.MustCompile(
				`The argument "name" is required`)},
			{Config: in(dir, `resource "world_object" "a" { nme = "a" }`), ExpectError: regexp.MustCompile(
				`Unsupported argument`)},
			{Config: in(dir,
				"resource \"world_object\" \"a\" {\n  name   = \"a\"\n  behave = { fail = \"create:1\" }\n}"),
				ExpectError: regexp.MustCompile(`The world refused`)},
			{Config: in(dir, `output "a" { value = nothing.here }`), PlanOnly: true, ExpectError: regexp.MustCompile(
				`Reference to undeclared resource`)},
		},
	})
}

func TestImportedStateCanBePersisted(t *testing.T) {
	dir := t.TempDir()
	w, err := world.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	value := "kept"
	there, err := w.Create(world.Object{Name: "a", Value: &value, Size: "1"})
	if err != nil {
		t.Fatal(err)
	}
	// The framework adds the source of a provider to configurations, except to those of import steps.
	kept := in(dir, "terraform {\n  required_providers {\n    world = { source = \"tombolo/world\" }\n  }\n}\n"+
		"resource \"world_object\" \"a\" {\n  name  = \"a\"\n  value = \"kept\"\n}\n")
	resource.ParallelTest(t, resource.TestCase{
		ExternalProviders: providers,
		Steps: []resource.TestStep{
			{
				Config: kept, ResourceName: object, ImportState: true, ImportStateId: there.ID,
				ImportStatePersist: true,
				ImportStateCheck: func(list []*terraform.InstanceState) error {
					if len(list) != 1 || list[0].ID != there.ID {
						return fmt.Errorf("got %v, want the one object %s", list, there.ID)
					}
					return nil
				},
			},
			{
				Config:           kept,
				ConfigPlanChecks: pre(plancheck.ExpectEmptyPlan()),
				Check:            resource.TestCheckResourceAttr(object, "id", there.ID),
			},
		},
	})
}

func TestDataSourcesFunctionsAndManyInstances(t *testing.T) {
	dir := t.TempDir()
	const several = `
resource "world_object" "counted" {
  count = 2
  name  = "n${count.index}"
}
data "world_object" "x" {
  name = world_object.counted[1].name
}
output "joined" {
  value = provider::world::join("-", "a", "b")
}
output "ids" {
  value = { for v in world_object.counted : v.name => v.id }
}
`
	resource.ParallelTest(t, resource.TestCase{
		ExternalProviders: providers,
		Steps: []resource.TestStep{{
			Config: in(dir, several),
			ConfigPlanChecks: pre(
				plancheck.ExpectResourceAction("data.world_object.x", plancheck.ResourceActionRead),
				plancheck.ExpectUnknownOutputValueAtPath("ids", tfjsonpath.New("n0")),
				plancheck.ExpectKnownOutputValue("joined", knownvalue.StringExact("a-b")),
			),
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.CompareValuePairs("data.world_object.x", tfjsonpath.New("id"), "world_object.counted[1]",
					tfjsonpath.New("id"), compare.ValuesSame()),
				statecheck.ExpectKnownOutputValueAtPath("ids", tfjsonpath.New("n0"),
					knownvalue.StringRegexp(regexp.MustCompile("^n0-"))),
			},
			Check: resource.ComposeTestCheckFunc(
				resource.TestCheckResourceAttr("world_object.counted.1", "name", "n1"),
				resource.TestCheckResourceAttrPair("data.world_object.x", "id", "world_object.counted.1", "id"),
			),
		}},
	})
}

func TestEphemeralValuesAreReadThroughTheEcho(t *testing.T) {
	dir := t.TempDir()
	const lent = `
ephemeral "world_lease" "l" {
  name = "l"
}
provider "echo" {
  data = ephemeral.world_lease.l
}
resource "echo" "e" {}
`
	resource.ParallelTest(t, resource.TestCase{
		ExternalProviders: providers,
		ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){
			"echo": echoprovider.NewProviderServer(),
		},
		Steps: []resource.TestStep{{
			Config: in(dir, lent),
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue("echo.e", tfjsonpath.New("data").AtMapKey("name"),
					knownvalue.StringExact("l")),
				statecheck.ExpectKnownValue("echo.e", tfjsonpath.New("data").AtMapKey("token"), knownvalue.NotNull()),
			},
		}},
	})
}
