package board

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"time"
)

// Seed loads a fixture, see Fixture, for demos and tests. It reads as a stream:
// a fixture may be larger than memory. progress is called now and then; what it
// returns are the tokens made, by name.
//
// What is there already (a user, a group, a forum of the same name) is kept,
// so that names may refer to it; threads are always added.
func (s *Service) Seed(ctx context.Context, from io.Reader, progress func(part string, done int)) (tokens map[string]string, err error) {
	if _, err := s.setup(ctx); err != nil {
		return nil, err
	}
	sd := &seeder{service: s, ctx: ctx, progress: progress, users: make(map[string]*author), forums: make(map[string]int64), tokens: make(map[string]string)}
	d := json.NewDecoder(from)
	d.DisallowUnknownFields()
	if err := expect(d, '{'); err != nil {
		return nil, err
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, wrap("the fixture", err)
		}
		if err := sd.part(d, token.(string)); err != nil {
			return nil, fmt.Errorf("%s: %w", token, err)
		}
	}
	return sd.tokens, expect(d, '}')
}

// Fixture documents what Seed reads: one JSON object whose members come in this
// order, each optional. Names refer to members before.
type Fixture struct {
	Groups    []SeedGroup     `json:"groups"`
	Users     []SeedUser      `json:"users"`
	Forums    []SeedForum     `json:"forums"`
	Overrides []SeedOverride  `json:"overrides"`
	Mods      []SeedModerator `json:"moderators"`
	Prefixes  []SeedPrefix    `json:"prefixes"`
	Threads   []SeedThread    `json:"threads"`
	Tokens    []SeedToken     `json:"tokens"`
}

// SeedGroup is a group; rights are the words of the permission masks.
type SeedGroup struct {
	Name        string   `json:"name"`
	Allow       []string `json:"allow"`
	Restrict    []string `json:"restrict"`
	EditWindow  *int64   `json:"editWindowMinutes"` // default 1440; 0: no limit
	PostsPerDay int64    `json:"postsPerDay"`
}

// SeedUser is a member.
type SeedUser struct {
	Name      string   `json:"name"`
	Email     string   `json:"email"`
	Password  string   `json:"password"` // empty: none
	Groups    []string `json:"groups"`   // default: registered
	State     string   `json:"state"`    // default: active
	Moderated bool     `json:"moderated"`
	Posts     int64    `json:"posts"` // counted as posted before
}

// SeedForum is a forum, category or link.
type SeedForum struct {
	Slug            string  `json:"slug"`
	Title           string  `json:"title"`
	Parent          string  `json:"parent"` // slug; empty: a root
	Type            string  `json:"type"`   // default: forum
	Description     string  `json:"description"`
	LinkURL         *string `json:"linkUrl"`
	Closed          bool    `json:"closed"`
	ModerateThreads bool    `json:"moderateThreads"`
	ModeratePosts   bool    `json:"moderatePosts"`
	RequiresPrefix  bool    `json:"requiresPrefix"`
	FloodSeconds    *int64  `json:"floodSeconds"`
	MinWords        int64   `json:"minWords"`
	MaxWords        int64   `json:"maxWords"`
}

