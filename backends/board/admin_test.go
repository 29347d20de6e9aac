package board

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// actor returns a member by name with the current rights. An empty name means the guest.
func (s *site) actor(name string) *rights.Actor {
	s.t.Helper()
	if name == "" {
		a, err := s.service.Rights.Guest(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		return a
	}
	a, err := s.service.Rights.Member(s.t.Context(), s.user(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (s *site) user(name string) int64 {
	s.t.Helper()
	return s.number("SELECT id FROM board_users WHERE username_key = ?", name)
}

func (s *site) group(name string) int64 {
	s.t.Helper()
	return s.number("SELECT id FROM board_groups WHERE name = ?", name)
}

// refused fails the test unless err is an API error with the status and, if reason is not empty, with this reason
// first.
func refused(t *testing.T, name string, err error, status int, reason string) {
	t.Helper()
	e, ok := apierror.From(err)
	if !ok || e.Status != status || reason != "" && (len(e.Details) == 0 || e.Details[0].Reason != reason) {
		t.Errorf("%s: %v, want a refusal with %d %s", name, err, status, reason)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lastLog returns the newest entry of the moderation log, except for looks.
func (s *site) lastLog() admin.LogEntry {
	s.t.Helper()
	list, _, err := s.service.Admin.Log(s.t.Context(), s.actor("admin"), admin.LogQuery{Limit: 10})
	for _, entry := range list {
		if entry.Action != "forum.look" { // looks are written by a background job, at any time
			return entry
		}
	}
	s.t.Fatal(list, err)
	return admin.LogEntry{}
}

// TestWhoMayAdminister runs every command as actors of all kinds. It checks that only an administrator may run it,
// and that each change is logged.
func TestWhoMayAdminister(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, b := t.Context(), s.service
		forum, bob, awaiting := s.forum("public"), s.user("bob"), s.user("awaiting")
		expiry := kernel.MomentOf(s.clock.now().Add(time.Hour))
		var id, group, token, prefix int64
		commands := []struct {
			name, action string
			run          func(a *rights.Actor) error
		}{
			{"settings", "settings.change", func(a *rights.Actor) error {
				return b.Admin.ChangeSettings(ctx, a, map[string]string{"name": "Our board"}, nil)
			}},
			{"create forum", "forum.create", func(a *rights.Actor) (err error) {
				spec := admin.NewForumSpec()
				spec.Title = "Made"
				id, err = b.Admin.CreateForum(ctx, a, spec)
				return err
			}},
			{"edit forum", "forum.edit", func(a *rights.Actor) error {
				spec := admin.NewForumSpec()
				spec.Title, spec.Parent = "Made anew", s.forum("root")
				return b.Admin.EditForum(ctx, a, id, spec, nil)
			}},
			{"shift forum", "forum.shift", func(a *rights.Actor) error { return b.Admin.ShiftForum(ctx, a, id, -1) }},
			{"overrides", "forum.rights", func(a *rights.Actor) error {
				return b.Admin.SetOverrides(ctx, a, id, map[int64]admin.Override{s.group("guest"): {Deny: rights.ForumView}}, nil)
			}},
			{"delete forum", "forum.delete", func(a *rights.Actor) error { return b.Admin.DeleteForum(ctx, a, id) }},
			{"create group", "group.create", func(a *rights.Actor) (err error) {
				group, err = b.Admin.CreateGroup(ctx, a, admin.GroupSpec{Name: "Made", Allow: rights.ForumView})
				return err
			}},
			{"edit group", "group.edit", func(a *rights.Actor) error {
				return b.Admin.EditGroup(ctx, a, group, admin.GroupSpec{Name: "Made", Allow: rights.ForumView | rights.ThreadView, Restrict: rights.ReplyNeedsApproval, EditWindow: 5}, nil)
			}},
			{"moderator", "moderator.set", func(a *rights.Actor) error {
				return b.Admin.SetModerator(ctx, a, admin.Moderator{Forum: forum, Group: group, Rights: rights.ContentApprove, Cascades: true})
			}},
			{"remove moderator", "moderator.remove", func(a *rights.Actor) error {
				return b.Admin.RemoveModerator(ctx, a, s.number("SELECT COALESCE(max(id), 0) FROM board_forum_moderators"))
			}},
			{"groups of a member", "member.groups", func(a *rights.Actor) error {
				return b.Admin.SetGroups(ctx, a, bob, []int64{s.group("registered"), group})
			}},
			{"delete group", "group.delete", func(a *rights.Actor) error { return b.Admin.DeleteGroup(ctx, a, group) }},
			{"approve member", "member.approve", func(a *rights.Actor) error { return b.Admin.ApproveMember(ctx, a, awaiting) }},
			{"ban", "member.ban", func(a *rights.Actor) error { return b.Admin.Ban(ctx, a, bob, expiry, "rude") }},
			{"unban", "member.unban", func(a *rights.Actor) error { return b.Admin.Unban(ctx, a, bob) }},
			{"suspend", "member.suspend", func(a *rights.Actor) error { return b.Admin.Suspend(ctx, a, bob, expiry, "rude") }},
			{"moderated", "member.moderate", func(a *rights.Actor) error { return b.Admin.SetModerated(ctx, a, bob, true) }},
			{"password", "member.password", func(a *rights.Actor) error { _, err := b.Admin.ResetPassword(ctx, a, bob); return err }},
			{"issue token", "token.issue", func(a *rights.Actor) error {
				_, err := b.Admin.IssueTokenFor(ctx, a, accounts.TokenRequest{User: "bob", Name: "made", Scopes: []string{"posts:read"}, Days: 3})
				return err
			}},
			{"revoke token", "token.revoke", func(a *rights.Actor) error {
				token = s.number("SELECT max(id) FROM board_api_tokens WHERE revoked_at IS NULL")
				return b.Admin.RevokeTokenFor(ctx, a, token)
			}},
			{"delete member", "member.delete", func(a *rights.Actor) error { return b.Admin.DeleteMember(ctx, a, bob) }},
			{"prefix", "prefix.create", func(a *rights.Actor) error {
				return b.Admin.SetPrefix(ctx, a, admin.PrefixRow{Label: "New", Forums: []int64{forum}})
			}},
			{"edit prefix", "prefix.edit", func(a *rights.Actor) error {
				prefix = s.number("SELECT max(id) FROM board_prefixes")
				return b.Admin.SetPrefix(ctx, a, admin.PrefixRow{ID: prefix, Label: "Newer", Forums: []int64{forum}})
			}},
			{"delete prefix", "prefix.delete", func(a *rights.Actor) error { return b.Admin.DeletePrefix(ctx, a, prefix) }},
			{"filter", "filter.add", func(a *rights.Actor) error {
				return b.Admin.AddWordFilter(ctx, a, admin.WordFilter{Pattern: "darn", Replacement: "***"})
			}},
			{"delete filter", "filter.delete", func(a *rights.Actor) error {
				return b.Admin.DeleteWordFilter(ctx, a, s.number("SELECT COALESCE(max(id), 0) FROM board_word_filters"))
			}},
		}
		entries := func() int64 { return s.number("SELECT count(*) FROM board_moderation_log") }
		for _, command := range commands {
			before := entries()
			for _, user := range []string{"", "alice", "mod", "watched", "banned"} {
				refused(t, command.name+" as "+user, command.run(s.actor(user)), 403, "no_permission")
			}
			if n := entries(); n != before {
				t.Errorf("%s: %d entries in the log of what was refused", command.name, n-before)
			}
			if err := command.run(s.actor("admin")); err != nil {
				t.Fatalf("%s: %v", command.name, err)
			}
			if e := s.lastLog(); entries() != before+1 || e.Action != command.action || e.ActorName != "admin" {
				t.Errorf("%s: logged %+v, %d entries more", command.name, e, entries()-before)
			}
			if action := command.action; !slices.Contains(admin.LogActions, action) {
				t.Errorf("%s is not in the list of actions", action)
			}
		}
		// These views are visible to administrators only.
		views := map[string]func(a *rights.Actor) error{
			"forums":     func(a *rights.Actor) error { _, err := b.Admin.ForumTree(ctx, a); return err },
			"groups":     func(a *rights.Actor) error { _, err := b.Admin.Groups(ctx, a); return err },
			"matrix":     func(a *rights.Actor) error { _, err := b.Admin.Matrix(ctx, a, forum); return err },
			"moderators": func(a *rights.Actor) error { _, err := b.Admin.Moderators(ctx, a); return err },
			"members": func(a *rights.Actor) error {
				_, _, err := b.Admin.FindMembers(ctx, a, admin.MemberQuery{Limit: 5})
				return err
			},
			"member":   func(a *rights.Actor) error { _, err := b.Admin.MemberByID(ctx, a, bob); return err },
			"tokens":   func(a *rights.Actor) error { _, _, err := b.Admin.Tokens(ctx, a, "", 0, 5); return err },
			"prefixes": func(a *rights.Actor) error { _, err := b.Admin.Prefixes(ctx, a); return err },
			"filter":   func(a *rights.Actor) error { _, err := b.Admin.WordFilters(ctx, a); return err },
		}
		for name, view := range views {
			for _, user := range []string{"", "alice", "mod"} {
				refused(t, name+" as "+user, view(s.actor(user)), 403, "no_permission")
			}
			must(t, view(s.actor("admin")))
		}
		s.exact()
	})
}

// TestRightsCountAtOnce checks that a change by an administrator takes effect with the next request to the API.
func TestRightsCountAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, b, ada := t.Context(), s.service, s.actor("admin")
		forum, thread := s.forum("public"), s.threadOf("Public thread")
		url := path("/threads/%d", thread)
		registered, guest := s.group("registered"), s.group("guest")

		s.do("alice", "GET", url, "").want(200)
		must(t, b.Admin.SetOverrides(ctx, ada, forum, map[int64]admin.Override{registered: {Deny: rights.ForumView}}, nil))
		s.do("alice", "GET", url, "").want(404)
		s.do("", "GET", url, "").want(200)
		must(t, b.Admin.SetOverrides(ctx, ada, forum, map[int64]admin.Override{guest: {Deny: rights.ForumView}}, nil))
		s.do("", "GET", url, "").want(404)
		columns, err := b.Admin.Matrix(ctx, s.actor("admin"), forum)
		must(t, err)
		for _, c := range columns {
			if hidden := c.Group.Kind == "guest" || c.Group.Kind == "registered"; c.Deny.Has(rights.ForumView) != hidden || !c.Inherited.Has(rights.ForumView) && c.Group.Name != "members" {
				t.Errorf("%s: %+v", c.Group.Name, c)
			}
		}
		must(t, b.Admin.SetOverrides(ctx, ada, forum, map[int64]admin.Override{registered: {}, guest: {}}, nil))
		if n := s.number("SELECT count(*) FROM board_forum_overrides WHERE forum_id = ?", forum); n != 0 {
			t.Errorf("%d overrides that say nothing", n)
		}
		s.do("alice", "GET", url, "").want(200)

		for _, bad := range []admin.Override{{Allow: rights.AdminAccess}, {Deny: rights.TokenIssue}, {Allow: rights.ForumView, Deny: rights.ForumView}, {Allow: 1 << 60}} {
			refused(t, "override", b.Admin.SetOverrides(ctx, ada, forum, map[int64]admin.Override{registered: bad}, nil), 422, "unknown")
		}
		refused(t, "override of no group", b.Admin.SetOverrides(ctx, ada, forum, map[int64]admin.Override{9999: {}}, nil), 404, "")
		refused(t, "override in no forum", b.Admin.SetOverrides(ctx, ada, 9999, nil, nil), 404, "")

		// A member becomes moderator of one forum, and then loses that role.
		held := s.postOf("public held")
		approve := path("/moderation/queue/%d/approve", held)
		s.do("alice", "POST", approve, "{}").want(404)
		must(t, b.Admin.SetModerator(ctx, ada, admin.Moderator{Forum: s.forum("root"), UserName: "Alice", Rights: rights.ContentApprove}))
		s.do("alice", "POST", approve, "{}").want(404) // not in the forum below
		must(t, b.Admin.SetModerator(ctx, ada, admin.Moderator{Forum: s.forum("root"), UserName: "Alice", Rights: rights.ContentApprove, Cascades: true}))
		list, err := b.Admin.Moderators(ctx, ada)
		must(t, err)
		if len(list) != 1 || list[0].Name() != "alice" || !list[0].Cascades {
			t.Errorf("moderators: %+v", list)
		}
		s.do("alice", "POST", approve, "{}").want(200)
		must(t, b.Admin.RemoveModerator(ctx, ada, list[0].ID))
		s.do("alice", "GET", "/moderation/queue", "").want(403)
		for name, m := range map[string]admin.Moderator{
			"nobody": {Forum: forum, Rights: rights.ThreadLock}, "both": {Forum: forum, UserName: "bob", Group: registered, Rights: rights.ThreadLock},
			"no rights": {Forum: forum, UserName: "bob"}, "too many": {Forum: forum, UserName: "bob", Rights: rights.AdminAccess},
			"unknown": {Forum: forum, UserName: "nobody", Rights: rights.ThreadLock}, "guests": {Forum: forum, Group: guest, Rights: rights.ThreadLock}, "no forum": {Forum: 9999, UserName: "bob", Rights: rights.ThreadLock},
		} {
			refused(t, "moderator: "+name, b.Admin.SetModerator(ctx, ada, m), 422, "")
		}

		// A new group gives its members rights at once, and the built-in groups are protected.
		id, err := b.Admin.CreateGroup(ctx, ada, admin.GroupSpec{Name: "Insiders", Allow: rights.ForumView | rights.ThreadView | rights.ThreadViewOthers | rights.ReplyPost})
		must(t, err)
		staff := path("/threads/%d", s.threadOf("Staff thread"))
		must(t, b.Admin.SetOverrides(ctx, ada, s.forum("staff"), map[int64]admin.Override{id: {Allow: rights.ForumView}}, nil))
		must(t, b.Admin.SetGroups(ctx, ada, s.user("alice"), []int64{registered, id, id}))
		s.do("alice", "GET", staff, "").want(200)
		refused(t, "taken", groupErr(b.Admin.CreateGroup(ctx, ada, admin.GroupSpec{Name: "Insiders"})), 422, "taken")
		refused(t, "rename built in", b.Admin.EditGroup(ctx, ada, registered, admin.GroupSpec{Name: "Folk"}, nil), 422, "built_in")
		refused(t, "all administrators", b.Admin.EditGroup(ctx, ada, registered, admin.GroupSpec{Name: "registered", Allow: rights.Everything}, nil), 422, "admin.access")
		refused(t, "guest administrators", b.Admin.EditGroup(ctx, ada, guest, admin.GroupSpec{Name: "guest", Allow: rights.Everything}, nil), 422, "admin.access")
		refused(t, "unknown right", b.Admin.EditGroup(ctx, ada, id, admin.GroupSpec{Name: "Insiders", Allow: 1 << 50}, nil), 422, "unknown")
		refused(t, "delete built in", b.Admin.DeleteGroup(ctx, ada, registered), 409, "")
		refused(t, "guest as a member's group", b.Admin.SetGroups(ctx, ada, s.user("alice"), []int64{guest}), 422, "unknown")
		must(t, b.Admin.DeleteGroup(ctx, ada, id))
		s.do("alice", "GET", staff, "").want(404)
	})
}

func groupErr(_ int64, err error) error { return err }

// TestLastAdministrator checks that no command leaves the board without an administrator.
func TestLastAdministrator(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		ctx, b, ada := t.Context(), s.service, s.actor("admin")
		id, registered, administrators := s.user("admin"), s.group("registered"), s.group("administrators")
		expiry := kernel.MomentOf(s.clock.now().Add(time.Hour))
		attempts := map[string]func(a *rights.Actor, id int64) error{
			"groups":  func(a *rights.Actor, id int64) error { return b.Admin.SetGroups(ctx, a, id, []int64{registered}) },
			"ban":     func(a *rights.Actor, id int64) error { return b.Admin.Ban(ctx, a, id, 0, "") },
			"suspend": func(a *rights.Actor, id int64) error { return b.Admin.Suspend(ctx, a, id, expiry, "") },
			"delete":  func(a *rights.Actor, id int64) error { return b.Admin.DeleteMember(ctx, a, id) },
			"rights": func(a *rights.Actor, _ int64) error {
				return b.Admin.EditGroup(ctx, a, administrators, admin.GroupSpec{Name: "administrators", Allow: rights.Everything &^ rights.AdminAccess}, nil)
			},
		}
		for name, attempt := range attempts {
			refused(t, name+" of the only one", attempt(ada, id), 409, "")
		}
		// An administrator who cannot act does not count.
		must(t, b.Admin.SetGroups(ctx, ada, s.user("banned"), []int64{registered, administrators}))
		refused(t, "groups", attempts["groups"](ada, id), 409, "")
		// Two administrators cannot leave one after the other, either.
		must(t, b.Admin.SetGroups(ctx, ada, s.user("bob"), []int64{registered, administrators}))
		must(t, attempts["groups"](s.actor("bob"), id))
		for _, name := range []string{"groups", "rights"} {
			refused(t, name+" of the last one", attempts[name](s.actor("bob"), s.user("bob")), 409, "")
		}
		// Of two administrators each can remove the other, but not both at the same time.
		must(t, b.Admin.SetGroups(ctx, s.actor("bob"), id, []int64{registered, administrators}))
		x, y := s.actor("admin"), s.actor("bob")
		errs := make(chan error, 2)
		go func() { errs <- attempts["groups"](x, y.User.ID) }()
		go func() { errs <- attempts["groups"](y, x.User.ID) }()
		first, second := <-errs, <-errs
		if (first == nil) == (second == nil) {
			t.Errorf("both: %v and %v", first, second)
		}
		if n := s.number("SELECT count(*) FROM board_user_groups m JOIN board_users u ON u.id = m.user_id WHERE m.group_id = ? AND u.state = 'active'", administrators); n != 1 {
			t.Errorf("%d administrators are left", n)
		}
	})
}

