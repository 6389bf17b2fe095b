package store

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/internal/encryption"
)

// Answers returns the folder where programs store their answers, so that the answers outlive this process; "" if there
// is none. Programs write there themselves, so answers are not encrypted. If states are encrypted, the folder is
// therefore in the machine's memory, if it has such a folder (Linux): answers then survive the run, but not a restart
// of the machine.
func Answers(folder string, c *encryption.Cipher) string {
	if !c.Seals() {
		return folder
	}
	memory := memoryFolder()
	abs, err := filepath.Abs(folder)
	if memory == "" || err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(abs))
	return filepath.Join(memory, "tombolo-"+hex.EncodeToString(sum[:8])+".answers")
}
