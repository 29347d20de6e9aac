// Package moving imports clients and users from other authorization servers: Keycloak, Ory Hydra, another Tollgate, and
// CSV files. A Reader converts a file to neutral records, and Apply stores the records that do not exist yet. Secrets
// and passwords are imported as hashes.
package moving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Record is an entry of a file: a client, a user, or a group with roles.
type Record struct {
	// Where identifies the entry in the file, such as "users[3] ann@example.com".
	Where  string
	Client *Client
	User   *User
	Group  *users.GroupRoles
	// Skip is the reason why the entry does not concern this server, such as a built-in client of the other server.
	// Client, User and Group are nil in that case.
	Skip string
	// Refused is the reason, found by the reader, why the entry cannot be imported.
	Refused string
	// Notes are sentences for the operator about the parts of the entry that are not imported.
	Notes []string
}

// Client is a client of the other server.
type Client struct {
	clients.Registration
	Scope string
	// Source is the source of the client, which determines whether its name is self-declared; see
	// clients.Client.SelfDeclared. Default: clients.Admin.
	Source string
	clients.Given
}

// User is a user of the other server.
type User struct {
	users.New
	// Apps are the secrets of authenticator apps, in base32.
	Apps []string
	// Given are the roles and attributes.
	Given users.Given
	// Links are the accounts at providers with which the user signs in.
	Links []upstreams.Link
	// Fields are the fields that the file contains, named as in csvColumns. Nil means all fields, for formats whose
	// files always have all of them.
	Fields []string
}

// Reader reads a file and calls yield with each of its records. It stops at the first error of yield and returns it.
type Reader func(file io.Reader, yield func(Record) error) error

// Readers returns all readers by name.
func Readers() map[string]Reader {
	return map[string]Reader{"keycloak": Keycloak, "hydra": Hydra, "csv": CSV, "tollgate": Tollgate}
}

// The outcomes of a record.
const (
	Taken   = "taken"   // it was imported
	There   = "there"   // it exists already and was not changed
	Updated = "updated" // it existed already and was changed; see Options.Update
	Skipped = "skipped" // see Record.Skip
	Refused = "refused" // it cannot be imported; see Line.Why
)