// tree returns the tree of forums as text.
func (s *site) tree() string {
	s.t.Helper()
	list, err := s.service.Admin.ForumTree(s.t.Context(), s.actor("admin"))
	must(s.t, err)
	var b strings.Builder
	for _, f := range list {
		b.WriteString(strings.Repeat("-", int(f.Depth)) + f.Slug + " ")
	}
	return strings.TrimSpace(b.String())
}

func TestForumTree(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, b, ada := t.Context(), s.service, s.actor("admin")
		must(t, b.Admin.DeleteForum(ctx, ada, s.forum("discussion")))
		must(t, b.Admin.DeleteForum(ctx, ada, s.forum("general")))
		move := func(slug, parent string) error {
			f, err := b.Admin.ForumByID(ctx, ada, s.forum(slug))
			must(t, err)
			f.Parent = 0
			if parent != "" {
				f.Parent = s.forum(parent)
			}
			return b.Admin.EditForum(ctx, ada, f.ID, f.ForumSpec, nil)
		}
		want := func(tree string) {
			t.Helper()
			if got := s.tree(); got != tree {
				t.Errorf("tree: %s\nwant: %s", got, tree)
			}
			// The path and depth agree with the parents.
			if n := s.number("SELECT count(*) FROM board_forums f LEFT JOIN board_forums p ON p.id = f.parent_id WHERE f.path <> COALESCE(p.path, '') || '/' || f.id OR f.depth <> COALESCE(p.depth + 1, 0)"); n != 0 {
				t.Errorf("%d paths are wrong", n)
			}
		}
		want("root -public -members -staff --below-staff -tickets -held -closed -prefixed -wordy -link")
		refused(t, "below itself", move("staff", "staff"), 422, "cycle")
		refused(t, "below its child", move("staff", "below-staff"), 422, "cycle")
		refused(t, "below its grandchild", move("root", "below-staff"), 422, "cycle")
		refused(t, "below a link", move("public", "link"), 422, "link")
		must(t, move("staff", "public"))
		want("root -public --staff ---below-staff -members -tickets -held -closed -prefixed -wordy -link")
		must(t, move("staff", ""))
		want("root -public -members -tickets -held -closed -prefixed -wordy -link staff -below-staff")
		must(t, b.Admin.ShiftForum(ctx, ada, s.forum("staff"), -1))
		must(t, b.Admin.ShiftForum(ctx, ada, s.forum("public"), 2))
		must(t, b.Admin.ShiftForum(ctx, ada, s.forum("link"), 1)) // link is the last one already
		want("staff -below-staff root -members -tickets -public -held -closed -prefixed -wordy -link")
		// A hidden parent hides the forums below it, wherever it is moved.
		must(t, move("public", "staff"))
		s.do("alice", "GET", path("/forums/%d/threads", s.forum("public")), "").want(404)
		must(t, move("public", "root"))
		s.do("alice", "GET", path("/forums/%d/threads", s.forum("public")), "").want(200)

		refused(t, "with threads", b.Admin.DeleteForum(ctx, ada, s.forum("public")), 409, "")
		refused(t, "with forums", b.Admin.DeleteForum(ctx, ada, s.forum("root")), 409, "")
		must(t, b.Admin.DeleteForum(ctx, ada, s.forum("link")))
		refused(t, "twice", b.Admin.DeleteForum(ctx, ada, 9999), 404, "")

		spec := admin.NewForumSpec()
		for name, change := range map[string]func(f *admin.ForumSpec){
			"title": func(f *admin.ForumSpec) { f.Title = " " }, "control": func(f *admin.ForumSpec) { f.Title = "a\u202eb" }, "type": func(f *admin.ForumSpec) { f.Type = "x" },
			"link": func(f *admin.ForumSpec) { f.Type, f.LinkURL = "link", "javascript:alert(1)" }, "words": func(f *admin.ForumSpec) { f.MinWords, f.MaxWords = 9, 8 },
			"parent": func(f *admin.ForumSpec) { f.Parent = 9999 }, "description": func(f *admin.ForumSpec) { f.Description = strings.Repeat("x", 501) },
		} {
			bad := spec
			bad.Title = "Bad"
			change(&bad)
			_, err := b.Admin.CreateForum(ctx, ada, bad)
			refused(t, name, err, 422, "")
		}
		f, err := b.Admin.ForumByID(ctx, ada, s.forum("public"))
		must(t, err)
		f.Type = "category"
		refused(t, "a category of threads", b.Admin.EditForum(ctx, ada, f.ID, f.ForumSpec, nil), 422, "has_threads")

		// The rules of a forum apply in the API, also those of a new forum.
		zero := int64(0)
		spec = admin.ForumSpec{Type: "forum", Title: "Public", Parent: s.forum("root"), Open: true, AllowThreads: true, ModerateThreads: true, FloodSeconds: &zero, MinWords: 2, MaxWords: 3}
		id, err := b.Admin.CreateForum(ctx, ada, spec)
		must(t, err)
		if got, err := b.Admin.ForumByID(ctx, ada, id); err != nil || got.Slug != "public-2" || got.FloodSeconds == nil || *got.FloodSeconds != 0 || got.MaxWords != 3 {
			t.Errorf("made: %+v %v", got, err)
		}
		url := path("/forums/%d/threads", id)
		s.do("alice", "POST", url, `{"title":"A title","message":"one"}`).want(422, "validation_failed", "too_few_words")
		s.do("alice", "POST", url, `{"title":"A title","message":"one two three four"}`).want(422, "validation_failed", "too_many_words")
		if thread := data[api.Created](s.do("alice", "POST", url, `{"title":"A title","message":"one two"}`).want(201)); thread.Visibility != "unapproved" {
			t.Errorf("not held: %+v", thread)
		}
		// The depth of the tree is limited.
		parent := id
		for range 20 {
			spec := admin.NewForumSpec()
			spec.Title, spec.Parent = "Deep", parent
			if id, err = b.Admin.CreateForum(ctx, ada, spec); err != nil {
				break
			}
			parent = id
		}
		refused(t, "too deep", err, 422, "depth")
	})
}

