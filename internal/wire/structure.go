package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The decoders of the value library recurse as deeply as the data is nested, and allocate lengths that the data
// announces. So the structure of data from a peer is checked first, without recursion, and with allocations
// proportional only to the size of the data.

var (
	errCut      = errors.New("the data ends in the middle of a value")
	errTrailing = errors.New("there is more data after the value")
	errDeep     = fmt.Errorf("the value is nested more than %d levels deep", maxValueDepth)
)

// checkMsgpack returns an error unless data is exactly one msgpack value whose nesting is within the limit and whose
// lengths are correct.
func checkMsgpack(b []byte) error {
	var open [maxValueDepth]uint64 // number of missing values of each open array or map
	depth := 0
	for pos := 0; ; {
		if pos >= len(b) {
			return errCut
		}
		skip, members, err := msgpackItem(b[pos:])
		if err != nil {
			return err
		}
		if c := b[pos]; c >= 0xc4 && c <= 0xc6 {
			// Binary data is the type of a dynamic value, in JSON.
			if err := checkJSON(b[pos : pos+skip]); err != nil {
				return err
			}
		}
		pos += skip
		if members > uint64(len(b)-pos) {
			return errCut // each member needs at least one byte
		}
		if members > 0 {
			if depth == maxValueDepth {
				return errDeep
			}
			open[depth] = members
			depth++
			continue
		}
		for depth > 0 {
			open[depth-1]--
			if open[depth-1] > 0 {
				break
			}
			depth--
		}
		if depth == 0 {
			if pos != len(b) {
				return errTrailing
			}
			return nil
		}
	}
}

// msgpackItem returns the size of the first item, without the members of an array or map, and the number of these
// members.
func msgpackItem(b []byte) (size int, members uint64, err error) {
	c := b[0]
	switch {
	case c <= 0x7f, c >= 0xe0, c == 0xc0, c == 0xc2, c == 0xc3: // small number, nil, bool
		return 1, 0, nil
	case c <= 0x8f:
		return 1, 2 * uint64(c&0x0f), nil
	case c <= 0x9f:
		return 1, uint64(c & 0x0f), nil
	case c <= 0xbf:
		return within(b, 1, uint64(c&0x1f))
	}
	switch c {
	case 0xc4, 0xc5, 0xc6: // binary with a length of 1, 2, 4 bytes
		return sized(b, 1<<(c-0xc4), 0)
	case 0xc7, 0xc8, 0xc9: // extension with a length; one more byte is its type
		return sized(b, 1<<(c-0xc7), 1)
	case 0xca, 0xcb: // float
		return within(b, 1, 4<<(c-0xca))
	case 0xcc, 0xcd, 0xce, 0xcf: // unsigned
		return within(b, 1, 1<<(c-0xcc))
	case 0xd0, 0xd1, 0xd2, 0xd3: // signed
		return within(b, 1, 1<<(c-0xd0))
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8: // extension of 1, 2, 4, 8, 16 bytes
		return within(b, 2, 1<<(c-0xd4))
	case 0xd9, 0xda, 0xdb: // string
		return sized(b, 1<<(c-0xd9), 0)
	case 0xdc, 0xdd: // array with a length of 2, 4 bytes
		n, ok := length(b, 2<<(c-0xdc))
		if !ok {
			return 0, 0, errCut
		}
		return 1 + 2<<(c-0xdc), n, nil
	case 0xde, 0xdf: // map
		n, ok := length(b, 2<<(c-0xde))
		if !ok {
			return 0, 0, errCut
		}
		return 1 + 2<<(c-0xde), 2 * n, nil
	}
	return 0, 0, fmt.Errorf("the byte 0x%02x does not begin a value", c)
}

// sized returns the size of an item whose length is a number of the given width after the first byte.
func sized(b []byte, width int, extra uint64) (int, uint64, error) {
	n, ok := length(b, width)
	if !ok {
		return 0, 0, errCut
	}
	return within(b, 1+width, n+extra)
}

// within returns the size of an item with a head and a body, which must not exceed the data.
func within(b []byte, head int, body uint64) (int, uint64, error) {
	if uint64(len(b)) < uint64(head)+body {
		return 0, 0, errCut
	}
	return head + int(body), 0, nil
}

func length(b []byte, width int) (uint64, bool) {
	if len(b) < 1+width {
		return 0, false
	}
	switch width {
	case 1:
		return uint64(b[1]), true
	case 2:
		return uint64(binary.BigEndian.Uint16(b[1:])), true
	}
	return uint64(binary.BigEndian.Uint32(b[1:])), true
}

// checkJSON returns an error if the nesting of a JSON document exceeds the limit. The decoder checks everything else.
func checkJSON(b []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{', c == '[':
			if depth++; depth > maxValueDepth {
				return errDeep
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return nil
}
