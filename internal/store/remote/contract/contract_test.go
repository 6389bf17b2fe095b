package contract

import "testing"

func TestSentence(t *testing.T) {
	for name, want := range map[string]string{
		"OneHolder": "One holder", "WritesNameWhatTheyReplace": "Writes name what they replace",
		"ForceUnlockNeedsTheID": "Force unlock needs the ID", "": "",
	} {
		if got := Sentence(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
