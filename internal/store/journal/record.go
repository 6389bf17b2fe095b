// Package journal encodes the intents and results of a run as records, reads them after a run was killed, and
// implements the open journal of a run. Other packages store the records: in a file beside a local state, or in chunks
// beside a remote one.
package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/state"
)

// A journal file is
//
//	magic (8 bytes), nonce (8 bytes), records
//
// and a record is
//
//	length of the payload (4 bytes, little endian), CRC-32C (4), sequence number (8), kind (1), payload (JSON)
//
// The checksum covers nonce, length, sequence number, kind and payload, so that data of an earlier file on the disk is
// never taken for a record. Sequence numbers count from 0 without gaps. The first record is a header. Data after the
// longest valid prefix was never acknowledged and is ignored.
const (
	// Magic begins a journal. PrefixSize is the offset of its first record, and FrameSize the size of a record without
	// its payload.
	Magic       = "tombolo\x01"
	PrefixSize  = len(Magic) + 8
	FrameSize   = 4 + 4 + 8 + 1
	maxPayload  = 1 << 30
	FormatLevel = 1 // version of the payloads
	sealedLevel = 2 // version of the payloads of a journal with a key
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Kind is the kind of a record.
type Kind uint8

// The kinds of records. Their numbers are part of the format.
const (
	KindHeader     Kind = 1 + iota // header: the base of the journal
	KindRun                        // state.RunInfo: the following records belong to this run
	KindIntent                     // IntentRecord: an operation begins
	KindPartial                    // ResultRecord with an early object
	KindResult                     // ResultRecord: the result of an operation
	KindEdits                      // ResultRecord without an operation: edits without side effects outside the state
	KindCheckpoint                 // Checkpoint: the image is complete; the state file will be replaced with it
	KindDone                       // Checkpoint: the state file has been replaced
	KindResolve                    // ResolveRecord: how operations ended, by the decision of a person or a later run
	KindUnfolded                   // UnfoldedRecord: a result that waits for a person
	KindClose                      // the run ended normally
	KindDurable                    // DurableRecord: all earlier records were durable when this one was written
	KindSeal                       // SealRecord: the lock to which the journal belongs from here on
	kindEnd                        // not a kind: one more than the last
)

// Nonce distinguishes the records of one journal from those of others.
type Nonce [8]byte

// Header identifies the base of a journal by the hash of the state file's content; "" means no file.
type Header struct {
	Format  int       `json:"format"`
	Lineage string    `json:"lineage"`
	Serial  uint64    `json:"serial"`
	Base    string    `json:"base"`
	Host    string    `json:"host,omitempty"`
	PID     int       `json:"pid,omitempty"`
	Began   string    `json:"began,omitempty"` // when the process started, if known
	Created time.Time `json:"created"`
	// Rescue lists the folders where the journal continues if it can no longer be written. The header stores them
	// because the next run may be started elsewhere.
	Rescue []string `json:"rescue,omitempty"`
	// Lock is the ID of the lock under which a remote journal was begun.
	Lock string `json:"lock,omitempty"`
	// Key is the key of the records, encrypted like the state. Without it, the records are not encrypted.
	Key json.RawMessage `json:"key,omitempty"`
}

// NewHeader returns the header of a journal with this key. Its base is not set.
func NewHeader(k *Key) Header {
	if k == nil {
		return Header{Format: FormatLevel}
	}
	return Header{Format: sealedLevel, Key: k.Sealed}
}

// IntentRecord begins an operation.
type IntentRecord struct {
	Op string `json:"op"`
	// Run is set for operations carried over from an earlier journal.
	Run    *state.RunInfo  `json:"run,omitempty"`
	Intent json.RawMessage `json:"intent"`
}

// ResultRecord contains the result of an operation, or edits without an operation.
type ResultRecord struct {
	Op     string          `json:"op,omitempty"`
	Run    *state.RunInfo  `json:"run,omitempty"` // as in IntentRecord
	Edits  json.RawMessage `json:"edits,omitempty"`
	Object json.RawMessage `json:"object,omitempty"`
	// Was holds the identity of the object at an address before the edits, for edits that change or remove it.
	Was map[string]string `json:"was,omitempty"`
}

// Checkpoint announces a snapshot: the state file gets this content, which includes all records up to Covers.
type Checkpoint struct {
	Serial uint64 `json:"serial"`
	Hash   string `json:"hash"`
	Size   int64  `json:"size"`
	Covers uint64 `json:"covers"`
}

// DurableRecord means that the records with smaller numbers were durable when it was written.
type DurableRecord struct {
	Below uint64 `json:"below"`
}

// SealRecord names the lock under which a journal continues. The former holder can add nothing more, because the
// record's position is taken.
type SealRecord struct {
	Lock string `json:"lock"`
	Who  string `json:"who,omitempty"`
}

// ResolveRecord ends operations of earlier runs.
type ResolveRecord struct {
	Tokens []string        `json:"tokens"`
	Edits  json.RawMessage `json:"edits"`
}

// UnfoldedRecord is a result that does not fit the current state.
type UnfoldedRecord struct {
	Op    string          `json:"op"`
	Run   state.RunInfo   `json:"run"`
	Edits json.RawMessage `json:"edits"`
	Why   string          `json:"why"`
}

// Record is one record as read.
type Record struct {
	Seq     uint64
	Kind    Kind
	Payload []byte
}

// Append appends a record to dst.
func Append(dst []byte, n Nonce, seq uint64, k Kind, payload []byte) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload)))
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, seq)
	dst = append(dst, byte(k))
	dst = append(dst, payload...)
	binary.LittleEndian.PutUint32(dst[start+4:], checksum(n, dst[start:]))
	return dst
}

