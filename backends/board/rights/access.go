package rights

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/wordfilter"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// maxRights is the maximum number of results of Of that an Access caches. When it is reached, the cache is emptied.
const maxRights = 4096

// Access holds the board's groups, forums, rights and settings as of one permission version. They are not changed after
// loading; a change of the board is loaded into a new Access. Only the cache of Of changes.
type Access struct {
	Version    int64
	Groups     map[int64]*Group
	Guest      int64   // the id of the group of guests
	Registered int64   // the id of the group of all members
	Order      []int64 // ids of the forums, depth first, siblings by position
	Forums     map[int64]*Node
	Overrides  map[[2]int64]Override // by forum and group
	Moderators []Moderator
	Prefixes   map[int64]Prefix
	Offered    map[int64][]Prefix // the prefixes that threads of a forum can have
	Settings   kernel.Settings
	Words      *wordfilter.List
	looks      *LookLog

	mu     sync.Mutex
	Rights map[string]*Rights // the cache of Of, by a key that Of makes; guarded by mu
}

// Group gives its members rights.
type Group struct {
	ID         int64
	Name, Kind string
	Allow      Mask
	Restrict   Mask
	EditWindow int64 // minutes after posting in which members may edit their posts; 0 means no limit
	perDay     int64 // posts per day; 0 means no limit
}

// Node is a forum in the tree of forums.
type Node struct {
	ID, Parent int64 // Parent is 0 for a root
	position   int64
	Kind       string // forum, category or link
	Answers    bool   // whether replies can be marked as the answer
}

// Override changes the rights of a group in a forum: Set is added, Clear is taken away. The zero Override changes
// nothing.
type Override struct{ Set, Clear Mask }

// apply returns the rights mask after the change.
func (o Override) apply(mask Mask) Mask { return (mask | o.Set) &^ o.Clear }

// Moderator gives additional rights in a forum to a member or a group. If Cascades is set, they also apply in the
// forums below it.
type Moderator struct {
	Forum       int64
	User, Group int64 // one of the two is 0
	Rights      Mask
	Cascades    bool
}

// Prefix is a label that threads can have.
type Prefix struct {
	ID    int64
	Label string
}

// Rights holds an actor's rights on the whole board and in each forum.
type Rights struct {
	Board      Mask     // the rights on the whole board
	natural    Mask     // the Board rights without those that only administrators have
	admin      bool     // the actor is an administrator
	EditWindow int64    // minutes after posting in which posts may be edited; 0 means no limit
	PerDay     int64    // posts per day; 0 means no limit
	Groups     []string // names of the groups, sorted
	Forums     map[int64]ForumRights
	Settings   *kernel.Settings
	looks      *LookLog
	Access     *Access // the Access from which the rights were computed
}

// ForumRights holds an actor's rights in one forum.
type ForumRights struct {
	Visible  bool
	Seen     bool // visible even without the rights of an administrator
	Mask     Mask
	Natural  Mask // the Mask without the rights of an administrator
	Restrict Mask // the restrictions; see ThreadNeedsApproval
}

// version reads the permission version, which increases with every change of the tables that an Access is loaded from.
func version(c store.Conn) (v int64, err error) {
	return v, c.Row("SELECT version FROM board_permission_version").Scan(&v)
}

// BumpPermissions increases the permission version, so that every request after the commit loads the changed rights.
func BumpPermissions(c store.Conn) error {
	_, err := c.Exec("UPDATE board_permission_version SET version = version + 1")
	return err
}

// CurrentAccess returns the current groups, forums, rights and settings of the board. Each call reads the permission
// version, and reads everything else only if that version has changed.
func (s *Service) CurrentAccess(ctx context.Context) (*Access, error) {
	var a *Access
	err := s.ReadBriefly(ctx, func(c store.Conn) error {
		v, err := version(c)
		if err != nil {
			return err
		}
		if a = s.access.Load(); a != nil && a.Version == v {
			return nil
		}
		// The tables are read one after the other. If the version has changed meanwhile, all of them are read again.
		for a == nil || a.Version != v {
			if a, err = loadAccess(c, v, kernel.DefaultSettings(s.Options), s.Options.Offline); err != nil {
				return err
			}
			if v, err = version(c); err != nil {
				return err
			}
		}
		a.looks = s.looks
		s.access.Store(a)
		return nil
	})
	return a, err
}

// LastAccess returns the Access that CurrentAccess returned last, without reading the database, or nil if there was no
// call of CurrentAccess.
func (s *Service) LastAccess() *Access { return s.access.Load() }