// SeedOverride changes the rights of a group in a forum and those below.
type SeedOverride struct {
	Forum string   `json:"forum"`
	Group string   `json:"group"`
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

// SeedModerator gives a member or a group rights in a forum.
type SeedModerator struct {
	Forum    string   `json:"forum"`
	User     string   `json:"user"`
	Group    string   `json:"group"`
	Rights   []string `json:"rights"`
	Cascades bool     `json:"cascades"`
}

// SeedPrefix is a prefix of threads and the forums that offer it.
type SeedPrefix struct {
	Label  string   `json:"label"`
	Forums []string `json:"forums"`
}

// SeedThread is a thread with its posts, the first one first.
type SeedThread struct {
	Forum  string     `json:"forum"`
	Title  string     `json:"title"`
	Sticky bool       `json:"sticky"`
	Locked bool       `json:"locked"`
	Posts  []SeedPost `json:"posts"`
}

// SeedPost is a post.
type SeedPost struct {
	Author     string    `json:"author"`
	Message    string    `json:"message"`
	At         time.Time `json:"at"`         // default: now
	Visibility string    `json:"visibility"` // visible, unapproved or deleted; default: visible
}

// SeedToken is a token to be made.
type SeedToken struct {
	User   string   `json:"user"`
	Name   string   `json:"name"`
	Scopes []string `json:"scopes"` // default: all
	Days   int      `json:"days"`   // 0: for ever
}

const (
	seedBatch    = 200 // elements in one transaction
	maxSeedPosts = 100_000
)

type seeder struct {
	service  *Service
	ctx      context.Context //nolint:containedctx // a seeder is one run
	progress func(part string, done int)
	users    map[string]*author
	forums   map[string]int64
	tokens   map[string]string
}

type author struct {
	id   int64
	name string
}

func expect(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err != nil {
		return wrap("the fixture", err)
	}
	if token != want {
		return fmt.Errorf("the fixture: expected %q at byte %d", want, d.InputOffset())
	}
	return nil
}

func (sd *seeder) part(d *json.Decoder, name string) error {
	switch name {
	case "groups":
		return stream(sd, d, name, sd.group)
	case "users":
		return stream(sd, d, name, sd.user)
	case "forums":
		return stream(sd, d, name, sd.forum)
	case "overrides":
		return stream(sd, d, name, sd.override)
	case "moderators":
		return stream(sd, d, name, sd.moderator)
	case "prefixes":
		return stream(sd, d, name, sd.prefix)
	case "threads":
		return stream(sd, d, name, sd.thread)
	case "tokens":
		return stream(sd, d, name, sd.token)
	}
	return errors.New("there is no such part of a fixture")
}

// stream reads an array and adds its elements in batches.
func stream[T any](sd *seeder, d *json.Decoder, name string, add func(c conn, element T) error) error {
	if err := expect(d, '['); err != nil {
		return err
	}
	done := 0
	for d.More() {
		var batch []T
		for d.More() && len(batch) < seedBatch {
			var element T
			if err := d.Decode(&element); err != nil {
				return fmt.Errorf("element %d: %w", done+len(batch)+1, err)
			}
			batch = append(batch, element)
		}
		err := sd.service.write(sd.ctx, func(c conn) error {
			for i, element := range batch {
				if err := add(c, element); err != nil {
					return fmt.Errorf("element %d: %w", done+i+1, err)
				}
			}
			return bumpPermissions(c)
		})
		if err != nil {
			return err
		}
		done += len(batch)
		sd.progress(name, done)
	}
	return expect(d, ']')
}

// maskOf is the mask of words.
func maskOf(words []string, names map[string]Mask) (mask Mask, err error) {
	for _, word := range words {
		if word == "*" && names["admin.access"] != 0 {
			mask |= everything
			continue
		}
		bit := names[word]
		if bits.OnesCount64(uint64(bit)) != 1 {
			return 0, fmt.Errorf("there is no right %q", word)
		}
		mask |= bit
	}
	return mask, nil
}

func (sd *seeder) group(c conn, g SeedGroup) error {
	allow, err := maskOf(g.Allow, maskNames)
	if err != nil {
		return err
	}
	restrict, err := maskOf(g.Restrict, restrictNames)
	if err != nil {
		return err
	}
	window := int64(1440)
	if g.EditWindow != nil {
		window = *g.EditWindow
	}
	_, err = c.exec("INSERT INTO board_groups (name, kind, allow_mask, restrict_mask, edit_window_min, max_posts_per_day) VALUES (?, 'custom', ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING",
		g.Name, int64(allow), int64(restrict), window, g.PostsPerDay) //nolint:gosec // 42 bits
	return err
}

func (sd *seeder) user(c conn, u SeedUser) error {
	if err := checkName(u.Name); err != nil {
		return err
	}
	var id int64
	err := c.row("SELECT id FROM board_users WHERE username_key = ?", fold(u.Name)).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	add := newUser{name: u.Name, email: u.Email, state: u.State, groups: u.Groups, moderated: u.Moderated, posts: u.Posts, now: sd.service.micros()}
	if len(add.groups) == 0 {
		add.groups = []string{"registered"}
	}
	if u.Password != "" {
		add.password = hashPassword(u.Password)
	}
	return addUser(c, add)
}

// find is the id of a row by its name; empty: 0.
func find(c conn, statement, name string) (id int64, err error) {
	if name == "" {
		return 0, nil
	}
	if err = c.row(statement, name).Scan(&id); errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("there is no %q", name)
	}
	return id, err
}