func checksum(n Nonce, frame []byte) uint32 {
	sum := crc32.Update(0, castagnoli, n[:])
	sum = crc32.Update(sum, castagnoli, frame[:4])
	return crc32.Update(sum, castagnoli, frame[8:])
}

// Parsed is a decoded journal.
type Parsed struct {
	Nonce   Nonce
	Header  Header
	Records []Record // all except the header
	Own     int      // number of records in the journal itself, and not in rescue files
	End     int64    // offset of the end of the valid prefix
	Next    uint64   // sequence number after the last record
	Marks   []Mark   // snapshots, oldest first; the first is the header's
	Key     *Key     // of the records, which are decrypted here
	cipher  *encryption.Cipher
}

// Mark is a content that the state file had or was about to get.
type Mark struct {
	Checkpoint
	Done bool
}

// Parse reads the longest valid prefix. A journal only gets its name after its header is durable, so one without a
// valid header was damaged later.
//
// rescues returns the contents of the journal's rescue files; it may be nil. c decrypts the journal's key; with nil,
// only unencrypted records can be read.
func Parse(b []byte, c *encryption.Cipher, rescues func(*Parsed) ([][]byte, error)) (*Parsed, error) {
	if len(b) < PrefixSize || !bytes.HasPrefix(b, []byte(Magic)) {
		return nil, fmt.Errorf("it does not begin like a journal of this version")
	}
	p := &Parsed{Nonce: Nonce(b[len(Magic):PrefixSize]), End: int64(PrefixSize), cipher: c}
	p.add(b)
	if len(p.Records) == 0 || p.Records[0].Kind != KindHeader {
		return nil, fmt.Errorf("its header is damaged")
	}
	if err := json.Unmarshal(p.Records[0].Payload, &p.Header); err != nil {
		return nil, fmt.Errorf("its header is damaged: %w", err)
	}
	if p.Header.Format != FormatLevel && p.Header.Format != sealedLevel {
		return nil,
			fmt.Errorf(
				"it has format %d, but this program supports formats up to %d. Use the version of the program that "+
					"wrote it",
				p.Header.Format, sealedLevel)
	}
	var err error
	if p.Key, err = openKey(c, p.Header.Key); err != nil {
		return nil, err
	}
	p.Records = p.Records[1:]
	p.Own = len(p.Records)
	if err := p.torn(b[p.End:]); err != nil {
		return nil, err
	}
	if rescues != nil {
		files, err := rescues(p)
		if err != nil {
			return nil, err
		}
		for _, r := range files {
			if err := p.rescued(r); err != nil {
				return nil, err
			}
		}
	}
	for i := range p.Records {
		if err := p.Key.open(p.Nonce, &p.Records[i]); err != nil {
			return nil, err
		}
	}
	if err := p.findMarks(); err != nil {
		return nil, err
	}
	return p, nil
}

// add appends the valid records that b contains from p.end on.
func (p *Parsed) add(b []byte) {
	for {
		r, size, ok := cutRecord(b[p.End:], p.Nonce)
		if !ok || r.Seq != p.Next {
			return
		}
		p.Records = append(p.Records, r)
		p.End += int64(size)
		p.Next++
	}
}