func TestSettings(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true, HoldFirst: 1})
		ctx, b, admin := t.Context(), s.service, s.actor("admin")
		set := func(values ...string) error {
			changes := make(map[string]string)
			for i := 0; i < len(values); i += 2 {
				changes[values[i]] = values[i+1]
			}
			return b.Admin.ChangeSettings(ctx, admin, changes, nil)
		}
		public := path("/forums/%d/threads", s.forum("public"))
		post := func(user, title, message string) *answer {
			return s.do(user, "POST", public, `{"title":`+quoted(title)+`,"message":`+quoted(message)+`}`)
		}
		for name, values := range map[string][]string{
			"unknown": {"cursor_secret", "x"}, "not a number": {"title_max", "many"}, "too small": {"title_max", "1"}, "too large": {"message_max", "9999999"},
			"contradiction": {"title_min", "50", "title_max", "20"}, "choice": {"registration", "maybe"}, "empty": {"name", " "}, "lines": {"name", "a\nb"},
			"one of two": {"title_max", "100", "words_max", "0"},
		} {
			refused(t, name, set(values...), 422, "")
		}
		if got, err := b.Rights.Settings(ctx); err != nil || got.MaxTitle != 120 || got.HoldFirst != 1 {
			t.Errorf("after refusals: %+v %v", got, err)
		}
		if n := s.number("SELECT count(*) FROM board_moderation_log WHERE action = 'settings.change'"); n != 0 {
			t.Errorf("%d refusals are logged", n)
		}

		post("newbie", "First of mine", "some text").want(201)
		must(t, set("hold_first", "0", "title_max", "12", "message_min", "6", "words_max", "10", "new_member_links", "0"))
		post("alice", "Thirteen char", "some text").want(422, "validation_failed", "too_long")
		post("alice", "A title", "short").want(422, "validation_failed", "too_short")
		post("alice", "A title", strings.Repeat("word ", 11)).want(422, "validation_failed", "too_many_words")
		if got := data[api.Created](post("newbie", "A title", "no link here").want(201)); got.Visibility != "visible" {
			t.Errorf("held: %+v", got)
		}
		if got := data[api.Created](post("newbie", "A title", "see https://example.com/").want(201)); got.Visibility != "unapproved" {
			t.Errorf("a link of a new member is not held: %+v", got)
		}
		if e := s.lastLog(); e.Action != "settings.change" || !strings.Contains(e.Detail, "title_max: 120 → 12") {
			t.Errorf("log: %+v", e)
		}
		// A value that equals that of the configuration is not stored.
		must(t, set("hold_first", "1", "title_max", "120", "message_min", "2", "words_max", "5000", "new_member_links", "2"))
		if n := s.number("SELECT count(*) FROM board_settings WHERE name NOT IN ('cursor_secret', 'names_filled', 'search_indexed')"); n != 0 {
			t.Errorf("%d settings are stored", n)
		}

		must(t, set("images", ""))
		post("alice", "Images", "![a](https://example.com/a.png) text").want(201)
		if n := s.number("SELECT count(*) FROM board_posts WHERE message LIKE '![a]%' AND message_html LIKE '%<img%'"); n != 0 {
			t.Error("an image where there are none")
		}

		must(t, set("flood", "1", "flood_posts", "2", "flood_seconds", "30"))
		post("bob", "One", "some text").want(201)
		post("bob", "Tw", "some text").want(422, "validation_failed", "too_short")
		post("bob", "Three", "some text").want(201)
		post("bob", "Fourth", "some text").want(429, "flood_limited")
		s.clock.advance(30 * time.Second)
		post("bob", "Fourth", "some text").want(201)

		must(t, set("offline", "1", "offline_message", "Back at noon."))
		if a := s.do("alice", "GET", "/forums", "").want(503, "board_offline"); !strings.Contains(a.body, "Back at noon.") {
			t.Errorf("offline: %s", a.body)
		}
		s.do("mod", "GET", "/forums", "").want(200)
		must(t, set("offline", ""))
		s.do("alice", "GET", "/forums", "").want(200)

		must(t, set("tokens_max", "1"))
		_, err := b.Admin.IssueTokenFor(ctx, admin, accounts.TokenRequest{User: "alice", Name: "x", Scopes: rights.Scopes})
		refused(t, "too many tokens", err, 422, "too_many")
	})
}

