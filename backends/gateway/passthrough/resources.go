package passthrough

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Resource is a file or a batch that a provider stores. It belongs to the user and the team whose request created it,
// and is accessed with the provider key that created it.
type Resource struct {
	ID, Kind    string // the provider's id; KindFile, KindBatch or KindMessageBatch
	UserID      string
	TeamID      string // empty means no team
	KeyID       string // the gateway key that created it
	Provider    string
	ProviderKey string // public id of the provider key
	CreatedAt   time.Time
	Batch       string // for a results file, the id of its batch
	Charged     bool   // for a batch: whether its cost, if any, is in the usage log
}

// The kinds of resources.
const (
	KindFile         = "file"
	KindBatch        = "batch"
	KindMessageBatch = "message_batch" // of the messages format
)

// IsBatch reports whether the resource is a batch of any format.
func (o *Resource) IsBatch() bool { return o.Kind == KindBatch || o.Kind == KindMessageBatch }

// Resources stores which resources at providers belong to which user and team.
type Resources struct {
	db  *store.DB
	now func() time.Time
}

// NewResources returns the Resources in a database with schema.Gateway registered.
func NewResources(db *store.DB, now func() time.Time) *Resources { return &Resources{db, now} }

// Keep stores a resource. If it is stored already it stays unchanged.
func (s *Resources) Keep(ctx context.Context, o *Resource) error {
	if !schema.StorableID(o.ID) || !schema.StorableID(o.UserID) {
		return apierror.New(http.StatusBadRequest, "invalid_value",
			"the id of the object cannot be stored: it is too long or not valid UTF-8").With("id")
	}
	return s.db.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec(`INSERT INTO gateway_objects (id, kind, user_id, team_id, key_id, provider, provider_key, created_at, charged, polled_at, batch)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, team_id, kind, id) DO NOTHING`,
			o.ID, o.Kind, o.UserID, o.TeamID, o.KeyID, o.Provider, o.ProviderKey, schema.Micros(s.now()),
			schema.Flag(!o.IsBatch()), schema.Micros(s.now()), o.Batch)
		return err
	})
}

const selectObjects = `SELECT id, kind, user_id, team_id, key_id, provider, provider_key, created_at, charged, batch FROM gateway_objects WHERE `

func scanObject(row store.Row) (o Resource, err error) {
	var created int64
	err = row.Scan(&o.ID, &o.Kind, &o.UserID, &o.TeamID, &o.KeyID, &o.Provider, &o.ProviderKey, &created, &o.Charged,
		&o.Batch)
	o.CreatedAt = schema.Moment(created)
	return o, err
}

// notFound returns the error with status 404 for a resource that the caller does not have.
func notFound(kind, id string) error {
	return apierror.New(http.StatusNotFound, "not_found", "there is no %s %.200q", kind, id)
}

// Find returns a resource of a user and a team. The error has status 404 if they have no such resource, even if other
// users have one with this id.
func (s *Resources) Find(ctx context.Context, userID, teamID, kind, id string) (o Resource, err error) {
	if !schema.StorableID(id) {
		return o, notFound(kind, id)
	}
	err = s.db.Read(ctx, func(c store.Conn) (err error) {
		o, err = scanObject(c.Row(selectObjects+`user_id = ? AND team_id = ? AND kind = ? AND id = ?`, userID,
			teamID, kind, id))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound(kind, id)
	}
	return o, err
}

// List returns the resources of one kind that belong to a user and a team, newest first. The list begins after the
// resource whose id is the cursor, or with the newest one if the cursor is empty.
func (s *Resources) List(
	ctx context.Context, userID, teamID, kind, cursor string, limit int,
) (list []Resource, err error) {
	lastCreated, lastID := int64(1<<62), "" // the list begins after this resource
	if cursor != "" {
		last, err := s.Find(ctx, userID, teamID, kind, cursor)
		if err != nil {
			return nil, err
		}
		lastCreated, lastID = schema.Micros(last.CreatedAt), last.ID
	}
	err = s.db.Read(ctx, func(c store.Conn) error {
		list, err = store.List(c, scanObject,
			selectObjects+`user_id = ? AND team_id = ? AND kind = ? AND (created_at < ? OR created_at = ? AND id < ?)
			ORDER BY created_at DESC, id DESC LIMIT ?`, userID, teamID, kind, lastCreated, lastCreated, lastID, limit)
		return err
	})
	return list, err
}

// Forget removes a resource that its provider has deleted.
func (s *Resources) Forget(ctx context.Context, o *Resource) error {
	return s.db.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec(`DELETE FROM gateway_objects WHERE user_id = ? AND team_id = ? AND kind = ? AND id = ?`, o.UserID,
			o.TeamID, o.Kind, o.ID)
		return err
	})
}

// MarkCharged marks a batch as charged. first is true if it was not charged before: only then may the caller add the
// cost of the batch to the usage log, so that concurrent callers do not charge it twice. MarkCharged itself adds no
// cost.
func (s *Resources) MarkCharged(ctx context.Context, o *Resource) (first bool, err error) {
	err = s.db.Write(ctx, func(c store.Conn) error {
		changed, err := c.Exec(`UPDATE gateway_objects SET charged = 1 WHERE user_id = ? AND team_id = ? AND kind = ? AND id = ? AND charged = 0`,
			o.UserID, o.TeamID, o.Kind, o.ID)
		first = changed == 1
		return err
	})
	return first, err
}

// Uncharged returns at most limit batches that are not charged and were last polled before the cutoff, ordered by the
// time of that poll. It marks them as polled now, so that other calls do not return them at once.
func (s *Resources) Uncharged(ctx context.Context, cutoff time.Time, limit int) (list []Resource, err error) {
	err = s.db.Write(ctx, func(c store.Conn) error {
		if list, err = store.List(c, scanObject,
			selectObjects+`charged = 0 AND polled_at <= ? ORDER BY polled_at, id LIMIT ?`, schema.Micros(cutoff),
			limit); err != nil {
			return err
		}
		for i := range list {
			o := &list[i]
			if _, err := c.Exec(`UPDATE gateway_objects SET polled_at = ? WHERE user_id = ? AND team_id = ? AND kind = ? AND id = ?`,
				schema.Micros(s.now()), o.UserID, o.TeamID, o.Kind, o.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}
