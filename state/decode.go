package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// FormatVersion is the version of the state format that this package reads and writes.
const FormatVersion = 4

// Damage is the reason why a document could not be decoded as a state.
type Damage uint8

// The kinds of damage.
const (
	Malformed  Damage = iota + 1 // truncated, edited by hand, or damaged by a crash
	Empty                        // no bytes at all
	Foreign                      // not a state
	NewerState                   // of a later format version
	OlderState                   // of format version 1 to 3
	Encrypted                    // an encrypted state
)

// DecodeError is the error of a state document: the problem, its position, and what to do.
type DecodeError struct {
	Damage Damage
	Offset int64  // in bytes from the start
	Where  string // such as resources[3] (aws_vpc.main).instances[0]; empty for the whole document
	What   string
	Advice string
}

// Error returns one or two sentences.
func (e *DecodeError) Error() string {
	var b strings.Builder
	b.WriteString("invalid state")
	if e.Damage == Malformed {
		fmt.Fprintf(&b, " at byte %d", e.Offset)
	}
	if e.Where != "" {
		b.WriteString(", in " + e.Where)
	}
	b.WriteString(": " + e.What)
	if e.Advice != "" {
		b.WriteString(". " + e.Advice)
	}
	return b.String()
}

const adviceRestore = "Nothing was changed. Restore an earlier state from a backup (for a file, usually *.backup " +
	"next to it) or from the history of its store (for a service, with state push -force). Do not apply before that, " +
	"because a run without the state would create everything again"

// Read decodes a state document from a stream, up to its end: nothing may follow the document. Problems of the document
// are *DecodeError; other errors come from the reader.
func Read(r io.Reader) (*State, error) { return decode(newScanner(r)) }

// Decode decodes a state document. The state does not retain b.
func Decode(b []byte) (*State, error) { return decode(newBytesScanner(b)) }

func decode(s *scanner) (*State, error) {
	if err := sniff(s); err != nil {
		return nil, err
	}
	d := &decoder{scanner: s}
	st, err := d.document()
	var at *scanError
	if errors.As(err, &at) {
		return nil, &DecodeError{Damage: Malformed, Offset: at.offset, Where: d.where(), What: at.msg,
			Advice: adviceRestore}
	}
	return st, err
}

// sniff recognises input by its first bytes that cannot be a state.
func sniff(s *scanner) error {
	if !s.more() {
		if !errors.Is(s.readErr, io.EOF) {
			return s.readErr
		}
		return &DecodeError{Damage: Empty, What: "the file is empty (zero bytes), as after a run of Terraform that " +
			"was killed while it wrote the state",
			Advice: adviceRestore + ". If nothing was ever created with this configuration, remove the empty file"}
	}
	foreign := func(what string) error {
		return &DecodeError{Damage: Foreign, What: what, Advice: adviceRestore}
	}
	head := s.buf[s.pos:]
	switch {
	case head[0] == 0:
		return foreign("the file starts with NUL bytes, as after a crash of the system while the file was written")
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return foreign("the file starts with a byte order mark, which some editors add, so it was probably changed " +
			"by hand")
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return foreign("the file is a zip archive, such as a plan file")
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return foreign("the file is compressed with gzip")
	}
	c, err := s.next()
	var cut *scanError
	if err != nil && !errors.As(err, &cut) {
		return err
	}
	if err != nil || c != '{' {
		return foreign("the file is not a JSON object")
	}
	return nil
}

// decoder decodes one document. Repeated texts are parsed once.
type decoder struct {
	*scanner
	modules   map[string]addr.ModuleInstance
	providers map[string]addr.AbsProviderConfig
	deps      map[string]addr.ConfigResource
	paths     map[string]cty.Path
	words     map[string]string

	actions bool // an object may be an action, as in invocations

	attrs []byte // reused while an object's attributes are read

	// The current position, for messages.
	section  string
	resource int
	instance int
	address  string
}

func (d *decoder) where() string {
	switch {
	case d.section == "resources" && d.resource >= 0:
		w := "resources[" + strconv.Itoa(d.resource) + "]"
		if d.address != "" {
			w += " (" + d.address + ")"
		}
		if d.instance >= 0 {
			w += ".instances[" + strconv.Itoa(d.instance) + "]"
		}
		return w
	}
	return d.section
}

var topFields = []string{"version", "terraform_version", "serial", "lineage", "outputs", "resources", "check_results"}

// encryptedData is the member that marks encrypted states.
const encryptedData = "encrypted_data"

// strangers holds members that identify a document without a version.
var strangers = map[string]string{
	encryptedData:      "the state is encrypted, but there are no encryption settings for it",
	"format_version":   "this is the JSON form that `show -json` prints, for programs to read; it is not a state",
	"resource_changes": "this is a plan in JSON form, not a state",
}

