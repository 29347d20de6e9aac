package upstreams

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/people"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// maxIdentities is the maximum number of connected accounts of a user.
	maxIdentities = 20
	// maxGroups is the maximum number of groups that a user gets from one connected account.
	maxGroups = 100
)

// identity is a row of authserver_identities, which links a user with an account at a provider.
type identity struct {
	ID              int64
	User            string
	Issuer, Subject string
	Username        string
	Groups          []string // the groups that the user has from the provider
	CreatedAt       int64    // this and UsedAt are in microseconds since 1970
	UsedAt          int64    // the last sign-in; zero if there was none
}

const columns = "id, user_id, issuer, subject, username, user_groups, created_at, used_at"

var errNone = apierror.New(http.StatusNotFound, "not_found", "there is no such connection")

func scan(r store.Row) (*identity, error) {
	i := new(identity)
	var groups string
	err := r.Scan(&i.ID, &i.User, &i.Issuer, &i.Subject, &i.Username, &groups, &i.CreatedAt, &i.UsedAt)
	if err != nil {
		return nil, err
	}
	return i, json.Unmarshal([]byte(groups), &i.Groups)
}

// rowOf returns the row for an account at a provider, or sql.ErrNoRows.
func rowOf(c store.Conn, issuer, subject string) (*identity, error) {
	return scan(c.Row("SELECT "+columns+" FROM authserver_identities WHERE issuer = ? AND subject = ?"+
		c.Lock(), issuer, subject))
}

// rowsOf returns the rows of a user, oldest first.
func rowsOf(c store.Conn, user string) ([]*identity, error) {
	return store.List(c, scan, "SELECT "+columns+" FROM authserver_identities WHERE user_id = ? ORDER BY id LIMIT ?",
		user, maxIdentities)
}

// insert links a user with an account at a provider, where the user has the given name.
func (s *Upstreams) insert(c store.Conn, user, issuer, subject, name string) (*identity, error) {
	i := &identity{
		User: user, Issuer: issuer, Subject: subject, Username: username(name), CreatedAt: s.Micros(),
	}
	err := c.Row("INSERT INTO authserver_identities (user_id, issuer, subject, username, created_at)"+
		" VALUES (?, ?, ?, ?, ?) RETURNING id",
		i.User, i.Issuer, i.Subject, i.Username, i.CreatedAt).Scan(&i.ID)
	return i, err
}

// groupsOfOthers returns the groups that the user of excludedRow has from all other connected accounts.
func groupsOfOthers(c store.Conn, excludedRow *identity) (groups []string, err error) {
	rows, err := rowsOf(c, excludedRow.User)
	for _, row := range rows {
		if row.ID != excludedRow.ID {
			groups = append(groups, row.Groups...)
		}
	}
	return groups, err
}

// Identity is a connected account at a provider, with which a user signs in.
type Identity struct {
	ID int64
	// Upstream is the provider. It is nil if the provider is no longer configured; the account then cannot sign the
	// user in.
	Upstream *Upstream
	Issuer   string
	Username string // the user name at the provider, or empty
	Since    time.Time
	UsedAt   time.Time // the last sign-in; zero if there was none
}

// Name returns the display name of the provider. If the provider is no longer configured, Name returns the issuer.
func (i *Identity) Name() string {
	if i.Upstream == nil {
		return i.Issuer
	}
	return i.Upstream.Name
}

// Of returns the connected accounts of a user, oldest first.
func (s *Upstreams) Of(ctx context.Context, user string) (list []Identity, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		rows, err := rowsOf(c, user)
		list = nil
		for _, row := range rows {
			identity := Identity{
				ID: row.ID, Upstream: s.At(row.Issuer), Issuer: row.Issuer, Username: row.Username,
				Since: time.UnixMicro(row.CreatedAt),
			}
			if row.UsedAt > 0 {
				identity.UsedAt = time.UnixMicro(row.UsedAt)
			}
			list = append(list, identity)
		}
		return err
	})
	return list, err
}

var (
	errOthers = apierror.New(http.StatusConflict, "conflict",
		"That account is connected with another one here. Disconnect it there first.")
	errMany = apierror.New(http.StatusConflict, "conflict",
		"You have connected as many accounts as you may. Disconnect one first.")
	errSubject = apierror.New(http.StatusBadRequest, "bad_request",
		"The provider does not tell who you are in a way that can be stored here.")
	errLast = apierror.New(http.StatusConflict, "conflict",
		"You could not sign in any more: this is the only way that you have. Connect another account first.")
)

