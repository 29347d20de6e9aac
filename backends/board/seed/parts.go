package seed

import (
	"database/sql"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// maskOf converts words to a mask of rights or restrictions. names maps words to bits. In rights, the word * means all
// rights; in restrictions it is unknown.
func maskOf(words []string, names map[string]rights.Mask) (mask rights.Mask, err error) {
	for _, word := range words {
		if word == "*" && names["admin.access"] != 0 {
			mask |= rights.Everything
			continue
		}
		bit := names[word]
		if bits.OnesCount64(uint64(bit)) != 1 {
			return 0, fmt.Errorf("unknown right or restriction %q", word)
		}
		mask |= bit
	}
	return mask, nil
}

// group adds a group, unless a group of this name exists.
func (sd *seeder) group(c store.Conn, g SeedGroup) error {
	allow, err := maskOf(g.Allow, rights.MaskNames)
	if err != nil {
		return err
	}
	restrict, err := maskOf(g.Restrict, rights.RestrictNames)
	if err != nil {
		return err
	}
	window := int64(1440)
	if g.EditWindow != nil {
		window = *g.EditWindow
	}
	_, err = c.Exec("INSERT INTO board_groups (name, kind, allow_mask, restrict_mask, edit_window_min, max_posts_per_day)"+
		" VALUES (?, 'custom', ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING",
		g.Name, allow, restrict, window, g.PostsPerDay)
	return err
}

// user adds a member, unless a member of this name exists.
func (sd *seeder) user(c store.Conn, u SeedUser) error {
	if err := accounts.CheckName(u.Name); err != nil {
		return err
	}
	if u.State != "" && !slices.Contains(rights.States, u.State) {
		return fmt.Errorf("%s has the unknown state %q; known states: %s", u.Name, u.State, strings.Join(rights.States, ", "))
	}
	var id int64
	err := c.Row("SELECT id FROM board_users WHERE username_key = ?", text.Fold(u.Name)).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) { // nil if the member exists
		return err
	}
	add := accounts.NewUser{
		Name: u.Name, Email: u.Email, Confirmed: u.Confirmed, State: u.State, Groups: u.Groups,
		Moderated: u.Moderated, Posts: u.Posts, MayClash: true, Now: sd.service.Moment(),
	}
	if len(add.Groups) == 0 {
		add.Groups = []string{"registered"}
	}
	if u.Email != "" {
		if add.Email, err = accounts.CheckEmail(u.Email); err != nil {
			return kernel.Wrap("the mail address of "+u.Name, err)
		}
	}
	if !u.JoinedAt.IsZero() {
		add.Now = kernel.MomentOf(u.JoinedAt)
	}
	if u.Password != "" {
		if add.Password, err = sd.service.Options.Passwords.Hash(sd.ctx, u.Password); err != nil {
			return err
		}
	}
	if id, err = accounts.AddUser(c, add); err != nil || u.Title+u.Bio == "" {
		return err
	}
	_, err = c.Exec("UPDATE board_users SET title = ?, bio = ? WHERE id = ?", text.Normal(u.Title), text.Normal(u.Bio), id)
	return err
}

// find returns the id of the row with this name, which statement selects. It returns 0 for an empty name, and an error
// for a name that does not exist. kind says in that error what the rows are, such as "forum".
func find(c store.Conn, kind, statement, name string) (id int64, err error) {
	if name == "" {
		return 0, nil
	}
	if err = c.Row(statement, name).Scan(&id); errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("there is no %s %q", kind, name)
	}
	return id, err
}

// forumNamed returns the id of the forum with this slug, or 0 for an empty slug.
func forumNamed(c store.Conn, slug string) (int64, error) {
	return find(c, "forum", "SELECT id FROM board_forums WHERE slug = ?", slug)
}

// forum adds a forum, unless a forum with this slug exists.
func (sd *seeder) forum(c store.Conn, f SeedForum) error {
	parent, err := forumNamed(c, f.Parent)
	if err != nil {
		return err
	}
	if id, err := forumNamed(c, f.Slug); err == nil && id != 0 { // the forum exists
		return nil
	}
	if f.Type == "" {
		f.Type = "forum"
	}
	if f.Type != "forum" && f.Type != "category" && f.Type != "link" {
		return fmt.Errorf("unknown type %q; it must be forum, category or link", f.Type)
	}
	_, err = content.AddForum(c, f.row(parent))
	return err
}

