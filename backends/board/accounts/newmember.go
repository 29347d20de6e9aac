package accounts

import (
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// NewUser is a member to be added.
type NewUser struct {
	Name, Email string
	Confirmed   bool   // mails go to email
	Password    string // hash; empty: none
	State       string // default: active
	Groups      []string
	Moderated   bool
	Posts       int64 // counted before
	MayClash    bool  // the name may look like another's
	Now         kernel.Moment
}

// AddUser adds a member to the database.
func AddUser(c store.Conn, u NewUser) error {
	_, err := addMember(c, u)
	return err
}

func addMember(c store.Conn, u NewUser) (id int64, err error) {
	if u.State == "" {
		u.State = "active"
	}
	var key any
	if u.Email != "" {
		key = mailaddress.Key(u.Email)
	}
	err = c.Row("INSERT INTO board_users (username, username_key, email, email_key, email_confirmed, password_hash,"+
		" state, moderated, post_count, joined_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
		text.Normal(u.Name), text.Fold(u.Name), u.Email, key, kernel.Bool(u.Confirmed && u.Email != ""), u.Password, u.State,
		kernel.Bool(u.Moderated), u.Posts, u.Now).Scan(&id)
	if err != nil {
		return 0, err
	}
	if _, err := addNames(c, id, text.Normal(u.Name), u.MayClash); err != nil {
		return 0, err
	}
	if err := content.CountPosts(c, id, 0, u.Posts); err != nil {
		return 0, err
	}
	for _, name := range u.Groups {
		n, err := c.Exec("INSERT INTO board_user_groups (user_id, group_id) SELECT ?, id FROM board_groups WHERE name = ?",
			id, name)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			return 0, errors.New("there is no group " + name)
		}
	}
	return id, rights.BumpPermissions(c)
}
