package seed

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// changed records, for MovedOptions.Changed, that a member is imported with a change, which format and args describe.
func (l *movedLoader) changed(m *MovedMember, format string, args ...any) {
	l.notes = append(l.notes, &MovedError{content.MovedMember, m.ID, m.Name, fmt.Errorf(format, args...)})
}

// exists reports whether a query that counts rows finds any row.
func exists(c store.Conn, query string, args ...any) (bool, error) {
	var n int
	err := c.Row(query, args...).Scan(&n)
	return n > 0, err
}

// freeName returns a name that the member can have here. It removes characters that are not allowed from the name in
// the other program, and appends a number if that name is taken.
func (l *movedLoader) freeName(c store.Conn, m *MovedMember) (string, error) {
	const maxLength = 40
	name := MovedLine(strings.Map(func(r rune) rune {
		if strings.ContainsRune("<>\"'&@/\\", r) {
			return '_'
		}
		return r
	}, m.Name), maxLength)
	if len([]rune(name)) < 2 {
		name = strings.TrimSpace(name + " " + kernel.Itoa(m.ID))
	}
	base := []rune(name)
	for n := 2; ; n++ {
		if accounts.CheckName(name) == nil && !l.names[text.Fold(name)] {
			found, err := exists(c, "SELECT count(*) FROM board_users WHERE username_key = ?", text.Fold(name))
			if err != nil || !found {
				return name, err
			}
		}
		if n > 100 {
			return "", &MovedError{content.MovedMember, m.ID, m.Name, errors.New("no name is free for the member")}
		}
		suffix := fmt.Sprintf(" %d", n)
		name = text.Normal(string(base[:min(len(base), maxLength-len(suffix))])) + suffix
	}
}

// newMember returns the account to be added for a member. It records with changed what differs from the account in the
// other program.
func (l *movedLoader) newMember(c store.Conn, m *MovedMember) (add accounts.NewUser, err error) {
	add = accounts.NewUser{
		State: m.State, Groups: []string{"registered"}, MayClash: true, Now: l.service.Moment(),
	}
	if add.Name, err = l.freeName(c, m); err != nil {
		return add, err
	}
	if l.DryRun {
		l.names[text.Fold(add.Name)] = true
	}
	if add.Name != text.Normal(m.Name) {
		l.changed(m, "the name is taken or not allowed; the member is %q", add.Name)
	}
	if add.Email, err = l.freeEmail(c, m); err != nil {
		return add, err
	}
	if !m.JoinedAt.IsZero() {
		add.Now = kernel.MomentOf(m.JoinedAt)
	}
	if m.Hash == "" || password.Known(m.Hash) {
		add.Password = m.Hash
	} else {
		l.changed(m, "the hash of the password has an unknown form; the member must set a new password by mail")
	}
	return add, nil
}

// freeEmail returns the mail address of a member, or an empty string if the address is not valid or another member has
// it.
func (l *movedLoader) freeEmail(c store.Conn, m *MovedMember) (string, error) {
	if m.Email == "" {
		return "", nil
	}
	address, err := accounts.CheckEmail(m.Email)
	if err != nil {
		l.changed(m, "the mail address is not valid; it is left out")
		return "", nil // it is reported
	}
	inUse, err := exists(c, "SELECT count(*) FROM board_users WHERE email_key = ?", mailaddress.Key(address))
	if err != nil {
		return "", err
	}
	if inUse {
		l.changed(m, "another member has the same mail address; it is left out")
		return "", nil
	}
	return address, nil
}

// member adds a member with its profile, and records its new id.
func (l *movedLoader) member(c store.Conn, m *MovedMember) error {
	add, err := l.newMember(c, m)
	if err != nil {
		return err
	}
	id, err := accounts.AddUser(c, add)
	if err != nil {
		return &MovedError{content.MovedMember, m.ID, m.Name, err}
	}
	if _, err := c.Exec("UPDATE board_users SET title = ?, bio = ?, banned_until = ?, last_active_at = ? WHERE id = ?",
		text.Normal(m.Title), text.Normal(m.Bio), kernel.Null(m.BannedUntil), kernel.Null(m.LastActive), id); err != nil {
		return err
	}
	return content.RecordMoved(c, l.program, content.MovedMember, m.ID, id)
}

