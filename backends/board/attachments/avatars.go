package attachments

import (
	"context"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/blob"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// MaxAvatar is the maximum size of a member's picture, in bytes.
	MaxAvatar = 512 << 10
	// maxAvatarSide is the maximum width and height of a member's picture in pixels, since a page shows many pictures.
	maxAvatarSide = 2048
	// avatarPause is the minimum time between two pictures of a member. It limits the amount of content that is no
	// longer used.
	avatarPause = time.Minute
	// versionDigits is the number of digits of a picture's hash in the path of the picture.
	versionDigits = 16
)

// AvatarExtensions are the file extensions of members' pictures. Formats for animations are not allowed.
var AvatarExtensions = []string{".png", ".jpg", ".jpeg", ".webp"}

// avatarTypes lists the media types of members' pictures.
var avatarTypes = []string{"image/png", "image/jpeg", "image/webp"}

// Face describes how pages show the author of a post: a picture and the name of a group.
type Face struct {
	Picture string // the path of the member's picture; empty without one
	Staff   string // the member's staff group; empty for other members
}

// Faces returns the faces of members by id. Members who have neither a picture nor a staff group are missing.
func (s *Service) Faces(ctx context.Context, members []int64) (faces map[int64]Face, err error) {
	if len(members) == 0 {
		return nil, nil
	}
	ids := kernel.Args(members)
	return kernel.Value(ctx, s.Read, func(c store.Conn) (faces map[int64]Face, err error) {
		faces = make(map[int64]Face)
		err = c.All("SELECT user_id, substr(sha256, 1, ?) FROM board_avatars WHERE sha256 <> '' AND user_id IN ("+
			kernel.Marks(len(ids))+")", append([]any{versionDigits}, ids...), func(r store.Row) error {
			var id int64
			var version string
			err := r.Scan(&id, &version)
			faces[id] = Face{Picture: "/avatars/" + kernel.Itoa(id) + "/" + version}
			return err
		})
		if err != nil {
			return faces, err
		}
		// Of a member's staff groups, the group with the highest id is shown. On a new board, that is the group of
		// administrators.
		return faces, c.All("SELECT u.user_id, g.name FROM board_user_groups u JOIN board_groups g ON g.id = u.group_id"+
			" WHERE g.kind = 'staff' AND u.user_id IN ("+kernel.Marks(len(ids))+") ORDER BY g.id", ids,
			func(r store.Row) error {
				var id int64
				var group string
				err := r.Scan(&id, &group)
				faces[id] = Face{faces[id].Picture, group}
				return err
			})
	})
}

// SetAvatar makes an image the picture of the actor. The image's metadata is stripped.
func (s *Service) SetAvatar(ctx context.Context, a *rights.Actor, name string, content io.Reader) error {
	if a.User == nil {
		return kernel.NotFound()
	}
	if err := a.CheckSuspended(s.Moment()); err != nil {
		return err
	}
	add, err := s.TakeAvatar(ctx, name, content, true)
	if err != nil {
		return err
	}
	return s.Write(ctx, func(c store.Conn) error {
		added, err := add(c, a.ID())
		if err == nil && !added {
			err = kernel.Invalid("file", "flood", "you have just changed your picture; wait a minute")
		}
		return err
	})
}

// TakeAvatar receives an image for the picture of a member, and stores its content if keep is set. The returned
// function add inserts the row of the picture. Call it at once, since content without a row is removed after some
// time. add returns false if the member has just got another picture.
func (s *Service) TakeAvatar(ctx context.Context, name string, content io.Reader, keep bool,
) (add func(c store.Conn, member int64) (added bool, err error), err error) {
	f, err := s.receive(name, content, MaxAvatar)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch {
	case !slices.Contains(avatarTypes, f.MediaType):
		return nil, kernel.Invalid("file", "type", "the picture must be a PNG, JPEG or WebP")
	case max(f.Width, f.Height) > maxAvatarSide:
		return nil, kernel.Invalid("file", "image",
			"the picture may be at most "+kernel.Itoa(maxAvatarSide)+" pixels wide and high")
	}
	if keep {
		if err := s.files.Keep(ctx, f); err != nil {
			return nil, kernel.Unavailable(err)
		}
	}
	file := f.File
	return func(c store.Conn, member int64) (bool, error) {
		now := s.Moment()
		n, err := c.Exec("INSERT INTO board_avatars (user_id, name, media_type, size, sha256, width, height, created_at)"+
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_id) DO UPDATE SET name = excluded.name,"+
			" media_type = excluded.media_type, size = excluded.size, sha256 = excluded.sha256, width = excluded.width,"+
			" height = excluded.height, created_at = excluded.created_at WHERE board_avatars.created_at <= ?",
			member, file.Name, file.MediaType, file.Size, file.Hash, file.Width, file.Height, now, now.Add(-avatarPause))
		return n > 0, err
	}, nil
}

// RemoveAvatar removes the picture of the actor.
func (s *Service) RemoveAvatar(ctx context.Context, a *rights.Actor) error {
	return s.Write(ctx, func(c store.Conn) error {
		_, err := DropAvatar(c, a.ID())
		return err
	})
}

// DropAvatar removes the picture of a member and reports whether there was one. It keeps the row, which records when
// the picture was set.
func DropAvatar(c store.Conn, member int64) (bool, error) {
	n, err := c.Exec("UPDATE board_avatars SET sha256 = '', name = '' WHERE user_id = ? AND sha256 <> ''", member)
	return n > 0, err
}

// Avatar returns the handler that serves a member's picture under the path in Face. Browsers cache the picture for
// long, since another picture has another path.
func (s *Service) Avatar(ctx context.Context, member int64, version string) (http.Handler, error) {
	var f blob.File
	created, err := kernel.Value(ctx, s.Read, func(c store.Conn) (created kernel.Moment, err error) {
		return created, kernel.OrNotFound(c.Row("SELECT name, media_type, size, sha256, width, height, created_at"+
			" FROM board_avatars WHERE user_id = ? AND sha256 <> '' AND substr(sha256, 1, ?) = ?",
			member, versionDigits, version).Scan(&f.Name, &f.MediaType, &f.Size, &f.Hash, &f.Width, &f.Height, &created))
	})
	if err != nil {
		return nil, err
	}
	content, err := s.files.Open(ctx, &f)
	if err != nil {
		return nil, kernel.Unavailable(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer content.Close()
		w.Header().Set("Cache-Control", "private, max-age=604800, immutable")
		blob.Serve(w, r, &f, created.Time(), content)
	}), nil
}
