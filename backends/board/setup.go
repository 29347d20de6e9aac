package board

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// setup gives an empty database what a board starts with (the groups, a
// category and a forum in it) and returns the secret that signs cursors. It
// changes nothing that is there.
func (s *Service) setup(ctx context.Context) (secret string, err error) {
	if err := s.Read(ctx, func(c store.Conn) (err error) {
		secret, err = kernel.StoredSetting(c, kernel.SettingSecret)
		return err
	}); err != nil || secret != "" {
		return secret, err
	}
	err = s.Write(ctx, func(c store.Conn) (err error) {
		if secret, err = kernel.StoredSetting(c, kernel.SettingSecret); err != nil || secret != "" {
			return err
		}
		raw := make([]byte, 32)
		_, _ = rand.Read(raw) // never fails
		secret = hex.EncodeToString(raw)
		if _, err := c.Exec("INSERT INTO board_settings (name, value) VALUES (?, ?), (?, ?)", kernel.SettingSecret, secret, settingNames, namesAll); err != nil {
			return err
		}
		for _, g := range []rights.Group{
			{Name: "guest", Kind: "guest", Allow: rights.GuestMask, EditWindow: 1440},
			{Name: "registered", Kind: "registered", Allow: rights.RegisteredMask, EditWindow: 1440},
			{Name: "moderators", Kind: "staff", Allow: rights.ModeratorMask},
			{Name: "administrators", Kind: "staff", Allow: rights.Everything},
		} {
			_, err := c.Exec("INSERT INTO board_groups (name, kind, allow_mask, edit_window_min) VALUES (?, ?, ?, ?)", g.Name, g.Kind, g.Allow, g.EditWindow)
			if err != nil {
				return err
			}
		}
		category, err := addForum(c, forum{kind: "category", title: "General", slug: "general", open: true, allowThreads: true, allowReplies: true})
		if err != nil {
			return err
		}
		if _, err := addForum(c, forum{parent: category, kind: "forum", title: "Discussion", slug: "discussion", open: true, allowThreads: true, allowReplies: true}); err != nil {
			return err
		}
		return rights.BumpPermissions(c)
	})
	return secret, err
}

// addForum adds a forum behind its siblings, unless it has a position.
func addForum(c store.Conn, f forum) (id int64, err error) {
	path, depth := "", int64(0)
	if f.parent != 0 {
		if err := c.Row("SELECT path, depth + 1 FROM board_forums WHERE id = ?", f.parent).Scan(&path, &depth); err != nil {
			return 0, err
		}
	}
	if f.position == 0 {
		if err := c.Row("SELECT COALESCE(max(position), 0) + 1 FROM board_forums WHERE COALESCE(parent_id, 0) = ?", f.parent).Scan(&f.position); err != nil {
			return 0, err
		}
	}
	err = c.Row("INSERT INTO board_forums (parent_id, path, depth, position, type, title, slug, description, link_url, is_open, allow_threads, allow_replies,"+
		" moderate_threads, moderate_posts, requires_prefix, flood_seconds, min_words, max_words) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
		kernel.Null(f.parent), path, depth, f.position, f.kind, f.title, f.slug, f.description, f.link, kernel.Bool(f.open), kernel.Bool(f.allowThreads), kernel.Bool(f.allowReplies),
		kernel.Bool(f.moderateThreads), kernel.Bool(f.moderatePosts), kernel.Bool(f.requiresPrefix), f.floodSeconds, kernel.Null(f.minWords), kernel.Null(f.maxWords)).Scan(&id)
	if err != nil {
		return 0, err
	}
	_, err = c.Exec("UPDATE board_forums SET path = ? WHERE id = ?", path+"/"+kernel.Itoa(id), id)
	return id, err
}

// Init makes the administrator and returns a password to show once. A board
// that has one stays as it is; the password is empty then.
func (s *Service) Init(ctx context.Context, name, email string) (once string, err error) {
	if _, err := s.setup(ctx); err != nil {
		return "", err
	}
	address, emailErr := checkEmail(email)
	if err := apierror.Join(checkName(name), emailErr); err != nil {
		return "", err
	}
	generated := password.Generate()
	hash, err := s.Options.Passwords.Hash(ctx, generated)
	if err != nil {
		return "", err
	}
	err = s.Write(ctx, func(c store.Conn) error {
		once = ""
		var admins int
		err := c.Row("SELECT count(*) FROM board_user_groups m JOIN board_groups g ON g.id = m.group_id WHERE g.name = 'administrators'").Scan(&admins)
		if err != nil || admins > 0 {
			return err
		}
		once = generated
		return addUser(c, newUser{name: name, email: address, password: hash, groups: []string{"registered", "administrators"}, mayClash: true, now: s.Micros()})
	})
	return once, err
}

// newUser is a member to be added.
type newUser struct {
	name, email string
	confirmed   bool   // mails go to email
	password    string // hash; empty: none
	state       string // default: active
	groups      []string
	moderated   bool
	posts       int64 // counted before
	mayClash    bool  // the name may look like another's
	now         int64
}

func addUser(c store.Conn, u newUser) error {
	_, err := addMember(c, u)
	return err
}

func addMember(c store.Conn, u newUser) (id int64, err error) {
	if u.state == "" {
		u.state = "active"
	}
	var key any
	if u.email != "" {
		key = mailaddress.Key(u.email)
	}
	err = c.Row("INSERT INTO board_users (username, username_key, email, email_key, email_confirmed, password_hash, state, moderated, post_count, joined_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
		text.Normal(u.name), text.Fold(u.name), u.email, key, kernel.Bool(u.confirmed && u.email != ""), u.password, u.state, kernel.Bool(u.moderated), u.posts, u.now).Scan(&id)
	if err != nil {
		return 0, err
	}
	if _, err := addNames(c, id, text.Normal(u.name), u.mayClash); err != nil {
		return 0, err
	}
	if err := countPosts(c, id, 0, u.posts); err != nil {
		return 0, err
	}
	for _, name := range u.groups {
		n, err := c.Exec("INSERT INTO board_user_groups (user_id, group_id) SELECT ?, id FROM board_groups WHERE name = ?", id, name)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			return 0, errors.New("there is no group " + name)
		}
	}
	return id, rights.BumpPermissions(c)
}
