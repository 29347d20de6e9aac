package accounts

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
	"github.com/tollgate-gateway/tollgate/internal/username"
)

const (
	// SettingNames is the row of board_settings that records the progress of FillNames: the id of the last member whose
	// name is in the table board_names.
	SettingNames = "names_filled"
	// NamesAll is the value of SettingNames once all names are in the table.
	NamesAll = "all"

	// NamesBatch is the number of names that are added in one transaction.
	NamesBatch  = 500
	namesLogged = 100 // the maximum number of clashes that one run logs
)

// CheckName returns an error if a name is too short, too long, or has characters that would disturb pages.
func CheckName(name string) error {
	switch n := utf8.RuneCountInString(text.Normal(name)); {
	case n < 2 || n > 40:
		return kernel.Invalid("username", "length", "a name has 2 to 40 characters")
	case !text.IsLine(name) || strings.ContainsAny(name, "<>\"'&@/\\"):
		return kernel.Invalid("username", "characters", "a name must not have control characters or the characters"+
			" < > \" ' & @ / \\")
	}
	return nil
}

// checkNewName works like CheckName, and also refuses a name that is reserved or that readers could confuse with
// another name.
func checkNewName(s *kernel.Settings, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	name = text.Normal(name)
	err := username.Check(name)
	if err == nil {
		err = username.NewReserved(append(strings.Split(s.ReservedNames, "\n"), username.Common...)...).Check(name)
	}
	if refusal, ok := errors.AsType[*username.Error](err); ok {
		return kernel.Invalid("username", refusal.Reason, refusal.Message)
	}
	return err
}

// checkNameFree returns an error of Invalid if another member has the name or a name that looks like it.
func checkNameFree(c store.Conn, name string) error {
	var same, alike int // the numbers of members with the same name, and with a name that looks like it
	if err := c.Row("SELECT count(*) FROM board_users WHERE username_key = ?", text.Fold(name)).Scan(&same); err != nil {
		return err
	}
	keys := username.Keys(name)
	err := c.Row("SELECT count(*) FROM board_names WHERE clashes = 0 AND skeleton IN ("+kernel.Marks(len(keys))+")",
		kernel.Args(keys)...).Scan(&alike)
	switch {
	case err != nil:
		return err
	case same > 0:
		return kernel.Invalid("username", "taken", "this name is taken")
	case alike > 0:
		return kernel.Invalid("username", "alike", "this name looks like that of another member")
	}
	return nil
}

// addNames stores the keys of a member's name. Names that look the same have a key in common (see package username).
// If another member has a name that looks the same, addNames returns a unique violation. If mayClash is set, addNames
// stores the name nevertheless, and clashes reports whether the name looks the same as another name.
func addNames(c store.Conn, user int64, name string, mayClash bool) (clashes bool, err error) {
	for _, key := range username.Keys(name) {
		clash := "0"
		args := []any{user, key}
		if mayClash {
			clash = "CASE WHEN EXISTS (SELECT 1 FROM board_names WHERE skeleton = ? AND clashes = 0 AND user_id <> ?) THEN 1" +
				" ELSE 0 END"
			args = append(args, key, user)
		}
		var clashed int
		// Without a WHERE clause, SQLite may take ON CONFLICT for the condition of a join.
		err := c.Row("INSERT INTO board_names (user_id, skeleton, clashes) SELECT CAST(? AS BIGINT), CAST(? AS TEXT), "+clash+
			" WHERE 1 = 1 ON CONFLICT (user_id, skeleton) DO UPDATE SET clashes = board_names.clashes RETURNING clashes",
			args...).Scan(&clashed)
		if err != nil {
			return false, err
		}
		clashes = clashes || clashed != 0
	}
	return clashes, nil
}

// FreeNames removes the names of a member from board_names. If a removed name looked the same as the names of other
// members, the other member with the lowest id then has the name without a clash.
func FreeNames(c store.Conn, user int64) error {
	var keys []any // of names that did not clash
	err := c.All("DELETE FROM board_names WHERE user_id = ? RETURNING skeleton, clashes",
		[]any{user}, func(r store.Row) error {
			var key string
			var clashed bool
			err := r.Scan(&key, &clashed)
			if !clashed {
				keys = append(keys, key)
			}
			return err
		})
	if err != nil {
		return err
	}
	for _, key := range keys {
		if _, err := c.Exec("UPDATE board_names SET clashes = 0 WHERE skeleton = ? AND user_id = (SELECT min(user_id)"+
			" FROM board_names WHERE skeleton = ? AND clashes = 1)", key, key); err != nil {
			return err
		}
	}
	return nil
}

// checkNamesFilled returns an error with status 503 until FillNames has stored the names of all members. Before that,
// new names cannot be compared with them.
func checkNamesFilled(c store.Conn) error {
	done, err := kernel.StoredSetting(c, SettingNames)
	if err == nil && done != NamesAll {
		err = &apierror.Error{
			Status: http.StatusServiceUnavailable, Code: "overloaded", RetryAfter: time.Minute,
			Message: "the board is preparing the list of its members' names and takes no new members meanwhile; try again in a" +
				" minute",
		}
	}
	return err
}

// FillNames stores the keys of names for members who joined before the board stored such keys, and logs names that look
// alike. It continues where an earlier call, on this or another node, ended. It returns the number of stored names,
// even if it also returns an error.
func (s *Service) FillNames(ctx context.Context) (done int, err error) {
	state, err := kernel.Value(ctx, s.Read, func(c store.Conn) (string, error) {
		return kernel.StoredSetting(c, SettingNames)
	})
	if err != nil || state == NamesAll {
		return 0, err
	}
	for clashes := 0; ; {
		batch, err := kernel.Value(ctx, s.Write, fillNames)
		if err != nil || len(batch) == 0 {
			return done, err
		}
		done += len(batch)
		for _, m := range batch {
			if !m.clashes {
				continue
			}
			if clashes++; clashes <= namesLogged {
				s.Logger.Warn("the name of a member looks like the name of another member; the page /admin/names lists all",
					zap.Int64("member", m.id), zap.String("name", m.name))
			}
		}
	}
}

// namedMember is a member for whose name fillNames has stored a key.
type namedMember struct {
	id      int64
	name    string
	clashes bool
}

// fillNames stores the keys of names for the next batch of members and returns these members. Names that look alike
// are found by these keys. An empty batch means that no members are left. fillNames locks the row of SettingNames, so
// that no other node stores the same batch.
func fillNames(c store.Conn) (batch []namedMember, err error) {
	state, err := kernel.LockSetting(c, SettingNames)
	if err != nil || state == NamesAll {
		return nil, err
	}
	last, err := strconv.ParseInt(state, 10, 64)
	if err != nil {
		return nil, kernel.Wrap("the setting "+SettingNames, err)
	}
	// The key of a deleted member who was never admitted begins with @. Such a member has no name any more and is left
	// out.
	batch, err = store.List(c, func(r store.Row) (m namedMember, err error) {
		return m, r.Scan(&m.id, &m.name)
	}, "SELECT id, username FROM board_users WHERE id > ? AND username_key NOT LIKE '@%' ORDER BY id LIMIT ?", last,
		NamesBatch)
	if err != nil {
		return nil, err
	}
	progress := NamesAll
	for i := range batch {
		m := &batch[i]
		if m.clashes, err = addNames(c, m.id, m.name, true); err != nil {
			return nil, err
		}
		progress = kernel.Itoa(m.id)
	}
	_, err = c.Exec("UPDATE board_settings SET value = ? WHERE name = ?", progress, SettingNames)
	return batch, err
}
