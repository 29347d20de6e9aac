package stored

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// chainError is the reason why a chain cannot be continued. The zero value means that a response in it was deleted.
type chainError struct {
	missing    bool   // the response itself does not exist
	unfinished string // the status of a response that is not finished
}

func (*chainError) Error() string { return "the chain cannot be continued" }

// apiError returns the error for a client that continues the response id.
func (e *chainError) apiError(id string) error {
	refusal := invalid("previous_response_id", "")
	refusal.Code = "previous_response_not_found"
	switch {
	case e.missing:
		refusal.Message = fmt.Sprintf(
			"no response %s is stored for this key: it was deleted, has expired, or was not stored; send the full input instead",
			hub.Shown(id),
		)
	case e.unfinished != "":
		refusal.Code = "invalid_value"
		refusal.Message = fmt.Sprintf("the response %s is %s and cannot be continued", hub.Shown(id), e.unfinished)
	default:
		refusal.Message = fmt.Sprintf(
			"a response before %s in its chain was deleted: send the full input instead", hub.Shown(id),
		)
	}
	return refusal
}

// renewAfter returns by how much a chain may expire earlier than a response that is stored now. If the difference is
// larger, the expiry of the chain is extended.
func renewAfter(retention time.Duration) time.Duration { return min(retention/4, 24*time.Hour) }

// withChain is the WITH clause of a statement that uses the ids of a chain. Its arguments are the id of the last
// response, and twice the owner. The database follows the links between responses, which saves round trips.
const withChain = `WITH RECURSIVE chain (id, previous, depth) AS (
	SELECT id, previous, depth FROM gateway_responses WHERE id = ? AND owner = ?
	UNION ALL
	SELECT r.id, r.previous, r.depth FROM gateway_responses AS r JOIN chain ON r.id = chain.previous WHERE r.owner = ?) `

// batchRows is the largest number of ids in one statement.
const batchRows = 100

// link is a response of a chain before its text is loaded.
type link struct {
	id          string
	depth, size int64
	status      string
}

func scanLink(row store.Row) (l link, err error) {
	return l, row.Scan(&l.id, &l.depth, &l.size, &l.status)
}

// chain returns a response and all earlier responses of its chain, oldest first. Errors are *chainError, an error with
// status 413, and those of the database.
func (s *Service) chain(ctx context.Context, owner, id string) (links []response, err error) {
	if !storable(id) {
		return nil, &chainError{missing: true}
	}
	var found []link
	err = s.read(ctx, func(c store.Conn) (err error) {
		found, err = store.List(
			c, scanLink,
			withChain+`SELECT r.id, r.depth, r.size, r.status FROM gateway_responses AS r JOIN chain ON r.id = chain.id
			WHERE r.expires_at > ? ORDER BY r.depth`,
			id, owner, owner, schema.Micros(s.now()),
		)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 || found[len(found)-1].id != id {
		return nil, &chainError{missing: true}
	}
	newest, size := found[len(found)-1], int64(0)
	ids := make([]string, 0, len(found)) // by depth, so that the batches below are in order
	for _, l := range found {
		size += l.size
		ids = append(ids, l.id)
	}
	switch {
	case newest.status != statusCompleted && newest.status != statusIncomplete:
		return nil, &chainError{unfinished: newest.status}
	case newest.depth != int64(len(found)): // the depth counts all responses up to the newest one
		return nil, &chainError{} // an earlier response was deleted
	case size > 2*maxHistory: // the stored size includes more than items
		return nil, tooLarge("the chain of "+id, maxHistory)
	}
	err = batches(ids, func(part []any, placeholders string) error {
		return s.read(ctx, func(c store.Conn) error {
			rows, err := store.List(c, scanResponse, selectResponses+`id IN (`+placeholders+`) ORDER BY depth`, part...)
			links = append(links, rows...)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if len(links) != len(found) {
		return nil, &chainError{} // responses were deleted meanwhile
	}
	for i := range links {
		if err := s.unseal(ctx, &links[i]); err != nil {
			return nil, err
		}
	}
	return links, nil
}

// batches calls fn with the ids as arguments of a statement, at most batchRows at a time. placeholders has one
// placeholder for each id of the call, such as "?,?,?".
func batches(ids []string, fn func(part []any, placeholders string) error) error {
	for len(ids) > 0 {
		n := min(len(ids), batchRows)
		part := make([]any, 0, n+1)
		for _, id := range ids[:n] {
			part = append(part, id)
		}
		ids = ids[n:]
		if err := fn(part, "?"+strings.Repeat(",?", n-1)); err != nil {
			return err
		}
	}
	return nil
}

// responsesWith returns the documents of the owner's responses that contain items with any of these ids.
func (s *Service) responsesWith(ctx context.Context, owner string, ids []string) (documents []*document, err error) {
	itemRows := make([]string, 0, len(ids))
	for _, id := range ids {
		if storable(id) {
			itemRows = append(itemRows, owner+"/"+id)
		}
	}
	seen := make(map[string]bool)
	size := 0
	err = batches(itemRows, func(part []any, placeholders string) error {
		var found []response
		err := s.read(ctx, func(c store.Conn) (err error) {
			found, err = store.List(
				c, scanResponse,
				selectResponses+`id IN (SELECT response FROM gateway_response_items WHERE id IN (`+placeholders+
					`)) AND expires_at > ?`,
				append(part, schema.Micros(s.now()))...)
			return err
		})
		if err != nil {
			return err
		}
		for i := range found {
			r := &found[i]
			if seen[r.id] {
				continue
			}
			seen[r.id] = true
			if size += len(r.sealed); size > 4*maxHistory { // responses have more than the items, and are encoded
				return tooLarge("the set of items that the request refers to", maxHistory)
			}
			if err := s.unseal(ctx, r); err != nil {
				return err
			}
			documents = append(documents, &r.document)
		}
		return nil
	})
	return documents, err
}
