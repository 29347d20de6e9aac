package declared

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Options control how Apply applies a file.
type Options struct {
	// Catalog has the models that limits may name. If it is nil, limits may name any model.
	Catalog *catalog.Catalog
	// Resolve returns the text to which a reference in the file points. If it is nil, references are refused.
	Resolve func(reference string) (string, error)
	// Prune removes teams, members of the file's teams, and limits that are not in the file. Provider keys, aliases and
	// prices that are not in the file are removed from owners for which the file lists some.
	Prune bool
	// DryRun changes nothing, but reports the changes and errors of a real run.
	DryRun bool
}

// The kinds of changes.
const (
	Added   = "add"
	Changed = "change"
	Removed = "remove"
)

// Change is a change that Apply makes.
type Change struct {
	Kind string `json:"change"` // Added, Changed or Removed
	// What names the changed object, such as "team Research: member ada".
	What string `json:"what"`
	// How describes the old and the new values. It may be empty.
	How string `json:"how,omitempty"`
}

// String returns the change as one line of text.
func (c Change) String() string {
	line := map[string]string{Added: "+ ", Changed: "~ ", Removed: "- "}[c.Kind] + c.What
	if c.How != "" {
		line += ": " + c.How
	}
	return line
}

// errDry rolls back the transaction of a dry run.
var errDry = errors.New("nothing is changed")