func TestMembers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, b, ada := t.Context(), s.service, s.actor("admin")
		alice, bob := s.user("alice"), s.user("bob")
		expiry := kernel.MomentOf(s.clock.now().Add(time.Hour))
		reply := func(user, text string) *answer {
			return s.do(user, "POST", path("/threads/%d/posts", s.threadOf("Public thread")), `{"message":`+quoted(text)+`}`)
		}

		must(t, b.Admin.Ban(ctx, ada, bob, expiry, "rude"))
		s.do("bob", "GET", "/me", "").want(403, "owner_unavailable")
		refused(t, "ban until yesterday", b.Admin.Ban(ctx, ada, bob, 1, ""), 422, "range")
		refused(t, "ban of oneself", b.Admin.Ban(ctx, ada, s.user("admin"), 0, ""), 409, "")
		must(t, b.Admin.Unban(ctx, ada, bob))
		s.do("bob", "GET", "/me", "").want(200)
		refused(t, "unban of the free", b.Admin.Unban(ctx, ada, bob), 409, "")

		must(t, b.Admin.Suspend(ctx, ada, bob, expiry, ""))
		reply("bob", "let me").want(403, "forbidden", "suspended")
		must(t, b.Admin.Suspend(ctx, ada, bob, 0, ""))
		reply("bob", "let me").want(201)

		must(t, b.Admin.SetModerated(ctx, ada, bob, true))
		if got := data[api.Replied](reply("bob", "held now").want(201)); got.Visibility != "unapproved" {
			t.Errorf("not held: %+v", got)
		}

		refused(t, "approve an active one", b.Admin.ApproveMember(ctx, ada, bob), 409, "")
		s.do("awaiting", "GET", "/me", "").want(403)
		must(t, b.Admin.ApproveMember(ctx, ada, s.user("awaiting")))
		s.do("awaiting", "GET", "/me", "").want(200)

		password, err := b.Admin.ResetPassword(ctx, ada, alice)
		must(t, err)
		if _, err := b.Accounts.Login(ctx, "alice", password, "192.0.2.1", ""); err != nil {
			t.Errorf("the new password: %v", err)
		}
		n := s.number("SELECT count(*) FROM board_sessions WHERE user_id = ?", alice)
		must(t, b.Admin.Ban(ctx, ada, alice, 0, ""))
		if left := s.number("SELECT count(*) FROM board_sessions WHERE user_id = ?", alice); n != 1 || left != 0 {
			t.Errorf("%d sessions, %d after a ban", n, left)
		}
		must(t, b.Admin.Unban(ctx, ada, alice))

		// An administrator can issue and list tokens of any member.
		text, err := b.Admin.IssueTokenFor(ctx, ada, accounts.TokenRequest{User: "alice", Name: "made", Scopes: []string{"members:read"}, Days: 1})
		must(t, err)
		s.do(text, "GET", "/me", "").want(200)
		tokens, _, err := b.Admin.Tokens(ctx, ada, "Alice", 0, 100)
		must(t, err)
		if tokens[0].Name != "made" || tokens[0].RevokedAt != 0 || tokens[0].UserName != "alice" {
			t.Errorf("tokens: %+v", tokens)
		}
		must(t, b.Admin.RevokeTokenFor(ctx, ada, tokens[0].ID))
		s.do(text, "GET", "/me", "").want(401)
		refused(t, "twice", b.Admin.RevokeTokenFor(ctx, ada, tokens[0].ID), 404, "")

		// The posts of a deleted member stay under the name, which stays taken.
		s.exec("UPDATE board_users SET title = 'Captain', bio = 'Of the sea', time_zone = 'Europe/Berlin', last_active_at = 1, email_asked = 'other@example.com' WHERE id = ?", alice)
		rows := map[string]string{
			"board_forum_moderators": "(forum_id, user_id, rights_mask, cascades) SELECT id, ?, 1, 0 FROM board_forums WHERE slug = 'public'",
			"board_subscriptions":    "(target, user_id, target_id, mode, created_at) VALUES ('forum', ?, 1, 'instant', 1)",
			"board_notifications":    "(kind, user_id, thread_id, post_id, actor_name, created_at) VALUES ('reply', ?, 1, 1, 'bob', 1)",
			"board_thread_reads":     "(thread_id, user_id, last_read_post_id, read_at) SELECT id, ?, 1, 1 FROM board_threads WHERE title = 'Alice ticket'",
			"board_forum_reads":      "(forum_id, user_id, read_at) SELECT id, ?, 1 FROM board_forums WHERE slug = 'public'",
			"board_mails":            "(mode, user_id, source, thread_id, first_post_id, last_post_id, due_at, created_at) VALUES ('daily', ?, 'thread', 1, 1, 1, 1, 1)",
			"board_links":            "(kind, user_id, email, expires_at) VALUES ('reset', ?, 'alice@example.com', 1)",
			"board_identities":       "(issuer, subject, user_id) VALUES ('https://id.example.com', 'alice', ?)",
			"board_idempotency":      "(key, user_id, request_hash, body, created_at) VALUES ('once', ?, '', '', 1)",
			"board_forum_floods":     "(forum_id, user_id, full_at) SELECT id, ?, 1 FROM board_forums WHERE slug = 'public'",
			"board_sessions":         "(secret_hash, user_id, created_at, seen_at, confirmed_at) VALUES ('hash', ?, 1, 1, 1)",
		}
		for table, row := range rows {
			s.exec("INSERT INTO "+table+" "+row, alice)
		}
		must(t, b.Admin.DeleteMember(ctx, ada, alice))
		if n := s.number("SELECT count(*) FROM board_users WHERE id = ? AND email || email_asked || password_hash || title || bio = '' AND email_key IS NULL AND time_zone = 'UTC' AND last_active_at IS NULL", alice); n != 1 {
			t.Error("something is left of the deleted")
		}
		rows["board_user_groups"] = ""
		for table := range rows {
			if n := s.number("SELECT count(*) FROM "+table+" WHERE user_id = ?", alice); n != 0 {
				t.Errorf("%s has %d rows of the deleted", table, n)
			}
		}
		s.do("alice", "GET", "/me", "").want(401)
		if a := s.do("", "GET", path("/threads/%d/posts", s.threadOf("Public thread")), ""); !strings.Contains(a.body, `"authorUsername":"alice"`) {
			t.Errorf("the name is gone: %s", a.body)
		}
		s.do("bob", "GET", path("/members/%d", alice), "").want(404)
		refused(t, "a change of the deleted", b.Admin.SetModerated(ctx, ada, alice, true), 409, "")
		_, err = b.Accounts.Register(ctx, accounts.NewMember{Name: "Alice", Email: "a@example.com", Password: "long enough to be good", Address: "192.0.2.9", Form: s.joinForm()})
		refused(t, "the same name", err, 422, "taken")
		refused(t, "deletion of oneself", b.Admin.DeleteMember(ctx, ada, s.user("admin")), 409, "")
		s.exact()

		// The list is read page by page.
		var names []string
		after := ""
		for {
			list, next, err := b.Admin.FindMembers(ctx, ada, admin.MemberQuery{After: after, Limit: 3})
			must(t, err)
			for _, m := range list {
				names = append(names, m.Name)
			}
			if after = next; next == "" {
				break
			}
		}
		if got := strings.Join(names, " "); got != "admin alice awaiting banned bob mod newbie watched" {
			t.Errorf("members: %s", got)
		}
		// Each order lists all members of a state, or of all states, once.
		s.exec("UPDATE board_users SET joined_at = 7, post_count = id / 3, last_active_at = CASE WHEN id < 4 THEN NULL ELSE id END")
		for _, q := range []admin.MemberQuery{{}, {State: "active"}, {State: "banned"}, {State: "\x00"}} {
			for column, order := range map[string]string{"joined_at": admin.MembersNewest, "COALESCE(last_active_at, 0)": admin.MembersSeen, "post_count": admin.MembersPosts} {
				condition := map[string]string{"": "TRUE", "active": "state = 'active'", "banned": "state = 'banned'", "\x00": "FALSE"}[q.State]
				var want, got []int64
				must(t, b.kernel.Read(ctx, func(c store.Conn) error {
					want = nil
					return c.All("SELECT id FROM board_users WHERE "+condition+" ORDER BY "+column+" DESC, id DESC", nil, func(r store.Row) error {
						var id int64
						err := r.Scan(&id)
						want = append(want, id)
						return err
					})
				}))
				q.Sort, q.Limit, q.After = order, 2, ""
				for more := true; more; more = q.After != "" {
					list, next, err := b.Admin.FindMembers(ctx, ada, q)
					must(t, err)
					for _, m := range list {
						got = append(got, m.ID)
					}
					q.After = next
				}
				if !slices.Equal(got, want) {
					t.Errorf("%+v: %v, want %v", q, got, want)
				}
			}
		}
		_, _, err = b.Admin.FindMembers(ctx, ada, admin.MemberQuery{Sort: admin.MembersPosts, After: "x.y", Limit: 2})
		refused(t, "a bad cursor", err, 422, "")
		registered, moderators := s.number("SELECT id FROM board_groups WHERE kind = 'registered'"), s.number("SELECT id FROM board_groups WHERE name = 'moderators'")
		for q, want := range map[admin.MemberQuery]string{
			{Group: moderators}: "mod", {Group: moderators, State: "banned"}: "", {Group: moderators, Name: "m"}: "mod", {Group: registered, State: "banned"}: "banned", {Group: 999}: "",
			{Name: "B"}: "banned bob", {Name: "bo"}: "bob", {State: "banned"}: "banned", {State: "deleted"}: "alice", {Name: "a", State: "active"}: "admin awaiting", {Name: "%"}: "", {Sort: admin.MembersNewest, Name: "b"}: "banned bob",
		} {
			q.Limit = 10
			list, _, err := b.Admin.FindMembers(ctx, ada, q)
			must(t, err)
			var names []string
			for _, m := range list {
				names = append(names, m.Name)
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("%+v: %s, want %s", q, got, want)
			}
		}
	})
}

