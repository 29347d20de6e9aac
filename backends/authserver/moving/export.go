package moving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
)

// exported is a line of an export file: a client, a user, or a group with roles. One of the fields is set.
type exported struct {
	Client *exportedClient `json:"client,omitempty"`
	User   *exportedUser   `json:"user,omitempty"`
	Group  *exportedGroup  `json:"group,omitempty"`
}

type exportedGroup struct {
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
}

type exportedClient struct {
	ID     string `json:"client_id"`
	Hash   string `json:"secret_hash,omitempty"`
	Scope  string `json:"scope,omitempty"`
	Source string `json:"registration_source"`
	Status string `json:"status"`
	clients.Registration
}

type exportedUser struct {
	ID       string   `json:"id"`
	Email    string   `json:"email"`
	Verified bool     `json:"email_verified,omitempty"`
	Name     string   `json:"name,omitempty"`
	Role     string   `json:"role,omitempty"`
	Groups   []string `json:"groups,omitempty"`
	Hash     string   `json:"password_hash,omitempty"`
	Disabled bool     `json:"disabled,omitempty"`
	Apps     []string `json:"totp,omitempty"`

	Roles      []string            `json:"roles,omitempty"`
	Attributes map[string][]string `json:"attributes,omitempty"`
	// Links are the accounts at providers with which the user signs in.
	Links []upstreams.Link `json:"identities,omitempty"`
	// DeleteAt is when the account is to be deleted at the user's request.
	DeleteAt *time.Time `json:"delete_at,omitempty"`
}

// Exported counts the exported and the omitted objects.
type Exported struct {
	Clients, Users int
	// Elsewhere is the number of users who sign in at another provider. Pending is the number of users who have not
	// chosen a password yet. Both groups of users are omitted.
	Elsewhere, Pending int
	// WithoutPassword is the number of users who were exported without their password.
	WithoutPassword int
}

// Export writes all clients, the roles of groups, and all users who sign in with a password, as one JSON object per
// line. The function Tollgate reads this format. A user's object contains the connected accounts at providers. The file
// contains the hashes of secrets and passwords, and the secrets of authenticator apps in clear.
//
// Clients with a metadata document are omitted, since their documents are fetched when needed. Users of other identity
// providers are omitted, since they can sign in there again. Passkeys are omitted, since they are bound to the host;
// see exportUser.
func (t *Target) Export(ctx context.Context, w io.Writer) (n Exported, err error) {
	lines := json.NewEncoder(w)
	err = t.Clients.Each(ctx, func(c *clients.Client) error {
		if c.Source == clients.Document {
			return nil
		}
		n.Clients++
		return lines.Encode(exported{Client: &exportedClient{
			ID: c.ID, Hash: c.Secret, Scope: strings.Join(c.Scope, " "), Source: c.Source, Status: c.Status,
			Registration: clients.Registration{
				Redirects: c.Redirects, Name: c.Name, Grants: c.Grants, Responses: c.Responses, AuthMethod: c.AuthMethod,
				Agent: c.Agent, AgentText: c.AgentText, Metadata: c.Metadata,
			},
		}})
	})
	if err != nil {
		return n, err
	}
	groups, err := t.Users.GroupRoles(ctx)
	if err != nil {
		return n, err
	}
	for _, g := range groups {
		if err := lines.Encode(exported{Group: &exportedGroup{g.Group, g.Roles}}); err != nil {
			return n, err
		}
	}
	err = t.Users.Each(ctx, func(u *users.User, hash string) error {
		switch {
		case u.Provider != users.Local:
			n.Elsewhere++
			return nil
		case u.Status == users.Pending:
			n.Pending++
			return nil
		}
		n.Users++
		user, onlyPasskeys, err := t.exportUser(ctx, u, hash)
		if err != nil {
			return fmt.Errorf("user %s: %w", u.ID, err)
		}
		if onlyPasskeys {
			n.WithoutPassword++
		}
		return lines.Encode(exported{User: user})
	})
	return n, err
}

// exportUser returns the exported form of a user, given the hash of the user's password. If the user's only second
// factors are passkeys, onlyPasskeys is true and the password is left out: without the passkeys, the password alone
// would be enough to sign in.
func (t *Target) exportUser(
	ctx context.Context, u *users.User, hash string,
) (user *exportedUser, onlyPasskeys bool, err error) {
	apps, err := t.Factors.AppSecrets(ctx, u.ID)
	if err != nil {
		return nil, false, err
	}
	if len(apps) == 0 {
		passkeys, err := t.Factors.Of(ctx, u.ID)
		if err != nil {
			return nil, false, err
		}
		if onlyPasskeys = len(passkeys) > 0; onlyPasskeys {
			hash = ""
		}
	}
	facts, err := t.Users.Given(ctx, u.ID)
	if err != nil {
		return nil, false, err
	}
	links, err := t.Upstreams.Links(ctx, u.ID)
	if err != nil {
		return nil, false, err
	}
	deletion, err := t.Users.DeletionOf(ctx, u.ID)
	if err != nil {
		return nil, false, err
	}
	user = &exportedUser{
		ID: u.ID, Email: u.Email, Verified: u.EmailVerified, Name: u.Name, Role: u.Role, Groups: u.Groups, Hash: hash,
		Disabled: !u.Active(), Apps: apps, Roles: facts.Roles, Attributes: facts.Attributes, Links: links,
	}
	if !deletion.IsZero() {
		user.DeleteAt = new(deletion.UTC())
	}
	return user, onlyPasskeys, nil
}

// Tollgate implements Reader for files that Export has written.
func Tollgate(file io.Reader, fn func(Record) error) error {
	d := json.NewDecoder(file)
	for i := 1; ; i++ {
		var raw json.RawMessage
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", i, err)
		}
		if len(raw) > maxRecord {
			return fmt.Errorf("line %d has more than %d bytes", i, maxRecord)
		}
		if err := fn(exportedRecord(i, raw)); err != nil {
			return err
		}
	}
}

// exportedRecord returns the record for the i-th line of an export.
func exportedRecord(number int, raw json.RawMessage) Record {
	var line exported
	r := Record{Where: fmt.Sprintf("line %d", number)}
	switch err := json.Unmarshal(raw, &line); {
	case err != nil:
		r.Refused = err.Error()
	case line.Client != nil && line.Client.Status != clients.Active:
		r.Skip = "the client is " + line.Client.Status
	case line.Client != nil:
		c := line.Client
		r.Where += " " + c.ID
		r.Client = &Client{
			Registration: c.Registration, Scope: c.Scope, Source: c.Source,
			Given: clients.Given{ID: c.ID, Hash: c.Hash},
		}
	case line.User != nil:
		u := line.User
		r.Where += " " + u.Email
		facts := users.Given{Roles: u.Roles, Attributes: u.Attributes}
		r.User = &User{Apps: u.Apps, Links: u.Links, Given: facts, New: users.New{
			Disabled: u.Disabled,
			ID:       u.ID, Email: u.Email, EmailVerified: u.Verified, Name: u.Name, Role: u.Role, Groups: u.Groups,
			Hash: u.Hash,
		}}
		if u.DeleteAt != nil {
			r.User.DeleteAt = *u.DeleteAt
		}
	case line.Group != nil:
		r.Where += " group " + line.Group.Name
		r.Group = &users.GroupRoles{Group: line.Group.Name, Roles: line.Group.Roles}
	default:
		r.Refused = "the line contains neither a client, a user nor a group"
	}
	return r
}
