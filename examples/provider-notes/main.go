// Command terraform-provider-notes manages notes: files in a directory.
package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/sdk/schema"
)

func main() { schema.Serve(Provider) }

// Provider describes the provider.
func Provider() *schema.Provider {
	return &schema.Provider{
		Address:     "registry.terraform.io/example/notes",
		Description: "Keeps notes: files in a directory.",
		Schema: map[string]*schema.Schema{
			"dir": {Type: schema.TypeString, Required: true, Description: "The directory of the notes."},
		},
		ResourcesMap: map[string]*schema.Resource{"notes_note": resourceNote()},
		ConfigureFunc: func(d *schema.ResourceData) (interface{}, error) {
			dir := d.Get("dir").(string)
			return dir, os.MkdirAll(dir, 0o777) // what the callbacks get as meta
		},
	}
}

func resourceNote() *schema.Resource {
	return &schema.Resource{
		Description: "A note.",
		Create:      writeNote,
		Read:        readNote,
		Update:      writeNote,
		Delete:      func(d *schema.ResourceData, meta interface{}) error { return os.Remove(file(d.Id(), meta)) },
		Importer:    &schema.ResourceImporter{State: schema.ImportStatePassthrough},
		Schema: map[string]*schema.Schema{
			"title": {Type: schema.TypeString, Required: true, ForceNew: true,
				Description: "The title. Another one makes another note."},
			"text":  {Type: schema.TypeString, Required: true, Description: "What the note says."},
			"words": {Type: schema.TypeInt, Computed: true, Description: "How many words that are."},
		},
	}
}

func file(title string, meta interface{}) string { return filepath.Join(meta.(string), title+".txt") }

func writeNote(d *schema.ResourceData, meta interface{}) error {
	title := d.Get("title").(string)
	if err := os.WriteFile(file(title, meta), []byte(d.Get("text").(string)), 0o666); err != nil {
		return err
	}
	d.SetId(title) // the object exists from here on
	return readNote(d, meta)
}

func readNote(d *schema.ResourceData, meta interface{}) error {
	text, err := os.ReadFile(file(d.Id(), meta))
	if errors.Is(err, fs.ErrNotExist) {
		d.SetId("") // it no longer exists
		return nil
	}
	if err != nil {
		return err
	}
	d.Set("title", d.Id())
	d.Set("text", string(text))
	d.Set("words", len(strings.Fields(string(text))))
	return nil
}