func TestPrefixesAndWords(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, b, ada := t.Context(), s.service, s.actor("admin")
		forum := s.forum("public")
		must(t, b.Admin.SetPrefix(ctx, ada, admin.PrefixRow{Label: "Solved", Position: 1, Forums: []int64{forum}}))
		list, err := b.Admin.Prefixes(ctx, ada)
		must(t, err)
		i := slices.IndexFunc(list, func(p admin.PrefixRow) bool { return p.Label == "Solved" })
		created := data[api.Created](s.do("alice", "POST", path("/forums/%d/threads", forum), path(`{"title":"A title","message":"some darn text","prefixId":%d}`, list[i].ID)).want(201))
		for code, p := range map[string]admin.PrefixRow{
			"taken": {Label: "Solved"}, "length": {Label: strings.Repeat("x", 31)}, "unknown": {Label: "Other", Forums: []int64{s.forum("link")}},
		} {
			refused(t, code, b.Admin.SetPrefix(ctx, ada, p), 422, code)
		}
		refused(t, "no prefix", b.Admin.SetPrefix(ctx, ada, admin.PrefixRow{ID: 9999, Label: "Other"}), 404, "")
		must(t, b.Admin.DeletePrefix(ctx, ada, list[i].ID))
		if got := data[content.ThreadInfo](s.do("alice", "GET", path("/threads/%d", created.ID), "").want(200)); got.Prefix != nil {
			t.Errorf("a prefix that is gone: %+v", got.Prefix)
		}

		must(t, b.Admin.AddWordFilter(ctx, ada, admin.WordFilter{Pattern: "darn", Replacement: "gosh"}))
		must(t, b.Admin.AddWordFilter(ctx, ada, admin.WordFilter{Pattern: "casino", Hold: true, Replacement: "ignored"}))
		refused(t, "twice", b.Admin.AddWordFilter(ctx, ada, admin.WordFilter{Pattern: "darn"}), 422, "taken")
		refused(t, "short", b.Admin.AddWordFilter(ctx, ada, admin.WordFilter{Pattern: "d"}), 422, "length")
		reply := func(text string) api.Replied {
			return data[api.Replied](s.do("bob", "POST", path("/threads/%d/posts", created.ID), `{"message":`+quoted(text)+`}`).want(201))
		}
		if got := reply("oh DARN, it is"); got.Visibility != "visible" || s.postOf("oh gosh, it is") != got.ID {
			t.Errorf("not replaced: %+v", got)
		}
		if got := reply("come to the Casino"); got.Visibility != "unapproved" {
			t.Errorf("not held: %+v", got)
		}
		words, err := b.Admin.WordFilters(ctx, ada)
		must(t, err)
		if len(words) != 2 || words[1].Replacement != "" || !words[1].Hold {
			t.Errorf("words: %+v", words)
		}
		must(t, b.Admin.DeleteWordFilter(ctx, ada, words[0].ID))
		reply("so darn well")
		s.postOf("so darn well")
	})
}

