package encryption

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
)

// A program of the settings gets a JSON value on standard input. It writes a line that identifies it, and then its
// response.
const (
	keyMagic      = "OpenTofu-External-Key-Provider"
	methodMagic   = "OpenTofu-External-Encryption-Method"
	programTime   = time.Minute // time limit of a program, as in OpenTofu
	maxAnswer     = 1 << 30
	maxComplaints = 4 << 10 // bytes of standard error that are shown
)

// external is the method that runs one program to encrypt and another to decrypt.
type external struct {
	keys             *Keys
	encrypt, decrypt []string
	programs         Programs
}

func newExternal(arguments map[string]cty.Value, p Programs) (method, error) {
	m := &external{programs: p}
	var err error
	if v := arguments["keys"]; !v.IsNull() {
		keys, err := keysOf(v)
		if err != nil {
			return nil, fmt.Errorf("keys: %w", err)
		}
		m.keys = &keys
	}
	if m.encrypt, err = words(arguments["encrypt_command"]); err != nil {
		return nil, fmt.Errorf("encrypt_command: %w", err)
	}
	if m.decrypt, err = words(arguments["decrypt_command"]); err != nil {
		return nil, fmt.Errorf("decrypt_command: %w", err)
	}
	return m, nil
}

// words returns the words of a command.
func words(v cty.Value) (all []string, err error) {
	if v.IsNull() {
		return nil, errors.New("expected a list with a program and its arguments")
	}
	for _, e := range v.AsValueSlice() {
		if e.IsNull() {
			return nil, errors.New("a word of the command is null")
		}
		all = append(all, e.AsString())
	}
	if len(all) == 0 || all[0] == "" {
		return nil, errors.New("expected a list with a program and its arguments")
	}
	return all, nil
}

// exchange is the request to a program of a method, and its response (without the key).
type exchange struct {
	Key     []byte `json:"key,omitempty"`
	Payload []byte `json:"payload"`
}

func (m *external) seal(ctx context.Context, plain []byte) ([]byte, error) {
	in := exchange{Payload: plain}
	if m.keys != nil {
		in.Key = m.keys.Encryption
	}
	return m.run(ctx, m.encrypt, in)
}

func (m *external) open(ctx context.Context, sealed []byte) ([]byte, error) {
	in := exchange{Payload: sealed}
	if m.keys != nil {
		if in.Key = m.keys.Decryption; len(in.Key) == 0 && len(m.keys.Encryption) > 0 {
			return nil, errors.New("the key provider has no key for this document")
		}
	}
	return m.run(ctx, m.decrypt, in)
}

func (m *external) run(ctx context.Context, command []string, in exchange) ([]byte, error) {
	var out struct {
		Payload []byte `json:"payload"`
	}
	if err := m.programs.ask(ctx, command, methodMagic, in, &out); err != nil {
		return nil, err
	}
	if out.Payload == nil {
		return nil, fmt.Errorf("%s: its answer has no payload", command[0])
	}
	return out.Payload, nil
}

// externalKeys is the key provider that runs a program.
var externalKeys = &Kind{
	Arguments: map[string]Argument{"command": {Type: cty.List(cty.String), Required: true}},
	Keys: func(ctx context.Context, arguments map[string]cty.Value, in json.RawMessage, p Programs) (k Keys,
		meta json.RawMessage, err error) {
		command, err := words(arguments["command"])
		if err != nil {
			return k, nil, fmt.Errorf("command: %w", err)
		}
		type data struct {
			External map[string]any `json:"external_data"`
		}
		var input *data
		if len(in) > 0 {
			var d data
			if err := json.Unmarshal(in, &d); err != nil {
				return k, nil, errors.New("the document's record of the key cannot be read")
			}
			if d.External != nil {
				input = &d
			}
		}
		var out struct {
			Keys Keys `json:"keys"`
			Meta data `json:"meta"`
		}
		if err := p.ask(ctx, command, keyMagic, input, &out); err != nil {
			return k, nil, err
		}
		meta, err = json.Marshal(out.Meta)
		return out.Keys, meta, err
	},
}

