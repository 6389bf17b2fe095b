package pack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"runtime/debug"
)

const (
	infoMagic  = "\xff Go buildinf:"
	infoAlign  = 16
	infoHeader = 32      // the magic, the size of a pointer, flags, and space for pointers of old versions
	infoInline = 2       // a flag: the texts follow the header
	maxInfo    = 1 << 20 // of one text

	// What is around the text, by which it differs from others behind the magic.
	infoBegin = "\x30\x77\xaf\x0c\x92\x74\x08\x02\x41\xe1\xc1\x07\xe6\xd6\x18\xe6"
	infoEnd   = "\xf9\x32\x43\x31\x86\x18\x20\x72\x00\x82\x42\x10\x41\x16\xd8\xf2"

	maxBinary = 1 << 30
)

var errNoInfo = errors.New("it was not built by Go 1.18 or later")

// readBuildInfo returns what a Go binary records about its build. It searches the bytes of the file, so the format of
// the executable does not matter: the package debug/buildinfo, which reads five of them, would add 0.2 MB to the
// program.
func readBuildInfo(name string) (*debug.BuildInfo, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBinary))
	if err != nil {
		return nil, err
	}
	for at := 0; ; at += infoAlign {
		next := bytes.Index(data[at:], []byte(infoMagic))
		if next < 0 {
			return nil, errNoInfo
		}
		if at += next; at%infoAlign != 0 { // a text, such as the one above
			at -= at % infoAlign
			continue
		}
		if info, err := parseBuildInfo(data[at:]); err == nil {
			return info, nil
		}
	}
}

// parseBuildInfo parses the record at the beginning of data.
func parseBuildInfo(data []byte) (*debug.BuildInfo, error) {
	if len(data) < infoHeader || data[len(infoMagic)+1]&infoInline == 0 {
		return nil, errNoInfo
	}
	version, rest, ok := cutText(data[infoHeader:])
	if !ok {
		return nil, errNoInfo
	}
	text, _, ok := cutText(rest)
	const mark = 16 // bytes before and after the text
	if !ok || len(text) < 2*mark+1 || string(text[:mark]) != infoBegin || string(text[len(text)-mark:]) != infoEnd {
		return nil, errNoInfo
	}
	info, err := debug.ParseBuildInfo(string(text[mark : len(text)-mark]))
	if err != nil {
		return nil, err
	}
	info.GoVersion = string(version)
	return info, nil
}

// cutText returns the text at the beginning of data, which its length precedes, and the remaining data.
func cutText(data []byte) (text, rest []byte, ok bool) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > maxInfo || uint64(len(data)-n) < length {
		return nil, nil, false
	}
	return data[n : n+int(length)], data[n+int(length):], true
}

// needsLibraries reports whether a file is a 64-bit Linux executable that needs shared libraries: one that names a
// dynamic linker.
func needsLibraries(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	const (
		header   = 64
		is64Bit  = "\x7fELF\x02\x01" // with the least significant byte first, as on all platforms of releases
		interp   = 3                 // the type of the segment with the name of the dynamic linker
		segments = 1 << 10
	)
	head := make([]byte, header)
	if _, err := io.ReadFull(f, head); err != nil || !bytes.HasPrefix(head, []byte(is64Bit)) {
		return false // the question only matters on Linux
	}
	order := binary.LittleEndian
	at, size, count := int64(order.Uint64(head[32:])), int64(order.Uint16(head[54:])), int64(order.Uint16(head[56:]))
	for i := range min(count, segments) {
		var kind [4]byte
		if _, err := f.ReadAt(kind[:], at+i*size); err != nil {
			return false
		}
		if order.Uint32(kind[:]) == interp {
			return true
		}
	}
	return false
}
