package admin

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// memberOrders maps each order of the list, except by name, to its column. Each column has an index that begins with
// the member's state.
var memberOrders = map[string]string{
	MembersNewest: "u.joined_at", MembersSeen: "COALESCE(u.last_active_at, 0)",
	MembersPosts: "u.post_count",
}

// MemberQuery selects members.
type MemberQuery struct {
	Name  string // the beginning of the name, or the mail address
	State string // empty means all
	Group int64  // 0 means all
	Sort  string // MembersNewest, MembersSeen or MembersPosts; empty means by name; ignored with a Name or Group
	After string // next from the previous page
	Limit int
}

// FindMembers lists members. next is the value of After for the next page, or empty on the last page. If the query
// has a group but no name, the members are sorted by id, that is, by the time at which they joined. This does not
// apply to the group of all registered members.
func (s *Service) FindMembers(
	ctx context.Context, a *rights.Actor, q MemberQuery,
) (list []MemberRow, next string, err error) {
	err = s.rights.ReadAsAdministrator(ctx, a, func(c store.Conn) error {
		list, next = nil, ""
		// The order of q applies only if q has neither a name nor a group.
		if column := memberOrders[q.Sort]; column != "" && q.Name == "" && q.Group == 0 {
			list, next, err = membersBy(c, column, q)
			return err
		}
		tables, conds, args := "board_users u", "TRUE", []any{}
		order, byID := "u.username_key", false // byID: the list is sorted by id instead of by name, and q.After is an id
		add := func(condition string, values ...any) {
			conds += " AND " + condition
			args = append(args, values...)
		}
		switch name := text.Fold(q.Name); {
		case strings.Contains(name, "@"): // no name has this character
			add("u.email_key = ?", mailaddress.Key(q.Name))
		case name != "":
			// Keys are compared by their bytes, so the keys that begin with name form a range.
			add("u.username_key >= ? AND u.username_key < ?", name, name+"\U0010FFFF")
		}
		if q.Group != 0 {
			g, err := groupByID(c, q.Group)
			switch {
			case kernel.IsNotFound(err):
				return nil
			case err != nil:
				return err
			case q.Name != "" || g.Kind == "registered":
				add("EXISTS (SELECT 1 FROM board_user_groups g WHERE g.user_id = u.id AND g.group_id = ?)", q.Group)
			default:
				tables = "board_user_groups g JOIN board_users u ON u.id = g.user_id"
				order, byID = "g.user_id", true
				add("g.group_id = ?", q.Group)
			}
		}
		if q.State != "" {
			add("u.state = ?", text.Storable(q.State))
		}
		if byID {
			lastID, _ := strconv.ParseInt(q.After, 10, 64) // 0, the beginning, if q.After is empty or not a number
			add("g.user_id > ?", lastID)
		} else {
			add("u.username_key > ?", text.Storable(q.After))
		}
		list, err = store.List(c, scanMember, "SELECT "+memberColumns+" FROM "+tables+" WHERE "+conds+" ORDER BY "+
			order+" LIMIT ?", append(args, q.Limit+1)...)
		list, next = store.CutAt(list, q.Limit, func(m MemberRow) string {
			if byID {
				return kernel.Itoa(m.ID)
			}
			return m.key
		})
		return err
	})
	return list, next, err
}

// membersByColumn returns the statement that selects members of one state in descending order of column. Its arguments
// are the state, the position after which the list begins (the value of column, twice, and the member's id), and the
// limit.
func membersByColumn(column string) string {
	return "SELECT " + memberColumns + " FROM board_users u WHERE u.state = ? AND " + column + " <= ? AND (" + column +
		" < ? OR u.id < ?) ORDER BY " + column + " DESC, u.id DESC LIMIT ?"
}

// sortValue returns the number by which the given order sorts the member.
func (m *MemberRow) sortValue(order string) int64 {
	switch order {
	case MembersNewest:
		return int64(m.JoinedAt)
	case MembersSeen:
		return int64(m.LastActiveAt)
	}
	return m.Posts
}

// membersBy returns a page of members in descending order of column, and the After of the next page. The column's index
// begins with the state, so membersBy selects the first members of each state and merges these lists.
func membersBy(c store.Conn, column string, q MemberQuery) (list []MemberRow, next string, err error) {
	states := rights.States
	if q.State != "" {
		states = []string{text.Storable(q.State)}
	}
	value, id := int64(math.MaxInt64), int64(math.MaxInt64) // of the last member on the previous page
	if valueText, idText, ok := strings.Cut(q.After, "."); ok {
		if value, err = strconv.ParseInt(valueText, 10, 64); err == nil {
			id, err = strconv.ParseInt(idText, 10, 64)
		}
		if err != nil {
			return nil, "", kernel.Invalid("after", "form", "after must be the position that the previous page of the list gave")
		}
	}
	for _, state := range states {
		members, err := store.List(c, scanMember, membersByColumn(column), state, value, value, id, q.Limit+1)
		if err != nil {
			return nil, "", err
		}
		list = append(list, members...)
	}
	slices.SortFunc(list, func(a, b MemberRow) int {
		return cmp.Or(cmp.Compare(b.sortValue(q.Sort), a.sortValue(q.Sort)), cmp.Compare(b.ID, a.ID))
	})
	list, next = store.CutAt(list, q.Limit, func(m MemberRow) string {
		return kernel.Itoa(m.sortValue(q.Sort)) + "." + kernel.Itoa(m.ID)
	})
	return list, next, nil
}

// NameClash is a pair of members whose names look alike. Like is the member who joined earlier. Both members keep their
// names.
type NameClash struct{ Member, Like MemberRow }

// maxClashes limits the list of NameClashes.
const maxClashes = 500

// NameClashes lists members whose names look like the name of another member, at most 500.
func (s *Service) NameClashes(ctx context.Context, a *rights.Actor) ([]NameClash, error) {
	return rights.ReadAsAdministratorValue(ctx, s.rights, a, func(c store.Conn) ([]NameClash, error) {
		return store.List(c, func(r store.Row) (clash NameClash, err error) {
			return clash, r.Scan(&clash.Member.ID, &clash.Member.Name, &clash.Member.State, &clash.Member.JoinedAt,
				&clash.Like.ID,
				&clash.Like.Name, &clash.Like.State, &clash.Like.JoinedAt)
		}, "SELECT DISTINCT u.id, u.username, u.state, u.joined_at, o.id, o.username, o.state, o.joined_at"+
			" FROM board_names n JOIN board_users u ON u.id = n.user_id"+
			" JOIN board_names h ON h.skeleton = n.skeleton AND h.clashes = 0 JOIN board_users o ON o.id = h.user_id"+
			" WHERE n.clashes = 1 ORDER BY o.id, u.id LIMIT ?", maxClashes)
	})
}
