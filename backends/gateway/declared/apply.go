package declared

import (
	"cmp"
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
	// Prune removes teams, members of the file's teams, limits, provider keys, aliases and prices that are not in the
	// file. Provider keys and aliases are removed only from owners for which the file has a list of them, and prices only
	// if the file has a list of prices.
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
	ctx      context.Context // it lives as long as one call
	file     *File
	options  Options
	*present                   // the state before the changes
	users    map[string]string // ids of users, by Member.User or User.ID in the file
	changes  []Change          // the changes made so far
}

// note adds a change of the given kind to the result. Change.What is made from format and args; details is Change.How.
func (a *applier) note(kind, details, format string, args ...any) {
	a.changes = append(a.changes, Change{kind, fmt.Sprintf(format, args...), details})
}

// atLine adds the line of the file and the name of the object on that line to the message of an *apierror.Error.
// subject is the name of the object. Other errors are returned unchanged.
func atLine(line int, subject string, err error) error {
	if refusal, ok := apierror.From(err); ok {
		return fmt.Errorf("line %d: %s: %s", line, subject, refusal.Message)
	}
	return err
}

// apply reads the current state and makes all changes.
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

// createUsers looks up the users in the file, which names them by id or mail address, and creates those that do not
// exist.
func (a *applier) createUsers() error {
	nameOf := make(map[string]string) // the name in the file, by user id
	findOrCreate := func(name string, line int) error {
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
		if previous, ok := nameOf[user.ID]; ok {
			return fmt.Errorf("line %d: %q and %q are the same user: use the same name everywhere in the file", line, previous,
				name)
		}
		nameOf[user.ID], a.users[name] = name, user.ID
		return nil
	}
	for _, t := range a.file.Teams {
		for _, m := range t.Members {
			if err := findOrCreate(m.User, m.Line); err != nil {
				return err
			}
		}
	}
	for _, u := range a.file.Users {
		if err := findOrCreate(u.ID, u.Line); err != nil {
			return err
		}
	}
	return nil
}

// applyLimits sets the limits of a holder to those in the file if they differ from the stored ones. kind and id are as
// in keychain.Service.SetLimits. holderName, such as "team Research", is for changes and errors. A nil declared means
// that the file does not mention the limits.
func (a *applier) applyLimits(kind, id, holderName string, stored keychain.Limits, declared *Limits) error {
	if declared == nil {
		return nil
	}
	details := difference(&Limits{Limits: stored}, declared)
	if details == "" {
		return nil
	}
	if _, err := a.SetLimits(a.ctx, kind, id, declared.Limits, a.options.Catalog); err != nil {
		return atLine(declared.Line, holderName, err)
	}
	a.note(Changed, details, "%s: limits", holderName)
	return nil
}

// removeLimits removes the limits of a holder, which are stored. kind, id and holderName are as in applyLimits.
func (a *applier) removeLimits(kind, id, holderName string, stored keychain.Limits) error {
	if _, err := a.SetLimits(a.ctx, kind, id, keychain.Limits{}, nil); err != nil {
		return err
	}
	a.note(Removed, difference(&Limits{Limits: stored}, new(Limits)), "%s: limits", holderName)
	return nil
}

// difference describes the changed limits, such as "usd_per_day 5 -> 8, tokens_total none -> 100". It returns an empty
// string if the limits are equal.
func difference(stored, declared *Limits) string {
	storedTexts, declaredTexts := fieldTexts(stored), fieldTexts(declared)
	var parts []string
	for _, f := range limitFields {
		oldText, newText := storedTexts[f.name], declaredTexts[f.name]
		if oldText != newText {
			parts = append(parts, fmt.Sprintf("%s %s -> %s", f.name, cmp.Or(oldText, "none"), cmp.Or(newText, "none")))
		}
	}
	return strings.Join(parts, ", ")
}

// fieldTexts returns the limits that are set, as a map from the name of a limit's field to the value as a text.
func fieldTexts(l *Limits) map[string]string {
	texts := make(map[string]string)
	for _, f := range l.fields() {
		value, err := json.Marshal(f.value)
		if err != nil { // cannot happen: the value is a number, a string or a list of strings
			panic(err)
		}
		texts[f.name] = strings.Trim(string(value), `"`)
	}
	return texts
}

// applyOrganisation applies the limits, provider keys and aliases of the organisation.
func (a *applier) applyOrganisation() error {
	if err := a.applyLimits(
		keychain.OnOrganisation, keychain.Organisation, "organisation", a.organisation, a.file.Organisation,
	); err != nil {
		return err
	}
	if err := a.applyKeys(keychain.TheOrganisation, "organisation", a.file.ProviderKeys); err != nil {
		return err
	}
	return a.applyAliases(keychain.TheOrganisation, "organisation", a.file.Aliases)
}

