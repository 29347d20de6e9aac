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

// importApps returns a function for each secret that stores it as an authenticator app of a user, given by its id. The
// error has status 422 if a secret is invalid.
func (t *Target) importApps(
	ctx context.Context, secrets []string,
) (apps []func(c store.Conn, user string) error, err error) {
	for _, secret := range secrets {
		app, err := t.Factors.ImportApp(ctx, "Authenticator app", secret)
		if err != nil {
			return nil, err
		}
		apps = append(apps, app)
	}
	return apps, nil
}

// updateUser changes the stored user to the data of the record u, and returns the names of the changed fields. An
// interruption may leave some fields unchanged; the next run changes them. With Options.DryRun it stores nothing.
func (t *Target) updateUser(
	ctx context.Context, stored *users.User, u *User, o Options, line *Line,
) (changed []string, err error) {
	if stored.Provider != users.Local {
		line.Notes = append(line.Notes,
			"the user was not changed, since the data of users who sign in at another provider comes from that provider")
		return nil, nil
	}
	change, newFacts, changed, err := t.difference(ctx, stored, u)
	if err != nil {
		return nil, err
	}
	dataChanged := len(changed) > 0
	statusChanged := u.hasField("disabled") && stored.Status != users.Pending && u.Disabled == stored.Active()
	if statusChanged {
		changed = append(changed, "disabled")
	}
	links, err := t.newLinks(ctx, stored.ID, u)
	if err != nil {
		return nil, err
	}
	if len(links) > 0 {
		changed = append(changed, "identities")
	}
	storeApps, secretFields, err := t.secretChanges(ctx, stored.ID, u, o)
	changed = append(changed, secretFields...)
	if err != nil || len(changed) == 0 || o.DryRun {
		return changed, err
	}
	if dataChanged {
		if _, err := t.Users.Update(ctx, stored.ID, change, o.By); err != nil {
			return nil, err
		}
		if newFacts.roles != nil || newFacts.attributes != nil {
			_, _, err := t.Users.Regroup(ctx, stored.ID, nil, newFacts.roles, newFacts.attributes, o.By)
			if err != nil {
				return nil, err
			}
		}
	}
	if len(links) > 0 || storeApps != nil {
		err := t.Users.Write(ctx, func(c store.Conn) error {
			if err := t.Upstreams.PutLinks(c, stored.ID, links); err != nil || storeApps == nil {
				return err
			}
			return storeApps(c)
		})
		if err != nil {
			return nil, err
		}
	}
	if slices.Contains(changed, "password") {
		if err := t.Users.SetHash(ctx, stored.ID, u.Hash, o.By); err != nil {
			return nil, err
		}
	}
	switch {
	case statusChanged && u.Disabled:
		_, err = t.Users.Disable(ctx, stored.ID, o.By)
	case statusChanged:
		_, err = t.Users.Enable(ctx, stored.ID, o.By)
	}
	return changed, err
}

// factChanges are the new roles and attributes of a user. A nil field means that the current values are kept.
type factChanges struct {
	roles      *[]string
	attributes *map[string][]string
}

