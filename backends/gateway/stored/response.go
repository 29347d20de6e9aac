package stored

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// newResponseID returns a new id for a response.
func newResponseID() string { return wire.NewID("resp_") }

// The states of a response.
const (
	statusQueued     = "queued"
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusFailed     = "failed"
)

// final reports whether a status is final.
func final(status string) bool { return status != statusQueued && status != statusInProgress }

// response is a row of gateway_responses.
type response struct {
	id, previous, status string
	background, events   bool   // events: the events of the answer are stored
	sealed               string // the encrypted document; empty after unseal
	expires              time.Time
	document             document // valid after unseal
}

const selectResponses = `SELECT id, previous, status, background, events, sealed, expires_at FROM gateway_responses WHERE `

func scanResponse(row store.Row) (r response, err error) {
	var previous sql.NullString
	var expires int64
	err = row.Scan(&r.id, &previous, &r.status, &r.background, &r.events, &r.sealed, &expires)
	r.previous, r.expires = previous.String, schema.Moment(expires)
	return r, err
}

// unseal decrypts the document of a response.
func (s *Service) unseal(ctx context.Context, r *response) error {
	text, err := s.open(ctx, tableResponses, r.id, r.sealed)
	if err == nil {
		r.sealed = ""
		err = json.Unmarshal(text, &r.document)
	}
	return err
}