func forumNamed(c conn, name string) (int64, error) {
	return find(c, "SELECT id FROM board_forums WHERE slug = ?", name)
}

func (sd *seeder) forum(c conn, f SeedForum) error {
	parent, err := forumNamed(c, f.Parent)
	if err != nil {
		return err
	}
	if id, err := forumNamed(c, f.Slug); err == nil && id != 0 {
		return nil
	}
	if f.Type == "" {
		f.Type = "forum"
	}
	if f.Type != "forum" && f.Type != "category" && f.Type != "link" {
		return fmt.Errorf("type %q is none of forum, category, link", f.Type)
	}
	add := forum{
		parent: parent, kind: f.Type, title: f.Title, slug: f.Slug, description: f.Description, open: !f.Closed, allowThreads: true, allowReplies: true,
		moderateThreads: f.ModerateThreads, moderatePosts: f.ModeratePosts, requiresPrefix: f.RequiresPrefix, minWords: f.MinWords, maxWords: f.MaxWords,
	}
	if f.LinkURL != nil {
		add.link = sql.NullString{String: *f.LinkURL, Valid: true}
	}
	if f.FloodSeconds != nil {
		add.floodSeconds = sql.NullInt64{Int64: *f.FloodSeconds, Valid: true}
	}
	_, err = addForum(c, add)
	return err
}

func (sd *seeder) override(c conn, o SeedOverride) error {
	in, err := forumNamed(c, o.Forum)
	if err != nil {
		return err
	}
	of, err := find(c, "SELECT id FROM board_groups WHERE name = ?", o.Group)
	if err != nil {
		return err
	}
	set, err := maskOf(o.Allow, maskNames)
	if err != nil {
		return err
	}
	unset, err := maskOf(o.Deny, maskNames)
	if err != nil {
		return err
	}
	_, err = c.exec("INSERT INTO board_forum_overrides (forum_id, group_id, set_mask, clear_mask) VALUES (?, ?, ?, ?)"+
		" ON CONFLICT (forum_id, group_id) DO UPDATE SET set_mask = excluded.set_mask, clear_mask = excluded.clear_mask", in, of, int64(set), int64(unset)) //nolint:gosec // 42 bits
	return err
}

func (sd *seeder) moderator(c conn, m SeedModerator) error {
	in, err := forumNamed(c, m.Forum)
	if err != nil {
		return err
	}
	user, err := find(c, "SELECT id FROM board_users WHERE username_key = ?", fold(m.User))
	if err != nil {
		return err
	}
	of, err := find(c, "SELECT id FROM board_groups WHERE name = ?", m.Group)
	if err != nil {
		return err
	}
	mask, err := maskOf(m.Rights, maskNames)
	if err != nil {
		return err
	}
	_, err = c.exec("INSERT INTO board_forum_moderators (forum_id, user_id, group_id, rights_mask, cascades) VALUES (?, ?, ?, ?, ?)", in, null(user), null(of), int64(mask), boolean(m.Cascades)) //nolint:gosec // 42 bits
	return err
}

