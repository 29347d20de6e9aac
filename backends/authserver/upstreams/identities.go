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
	// maxGroups is the maximum number of groups that one connection gives.
	maxGroups = 100
)

// identity is a row of authserver_identities, which connects a user with an account at a provider.
type identity struct {
	ID              int64
	User            string
	Issuer, Subject string
	Username        string
	Groups          []string
	CreatedAt       int64
	UsedAt          int64
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

// rowsOf returns the rows of a user, the oldest first.
func rowsOf(c store.Conn, user string) ([]*identity, error) {
	return store.List(c, scan, "SELECT "+columns+" FROM authserver_identities WHERE user_id = ? ORDER BY id LIMIT ?",
		user, maxIdentities)
}

// insert connects a user with an account at a provider.
func (s *Upstreams) insert(c store.Conn, user, issuer, subject, called string) (*identity, error) {
	i := &identity{
		User: user, Issuer: issuer, Subject: subject, Username: username(called), CreatedAt: s.Micros(),
	}
	err := c.Row("INSERT INTO authserver_identities (user_id, issuer, subject, username, created_at)"+
		" VALUES (?, ?, ?, ?, ?) RETURNING id",
		i.User, i.Issuer, i.Subject, i.Username, i.CreatedAt).Scan(&i.ID)
	return i, err
}

// groupsOfOthers returns the groups that the other rows of the same user give.
func groupsOfOthers(c store.Conn, but *identity) (groups []string, err error) {
	rows, err := rowsOf(c, but.User)
	for _, row := range rows {
		if row.ID != but.ID {
			groups = append(groups, row.Groups...)
		}
	}
	return groups, err
}

func encode(groups []string) string {
	raw, err := json.Marshal(append([]string{}, groups...))
	if err != nil {
		panic(err) // of strings
	}
	return string(raw)
}

// Identity is a connected account at a provider, with which a user signs in.
type Identity struct {
	ID int64
	// Upstream is the provider. It is nil if the provider is no longer configured, so that it cannot sign the user in.
	Upstream *Upstream
	Issuer   string
	Username string // the user name at the provider, or empty
	Since    time.Time
	UsedAt   time.Time // the last sign-in; zero if there was none
}

// Name returns the display name of the provider, or the issuer if it is no longer configured.
func (i *Identity) Name() string {
	if i.Upstream == nil {
		return i.Issuer
	}
	return i.Upstream.Name
}

// Of returns the connected accounts of a user, the oldest first.
func (s *Upstreams) Of(ctx context.Context, user string) (list []Identity, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		rows, err := rowsOf(c, user)
		list = nil
		for _, row := range rows {
			one := Identity{
				ID: row.ID, Upstream: s.At(row.Issuer), Issuer: row.Issuer, Username: row.Username,
				Since: time.UnixMicro(row.CreatedAt),
			}
			if row.UsedAt > 0 {
				one.UsedAt = time.UnixMicro(row.UsedAt)
			}
			list = append(list, one)
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

// Link connects a user with an account at a provider; the caller has made sure that the user has signed in to both. It
// does nothing if they are connected already. It returns an error with status 409 if the account is connected with
// another user or the user has too many.
func (s *Upstreams) Link(ctx context.Context, user string, up *Upstream, subject, called string) error {
	if !people.Identifies(up.Issuer(), subject) {
		return errSubject
	}
	made := false
	err := s.Write(ctx, func(c store.Conn) error {
		made = false
		if err := lock(c, user); err != nil {
			return err
		}
		row, err := rowOf(c, up.Issuer(), subject)
		if err == nil && row.User == user {
			return nil
		}
		if errors.Is(err, sql.ErrNoRows) { // the section oidc may know the person
			var other *users.User
			if other, err = users.ByUpstream(c, up.Issuer(), subject); err == nil && other.ID == user {
				err = sql.ErrNoRows
			}
		}
		if err == nil {
			return errOthers
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		rows, err := rowsOf(c, user)
		if err != nil {
			return err
		}
		if len(rows) >= maxIdentities {
			return errMany
		}
		made = true
		_, err = s.insert(c, user, up.Issuer(), subject, called)
		return err
	})
	if store.IsUniqueViolation(err) { // by somebody else at the same time
		return errOthers
	}
	if err == nil && made {
		s.Users.Note(ctx, "user.upstream_linked", user, user, "upstream", up.Slug)
	}
	return err
}

// Unlink disconnects an account from a user and removes the groups that it gave. It calls then in the same transaction.
// It returns an error with status 409 if the user could not sign in any more, and 404 if there is no such connection.
func (s *Upstreams) Unlink(ctx context.Context, user string, id int64, then func(c store.Conn) error) error {
	return s.unlink(ctx, user, id, user, s.leaves, then)
}

// Remove is like Unlink for an operator: it may remove the last way to sign in, and ends all sessions and tokens of the
// user. by is the actor in the audit feed.
func (s *Upstreams) Remove(ctx context.Context, user string, id int64, by string) error {
	return s.unlink(ctx, user, id, by, func(store.Conn, *identity) error { return nil },
		func(c store.Conn) error { return s.Users.EndAll(c, user) })
}

// unlink does the work of Unlink and Remove.
func (s *Upstreams) unlink(ctx context.Context, user string, id int64, by string,
	may func(c store.Conn, gone *identity) error, then func(c store.Conn) error,
) error {
	var gone *identity
	err := s.Write(ctx, func(c store.Conn) (err error) {
		if err := lock(c, user); err != nil {
			return err
		}
		gone, err = scan(c.Row("SELECT "+columns+" FROM authserver_identities WHERE id = ? AND user_id = ?", id, user))
		if err != nil {
			return kernel.IfNoRows(err, errNone)
		}
		if err := may(c, gone); err != nil {
			return err
		}
		if _, err := c.Exec("DELETE FROM authserver_identities WHERE id = ?", gone.ID); err != nil {
			return err
		}
		if err := users.Leave(c, user, gone.Issuer, gone.Subject); err != nil {
			return err
		}
		kept, err := groupsOfOthers(c, gone)
		if err != nil {
			return err
		}
		u, err := users.In(c, user)
		if err != nil {
			return err
		}
		if err := s.Users.SwapGroups(c, u, gone.Groups, kept); err != nil {
			return err
		}
		return then(c)
	})
	if err != nil {
		return err
	}
	slug := gone.Issuer
	if up := s.At(gone.Issuer); up != nil {
		slug = up.Slug
	}
	s.Users.Note(ctx, "user.upstream_unlinked", by, user, "upstream", slug)
	return nil
}

// lock locks the row of a user until the transaction ends, so that concurrent calls cannot each remove one of the last
// two ways to sign in.
func lock(c store.Conn, user string) error {
	err := c.Row("SELECT id FROM authserver_users WHERE id = ?"+c.Lock(), user).Scan(new(string))
	return kernel.IfNoRows(err, errNone)
}

// leaves returns errLast if the user could not sign in without a row.
func (s *Upstreams) leaves(c store.Conn, gone *identity) error {
	rows, err := rowsOf(c, gone.User)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.ID != gone.ID && s.At(row.Issuer) != nil {
			return nil
		}
	}
	for _, way := range s.Ways {
		if has, err := way(c, gone.User); err != nil || has {
			return err
		}
	}
	return errLast
}

// Use is what is known of the use of a provider.
type Use struct {
	// Users is the number of connected users.
	Users int64
	// LastAt is the last sign-in of a user who is connected now. It is zero if there was none, and for the provider of
	// the section oidc, whose sign-ins are only in the audit feed.
	LastAt time.Time
}

// Used returns the use of the providers by their issuers.
func (s *Upstreams) Used(ctx context.Context) (map[string]Use, error) {
	used := make(map[string]Use)
	err := s.Read(ctx, func(c store.Conn) error {
		type row struct {
			issuer    string
			users, at int64
		}
		list, err := store.List(c, func(r store.Row) (one row, err error) {
			return one, r.Scan(&one.issuer, &one.users, &one.at)
		},
			"SELECT issuer, count(*), max(used_at) FROM authserver_identities GROUP BY issuer UNION ALL"+
				" SELECT issuer, count(*), 0 FROM authserver_users WHERE subject <> '' GROUP BY issuer")
		for _, one := range list {
			use := used[one.issuer]
			use.Users = max(use.Users, one.users)
			if one.at > 0 {
				use.LastAt = time.UnixMicro(one.at)
			}
			used[one.issuer] = use
		}
		return err
	})
	return used, err
}