// Line is the result of one record.
type Line struct {
	Where   string `json:"where"`
	Kind    string `json:"kind,omitempty"` // client, user or group
	ID      string `json:"id,omitempty"`   // the client_id, the id of the user or the name of the group
	Outcome string `json:"outcome"`        // one of the constants above
	Why     string `json:"why,omitempty"`  // the reason, if the outcome is Skipped or Refused
	// Changed are the names of the changed fields, if the outcome is Updated.
	Changed []string `json:"changed,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// Target stores the records.
type Target struct {
	Clients *clients.Clients
	Users   *users.Users
	Factors *factors.Factors
	// Upstreams stores the users' connected accounts at providers.
	Upstreams *upstreams.Upstreams
}

// Options are the settings of Apply.
type Options struct {
	// DryRun stores nothing. The results are those of a real run.
	DryRun bool
	// Update changes existing clients and users to the data of the file; otherwise they are left unchanged. Without
	// Secrets, Update keeps existing passwords, client secrets and authenticator apps. Authenticator apps, accounts at
	// providers and planned deletions that the file does not contain are never removed.
	Update, Secrets bool
	// By is the actor in the audit feed.
	By string
	// Tell is called with the result of each record. Required.
	Tell func(Line) error
}

// Apply reads a file and stores the records that do not exist yet. With Options.Update it also changes those that
// exist. After an interruption, Apply can be called again. A record that cannot be imported is reported and does not
// stop the import. An error means that the remaining file cannot be read, or that the database failed.
func (t *Target) Apply(ctx context.Context, read Reader, file io.Reader, o Options) error {
	return read(file, func(r Record) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := t.storeRecord(ctx, &r, o)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Where, err)
		}
		return o.Tell(line)
	})
}

// storeRecord stores one record and returns its result.
func (t *Target) storeRecord(ctx context.Context, r *Record, o Options) (line Line, err error) {
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
		line.Outcome, err = t.storeClient(ctx, r.Client, o, &line)
	case r.Group != nil:
		line.Kind, line.ID = "group", r.Group.Group
		line.Outcome, err = t.storeGroup(ctx, r.Group, o, &line)
	default:
		line.Kind, line.ID = "user", r.User.ID
		line.Outcome, err = t.storeUser(ctx, r.User, o, &line)
	}
	if e, refused := apierror.From(err); refused && e.Status < 500 {
		line.Outcome, line.Why = Refused, e.Message
		return line, nil
	}
	return line, err
}

// storeClient stores a client and returns the outcome. It may add notes to the line.
func (t *Target) storeClient(ctx context.Context, c *Client, o Options, line *Line) (outcome string, err error) {
	client, err := t.Clients.Client(&c.Registration, cmp.Or(c.Source, clients.Admin))
	if err != nil {
		return "", err
	}
	if client.Scope, err = resources.ParseScope(c.Scope); err != nil {
		return "", err
	}
	if err := t.Clients.CheckGiven(client, c.Given); err != nil {
		return "", err
	}
	_, err = t.Clients.Stored(ctx, c.ID)
	switch {
	case err == nil && !o.Update:
		return There, nil
	case err == nil:
		line.Changed, err = t.Clients.UpdateGiven(ctx, client, c.Given, o.Secrets, o.DryRun)
		return t.updateOutcome(ctx, line, err, kernel.Event{Action: "client.updated", Actor: o.By, Client: c.ID}, o)
	case !errors.Is(err, clients.ErrUnknown):
		return "", err
	case o.DryRun:
		return Taken, nil
	}
	_, err = t.Clients.CreateGiven(ctx, client, c.Given)
	if store.IsUniqueViolation(err) { // another process has stored the client in the meantime
		return There, nil
	}
	if err == nil {
		t.Clients.Audit(ctx, kernel.Event{Action: "client.imported", Actor: o.By, Client: client.ID})
	}
	return Taken, err
}

// updateOutcome returns the outcome of an update: Updated if line.Changed has fields, and otherwise There. The
// parameter err is the error of the update; unless it is nil, updateOutcome returns it instead. If the change was
// stored, updateOutcome records the event e in the audit feed.
func (t *Target) updateOutcome(ctx context.Context, line *Line, err error, e kernel.Event, o Options) (string, error) {
	switch {
	case err != nil:
		return "", err
	case len(line.Changed) == 0:
		return There, nil
	case !o.DryRun:
		e.Detail = append(e.Detail, "of", strings.Join(line.Changed, ", "))
		t.Clients.Audit(ctx, e)
	}
	return Updated, nil
}

// storeGroup sets the roles of a group and returns the outcome. If the group already has roles, it changes them only
// with Options.Update.
func (t *Target) storeGroup(
	ctx context.Context, g *users.GroupRoles, o Options, line *Line,
) (outcome string, err error) {
	if err := g.Check(); err != nil {
		return "", err
	}
	current, err := t.Users.RolesOfGroup(ctx, g.Group)
	switch {
	case err != nil:
		return "", err
	case len(current) > 0 && (!o.Update || sameWords(current, g.Roles)):
		return There, nil
	case len(current) > 0:
		outcome, line.Changed = Updated, []string{"roles"}
	default:
		outcome = Taken
	}
	if o.DryRun {
		return outcome, nil
	}
	return outcome, t.Users.SetGroupRoles(ctx, *g, o.By)
}

// storeUser stores a user with the user's factors and status in one transaction, and returns the outcome. An
// interruption therefore never leaves a user who can sign in with fewer factors than before.
func (t *Target) storeUser(ctx context.Context, u *User, o Options, line *Line) (outcome string, err error) {
	if err := u.check(t.Users); err != nil {
		return "", err
	}
	found, err := t.findExisting(ctx, u, o)
	if err != nil {
		return "", err
	}
	if found != nil {
		line.ID = found.ID
		if !o.Update {
			return There, nil
		}
		if found.Provider != users.Local {
			line.Notes = append(line.Notes,
				"the user was not changed, since the data of users who sign in at another provider comes from that provider")
			return There, nil
		}
		line.Changed, err = t.updateUser(ctx, found, u, o)
		return t.updateOutcome(ctx, line, err, kernel.Event{
			Action: "user.updated", Actor: o.By, Detail: []string{"user", found.ID},
		}, o)
	}
	storeApps, err := t.importApps(ctx, u.Apps)
	if err != nil {
		return "", err
	}
	if _, err := t.newLinks(ctx, "", u.Links); err != nil { // refuses accounts of other users
		return "", err
	}
	if o.DryRun {
		return Taken, nil
	}
	n := u.New
	n.Also = func(c store.Conn, id string) error {
		if err := storeApps(c, id); err != nil {
			return err
		}
		return errors.Join(u.Given.Put(c, id), t.Upstreams.PutLinks(c, id, u.Links))
	}
	created, err := t.Users.Create(ctx, n, o.By)
	if err != nil {
		return "", err
	}
	line.ID = created.ID
	return Taken, nil
}
