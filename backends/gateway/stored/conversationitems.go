package stored

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// sealedItem is an encrypted item of a conversation. For an item to be stored, id is the id of the item. For an item
// that was read, it is the primary key of the row.
type sealedItem struct {
	id, sealed string
	size       int // length of the plain text in bytes
}

// itemRow returns the primary key of an item's row.
func itemRow(conversation, id string) string { return conversation + "/" + id }

// itemID returns the id of an item from the primary key of its row.
func itemID(conversation, row string) string { return strings.TrimPrefix(row, conversation+"/") }

// sealItems encrypts items for a conversation. An item gets a new id if it has none, if its id cannot be stored, or if
// the conversation already uses its id.
func (s *Service) sealItems(ctx context.Context, conversation string, items []json.RawMessage) ([]sealedItem, error) {
	used, err := s.usedIDs(ctx, conversation, items)
	if err != nil {
		return nil, err
	}
	added := make([]sealedItem, 0, len(items))
	for _, item := range items {
		id := gjson.GetBytes(item, "id").Str
		if !storable(id) || used[id] {
			id = newItemID(item)
		}
		used[id] = true
		sealed, err := s.seal(ctx, tableItems, itemRow(conversation, id), item)
		if err != nil {
			return nil, err
		}
		added = append(added, sealedItem{id, sealed, len(item)})
	}
	return added, nil
}

// usedIDs returns those ids of items that the conversation already uses.
func (s *Service) usedIDs(
	ctx context.Context, conversation string, items []json.RawMessage,
) (map[string]bool, error) {
	used := make(map[string]bool, len(items))
	var rows []string
	for _, item := range items {
		if id := gjson.GetBytes(item, "id").Str; storable(id) {
			rows = append(rows, itemRow(conversation, id))
		}
	}
	return used, batches(rows, func(part []any, placeholders string) error {
		return s.read(ctx, func(c store.Conn) error {
			keys, err := store.List(
				c, schema.Text, `SELECT id FROM gateway_conversation_items WHERE id IN (`+placeholders+`)`, part...)
			for _, key := range keys {
				used[itemID(conversation, key)] = true
			}
			return err
		})
	})
}

// appendItems appends items to a conversation. It does nothing if the conversation no longer exists, or if its id is
// empty, which means no conversation. An item replaces an item with the same id, which a concurrent request may have
// added.
func (s *Service) appendItems(c store.Conn, owner, conversation string, items []sealedItem, expires int64) error {
	if conversation == "" {
		return nil
	}
	var lastPlace int64 // the position of the last item that was added
	err := c.Row(
		`SELECT places FROM gateway_conversations WHERE id = ? AND owner = ?`+c.Lock(), conversation, owner,
	).Scan(&lastPlace)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range items {
		lastPlace++
		if _, err := c.Exec(
			`INSERT INTO gateway_conversation_items (id, conversation, place, sealed, size) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET place = excluded.place, sealed = excluded.sealed, size = excluded.size`,
			itemRow(conversation, items[i].id), conversation, lastPlace, items[i].sealed, items[i].size,
		); err != nil {
			return err
		}
	}
	_, err = c.Exec(
		`UPDATE gateway_conversations SET places = ?, expires_at = ? WHERE id = ?`, lastPlace, expires, conversation,
	)
	return err
}

// addItems adds a client's items to a conversation and returns them with their ids.
func (s *Service) addItems(
	ctx context.Context, owner, id string, o *Options, items []json.RawMessage,
) ([]listItem, error) {
	if _, err := s.conversation(ctx, owner, id); err != nil {
		return nil, err
	}
	if err := s.checkRoom(ctx, owner, itemsSize(items), o); err != nil {
		return nil, err
	}
	added, err := s.sealItems(ctx, id, items)
	if err != nil {
		return nil, err
	}
	full, large := false, false // too many items, too many bytes
	err = s.db.Write(ctx, func(c store.Conn) error {
		var count int
		var size int64
		if err := c.Row(
			`SELECT count(*), CAST(coalesce(sum(size), 0) AS BIGINT) FROM gateway_conversation_items WHERE conversation = ?`, id,
		).Scan(&count, &size); err != nil {
			return err
		}
		full, large = count+len(added) > o.Items, size+itemsSize(items) > maxHistory
		if full || large {
			return nil
		}
		return s.appendItems(c, owner, id, added, s.expires(o))
	})
	if err != nil {
		return nil, err
	}
	switch {
	case full:
		return nil, conversationFull(id, o.Items)
	case large:
		return nil, tooLarge("the conversation", maxHistory)
	}
	s.addSize(owner, sealedSize(added))
	all := make([]listItem, 0, len(items))
	for i := range items {
		all = append(all, listItem{added[i].id, items[i]})
	}
	return all, nil
}

