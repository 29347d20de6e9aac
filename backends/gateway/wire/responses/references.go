package responses

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Limits of a request and of the items to which it refers.
const (
	maxReferences = 10_000
	maxExpanded   = 32 << 20 // bytes
)

// reference is an input item that refers to an item of an earlier answer.
type reference struct {
	id       string
	index    int // index in the input
	from, to int // position in the body
}

// Expand returns a client's request in which items replace the references to them. If there are references, find is
// called once with their ids and returns the JSON texts of the stored items. A body that cannot be parsed is returned
// unchanged, so that Read reports the error. The errors are those of find, and *apierror.Error with status 400 for an
// item that is not stored and with status 413 for a request that becomes too large.
func (Format) Expand(body []byte, find func(ids []string) (map[string]string, error)) ([]byte, error) {
	if !bytes.Contains(body, []byte(`"id"`)) { // the only field that every reference has
		return body, nil
	}
	found := references(body)
	switch {
	case len(found) == 0:
		return body, nil
	case len(found) > maxReferences:
		return nil, hub.Fault("invalid_value", "input", "refers to more than %d items: send the items themselves",
			maxReferences)
	}
	ids := make([]string, 0, len(found))
	for i := range found {
		ids = append(ids, found[i].id)
	}
	items, err := find(ids)
	if err != nil {
		return nil, err
	}
	var edits jsontext.Edits
	size := len(body)
	for i := range found {
		r := &found[i]
		text, ok := items[r.id]
		if !ok {
			return nil, hub.Fault("invalid_value", "input["+strconv.Itoa(r.index)+"]",
				"refers to the item %s, which is not stored here: the items of an answer are stored for a limited time, and "+
					"only for the key that received the answer; send the item itself", hub.Shown(r.id))
		}
		if size += len(text); size > maxExpanded {
			return nil, apierror.New(http.StatusRequestEntityTooLarge, "request_too_large",
				"the request and the items to which it refers have more than 32 MB together: refer to fewer items")
		}
		edits.Replace(r.from, r.to, text)
	}
	return edits.Apply(make([]byte, 0, size), body), nil
}

// references returns the references to stored items in the field input of a request body.
func references(body []byte) (found []reference) {
	s := jsontext.NewScanner(body)
	if s.Kind() != jsontext.Object {
		return nil
	}
	err := s.Object(func(key []byte) error {
		if string(key) != "input" || s.Kind() != jsontext.Array {
			return s.Skip()
		}
		return s.Array(func(i int) error {
			if s.Kind() != jsontext.Object {
				return s.Skip()
			}
			r := reference{index: i, from: s.Offset()}
			isReference, err := r.scan(&s)
			r.to = s.Offset()
			if isReference && len(found) <= maxReferences { // one too many shows that the limit is exceeded
				found = append(found, r)
			}
			return err
		})
	})
	if err != nil || s.End() != nil {
		return nil
	}
	return found
}

// scan scans an input item into r. isReference is set if the item has the type of a reference, or an id but neither
// type nor role.
func (r *reference) scan(s *jsontext.Scanner) (isReference bool, err error) {
	kind, isOther := "", false // isOther is set for an item with a role, or with a type that is not a string
	err = s.Object(func(key []byte) (err error) {
		isString := s.Kind() == jsontext.String
		switch string(key) {
		case "type":
			if isString {
				kind, err = s.Unquoted()
				return err
			}
			isOther = isOther || s.Kind() != jsontext.Null
		case "id":
			if isString {
				r.id, err = s.Unquoted()
				return err
			}
		case "role":
			isOther = true
		}
		return s.Skip()
	})
	return r.id != "" && (kind == "item_reference" || kind == "" && !isOther), err
}
