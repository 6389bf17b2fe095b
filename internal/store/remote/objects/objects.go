// Package objects keeps the journal of a state in objects of a service with conditional writes: an object is replaced
// on the condition that it is the one that was read. Examples are buckets and key-value stores. A Space sends the
// requests.
//
//	j := objects.New(space, "network.tombolo/", 0)
//	version, err := j.Start(ctx, "", first)
package objects

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// Space stores objects. Its methods may be called concurrently.
type Space interface {
	// Get returns an object and its tag, which identifies this content of the name. If there is no object, the tag is
	// "".
	Get(ctx context.Context, name string) (data []byte, tag string, err error)
	// Put replaces the object with this tag, or creates it if the tag is "", and returns the new tag. It returns
	// ErrUnmet if the stored object has another tag. No two calls write the same data to a name: if the object already
	// has it, a response was lost, and Put succeeds.
	Put(ctx context.Context, name string, data []byte, tag string) (string, error)
	// Remove deletes an object. A missing object is not an error.
	Remove(ctx context.Context, name string) error
	// Name returns the name of an object in messages.
	Name(name string) string
}

// ErrUnmet means that a condition did not hold and nothing was written.
var ErrUnmet = errors.New("something else is stored there")

// Journal is the journal beside a state. Its head is one object, which each write replaces on the condition that it is
// the head that was last read. This puts all changes of a journal into one order, which all runs see: a chunk is added
// to the journal that its writer has read, or not at all.
//
// The head contains chunks until they are too large to be rewritten each time. Then they move to another object, a
// part, which the head names. A journal that has ended leaves a head without chunks, because numbers of journals must
// increase.
type Journal struct {
	space  Space
	folder string
	most   int
	known  *known
}

// known is the part of a journal that was read.
type known struct {
	mu   sync.Mutex
	last *seen // the head as last read or written; nil if unknown
}

// New returns a journal whose objects have names that begin with folder. Most is the maximum size of an object in
// bytes, or 0 for no limit. Larger parts are split into pieces.
func New(s Space, folder string, most int) *Journal {
	return &Journal{space: s, folder: folder, most: most, known: &known{}}
}

// Over returns the same journal, with the content read so far, in another space.
func (j *Journal) Over(s Space) *Journal {
	return &Journal{space: s, folder: j.folder, most: j.most, known: j.known}
}

// seen is a head as last read. Its tag is "" if it does not exist.
type seen struct {
	head
	tag    string
	chunks [][]byte // in the head
}

// head is the first line of the object; chunks follow it.
type head struct {
	Format int    `json:"tombolo_journal"`
	Epoch  uint64 `json:"epoch"` // counts journals; 0 if there never was one
	ID     string `json:"id"`    // of this journal
	Write  string `json:"write"` // unique ID of this content
	Parts  []part `json:"parts,omitempty"`
	Sizes  []int  `json:"sizes,omitempty"` // sizes of the chunks in the head
	// Old are parts of former journals that may still exist.
	Old []string `json:"old,omitempty"`
}

// part is an object with chunks.
type part struct {
	Name  string `json:"name"`
	Sizes []int  `json:"sizes,omitempty"`
	// Pieces is the number of objects of the part, if the size of objects is limited. Then the part itself contains the
	// sizes of its chunks, so that the head fits into an object, however many chunks there are.
	Pieces int `json:"pieces,omitempty"`
	Count  int `json:"count,omitempty"` // number of chunks
}

// objects returns the names of the part's objects.
func (p *part) objects() []string {
	if p.Pieces == 0 {
		return []string{p.Name}
	}
	names := make([]string, p.Pieces)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", p.Name, i)
	}
	return names
}

const (
	journalFormat = 1
	// InHead is the maximum size of the chunks in a head, in bytes. Each new chunk rewrites them.
	InHead = 64 << 10
	// journalTries limits how often a head is read again because another run has replaced it.
	journalTries = 5
	// atOnce is the number of parts that are read concurrently.
	atOnce = 8
)

