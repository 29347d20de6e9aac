package moving

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// check returns an error with status 422 for a user that cannot be stored.
func (u *User) check(all *users.Users) error {
	if err := all.Check(u.New); err != nil {
		return err
	}
	if err := u.Given.Check(); err != nil {
		return err
	}
	for i := range u.Links {
		if err := u.Links[i].Check(); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether the file contains a field of the user.
func (u *User) has(field string) bool { return u.Fields == nil || slices.Contains(u.Fields, field) }

// existing returns the user of this server to whom a record refers, or nil. With Options.Update, that user may have
// another mail address here.
func (t *Target) existing(ctx context.Context, u *User, o Options) (*users.User, error) {
	found, err := t.Users.FindByEmail(ctx, u.Email)
	if err == nil {
		if u.ID != "" && u.ID != found.ID {
			return nil, users.Invalid("email", "there is another user with this mail address, whose id is "+found.ID)
		}
		return found, nil
	}
	if !users.IsNone(err) || u.ID == "" {
		return nil, ignoreNone(err)
	}
	found, err = t.Users.Find(ctx, u.ID)
	if err == nil && !o.Update {
		return nil, users.Invalid("id", "there is another user with this id")
	}
	if err != nil {
		return nil, ignoreNone(err)
	}
	return found, nil
}

func ignoreNone(err error) error {
	if users.IsNone(err) {
		return nil
	}
	return err
}

// apps returns functions that store authenticator apps for a user.
func (t *Target) apps(ctx context.Context, secrets []string) (apps []func(c store.Conn, user string) error, err error) {
	for _, secret := range secrets {
		app, err := t.Factors.ImportApp(ctx, "Authenticator app", secret)
		if err != nil {
			return nil, err
		}
		apps = append(apps, app)
	}
	return apps, nil
}

// update changes the user found to the data of the record u, and returns the names of the changed fields. An
// interruption may leave some fields unchanged; the next run changes them. With Options.DryRun it stores nothing.
func (t *Target) update(
	ctx context.Context, found *users.User, u *User, o Options, line *Line,
) (changed []string, err error) {
	if found.Provider != users.Local {
		line.Notes = append(line.Notes, "left as it is: the user signs in at another provider, which tells of them")
		return nil, nil
	}
	ch, given, err := t.difference(ctx, found, u, &changed)
	if err != nil {
		return nil, err
	}
	facts := len(changed)
	status := u.has("disabled") && found.Status != users.Pending && u.Disabled == found.Active()
	if status {
		changed = append(changed, "disabled")
	}
	links, err := t.newLinks(ctx, found.ID, u)
	if err != nil {
		return nil, err
	}
	if len(links) > 0 {
		changed = append(changed, "identities")
	}
	secrets, err := t.secrets(ctx, found.ID, u, o, &changed)
	if err != nil || len(changed) == 0 || o.DryRun {
		return changed, err
	}
	if facts > 0 {
		if _, err := t.Users.Update(ctx, found.ID, ch, o.By); err != nil {
			return nil, err
		}
		if given.roles != nil || given.attributes != nil {
			if _, _, err := t.Users.Regroup(ctx, found.ID, nil, given.roles, given.attributes, o.By); err != nil {
				return nil, err
			}
		}
	}
	if len(links) > 0 || secrets != nil {
		err := t.Users.Write(ctx, func(c store.Conn) error {
			if err := t.Upstreams.PutLinks(c, found.ID, links); err != nil || secrets == nil {
				return err
			}
			return secrets(c)
		})
		if err != nil {
			return nil, err
		}
	}
	if hash := u.Hash; slices.Contains(changed, "password") {
		if err := t.Users.SetHash(ctx, found.ID, hash, o.By); err != nil {
			return nil, err
		}
	}
	switch {
	case status && u.Disabled:
		_, err = t.Users.Disable(ctx, found.ID, o.By)
	case status:
		_, err = t.Users.Enable(ctx, found.ID, o.By)
	}
	return changed, err
}

// facts are the new roles and attributes of a user. A nil field means that the current values are kept.
type facts struct {
	roles      *[]string
	attributes *map[string][]string
}

// difference returns the changes that give the user found the data of the record u, and appends the names of the
// changed fields to changed. If the record has no name, the user's name is kept.
func (t *Target) difference(
	ctx context.Context, found *users.User, u *User, changed *[]string,
) (ch users.Change, newFacts facts, err error) {
	differs := func(field string, changes bool) bool {
		if changes = changes && u.has(field); changes {
			*changed = append(*changed, field)
		}
		return changes
	}
	email, err := users.Address(u.Email)
	if err != nil {
		return ch, newFacts, err
	}
	if differs("email", email != found.Email) {
		ch.Email = &email
		if u.has("email_verified") { // otherwise the new address is not confirmed
			ch.EmailVerified = &u.EmailVerified
		}
	}
	if differs("email_verified", u.EmailVerified != found.EmailVerified) {
		ch.EmailVerified = &u.EmailVerified
	}
	if differs("name", u.Name != "" && u.Name != found.Name) {
		ch.Name = &u.Name
	}
	if differs("role", u.Role != "" && u.Role != found.Role) {
		ch.Role = &u.Role
	}
	if differs("groups", !sameWords(u.Groups, found.Groups)) {
		ch.Groups = &u.Groups
	}
	current, err := t.Users.Given(ctx, found.ID)
	if err != nil {
		return ch, newFacts, err
	}
	if differs("roles", !sameWords(u.Given.Roles, current.Roles)) {
		newFacts.roles = &u.Given.Roles
	}
	attributes := u.attributes(current.Attributes)
	if !maps.EqualFunc(attributes, current.Attributes, slices.Equal) {
		*changed = append(*changed, "attributes")
		newFacts.attributes = &attributes
	}
	return ch, newFacts, nil
}

// attributes returns the new attributes of a user: those of the file, and the current attributes for which the file has
// no column.
func (u *User) attributes(present map[string][]string) map[string][]string {
	if u.Fields == nil {
		return u.Given.Attributes
	}
	merged := maps.Clone(present)
	for _, field := range u.Fields {
		name, ok := strings.CutPrefix(field, csvAttribute)
		if !ok {
			continue
		}
		if values := u.Given.Attributes[name]; len(values) == 0 {
			delete(merged, name)
		} else {
			if merged == nil {
				merged = make(map[string][]string)
			}
			merged[name] = values
		}
	}
	return merged
}

// newLinks returns the accounts in a record with which the user is not connected yet.
func (t *Target) newLinks(ctx context.Context, user string, u *User) (fresh []upstreams.Link, err error) {
	for _, l := range u.Links {
		linked, err := t.Upstreams.LinkedTo(ctx, l)
		switch {
		case err != nil:
			return fresh, err
		case linked == "":
			fresh = append(fresh, l)
		case linked != user:
			return fresh, users.Invalid("identities", "the account at "+l.Issuer+" is connected with the user "+linked)
		}
	}
	return fresh, nil
}

// secrets returns a function that stores the authenticator apps that the user does not have yet, or nil, and appends
// the names of changed fields to changed. Without Options.Secrets it does nothing.
func (t *Target) secrets(
	ctx context.Context, user string, u *User, o Options, changed *[]string,
) (func(c store.Conn) error, error) {
	if !o.Secrets {
		return nil, nil //nolint:nilnil // see above
	}
	if u.Hash != "" {
		stored, err := t.Users.Hash(ctx, user)
		if err != nil {
			return nil, err
		}
		if stored != u.Hash {
			*changed = append(*changed, "password")
		}
	}
	if len(u.Apps) == 0 {
		return nil, nil //nolint:nilnil // see above
	}
	stored, err := t.Factors.AppSecrets(ctx, user)
	if err != nil {
		return nil, err
	}
	apps, err := t.apps(ctx, slices.DeleteFunc(slices.Clone(u.Apps), func(secret string) bool {
		return slices.ContainsFunc(stored, func(app string) bool { return plainApp(app) == plainApp(secret) })
	}))
	if err != nil || len(apps) == 0 {
		return nil, err
	}
	*changed = append(*changed, "totp")
	return func(c store.Conn) error {
		for _, app := range apps {
			if err := app(c, user); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// plainApp returns the secret of an authenticator app in the stored form.
func plainApp(secret string) string {
	return strings.TrimRight(strings.ToUpper(strings.ReplaceAll(secret, " ", "")), "=")
}

// sameWords reports whether two lists contain the same words, in any order.
func sameWords(a, b []string) bool {
	sorted := func(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
	return slices.Equal(sorted(a), sorted(b))
}
