package plan

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/tombolo-iac/tombolo/state"
)

// FormatVersion is the version of the plan file. Other versions cannot be read.
const FormatVersion = 1

// The members of a plan file, which is a zip archive.
const (
	memberHeader    = "tombolo-plan.json"
	memberPlan      = "plan.json"
	memberState     = "state.json"     // absent if there was no state
	memberRefreshed = "refreshed.json" // edits of the state
	memberConfig    = "config.json"    // source files by name
)

// maxContent limits the total size of all members after decompression, all of which must fit into memory. Hundreds of
// thousands of objects fit; the compressed file can be a thousand times smaller.
const maxContent = 1 << 30

func tooLarge() *FileError {
	return &FileError{Summary: "Plan file is too large",
		Detail: fmt.Sprintf("A plan can have at most %d MiB before compression, and this one has more. Plan fewer "+
			"objects at once (-target), or divide the configuration.", maxContent>>20)}
}

// header is in every plan file of any version.
type header struct {
	FormatVersion   int               `json:"format_version"`
	LanguageVersion string            `json:"language_version"`
	SHA256          map[string]string `json:"sha256"` // of every other member
}

// FileError is the error of a file that cannot be read as a plan.
type FileError struct {
	// Summary is a few words; Detail describes the problem and what to do.
	Summary, Detail string
	Err             error
}

// Error joins summary and detail.
func (e *FileError) Error() string { return e.Summary + ": " + e.Detail }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// Write writes the plan as a file. It includes Base, Refreshed and Config, so that an apply needs only the file and the
// providers.
func (p *Plan) Write(w io.Writer) error {
	members := map[string][]byte{}
	body, err := encodePlan(p)
	if err != nil {
		return fmt.Errorf("encode plan: %w", err)
	}
	members[memberPlan] = body
	if p.Base != nil {
		var b bytes.Buffer
		if err := p.Base.Encode(&b); err != nil {
			return fmt.Errorf("encode state: %w", err)
		}
		members[memberState] = b.Bytes()
	}
	if members[memberRefreshed], err = state.EncodeEdits(p.Refreshed); err != nil {
		return fmt.Errorf("encode refreshed objects: %w", err)
	}
	files := map[string][]byte{}
	for name, src := range p.Config {
		files[name] = src
	}
	if members[memberConfig], err = json.Marshal(files); err != nil {
		return fmt.Errorf("encode configuration: %w", err)
	}
	h := header{FormatVersion: FormatVersion, LanguageVersion: state.LanguageVersion, SHA256: map[string]string{}}
	for name, content := range members {
		sum := sha256.Sum256(content)
		h.SHA256[name] = hex.EncodeToString(sum[:])
	}
	if members[memberHeader], err = json.Marshal(h); err != nil {
		return fmt.Errorf("encode header: %w", err)
	}
	total := 0
	for _, content := range members {
		total += len(content)
	}
	if total > maxContent {
		return tooLarge()
	}
	z := zip.NewWriter(w)
	for _, name := range []string{memberHeader, memberPlan, memberState, memberRefreshed, memberConfig} {
		content, ok := members[name]
		if !ok {
			continue
		}
		f, err := z.Create(name)
		if err != nil {
			return err
		}
		if _, err := f.Write(content); err != nil {
			return err
		}
	}
	return z.Close()
}

func damaged(err error) *FileError {
	return &FileError{Summary: "Plan file is damaged", Err: err,
		Detail: fmt.Sprintf("The file is a plan, but it is damaged: %s. Make a new plan.", err)}
}

// asDamage returns the error as a damaged file, unless it already describes the problem of the file.
func asDamage(err error) *FileError {
	if known := (*FileError)(nil); errors.As(err, &known) {
		return known
	}
	return damaged(err)
}