// Limits of journals. Others may have write access to a bucket, so the content of a head is checked.
const (
	// mostBytes is the maximum size of a journal's parts.
	mostBytes = 1 << 30
	// mostObjects is the maximum number of objects of a journal, and of leftovers of former ones.
	mostObjects = 1 << 16
)

// partName matches the names of parts and pieces that move assigns.
var partName = regex.Lazy(`^[0-9]+-[0-9A-Za-z]+/[0-9]+-[0-9A-Za-z]+(?:-[0-9]+)?$`)

// check refuses content that no run has written: foreign names and excessive numbers.
func (h *head) check() error {
	names, objects := slices.Clone(h.Old), len(h.Old)
	for _, p := range h.Parts {
		if p.Pieces < 0 || p.Pieces > mostObjects || p.Count < 0 {
			return fmt.Errorf("a part of it has %d pieces and %d chunks", p.Pieces, p.Count)
		}
		names, objects = append(names, p.Name), objects+max(1, p.Pieces)
	}
	if objects > mostObjects {
		return fmt.Errorf("it names %d objects, but at most %d are possible", objects, mostObjects)
	}
	for _, name := range names {
		if !partName().MatchString(name) {
			return fmt.Errorf("it names the object %.100q, which is not part of a journal", name)
		}
	}
	return nil
}

func (h *head) version() string {
	if h.Epoch == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%s", h.Epoch, h.ID)
}

// count returns the number of chunks.
func (h *head) count() int {
	n := len(h.Sizes)
	for _, p := range h.Parts {
		n += max(len(p.Sizes), p.Count)
	}
	return n
}

func (j *Journal) headKey() string { return j.folder + "journal" }

// look reads the head.
func (j *Journal) look(ctx context.Context) (*seen, error) {
	data, tag, err := j.space.Get(ctx, j.headKey())
	if err != nil {
		return nil, err
	}
	s := &seen{tag: tag}
	if tag != "" {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		if err := json.Unmarshal(line, &s.head); err != nil || s.Epoch == 0 {
			return nil, fmt.Errorf("%s is not the head of a journal. Another program wrote it: restore an older "+
				"version, or delete it if no run was interrupted", j.space.Name(j.headKey()))
		}
		if s.Format != journalFormat {
			return nil, fmt.Errorf("%s has the format %d, which a newer version of Tombolo wrote. Use that version",
				j.space.Name(j.headKey()), s.Format)
		}
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("%s: %w. It was changed after it was written: restore an older version",
				j.space.Name(j.headKey()), err)
		}
		if s.chunks, err = split(rest, s.Sizes); err != nil {
			return nil, fmt.Errorf("%s: %w", j.space.Name(j.headKey()), err)
		}
	}
	j.remember(s)
	return s, nil
}

func (j *Journal) remember(s *seen) {
	j.known.mu.Lock()
	defer j.known.mu.Unlock()
	j.known.last = s
}

// current returns the head as last read, which may be outdated.
func (j *Journal) current(ctx context.Context) (*seen, error) {
	j.known.mu.Lock()
	s := j.known.last
	j.known.mu.Unlock()
	if s != nil {
		return s, nil
	}
	return j.look(ctx)
}

// split splits concatenated chunks.
func split(data []byte, sizes []int) (chunks [][]byte, _ error) {
	for _, n := range sizes {
		if n < 0 || n > len(data) {
			return nil, errors.New("it is truncated")
		}
		chunks, data = append(chunks, data[:n:n]), data[n:]
	}
	if len(data) > 0 {
		return nil, errors.New("it has more content than it declares")
	}
	return chunks, nil
}

