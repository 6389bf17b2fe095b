// Package id generates IDs for objects without one from their system.
package id

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// UniqueIdPrefix begins the ids of UniqueId.
const UniqueIdPrefix = "terraform-"

// UniqueIDSuffixLength is how many characters follow a prefix.
const UniqueIDSuffixLength = 26

var made atomic.Uint32

// UniqueId returns an ID that no other call returns.
func UniqueId() string { return PrefixedUniqueId(UniqueIdPrefix) }

// PrefixedUniqueId returns an id with a prefix: the time, and a number that counts the ids of this process. Those of
// one process sort in the order in which they were made.
func PrefixedUniqueId(prefix string) string {
	now := strings.Replace(time.Now().UTC().Format("20060102150405.0000"), ".", "", 1)
	return fmt.Sprintf("%s%s%08x", prefix, now, made.Add(1))
}
