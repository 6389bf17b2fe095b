package registries

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"unicode/utf8"

	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/regex"
)

// tooLargeNumber matches numbers that are too large for a version: the library would panic.
var tooLargeNumber = regex.Lazy(`[0-9]{19,}`)

const (
	maxSums      = 1 << 20
	maxSumsLines = 2_000 // the hashes of all of them are written to the lock file
)

// checksums is a list in the format of sha256sum.
type checksums []checksum

type checksum struct {
	sum  [sha256.Size]byte
	name string
}

// parseSums parses a list: a checksum, spaces and a name on each line.
func parseSums(text []byte) (checksums, error) {
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("it is not text")
	}
	var list checksums
	for number, line := range bytes.Split(text, []byte("\n")) {
		fields := bytes.Fields(line)
		if len(fields) == 0 {
			continue
		}
		var one checksum
		if len(fields) != 2 || hex.DecodedLen(len(fields[0])) != len(one.sum) {
			return nil, fmt.Errorf("line %d is not a checksum and a name", number+1)
		}
		if _, err := hex.Decode(one.sum[:], fields[0]); err != nil {
			return nil, fmt.Errorf("line %d has no SHA-256 checksum", number+1)
		}
		one.name = string(bytes.TrimPrefix(fields[1], []byte("*"))) // mark of a binary file
		for _, other := range list {
			if other.name == one.name && other.sum != one.sum {
				return nil, fmt.Errorf("it has two checksums for %.100q", one.name)
			}
		}
		if list = append(list, one); len(list) > maxSumsLines {
			return nil, fmt.Errorf("it has more than %d lines", maxSumsLines)
		}
	}
	return list, nil
}

// Sums returns the checksums in a list by the names of the files, in hexadecimal.
func Sums(text []byte) (map[string]string, error) {
	list, err := parseSums(text)
	sums := map[string]string{}
	for _, c := range list {
		sums[c.name] = hex.EncodeToString(c.sum[:])
	}
	return sums, err
}

func (list checksums) sum(name string) ([sha256.Size]byte, bool) {
	for _, c := range list {
		if c.name == name {
			return c.sum, true
		}
	}
	return [sha256.Size]byte{}, false
}

// hashes returns all checksums as hashes for the lock file.
func (list checksums) hashes() []lockfile.Hash {
	hashes := make([]lockfile.Hash, len(list))
	for i, c := range list {
		hashes[i] = archiveHash(c.sum)
	}
	return hashes
}