// Read returns the entire journal. A run may end meanwhile and remove its parts.
func (j *Journal) Read(ctx context.Context) (remote.Journal, error) {
	for try := 1; ; try++ {
		s, err := j.look(ctx)
		if err != nil {
			return remote.Journal{}, err
		}
		chunks, gone, err := j.parts(ctx, s.Parts)
		if err != nil {
			return remote.Journal{}, err
		}
		if gone == "" {
			return remote.Journal{Version: s.version(), Chunks: append(chunks, s.chunks...)}, nil
		}
		if try == journalTries {
			return remote.Journal{},
				fmt.Errorf("%s, a part of the journal, is missing. It was deleted by hand or by a lifecycle rule: "+
					"restore it", j.space.Name(gone))
		}
	}
}

// errLong means that a part was not read because the journal is too long.
var errLong = errors.New("the journal is too long")

// parts reads the chunks of parts, or returns the name of a missing object.
func (j *Journal) parts(ctx context.Context, parts []part) (chunks [][]byte, gone string, _ error) {
	var names []string
	for _, p := range parts {
		names = append(names, p.objects()...)
	}
	data, tags, errs := make([][]byte, len(names)), make([]string, len(names)), make([]error, len(names))
	var total atomic.Int64
	Each(len(names), func(i int) {
		if total.Load() > mostBytes {
			errs[i] = errLong
			return
		}
		data[i], tags[i], errs[i] = j.space.Get(ctx, j.folder+names[i])
		total.Add(int64(len(data[i])))
	})
	if slices.Contains(errs, errLong) {
		return nil, "", fmt.Errorf("the journal in %s has more than %d bytes", j.space.Name(j.folder), mostBytes)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, "", err
	}
	if i := slices.Index(tags, ""); i >= 0 {
		return nil, j.folder + names[i], nil
	}
	for _, p := range parts {
		n := len(p.objects())
		some, err := p.chunks(bytes.Join(data[:n], nil))
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", j.space.Name(j.folder+p.Name), err)
		}
		chunks, data = append(chunks, some...), data[n:]
	}
	return chunks, "", nil
}

// chunks splits the content of a part into chunks.
func (p *part) chunks(data []byte) ([][]byte, error) {
	sizes := p.Sizes
	if p.Pieces > 0 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		if err := json.Unmarshal(line, &sizes); err != nil || len(sizes) != p.Count {
			return nil, errors.New("it was changed after it was written: the sizes of its chunks are missing")
		}
		data = rest
	}
	return split(data, sizes)
}

// Each runs a function for 0 to n-1, several at a time.
func Each(n int, f func(int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() { f(i); <-slots })
	}
	wg.Wait()
}

// replace writes a head on the condition that the stored head is was.
func (j *Journal) replace(ctx context.Context, was *seen, h head, chunks [][]byte) (*seen, error) {
	h.Format, h.Write = journalFormat, rand.Text()
	line, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	data := append(line, '\n')
	for _, c := range chunks {
		data = append(data, c...)
	}
	tag, err := j.space.Put(ctx, j.headKey(), data, was.tag)
	if err != nil {
		j.remember(nil)
		return nil, err
	}
	s := &seen{head: h, tag: tag, chunks: chunks}
	j.remember(s)
	return s, nil
}

// Start implements StartJournal for a hold.
func (j *Journal) Start(ctx context.Context, was string, first []byte) (string, error) {
	for try := 1; ; try++ {
		s, err := j.current(ctx)
		if err == nil && s.version() != was {
			s, err = j.look(ctx)
		}
		if err != nil {
			return "", err
		}
		if s.version() != was {
			return "", remote.ErrChanged
		}
		next := head{Epoch: s.Epoch + 1, ID: rand.Text(), Old: slices.Clone(s.Old)}
		for _, p := range s.Parts {
			next.Old = append(next.Old, p.objects()...)
		}
		var chunks [][]byte
		if first != nil {
			chunks, err = j.hold(ctx, &next, nil, first)
		}
		if err != nil {
			return "", err
		}
		n, err := j.replace(ctx, s, next, chunks)
		if errors.Is(err, ErrUnmet) && try < journalTries {
			continue // read again: the journal may only have grown
		}
		if err != nil {
			return "", changed(err)
		}
		j.clear(ctx, n)
		return n.version(), nil
	}
}

