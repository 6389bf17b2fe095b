package hcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// workspace is a workspace as the API describes it.
type workspace struct {
	ID         string
	Attributes struct {
		Name          string
		Locked        bool
		LockedReason  string    `json:"locked-reason"`
		ExecutionMode string    `json:"execution-mode"`
		TagNames      *[]string `json:"tag-names"`
	}
	Relationships struct {
		LockedBy struct {
			Data *struct{ ID, Type string }
		} `json:"locked-by"`
	}
	user string // holder of the lock, if the server reports it
}

// shown is a document with a workspace.
type shown struct {
	Data     workspace
	Included []struct {
		ID, Type   string
		Attributes struct{ Username, Name string }
	}
}

// workspace returns the workspace of the document, with the name of the user who holds its lock.
func (s *shown) workspace() *workspace {
	w := &s.Data
	by := w.Relationships.LockedBy.Data
	if by == nil {
		return w
	}
	w.user = by.ID
	for _, one := range s.Included {
		if name := one.Attributes.Username + one.Attributes.Name; one.ID == by.ID && name != "" {
			w.user = web.Short(name)
		}
	}
	return w
}

// organization returns a path below the organization.
func (c *client) organization(more string) string {
	return "organizations/" + url.PathEscape(c.s.organization) + more
}

// check ensures that the organization exists and the token is accepted.
func (d *driver) check(ctx context.Context) error {
	d.mu.Lock()
	ready := d.ready
	d.mu.Unlock()
	if ready {
		return nil
	}
	r := request{what: "look for the organization " + d.s.organization, method: http.MethodGet,
		path: d.client.organization("/entitlement-set")}
	a, err := d.client.send(ctx, r)
	if err == nil && !a.ok() {
		err = d.client.failed(r, a)
	}
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ready = true
	return nil
}

// project returns the id of the project.
func (d *driver) project(ctx context.Context) (string, error) {
	d.mu.Lock()
	id := d.inbox
	d.mu.Unlock()
	if id != "" {
		return id, nil
	}
	r := request{what: "look for the project " + d.s.project, method: http.MethodGet,
		path: d.client.organization("/projects"), query: map[string]string{"filter[names]": d.s.project}}
	var found struct {
		Data []struct {
			ID         string
			Attributes struct{ Name string }
		}
	}
	if _, err := d.client.document(ctx, r, &found); err != nil {
		return "", err
	}
	for _, p := range found.Data {
		if p.Attributes.Name == d.s.project {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.inbox = p.ID
			return p.ID, nil
		}
	}
	return "", fmt.Errorf("the organization %s has no project %q, or the token may not see it", d.s.organization,
		d.s.project)
}

// Limits of lists of workspaces: pages, workspaces on a page, and bytes in total.
const (
	maxPages  = 1000
	maxPage   = 100
	maxListed = 512 << 20
)

// list returns the workspaces that a search finds.
func (c *client) list(ctx context.Context, query map[string]string) (all []*workspace, err error) {
	query = maps.Clone(query)
	query["page[size]"] = strconv.Itoa(maxPage)
	left := int64(maxListed)
	for page := 1; ; {
		query["page[number]"] = strconv.Itoa(page)
		r := request{what: "list the workspaces of " + c.s.organization, method: http.MethodGet,
			path: c.organization("/workspaces"), query: query, most: min(left, c.message)}
		var found struct {
			Data []*workspace
			Meta struct {
				Pagination struct {
					NextPage int `json:"next-page"`
				}
			}
		}
		a, err := c.send(ctx, r)
		if err == nil && !a.ok() {
			err = c.failed(r, a)
		}
		if err == nil {
			err = c.decode(r, a, &found)
		}
		if err == nil && len(found.Data) > maxPage {
			err = fmt.Errorf("%s: a page has %d workspaces, but at most %d were requested", r.what, len(found.Data),
				maxPage)
		}
		if err != nil {
			return nil, err
		}
		left = max(1, left-int64(len(a.body)))
		all = append(all, slices.DeleteFunc(found.Data, func(w *workspace) bool { return w == nil })...)
		switch next := found.Meta.Pagination.NextPage; {
		case next == 0:
			return all, nil
		case next <= page || next > maxPages:
			return nil, fmt.Errorf("%[1]s: the server returned the page %[2]d as the next page of the page %[3]d",
				r.what, next, page)
		default:
			page = next
		}
	}
}

