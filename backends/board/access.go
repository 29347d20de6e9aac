package board

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// maxRights bounds the actors' rights that one access keeps.
const maxRights = 4096

// access is all that decides on rights, as of one permission version. It is
// replaced, never changed, but for the rights that it has worked out.
type access struct {
	version    int64
	groups     map[int64]*group
	guest      int64 // the group's id
	registered int64
	order      []int64 // forums, depth first by position
	forums     map[int64]*node
	overrides  map[[2]int64]override // by forum and group
	moderators []moderator
	prefixes   map[int64]prefix
	offered    map[int64][]prefix // by forum
	settings   Settings
	looks      *lookCounter

	mu     sync.Mutex
	rights map[string]*rights
}

type group struct {
	id         int64
	name, kind string
	allow      Mask
	restrict   Mask
	editWindow int64 // minutes; 0: no limit
	perDay     int64 // posts; 0: no limit
}

type node struct {
	id, parent int64 // parent 0: a root
	position   int64
	kind       string
}

type override struct{ set, clear Mask }

type moderator struct {
	forum       int64
	user, group int64 // one is 0
	rights      Mask
	cascades    bool
}

type prefix struct {
	id    int64
	label string
}

// rights are what an actor may do.
type rights struct {
	board      Mask
	natural    Mask // of board, without being an administrator
	admin      bool
	editWindow int64
	perDay     int64
	groups     []string // names, sorted
	forums     map[int64]forumRights
	settings   *Settings
	looks      *lookCounter
	access     *access // that they come from
}

type forumRights struct {
	visible  bool
	seen     bool // visible without being an administrator
	mask     Mask
	natural  Mask // without being an administrator
	restrict Mask
}

// version reads the permission version, which changes with every change of what
// decides on rights.
func version(c store.Conn) (v int64, err error) {
	return v, c.Row("SELECT version FROM board_permission_version").Scan(&v)
}

// bumpPermissions makes a change of rights count from the next request on.
func bumpPermissions(c store.Conn) error {
	_, err := c.Exec("UPDATE board_permission_version SET version = version + 1")
	return err
}

// access is as of now.
func (s *Service) currentAccess(ctx context.Context) (*access, error) {
	var a *access
	err := s.read(ctx, func(c store.Conn) error {
		v, err := version(c)
		if err != nil {
			return err
		}
		if a = s.access.Load(); a != nil && a.version == v {
			return nil
		}
		// The tables are read one after the other: should a change come between,
		// the version shows it.
		for {
			if a, err = loadAccess(c, v, defaultSettings(s.options), s.options.Offline); err != nil {
				return err
			}
			after, err := version(c)
			if err != nil {
				return err
			}
			if after == v {
				a.looks = &s.looks
				s.access.Store(a)
				return nil
			}
			v = after
		}
	})
	return a, err
}