// bareAdministrator returns an administrator who has no other right.
func (s *site) bareAdministrator() *rights.Actor {
	s.t.Helper()
	ctx := s.t.Context()
	id, err := s.service.Admin.CreateGroup(ctx, s.actor("admin"), admin.GroupSpec{Name: "Operators", Allow: rights.AdminAccess})
	must(s.t, err)
	must(s.t, s.service.Admin.SetGroups(ctx, s.actor("admin"), s.user("newbie"), []int64{id}))
	return s.actor("newbie")
}

// TestAsAdministrator checks that the log records, on every path, what an administrator could not have done as
// another member.
func TestAsAdministrator(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, b := t.Context(), s.service
		bare := s.bareAdministrator()
		closed := s.forum("closed")
		thread := s.threadOf("Public thread")
		yes := true
		steps := []struct {
			action string
			run    func(a *rights.Actor) error
		}{
			{"thread.post", func(a *rights.Actor) error {
				_, err := b.Posts.StartThread(ctx, a, closed, posts.NewThread{Title: "In a closed forum", Message: "some text"}, posts.Once{})
				return err
			}},
			{"reply.post", func(a *rights.Actor) error {
				_, err := b.Posts.Reply(ctx, a, s.threadOf("Locked thread"), posts.NewReply{Message: "in a locked thread " + a.User.Name}, posts.Once{})
				return err
			}},
			{"post.edit", func(a *rights.Actor) error {
				return editErr(b.Posts.Edit(ctx, a, thread, s.postOf("public second"), posts.PostEdit{Message: "changed by " + a.User.Name}))
			}},
			{"post.approve", func(a *rights.Actor) error {
				_, err := b.Posts.Approve(ctx, a, s.postOf("public held"), posts.Decision{})
				return err
			}},
			{"post.delete", func(a *rights.Actor) error {
				_, err := b.Posts.Delete(ctx, a, thread, s.postOf("public held"), nil)
				return err
			}},
			{"post.restore", func(a *rights.Actor) error { _, err := b.Posts.Restore(ctx, a, s.postOf("public held")); return err }},
			{"thread.lock", func(a *rights.Actor) error { return b.Posts.Change(ctx, a, thread, posts.ThreadChange{Locked: &yes}) }},
			{"thread.move", func(a *rights.Actor) error {
				forum := s.forum("members")
				return b.Posts.Change(ctx, a, thread, posts.ThreadChange{Forum: &forum})
			}},
			{"report.create", func(a *rights.Actor) error {
				_, err := b.Posts.Report(ctx, a, s.postOf("locked first"), "bad text")
				return err
			}},
		}
		for _, step := range steps {
			must(t, step.run(bare))
			if e := s.lastLog(); e.Action != step.action || e.ActorName != "newbie" || !strings.HasPrefix(e.Detail, rights.AsAdministrator) {
				t.Errorf("%s: the log has %+v", step.action, e)
			}
		}
		// An action that the actor could do without being an administrator is not logged as an administrator's.
		before := s.number("SELECT count(*) FROM board_moderation_log")
		must(t, steps[1].run(s.actor("mod")))
		if n := s.number("SELECT count(*) FROM board_moderation_log"); n != before {
			t.Errorf("a moderator's reply is in the log")
		}

		// Looks are logged once per forum.
		must(t, b.Flush(ctx))
		s.clock.advance(2 * time.Hour)
		must(t, b.Admin.ChangeSettings(ctx, s.actor("admin"), map[string]string{"offline": "1"}, nil))
		before = s.number("SELECT count(*) FROM board_moderation_log")
		for range 3 {
			must(t, b.Rights.Admit(s.actor("newbie")))
			must(t, s.service.kernel.Read(ctx, func(c store.Conn) error {
				_, err := content.ThreadFor(c, s.actor("newbie"), s.threadOf("Staff thread"), "")
				return err
			}))
			must(t, b.Flush(ctx))
		}
		if n := s.number("SELECT count(*) FROM board_moderation_log"); n != before+2 {
			t.Errorf("%d looks are noted, want two", n-before)
		}
		if n := s.number("SELECT count(*) FROM board_moderation_log WHERE action = 'forum.look' AND forum_id = ? AND actor_id = ?", s.forum("staff"), s.user("newbie")); n != 1 {
			t.Errorf("%d looks at the staff's forum", n)
		}
		// The built-in groups give administrators every right.
		if n := s.number("SELECT count(*) FROM board_moderation_log WHERE actor_id = ? AND detail LIKE 'as administrator%'", s.user("admin")); n != 0 {
			t.Errorf("%d entries say that the administrator had no right", n)
		}
	})
}

