package upstreams

import (
	"context"
	"database/sql"
	"errors"
	"net/url"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/people"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Link is a user's account at a provider, as another server stored it. The provider need not be configured here.
type Link struct {
	Issuer   string `json:"issuer"`
	Subject  string `json:"subject"`
	Username string `json:"username,omitempty"`
}

// maxIssuer is the maximum length of an issuer, in bytes.
const maxIssuer = 1000

// Check returns an error with status 422 if the link cannot be stored.
func (l *Link) Check() error {
	issuer, err := url.Parse(l.Issuer)
	switch {
	case err != nil || issuer.Host == "" || issuer.Scheme != "https" && issuer.Scheme != "http":
		return users.Invalid("identities", "the issuer of an identity must be the URL of an OpenID provider")
	case len(l.Issuer) > maxIssuer:
		return users.Invalid("identities", "the issuer of an identity has at most 1000 bytes")
	case !people.Identifies(l.Issuer, l.Subject):
		return users.Invalid("identities",
			"the subject of an identity has 1 to 255 bytes of valid UTF-8 without control characters")
	}
	return nil
}

// Links returns the connected accounts of a user.
func (s *Upstreams) Links(ctx context.Context, user string) (links []Link, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		rows, err := rowsOf(c, user)
		links = nil
		for _, row := range rows {
			links = append(links, Link{row.Issuer, row.Subject, row.Username})
		}
		return err
	})
	return links, err
}

// LinkedTo returns the id of the user who is connected with an account, or "" if there is no such user.
func (s *Upstreams) LinkedTo(ctx context.Context, l Link) (string, error) {
	return kernel.Read(ctx, s.Server, func(c store.Conn) (string, error) {
		return linkedTo(c, l)
	})
}

func linkedTo(c store.Conn, l Link) (user string, err error) {
	err = c.Row("SELECT user_id FROM authserver_identities WHERE issuer = ? AND subject = ?"+
		" UNION SELECT id FROM authserver_users WHERE issuer = ? AND subject = ?",
		l.Issuer, l.Subject, l.Issuer, l.Subject).Scan(&user)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return user, err
}

// PutLinks connects a user with accounts, in a transaction of the caller. It skips accounts with which the user is
// already connected. The error has status 422 if an account is connected with another user, or if the user has too many
// accounts.
func (s *Upstreams) PutLinks(c store.Conn, user string, links []Link) error {
	rows, err := rowsOf(c, user)
	if err != nil {
		return err
	}
	count := len(rows)
	for _, l := range links {
		switch owner, err := linkedTo(c, l); {
		case err != nil:
			return err
		case owner == user:
			continue
		case owner != "":
			return users.Invalid("identities", "the account at "+l.Issuer+" is connected with the user "+owner)
		}
		if count++; count > maxIdentities {
			return users.Invalid("identities", "a user has at most 20 identities")
		}
		if _, err := s.insert(c, user, l.Issuer, l.Subject, l.Username); err != nil {
			return err
		}
	}
	return nil
}
