package stored

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// document is the encrypted part of a response.
type document struct {
	// Response is the object that the client received.
	Response json.RawMessage `json:"response"`
	// Input are the items of the response's own request, as the client sent them.
	Input []json.RawMessage `json:"input"`
	// Kept are the complete forms of output items, by id. They have the state of reasoning, which the client was not
	// shown.
	Kept map[string]json.RawMessage `json:"kept,omitempty"`
}

// encode returns the document as JSON. The JSON text of the items stays unchanged.
func (d *document) encode() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(d)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// output returns the items of the answer, including the state of reasoning.
func (d *document) output() (list []json.RawMessage) {
	gjson.GetBytes(d.Response, "output").ForEach(func(_, item gjson.Result) bool {
		if complete, ok := d.Kept[item.Get("id").Str]; ok {
			list = append(list, complete)
		} else {
			list = append(list, json.RawMessage(item.Raw))
		}
		return true
	})
	return list
}

// inputItems returns copies of the items in an input. Copies are needed because the memory of the body is reused before
// the items are stored.
func inputItems(input []byte) (list []json.RawMessage) {
	switch v := gjson.ParseBytes(input); {
	case v.Type == gjson.String:
		text := append([]byte(`{"type":"message","role":"user","content":`), v.Raw...)
		list = append(list, append(text, '}'))
	case v.IsArray():
		jsontext.Elements(v, func(item gjson.Result) bool {
			list = append(list, json.RawMessage(item.Raw)) // a copy
			return true
		})
	}
	return list
}

// itemsSize returns the total length of items, in bytes.
func itemsSize(items []json.RawMessage) (size int64) {
	for _, item := range items {
		size += int64(len(item))
	}
	return size
}

// prefixes are the prefixes of item ids, by type.
var prefixes = map[string]string{
	"message": "msg_", "": "msg_", "reasoning": "rs_", "function_call": "fc_", "function_call_output": "fco_",
	"custom_tool_call": "ctc_", "custom_tool_call_output": "ctco_",
}

// prefixOf returns the prefix for the id of an item.
func prefixOf(item json.RawMessage) string {
	if prefix, ok := prefixes[gjson.GetBytes(item, "type").Str]; ok {
		return prefix
	}
	return "item_"
}

// derivedID returns an id for an item without an id. It depends only on the response and the index of the item, so it
// is the same in each listing.
func derivedID(item json.RawMessage, response string, index int) string {
	sum := sha256.Sum256([]byte(response + "/" + strconv.Itoa(index)))
	return prefixOf(item) + hex.EncodeToString(sum[:16])
}

// newItemID returns a new id for an item.
func newItemID(item json.RawMessage) string { return wire.NewID(prefixOf(item)) }

// listForm returns an item in the form of the API's lists: with an id and a type, with content as a list of parts, and
// without the encrypted content of reasoning unless encrypted is true.
func listForm(item json.RawMessage, id string, encrypted bool) json.RawMessage {
	v := gjson.ParseBytes(item)
	kind := v.Get("type").Str
	out := []byte(item)
	set := func(path, raw string) {
		if changed, err := sjson.SetRawBytes(out, path, []byte(raw)); err == nil {
			out = changed
		}
	}
	if kind == "" {
		kind = "message"
		set("type", `"message"`)
	}
	if v.Get("id").Str != id {
		set("id", string(jsontext.AppendQuoted(nil, id)))
	}
	if kind == "message" {
		if content := v.Get("content"); content.Type == gjson.String {
			part := `{"type":"input_text","text":` + content.Raw + `}`
			if v.Get("role").Str == "assistant" {
				part = `{"type":"output_text","text":` + content.Raw + `,"annotations":[]}`
			}
			set("content", "["+part+"]")
		}
		if !v.Get("status").Exists() {
			set("status", `"completed"`)
		}
	}
	if !encrypted && kind == "reasoning" && v.Get("encrypted_content").Exists() {
		if changed, err := sjson.DeleteBytes(out, "encrypted_content"); err == nil {
			out = changed
		}
	}
	return out
}

// listItem is an item with its id.
type listItem struct {
	id   string
	item json.RawMessage
}

// list is a page of items in the form of the API.
type list struct {
	Object  string            `json:"object"`
	Data    []json.RawMessage `json:"data"`
	FirstID *string           `json:"first_id"`
	LastID  *string           `json:"last_id"`
	HasMore bool              `json:"has_more"`
}

