package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// journal is the journal beside a state. Its head is one object, which is replaced again and again, each time only
// while it is the one that was seen last. So everything that happens to a journal happens in one order, which all see:
// a chunk is added to the journal that its writer knows, or not at all.
//
// Chunks stand in the head until they have become too much to be written each time again. Then they move to an object
// of their own, a part, which the head names. A journal that has ended leaves a head without chunks: numbers of
// journals only grow.
type journal struct {
	bucket *bucket
	folder string

	mu   sync.Mutex
	last *seen // the head as it was last read or written; nil when that is not known
}

// seen is a head, with its tag; "" when there is none.
type seen struct {
	head
	etag   string
	chunks [][]byte // those in the head
}

// head is the first line of the object; behind it stand chunks.
type head struct {
	Format int    `json:"tombolo_journal"`
	Epoch  uint64 `json:"epoch"` // counts journals; 0 when there never was one
	ID     string `json:"id"`    // of this journal
	Write  string `json:"write"` // of this content: no two are the same
	Parts  []part `json:"parts,omitempty"`
	Sizes  []int  `json:"sizes,omitempty"` // of the chunks in the head
	// Old are parts of ended journals that may still be there.
	Old []string `json:"old,omitempty"`
}

// part is an object with chunks.
type part struct {
	Name  string `json:"name"`
	Sizes []int  `json:"sizes"`
}

const (
	journalFormat = 1
	// inHead is how much a head holds. It is written again with each chunk.
	inHead = 64 << 10
	// journalTries bounds how often a head is looked at again, because somebody else has replaced it.
	journalTries = 5
	// atOnce is how many parts are asked for at the same time.
	atOnce = 8
)

func (h *head) version() string {
	if h.Epoch == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%s", h.Epoch, h.ID)
}

// count is the number of chunks.
func (h *head) count() int {
	n := len(h.Sizes)
	for _, p := range h.Parts {
		n += len(p.Sizes)
	}
	return n
}

func (j *journal) headKey() string { return j.folder + "journal" }

// look reads the head.
func (j *journal) look(ctx context.Context) (*seen, error) {
	o, err := j.bucket.get(ctx, j.headKey())
	if err != nil {
		return nil, err
	}
	s := &seen{}
	if o != nil {
		s.etag = o.etag
		line, rest, _ := bytes.Cut(o.data, []byte("\n"))
		if err := json.Unmarshal(line, &s.head); err != nil || s.Epoch == 0 {
			return nil, fmt.Errorf("%s is not the head of a journal. Something else has written it: restore an older "+
				"version of it, or delete it when no run was interrupted", j.bucket.name(j.headKey()))
		}
		if s.Format != journalFormat {
			return nil, fmt.Errorf("%s has the format %d, which a newer version of Tombolo writes. Use that one",
				j.bucket.name(j.headKey()), s.Format)
		}
		if s.chunks, err = split(rest, s.Sizes); err != nil {
			return nil, fmt.Errorf("%s: %w", j.bucket.name(j.headKey()), err)
		}
	}
	j.remember(s)
	return s, nil
}

func (j *journal) remember(s *seen) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last = s
}

// known returns the head as it was last seen, which may be out of date.
func (j *journal) known(ctx context.Context) (*seen, error) {
	j.mu.Lock()
	s := j.last
	j.mu.Unlock()
	if s != nil {
		return s, nil
	}
	return j.look(ctx)
}

// split cuts what stands together into chunks.
func split(data []byte, sizes []int) (chunks [][]byte, _ error) {
	for _, n := range sizes {
		if n < 0 || n > len(data) {
			return nil, errors.New("it is cut short")
		}
		chunks, data = append(chunks, data[:n:n]), data[n:]
	}
	if len(data) > 0 {
		return nil, errors.New("it has more content than it declares")
	}
	return chunks, nil
}

// read returns the whole journal. A run may end meanwhile, and take its parts away.
func (j *journal) read(ctx context.Context) (remote.Journal, error) {
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
				fmt.Errorf("%s is gone, which is a part of the journal. Somebody has deleted it, or a "+
					"rule of the bucket: restore it", j.bucket.name(gone))
		}
	}
}