// torn classifies the bytes after the longest valid prefix. A power loss removes only unacknowledged records. If a
// later record reports that the missing ones were durable, the journal is damaged, and everything after the gap would
// be lost, too.
func (p *Parsed) torn(rest []byte) error {
	behind := 0
	var below uint64
	for at := 0; at+FrameSize <= len(rest); {
		length := binary.LittleEndian.Uint32(rest[at:])
		seq := binary.LittleEndian.Uint64(rest[at+8:])
		if int64(length) > int64(len(rest)-at-FrameSize) || seq <= p.Next || seq-p.Next > uint64(len(rest)/FrameSize)+
			1 {
			at++
			continue
		}
		r, size, ok := cutRecord(rest[at:], p.Nonce)
		if !ok {
			at++
			continue
		}
		at += size
		if behind++; r.Kind == KindDurable {
			var d DurableRecord
			if err := json.Unmarshal(r.Payload, &d); err != nil {
				return fmt.Errorf("record %d is damaged: %w", r.Seq, err)
			}
			below = max(below, d.Below)
		}
	}
	if below <= p.Next {
		return nil
	}
	return fmt.Errorf(
		"record %d is damaged, but %d records after it are intact, and their results would be lost",
		p.Next, behind)
}

func cutRecord(b []byte, n Nonce) (r Record, size int, ok bool) {
	if len(b) < FrameSize {
		return r, 0, false
	}
	length := binary.LittleEndian.Uint32(b)
	if length > maxPayload || len(b) < FrameSize+int(length) {
		return r, 0, false
	}
	size = FrameSize + int(length)
	if binary.LittleEndian.Uint32(b[4:]) != checksum(n, b[:size]) {
		return r, 0, false
	}
	return Record{Seq: binary.LittleEndian.Uint64(b[8:]), Kind: Kind(b[16]), Payload: b[FrameSize:size]}, size, true
}

// HasRecord reports whether b begins with a complete record of the journal that begins with head.
func HasRecord(b, head []byte) bool {
	if len(head) < PrefixSize {
		return false
	}
	_, _, ok := cutRecord(b, Nonce(head[len(Magic):PrefixSize]))
	return ok
}

// rescued appends the records of a rescue file, which continue the journal from where it could not be written. All
// earlier records were durable.
func (p *Parsed) rescued(b []byte) error {
	if len(b) < PrefixSize || !bytes.HasPrefix(b, []byte(Magic)) || Nonce(b[len(Magic):PrefixSize]) != p.Nonce {
		return nil
	}
	if r, _, ok := cutRecord(b[PrefixSize:], p.Nonce); ok && r.Seq > p.Next {
		return fmt.Errorf("record %d is missing, and another file continues with record %d", p.Next, r.Seq)
	}
	for at := PrefixSize; ; {
		r, size, ok := cutRecord(b[at:], p.Nonce)
		if !ok || r.Seq > p.Next {
			break
		}
		if r.Seq == p.Next {
			p.Records = append(p.Records, r)
			p.Next++
		}
		at += size
	}
	return nil
}

func (p *Parsed) findMarks() error {
	p.Marks = []Mark{{Checkpoint{Serial: p.Header.Serial, Hash: p.Header.Base}, true}}
	for _, r := range p.Records {
		if r.Kind != KindCheckpoint && r.Kind != KindDone {
			continue
		}
		var c Checkpoint
		if err := json.Unmarshal(r.Payload, &c); err != nil {
			return fmt.Errorf("record %d is damaged: %w", r.Seq, err)
		}
		if last := &p.Marks[len(p.Marks)-1]; r.Kind == KindDone && last.Hash == c.Hash {
			last.Done = true
		} else if r.Kind == KindCheckpoint {
			p.Marks = append(p.Marks, Mark{Checkpoint: c})
		}
	}
	return nil
}

// MarkOf returns the last snapshot of a content, or nil if the state file never had it.
func (p *Parsed) MarkOf(hash string) *Mark {
	for i := len(p.Marks) - 1; i >= 0; i-- {
		if p.Marks[i].Hash == hash {
			return &p.Marks[i]
		}
	}
	return nil
}

// LastMark returns the newest content that the state had or was about to get.
func (p *Parsed) LastMark() *Mark { return &p.Marks[len(p.Marks)-1] }

// LastDone returns the last snapshot that the state file is known to have got.
func (p *Parsed) LastDone() Mark {
	for i := len(p.Marks) - 1; i > 0; i-- {
		if p.Marks[i].Done {
			return p.Marks[i]
		}
	}
	return p.Marks[0]
}

// Minimal reports whether a journal only contains operations carried over to this content.
func (p *Parsed) Minimal(hash string) bool {
	return p.Header.Base == hash && !slices.ContainsFunc(p.Records, func(r Record) bool {
		return r.Kind != KindDurable && r.Kind != KindSeal && (r.Kind != KindIntent && r.Kind != KindPartial &&
			r.Kind != KindUnfolded ||
			!carried(r))
	})
}

func carried(r Record) bool {
	var has struct{ Run *json.RawMessage }
	return r.Kind == KindUnfolded || json.Unmarshal(r.Payload, &has) == nil && has.Run != nil
}