// newList returns a page with the given items. more reports that further items follow. If encrypted is set, the page
// includes the encrypted content of reasoning.
func newList(items []listItem, more, encrypted bool) *list {
	l := &list{Object: "list", Data: make([]json.RawMessage, 0, len(items)), HasMore: more}
	for i := range items {
		l.Data = append(l.Data, listForm(items[i].item, items[i].id, encrypted))
	}
	if n := len(items); n > 0 {
		l.FirstID, l.LastID = &items[0].id, &items[n-1].id
	}
	return l
}

// paging are the parameters of a page.
type paging struct {
	limit     int
	ascending bool
	after     string
	encrypted bool // whether encrypted content is included
}

// readPaging parses the parameters of a page.
func readPaging(query url.Values) (p paging, err error) {
	const limit = 100
	p.limit = 20
	if text := query.Get("limit"); text != "" {
		if p.limit, err = strconv.Atoi(text); err != nil || p.limit < 1 || p.limit > limit {
			return p, invalid("limit", "must be a number from 1 to %d", limit)
		}
	}
	switch order := query.Get("order"); order {
	case "", "desc":
	case "asc":
		p.ascending = true
	default:
		return p, invalid("order", "must be asc or desc, it is %s", hub.Shown(order))
	}
	p.after = query.Get("after")
	for _, name := range [...]string{"include", "include[]"} {
		p.encrypted = p.encrypted || slices.Contains(query[name], "reasoning.encrypted_content")
	}
	return p, nil
}

// page returns a page of items, which must be in ascending order. It may reorder items.
func (p *paging) page(items []listItem) (*list, error) {
	if !p.ascending {
		slices.Reverse(items)
	}
	if p.after != "" {
		index := slices.IndexFunc(items, func(l listItem) bool { return l.id == p.after })
		if index < 0 {
			return nil, invalid("after", "must be the id of an item of the list, it is %s", hub.Shown(p.after))
		}
		items = items[index+1:]
	}
	more := len(items) > p.limit
	return newList(items[:min(len(items), p.limit)], more, p.encrypted), nil
}

// readItems parses and checks the items that a client adds to a conversation. maxItemSize is the maximum length of
// an item, in bytes.
func readItems(v gjson.Result, maxItemSize int64) (items []json.RawMessage, err error) {
	const maxItems = 20
	if !v.Exists() || v.Type == gjson.Null {
		return nil, nil
	}
	if !v.IsArray() {
		return nil, invalid("items", "must be an array")
	}
	v.ForEach(func(_, item gjson.Result) bool {
		param := "items[" + strconv.Itoa(len(items)) + "]"
		switch {
		case len(items) == maxItems:
			err = invalid("items", "has more than %d items: add them with several requests", maxItems)
		case !item.IsObject():
			err = invalid(param, "must be an object")
		case item.Get("type").Str == "item_reference":
			err = invalid(param, "is an item_reference: send the item itself")
		case item.Get("type").Str == "" && item.Get("role").Str == "":
			err = invalid(param, "has neither a type nor a role")
		case int64(len(item.Raw)) > maxItemSize:
			err = tooLarge(param, maxItemSize)
		default:
			items = append(items, json.RawMessage(item.Raw))
		}
		return err == nil
	})
	return items, err
}

// invalid returns an error with status 400 about a parameter.
func invalid(param, format string, args ...any) *apierror.Error {
	e := apierror.New(http.StatusBadRequest, "invalid_value", param+" "+format, args...).With(param)
	e.NoRetry = true
	return e
}

// sealedSize returns the total length of the plain texts of items, in bytes.
func sealedSize(items []sealedItem) (total int64) {
	for i := range items {
		total += int64(items[i].size)
	}
	return total
}

// tooLarge returns an error with status 413. name names the object that is larger than limit bytes.
func tooLarge(name string, limit int64) *apierror.Error {
	e := apierror.New(
		http.StatusRequestEntityTooLarge, "request_too_large", "%s is larger than the limit of %d bytes", name, limit,
	)
	e.NoRetry = true
	return e
}

// notFound returns the error with status 404 for an object that the owner does not have.
func notFound(kind, id string) *apierror.Error {
	e := apierror.New(
		http.StatusNotFound, "not_found", "there is no %s %s: it was deleted, has expired, or is not yours", kind,
		hub.Shown(id),
	)
	e.NoRetry = true
	return e
}
