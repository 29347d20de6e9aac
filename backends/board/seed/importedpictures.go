package seed

import (
	"errors"
	"path/filepath"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// withPicture returns the members that have a picture.
func (l *movedLoader) withPicture() (list []*MovedMember) {
	for i := range l.Members {
		if l.Members[i].Picture != "" {
			list = append(list, &l.Members[i])
		}
	}
	return list
}

// pictures adds the pictures of members, each in its own transaction.
func (l *movedLoader) pictures() error {
	name, list := l.seeder.name, l.withPicture()
	for i := l.done[name]; i < len(list); i++ {
		m := list[i]
		add, err := l.picture(m)
		if err != nil {
			return err
		}
		err = l.service.Write(l.ctx, func(c store.Conn) error {
			if add != nil {
				member, err := content.MovedID(c, l.program, content.MovedMember, m.ID)
				if err != nil {
					return err
				}
				if member != 0 { // 0: the member was left out
					if _, err := add(c, member); err != nil {
						return err
					}
				}
			}
			return l.note(c, name, i+1)
		})
		if err != nil {
			return err
		}
		l.progress(name, i+1)
	}
	return nil
}

// picture stores the picture of a member and returns a function that adds its row, given the member's id on the board.
// add is nil if the picture is refused. In a dry run nothing is stored.
func (l *movedLoader) picture(m *MovedMember) (add func(c store.Conn, member int64) (bool, error), err error) {
	refuse := func(reason error) { l.LeftOut(&MovedError{"picture", m.ID, m.Name, reason}) }
	image, err := openFile(m.Picture)
	if err != nil {
		refuse(errors.New("its file is not in the folder"))
		return nil, nil // it is reported
	}
	defer image.Close() //nolint:errcheck // it was read
	add, err = l.service.attachments.TakeAvatar(l.ctx, filepath.Base(m.Picture), image, !l.DryRun)
	if refused, ok := errors.AsType[*apierror.Error](err); ok && refused.Status < 500 {
		refuse(err)
		return nil, nil
	}
	return add, err
}
