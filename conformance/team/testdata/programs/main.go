// Program for keys and for a method: equivalent to keys.py and method.py of the tests.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(what string) error {
	if what == "keys" {
		fmt.Println(`{"magic":"OpenTofu-External-Key-Provider","version":1}`)
		return keys()
	}
	fmt.Println(`{"magic":"OpenTofu-External-Encryption-Method","version":1}`)
	return method(what)
}

func keys() error {
	var meta any
	if err := json.NewDecoder(os.Stdin).Decode(&meta); err != nil {
		return err
	}
	key := make([]byte, 32)
	for n := range key {
		key[n] = byte(n)
	}
	all := map[string][]byte{"encryption_key": key}
	if meta != nil {
		all["decryption_key"] = key
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"keys": all,
		"meta": map[string]any{"external_data": map[string]int{"n": 7}}})
}

func method(what string) error {
	var said struct{ Key, Payload []byte }
	if err := json.NewDecoder(os.Stdin).Decode(&said); err != nil {
		return err
	}
	key, text := said.Key, said.Payload
	if len(key) == 0 {
		key = []byte{0x55}
	}
	tag := func(text []byte) []byte {
		sum := sha256.Sum256(append(bytes.Clone(key), text...))
		return sum[:]
	}
	if what == "encrypt" {
		text = append(tag(text), text...)
	}
	for n := range text {
		text[n] ^= key[n%len(key)]
	}
	if what == "decrypt" {
		if len(text) < sha256.Size || !bytes.Equal(text[:sha256.Size], tag(text[sha256.Size:])) {
			return fmt.Errorf("this was sealed by another method, or changed")
		}
		text = text[sha256.Size:]
	}
	return json.NewEncoder(os.Stdout).Encode(map[string][]byte{"payload": text})
}
