package drivertest

import (
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// XMLPage responds to version 1 of the XML list request with a page of the names in a bucket. tags has the tags of all
// objects by name, and size is the maximum number of names on a page.
func XMLPage(w http.ResponseWriter, q url.Values, bucket string, tags map[string]string, size int) {
	type entry struct{ Key, ETag, LastModified string }
	var page struct {
		XMLName     xml.Name `xml:"ListBucketResult"`
		Name        string
		Prefix      string
		IsTruncated bool
		NextMarker  string
		Contents    []entry
	}
	if n, err := strconv.Atoi(q.Get("max-keys")); err == nil {
		size = min(size, n)
	}
	page.Name, page.Prefix = bucket, q.Get("prefix")
	escape := func(name string) string { return name }
	if q.Get("encoding-type") == "url" {
		escape = url.QueryEscape
	}
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		if !strings.HasPrefix(name, page.Prefix) || name <= q.Get("marker") {
			continue
		}
		if page.IsTruncated = len(page.Contents) == size; page.IsTruncated {
			break
		}
		page.Contents = append(page.Contents, entry{escape(name), tags[name], "2026-01-02T03:04:05.000Z"})
		page.NextMarker = escape(name)
	}
	if !page.IsTruncated {
		page.NextMarker = ""
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(page)
}

// XMLError responds with an error in XML.
func XMLError(w http.ResponseWriter, status int, code, text string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version='1.0' encoding='utf-8' ?>\n<Error><Code>%s</Code><Message>%s</Message>"+
		"<RequestId>request-1</RequestId></Error>", code, text)
}