func (d *decoder) document() (*State, error) {
	d.resource, d.instance = -1, -1
	s := &State{outputs: map[string]*Output{}, resources: map[addr.AbsResource]*Resource{}}
	version, stranger := -1, ""
	err := d.fields(topFields, func(i int) error {
		var err error
		d.section = topFields[i]
		switch i {
		case 0:
			version, err = d.version()
		case 1:
			s.TerraformVersion, err = d.text()
		case 2:
			s.Serial, err = d.uint(math.MaxUint64)
		case 3:
			s.Lineage, err = d.text()
		case 4:
			err = d.outputs(s.outputs)
		case 5:
			err = d.resources(s)
		case 6:
			s.checks, err = d.checks()
		}
		if err == nil {
			d.section = ""
		}
		return err
	}, func(name string) {
		if strangers[name] != "" {
			stranger = strangers[name]
		}
	})
	if err == nil {
		err = d.finish()
	}
	switch {
	case err != nil:
		return nil, err
	case stranger == strangers[encryptedData] && version < 0:
		return nil, &DecodeError{Damage: Encrypted, What: stranger, Advice: "Nothing was changed. Add the settings " +
			"that it was written with, in the encryption block of the configuration or the variable TF_ENCRYPTION"}
	case stranger != "" && version < 0:
		return nil, &DecodeError{Damage: Foreign, What: stranger,
			Advice: "Nothing was changed. Use the state file itself"}
	case version < 0:
		return nil, &DecodeError{Damage: Foreign, What: `the document has no "version", which every state has`,
			Advice: adviceRestore}
	}
	return s, nil
}

func (d *decoder) version() (int, error) {
	at := d.offset()
	n, err := d.uint(math.MaxInt32)
	switch {
	case err != nil:
		return 0, err
	case n == 0:
		return 0, &scanError{at, "the version must be a positive whole number"}
	case n > FormatVersion:
		return 0, &DecodeError{Damage: NewerState, Offset: at, Where: "version",
			What:   fmt.Sprintf("the state has format version %d, but this program reads version %d", n, FormatVersion),
			Advice: "A newer program wrote it. Use that program, or restore the state as it was before"}
	case n < FormatVersion:
		return 0, &DecodeError{Damage: OlderState, Offset: at, Where: "version",
			What: fmt.Sprintf(
				"the state has format version %d, of Terraform before 0.12; this program reads version %d", n,
				FormatVersion),
			Advice: "Upgrade it once with Terraform: `terraform state pull > upgraded.tfstate` prints it in version 4"}
	}
	return int(n), nil
}

func (d *decoder) outputs(into map[string]*Output) error {
	if null, err := d.null(); null || err != nil {
		return err
	}
	return d.object(func(name string) error {
		d.section = "outputs." + name
		if into[name] != nil {
			return d.errorf("the output is listed twice")
		}
		o, err := d.output()
		into[name] = o
		return err
	})
}

var outputFields = []string{"value", "type", "sensitive"}

func (d *decoder) output() (*Output, error) {
	at := d.offset()
	var value, typ []byte
	o := &Output{}
	err := d.fields(outputFields, func(i int) (err error) {
		switch i {
		case 0:
			value, err = d.raw(nil)
		case 1:
			typ, err = d.raw(nil)
		case 2:
			o.Sensitive, err = d.bool()
		}
		return err
	}, nil)
	if err != nil {
		return nil, err
	}
	if value == nil || typ == nil {
		return nil, &scanError{at, `an output needs a "value" and a "type"`}
	}
	ty, err := ctyjson.UnmarshalType(typ)
	if err != nil {
		return nil, &scanError{at, "the output has an invalid type: " + err.Error()}
	}
	if o.Value, err = unmarshal(value, ty, ctyfast.UnmarshalJSON); err != nil {
		return nil, &scanError{at, "the value of the output does not fit its type: " + err.Error()}
	}
	return o, nil
}

var checkFields = []string{"object_kind", "config_addr", "status", "objects"}
var checkedFields = []string{"object_addr", "status", "failure_messages"}

func (d *decoder) checks() (out []CheckResult, err error) {
	if null, err := d.null(); null || err != nil {
		return nil, err
	}
	err = d.array(func(int) error {
		var c CheckResult
		err := d.fields(checkFields, func(i int) error {
			return [...]func() error{into(&c.Kind, d.text), into(&c.ConfigAddr, d.text), into(&c.Status, d.text),
				into(&c.Objects, d.checked)}[i]()
		}, nil)
		out = append(out, c)
		return err
	})
	return out, err
}

func (d *decoder) checked() (out []CheckedObject, err error) {
	if null, err := d.null(); null || err != nil {
		return nil, err
	}
	err = d.array(func(int) error {
		var o CheckedObject
		err := d.fields(checkedFields, func(i int) error {
			return [...]func() error{into(&o.Addr, d.text), into(&o.Status, d.text), into(&o.Failures, d.texts)}[i]()
		}, nil)
		out = append(out, o)
		return err
	})
	return out, err
}

func into[T any](p *T, read func() (T, error)) func() error {
	return func() (err error) {
		*p, err = read()
		return err
	}
}