// Link connects a user with an account at a provider. The caller must have verified that the user has signed in to
// both. If they are already connected, Link does nothing. The error has status 409 if the account is connected with
// another user, or if the user has too many connected accounts.
func (s *Upstreams) Link(ctx context.Context, user string, provider *Upstream, subject, name string) error {
	if !people.Identifies(provider.Issuer(), subject) {
		return errSubject
	}
	created := false
	err := s.Write(ctx, func(c store.Conn) error {
		created = false
		if err := lock(c, user); err != nil {
			return err
		}
		row, err := rowOf(c, provider.Issuer(), subject)
		switch {
		case err == nil && row.User == user:
			return nil
		case err == nil:
			return errOthers
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		// The account may be that of a user who signs in at the provider of the section oidc. Such a user has no row in
		// authserver_identities.
		owner, err := users.ByUpstream(c, provider.Issuer(), subject)
		switch {
		case err == nil && owner.ID != user:
			return errOthers
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return err
		}
		rows, err := rowsOf(c, user)
		if err != nil {
			return err
		}
		if len(rows) >= maxIdentities {
			return errMany
		}
		created = true
		_, err = s.insert(c, user, provider.Issuer(), subject, name)
		return err
	})
	if store.IsUniqueViolation(err) { // somebody else has connected the account at the same time
		return errOthers
	}
	if err == nil && created {
		s.Users.Note(ctx, "user.upstream_linked", user, user, "upstream", provider.Slug)
	}
	return err
}

// Unlink disconnects an account from a user and removes the user's groups that came from the account. It also calls
// alsoDo in the same transaction. The error has status 409 if the user could no longer sign in, and 404 if the
// connection does not exist.
func (s *Upstreams) Unlink(ctx context.Context, user string, id int64, alsoDo func(c store.Conn) error) error {
	return s.unlink(ctx, user, id, user, s.checkOtherWay, alsoDo)
}

// Remove is like Unlink for an operator. It may remove the user's last way to sign in, and it ends all sessions and
// tokens of the user. The audit event names the actor.
func (s *Upstreams) Remove(ctx context.Context, user string, id int64, actor string) error {
	return s.unlink(ctx, user, id, actor, func(store.Conn, *identity) error { return nil },
		func(c store.Conn) error { return s.Users.EndAll(c, user) })
}

// unlink implements Unlink and Remove. In one transaction it calls check with the row, removes the row, and calls
// alsoDo. The audit event names the actor.
func (s *Upstreams) unlink(ctx context.Context, user string, id int64, actor string,
	check func(c store.Conn, row *identity) error, alsoDo func(c store.Conn) error,
) error {
	var removed *identity
	err := s.Write(ctx, func(c store.Conn) (err error) {
		if err := lock(c, user); err != nil {
			return err
		}
		removed, err = scan(c.Row("SELECT "+columns+" FROM authserver_identities WHERE id = ? AND user_id = ?", id, user))
		if err != nil {
			return kernel.IfNoRows(err, errNone)
		}
		if err := check(c, removed); err != nil {
			return err
		}
		if _, err := c.Exec("DELETE FROM authserver_identities WHERE id = ?", removed.ID); err != nil {
			return err
		}
		// The section oidc may have linked the same account.
		if err := users.Leave(c, user, removed.Issuer, removed.Subject); err != nil {
			return err
		}
		others, err := groupsOfOthers(c, removed)
		if err != nil {
			return err
		}
		u, err := users.In(c, user)
		if err != nil {
			return err
		}
		if err := s.Users.SwapGroups(c, u, removed.Groups, others); err != nil {
			return err
		}
		return alsoDo(c)
	})
	if err != nil {
		return err
	}
	slug := removed.Issuer
	if provider := s.At(removed.Issuer); provider != nil {
		slug = provider.Slug
	}
	s.Users.Note(ctx, "user.upstream_unlinked", actor, user, "upstream", slug)
	return nil
}

// lock locks the row of a user until the transaction ends. Otherwise two concurrent calls could each remove one of the
// user's last two ways to sign in.
func lock(c store.Conn, user string) error {
	err := c.Row("SELECT id FROM authserver_users WHERE id = ?"+c.Lock(), user).Scan(new(string))
	return kernel.IfNoRows(err, errNone)
}

// checkOtherWay returns errLast if the user cannot sign in without the row removedRow.
func (s *Upstreams) checkOtherWay(c store.Conn, removedRow *identity) error {
	rows, err := rowsOf(c, removedRow.User)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.ID != removedRow.ID && s.At(row.Issuer) != nil {
			return nil
		}
	}
	for _, canSignIn := range s.Ways { // ways without a provider
		if possible, err := canSignIn(c, removedRow.User); err != nil || possible {
			return err
		}
	}
	return errLast
}

// Use describes how much a provider is used.
type Use struct {
	// Users is the number of connected users.
	Users int64
	// LastAt is the time of the last sign-in by a currently connected user. It is zero if there was no sign-in. It is
	// also zero for the provider of the section oidc, whose sign-ins only the audit feed records.
	LastAt time.Time
}

// Used returns how much each provider is used. The keys of the result are the issuers of the providers. Providers
// without users are omitted. The result also has issuers that are no longer configured.
func (s *Upstreams) Used(ctx context.Context) (map[string]Use, error) {
	uses := make(map[string]Use)
	err := s.Read(ctx, func(c store.Conn) error {
		type row struct {
			issuer      string
			users, last int64
		}
		list, err := store.List(c, func(r store.Row) (found row, err error) {
			return found, r.Scan(&found.issuer, &found.users, &found.last)
		},
			"SELECT issuer, count(*), max(used_at) FROM authserver_identities GROUP BY issuer UNION ALL"+
				" SELECT issuer, count(*), 0 FROM authserver_users WHERE subject <> '' GROUP BY issuer")
		for _, row := range list {
			use := uses[row.issuer]
			use.Users = max(use.Users, row.users) // a user who has connected an account may be in both tables
			if row.last > 0 {
				use.LastAt = time.UnixMicro(row.last)
			}
			uses[row.issuer] = use
		}
		return err
	})
	return uses, err
}
