// Package id generates IDs for objects whose system does not assign any.
package id

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// UniqueIdPrefix is the prefix of the ids of UniqueId.
const UniqueIdPrefix = "terraform-"

// UniqueIDSuffixLength is the number of characters after a prefix.
const UniqueIDSuffixLength = 26

var made atomic.Uint32

// UniqueId returns an ID that no other call returns.
func UniqueId() string { return PrefixedUniqueId(UniqueIdPrefix) }

// PrefixedUniqueId returns an id with a prefix: the time, and a counter of this process. Ids of one process sort in the
// order of their creation.
func PrefixedUniqueId(prefix string) string {
	now := strings.Replace(time.Now().UTC().Format("20060102150405.0000"), ".", "", 1)
	return fmt.Sprintf("%s%s%08x", prefix, now, made.Add(1))
}
