package stored

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// call is a request to the API of stored objects.
type call struct {
	service  *Service
	options  *Options
	owner    string
	id, item string // from the path
	query    url.Values
	body     []byte
	w        http.ResponseWriter
}

// route is a route of the API.
type route struct {
	method, path string // below /v1
	readsBody    bool   // whether it has a body
	// answer returns the object to send as JSON, or nil if it has written the response.
	answer func(c *call, ctx context.Context) (any, error)
}

var routes = []route{
	{method: http.MethodGet, path: "/responses/{id}", answer: (*call).response},
	{method: http.MethodDelete, path: "/responses/{id}", answer: (*call).deleteResponse},
	{method: http.MethodGet, path: "/responses/{id}/input_items", answer: (*call).inputItems},
	{method: http.MethodPost, path: "/responses/{id}/cancel", answer: (*call).cancel},
	{method: http.MethodPost, path: "/conversations", readsBody: true, answer: (*call).createConversation},
	{method: http.MethodGet, path: "/conversations/{id}", answer: (*call).conversation},
	{method: http.MethodPost, path: "/conversations/{id}", readsBody: true, answer: (*call).changeConversation},
	{method: http.MethodDelete, path: "/conversations/{id}", answer: (*call).deleteConversation},
	{method: http.MethodGet, path: "/conversations/{id}/items", answer: (*call).items},
	{method: http.MethodPost, path: "/conversations/{id}/items", readsBody: true, answer: (*call).addItems},
	{method: http.MethodGet, path: "/conversations/{id}/items/{item}", answer: (*call).oneItem},
	{method: http.MethodDelete, path: "/conversations/{id}/items/{item}", answer: (*call).deleteItem},
}

// Endpoint is the route for a path, with the ids in that path.
type Endpoint struct {
	route    *route
	id, item string
}

// Find returns the endpoint for a method and a path below /v1. If only the method does not match, the endpoint is nil
// and allow lists the methods of the path.
func Find(method, path string) (e *Endpoint, allow string) {
	if !strings.HasPrefix(path, "/responses/") && !strings.HasPrefix(path, "/conversations") {
		return nil, ""
	}
	parts := strings.Split(path, "/")
	var methods []string
	for i := range routes {
		id, item, ok := routes[i].match(parts)
		if !ok {
			continue
		}
		if routes[i].method == method {
			return &Endpoint{&routes[i], id, item}, ""
		}
		methods = append(methods, routes[i].method)
	}
	return nil, strings.Join(methods, ", ")
}

// match reports whether a path, split at its slashes, matches the route, and returns the ids in the path.
func (r *route) match(parts []string) (id, item string, ok bool) {
	pattern := strings.Split(r.path, "/")
	if len(pattern) != len(parts) {
		return "", "", false
	}
	for i, part := range parts {
		switch pattern[i] {
		case part:
			continue
		case "{id}":
			id = part
		case "{item}":
			item = part
		default:
			return "", "", false
		}
		if part == "" {
			return "", "", false
		}
	}
	return id, item, true
}

// Reads reports whether the endpoint needs the body of the request.
func (e *Endpoint) Reads() bool { return e.route.readsBody }

// Serve answers a request of an owner. Errors are *apierror.Error and those of the database.
func (s *Service) Serve(
	w http.ResponseWriter, r *http.Request, e *Endpoint, owner string, o *Options, body []byte,
) error {
	c := &call{service: s, options: o, owner: owner, id: e.id, item: e.item, query: r.URL.Query(), body: body, w: w}
	if len(body) > 0 {
		if scan := jsontext.NewScanner(body); scan.Kind() != jsontext.Object || scan.Skip() != nil || scan.End() != nil {
			return apierror.New(http.StatusBadRequest, "invalid_json", "the body must be a JSON object")
		}
	}
	answer, err := e.route.answer(c, r.Context())
	if err != nil || answer == nil {
		return err
	}
	return WriteJSON(w, answer)
}

