package moving

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/sqldump"
)

// phpbbGroups holds the groups of phpBB and their rights in forums, from which the rights of guests and members are
// computed. Each method with a row as its parameter handles the rows of one table.
type phpbbGroups struct {
	names   map[int64]string            // of groups
	members map[int64][]int64           // the users by group
	options map[int64]string            // the names of rights by id
	roles   map[int64][]phpbbSetting    // by role
	rights  map[phpbbPlace][]phpbbRight // by group and forum
}

// phpbbPlace is a group in a forum. Forum 0 stands for all forums.
type phpbbPlace struct{ group, forum int64 }

// phpbbRight is a right of a group or, if role is not 0, a role that stands for several rights.
type phpbbRight struct {
	role int64
	phpbbSetting
}

// phpbbSetting sets one right, whose id is option. A setting of 1 allows the right, and -1 denies it whatever other
// settings say.
type phpbbSetting struct{ option, setting int64 }

// newPHPBBGroups returns an empty phpbbGroups.
func newPHPBBGroups() phpbbGroups {
	return phpbbGroups{
		names: make(map[int64]string), members: make(map[int64][]int64), options: make(map[int64]string),
		roles: make(map[int64][]phpbbSetting), rights: make(map[phpbbPlace][]phpbbRight),
	}
}

// group reads the name of a group.
func (g phpbbGroups) group(r *sqldump.Row) error {
	g.names[r.Int("group_id")] = strings.ToUpper(r.Text("group_name"))
	return nil
}

// member reads a member of a group.
func (g phpbbGroups) member(r *sqldump.Row) error {
	group := r.Int("group_id")
	if r.Int("user_pending") == 0 {
		g.members[group] = append(g.members[group], r.Int("user_id"))
	}
	return nil
}

// option reads the name of a right.
func (g phpbbGroups) option(r *sqldump.Row) error {
	g.options[r.Int("auth_option_id")] = r.Text("auth_option")
	return nil
}

// role reads a setting of a role.
func (g phpbbGroups) role(r *sqldump.Row) error {
	role := r.Int("role_id")
	g.roles[role] = append(g.roles[role], phpbbSetting{r.Int("auth_option_id"), r.Int("auth_setting")})
	return nil
}

// right reads a right or role of a group in a forum.
func (g phpbbGroups) right(r *sqldump.Row) error {
	place := phpbbPlace{r.Int("group_id"), r.Int("forum_id")}
	g.rights[place] = append(g.rights[place], phpbbRight{
		r.Int("auth_role_id"), phpbbSetting{r.Int("auth_option_id"), r.Int("auth_setting")},
	})
	return nil
}

// known reports whether the dump has the tables from which rights are computed.
func (g phpbbGroups) known() bool { return len(g.options) > 0 && len(g.rights) > 0 && len(g.names) > 0 }

// allowed reports whether the groups with this name have the right called option in a forum. A setting that denies the
// right prevails over others.
func (g phpbbGroups) allowed(group string, forum int64, option string) (allowed bool) {
	for id, name := range g.names {
		if name != group {
			continue
		}
		for _, right := range slices.Concat(g.rights[phpbbPlace{id, 0}], g.rights[phpbbPlace{id, forum}]) {
			settings := []phpbbSetting{right.phpbbSetting}
			if right.role != 0 {
				settings = g.roles[right.role]
			}
			for _, s := range settings {
				switch {
				case g.options[s.option] != option:
					// The setting is about another right.
				case s.setting < 0:
					return false
				case s.setting > 0:
					allowed = true
				}
			}
		}
	}
	return allowed
}

// access returns the rights of guests or members in a forum.
func (g phpbbGroups) access(f *seed.MovedForum, group string) access {
	groupName := map[string]string{"guest": "GUESTS", "registered": "REGISTERED"}[group]
	allows := func(option string) bool { return g.allowed(groupName, f.ID, option) }
	return access{
		view: allows("f_list") && (f.Type != "forum" || allows("f_read")), begin: allows("f_post"), reply: allows("f_reply"),
	}
}

// maxShownNames limits the member names in a note about a group.
const maxShownNames = 20

// notes returns notes for the report about administrators, moderators and groups, whose rights are not imported. names
// holds the names of users by id.
func (g phpbbGroups) notes(names map[int64]string) (notes []string) {
	custom := 0
	for id, group := range g.names {
		if group != "ADMINISTRATORS" && group != "GLOBAL_MODERATORS" {
			if !slices.Contains([]string{"GUESTS", "REGISTERED", "REGISTERED_COPPA", "BOTS", "NEWLY_REGISTERED"}, group) {
				custom++
			}
			continue
		}
		var shown []string
		for _, user := range g.members[id] {
			if name := names[user]; name != "" {
				shown = append(shown, name)
			}
		}
		slices.Sort(shown)
		if len(shown) > maxShownNames {
			shown = append(shown[:maxShownNames], fmt.Sprintf("and %d more", len(shown)-maxShownNames))
		}
		if len(shown) > 0 {
			notes = append(notes, fmt.Sprintf("The members of %s get no rights of the board: %s. Give them rights in the "+
				"administration of the board.", group, strings.Join(shown, ", ")))
		}
	}
	slices.Sort(notes)
	if custom > 0 {
		notes = append(notes, fmt.Sprintf("%d custom groups, and the rights of single members, are left out.", custom))
	}
	return notes
}
