package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"

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
// The checksum covers nonce, length, sequence number, kind and payload: what an earlier file left on the disk is never
// taken for a record. Sequence numbers count from 0 without gaps. The first record is a header. What follows the
// longest valid prefix was never acknowledged, and is ignored.
const (
	magic       = "tombolo\x01"
	prefixSize  = len(magic) + 8
	frameSize   = 4 + 4 + 8 + 1
	maxPayload  = 1 << 30
	formatLevel = 1 // of the payloads
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type kind uint8

// The kinds of records. Their numbers are part of the format.
const (
	kindHeader     kind = 1 + iota // header: what the journal stands on
	kindRun                        // state.RunInfo: the records behind belong to this run
	kindIntent                     // intentRecord: an operation begins
	kindPartial                    // resultRecord with an object: what is known of it early
	kindResult                     // resultRecord: it ended so
	kindEdits                      // resultRecord without an operation: edits that no outside effect depends on
	kindCheckpoint                 // checkpoint: the image is complete, the state file is about to become the same
	kindDone                       // checkpoint: the state file is the same
	kindResolve                    // resolveRecord: a person or a later run said how operations ended
	kindUnfolded                   // unfoldedRecord: a result that waits for a person
	kindClose                      // the run ended by itself
	kindDurable                    // durableRecord: what stands before was durable when this was written
)

type nonce [8]byte

// header says what a journal stands on: the state file's content, by its hash; "" is no file at all.
type header struct {
	Format  int       `json:"format"`
	Lineage string    `json:"lineage"`
	Serial  uint64    `json:"serial"`
	Base    string    `json:"base"`
	Host    string    `json:"host,omitempty"`
	PID     int       `json:"pid,omitempty"`
	Began   string    `json:"began,omitempty"` // when the process did, where that is known; see began
	Created time.Time `json:"created"`
	// Rescue lists the folders where the journal goes on when it cannot be written any more. They are part of it: the
	// next run may be started elsewhere.
	Rescue []string `json:"rescue,omitempty"`
}

type intentRecord struct {
	Op string `json:"op"`
	// Run is set for operations carried over from an earlier journal.
	Run    *state.RunInfo  `json:"run,omitempty"`
	Intent json.RawMessage `json:"intent"`
}

type resultRecord struct {
	Op     string          `json:"op,omitempty"`
	Run    *state.RunInfo  `json:"run,omitempty"` // as in intentRecord
	Edits  json.RawMessage `json:"edits,omitempty"`
	Object json.RawMessage `json:"object,omitempty"`
	// Was holds the id of what stood at an address before the edits, for those that change or remove something there.
	Was map[string]string `json:"was,omitempty"`
}

// checkpoint announces a snapshot: the state file gets this content, and all records up to Covers are in it.
type checkpoint struct {
	Serial uint64 `json:"serial"`
	Hash   string `json:"hash"`
	Size   int64  `json:"size"`
	Covers uint64 `json:"covers"`
}

// durableRecord says that the records with smaller numbers were durable when it was written.
type durableRecord struct {
	Below uint64 `json:"below"`
}

type resolveRecord struct {
	Tokens []string        `json:"tokens"`
	Edits  json.RawMessage `json:"edits"`
}

type unfoldedRecord struct {
	Op    string          `json:"op"`
	Run   state.RunInfo   `json:"run"`
	Edits json.RawMessage `json:"edits"`
	Why   string          `json:"why"`
}

// record is one record as read.
type record struct {
	seq     uint64
	kind    kind
	payload []byte
}

// appendRecord frames a payload.
func appendRecord(dst []byte, n nonce, seq uint64, k kind, payload []byte) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload)))
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, seq)
	dst = append(dst, byte(k))
	dst = append(dst, payload...)
	binary.LittleEndian.PutUint32(dst[start+4:], checksum(n, dst[start:]))
	return dst
}

func checksum(n nonce, frame []byte) uint32 {
	sum := crc32.Update(0, castagnoli, n[:])
	sum = crc32.Update(sum, castagnoli, frame[:4])
	return crc32.Update(sum, castagnoli, frame[8:])
}

// parsed is a journal as read.
type parsed struct {
	nonce   nonce
	header  header
	records []record // all but the header
	own     int      // how many of them are in the journal itself, and not in rescue files
	end     int64    // where the valid prefix ends in the file
	next    uint64   // the sequence number behind the last record
	marks   []mark   // snapshots, oldest first; the first is what the header says
}

// mark is a content that the state file had, or was about to have.
type mark struct {
	checkpoint
	done bool
}