// May returns an error if a key provider is not allowed to do what a line describes.
func (p Programs) May(line string) error {
	if p.mayDo == nil {
		return nil
	}
	return p.mayDo(line)
}

// ask runs a program with a JSON value on its standard input, and decodes its response. Errors contain its standard
// error. A program that has failed is not run again with the same input: reading one state decrypts a dozen documents,
// and each would wait for it.
func (p Programs) ask(ctx context.Context, command []string, magic string, in, out any) error {
	if p.mayRun != nil {
		if err := p.mayRun(command); err != nil {
			return err
		}
	}
	input, err := json.Marshal(in)
	if err != nil {
		return err
	}
	done, earlier := p.failures.of(command, input)
	if earlier != nil {
		return earlier
	}
	err = p.run(ctx, command, magic, input, out)
	if ctx.Err() != nil {
		done(nil) // the program has not failed
	} else {
		done(err)
	}
	return err
}

func (p Programs) run(ctx context.Context, command []string, magic string, input []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	stdout, stderr := &bounded{limit: maxAnswer}, &bounded{limit: maxComplaints, rest: true}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.dir, bytes.NewReader(input), stdout, stderr
	cmd.WaitDelay = time.Second // for child processes that keep its pipes open
	err := cmd.Run()
	complaint := strings.TrimSpace(stderr.String())
	if complaint != "" {
		complaint = ". It printed: " + complaint
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s did not end in time: %w%s", command[0], ctx.Err(), complaint)
	case err != nil:
		if advice := diag.SystemAdvice(err); advice != "" {
			complaint += ". " + strings.TrimSuffix(advice, ".")
		}
		return fmt.Errorf("%s: %w%s", command[0], err, complaint)
	}
	return decode(command[0], magic, stdout.Bytes(), out, complaint)
}

// decode decodes a response.
func decode(program, magic string, text []byte, out any, complaint string) error {
	first, answer, ok := bytes.Cut(text, []byte("\n"))
	var header struct {
		Magic   string `json:"magic"`
		Version int    `json:"version"`
	}
	if !ok || json.Unmarshal(first, &header) != nil || header.Magic != magic {
		return fmt.Errorf("the answer of %s does not begin with the line {\"magic\":%q,\"version\":1}%s", program,
			magic, complaint)
	}
	if header.Version != 1 {
		return fmt.Errorf("%s uses version %d of the protocol, and only version 1 is supported%s",
			program, header.Version, complaint)
	}
	d := json.NewDecoder(bytes.NewReader(answer))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		// The decoder's message may contain a part of a key.
		return fmt.Errorf("%s: its answer after the first line is not the expected JSON object%s", program,
			complaint)
	}
	return nil
}

// failures records the failures of programs while the settings are in use. It is safe for concurrent use.
type failures struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]*failure
}

// failure is the result of one command with one input. The caller that has locked it runs the command.
type failure struct {
	mu  sync.Mutex
	err error
}

// of returns the error with which a command failed for this input, if it did. Otherwise it waits for the turn to run
// it, and returns a function to be called with the result.
func (f *failures) of(command []string, input []byte) (done func(error), err error) {
	key := sha256.Sum256(append([]byte(strings.Join(command, "\x00")+"\x00\x00"), input...))
	f.mu.Lock()
	one := f.all[key]
	if one == nil {
		if f.all == nil {
			f.all = map[[sha256.Size]byte]*failure{}
		}
		one = &failure{}
		f.all[key] = one
	}
	f.mu.Unlock()
	one.mu.Lock()
	if one.err != nil {
		defer one.mu.Unlock()
		return nil, one.err
	}
	return func(err error) {
		one.err = err
		one.mu.Unlock()
	}, nil
}

// bounded stores the bytes written to it up to a limit. Further bytes are an error, or are dropped.
type bounded struct {
	bytes.Buffer
	limit int
	rest  bool // drop further bytes
}

func (b *bounded) Write(p []byte) (int, error) {
	n := len(p)
	if room := b.limit - b.Len(); n > room {
		if !b.rest {
			return 0, fmt.Errorf("it printed more than %d bytes", b.limit)
		}
		p = p[:room]
	}
	b.Buffer.Write(p)
	return n, nil
}
