package board

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/moving"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// setup fills an empty database with the built-in groups, a category with a forum, and the board's secret, which it
// returns in hexadecimal. If the database has a secret already, setup returns it and changes nothing. If another node
// sets up the board at the same time, the error is a unique violation; setup may then be called again.
func (s *Server) setup(ctx context.Context) (secret string, err error) {
	secret, err = kernel.Value(ctx, s.kernel.Read, func(c store.Conn) (string, error) {
		return kernel.StoredSetting(c, kernel.SettingSecret)
	})
	if err != nil || secret != "" {
		return secret, err
	}
	err = s.kernel.Write(ctx, func(c store.Conn) (err error) {
		if secret, err = kernel.StoredSetting(c, kernel.SettingSecret); err != nil || secret != "" {
			return err
		}
		key := make([]byte, 32)
		_, _ = rand.Read(key) // never fails
		secret = hex.EncodeToString(key)
		_, err = c.Exec("INSERT INTO board_settings (name, value) VALUES (?, ?), (?, ?), (?, ?)",
			kernel.SettingSecret, secret, accounts.SettingNames, accounts.NamesAll, search.SettingIndexed, search.IndexedAll)
		if err != nil {
			return err
		}
		const editWindow = 24 * 60 // minutes
		for _, g := range []rights.Group{
			{Name: "guest", Kind: "guest", Allow: rights.GuestMask, EditWindow: editWindow},
			{Name: "registered", Kind: "registered", Allow: rights.RegisteredMask, EditWindow: editWindow},
			{Name: "moderators", Kind: "staff", Allow: rights.ModeratorMask},
			{Name: "administrators", Kind: "staff", Allow: rights.Everything},
		} {
			_, err := c.Exec("INSERT INTO board_groups (name, kind, allow_mask, edit_window_min) VALUES (?, ?, ?, ?)",
				g.Name, g.Kind, g.Allow, g.EditWindow)
			if err != nil {
				return err
			}
		}
		category, err := content.AddForum(c, content.Forum{
			Kind: "category", Title: "General", Slug: "general", Open: true,
			AllowThreads: true, AllowReplies: true,
		})
		if err != nil {
			return err
		}
		if _, err := content.AddForum(c, content.Forum{
			Parent: category, Kind: "forum", Title: "Discussion",
			Slug: "discussion", Open: true, AllowThreads: true, AllowReplies: true,
		}); err != nil {
			return err
		}
		return rights.BumpPermissions(c)
	})
	return secret, err
}

// Init sets up an empty database and creates the first administrator with the given name and mail address. It returns a
// generated password, of which only a hash is stored. If the board has an administrator already, Init returns an empty
// password and creates nobody.
func (s *Server) Init(ctx context.Context, name, email string) (newPassword string, err error) {
	if _, err := s.setup(ctx); err != nil {
		return "", err
	}
	address, emailErr := accounts.CheckEmail(email)
	if err := apierror.Join(accounts.CheckName(name), emailErr); err != nil {
		return "", err
	}
	generated := password.Generate()
	hash, err := s.kernel.Options.Passwords.Hash(ctx, generated)
	if err != nil {
		return "", err
	}
	return kernel.Value(ctx, s.kernel.Write, func(c store.Conn) (string, error) {
		var admins int
		err := c.Row("SELECT count(*) FROM board_user_groups m JOIN board_groups g ON g.id = m.group_id" +
			" WHERE g.name = 'administrators'").Scan(&admins)
		if err != nil || admins > 0 {
			return "", err
		}
		_, err = accounts.AddUser(c, accounts.NewUser{
			Name: name, Email: address, Password: hash,
			Groups: []string{"registered", "administrators"}, MayClash: true, Now: s.kernel.Moment(),
		})
		return generated, err
	})
}

// Seed loads a fixture into the board; see seed.Service.LoadFixture. It first sets up an empty database.
func (s *Server) Seed(ctx context.Context, r io.Reader, o seed.Options) (tokens []seed.MadeToken, err error) {
	if _, err := s.setup(ctx); err != nil {
		return nil, err
	}
	return s.seeds.LoadFixture(ctx, r, o)
}

// Import imports the forum of another program into the board; see moving.Import. It first sets up an empty database. It
// returns the report even if it also returns an error.
func (s *Server) Import(ctx context.Context, o moving.Options) (*moving.Report, error) {
	if _, err := s.setup(ctx); err != nil {
		return nil, err
	}
	return moving.Import(ctx, o, s.seeds.LoadMoved)
}