// parseJournal reads the longest valid prefix. A journal is put in its place only when its header is durable, so one
// without a valid header was damaged later.
//
// rescues returns what is found in rescue files of the journal; it may be nil.
func parseJournal(b []byte, rescues func(*parsed) ([][]byte, error)) (*parsed, error) {
	if len(b) < prefixSize || !bytes.HasPrefix(b, []byte(magic)) {
		return nil, fmt.Errorf("it does not start like a journal of this version")
	}
	p := &parsed{nonce: nonce(b[len(magic):prefixSize]), end: int64(prefixSize)}
	p.add(b)
	if len(p.records) == 0 || p.records[0].kind != kindHeader {
		return nil, fmt.Errorf("its header is damaged")
	}
	if err := json.Unmarshal(p.records[0].payload, &p.header); err != nil {
		return nil, fmt.Errorf("its header is damaged: %w", err)
	}
	if p.header.Format != formatLevel {
		return nil,
			fmt.Errorf(
				"it has format %d, and this program knows format %d: use the version of the program that wrote it",
				p.header.Format, formatLevel)
	}
	p.records = p.records[1:]
	p.own = len(p.records)
	if err := p.torn(b[p.end:]); err != nil {
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
	if err := p.findMarks(); err != nil {
		return nil, err
	}
	return p, nil
}

// add takes in the valid records that b holds from p.end on.
func (p *parsed) add(b []byte) {
	for {
		r, size, ok := cutRecord(b[p.end:], p.nonce)
		if !ok || r.seq != p.next {
			return
		}
		p.records = append(p.records, r)
		p.end += int64(size)
		p.next++
	}
}

// torn judges what follows the longest valid prefix. A power loss tears off only what was never acknowledged. Where a
// later record says that what is missing was durable, it is damage, and all that follows would be lost with it.
func (p *parsed) torn(rest []byte) error {
	behind := 0
	var below uint64
	for at := 0; at+frameSize <= len(rest); {
		length := binary.LittleEndian.Uint32(rest[at:])
		seq := binary.LittleEndian.Uint64(rest[at+8:])
		if int64(length) > int64(len(rest)-at-frameSize) || seq <= p.next || seq-p.next > uint64(len(rest)/frameSize)+
			1 {
			at++
			continue
		}
		r, size, ok := cutRecord(rest[at:], p.nonce)
		if !ok {
			at++
			continue
		}
		at += size
		if behind++; r.kind == kindDurable {
			var d durableRecord
			if err := json.Unmarshal(r.payload, &d); err != nil {
				return fmt.Errorf("record %d is damaged: %w", r.seq, err)
			}
			below = max(below, d.Below)
		}
	}
	if below <= p.next {
		return nil
	}
	return fmt.Errorf(
		"record %d is damaged, and %d records behind it are whole: results that were stored would be lost",
		p.next, behind)
}

func cutRecord(b []byte, n nonce) (r record, size int, ok bool) {
	if len(b) < frameSize {
		return r, 0, false
	}
	length := binary.LittleEndian.Uint32(b)
	if length > maxPayload || len(b) < frameSize+int(length) {
		return r, 0, false
	}
	size = frameSize + int(length)
	if binary.LittleEndian.Uint32(b[4:]) != checksum(n, b[:size]) {
		return r, 0, false
	}
	return record{seq: binary.LittleEndian.Uint64(b[8:]), kind: kind(b[16]), payload: b[frameSize:size]}, size, true
}

// rescued takes in the records of a rescue file, which carry on where the journal could not be written any more: all
// before them was durable.
func (p *parsed) rescued(b []byte) error {
	if len(b) < prefixSize || !bytes.HasPrefix(b, []byte(magic)) || nonce(b[len(magic):prefixSize]) != p.nonce {
		return nil
	}
	if r, _, ok := cutRecord(b[prefixSize:], p.nonce); ok && r.seq > p.next {
		return fmt.Errorf("record %d is missing, and another file goes on with record %d", p.next, r.seq)
	}
	for at := prefixSize; ; {
		r, size, ok := cutRecord(b[at:], p.nonce)
		if !ok || r.seq > p.next {
			break
		}
		if r.seq == p.next {
			p.records = append(p.records, r)
			p.next++
		}
		at += size
	}
	return nil
}

func (p *parsed) findMarks() error {
	p.marks = []mark{{checkpoint{Serial: p.header.Serial, Hash: p.header.Base}, true}}
	for _, r := range p.records {
		if r.kind != kindCheckpoint && r.kind != kindDone {
			continue
		}
		var c checkpoint
		if err := json.Unmarshal(r.payload, &c); err != nil {
			return fmt.Errorf("record %d is damaged: %w", r.seq, err)
		}
		if last := &p.marks[len(p.marks)-1]; r.kind == kindDone && last.Hash == c.Hash {
			last.done = true
		} else if r.kind == kindCheckpoint {
			p.marks = append(p.marks, mark{checkpoint: c})
		}
	}
	return nil
}

// markOf finds the last snapshot of a content; nil when the state file never had it.
func (p *parsed) markOf(hash string) *mark {
	for i := len(p.marks) - 1; i >= 0; i-- {
		if p.marks[i].Hash == hash {
			return &p.marks[i]
		}
	}
	return nil
}

func (p *parsed) lastMark() *mark { return &p.marks[len(p.marks)-1] }
