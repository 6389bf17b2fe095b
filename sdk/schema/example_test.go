package schema_test

import (
	"context"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// Notes is the service that the provider of the example manages.
type Notes struct{ texts map[string]string }

// note is a resource with a default, a computed attribute and all four operations.
func note() *schema.Resource {
	return &schema.Resource{
		Description: "A note.",
		Schema: map[string]*schema.Schema{
			"text":   {Type: schema.TypeString, Required: true, Description: "What it says."},
			"color":  {Type: schema.TypeString, Optional: true, Default: "yellow"},
			"length": {Type: schema.TypeInt, Computed: true},
		},
		CreateContext: func(ctx context.Context, d *schema.ResourceData, meta interface{}) diag.Diagnostics {
			notes := meta.(*Notes)
			d.SetId(fmt.Sprintf("note-%d", len(notes.texts)+1))
			notes.texts[d.Id()] = d.Get("text").(string)
			return readNote(ctx, d, meta)
		},
		ReadContext: readNote,
		UpdateContext: func(ctx context.Context, d *schema.ResourceData, meta interface{}) diag.Diagnostics {
			meta.(*Notes).texts[d.Id()] = d.Get("text").(string)
			return readNote(ctx, d, meta)
		},
		DeleteContext: func(ctx context.Context, d *schema.ResourceData, meta interface{}) diag.Diagnostics {
			delete(meta.(*Notes).texts, d.Id())
			return nil
		},
		Importer: &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughContext},
	}
}

func readNote(_ context.Context, d *schema.ResourceData, meta interface{}) diag.Diagnostics {
	text, ok := meta.(*Notes).texts[d.Id()]
	if !ok {
		d.SetId("") // it no longer exists
		return nil
	}
	if err := d.Set("text", text); err != nil {
		return diag.FromErr(err)
	}
	return diag.FromErr(d.Set("length", len(text)))
}

// A provider is a description. Its main function would be schema.Serve(describe); here it runs in process and makes one
// plan.
func Example() {
	describe := func() *schema.Provider {
		return &schema.Provider{
			Address:      "registry.terraform.io/example/notes",
			ResourcesMap: map[string]*schema.Resource{"notes_note": note()},
			ConfigureFunc: func(d *schema.ResourceData) (interface{}, error) {
				return &Notes{texts: map[string]string{}}, nil
			},
		}
	}
	if err := describe().InternalValidate(); err != nil {
		fmt.Println(err)
	}

	ctx := context.Background()
	p := schema.New(describe())
	s, _ := p.Schema(ctx)
	p.Configure(ctx, provider.ConfigureRequest{Config: s.Provider.EmptyValue()})
	block := s.Resources["notes_note"].Block
	config := block.EmptyValue().AsValueMap()
	config["text"] = cty.StringVal("Buy milk.")
	null := cty.NullVal(block.ImpliedType())
	req := provider.PlanRequest{Type: "notes_note", Prior: null, Config: cty.ObjectVal(config),
		Proposed: cty.ObjectVal(config)}
	plan := p.Plan(ctx, req)
	fmt.Println("color", plan.Planned.GetAttr("color").AsString(), "length known",
		plan.Planned.GetAttr("length").IsKnown())

	applied := p.Apply(ctx, provider.ApplyRequest{Type: "notes_note", Prior: null, Config: req.Config,
		Planned: plan.Planned})
	fmt.Println(applied.State.GetAttr("id").AsString(), applied.State.GetAttr("length").AsBigFloat())
	// Output:
	// color yellow length known false
	// note-1 9
}