func (sd *seeder) prefix(c conn, p SeedPrefix) error {
	var id int64
	err := c.row("INSERT INTO board_prefixes (label, position) VALUES (?, (SELECT count(*) FROM board_prefixes))"+
		" ON CONFLICT (label) DO UPDATE SET label = excluded.label RETURNING id", p.Label).Scan(&id)
	if err != nil {
		return err
	}
	for _, name := range p.Forums {
		in, err := forumNamed(c, name)
		if err != nil {
			return err
		}
		if _, err := c.exec("INSERT INTO board_prefix_forums (forum_id, prefix_id) VALUES (?, ?) ON CONFLICT DO NOTHING", in, id); err != nil {
			return err
		}
	}
	return nil
}

func (sd *seeder) thread(c conn, st SeedThread) (err error) {
	if len(st.Posts) == 0 || len(st.Posts) > maxSeedPosts {
		return fmt.Errorf("a thread has 1 to %d posts", maxSeedPosts)
	}
	in := sd.forums[st.Forum]
	if in == 0 {
		if in, err = forumNamed(c, st.Forum); err != nil {
			return err
		}
		sd.forums[st.Forum] = in
	}
	var t *thread
	for i, sp := range st.Posts {
		by, err := sd.author(c, sp.Author)
		if err != nil {
			return err
		}
		at := sp.At.UnixMicro()
		if sp.At.IsZero() {
			at = sd.service.micros()
		}
		text, err := checkMessage(sp.Message)
		if err != nil {
			return err
		}
		w := writing{text: text, html: Render(text), hash: bodyHash(text), now: at}
		switch sp.Visibility {
		case "", "visible":
		case "unapproved", "deleted":
			w.visibility, w.held = unapproved, "seeded"
		default:
			return fmt.Errorf("there is no visibility %q", sp.Visibility)
		}
		a := &Actor{User: &User{ID: by.id, Name: by.name}}
		if i == 0 {
			if t, err = sd.start(c, st, in, by, w); err != nil {
				return err
			}
		}
		id, err := sd.service.insert(c, a, t, w)
		if err != nil {
			return err
		}
		if t, err = scanThread(c.row("SELECT "+threadColumns+" FROM board_threads t WHERE t.id = ?", t.id)); err != nil {
			return err
		}
		if sp.Visibility == "deleted" {
			p := &post{thread: t.id, id: id, number: int64(i + 1), author: by.id, visibility: unapproved}
			if err := sd.service.settle(c, t, p, deleted, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

func (sd *seeder) start(c conn, st SeedThread, in int64, by *author, w writing) (*thread, error) {
	title, err := checkTitle(st.Title)
	if err != nil {
		return nil, err
	}
	t := &thread{forum: in, title: title, author: by.id, visibility: w.visibility, created: w.now, lastAt: w.now, next: 1}
	return t, c.row("INSERT INTO board_threads (forum_id, title, slug, author_id, author_name, visibility, is_sticky, is_locked, last_poster_name, created_at, last_post_at)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
		in, title, slug(title), by.id, by.name, w.visibility, boolean(st.Sticky), boolean(st.Locked), by.name, w.now, w.now).Scan(&t.id)
}

func (sd *seeder) author(c conn, name string) (*author, error) {
	if by := sd.users[name]; by != nil {
		return by, nil
	}
	by := new(author)
	err := c.row("SELECT id, username FROM board_users WHERE username_key = ?", fold(name)).Scan(&by.id, &by.name)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("there is no user %q", name)
	}
	sd.users[name] = by
	return by, err
}

func (sd *seeder) token(c conn, t SeedToken) error {
	scopes := Scopes
	if len(t.Scopes) > 0 {
		if scopes = scopesOf(t.Scopes); len(scopes) != len(t.Scopes) {
			return errors.New("there is no such scope")
		}
	}
	text, err := sd.service.issue(c, TokenRequest{User: t.User, Days: t.Days}, t.Name, scopes)
	sd.tokens[t.Name] = text
	return err
}
