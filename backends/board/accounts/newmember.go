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

// NewUser describes a member to be added.
type NewUser struct {
	Name, Email string
	Confirmed   bool   // the owner of Email has confirmed it
	Password    string // its hash; empty means that the member has no password
	State       string // empty means active
	Groups      []string
	Moderated   bool
	Posts       int64 // added to the post count, such as posts on another board
	MayClash    bool  // the name may look like that of another member
	Now         kernel.Moment
}

// AddUser adds a member to the database. The error is a unique violation if the name or the mail address is taken.
func AddUser(c store.Conn, u NewUser) error {
	_, err := addMember(c, u)
	return err
}

// addMember works like AddUser and returns the id of the member.
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
