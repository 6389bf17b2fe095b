package hcptest

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// lock acquires or releases a lock.
func (c *call) lock(at *workspace, action string) {
	switch action {
	case "lock":
		if at.locked {
			c.fail(http.StatusConflict, "conflict", "Unable to lock workspace. The workspace is already locked.")
			return
		}
		var in struct {
			Reason string
			Data   struct{ Attributes struct{ Reason string } } // Terraform sends a document
		}
		_ = json.Unmarshal(c.body, &in)
		at.locked, at.by, at.reason = true, c.user, cmp.Or(in.Reason, in.Data.Attributes.Reason)
	case "unlock", "force-unlock":
		switch {
		case !at.locked:
			c.fail(http.StatusConflict, "conflict", "Unable to unlock workspace. The workspace is already unlocked.")
			return
		case action == "unlock" && at.by != c.user:
			c.fail(http.StatusConflict, "conflict", "Unable to unlock workspace. It is locked by another user.")
			return
		case action == "unlock" && len(at.versions) > 0 && at.versions[len(at.versions)-1].status == "pending":
			c.fail(http.StatusConflict, "conflict",
				"Unable to unlock workspace. The latest state version is still pending.")
			return
		}
		at.locked, at.by, at.reason = false, "", ""
	default:
		c.fail(http.StatusNotFound, "not found", "")
		return
	}
	c.show(200, at)
}

// safeDelete deletes a workspace without resources.
func (c *call) safeDelete(at *workspace) {
	if v := at.current(); v != nil {
		var state struct{ Resources []any }
		if json.Unmarshal(v.raw.data, &state) != nil || len(state.Resources) > 0 {
			c.fail(http.StatusConflict, "conflict", "The workspace still manages resources.")
			return
		}
	}
	if at.locked {
		c.fail(http.StatusConflict, "conflict", "The workspace is locked.")
		return
	}
	delete(c.s.workspaces, at.id)
	c.w.WriteHeader(http.StatusNoContent)
}

// projectID returns the ID of a project by its index in the list; -1 is the default project.
func projectID(n int) string { return "prj-" + strconv.Itoa(n+1) }

func (c *call) projects() {
	wanted := c.r.URL.Query().Get("filter[names]")
	list := []any{}
	for n, name := range slices.Concat([]string{"Default Project"}, c.s.Projects) {
		if wanted == "" || slices.Contains(strings.Split(wanted, ","), name) {
			list = append(list, map[string]any{"id": projectID(n - 1), "type": "projects",
				"attributes": map[string]any{"name": name}})
		}
	}
	c.say(200, map[string]any{"data": list, "meta": pages(1, 1, len(list))})
}

func pages(page, total, count int) map[string]any {
	var next any
	if page < total {
		next = page + 1
	}
	return map[string]any{"pagination": map[string]any{"current-page": page, "total-pages": total, "next-page": next,
		"total-count": count}}
}

// list responds with the workspaces that a search finds.
func (c *call) list() {
	q := c.r.URL.Query()
	var found []*workspace
	for _, w := range c.s.workspaces {
		if name := q.Get("search[name]"); name != "" && !strings.Contains(w.name, name) {
			continue
		}
		if id := q.Get("filter[project][id]"); id != "" && id != w.project {
			continue
		}
		if w.tagged(q) {
			found = append(found, w)
		}
	}
	slices.SortFunc(found, func(a, b *workspace) int { return strings.Compare(a.name, b.name) })
	size := c.s.Page
	if size == 0 {
		size = 20
	}
	if n, err := strconv.Atoi(q.Get("page[size]")); err == nil && n > 0 && (c.s.Page == 0 || n < size) {
		size = min(n, 100)
	}
	page := 1
	if n, err := strconv.Atoi(q.Get("page[number]")); err == nil && n > 0 {
		page = n
	}
	total := max(1, (len(found)+size-1)/size)
	list := []any{}
	for _, w := range found[min(len(found), (page-1)*size):min(len(found), page*size)] {
		list = append(list, c.data(w))
	}
	c.say(200, map[string]any{"data": list, "meta": pages(page, total, len(found))})
}

var taggedKey = regexp.MustCompile(`^filter\[tagged\]\[(\d+)\]\[key\]$`)

// tagged reports whether a workspace has all tags of a search.
func (w *workspace) tagged(q map[string][]string) bool {
	for name, values := range q {
		if name == "search[tags]" {
			for tag := range strings.SplitSeq(values[0], ",") {
				if _, ok := w.tags[tag]; tag != "" && !ok { // Terraform also sends the keys of tags with values
					return false
				}
			}
		}
		if found := taggedKey.FindStringSubmatch(name); found != nil {
			value := ""
			if v := q["filter[tagged]["+found[1]+"][value]"]; len(v) > 0 {
				value = v[0]
			}
			if v, ok := w.tags[values[0]]; !ok || value != "" && v != value {
				return false
			}
		}
	}
	return true
}