// loadAccess reads an Access from the database. defaults holds the values of the settings that are not stored. If
// offline is set, the board is offline, whatever the stored settings say.
func loadAccess(c store.Conn, version int64, defaults kernel.Settings, offline bool) (a *Access, err error) {
	a = &Access{
		Version: version, Groups: make(map[int64]*Group), Forums: make(map[int64]*Node),
		Overrides: make(map[[2]int64]Override),
		Prefixes:  make(map[int64]Prefix), Offered: make(map[int64][]Prefix), Rights: make(map[string]*Rights),
	}
	if a.Settings, err = kernel.LoadSettings(c, defaults); err != nil {
		return nil, err
	}
	a.Settings.Offline = a.Settings.Offline || offline
	if a.Words, err = wordfilter.Load(c); err != nil {
		return nil, err
	}
	for _, load := range []func(store.Conn) error{
		a.loadGroups, a.loadForums, a.loadOverrides, a.loadModerators,
		a.loadPrefixes,
	} {
		if err := load(c); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// loadGroups reads the groups, and finds those of guests and of all members.
func (a *Access) loadGroups(c store.Conn) error {
	return c.All("SELECT id, name, kind, allow_mask, restrict_mask, edit_window_min, max_posts_per_day FROM board_groups",
		nil, func(r store.Row) error {
			g := new(Group)
			err := r.Scan(&g.ID, &g.Name, &g.Kind, &g.Allow, &g.Restrict, &g.EditWindow, &g.perDay)
			a.Groups[g.ID] = g
			switch g.Kind {
			case "guest":
				a.Guest = g.ID
			case "registered":
				a.Registered = g.ID
			}
			return err
		})
}

// loadForums reads the tree of forums into Forums and Order.
func (a *Access) loadForums(c store.Conn) error {
	children := make(map[int64][]*Node)
	err := c.All("SELECT id, COALESCE(parent_id, 0), position, type, answers FROM board_forums", nil, func(r store.Row) error {
		n := new(Node)
		err := r.Scan(&n.ID, &n.Parent, &n.position, &n.Kind, &n.Answers)
		a.Forums[n.ID] = n
		children[n.Parent] = append(children[n.Parent], n)
		return err
	})
	var walk func(parent int64)
	walk = func(parent int64) {
		siblings := children[parent]
		slices.SortFunc(siblings, func(x, y *Node) int {
			return cmp.Or(cmp.Compare(x.position, y.position), cmp.Compare(x.ID, y.ID))
		})
		for _, n := range siblings {
			a.Order = append(a.Order, n.ID)
			walk(n.ID)
		}
	}
	walk(0)
	return err
}

// loadOverrides reads the changes of groups' rights in forums.
func (a *Access) loadOverrides(c store.Conn) error {
	return c.All("SELECT forum_id, group_id, set_mask, clear_mask FROM board_forum_overrides",
		nil, func(r store.Row) error {
			var key [2]int64
			var o Override
			err := r.Scan(&key[0], &key[1], &o.Set, &o.Clear)
			a.Overrides[key] = o
			return err
		})
}

// loadModerators reads the moderators of forums.
func (a *Access) loadModerators(c store.Conn) (err error) {
	a.Moderators, err = store.List(c, func(r store.Row) (m Moderator, err error) {
		err = r.Scan(&m.Forum, &m.User, &m.Group, &m.Rights, &m.Cascades)
		return m, err
	}, "SELECT forum_id, COALESCE(user_id, 0), COALESCE(group_id, 0), rights_mask, cascades FROM board_forum_moderators")
	return err
}

// loadPrefixes reads the prefixes, and which of them each forum offers.
func (a *Access) loadPrefixes(c store.Conn) error {
	err := c.All("SELECT id, label FROM board_prefixes", nil, func(r store.Row) error {
		var p Prefix
		err := r.Scan(&p.ID, &p.Label)
		a.Prefixes[p.ID] = p
		return err
	})
	if err != nil {
		return err
	}
	return c.All("SELECT f.forum_id, f.prefix_id FROM board_prefix_forums f JOIN board_prefixes p ON p.id = f.prefix_id"+
		" ORDER BY p.position, p.id", nil, func(r store.Row) error {
		var forum, id int64
		err := r.Scan(&forum, &id)
		a.Offered[forum] = append(a.Offered[forum], a.Prefixes[id])
		return err
	})
}

// Of returns the rights of a user who is in these groups, whose ids are sorted. User 0 is the guest. The result is
// cached and must not be changed. Of may be called concurrently.
func (a *Access) Of(user int64, groups []int64) *Rights {
	// Members of the same groups have the same rights and share an entry, unless they are moderators as single members.
	moderator := int64(0)
	if user != 0 && slices.ContainsFunc(a.Moderators, func(m Moderator) bool { return m.User == user }) {
		moderator = user
	}
	var buf [64]byte
	key := binary.AppendVarint(buf[:0], moderator)
	for _, g := range groups {
		key = binary.AppendVarint(key, g)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.Rights[string(key)]; r != nil {
		return r
	}
	if len(a.Rights) >= maxRights {
		clear(a.Rights)
	}
	r := a.resolve(user, groups)
	a.Rights[string(key)] = r
	return r
}

// resolve computes a user's rights from groups, forum overrides and moderators. ids are the ids of the user's groups.
func (a *Access) resolve(user int64, ids []int64) *Rights {
	r := &Rights{Forums: make(map[int64]ForumRights, len(a.Forums)), Settings: &a.Settings, looks: a.looks, Access: a}
	var groups []*Group
	restrict := ^Mask(0) // the restrictions that all groups have
	for _, id := range ids {
		g := a.Groups[id]
		if g == nil { // the group was deleted after the member's groups were read
			continue
		}
		groups = append(groups, g)
		r.Groups = append(r.Groups, g.Name)
		r.Board |= g.Allow
		restrict &= g.Restrict
		r.EditWindow = looserLimit(r.EditWindow, g.EditWindow, len(groups) == 1)
		r.PerDay = looserLimit(r.PerDay, g.perDay, len(groups) == 1)
	}
	if len(groups) == 0 {
		restrict = 0
	}
	slices.Sort(r.Groups)
	r.admin, r.natural = r.Board.Has(AdminAccess), r.Board
	if r.admin {
		r.Board = Everything
	}
	a.resolveForums(r, user, groups, restrict)
	return r
}

// resolveForums computes a user's rights in each forum. r has the user's rights on the whole board, groups are the
// user's groups, and restrict holds the restrictions that all of them have.
func (a *Access) resolveForums(r *Rights, user int64, groups []*Group, restrict Mask) {
	masks := make(map[int64][]Mask, len(a.Forums)) // by forum, one mask for each group
	cascading := make(map[int64]Mask)              // by forum, the user's rights as a moderator that cascade
	for _, id := range a.Order {                   // parents come before their children
		parent := a.Forums[id].Parent
		groupMasks := make([]Mask, len(groups))
		var mask Mask
		for i, g := range groups {
			inherited := g.Allow
			if parent != 0 {
				inherited = masks[parent][i]
			}
			groupMasks[i] = a.Overrides[[2]int64{id, g.ID}].apply(inherited)
			mask |= groupMasks[i]
		}
		masks[id] = groupMasks
		moderates, cascades := a.moderates(id, user, groups)
		cascading[id] = cascading[parent] | cascades
		mask |= cascading[parent] | moderates
		f := ForumRights{Mask: mask, Natural: mask, Restrict: restrict}
		f.Seen = mask.Has(ForumView) && (parent == 0 || r.Forums[parent].Seen)
		f.Visible = f.Seen
		if r.admin {
			f.Mask, f.Visible, f.Restrict = Everything, true, 0
		}
		r.Forums[id] = f
	}
}

// moderates returns the rights that the moderator entries of a forum give a user in these groups. cascades holds
// those of the rights in mask that also apply in the forums below that forum.
func (a *Access) moderates(forum, user int64, groups []*Group) (mask, cascades Mask) {
	for _, m := range a.Moderators {
		isUser := user != 0 && m.User == user
		if m.Forum != forum || !isUser && !slices.ContainsFunc(groups, func(g *Group) bool { return g.ID == m.Group }) {
			continue
		}
		mask |= m.Rights
		if m.Cascades {
			cascades |= m.Rights
		}
	}
	return mask, cascades
}

// looserLimit returns the more generous of two limits, where 0 means no limit. If first is set, there is no earlier
// limit, and looserLimit returns next.
func looserLimit(earlier, next int64, first bool) int64 {
	switch {
	case first:
		return next
	case earlier == 0 || next == 0:
		return 0
	}
	return max(earlier, next)
}

// Inherited returns the rights of a group in a forum, given the group's rights on the board (mask). It applies the
// overrides of the forums above from the root down, then those of the forum.
func (a *Access) Inherited(forum, group int64, mask Mask) Mask {
	var path []int64
	for id := forum; id != 0 && a.Forums[id] != nil; id = a.Forums[id].Parent {
		path = append(path, id)
	}
	for _, id := range slices.Backward(path) {
		mask = a.Overrides[[2]int64{id, group}].apply(mask)
	}
	return mask
}