// show returns the workspace, or nil if it does not exist.
func (p *place) show(ctx context.Context) (*workspace, error) {
	r := request{what: "read the workspace " + p.title(), method: http.MethodGet,
		path: p.client.organization("/workspaces/" + p.name), query: map[string]string{"include": "locked_by"}}
	var s shown
	there, err := p.client.document(ctx, r, &s)
	switch {
	case err != nil || !there:
		return nil, err
	case s.Data.ID == "":
		return nil, &problem{text: fmt.Sprintf("%s: the answer has no workspace. Check hostname", r.what)}
	}
	return s.workspace(), nil
}

// object is a JSON object.
type object = map[string]any

// resource returns a document with a resource of this type.
func resource(kind string, attributes, relationships object) []byte {
	data := object{"type": kind, "attributes": attributes}
	if len(relationships) > 0 {
		data["relationships"] = relationships
	}
	body, err := json.Marshal(object{"data": data})
	if err != nil {
		panic("hcp: " + err.Error())
	}
	return body
}

// make creates the workspace, with the tags that select it. Its execution mode is local: Tombolo never starts remote
// runs. Another run may create it at the same time.
func (p *place) make(ctx context.Context) (*workspace, error) {
	relationships := object{}
	if p.d.s.project != "" {
		id, err := p.d.project(ctx)
		if err != nil {
			return nil, err
		}
		relationships["project"] = object{"data": object{"type": "projects", "id": id}}
	}
	if tags := p.d.s.tags; len(tags) > 0 {
		list, name := []object{}, map[bool]string{false: "tags", true: "tag-bindings"}[p.d.s.valued]
		for _, key := range slices.Sorted(maps.Keys(tags)) {
			attributes := object{"name": key}
			if p.d.s.valued {
				attributes = object{"key": key, "value": tags[key]}
			}
			list = append(list, object{"type": name, "attributes": attributes})
		}
		relationships[name] = object{"data": list}
	}
	r := request{what: "create the workspace " + p.title(), method: http.MethodPost,
		path: p.client.organization("/workspaces"),
		body: resource("workspaces", object{"name": p.name, "execution-mode": localMode}, relationships)}
	for try := 0; ; try++ {
		a, err := p.client.once(ctx, r)
		if err == nil && a.ok() {
			var s shown
			if err := p.client.decode(r, a, &s); err == nil && s.Data.ID != "" {
				return s.workspace(), nil
			}
		}
		if err == nil && a.status >= 300 && a.status < 400 || err != nil && !passing(a, err) {
			return nil, p.because(r, a, err)
		}
		// Whatever the response was, the workspace may exist by now.
		if w, lookErr := p.show(ctx); lookErr != nil || w != nil {
			return w, lookErr
		}
		if !passing(a, err) || try >= retries {
			return nil, p.because(r, a, err)
		}
		if err := p.client.pause(ctx, try, a); err != nil {
			return nil, err
		}
	}
}

// because returns the error of a request that failed with this response, or without one.
func (p *place) because(r request, a *answer, err error) error {
	if err != nil {
		return err
	}
	return p.client.failed(r, a)
}

// localMode is the execution mode of workspaces with local runs.
const localMode = "local"

// version is a state version.
type version struct {
	ID         string
	Attributes struct {
		Serial   uint64
		Status   string
		Download string `json:"hosted-state-download-url"`
		Upload   string `json:"hosted-state-upload-url"`
		Shown    string `json:"hosted-json-state-upload-url"` // accepts the document that the service displays
	}
}

// Status of a state version that has its content, or will never get it.
const (
	pending   = "pending"
	discarded = "discarded"
)

// current returns the current state version of a workspace, or nil if there is none.
func (p *place) current(ctx context.Context, w *workspace) (*version, error) {
	return p.version(ctx, request{what: "read the state of " + p.title(), method: http.MethodGet,
		path: "workspaces/" + url.PathEscape(w.ID) + "/current-state-version"})
}

func (p *place) version(ctx context.Context, r request) (*version, error) {
	for try := 0; ; try++ {
		var found struct{ Data version }
		there, err := p.client.document(ctx, r, &found)
		switch {
		case err != nil || !there:
			return nil, err
		case found.Data.ID == "":
			return nil, &problem{text: fmt.Sprintf("%s: the answer has no state version. Check hostname", r.what)}
		case found.Data.Attributes.Status != pending || try >= retries:
			return &found.Data, nil
		}
		// Its content is still being uploaded.
		if err := p.client.pause(ctx, try, nil); err != nil {
			return nil, err
		}
	}
}