// WriteJSON writes a value as JSON. A []byte is written unchanged.
func WriteJSON(w http.ResponseWriter, value any) (err error) {
	text, ok := value.([]byte)
	if !ok {
		if text, err = json.Marshal(value); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, err = w.Write(text)
	return err
}

// member returns a member of the body. The name is a gjson path.
func (c *call) member(name string) gjson.Result { return gjson.GetBytes(c.body, name) }

// response sends a response: the object or, with the query parameter stream, its events.
func (c *call) response(ctx context.Context) (any, error) {
	if c.query.Get("stream") == "true" {
		afterNumber := int64(-1)
		if text := c.query.Get("starting_after"); text != "" {
			var err error
			if afterNumber, err = strconv.ParseInt(text, 10, 64); err != nil || afterNumber < 0 {
				return nil, invalid("starting_after", "must be the sequence_number of an event")
			}
		}
		return nil, c.service.Follow(ctx, c.w, c.owner, c.id, afterNumber)
	}
	r, err := c.service.find(ctx, c.owner, c.id)
	if err != nil {
		return nil, err
	}
	return r.object(), nil
}

// deleted is the response to a deletion.
type deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

func (c *call) deleteResponse(ctx context.Context) (any, error) {
	return deleted{c.id, "response", true}, c.service.Delete(ctx, c.owner, c.id)
}

func (c *call) cancel(ctx context.Context) (any, error) {
	return c.service.Cancel(ctx, c.owner, c.id)
}

func (c *call) inputItems(ctx context.Context) (any, error) {
	p, err := readPaging(c.query)
	if err != nil {
		return nil, err
	}
	r, err := c.service.find(ctx, c.owner, c.id)
	if err != nil {
		return nil, err
	}
	all, err := c.service.inputOf(ctx, c.owner, r)
	if err != nil {
		return nil, err
	}
	return p.page(all)
}

func (c *call) createConversation(ctx context.Context) (any, error) {
	metadata, err := checkMetadata(c.member("metadata"))
	if err != nil {
		return nil, err
	}
	items, err := readItems(c.member("items"), c.options.Size)
	if err != nil {
		return nil, err
	}
	return c.service.createConversation(ctx, c.owner, c.options, metadata, items)
}

func (c *call) conversation(ctx context.Context) (any, error) {
	return c.service.conversation(ctx, c.owner, c.id)
}

func (c *call) changeConversation(ctx context.Context) (any, error) {
	if !c.member("metadata").Exists() {
		return nil, invalid("metadata", "is missing")
	}
	metadata, err := checkMetadata(c.member("metadata"))
	if err == nil {
		err = c.service.setMetadata(ctx, c.owner, c.id, c.options, metadata)
	}
	if err != nil {
		return nil, err
	}
	return c.service.conversation(ctx, c.owner, c.id)
}

func (c *call) deleteConversation(ctx context.Context) (any, error) {
	return deleted{c.id, "conversation.deleted", true}, c.service.deleteConversation(ctx, c.owner, c.id)
}

func (c *call) items(ctx context.Context) (any, error) {
	p, err := readPaging(c.query)
	if err != nil {
		return nil, err
	}
	return c.service.listItems(ctx, c.owner, c.id, &p)
}

func (c *call) addItems(ctx context.Context) (any, error) {
	items, err := readItems(c.member("items"), c.options.Size)
	if err == nil && len(items) == 0 {
		err = invalid("items", "must have at least one item")
	}
	if err != nil {
		return nil, err
	}
	added, err := c.service.addItems(ctx, c.owner, c.id, c.options, items)
	if err != nil {
		return nil, err
	}
	return newList(added, false, true), nil // all that was added, with encrypted content
}

func (c *call) oneItem(ctx context.Context) (any, error) {
	p, err := readPaging(c.query)
	if err != nil {
		return nil, err
	}
	i, err := c.service.item(ctx, c.owner, c.id, c.item)
	if err != nil {
		return nil, err
	}
	return []byte(listForm(i.item, i.id, p.encrypted)), nil
}

func (c *call) deleteItem(ctx context.Context) (any, error) {
	return c.service.deleteItem(ctx, c.owner, c.id, c.item)
}