// Decode decodes a plan file. For a file that is damaged, of another version, or of another program it returns a
// *FileError.
func Decode(r io.ReaderAt, size int64) (*Plan, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, noArchive(r, size, err)
	}
	members := map[string]*zip.File{}
	for _, f := range z.File {
		if members[f.Name] != nil {
			return nil, damaged(fmt.Errorf("it holds %q twice", f.Name))
		}
		members[f.Name] = f
	}
	read := reader{left: maxContent, file: size}
	h, err := read.header(members)
	if err != nil {
		return nil, err
	}
	content := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(h.SHA256)) {
		b, err := read.member(members[name])
		if err != nil {
			return nil, asDamage(fmt.Errorf("%s: %w", name, err))
		}
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != h.SHA256[name] {
			return nil, damaged(fmt.Errorf("the checksum of %s has changed since it was written", name))
		}
		content[name] = b
	}
	p, err := decodePlan(content[memberPlan])
	if err != nil {
		return nil, damaged(err)
	}
	if b, ok := content[memberState]; ok {
		if p.Base, err = state.Decode(b); err != nil {
			return nil, damaged(err)
		}
	}
	if p.Refreshed, err = state.DecodeEdits(content[memberRefreshed]); err != nil {
		return nil, damaged(err)
	}
	if err := json.Unmarshal(content[memberConfig], &p.Config); err != nil {
		return nil, damaged(err)
	}
	return p, nil
}

// noArchive returns the error for a file that is not a zip archive.
func noArchive(r io.ReaderAt, size int64, err error) *FileError {
	start := make([]byte, 64)
	n, _ := r.ReadAt(start, 0)
	start = bytes.TrimSpace(start[:n])
	detail := fmt.Sprintf("It is not a plan file (%s). Use a file that plan -out has written.", err)
	switch {
	case size == 0:
		detail = "It is empty. Use a file that plan -out has written."
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return damaged(fmt.Errorf("its end is missing or unreadable (%w)", err))
	case bytes.HasPrefix(start, []byte("{")):
		detail = "It is a JSON document, perhaps a state or the output of show -json. Use a file that plan -out has " +
			"written."
	}
	return &FileError{Summary: "Not a plan file", Detail: detail, Err: err}
}

// reader reads members.
type reader struct {
	left int64 // remaining bytes of the total size
	file int64 // the size of the archive
}

// header decodes the header, and distinguishes plan files of this version from those of other versions and programs.
func (r *reader) header(members map[string]*zip.File) (*header, error) {
	f := members[memberHeader]
	switch {
	case f == nil && members["tfplan"] != nil:
		return nil, &FileError{Summary: "Plan file of another program",
			Detail: "Terraform or OpenTofu made it, and only they can apply their plan files. Make the plan again " +
				"with this program."}
	case f == nil && members["manifest.json"] != nil:
		return nil, &FileError{Summary: "Not a plan file",
			Detail: "It has the plans of a stack, with a plan file for each unit. The command \"stack apply\" " +
				"applies it, and \"stack plan -report\" writes a report of such plans."}
	case f == nil:
		return nil, &FileError{Summary: "Not a plan file",
			Detail: "It is an archive, but not one that plan -out has written."}
	}
	b, err := r.member(f)
	if err != nil {
		return nil, asDamage(err)
	}
	var h header
	if err := json.Unmarshal(b, &h); err != nil {
		return nil, damaged(err)
	}
	if h.FormatVersion != FormatVersion {
		return nil, &FileError{Summary: "Plan file of another version",
			Detail: fmt.Sprintf("It has format version %d, but this program reads version %d. Apply it with the "+
				"version of the program that made it, or make a new plan.", h.FormatVersion, FormatVersion)}
	}
	for _, name := range []string{memberPlan, memberRefreshed, memberConfig} {
		if h.SHA256[name] == "" {
			return nil, damaged(fmt.Errorf("%s is missing", name))
		}
	}
	return &h, nil
}

// member returns the content of a member, which is not larger than its declared size.
func (r *reader) member(f *zip.File) ([]byte, error) {
	if f == nil {
		return nil, errors.New("it is missing")
	}
	if f.UncompressedSize64 > uint64(r.left) {
		return nil, tooLarge()
	}
	size := int64(f.UncompressedSize64)
	if size > maxRatio*r.file {
		return nil, fmt.Errorf("its declared size is %d bytes, more than this file can have", size)
	}
	r.left -= size
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	b := make([]byte, size)
	if _, err := io.ReadFull(in, b); err != nil {
		return nil, err
	}
	switch n, err := in.Read(make([]byte, 1)); {
	case n > 0:
		return nil, errors.New("it is longer than its declared size")
	case err != io.EOF: // the checksum is compared at the end
		return nil, err
	}
	return b, nil
}

// maxRatio is above the maximum compression ratio of deflate.
const maxRatio = 1100