// importForum adds a forum, and the overrides that take rights there away from groups.
func (l *movedLoader) importForum(c store.Conn, f *MovedForum) error {
	parent, err := content.MovedID(c, l.program, content.MovedForum, f.Parent)
	if err != nil {
		return err
	}
	add := f.row(parent)
	if add.Slug, err = content.FreeForumSlug(c, cmp.Or(f.Slug, f.Title)); err != nil {
		return err
	}
	id, err := content.AddForum(c, add)
	if err != nil {
		return &MovedError{content.MovedForum, f.ID, f.Title, err}
	}
	clears := make(map[string]rights.Mask) // the rights that the forum denies, by group
	for _, denied := range []struct {
		groups []string
		right  rights.Mask
	}{{f.Hidden, rights.ForumView}, {f.Silent, rights.ThreadPost}, {f.Reading, rights.ReplyPost}} {
		for _, group := range denied.groups {
			clears[group] |= denied.right
		}
	}
	for group, mask := range clears {
		if _, err := c.Exec("INSERT INTO board_forum_overrides (forum_id, group_id, set_mask, clear_mask)"+
			" SELECT CAST(? AS BIGINT), id, 0, CAST(? AS BIGINT) FROM board_groups WHERE name = ?", id, mask, group,
		); err != nil {
			return err
		}
	}
	return content.RecordMoved(c, l.program, content.MovedForum, f.ID, id)
}

// files adds the attached files that earlier runs have not added, each in its own transaction.
func (l *movedLoader) files() error {
	name := l.seeder.name
	for i := l.done[name]; i < len(l.Files); i++ {
		m := &l.Files[i]
		f, err := l.file(m)
		if err != nil {
			return err
		}
		refused := ""
		err = l.service.Write(l.ctx, func(c store.Conn) (err error) {
			if f != nil {
				if refused, err = l.addFile(c, m, f); err != nil {
					return err
				}
			}
			return l.note(c, name, i+1)
		})
		if err != nil {
			return err
		}
		if refused != "" {
			l.leaveFile(m, errors.New(refused))
		}
		l.progress(name, i+1)
	}
	return nil
}

// leaveFile reports that a file is left out for the given reason.
func (l *movedLoader) leaveFile(m *MovedFile, reason error) {
	l.LeftOut(&MovedError{content.MovedFile, m.ID, m.Name, reason})
}

// openFile opens a regular file. For anything else, such as a folder, it returns an error.
func openFile(path string) (*os.File, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, os.ErrNotExist)
	}
	return os.Open(path)
}

// file stores the content of a file. It returns nil if the file is refused. In a dry run it stores nothing.
func (l *movedLoader) file(m *MovedFile) (*attachments.Attachment, error) {
	content, err := openFile(m.Path)
	if err != nil {
		l.leaveFile(m, errors.New("its content is not in the folder"))
		return nil, nil // it is reported
	}
	defer content.Close() //nolint:errcheck // it was read
	f, err := l.service.attachments.Take(l.ctx, m.Name, content, !l.DryRun)
	if refused, ok := errors.AsType[*apierror.Error](err); ok && refused.Status < 500 {
		l.leaveFile(m, err)
		return nil, nil
	}
	return f, err
}

// addFile adds the row of a file whose content is stored. If the file is refused, refused is the reason. The value of
// refused is meaningful only if err is nil.
func (l *movedLoader) addFile(c store.Conn, m *MovedFile, f *attachments.Attachment) (refused string, err error) {
	if f.Post, err = content.MovedID(c, l.program, content.MovedPost, m.Post); err != nil || f.Post == 0 {
		return "its post was not imported", err
	}
	if f.User, err = content.MovedID(c, l.program, content.MovedMember, m.Author); err != nil || f.User == 0 {
		return "its author has no account", err
	}
	f.CreatedAt = m.At
	if err := c.Row("SELECT thread_id FROM board_post_ids WHERE id = ?", f.Post).Scan(&f.Thread); err != nil {
		return "", err
	}
	if err := attachments.Add(c, f); err != nil {
		return "", err
	}
	if err := content.RecordMoved(c, l.program, content.MovedFile, m.ID, f.ID); err != nil || m.Sum == 0 {
		return "", err
	}
	first, err := content.MovedID(c, l.program, content.MovedSum, m.Sum)
	if err == nil && first == 0 { // otherwise an earlier file has the same content
		err = content.RecordMoved(c, l.program, content.MovedSum, m.Sum, f.ID)
	}
	return "", err
}