const selectItems = `SELECT id, sealed FROM gateway_conversation_items WHERE `

func scanItem(row store.Row) (i sealedItem, err error) { return i, row.Scan(&i.id, &i.sealed) }

// openItems decrypts items of a conversation.
func (s *Service) openItems(ctx context.Context, conversation string, rows []sealedItem) ([]listItem, error) {
	all := make([]listItem, 0, len(rows))
	for i := range rows {
		text, err := s.open(ctx, tableItems, rows[i].id, rows[i].sealed)
		if err != nil {
			return nil, err
		}
		all = append(all, listItem{itemID(conversation, rows[i].id), text})
	}
	return all, nil
}

// conversationItems returns all items of a conversation, oldest first. The error has status 413 if they are larger than
// the limit for a request.
func (s *Service) conversationItems(ctx context.Context, owner, id string) ([]listItem, error) {
	if _, err := s.conversation(ctx, owner, id); err != nil {
		return nil, err
	}
	var rows []sealedItem
	err := s.read(ctx, func(c store.Conn) (err error) {
		var size int64
		if err := c.Row(`SELECT coalesce(sum(size), 0) FROM gateway_conversation_items WHERE conversation = ?`, id).Scan(
			&size,
		); err != nil {
			return err
		}
		if size > maxHistory {
			return tooLarge("the conversation", maxHistory)
		}
		rows, err = store.List(c, scanItem, selectItems+`conversation = ? ORDER BY place`, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.openItems(ctx, id, rows)
}

// listItems returns a page of a conversation's items.
func (s *Service) listItems(ctx context.Context, owner, id string, p *paging) (*list, error) {
	if _, err := s.conversation(ctx, owner, id); err != nil {
		return nil, err
	}
	order, bound, cursor := "place", "place > ?", int64(0) // places begin at 1
	if !p.ascending {
		order, bound, cursor = "place DESC", "place < ?", 1<<62
	}
	var rows []sealedItem
	err := s.read(ctx, func(c store.Conn) (err error) {
		if p.after != "" {
			err = sql.ErrNoRows
			if storable(p.after) {
				err = c.Row(
					`SELECT place FROM gateway_conversation_items WHERE id = ? AND conversation = ?`, itemRow(id, p.after), id,
				).Scan(&cursor)
			}
			if errors.Is(err, sql.ErrNoRows) {
				return invalid("after", "must be the id of an item of the conversation, it is %s", hub.Shown(p.after))
			}
			if err != nil {
				return err
			}
		}
		rows, err = store.List(
			c, scanItem, selectItems+`conversation = ? AND `+bound+` ORDER BY `+order+` LIMIT ?`, id, cursor, p.limit+1,
		)
		return err
	})
	if err != nil {
		return nil, err
	}
	page, more := store.Cut(rows, p.limit)
	items, err := s.openItems(ctx, id, page)
	if err != nil {
		return nil, err
	}
	return newList(items, more, p.encrypted), nil
}

// item returns an item of a conversation. The error has status 404 if the conversation or the item does not exist.
func (s *Service) item(ctx context.Context, owner, conversation, id string) (*listItem, error) {
	if _, err := s.conversation(ctx, owner, conversation); err != nil {
		return nil, err
	}
	if !storable(id) {
		return nil, notFound("item", id)
	}
	var row sealedItem
	err := s.read(ctx, func(c store.Conn) (err error) {
		row, err = scanItem(c.Row(selectItems+`id = ? AND conversation = ?`, itemRow(conversation, id), conversation))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, notFound("item", id)
	}
	if err != nil {
		return nil, err
	}
	items, err := s.openItems(ctx, conversation, []sealedItem{row})
	if err != nil {
		return nil, err
	}
	return &items[0], nil
}

// deleteItem deletes an item of a conversation and returns the conversation. The error has status 404 if the
// conversation or the item does not exist.
func (s *Service) deleteItem(ctx context.Context, owner, id, item string) (*conversation, error) {
	v, err := s.conversation(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	var n int64
	if storable(item) {
		err = s.db.Write(ctx, func(c store.Conn) (err error) {
			n, err = c.Exec(`DELETE FROM gateway_conversation_items WHERE id = ? AND conversation = ?`, itemRow(id, item), id)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, notFound("item", item)
	}
	s.forgetSize(owner)
	return v, nil
}
