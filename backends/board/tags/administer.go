package tags

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// All lists all tags by name, for administrators.
func (s *Service) All(ctx context.Context, a *rights.Actor) ([]Tag, error) {
	return rights.ReadAsAdministratorValue(ctx, s.rights, a, func(c store.Conn) ([]Tag, error) {
		return store.List(c, scan, "SELECT id, name FROM board_tags ORDER BY name_key")
	})
}

// Save adds a tag if its ID is 0. Otherwise it renames the tag with this id. The actor must be an administrator.
func (s *Service) Save(ctx context.Context, a *rights.Actor, t Tag) error {
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		name, err := check(a, "name", t.Name)
		if err != nil {
			return err
		}
		var other, count int64 // other is the id of the tag that already has the name, or 0
		if err := c.Row("SELECT COALESCE((SELECT id FROM board_tags WHERE name_key = ?), 0),"+
			" (SELECT count(*) FROM board_tags)", text.Fold(name)).Scan(&other, &count); err != nil {
			return err
		}
		action := "tag.edit"
		switch {
		case other != 0 && other != t.ID:
			return kernel.Invalid("name", "taken", "a tag with this name exists already; merge the two in the list")
		case t.ID != 0:
			_, err = scan(c.Row("UPDATE board_tags SET name = ?, name_key = ? WHERE id = ? RETURNING id, name",
				name, text.Fold(name), t.ID))
		case a.Rights.Settings.Tags != kernel.TagsFree && count >= maxChoice:
			err = kernel.Conflict("there are at most " + kernel.Itoa(maxChoice) + " tags to choose from")
		default:
			action = "tag.create"
			_, err = add(c, name)
		}
		if err != nil {
			return kernel.OrNotFound(err)
		}
		return s.rights.LogChange(c, a, action, kernel.ForLog(name))
	})
}

// Merge replaces the tag with this id by the tag with the name targetName in all threads, and deletes the replaced tag.
// The actor must be an administrator.
func (s *Service) Merge(ctx context.Context, a *rights.Actor, id int64, targetName string) error {
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		source, err := scan(c.Row("SELECT id, name FROM board_tags WHERE id = ?", id))
		if err != nil {
			return kernel.OrNotFound(err)
		}
		target, err := scan(c.Row("SELECT id, name FROM board_tags WHERE name_key = ?", text.Fold(targetName)))
		err = kernel.OrNotFound(err)
		switch {
		case kernel.IsNotFound(err), err == nil && target.ID == id:
			return kernel.Invalid("into", "unknown", "give the name of another tag")
		case err != nil:
			return err
		}
		if _, err := c.Exec("INSERT INTO board_thread_tags (tag_id, thread_id, last_post_at) SELECT CAST(? AS BIGINT),"+
			" thread_id, last_post_at FROM board_thread_tags WHERE tag_id = ? ON CONFLICT (tag_id, thread_id) DO NOTHING",
			target.ID, id); err != nil {
			return err
		}
		return s.remove(c, a, "tag.merge", source, " into "+kernel.ForLog(target.Name))
	})
}

// Delete deletes a tag and removes it from all threads. The actor must be an administrator.
func (s *Service) Delete(ctx context.Context, a *rights.Actor, id int64) error {
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		t, err := scan(c.Row("SELECT id, name FROM board_tags WHERE id = ?", id))
		if err != nil {
			return kernel.OrNotFound(err)
		}
		return s.remove(c, a, "tag.delete", t, "")
	})
}

// remove deletes a tag, removes it from all threads and logs the action. detail follows the name of the tag in the log.
func (s *Service) remove(c store.Conn, a *rights.Actor, action string, t Tag, detail string) error {
	if err := kernel.ExecAll(c, []string{
		"DELETE FROM board_thread_tags WHERE tag_id = ?", "DELETE FROM board_tags WHERE id = ?",
	}, t.ID); err != nil {
		return err
	}
	return s.rights.LogChange(c, a, action, kernel.ForLog(t.Name)+detail)
}
