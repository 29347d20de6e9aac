// Package moving imports clients and users from other authorization servers: Keycloak, Ory Hydra, another Tollgate, and
// CSV files. A Reader turns a file into neutral records, and Apply stores those that do not exist yet. Secrets and
// passwords are imported as hashes.
package moving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Record is a client, a user, or a group with roles of a file.
type Record struct {
	// Where identifies the entry of the file, such as "users[3] ann@example.com".
	Where  string
	Client *Client
	User   *User
	Group  *users.GroupRoles
	// Skip is the reason why the entry is not for this server, such as a built-in client of the other one. Client, User
	// and Group are nil then.
	Skip string
	// Refused is the reason why the reader found that the entry cannot be imported.
	Refused string
	// Notes tell which parts of the entry are left out.
	Notes []string
}

// Client is a client as another server had it.
type Client struct {
	clients.Registration
	Scope string
	// Source is the source of the client, which determines whether its name is self-declared; see
	// clients.Client.SelfDeclared. Default: clients.Admin.
	Source string
	clients.Given
}

// User is a user as another server had it.
type User struct {
	users.New
	// Apps are the secrets of authenticator apps, in base32.
	Apps []string
	// Given are the roles and attributes.
	Given users.Given
}

// Reader reads a file and calls each with its records, until that returns an error.
type Reader func(file io.Reader, each func(Record) error) error

// Readers returns all readers by name.
func Readers() map[string]Reader {
	return map[string]Reader{"keycloak": Keycloak, "hydra": Hydra, "csv": CSV, "tollgate": Tollgate}
}

// The outcomes of a record.
const (
	Taken   = "taken"
	There   = "there"   // it exists already and is left as it is
	Skipped = "skipped" // see Record.Skip
	Refused = "refused"
)

// Line is the result of one record.
type Line struct {
	Where   string   `json:"where"`
	Kind    string   `json:"kind,omitempty"` // client, user or group
	ID      string   `json:"id,omitempty"`
	Outcome string   `json:"outcome"`
	Why     string   `json:"why,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// Target stores the records.
type Target struct {
	Clients *clients.Clients
	Users   *users.Users
	Factors *factors.Factors
}

// Options are the settings of Apply.
type Options struct {
	// DryRun stores nothing, but reports what would be done with each record.
	DryRun bool
	// By is the actor in the audit feed.
	By string
	// Tell is called with the result of each record. Required.
	Tell func(Line) error
}

// Apply reads a file and stores what does not exist yet. It can be run again after an interruption. A record that
// cannot be imported is reported and does not stop the import. An error means that the rest of the file cannot be read,
// or that the database failed.
func (t *Target) Apply(ctx context.Context, read Reader, file io.Reader, o Options) error {
	return read(file, func(r Record) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := t.take(ctx, &r, o)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Where, err)
		}
		return o.Tell(line)
	})
}

// take stores one record.
func (t *Target) take(ctx context.Context, r *Record, o Options) (line Line, err error) {
	line = Line{Where: r.Where, Notes: r.Notes}
	switch {
	case r.Refused != "":
		line.Outcome, line.Why = Refused, r.Refused
		return line, nil
	case r.Skip != "":
		line.Outcome, line.Why = Skipped, r.Skip
		return line, nil
	case r.Client != nil:
		line.Kind, line.ID = "client", r.Client.ID
		line.Outcome, err = t.client(ctx, r.Client, o)
	case r.Group != nil:
		line.Kind, line.ID = "group", r.Group.Group
		line.Outcome, err = t.group(ctx, r.Group, o)
	default:
		line.Kind, line.ID = "user", r.User.ID
		line.Outcome, err = t.user(ctx, r.User, o, &line)
	}
	if e, refused := apierror.From(err); refused && e.Status < 500 {
		line.Outcome, line.Why = Refused, e.Message
		return line, nil
	}
	return line, err
}

func (t *Target) client(ctx context.Context, c *Client, o Options) (outcome string, err error) {
	one, err := t.Clients.Client(&c.Registration, cmp.Or(c.Source, clients.Admin))
	if err == nil {
		one.Scope, err = resources.ParseScope(c.Scope)
	}
	if err == nil {
		err = t.Clients.CheckGiven(one, c.Given)
	}
	if err != nil {
		return "", err
	}
	_, err = t.Clients.Stored(ctx, c.ID)
	if err == nil {
		return There, nil
	}
	if !errors.Is(err, clients.ErrUnknown) {
		return "", err
	}
	if o.DryRun {
		return Taken, nil
	}
	_, err = t.Clients.CreateGiven(ctx, one, c.Given)
	if store.IsUniqueViolation(err) { // stored by somebody else in the meantime
		return There, nil
	}
	if err == nil {
		t.Clients.Audit(ctx, kernel.Event{Action: "client.imported", Actor: o.By, Client: one.ID})
	}
	return Taken, err
}

// group gives a group its roles, unless it has some.
func (t *Target) group(ctx context.Context, g *users.GroupRoles, o Options) (outcome string, err error) {
	if err := g.Check(); err != nil {
		return "", err
	}
	has, err := t.Users.RolesOfGroup(ctx, g.Group)
	switch {
	case err != nil:
		return "", err
	case len(has) > 0:
		return There, nil
	case o.DryRun:
		return Taken, nil
	}
	return Taken, t.Users.SetGroupRoles(ctx, *g, o.By)
}

// user stores a user with their factors and their status in one transaction, so that an interruption does not leave a
// user who can sign in with less than before.
func (t *Target) user(ctx context.Context, u *User, o Options, line *Line) (outcome string, err error) {
	if err := errors.Join(t.Users.Check(u.New), u.Given.Check()); err != nil {
		return "", err
	}
	found, err := t.Users.FindEmail(ctx, u.Email)
	if err == nil {
		if line.ID = found.ID; u.ID != "" && u.ID != found.ID {
			return "", users.Invalid("email", "there is another user with this mail address, whose id is "+found.ID)
		}
		return There, nil
	}
	if !users.IsNone(err) {
		return "", err
	}
	if u.ID != "" {
		if _, err := t.Users.Find(ctx, u.ID); err == nil {
			return "", users.Invalid("id", "there is another user with this id")
		} else if !users.IsNone(err) {
			return "", err
		}
	}
	var apps []func(c store.Conn, user string) error
	for _, secret := range u.Apps {
		app, err := t.Factors.ImportApp(ctx, "Authenticator app", secret)
		if err != nil {
			return "", err
		}
		apps = append(apps, app)
	}
	if o.DryRun {
		return Taken, nil
	}
	n := u.New
	n.Also = func(c store.Conn, id string) error {
		for _, app := range apps {
			if err := app(c, id); err != nil {
				return err
			}
		}
		return u.Given.Put(c, id)
	}
	made, err := t.Users.Create(ctx, n, o.By)
	if err != nil {
		return "", err
	}
	line.ID = made.ID
	return Taken, nil
}