func editErr(_ posts.Edited, err error) error { return err }

// TestModeratorOfOneForum checks that the queue, the reports and the log show only the forums in which the moderator
// has the rights.
func TestModeratorOfOneForum(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, b, ada := t.Context(), s.service, s.actor("admin")
		must(t, b.Admin.SetModerator(ctx, ada, admin.Moderator{Forum: s.forum("members"), UserName: "alice", Rights: admin.ModeratorMask}))
		alice := s.actor("alice")
		// There is a held post, a report and a log entry in both forums, and in one that alice
		// does not see.
		for _, slug := range []string{"public", "members", "staff"} {
			user := "watched"
			if slug == "staff" {
				must(t, b.Admin.SetModerated(ctx, ada, s.user("mod"), true))
				user = "mod"
			}
			s.do(user, "POST", path("/forums/%d/threads", s.forum(slug)), path(`{"title":"held in %s","message":"held message in %s"}`, slug, slug)).want(201)
		}
		for _, title := range []string{"Public thread", "Members thread", "Staff thread"} {
			post := s.number("SELECT first_post_id FROM board_threads WHERE title = ?", title)
			s.do("mod", "POST", path("/posts/%d/report", post), `{"reason":"bad in `+title+`"}`).want(201)
			s.do("admin", "PATCH", path("/threads/%d", s.threadOf(title)), `{"isLocked":true}`).want(200)
		}
		queue, _, err := b.Admin.QueuePage(ctx, alice, 0, 0, 50)
		must(t, err)
		if len(queue) != 1 || queue[0].Thread.Title != "held in members" || queue[0].ForumTitle != "Members only" || queue[0].Author.Posts != 10 {
			t.Errorf("queue: %+v", queue)
		}
		forums, err := b.Admin.QueueForums(ctx, alice)
		must(t, err)
		if len(forums) != 1 || forums[0].ID != s.forum("members") || forums[0].Count != 1 {
			t.Errorf("forums: %+v", forums)
		}
		reports, _, err := b.Admin.Reports(ctx, alice, 0, 0, 50)
		must(t, err)
		if len(reports) != 1 || reports[0].Thread.Title != "Members thread" || len(reports[0].Reports) != 1 || reports[0].Reports[0].User != "mod" {
			t.Errorf("reports: %+v", reports)
		}
		log, _, err := b.Admin.Log(ctx, alice, admin.LogQuery{Limit: 50})
		must(t, err)
		if len(log) == 0 {
			t.Error("the log is empty")
		}
		for _, e := range log {
			if e.Forum != s.forum("members") {
				t.Errorf("log: %+v", e)
			}
		}
		for _, f := range []struct {
			slug   string
			status int
		}{{"public", 403}, {"staff", 404}} {
			id := s.forum(f.slug)
			_, _, err := b.Admin.QueuePage(ctx, alice, id, 0, 50)
			refused(t, "queue of "+f.slug, err, f.status, "")
			_, _, err = b.Admin.Reports(ctx, alice, id, 0, 50)
			refused(t, "reports of "+f.slug, err, f.status, "")
			_, _, err = b.Admin.Log(ctx, alice, admin.LogQuery{Forum: id, Limit: 50})
			refused(t, "log of "+f.slug, err, f.status, "")
			post := s.number("SELECT post_id FROM board_reports WHERE forum_id = ?", id)
			refused(t, "closing in "+f.slug, b.Admin.CloseReports(ctx, alice, post, ""), f.status, "")
		}
		for _, user := range []string{"", "bob"} {
			_, _, err := b.Admin.Reports(ctx, s.actor(user), 0, 0, 50)
			refused(t, "reports as "+user, err, 403, "")
			_, _, err = b.Admin.Log(ctx, s.actor(user), admin.LogQuery{Limit: 50})
			refused(t, "log as "+user, err, 403, "")
			_, err2 := b.Admin.QueueForums(ctx, s.actor(user))
			must(t, err2)
		}

		// Reports move with their thread, and can be closed there.
		forum := s.forum("members")
		must(t, b.Posts.Change(ctx, ada, s.threadOf("Public thread"), posts.ThreadChange{Forum: &forum}))
		if reports, _, err = b.Admin.Reports(ctx, alice, 0, 0, 50); err != nil || len(reports) != 2 {
			t.Errorf("after the move: %+v %v", reports, err)
		}
		post := s.postOf("members first")
		must(t, b.Admin.CloseReports(ctx, alice, post, "all is well"))
		refused(t, "twice", b.Admin.CloseReports(ctx, alice, post, ""), 409, "")
		if n := s.number("SELECT count(*) FROM board_reports WHERE post_id = ? AND closed_by = ? AND note = 'all is well'", post, alice.ID()); n != 1 {
			t.Error("the report does not keep its closer and the reason")
		}
		must(t, b.Admin.DeleteReported(ctx, alice, s.postOf("public first"), "spam"))
		if reports, _, err = b.Admin.Reports(ctx, alice, 0, 0, 50); err != nil || len(reports) != 0 {
			t.Errorf("after closing: %+v %v", reports, err)
		}
		s.exact()
	})
}