// parts reads objects with chunks, and says which of them is gone.
func (j *journal) parts(ctx context.Context, parts []part) (chunks [][]byte, gone string, _ error) {
	objects, errs := make([]*stored, len(parts)), make([]error, len(parts))
	each(len(parts), func(i int) { objects[i], errs[i] = j.bucket.get(ctx, j.folder+parts[i].Name) })
	for i, o := range objects {
		if errs[i] != nil {
			return nil, "", errs[i]
		}
		if o == nil {
			return nil, j.folder + parts[i].Name, nil
		}
		some, err := split(o.data, parts[i].Sizes)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", j.bucket.name(j.folder+parts[i].Name), err)
		}
		chunks = append(chunks, some...)
	}
	return chunks, "", nil
}

// each runs a function for 0 to n-1, some of them at the same time.
func each(n int, f func(int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() { f(i); <-slots })
	}
	wg.Wait()
}

// replace writes a head in the place of the one that was seen.
func (j *journal) replace(ctx context.Context, was *seen, h head, chunks [][]byte) (*seen, error) {
	h.Format, h.Write = journalFormat, rand.Text()
	line, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	data := append(line, '\n')
	for _, c := range chunks {
		data = append(data, c...)
	}
	etag, err := j.bucket.put(ctx, j.headKey(), data, nil, condition{absent: was.etag == "", etag: was.etag})
	if err != nil {
		j.remember(nil)
		return nil, err
	}
	s := &seen{head: h, etag: etag, chunks: chunks}
	j.remember(s)
	return s, nil
}

// start is StartJournal.
func (j *journal) start(ctx context.Context, was string, first []byte) (string, error) {
	for try := 1; ; try++ {
		s, err := j.known(ctx)
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
			next.Old = append(next.Old, p.Name)
		}
		var chunks [][]byte
		if first != nil {
			next.Sizes, chunks = []int{len(first)}, [][]byte{bytes.Clone(first)}
		}
		n, err := j.replace(ctx, s, next, chunks)
		if errors.Is(err, errUnmet) && try < journalTries {
			continue // read again: it may only have grown
		}
		if err != nil {
			return "", err
		}
		j.clear(ctx, n)
		return n.version(), nil
	}
}

// clear removes parts of ended journals. What cannot be removed now is named in the head, and removed by a later run.
func (j *journal) clear(ctx context.Context, s *seen) {
	errs := make([]error, len(s.Old))
	each(len(s.Old), func(i int) { errs[i] = j.bucket.remove(ctx, j.folder+s.Old[i], "") })
	if errors.Join(errs...) != nil {
		return
	}
	cleared := *s
	cleared.Old = nil
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.last == s {
		j.last = &cleared
	}
}

// add is Append.
func (j *journal) add(ctx context.Context, version string, n int, chunk []byte) error {
	for try := 1; ; try++ {
		s, err := j.known(ctx)
		if err == nil && (s.version() != version || s.count() != n) {
			s, err = j.look(ctx)
		}
		if err != nil {
			return err
		}
		if s.version() != version || s.count() != n || n == 0 {
			return remote.ErrChanged
		}
		next, chunks := s.head, slices.Clip(s.chunks)
		next.Sizes = slices.Clip(next.Sizes)
		if size(chunks)+len(chunk) > inHead && len(chunks) > 0 {
			p, err := j.move(ctx, version, n, s)
			if err != nil {
				return err
			}
			next.Parts, next.Sizes, chunks = append(slices.Clip(s.Parts), p), nil, nil
		}
		next.Sizes, chunks = append(next.Sizes, len(chunk)), append(chunks, bytes.Clone(chunk))
		_, err = j.replace(ctx, s, next, chunks)
		if errors.Is(err, errUnmet) && try < journalTries {
			continue
		}
		return err
	}
}

// move writes the chunks of a head to an object of their own.
func (j *journal) move(ctx context.Context, version string, n int, s *seen) (part, error) {
	p := part{Name: fmt.Sprintf("%s/%08d-%s", version, n-len(s.chunks), rand.Text()), Sizes: s.Sizes}
	_, err := j.bucket.put(ctx, j.folder+p.Name, bytes.Join(s.chunks, nil), nil, condition{absent: true})
	return p, err
}

func size(chunks [][]byte) (n int) {
	for _, c := range chunks {
		n += len(c)
	}
	return n
}