// clear removes parts of former journals. The head lists those that cannot be removed now, and a later run removes
// them.
func (j *Journal) clear(ctx context.Context, s *seen) {
	errs := make([]error, len(s.Old))
	Each(len(s.Old), func(i int) { errs[i] = j.space.Remove(ctx, j.folder+s.Old[i]) })
	if errors.Join(errs...) != nil {
		return
	}
	cleared := *s
	cleared.Old = nil
	j.known.mu.Lock()
	defer j.known.mu.Unlock()
	if j.known.last == s {
		j.known.last = &cleared
	}
}

// changed translates an unmet condition to the contract's error.
func changed(err error) error {
	if errors.Is(err, ErrUnmet) {
		return remote.ErrChanged
	}
	return err
}

// Add implements Append for a hold.
func (j *Journal) Add(ctx context.Context, version string, n int, chunk []byte) error {
	for try := 1; ; try++ {
		s, err := j.current(ctx)
		if err == nil && (s.version() != version || s.count() != n) {
			s, err = j.look(ctx)
		}
		if err != nil {
			return err
		}
		if s.version() != version || s.count() != n || n == 0 {
			return remote.ErrChanged
		}
		next := s.head
		next.Sizes = slices.Clip(next.Sizes)
		chunks, err := j.hold(ctx, &next, s.chunks, chunk)
		if err != nil {
			return err
		}
		_, err = j.replace(ctx, s, next, chunks)
		if errors.Is(err, ErrUnmet) && try < journalTries {
			continue
		}
		return changed(err)
	}
}

// hold adds a chunk to those of a head. If they are too large for the head, they move to a part.
func (j *Journal) hold(ctx context.Context, h *head, chunks [][]byte, chunk []byte) ([][]byte, error) {
	chunks = slices.Clip(chunks)
	if size(chunks)+len(chunk) > InHead && len(chunks) > 0 {
		if err := j.move(ctx, h, chunks); err != nil {
			return nil, err
		}
		chunks = nil
	}
	h.Sizes, chunks = append(h.Sizes, len(chunk)), append(chunks, bytes.Clone(chunk))
	if j.most > 0 && len(chunk) > InHead {
		if err := j.move(ctx, h, chunks); err != nil {
			return nil, err
		}
		chunks = nil
	}
	return chunks, nil
}

// move writes the chunks of a head to a new part, of one or more objects.
func (j *Journal) move(ctx context.Context, h *head, chunks [][]byte) error {
	p := part{Name: fmt.Sprintf("%s/%08d-%s", h.version(), h.count()-len(chunks), rand.Text()), Sizes: h.Sizes}
	data := bytes.Join(chunks, nil)
	if j.most > 0 {
		line, err := json.Marshal(p.Sizes)
		if err != nil {
			return err
		}
		data = slices.Concat(line, []byte("\n"), data)
		p.Count, p.Sizes = len(chunks), nil
		p.Pieces = (len(data) + j.most - 1) / j.most
	}
	for _, name := range p.objects() {
		piece := data
		if j.most > 0 {
			piece = data[:min(j.most, len(data))]
		}
		if _, err := j.space.Put(ctx, j.folder+name, piece, ""); err != nil {
			return err
		}
		data = data[len(piece):]
	}
	h.Parts, h.Sizes = append(slices.Clip(h.Parts), p), nil
	return nil
}

// Forget discards what was read of the journal, because the journal was removed.
func (j *Journal) Forget() { j.remember(nil) }

func size(chunks [][]byte) (n int) {
	for _, c := range chunks {
		n += len(c)
	}
	return n
}
