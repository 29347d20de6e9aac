package accounts

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Named returns the account with the given name, ignoring case.
func (a *Accounts) Named(ctx context.Context, name string) (*Account, error) {
	return a.read(ctx, "name = ?", fold(name))
}

// Account returns the account with the given ID.
func (a *Accounts) Account(ctx context.Context, id int64) (*Account, error) {
	return a.read(ctx, "id = ?", id)
}

// List returns up to limit accounts (1 to 500) with IDs greater than afterID, ordered by ID. The guest's account is
// included.
func (a *Accounts) List(ctx context.Context, afterID int64, limit int) (list []*Account, err error) {
	err = a.Read(ctx, func(c kernel.Conn) error {
		list, err = accounts(c, "id > ? ORDER BY id LIMIT ?", afterID, min(max(limit, 1), 500))
		return err
	})
	return list, err
}

// Query selects and orders accounts.
type Query struct {
	Text   string // prefix of the name, or a whole mail address
	Role   string // name of a role; empty for any
	Status string // empty for any
	// Newest orders accounts by creation, newest first, instead of by name. It is ignored if Text or Role is set. A
	// query with Role, but without Text, orders accounts by creation, oldest first.
	Newest bool
	After  string // the result next of Find for the previous part of the list; empty for the first part
	Limit  int    // from 1 to 500
}

// Find returns the accounts that match a query, including the guest's, and the value of Query.After for the next part
// of the list. next is empty at the end of the list.
func (a *Accounts) Find(ctx context.Context, q Query) (list []*Account, next string, err error) {
	limit := min(max(q.Limit, 1), 500)
	// The cursor of a list ordered by name is the last name; of any other list, it is the last ID.
	conditions, order := "1 = 1", "name"
	var args []any
	add := func(condition string, values ...any) {
		conditions += " AND " + condition
		args = append(args, values...)
	}
	lastID, _ := strconv.ParseInt(q.After, 10, 64) // only for a list ordered by ID; 0 for its first part
	const roleCondition = "role_id = (SELECT id FROM cms_roles WHERE name = ?)"
	switch text := fold(q.Text); {
	case strings.Contains(text, "@"): // no name contains this character
		add("email_key = ?", mailaddress.Key(text))
	case text != "":
		add("name >= ? AND name < ?", text, text+"\U0010ffff")
	case q.Role != "": // one page at a time from the index of the role
		order = "id"
		query := "SELECT r.user_id FROM cms_user_roles r JOIN cms_users s ON s.id = r.user_id WHERE r." + roleCondition +
			" AND r.user_id > ?"
		values := []any{fold(q.Role), lastID}
		if q.Status != "" {
			query += " AND s.status = ?"
			values = append(values, fold(q.Status))
		}
		add("id IN ("+query+" ORDER BY r.user_id LIMIT ?)", append(values, limit+1)...)
	case q.Newest:
		order = "id DESC"
		if lastID == 0 {
			lastID = math.MaxInt64
		}
		add("id < ?", lastID)
	}
	if q.Role != "" && order == "name" {
		add("EXISTS (SELECT 1 FROM cms_user_roles WHERE user_id = cms_users.id AND "+roleCondition+")", fold(q.Role))
	}
	if q.Status != "" && order != "id" { // the list of a role's users has checked it already
		add("status = ?", fold(q.Status))
	}
	if order == "name" {
		add("name > ?", fold(q.After))
	}
	err = a.Read(ctx, func(c kernel.Conn) error {
		list, err = accounts(c, conditions+" ORDER BY "+order+" LIMIT ?", append(slices.Clip(args), limit+1)...)
		return err
	})
	list, next = store.CutAt(list, limit, func(u *Account) string {
		if order == "name" {
			return u.Name
		}
		return strconv.FormatInt(u.ID, 10)
	})
	return list, next, err
}

// read returns the account that meets the SQL condition with the argument arg.
func (a *Accounts) read(ctx context.Context, condition string, arg any) (account *Account, err error) {
	err = a.Read(ctx, func(c kernel.Conn) error {
		account, err = first(accounts(c, condition, arg))
		return err
	})
	return account, err
}

// accounts returns the accounts, with their roles, that meet the SQL condition with the arguments args.
func accounts(c kernel.Conn, condition string, args ...any) ([]*Account, error) {
	list, err := store.List(c, func(r store.Row) (*Account, error) {
		u := &Account{Roles: []string{}}
		return u, r.Scan(&u.ID, &u.Name, &u.Email, &u.Status, &u.Created, &u.Modified, &u.Epoch)
	}, "SELECT id, name, email, status, created, modified, epoch FROM cms_users WHERE "+condition, args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	byID, ids := make(map[int64]*Account, len(list)), make([]any, len(list))
	for i, u := range list {
		byID[u.ID], ids[i] = u, u.ID
	}
	err = c.All(`SELECT ur.user_id, r.name FROM cms_user_roles ur JOIN cms_roles r ON r.id = ur.role_id
		WHERE ur.user_id IN (?`+strings.Repeat(", ?", len(ids)-1)+") ORDER BY r.name", ids, func(r store.Row) error {
		var id int64
		var role string
		err := r.Scan(&id, &role)
		byID[id].Roles = append(byID[id].Roles, role)
		return err
	})
	return list, err
}

// first returns the first account of a list, or a not-found error if the list is empty. It returns err if that is not
// nil.
func first(list []*Account, err error) (*Account, error) {
	if err == nil && len(list) == 0 {
		return nil, kernel.NotFound("user")
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}