// difference compares the stored user with the record u. It returns the changes for Users.Update and for Users.Regroup
// that give the user the data of the record, and the names of the changed fields. It ignores fields that the file does
// not contain. If the record has no name or no role, the stored one is kept.
func (t *Target) difference(
	ctx context.Context, stored *users.User, u *User,
) (change users.Change, newFacts factChanges, changed []string, err error) {
	// mustChange reports whether a field is to be changed: it differs and the file contains it. It records the name.
	mustChange := func(field string, differs bool) bool {
		if !differs || !u.hasField(field) {
			return false
		}
		changed = append(changed, field)
		return true
	}
	email, err := users.Address(u.Email)
	if err != nil {
		return change, newFacts, nil, err
	}
	if mustChange("email", email != stored.Email) {
		change.Email = &email
		if u.hasField("email_verified") { // otherwise Update marks the new address as unverified
			change.EmailVerified = &u.EmailVerified
		}
	}
	if mustChange("email_verified", u.EmailVerified != stored.EmailVerified) {
		change.EmailVerified = &u.EmailVerified
	}
	if mustChange("name", u.Name != "" && u.Name != stored.Name) {
		change.Name = &u.Name
	}
	if mustChange("role", u.Role != "" && u.Role != stored.Role) {
		change.Role = &u.Role
	}
	if mustChange("groups", !sameWords(u.Groups, stored.Groups)) {
		change.Groups = &u.Groups
	}
	storedFacts, err := t.Users.Given(ctx, stored.ID)
	if err != nil {
		return change, newFacts, nil, err
	}
	if mustChange("roles", !sameWords(u.Given.Roles, storedFacts.Roles)) {
		newFacts.roles = &u.Given.Roles
	}
	attributes := u.mergedAttributes(storedFacts.Attributes)
	if !maps.EqualFunc(attributes, storedFacts.Attributes, slices.Equal) {
		changed = append(changed, "attributes")
		newFacts.attributes = &attributes
	}
	return change, newFacts, changed, nil
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

// newLinks returns the accounts at providers in a record with which the user is not connected yet. The error has status
// 422 if one of them is connected with another user.
func (t *Target) newLinks(ctx context.Context, user string, u *User) (added []upstreams.Link, err error) {
	for _, l := range u.Links {
		linked, err := t.Upstreams.LinkedTo(ctx, l)
		switch {
		case err != nil:
			return added, err
		case linked == "":
			added = append(added, l)
		case linked != user:
			return added, linkedElsewhere(l, linked)
		}
	}
	return added, nil
}

// linkedElsewhere returns the error for an account at a provider that is connected with another user, given by its id.
func linkedElsewhere(l upstreams.Link, user string) error {
	return users.Invalid("identities", "the account at "+l.Issuer+" is already connected with the user "+user)
}

// secretChanges compares the password and the authenticator apps of the user with an id with the record u. It returns
// the names of the fields that differ, and a function that stores the apps that the user does not have yet; storeApps
// is nil if there are none. Without Options.Secrets nothing is compared.
func (t *Target) secretChanges(
	ctx context.Context, user string, u *User, o Options,
) (storeApps func(c store.Conn) error, changed []string, err error) {
	if !o.Secrets {
		return nil, nil, nil
	}
	if u.Hash != "" {
		storedHash, err := t.Users.Hash(ctx, user)
		if err != nil {
			return nil, nil, err
		}
		if storedHash != u.Hash {
			changed = append(changed, "password")
		}
	}
	if len(u.Apps) == 0 {
		return nil, changed, nil
	}
	storedSecrets, err := t.Factors.AppSecrets(ctx, user)
	if err != nil {
		return nil, changed, err
	}
	newSecrets := slices.DeleteFunc(slices.Clone(u.Apps), func(secret string) bool {
		return slices.ContainsFunc(storedSecrets, func(stored string) bool {
			return normalizedSecret(stored) == normalizedSecret(secret)
		})
	})
	apps, err := t.importApps(ctx, newSecrets)
	if err != nil || len(apps) == 0 {
		return nil, changed, err
	}
	storeApps = func(c store.Conn) error {
		for _, storeApp := range apps {
			if err := storeApp(c, user); err != nil {
				return err
			}
		}
		return nil
	}
	return storeApps, append(changed, "totp"), nil
}

// normalizedSecret returns the secret of an authenticator app in the form in which secrets are stored and compared.
func normalizedSecret(secret string) string {
	return strings.TrimRight(strings.ToUpper(strings.ReplaceAll(secret, " ", "")), "=")
}

// sameWords reports whether two lists contain the same words, in any order.
func sameWords(a, b []string) bool {
	sorted := func(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
	return slices.Equal(sorted(a), sorted(b))
}