// Apply brings the gateway into the state that a file describes, in one transaction. It uses the operations of the
// operator's API, so the changes are checked and audited in the same way. Users that do not exist are created, without
// keys. Apply returns the changes it made, or would make in a dry run. If the state is already as described the list is
// empty.
func Apply(ctx context.Context, s *keychain.Service, f *File, o Options) (changes []Change, err error) {
	err = s.Together(ctx, func(ctx context.Context) error {
		a := &applier{Service: s, ctx: ctx, file: f, options: o, users: make(map[string]string), changes: []Change{}}
		err := a.apply()
		changes = a.changes
		if err == nil && o.DryRun {
			err = errDry
		}
		return err
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return changes, nil
}

// applier holds the state of one call of Apply.
type applier struct {
	*keychain.Service
	ctx     context.Context //nolint:containedctx // it lives as long as one call
	file    *File
	options Options
	*present
	users   map[string]string // ids, by the names in the file
	changes []Change
}

// note adds a change of the given kind to the result. The format and args make Change.What, and how is Change.How.
func (a *applier) note(kind, how, format string, args ...any) {
	a.changes = append(a.changes, Change{kind, fmt.Sprintf(format, args...), how})
}

// atLine adds the line of the file, and about as the name of the object there, to the message of an *apierror.Error.
// Other errors are returned unchanged.
func atLine(line int, about string, err error) error {
	if refusal, ok := apierror.From(err); ok {
		return fmt.Errorf("line %d: %s: %s", line, about, refusal.Message)
	}
	return err
}

func (a *applier) apply() (err error) {
	if a.present, err = readPresent(a.ctx, a.Service); err != nil {
		return err
	}
	steps := []func() error{a.createUsers, a.applyOrganisation, a.applyTeams, a.applyUsers, a.applyPrices}
	if a.options.Prune {
		steps = append(steps, a.prune)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// createUsers looks up the users in the file and creates those that do not exist.
func (a *applier) createUsers() error {
	named := make(map[string]string) // names in the file, by id
	find := func(name string, line int) error {
		if _, known := a.users[name]; known {
			return nil
		}
		user, err := a.UserBy(a.ctx, name)
		if refusal, ok := apierror.From(err); ok && refusal.Status == http.StatusNotFound {
			if err = a.AddUser(a.ctx, name); err == nil {
				user.ID = name
				a.note(Added, "", "user %s", name)
			}
		}
		if err != nil {
			return atLine(line, "user "+name, err)
		}
		if previous, ok := named[user.ID]; ok {
			return fmt.Errorf("line %d: %q and %q are one user: write the same everywhere", line, previous, name)
		}
		named[user.ID], a.users[name] = name, user.ID
		return nil
	}
	for _, t := range a.file.Teams {
		for _, m := range t.Members {
			if err := find(m.User, m.Line); err != nil {
				return err
			}
		}
	}
	for _, u := range a.file.Users {
		if err := find(u.ID, u.Line); err != nil {
			return err
		}
	}
	return nil
}

// limit sets the limits of a holder if they differ from those in the file; about names the holder in changes and
// errors. A nil declared means that the file does not mention the limits.
func (a *applier) limit(kind, id, about string, stored keychain.Limits, declared *Limits) error {
	if declared == nil {
		return nil
	}
	how := difference(&Limits{Limits: stored}, declared)
	if how == "" {
		return nil
	}
	if _, err := a.SetLimits(a.ctx, kind, id, declared.Limits, a.options.Catalog); err != nil {
		return atLine(declared.Line, about, err)
	}
	a.note(Changed, how, "%s: limits", about)
	return nil
}

// lift removes the present limits of a holder. about names the holder in changes, and stored are the limits to remove.
func (a *applier) lift(kind, id, about string, stored keychain.Limits) error {
	if _, err := a.SetLimits(a.ctx, kind, id, keychain.Limits{}, nil); err != nil {
		return err
	}
	a.note(Removed, difference(&Limits{Limits: stored}, new(Limits)), "%s: limits", about)
	return nil
}

// difference describes the changed limits. It returns an empty string if the limits are equal.
func difference(stored, declared *Limits) string {
	text := func(l *Limits) map[string]string {
		all := make(map[string]string)
		for _, f := range l.fields() {
			value, err := json.Marshal(f.value)
			if err != nil { // cannot happen: the value is a number, a string or a list of strings
				panic(err)
			}
			all[f.name] = strings.Trim(string(value), `"`)
		}
		return all
	}
	before, after := text(stored), text(declared)
	var parts []string
	for _, f := range limitFields {
		b, a := before[f.name], after[f.name]
		if b == a {
			continue
		}
		if b == "" {
			b = "none"
		}
		if a == "" {
			a = "none"
		}
		parts = append(parts, fmt.Sprintf("%s %s -> %s", f.name, b, a))
	}
	return strings.Join(parts, ", ")
}

func (a *applier) applyOrganisation() error {
	var now keychain.Limits
	for _, h := range a.organisation {
		now = h.Limits
	}
	err := a.limit(keychain.OnOrganisation, keychain.Organisation, "organisation", now, a.file.Organisation)
	if err != nil {
		return err
	}
	if err := a.applyKeys(keychain.TheOrganisation, "organisation", a.file.ProviderKeys); err != nil {
		return err
	}
	return a.applyAliases(keychain.TheOrganisation, "organisation", a.file.Aliases)
}

func (a *applier) applyTeams() error {
	for i := range a.file.Teams {
		t := &a.file.Teams[i]
		id, exists := a.ids[t.Name]
		if !exists {
			team, err := a.AddTeam(a.ctx, t.Name)
			if err != nil {
				return atLine(t.Line, "team "+t.Name, err)
			}
			id = team.ID
			a.note(Added, "", "team %s", t.Name)
		}
		if err := a.limit(keychain.OnTeam, id, "team "+t.Name, a.onTeams[id], t.Limits); err != nil {
			return err
		}
		owner := keychain.Owner{Kind: keychain.OnTeam, ID: id}
		if err := a.applyKeys(owner, "team "+t.Name, t.ProviderKeys); err != nil {
			return err
		}
		if err := a.applyAliases(owner, "team "+t.Name, t.Aliases); err != nil {
			return err
		}
		for _, m := range t.Members {
			if err := a.applyMember(t, id, &m); err != nil {
				return atLine(m.Line, "team "+t.Name+": member "+m.User, err)
			}
		}
	}
	return nil
}

// applyMember adds a user to a team, or changes the membership if it differs from that in the file.
func (a *applier) applyMember(t *Team, id string, m *Member) error {
	user := a.users[m.User]
	kind, how := Added, m.Role
	if current, exists := a.members[id][user]; exists {
		var parts []string
		if current.Role != m.Role {
			parts = append(parts, "role "+current.Role+" -> "+m.Role)
		}
		if m.Default && !current.Default {
			parts = append(parts, "default team")
		}
		if len(parts) == 0 {
			return nil
		}
		kind, how = Changed, strings.Join(parts, ", ")
	} else if m.Default {
		how += ", default team"
	}
	if err := a.SetMember(a.ctx, id, user, keychain.Membership{Default: m.Default, Role: m.Role}); err != nil {
		return err
	}
	a.note(kind, how, "team %s: member %s", t.Name, user)
	return nil
}

func (a *applier) applyUsers() error {
	for i := range a.file.Users {
		u := &a.file.Users[i]
		id := a.users[u.ID]
		if err := a.limit(keychain.OnUser, id, "user "+id, a.onUsers[id], u.Limits); err != nil {
			return err
		}
		if u.Suspended == nil || *u.Suspended == a.suspended[id] {
			continue
		}
		change, how := a.SuspendUser, "suspended"
		if !*u.Suspended {
			change, how = a.ResumeUser, "not suspended any more"
		}
		if err := change(a.ctx, id); err != nil {
			return atLine(u.Line, "user "+id, err)
		}
		a.note(Changed, how, "user %s", id)
	}
	return nil
}

// prune removes teams and limits that are not in the file.
func (a *applier) prune() error {
	teams := make(map[string]*Team)
	for i := range a.file.Teams {
		teams[a.file.Teams[i].Name] = &a.file.Teams[i]
	}
	for _, team := range a.teams {
		t := teams[team.Name]
		if t == nil {
			if err := a.RemoveTeam(a.ctx, team.ID); err != nil {
				return err
			}
			a.note(Removed, "", "team %s", team.Name)
			continue
		}
		stay := make(map[string]bool)
		for _, m := range t.Members {
			stay[a.users[m.User]] = true
		}
		for _, user := range slices.Sorted(maps.Keys(a.members[team.ID])) {
			if stay[user] {
				continue
			}
			if err := a.RemoveMember(a.ctx, team.ID, user, true); err != nil {
				return err
			}
			a.note(Removed, "", "team %s: member %s", team.Name, user)
		}
		if now, limited := a.onTeams[team.ID]; limited && t.Limits == nil {
			if err := a.lift(keychain.OnTeam, team.ID, "team "+team.Name, now); err != nil {
				return err
			}
		}
	}
	if a.file.Organisation == nil {
		for _, h := range a.organisation {
			if err := a.lift(keychain.OnOrganisation, keychain.Organisation, "organisation", h.Limits); err != nil {
				return err
			}
		}
	}
	limited := make(map[string]bool)
	for _, u := range a.file.Users {
		limited[a.users[u.ID]] = u.Limits != nil
	}
	for _, id := range slices.Sorted(maps.Keys(a.onUsers)) {
		if limited[id] {
			continue
		}
		if _, err := a.User(a.ctx, id); err != nil {
			if refusal, ok := apierror.From(err); ok && refusal.Status == http.StatusNotFound {
				continue // limits set in advance for a user who does not exist yet
			}
			return err
		}
		if err := a.lift(keychain.OnUser, id, "user "+id, a.onUsers[id]); err != nil {
			return err
		}
	}
	return nil
}
