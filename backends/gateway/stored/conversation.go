package stored

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// conversation is a conversation in the form of the API.
type conversation struct {
	ID        string          `json:"id"`
	Object    string          `json:"object"`
	CreatedAt int64           `json:"created_at"`
	Metadata  json.RawMessage `json:"metadata"`
}

// conversationFull returns the error for a conversation that already has the maximum number of items.
func conversationFull(id string, items int) error {
	e := apierror.New(
		http.StatusBadRequest, "conversation_full",
		"the conversation %s would have more than %d items: delete some, or begin a new one", hub.Shown(id), items,
	)
	e.NoRetry = true
	return e.With("conversation")
}

// checkMetadata checks that v is valid metadata and returns it. If v is missing it returns an empty object.
func checkMetadata(v gjson.Result) (json.RawMessage, error) {
	const pairs, nameLimit, valueLimit = 16, 64, 512
	if !v.Exists() || v.Type == gjson.Null {
		return json.RawMessage("{}"), nil
	}
	if !v.IsObject() {
		return nil, invalid("metadata", "must be an object")
	}
	var err error
	n := 0
	v.ForEach(func(name, value gjson.Result) bool {
		n++
		switch {
		case n > pairs:
			err = invalid("metadata", "must have at most %d pairs", pairs)
		case len(name.Str) > nameLimit:
			err = invalid("metadata", "must have names of at most %d bytes", nameLimit)
		case value.Type != gjson.String || len(value.Str) > valueLimit:
			err = invalid("metadata", "must have texts of at most %d bytes as values", valueLimit)
		}
		return err == nil
	})
	return json.RawMessage(v.Raw), err
}

// maxConversations is the largest number of conversations of an owner.
const maxConversations = 10_000

// tooManyConversations returns the error for an owner with maxConversations conversations.
func tooManyConversations() error {
	e := apierror.New(http.StatusBadRequest, "too_many_conversations",
		"you already have %d conversations, which is the maximum: delete some", maxConversations)
	e.NoRetry = true
	return e
}

// createConversation creates a conversation with items. The error has status 400 if the owner has maxConversations
// already, or if the owner's quota is used up.
func (s *Service) createConversation(
	ctx context.Context, owner string, o *Options, metadata json.RawMessage, items []json.RawMessage,
) (*conversation, error) {
	now := s.now()
	v := &conversation{ID: wire.NewID("conv_"), Object: "conversation", CreatedAt: now.Unix(), Metadata: metadata}
	if err := s.checkRoom(ctx, owner, itemsSize(items), o); err != nil {
		return nil, err
	}
	sealed, err := s.seal(ctx, tableConversations, v.ID, metadata)
	if err != nil {
		return nil, err
	}
	added, err := s.sealItems(ctx, v.ID, items)
	if err != nil {
		return nil, err
	}
	expires := s.expires(o)
	err = s.db.Write(ctx, func(c store.Conn) error {
		var count int
		if err := c.Row(`SELECT count(*) FROM gateway_conversations WHERE owner = ?`, owner).Scan(&count); err != nil {
			return err
		}
		if count >= maxConversations {
			return tooManyConversations()
		}
		if _, err := c.Exec(
			`INSERT INTO gateway_conversations (id, owner, sealed, places, created_at, expires_at) VALUES (?, ?, ?, 0, ?, ?)`,
			v.ID, owner, sealed, schema.Micros(now), expires,
		); err != nil {
			return err
		}
		return s.appendItems(c, owner, v.ID, added, expires)
	})
	if err == nil {
		s.addSize(owner, sealedSize(added))
	}
	return v, err
}

// conversation returns a conversation of an owner. The error has status 404 if the owner has no such conversation.
func (s *Service) conversation(ctx context.Context, owner, id string) (*conversation, error) {
	if !storable(id) {
		return nil, notFound("conversation", id)
	}
	v := &conversation{ID: id, Object: "conversation"}
	var sealed string
	var created int64
	err := s.read(ctx, func(c store.Conn) error {
		return c.Row(`SELECT sealed, created_at FROM gateway_conversations WHERE id = ? AND owner = ? AND expires_at > ?`,
			id, owner, schema.Micros(s.now())).Scan(&sealed, &created)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, notFound("conversation", id)
	}
	if err == nil {
		v.CreatedAt = schema.Moment(created).Unix()
		v.Metadata, err = s.open(ctx, tableConversations, id, sealed)
	}
	return v, err
}

// setMetadata replaces the metadata of a conversation. The error has status 404 if the owner has no such conversation.
func (s *Service) setMetadata(ctx context.Context, owner, id string, o *Options, metadata json.RawMessage) error {
	sealed, err := s.seal(ctx, tableConversations, id, metadata)
	if err != nil {
		return err
	}
	return s.changeConversation(
		ctx, owner, id,
		`UPDATE gateway_conversations SET sealed = ?, expires_at = ? WHERE id = ? AND owner = ? AND expires_at > ?`, sealed,
		s.expires(o),
	)
}

// deleteConversation deletes a conversation with its items. Responses that continued it are kept.
func (s *Service) deleteConversation(ctx context.Context, owner, id string) error {
	err := s.changeConversation(
		ctx, owner, id, `DELETE FROM gateway_conversations WHERE id = ? AND owner = ? AND expires_at > ?`,
	)
	s.forgetSize(owner)
	return err
}

// changeConversation runs a statement whose last three arguments select the conversation. The error has status 404 if
// no row was changed.
func (s *Service) changeConversation(ctx context.Context, owner, id, statement string, args ...any) error {
	if !storable(id) {
		return notFound("conversation", id)
	}
	args = append(args, id, owner, schema.Micros(s.now()))
	var n int64
	err := s.db.Write(ctx, func(c store.Conn) (err error) {
		n, err = c.Exec(statement, args...)
		return err
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return notFound("conversation", id)
	}
	return nil
}
