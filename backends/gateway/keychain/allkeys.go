package keychain

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// HeldKey is a gateway key with whose it is.
type HeldKey struct {
	Key GatewayKey `json:"key"`
	// User is the name or else the mail address of the user, or the name of the team that the key belongs to. It may be
	// empty.
	User string `json:"user"`
	// OfTeam reports that the key belongs to the team with the id Key.UserID and to no person.
	OfTeam bool `json:"of_team"`
}

// Place returns the place of the key in the list of AllKeys, for the next page.
func (k *HeldKey) Place() string {
	return strconv.FormatInt(schema.Micros(k.Key.CreatedAt), 10) + "/" + k.Key.ID
}

// AllKeys returns at most limit gateway keys of all users and teams, newest first, from a place on, which is empty for
// the newest ones. If words is not empty only keys are returned whose label, or the id, mail address or name of whose
// user contains it. Revoked keys are left out unless revoked is set. The error has status 400 if the place is invalid.
func (s *Service) AllKeys(ctx context.Context, words, after string, revoked bool, limit int) ([]HeldKey, error) {
	created, id := int64(math.MaxInt64), ""
	if after != "" {
		at, last, _ := strings.Cut(after, "/")
		var err error
		if created, err = strconv.ParseInt(at, 10, 64); err != nil || !schema.StorableID(last) {
			return nil, apierror.New(400, "invalid_value", "after must be the next_after of the page before").With("after")
		}
		id = last
	}
	if !schema.StorableID(words) {
		return nil, nil
	}
	pattern := likeAnywhere(words)
	return read(ctx, s, func(row store.Row) (k HeldKey, err error) {
		k.Key, err = s.scanKey(row, &k.User, &k.OfTeam)
		return k, err
	}, `SELECT `+keyColumns+`, coalesce(nullif(w.name, ''), w.email, ''), w.is_service FROM (
			SELECT k.* FROM gateway_keys AS k JOIN gateway_users AS w ON w.id = k.user_id
			WHERE (k.created_at < ? OR k.created_at = ? AND k.id < ?) AND (CAST(? AS BIGINT) = 1 OR k.revoked_at IS NULL)
			AND (? = '' OR lower(k.label) LIKE ? ESCAPE '\' OR lower(w.id) LIKE ? ESCAPE '\' OR w.email LIKE ? ESCAPE '\'
				OR lower(w.name) LIKE ? ESCAPE '\')
			ORDER BY k.created_at DESC, k.id DESC LIMIT ?
		) AS k`+withLimits+`ORDER BY k.created_at DESC, k.id DESC`,
		created, created, id, schema.Flag(revoked), words, pattern, pattern, pattern, pattern, limit)
}

// likeAnywhere returns a pattern for LIKE with the escape \ that matches what contains the words in lower case.
func likeAnywhere(words string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(strings.ToLower(words)) + "%"
}