// Resume reads the records of a file in which a run continued its journal when that could not be written. If another
// run has continued the journal since, it returns the results in the file: a person must decide about them.
func (p *Parsed) Resume(b []byte) (late []state.Unfolded, err error) {
	if len(b) < PrefixSize || !bytes.HasPrefix(b, []byte(Magic)) || Nonce(b[len(Magic):PrefixSize]) != p.Nonce {
		return nil, nil
	}
	forked := false
	var run state.RunInfo
	for at := PrefixSize; ; {
		r, size, ok := cutRecord(b[at:], p.Nonce)
		if !ok {
			break
		}
		at += size
		if err := p.Key.open(p.Nonce, &r); err != nil {
			return nil, err
		}
		switch {
		case r.Seq == 0: // the run, for journals that no longer contain it
			continue
		case !forked && r.Seq > p.Next:
			return nil, fmt.Errorf("record %d is missing, and this file continues with record %d", p.Next, r.Seq)
		case !forked && r.Seq == p.Next:
			p.Records = append(p.Records, r)
			p.Next++
			continue
		case !forked && r.Seq > 0 && p.same(r):
			continue
		case !forked:
			forked = true
			run = p.runBefore(r.Seq)
		}
		u, err := r.late(&run)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", r.Seq, err)
		}
		if u != nil {
			late = append(late, *u)
		}
	}
	return late, p.findMarks()
}

// Adopt reads the results of operations in flight from a file of another journal: the one in which they began, which
// another run has replaced since. It reports whether there are any.
func (p *Parsed) Adopt(b []byte, inFlight []state.InFlight) (bool, error) {
	if len(b) < PrefixSize || !bytes.HasPrefix(b, []byte(Magic)) {
		return false, nil
	}
	nonce := Nonce(b[len(Magic):PrefixSize])
	var run state.RunInfo
	var key *Key
	adopted := false
	for at := PrefixSize; ; {
		r, size, ok := cutRecord(b[at:], nonce)
		if !ok {
			break
		}
		at += size
		if err := key.open(nonce, &r); err != nil {
			return false, err
		}
		var res ResultRecord
		switch r.Kind {
		case KindRun:
			var saved Saved
			if err := json.Unmarshal(r.Payload, &saved); err != nil {
				return false, fmt.Errorf("record %d: %w", r.Seq, err)
			}
			run = saved.RunInfo
			var err error
			if key == nil {
				if key, err = openKey(p.cipher, saved.Key); err != nil {
					return false, err
				}
			}
			continue
		case KindResult:
			if err := json.Unmarshal(r.Payload, &res); err != nil {
				return false, fmt.Errorf("record %d: %w", r.Seq, err)
			}
		default:
			continue
		}
		if res.Run == nil {
			res.Run = new(run)
		}
		token := state.Token(*res.Run, res.Op)
		if !slices.ContainsFunc(inFlight, func(f state.InFlight) bool { return f.Token() == token }) {
			continue
		}
		payload, err := json.Marshal(res)
		if err != nil {
			return false, err
		}
		p.Records = append(p.Records, Record{Seq: p.Next, Kind: KindResult, Payload: payload})
		p.Next++
		adopted = true
	}
	return adopted, p.findMarks()
}

// same reports whether the journal contains this very record.
func (p *Parsed) same(r Record) bool {
	if n := len(p.Records) - int(p.Next-r.Seq); n >= 0 && n < len(p.Records) {
		return p.Records[n].Kind == r.Kind && bytes.Equal(p.Records[n].Payload, r.Payload)
	}
	return false
}

// runBefore returns the run of the records before a number.
func (p *Parsed) runBefore(seq uint64) (run state.RunInfo) {
	for _, r := range p.Records {
		if r.Seq < seq && r.Kind == KindRun && json.Unmarshal(r.Payload, &run) != nil {
			return state.RunInfo{}
		}
	}
	return run
}

// late returns the result in a record that was written after its journal passed to another run.
func (r Record) late(run *state.RunInfo) (*state.Unfolded, error) {
	if r.Kind == KindRun {
		return nil, json.Unmarshal(r.Payload, run)
	}
	if r.Kind != KindResult && r.Kind != KindEdits {
		return nil, nil
	}
	var res ResultRecord
	if err := json.Unmarshal(r.Payload, &res); err != nil || len(res.Edits) == 0 {
		return nil, err
	}
	edits, err := state.DecodeEdits(res.Edits)
	if err != nil || len(edits) == 0 {
		return nil, err
	}
	u := &state.Unfolded{Op: res.Op, Run: *run, Edits: edits,
		Why: "the run had lost its lock before this result, and another run had started"}
	if u.Op == "" {
		u.Op = fmt.Sprintf("record-%d", r.Seq)
	}
	return u, nil
}
