package registries

import (
	"fmt"
	"testing"
)

func TestHashiCorpsKeysEqualThePublishedOnes(t *testing.T) {
	for want, text := range map[string]string{
		"c874011f0ab405110d02105534365d9472d7468f": Anchors{}.orHashiCorp().Official,
		"51890657c5acdb4b823086567d72d4268e4660fc": Anchors{}.orHashiCorp().Partners,
	} {
		ring, err := keyring(text)
		if err != nil || len(ring) != 1 {
			t.Fatalf("%d keys, %v", len(ring), err)
		}
		if got := fmt.Sprintf("%x", ring[0].PrimaryKey.Fingerprint); got != want {
			t.Errorf("got the key %s, want %s", got, want)
		}
	}
}
