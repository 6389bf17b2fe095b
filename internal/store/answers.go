package store

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/internal/encryption"
)

// Answers returns the folder in which programs leave their answers, so that these survive whoever asked; "" for
// nowhere. Programs write there themselves, so that answers are plain. Where states are encrypted they stay in the
// memory of the machine therefore, where it has a folder for that (Linux), and survive the end of the run, but not of
// the machine.
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