func loadAccess(c store.Conn, version int64, defaults Settings, offline bool) (*access, error) {
	a := &access{
		version: version, groups: make(map[int64]*group), forums: make(map[int64]*node), overrides: make(map[[2]int64]override),
		prefixes: make(map[int64]prefix), offered: make(map[int64][]prefix), rights: make(map[string]*rights),
	}
	err := c.All("SELECT id, name, kind, allow_mask, restrict_mask, edit_window_min, max_posts_per_day FROM board_groups", nil, func(r store.Row) error {
		g := new(group)
		if err := r.Scan(&g.id, &g.name, &g.kind, &g.allow, &g.restrict, &g.editWindow, &g.perDay); err != nil {
			return err
		}
		a.groups[g.id] = g
		switch g.kind {
		case "guest":
			a.guest = g.id
		case "registered":
			a.registered = g.id
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if a.settings, err = loadSettings(c, defaults); err != nil {
		return nil, err
	}
	a.settings.Offline = a.settings.Offline || offline
	children := make(map[int64][]*node)
	err = c.All("SELECT id, COALESCE(parent_id, 0), position, type FROM board_forums", nil, func(r store.Row) error {
		n := new(node)
		if err := r.Scan(&n.id, &n.parent, &n.position, &n.kind); err != nil {
			return err
		}
		a.forums[n.id] = n
		children[n.parent] = append(children[n.parent], n)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var walk func(parent int64)
	walk = func(parent int64) {
		siblings := children[parent]
		slices.SortFunc(siblings, func(x, y *node) int {
			return cmp.Or(cmp.Compare(x.position, y.position), cmp.Compare(x.id, y.id))
		})
		for _, n := range siblings {
			a.order = append(a.order, n.id)
			walk(n.id)
		}
	}
	walk(0)
	err = c.All("SELECT forum_id, group_id, set_mask, clear_mask FROM board_forum_overrides", nil, func(r store.Row) error {
		var key [2]int64
		var o override
		if err := r.Scan(&key[0], &key[1], &o.set, &o.clear); err != nil {
			return err
		}
		a.overrides[key] = o
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = c.All("SELECT forum_id, COALESCE(user_id, 0), COALESCE(group_id, 0), rights_mask, cascades FROM board_forum_moderators", nil, func(r store.Row) error {
		var m moderator
		if err := r.Scan(&m.forum, &m.user, &m.group, &m.rights, &m.cascades); err != nil {
			return err
		}
		a.moderators = append(a.moderators, m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = c.All("SELECT id, label FROM board_prefixes", nil, func(r store.Row) error {
		var p prefix
		if err := r.Scan(&p.id, &p.label); err != nil {
			return err
		}
		a.prefixes[p.id] = p
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = c.All("SELECT f.forum_id, f.prefix_id FROM board_prefix_forums f JOIN board_prefixes p ON p.id = f.prefix_id ORDER BY p.position, p.id", nil, func(r store.Row) error {
		var forum, id int64
		if err := r.Scan(&forum, &id); err != nil {
			return err
		}
		a.offered[forum] = append(a.offered[forum], a.prefixes[id])
		return nil
	})
	return a, err
}

// of works out the rights of a user, or looks them up; user 0 is the guest.
func (a *access) of(user int64, groups []int64) *rights {
	moderates := user != 0 && slices.ContainsFunc(a.moderators, func(m moderator) bool { return m.user == user })
	var buf [64]byte
	key := buf[:0]
	if moderates {
		key = binary.AppendVarint(key, user)
	}
	key = append(key, ':')
	for _, g := range groups {
		key = binary.AppendVarint(key, g)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.rights[string(key)]; r != nil {
		return r
	}
	if len(a.rights) >= maxRights {
		clear(a.rights)
	}
	r := a.resolve(user, groups)
	a.rights[string(key)] = r
	return r
}

func (a *access) resolve(user int64, ids []int64) *rights {
	r := &rights{forums: make(map[int64]forumRights, len(a.forums)), settings: &a.settings, looks: a.looks, access: a}
	var groups []*group
	restrict := ^Mask(0)
	for i, id := range ids {
		g := a.groups[id]
		if g == nil {
			continue
		}
		groups = append(groups, g)
		r.groups = append(r.groups, g.name)
		r.board |= g.allow
		restrict &= g.restrict
		r.editWindow = longest(r.editWindow, g.editWindow, i == 0)
		r.perDay = longest(r.perDay, g.perDay, i == 0)
	}
	if len(groups) == 0 {
		restrict = 0
	}
	slices.Sort(r.groups)
	r.admin, r.natural = r.board.Has(AdminAccess), r.board
	if r.admin {
		r.board = everything
	}

	masks := make(map[int64][]Mask, len(a.forums)) // by forum, one a group
	granted := make(map[int64]Mask)                // to moderators, what cascades
	for _, id := range a.order {
		parent := a.forums[id].parent
		own := make([]Mask, len(groups))
		var mask Mask
		for i, g := range groups {
			own[i] = g.allow
			if above := masks[parent]; above != nil {
				own[i] = above[i]
			}
			if o, ok := a.overrides[[2]int64{id, g.id}]; ok {
				own[i] = (own[i] | o.set) &^ o.clear
			}
			mask |= own[i]
		}
		masks[id] = own
		granted[id] = granted[parent]
		here := granted[parent]
		for _, m := range a.moderators {
			if m.forum != id || (m.user != user || user == 0) && !slices.Contains(ids, m.group) {
				continue
			}
			here |= m.rights
			if m.cascades {
				granted[id] |= m.rights
			}
		}
		mask |= here
		f := forumRights{mask: mask, natural: mask, restrict: restrict}
		f.seen = mask.Has(ForumView) && (parent == 0 || r.forums[parent].seen)
		f.visible = f.seen
		if r.admin {
			f.mask, f.visible, f.restrict = everything, true, 0
		}
		r.forums[id] = f
	}
	return r
}

// longest is the larger of two limits, of which 0 is none.
func longest(a, b int64, first bool) int64 {
	switch {
	case first:
		return b
	case a == 0 || b == 0:
		return 0
	}
	return max(a, b)
}