// row converts the forum to a row of board_forums. parent is the id of its parent, or 0.
func (f *SeedForum) row(parent int64) content.Forum {
	row := content.Forum{
		Parent: parent, Kind: f.Type, Title: f.Title, Slug: f.Slug, Description: f.Description, Open: !f.Closed,
		AllowThreads: true, AllowReplies: true,
		ModerateThreads: f.ModerateThreads, ModeratePosts: f.ModeratePosts, RequiresPrefix: f.RequiresPrefix,
		Answers: f.Answers, MinWords: f.MinWords, MaxWords: f.MaxWords,
	}
	if f.LinkURL != nil {
		row.Link = sql.NullString{String: *f.LinkURL, Valid: true}
	}
	if f.FloodSeconds != nil {
		row.FloodSeconds = sql.NullInt64{Int64: *f.FloodSeconds, Valid: true}
	}
	return row
}

// override sets the rights of a group in a forum.
func (sd *seeder) override(c store.Conn, o SeedOverride) error {
	forum, err := forumNamed(c, o.Forum)
	if err != nil {
		return err
	}
	group, err := find(c, "group", "SELECT id FROM board_groups WHERE name = ?", o.Group)
	if err != nil {
		return err
	}
	allow, err := maskOf(o.Allow, rights.MaskNames)
	if err != nil {
		return err
	}
	deny, err := maskOf(o.Deny, rights.MaskNames)
	if err != nil {
		return err
	}
	_, err = c.Exec("INSERT INTO board_forum_overrides (forum_id, group_id, set_mask, clear_mask) VALUES (?, ?, ?, ?)"+
		" ON CONFLICT (forum_id, group_id) DO UPDATE SET set_mask = excluded.set_mask, clear_mask = excluded.clear_mask",
		forum, group, allow, deny)
	return err
}

// moderator gives a member or a group rights in a forum.
func (sd *seeder) moderator(c store.Conn, m SeedModerator) error {
	forum, err := forumNamed(c, m.Forum)
	if err != nil {
		return err
	}
	user, err := find(c, "user", "SELECT id FROM board_users WHERE username_key = ?", text.Fold(m.User))
	if err != nil {
		return err
	}
	group, err := find(c, "group", "SELECT id FROM board_groups WHERE name = ?", m.Group)
	if err != nil {
		return err
	}
	mask, err := maskOf(m.Rights, rights.MaskNames)
	if err != nil {
		return err
	}
	_, err = c.Exec("INSERT INTO board_forum_moderators (forum_id, user_id, group_id, rights_mask, cascades)"+
		" VALUES (?, ?, ?, ?, ?)", forum, kernel.Null(user), kernel.Null(group), mask, kernel.Bool(m.Cascades))
	return err
}

// prefix adds a prefix, unless a prefix with this label exists, and the forums that offer the prefix.
func (sd *seeder) prefix(c store.Conn, p SeedPrefix) error {
	var id int64
	err := c.Row("INSERT INTO board_prefixes (label, position) VALUES (?, (SELECT count(*) FROM board_prefixes))"+
		" ON CONFLICT (label) DO UPDATE SET label = excluded.label RETURNING id", p.Label).Scan(&id)
	if err != nil {
		return err
	}
	for _, name := range p.Forums {
		forum, err := forumNamed(c, name)
		if err != nil {
			return err
		}
		if _, err := c.Exec("INSERT INTO board_prefix_forums (forum_id, prefix_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
			forum, id); err != nil {
			return err
		}
	}
	return nil
}

// token creates a token and records the token's text, which LoadFixture returns.
func (sd *seeder) token(c store.Conn, t SeedToken) error {
	scopes := rights.Scopes
	if len(t.Scopes) > 0 {
		scopes = rights.ScopesOf(t.Scopes)
		if len(scopes) != len(t.Scopes) {
			return fmt.Errorf("a scope is unknown or repeated; known scopes: %s", strings.Join(rights.Scopes, ", "))
		}
	}
	text, err := sd.service.accounts.Issue(c, accounts.TokenRequest{User: t.User, Days: t.Days}, t.Name, scopes)
	sd.uncommitted = append(sd.uncommitted, MadeToken{t.User, t.Name, text})
	return err
}
