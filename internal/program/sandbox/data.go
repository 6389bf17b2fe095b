//go:build !without_modules

package sandbox

import (
	"encoding/binary"
	"slices"
)

// Limits of the zeros that joining data adds.
const (
	maxGap     = 4 << 10
	maxPadding = 16 << 20
	// maxGroups limits the work, which is quadratic in the number of segments that remain.
	maxGroups = 1000
)

// segment is data that is written into the memory at the start.
type segment struct {
	offset uint64
	data   []byte
}

func (s segment) end() uint64 { return s.offset + uint64(len(s.data)) }

// joined returns a data section with fewer segments, which write the same. Go makes thousands of them, with a few zeros
// between, and each takes about half a microsecond in every run. Memory begins with zeros, so they can be written as
// well. A section with anything else in it is returned unchanged. No instruction may refer to segments.
func joined(section []byte) []byte {
	p := &parser{rest: section}
	var list []segment
	padding := uint64(0)
	for n := p.count(2); n > 0; n-- {
		s, ok := p.segment()
		if !ok {
			return section
		}
		if gap, ok := gapBefore(s, list); ok && padding+gap <= maxPadding {
			padding += gap
			last := &list[len(list)-1]
			last.data = append(append(last.data, make([]byte, gap)...), s.data...)
			continue
		}
		list = append(list, segment{s.offset, append([]byte(nil), s.data...)})
	}
	if p.err != nil || len(p.rest) > 0 {
		return section
	}
	out := binary.AppendUvarint(nil, uint64(len(list)))
	for _, s := range list {
		out = append(out, 0, 0x41)
		for n := s.offset; ; n >>= 7 {
			if n < 0x40 { // the sixth bit is the sign
				out = append(out, byte(n), 0x0b)
				break
			}
			out = append(out, byte(n)|0x80)
		}
		out = append(binary.AppendUvarint(out, uint64(len(s.data))), s.data...)
	}
	return out
}

// gapBefore returns the number of zeros between the last segment of a list and another one. It reports false if the
// other one does not follow soon, or if zeros there would overwrite other data.
func gapBefore(s segment, list []segment) (gap uint64, ok bool) {
	if len(list) == 0 || len(list) > maxGroups {
		return 0, false
	}
	others, end := list[:len(list)-1], list[len(list)-1].end()
	if s.offset < end || s.offset-end > maxGap || slices.ContainsFunc(others, func(o segment) bool {
		return o.offset < s.offset && o.end() > end
	}) {
		return 0, false
	}
	return s.offset - end, true
}

// segment reads data for a constant address below 2 GiB. It reports false for anything else.
func (p *parser) segment() (s segment, ok bool) {
	if p.number() != 0 || p.byte() != 0x41 {
		return s, false
	}
	for shift := 0; ; shift += 7 {
		b := p.byte()
		s.offset |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 {
				return s, false // a negative number, which means an address above 2 GiB
			}
			break
		}
		if shift == 28 {
			return s, false
		}
	}
	if p.byte() != 0x0b {
		return s, false
	}
	s.data = p.take(p.count(1))
	return s, p.err == nil && s.offset < 1<<31
}
