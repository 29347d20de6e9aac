package moving

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// check returns an error with status 422 for a user that cannot be stored.
func (u *User) check(people *users.Users) error {
	if err := people.Check(u.New); err != nil {
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

// hasField reports whether the file contains a field of the user, named as in csvColumns.
func (u *User) hasField(field string) bool {
	return u.Fields == nil || slices.Contains(u.Fields, field)
}

// findExisting returns the user of this server to whom a record refers, or nil. With Options.Update, that user may have
// another mail address here.
func (t *Target) findExisting(ctx context.Context, u *User, o Options) (*users.User, error) {
	found, err := t.Users.FindByEmail(ctx, u.Email)
	if err == nil {
		if u.ID != "" && u.ID != found.ID {
			return nil, users.Invalid("email", "another user, whose id is "+found.ID+", has this mail address")
		}
		return found, nil
	}
	if !users.IsNone(err) || u.ID == "" {
		return nil, ignoreNotFound(err)
	}
	found, err = t.Users.Find(ctx, u.ID)
	if err == nil && !o.Update {
		return nil, users.Invalid("id", "another user has this id")
	}
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return found, nil
}

// ignoreNotFound returns nil if err means that the user does not exist, and otherwise err.
func ignoreNotFound(err error) error {
	if users.IsNone(err) {
		return nil
	}
	return err
}

// importApps returns a function that stores the secrets as authenticator apps of a user, given by its id. The error has
// status 422 if a secret is invalid.
func (t *Target) importApps(
	ctx context.Context, secrets []string,
) (storeApps func(c store.Conn, user string) error, err error) {
	apps := make([]func(c store.Conn, user string) error, len(secrets))
	for i, secret := range secrets {
		if apps[i], err = t.Factors.ImportApp(ctx, "Authenticator app", secret); err != nil {
			return nil, err
		}
	}
	return func(c store.Conn, user string) error {
		for _, storeApp := range apps {
			if err := storeApp(c, user); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// userChanges are the changes that give a stored user the data of a record.
type userChanges struct {
	fields []string // the names of all changed fields
	// own is set if a field that Users.Update or Users.Regroup stores is to be changed.
	own        bool
	data       users.Change
	roles      *[]string            // nil if unchanged
	attributes *map[string][]string // nil if unchanged
	links      []upstreams.Link     // accounts at providers to be connected
	// storeApps stores the authenticator apps that the user does not have yet. It is nil if there are none.
	storeApps func(c store.Conn, user string) error
	// password is set if the user gets the hash of the record. status is set if the user is to be disabled or enabled.
	password, status bool
}

// updateUser changes the stored user to the data of the record u, and returns the names of the changed fields. With
// Options.DryRun it stores nothing.
func (t *Target) updateUser(
	ctx context.Context, stored *users.User, u *User, o Options,
) (changed []string, err error) {
	ch, err := t.difference(ctx, stored, u, o)
	if err == nil && len(ch.fields) > 0 && !o.DryRun {
		err = t.storeChanges(ctx, stored.ID, u, ch, o)
	}
	if err != nil {
		return nil, err
	}
	return ch.fields, nil
}

// storeChanges stores the changes ch of a user. An interruption may leave some of them out; the next run stores them.
// The authenticator apps precede the password, so that no user can sign in with fewer factors than before.
func (t *Target) storeChanges(ctx context.Context, id string, u *User, ch *userChanges, o Options) error {
	if ch.own {
		if _, err := t.Users.Update(ctx, id, ch.data, o.By); err != nil {
			return err
		}
	}
	if ch.roles != nil || ch.attributes != nil {
		if _, _, err := t.Users.Regroup(ctx, id, nil, ch.roles, ch.attributes, o.By); err != nil {
			return err
		}
	}
	if len(ch.links) > 0 || ch.storeApps != nil {
		err := t.Users.Write(ctx, func(c store.Conn) error {
			if err := t.Upstreams.PutLinks(c, id, ch.links); err != nil || ch.storeApps == nil {
				return err
			}
			return ch.storeApps(c, id)
		})
		if err != nil {
			return err
		}
	}
	if ch.password {
		if err := t.Users.SetHash(ctx, id, u.Hash, o.By); err != nil {
			return err
		}
	}
	if !ch.status {
		return nil
	}
	set := t.Users.Enable
	if u.Disabled {
		set = t.Users.Disable
	}
	_, err := set(ctx, id, o.By)
	return err
}

// difference returns the changes that give the stored user the data of the record u. It ignores fields that the file
// does not contain. If the record has no name or no role, the stored one is kept.
func (t *Target) difference(ctx context.Context, stored *users.User, u *User, o Options) (*userChanges, error) {
	ch := new(userChanges)
	// mustChange reports whether a field is to be changed, because it differs and the file contains it. If so, mustChange
	// also records the name of the field.
	mustChange := func(field string, differs bool) bool {
		if !differs || !u.hasField(field) {
			return false
		}
		ch.fields = append(ch.fields, field)
		return true
	}
	email, err := users.Address(u.Email)
	if err != nil {
		return nil, err
	}
	if mustChange("email", email != stored.Email) {
		ch.data.Email = &email
		if u.hasField("email_verified") { // otherwise Update marks the new address as unverified
			ch.data.EmailVerified = &u.EmailVerified
		}
	}
	if mustChange("email_verified", u.EmailVerified != stored.EmailVerified) {
		ch.data.EmailVerified = &u.EmailVerified
	}
	if mustChange("name", u.Name != "" && u.Name != stored.Name) {
		ch.data.Name = &u.Name
	}
	if mustChange("role", u.Role != "" && u.Role != stored.Role) {
		ch.data.Role = &u.Role
	}
	if mustChange("groups", !sameWords(u.Groups, stored.Groups)) {
		ch.data.Groups = &u.Groups
	}
	facts, err := t.Users.Given(ctx, stored.ID)
	if err != nil {
		return nil, err
	}
	if mustChange("roles", !sameWords(u.Given.Roles, facts.Roles)) {
		ch.roles = &u.Given.Roles
	}
	attributes := u.mergedAttributes(facts.Attributes)
	if !maps.EqualFunc(attributes, facts.Attributes, slices.Equal) {
		ch.fields = append(ch.fields, "attributes")
		ch.attributes = &attributes
	}
	ch.own = len(ch.fields) > 0 // the fields that follow are stored in other ways
	ch.status = mustChange("disabled", stored.Status != users.Pending && u.Disabled == stored.Active())
	if ch.links, err = t.newLinks(ctx, stored.ID, u.Links); err != nil {
		return nil, err
	}
	if len(ch.links) > 0 {
		ch.fields = append(ch.fields, "identities")
	}
	if o.Secrets {
		err = t.addSecrets(ctx, ch, stored.ID, u)
	}
	return ch, err
}

// mergedAttributes returns the new attributes of a user: those of the file, and the stored attributes for which the
// file has no column.
func (u *User) mergedAttributes(stored map[string][]string) map[string][]string {
	if u.Fields == nil { // the file contains all attributes
		return u.Given.Attributes
	}
	merged := maps.Clone(stored)
	for _, field := range u.Fields {
		name, ok := strings.CutPrefix(field, csvAttribute)
		if !ok {
			continue
		}
		values := u.Given.Attributes[name]
		if len(values) == 0 { // an empty cell
			delete(merged, name)
			continue
		}
		if merged == nil {
			merged = make(map[string][]string)
		}
		merged[name] = values
	}
	return merged
}

// newLinks returns those accounts in links with which a user is not connected yet. All of them are accounts at
// providers. The user is given by its id, which is empty for a new user. The error has status 422 if an account is
// connected with another user.
func (t *Target) newLinks(
	ctx context.Context, user string, links []upstreams.Link,
) (added []upstreams.Link, err error) {
	for _, l := range links {
		linked, err := t.Upstreams.LinkedTo(ctx, l)
		switch {
		case err != nil:
			return nil, err
		case linked == "":
			added = append(added, l)
		case linked != user:
			return nil, users.Invalid("identities", "the account at "+l.Issuer+" is already connected with the user "+linked)
		}
	}
	return added, nil
}

// addSecrets compares the stored password and authenticator apps of a user with those of the record u, and adds the
// differences to ch. The parameter userID is that of the stored user. Apps that the record does not contain are kept.
func (t *Target) addSecrets(ctx context.Context, ch *userChanges, userID string, u *User) error {
	if u.Hash != "" {
		storedHash, err := t.Users.Hash(ctx, userID)
		if err != nil {
			return err
		}
		if storedHash != u.Hash {
			ch.password, ch.fields = true, append(ch.fields, "password")
		}
	}
	if len(u.Apps) == 0 {
		return nil
	}
	storedSecrets, err := t.Factors.AppSecrets(ctx, userID)
	if err != nil {
		return err
	}
	newSecrets := slices.DeleteFunc(slices.Clone(u.Apps), func(secret string) bool {
		return slices.ContainsFunc(storedSecrets, func(stored string) bool {
			return factors.NormalSecret(stored) == factors.NormalSecret(secret)
		})
	})
	if len(newSecrets) > 0 {
		ch.fields = append(ch.fields, "totp")
		ch.storeApps, err = t.importApps(ctx, newSecrets)
	}
	return err
}

// sameWords reports whether two lists contain the same words, in any order.
func sameWords(a, b []string) bool {
	sorted := func(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
	return slices.Equal(sorted(a), sorted(b))
}