var validName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,90}$`)

func (c *call) create() {
	var in struct {
		Name          string
		ExecutionMode string `json:"execution-mode"`
		Operations    *bool
	}
	if !c.attributes(&in) {
		return
	}
	switch {
	case !validName.MatchString(in.Name):
		c.fail(http.StatusUnprocessableEntity, "invalid attribute", "Name can only include letters, numbers, -, and _.")
		return
	case c.s.named(in.Name) != nil:
		c.fail(http.StatusUnprocessableEntity, "invalid attribute", "Name has already been taken")
		return
	}
	w := c.s.make(in.Name)
	if in.ExecutionMode != "" {
		w.mode = in.ExecutionMode
	}
	if in.Operations != nil && !*in.Operations {
		w.mode = "local"
	}
	var more struct {
		Data struct {
			Relationships struct {
				Project     struct{ Data struct{ ID string } }
				Tags        struct{ Data []tagData }
				TagBindings struct{ Data []tagData } `json:"tag-bindings"`
			}
		}
	}
	_ = json.Unmarshal(c.body, &more)
	if id := more.Data.Relationships.Project.Data.ID; id != "" {
		w.project = id
	}
	for _, t := range slices.Concat(more.Data.Relationships.Tags.Data, more.Data.Relationships.TagBindings.Data) {
		t.put(w)
	}
	c.show(201, w)
}

// tagData is a tag of either kind.
type tagData struct {
	Attributes struct{ Name, Key, Value string }
}

func (t tagData) put(w *workspace) {
	if w.tags == nil {
		w.tags = map[string]string{}
	}
	if t.Attributes.Name != "" {
		w.tags[t.Attributes.Name] = ""
	} else if t.Attributes.Key != "" {
		w.tags[t.Attributes.Key] = t.Attributes.Value
	}
}

// tag adds tags without values.
func (c *call) tag(at *workspace) {
	var in struct{ Data []tagData }
	_ = json.Unmarshal(c.body, &in)
	for _, t := range in.Data {
		t.put(at)
	}
	c.w.WriteHeader(http.StatusNoContent)
}

// bind adds tags with values.
func (c *call) bind(at *workspace) {
	var in struct{ Data []tagData }
	_ = json.Unmarshal(c.body, &in)
	for _, t := range in.Data {
		t.put(at)
	}
	c.say(200, map[string]any{"data": bindings(at)})
}

func bindings(w *workspace) []any {
	list := []any{}
	for _, key := range slices.Sorted(maps.Keys(w.tags)) {
		list = append(list, map[string]any{"type": "tag-bindings", "attributes": map[string]any{"key": key,
			"value": w.tags[key]}})
	}
	return list
}

func (c *call) change(at *workspace) {
	var in struct {
		Name          string
		ExecutionMode string `json:"execution-mode"`
	}
	if !c.attributes(&in) {
		return
	}
	if in.Name != "" {
		at.name = in.Name
	}
	if in.ExecutionMode != "" {
		at.mode = in.ExecutionMode
	}
	c.show(200, at)
}

// data returns a workspace as a resource of a document.
func (c *call) data(w *workspace) map[string]any {
	tags := []string{}
	for _, key := range slices.Sorted(maps.Keys(w.tags)) {
		if w.tags[key] == "" {
			tags = append(tags, key)
		}
	}
	attributes := map[string]any{"name": w.name, "execution-mode": w.mode, "operations": w.mode != "local",
		"locked": w.locked, "terraform-version": "1.11.4", "tag-names": tags, "description": w.description,
		"permissions": map[string]any{"can-update": true, "can-destroy": true, "can-lock": true, "can-unlock": true,
			"can-force-unlock": true, "can-read-state-versions": true, "can-create-state-versions": true,
			"can-queue-run": true, "can-force-delete": true}}
	relationships := map[string]any{
		"organization": map[string]any{"data": map[string]any{"id": c.s.Organization, "type": "organizations"}},
		"project":      map[string]any{"data": map[string]any{"id": w.project, "type": "projects"}},
		"locked-by":    map[string]any{"data": nil},
	}
	if !c.s.Forgetful {
		attributes["locked-reason"] = w.reason
	}
	if w.locked && !c.s.Plain {
		relationships["locked-by"] = map[string]any{"data": map[string]any{"id": "user-" + w.by, "type": "users"}}
	}
	return map[string]any{"id": w.id, "type": "workspaces", "attributes": attributes, "relationships": relationships}
}

// show responds with a workspace and, if requested, the holder of its lock.
func (c *call) show(code int, w *workspace) {
	document := map[string]any{"data": c.data(w)}
	if w.locked && !c.s.Plain && strings.Contains(c.r.URL.Query().Get("include"), "locked_by") {
		document["included"] = []any{map[string]any{"id": "user-" + w.by, "type": "users",
			"attributes": map[string]any{"username": w.by}}}
	}
	c.say(code, document)
}