// applyTeams creates the teams of the file that do not exist, and applies the limits, provider keys, aliases and
// members of all teams of the file.
func (a *applier) applyTeams() error {
	for i := range a.file.Teams {
		t := &a.file.Teams[i]
		id, exists := a.teamIDs[t.Name]
		if !exists {
			team, err := a.AddTeam(a.ctx, t.Name)
			if err != nil {
				return atLine(t.Line, "team "+t.Name, err)
			}
			id = team.ID
			a.note(Added, "", "team %s", t.Name)
		}
		if err := a.applyLimits(keychain.OnTeam, id, "team "+t.Name, a.teamLimits[id], t.Limits); err != nil {
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

// applyMember adds a user to the team t, which has the id teamID, or changes the membership if it differs from that in
// the file.
func (a *applier) applyMember(t *Team, teamID string, m *Member) error {
	user := a.users[m.User]
	kind, details := Added, m.Role
	if current, exists := a.members[teamID][user]; exists {
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
		kind, details = Changed, strings.Join(parts, ", ")
	} else if m.Default {
		details += ", default team"
	}
	if err := a.SetMember(a.ctx, teamID, user, keychain.Membership{Default: m.Default, Role: m.Role}); err != nil {
		return err
	}
	a.note(kind, details, "team %s: member %s", t.Name, user)
	return nil
}

// applyUsers applies the limits and suspensions of the users in the file.
func (a *applier) applyUsers() error {
	for i := range a.file.Users {
		u := &a.file.Users[i]
		id := a.users[u.ID]
		if err := a.applyLimits(keychain.OnUser, id, "user "+id, a.userLimits[id], u.Limits); err != nil {
			return err
		}
		if u.Suspended == nil || *u.Suspended == a.suspended[id] {
			continue
		}
		setState, details := a.SuspendUser, "suspended"
		if !*u.Suspended {
			setState, details = a.ResumeUser, "no longer suspended"
		}
		if err := setState(a.ctx, id); err != nil {
			return atLine(u.Line, "user "+id, err)
		}
		a.note(Changed, details, "user %s", id)
	}
	return nil
}

// prune removes the teams, members and limits that are not in the file.
func (a *applier) prune() error {
	declared := make(map[string]*Team) // by name
	for i := range a.file.Teams {
		declared[a.file.Teams[i].Name] = &a.file.Teams[i]
	}
	for _, team := range a.teams {
		if t := declared[team.Name]; t != nil {
			if err := a.pruneTeam(&team, t); err != nil {
				return err
			}
			continue
		}
		if err := a.RemoveTeam(a.ctx, team.ID); err != nil {
			return err
		}
		a.note(Removed, "", "team %s", team.Name)
	}
	if a.file.Organisation == nil && a.organisationLimited {
		err := a.removeLimits(keychain.OnOrganisation, keychain.Organisation, "organisation", a.organisation)
		if err != nil {
			return err
		}
	}
	return a.pruneUsers()
}

// pruneTeam removes the members and limits of a stored team that are not in declared, the team in the file.
func (a *applier) pruneTeam(team *keychain.Team, declared *Team) error {
	isDeclared := make(map[string]bool) // by user id
	for _, m := range declared.Members {
		isDeclared[a.users[m.User]] = true
	}
	for _, user := range slices.Sorted(maps.Keys(a.members[team.ID])) {
		if isDeclared[user] {
			continue
		}
		if err := a.RemoveMember(a.ctx, team.ID, user, true); err != nil {
			return err
		}
		a.note(Removed, "", "team %s: member %s", team.Name, user)
	}
	if stored, limited := a.teamLimits[team.ID]; limited && declared.Limits == nil {
		return a.removeLimits(keychain.OnTeam, team.ID, "team "+team.Name, stored)
	}
	return nil
}

// pruneUsers removes the limits of users that are not in the file.
func (a *applier) pruneUsers() error {
	hasLimits := make(map[string]bool) // in the file, by user id
	for _, u := range a.file.Users {
		hasLimits[a.users[u.ID]] = u.Limits != nil
	}
	for _, id := range slices.Sorted(maps.Keys(a.userLimits)) {
		if hasLimits[id] {
			continue
		}
		if _, err := a.User(a.ctx, id); err != nil {
			if refusal, ok := apierror.From(err); ok && refusal.Status == http.StatusNotFound {
				continue // limits set in advance for a user who does not exist yet
			}
			return err
		}
		if err := a.removeLimits(keychain.OnUser, id, "user "+id, a.userLimits[id]); err != nil {
			return err
		}
	}
	return nil
}
