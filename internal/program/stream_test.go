package program

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinesSplitsLongLinesWithoutAddingEmptyOnes(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	tests := map[string]struct {
		in   string
		want []string
	}{
		"nothing":                        {"", nil},
		"empty lines":                    {"\n\n", []string{"", ""}},
		"no end":                         {"a\nb", []string{"a", "b"}},
		"just as long as allowed":        {long + "\ny\n", []string{long, "y"}},
		"one longer":                     {long + "xx\ny\n", []string{long, "xx", "y"}},
		"twice as long, then empty":      {long + long + "\n\n", []string{long, long, ""}},
		"without an end, twice as long":  {long + long, []string{long, long}},
		"carriage returns are line ends": {"a\r\nb\rc\r\n", []string{"a", "b\rc"}},
	}
	for name, test := range tests {
		for _, size := range []int{1, 1000, readSize, 10 * maxLine} {
			t.Run(fmt.Sprint(name, " in pieces of ", size), func(t *testing.T) {
				var got []string
				l := &lines{emit: func(s string) { got = append(got, s) }}
				for in := []byte(test.in); len(in) > 0; {
					n := min(size, len(in))
					l.Write(in[:n])
					in = in[n:]
				}
				l.flush()
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("(-want +got):\n%.500s", diff)
				}
			})
		}
	}
}

func TestEndsKeepsTheFirstAndTheLastBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		keep := 1 + rng.IntN(20)
		all := make([]byte, rng.IntN(100))
		for i := range all {
			all[i] = byte('!' + i)
		}
		e := &ends{max: keep}
		for rest := all; len(rest) > 0; {
			n := 1 + rng.IntN(len(rest))
			e.Write(rest[:n])
			rest = rest[n:]
		}
		want := all
		if left := len(all) - 2*keep; left > 0 {
			want = fmt.Appendf(nil, "%s\n... %d bytes left out here ...\n%s", all[:keep], left, all[len(all)-keep:])
		}
		if got := e.bytes(); !bytes.Equal(got, want) {
			t.Fatalf("keeping twice %d of %q\ngot  %q\nwant %q", keep, all, got, want)
		}
	}
}