func TestSettleAll(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, b := t.Context(), s.service
		thread := s.threadOf("Public thread")
		ids := make([]int64, 0, 6)
		for i := range 6 {
			ids = append(ids, data[api.Replied](s.do("watched", "POST", path("/threads/%d/posts", thread), path(`{"message":"held %d"}`, i)).want(201)).ID)
		}
		mod := s.actor("mod")
		// Pages of the queue, with the post before each held one.
		first, next, err := b.Admin.QueuePage(ctx, mod, s.forum("public"), 0, 3)
		must(t, err)
		if len(first) != 3 || next == 0 || first[0].Before == nil || first[2].Reason != "author_moderated" {
			t.Fatalf("page: %d, next %d, %+v", len(first), next, first)
		}
		if first[2].Before.Message != "public second" || first[2].Author.Held != 6 {
			t.Errorf("context: %+v %+v", first[2].Before, first[2].Author)
		}
		if n, err := b.Admin.SettleAll(ctx, s.actor("bob"), ids[:1], true, "", nil); err != nil || n != (admin.AllSettled{Skipped: 1}) {
			t.Errorf("a member settles %+v: %v", n, err) // the member does not see the post
		}
		n, err := b.Admin.SettleAll(ctx, mod, ids[:4], true, "fine", nil)
		if err != nil || n != (admin.AllSettled{Done: 4}) {
			t.Errorf("approved %+v: %v", n, err)
		}
		n, err = b.Admin.SettleAll(ctx, mod, append(ids[3:], 987654), false, "spam", nil)
		if err != nil || n != (admin.AllSettled{Done: 2, Skipped: 2}) {
			t.Errorf("rejected %+v: %v", n, err)
		}
		log, _, err := b.Admin.Log(ctx, mod, admin.LogQuery{Actor: "Mod", Action: "post.reject", Limit: 10})
		must(t, err)
		if len(log) != 2 || log[0].Detail != "spam" || log[0].ForumTitle != "Public" {
			t.Errorf("log: %+v", log)
		}
		_, err = b.Admin.SettleAll(ctx, mod, make([]int64, admin.MaxSettled+1), true, "", nil)
		refused(t, "too many", err, 422, "too_many")
		s.exact()
	})
}

// TestSettleChangedPost checks that a decision on a held post is refused if the post, its title or its files have
// changed since the moderator saw them.
func TestSettleChangedPost(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, mod, watched := t.Context(), s.actor("mod"), s.actor("watched")
		held := data[api.Created](s.do("watched", "POST", path("/forums/%d/threads", s.forum("public")), `{"title":"Held title","message":"held text"}`).want(201))
		item := func() admin.QueueItem {
			t.Helper()
			items, _, err := s.service.Admin.QueuePage(ctx, mod, 0, held.PostID-1, 1)
			must(t, err)
			if len(items) != 1 || items[0].Post.ID != held.PostID {
				t.Fatalf("%+v", items)
			}
			return items[0]
		}
		settle := func(seen string) admin.AllSettled {
			t.Helper()
			n, err := s.service.Admin.SettleAll(ctx, mod, []int64{held.PostID}, true, "", map[int64]string{held.PostID: seen})
			must(t, err)
			return n
		}
		post := path("/threads/%d/posts/%d", held.ID, held.PostID)
		tag := s.do("mod", "GET", post, "").want(200).header.Get("ETag")
		for name, change := range map[string]func(){
			"text":  func() { s.do("watched", "PATCH", post, `{"message":"held spam"}`).want(200) },
			"title": func() { s.do("watched", "PATCH", path("/threads/%d", held.ID), `{"title":"Held spam"}`).want(200) },
			"files": func() {
				_, err := s.service.Posts.Attach(ctx, watched, held.ID, held.PostID, "spam.txt", strings.NewReader("spam"))
				must(t, err)
			},
		} {
			seen := item().Version
			if change(); settle(seen) != (admin.AllSettled{Changed: 1}) {
				t.Errorf("approved with another %s", name)
			}
		}
		if files := item().Files; len(files) != 1 || files[0].Name != "spam.txt" {
			t.Errorf("the queue shows %+v", files)
		}
		for _, action := range []string{"approve", "reject"} {
			r := s.request("mod", "POST", path("/moderation/queue/%d/%s", held.PostID, action), "")
			r.Header.Set("If-Match", tag)
			s.send(r).want(412, "precondition_failed")
		}
		if n := settle(item().Version); n != (admin.AllSettled{Done: 1}) {
			t.Errorf("as it was seen: %+v", n)
		}
		s.exact()
	})
}

// TestLog pages through the log with each of its filters.
func TestLog(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, b := t.Context(), s.service
		for i := range 7 {
			user := "mod"
			if i%2 == 0 {
				user = "admin"
			}
			s.do(user, "PATCH", path("/threads/%d", s.threadOf("Public thread")), path(`{"isLocked":%v}`, i%2 == 0)).want(200)
			s.do(user, "PATCH", path("/threads/%d", s.threadOf("Members thread")), path(`{"isSticky":%v}`, i%2 == 0)).want(200)
		}
		for q, want := range map[admin.LogQuery]int{
			{}: 14, {Actor: "ADMIN"}: 8, {Action: "thread.lock"}: 7, {Forum: s.forum("members")}: 7, {Actor: "mod", Action: "thread.stick"}: 3,
			{Actor: "mod", Action: "thread.stick", Forum: s.forum("public")}: 0, {Actor: "nobody"}: 0,
		} {
			for _, user := range []string{"admin", "mod"} {
				seen, last, before := 0, int64(1)<<62, int64(0)
				for {
					q.Before, q.Limit = before, 3
					list, next, err := b.Admin.Log(ctx, s.actor(user), q)
					must(t, err)
					for _, e := range list {
						if e.ID >= last || e.Detail == "" || e.ActorName == "" || e.Thread == 0 {
							t.Errorf("%+v: %+v behind %d", q, e, last)
						}
						last = e.ID
						seen++
					}
					if before = next; next == 0 {
						break
					}
				}
				if seen != want {
					t.Errorf("%s %+v: %d entries, want %d", user, q, seen, want)
				}
			}
		}
	})
}