// find returns a response of an owner. The error has status 404 if the owner has no response with that id, even if
// another owner has one.
func (s *Service) find(ctx context.Context, owner, id string) (*response, error) {
	if !storable(id) {
		return nil, notFound("response", id)
	}
	var r response
	err := s.read(ctx, func(c store.Conn) (err error) {
		r, err = scanResponse(
			c.Row(selectResponses+`id = ? AND owner = ? AND expires_at > ?`, id, owner, schema.Micros(s.now())),
		)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, notFound("response", id)
	}
	if err == nil {
		err = s.unseal(ctx, &r)
	}
	return &r, err
}

// object returns the response as the client sees it now.
func (r *response) object() []byte {
	object := []byte(r.document.Response)
	if gjson.GetBytes(object, "status").Str == r.status {
		return object
	}
	members := []member{{"status", `"` + r.status + `"`}}
	if r.status == statusFailed { // the process that generated the answer was lost, so the sealed text has no error
		members = append(
			members, member{
				"error",
				errorMember("server_error", "the gateway's process ended before the answer was complete: ask again"),
			},
		)
	}
	return setMembers(object, members)
}

// inputOf returns the items of a response's input, oldest first: the items of the chain that the response continues, as
// far as they still exist, and those of the response's request.
func (s *Service) inputOf(ctx context.Context, owner string, r *response) (items []listItem, err error) {
	if r.previous != "" {
		links, err := s.chain(ctx, owner, r.previous)
		if _, broken := errors.AsType[*chainError](err); err != nil && !broken {
			return nil, err
		}
		for i := range links {
			items = links[i].appendInput(items)
			for _, item := range links[i].document.output() {
				items = append(items, listItem{gjson.GetBytes(item, "id").Str, item})
			}
		}
	}
	return r.appendInput(items), nil
}

// appendInput appends the items of the response's own request to dst.
func (r *response) appendInput(dst []listItem) []listItem {
	for i, item := range r.document.Input {
		id := gjson.GetBytes(item, "id").Str
		if id == "" {
			id = derivedID(item, r.id, i)
		}
		dst = append(dst, listItem{id, item})
	}
	return dst
}

// Delete deletes a response and stops the work on it. The error has status 404 if the owner has no response with that
// id.
func (s *Service) Delete(ctx context.Context, owner, id string) error {
	if !storable(id) {
		return notFound("response", id)
	}
	var n int64
	err := s.db.Write(ctx, func(c store.Conn) (err error) {
		n, err = c.Exec(
			`DELETE FROM gateway_responses WHERE id = ? AND owner = ? AND expires_at > ?`, id, owner, schema.Micros(s.now()),
		)
		return err
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return notFound("response", id)
	}
	s.forgetSize(owner)
	s.cancelRun(id)
	return nil
}

// Cancel cancels a response in the background, whichever node generates it, and returns the response object. A finished
// response stays unchanged. Errors have status 404, or 400 for a response that was not created in the background.
func (s *Service) Cancel(ctx context.Context, owner, id string) ([]byte, error) {
	r, err := s.find(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	if !r.background {
		return nil, invalid("response_id", "%s was not created with background: it cannot be cancelled", hub.Shown(id))
	}
	if !final(r.status) {
		err := s.db.Write(ctx, func(c store.Conn) error {
			_, err := c.Exec(`UPDATE gateway_responses SET status = 'cancelled', runner = '', leased_until = 0
				WHERE id = ? AND owner = ? AND status IN ('queued', 'in_progress')`, id, owner)
			return err
		})
		if err != nil {
			return nil, err
		}
		s.cancelRun(id)
		if r, err = s.find(ctx, owner, id); err != nil {
			return nil, err
		}
	}
	return r.object(), nil
}

// errGone ends the work on a response that was cancelled or deleted.
var errGone = errors.New("the response was cancelled or deleted")

// writeAnswer stores the answer of a turn. object is the response object for the client. events are the events that
// are not stored yet, or nil if there are none. writeAnswer returns errGone if the response was cancelled or deleted.
func (t *Turn) writeAnswer(ctx context.Context, object []byte, events *eventBatch) error {
	s := t.service
	status := gjson.GetBytes(object, "status").Str
	if !final(status) || status == "" { // final is true for an empty status
		return fmt.Errorf("the answer ends with the status %q, which is not final", status)
	}
	d := &document{Response: object, Input: t.input, Kept: t.hidden(object)}
	text, err := d.encode()
	if err != nil {
		return err
	}
	if int64(len(text)) > t.options.Size && status != statusFailed { // a client that waits must see the failure
		return tooLarge("the response", t.options.Size)
	}
	sealed, err := s.seal(ctx, tableResponses, t.ID, text)
	if err != nil {
		return err
	}
	var added []sealedItem
	if t.conversation != "" && status != statusFailed {
		if added, err = s.sealItems(ctx, t.conversation, slices.Concat(t.input, d.output())); err != nil {
			return err
		}
	}
	expires := s.expires(t.options)
	err = s.db.Write(ctx, func(c store.Conn) error {
		if t.Background {
			err = t.complete(c, status, sealed, len(text), expires)
			if err == nil {
				err = events.insert(c)
			}
		} else {
			err = t.insert(c, status, sealed, len(text), expires, "", 0) // no runner and no lease
		}
		if err != nil {
			return err
		}
		if err := t.indexItems(c, object); err != nil {
			return err
		}
		if t.renews {
			if _, err := c.Exec(
				withChain+`UPDATE gateway_responses SET expires_at = ? WHERE expires_at < ? AND id IN (SELECT id FROM chain)`,
				t.previous, t.owner, t.owner, expires, expires,
			); err != nil {
				return err
			}
		}
		return s.appendItems(c, t.owner, t.conversation, added, expires)
	})
	if err == nil {
		s.addSize(t.owner, int64(len(text))+sealedSize(added))
	}
	return err
}

// insert inserts the row of the response. size is the length of the text in sealed. runner is the process that
// generates the answer, and leasedUntil is the end of its lease. For a finished answer, runner is empty and
// leasedUntil is 0.
func (t *Turn) insert(
	c store.Conn, status, sealed string, size int, expires int64, runner string, leasedUntil int64,
) error {
	_, err := c.Exec(
		`INSERT INTO gateway_responses (id, owner, previous, depth, status, background, events, runner, leased_until, sealed, size, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		t.ID, t.owner, schema.Nullable(t.previous), t.depth, status, schema.Flag(t.Background), schema.Flag(t.log != nil),
		runner, leasedUntil, sealed, size, schema.Micros(t.service.now()), expires,
	)
	return err
}

// complete writes the answer into the row that the run of a background turn has inserted. The parameters are those of
// insert. It returns errGone if this process no longer has the lease, because the response was cancelled or deleted.
func (t *Turn) complete(c store.Conn, status, sealed string, size int, expires int64) error {
	n, err := c.Exec(
		`UPDATE gateway_responses SET status = ?, sealed = ?, size = ?, expires_at = ?, runner = '', leased_until = 0
		WHERE id = ? AND runner = ?`,
		status, sealed, size, expires, t.ID, t.service.node,
	)
	if err == nil && n == 0 {
		err = errGone
	}
	return err
}

// hidden returns the complete forms of items of an answer, as a map from id to complete form. Items that have the
// same form in the client's object are left out.
func (t *Turn) hidden(object []byte) map[string]json.RawMessage {
	hidden := make(map[string]json.RawMessage)
	gjson.GetBytes(object, "output").ForEach(func(_, item gjson.Result) bool {
		id := item.Get("id").Str
		if complete, ok := t.items[id]; ok && string(complete) != item.Raw {
			hidden[id] = complete
		}
		return true
	})
	return hidden
}

// indexItems stores which items are in the answer, so that FindItems finds them.
func (t *Turn) indexItems(c store.Conn, object []byte) (err error) {
	gjson.GetBytes(object, "output").ForEach(func(_, item gjson.Result) bool {
		if id := item.Get("id").Str; storable(id) {
			_, err = c.Exec(
				`INSERT INTO gateway_response_items (id, response) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET response = excluded.response`,
				t.owner+"/"+id, t.ID,
			)
		}
		return err == nil
	})
	return err
}
