package sandbox

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// sectionOf returns a data section.
func sectionOf(list []segment) []byte {
	out := binary.AppendUvarint(nil, uint64(len(list)))
	for _, s := range list {
		out = append(out, 0, 0x41)
		for n := s.offset; ; n >>= 7 {
			if n < 0x40 {
				out = append(out, byte(n), 0x0b)
				break
			}
			out = append(out, byte(n)|0x80)
		}
		out = append(binary.AppendUvarint(out, uint64(len(s.data))), s.data...)
	}
	return out
}

// written returns the memory after a section, and the number of its segments.
func written(t *testing.T, section []byte, size int) ([]byte, int) {
	t.Helper()
	p, memory := &parser{rest: section}, make([]byte, size)
	count := p.count(2)
	for range count {
		s, ok := p.segment()
		if !ok {
			t.Fatalf("%x: %v", section, p.err)
		}
		copy(memory[s.offset:], s.data)
	}
	return memory, count
}

func TestJoinedDataWritesTheSame(t *testing.T) {
	r, fewer := rand.New(rand.NewPCG(1, 2)), 0
	const size = 1 << 17
	for range 2000 {
		var list []segment
		for at := uint64(0); at < size-20_000 && len(list) < 50; {
			if at += r.Uint64N(1 << r.IntN(14)); r.IntN(20) == 0 {
				at = r.Uint64N(at + 1) // out of order
			}
			data := bytes.Repeat([]byte{byte(1 + len(list))}, r.IntN(20))
			list = append(list, segment{at, data})
			at += uint64(len(data))
		}
		section := sectionOf(list)
		before, count := written(t, section, size)
		after, left := written(t, joined(section), size)
		if !bytes.Equal(before, after) {
			t.Fatalf("%v writes something else when it is joined", list)
		}
		if left < count {
			fewer++
		}
	}
	if fewer < 500 {
		t.Errorf("only %d sections were joined", fewer)
	}
}

func TestOtherDataIsNotJoined(t *testing.T) {
	for name, section := range map[string][]byte{
		"passive":           {2, 1, 1, 'a', 1, 1, 'b'},
		"by a global":       {2, 0, 0x23, 0, 0x0b, 1, 'a', 0, 0x41, 1, 0x0b, 1, 'b'},
		"above 2 GiB":       {2, 0, 0x41, 0x7e, 0x0b, 1, 'a', 0, 0x41, 0x7f, 0x0b, 1, 'b'},
		"out of order":      {2, 0, 0x41, 9, 0x0b, 1, 'a', 0, 0x41, 1, 0x0b, 1, 'b'},
		"cut":               {2, 0, 0x41, 1, 0x0b, 1, 'a', 0, 0x41},
		"a rest":            {1, 0, 0x41, 1, 0x0b, 1, 'a', 0},
		"a number too long": {1, 0, 0x41, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0x0b, 1, 'a'},
		"empty":             {0},
	} {
		if got := joined(section); !bytes.Equal(got, section) {
			t.Errorf("%s: got %x", name, got)
		}
	}
	for _, gap := range []uint64{maxGap, maxGap + 1} {
		section := sectionOf([]segment{{0, []byte("a")}, {1 + gap, []byte("b")}})
		if got := joined(section)[0]; got == 1 != (gap <= maxGap) {
			t.Errorf("a gap of %d: %d segments", gap, got)
		}
	}
	// The code refers to segments if the module counts them in advance.
	module := append(bytes.Clone(header), 12, 1, 2)
	data := sectionOf([]segment{{0, []byte("a")}, {1, []byte("b")}})
	module = append(append(module, 11, byte(len(data))), data...)
	if got, err := checked(module); err != nil || !bytes.Equal(got, module) {
		t.Errorf("got %x, %v", got, err)
	}
}
