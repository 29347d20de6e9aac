package web

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// faceRoutes lists the pages of members' pictures.
var faceRoutes = []page{
	{Method: get, Path: "/avatars/{userId}/{version}", Admit: guests, Serve: (*call).avatar},
	{
		Method: post, Path: "/account/picture", Serve: (*call).setAvatar,
		Upload: attachments.MaxAvatar + pages.MaxForm,
	},
	{Method: post, Path: "/account/picture/remove", Serve: (*call).removeAvatar},
}

// readFaces reads the faces (pictures) of the authors in a page's list, for the page's template. author returns an
// element's author, which may be nil.
func readFaces[T any](c *call, list []T, author func(T) *int64) (err error) {
	var members []int64
	for _, item := range list {
		if id := author(item); id != nil {
			members = append(members, *id)
		}
	}
	c.frame.faces, err = c.Attachments.Faces(c.Context(), members)
	return err
}

// facesOfThreads reads the faces of the authors of the threads on a page.
func (c *call) facesOfThreads(lists ...[]content.ThreadInfo) error {
	return readFaces(c, slices.Concat(lists...), func(t content.ThreadInfo) *int64 { return t.AuthorUserID })
}

// faceOf reads the face of one member, for the page's template.
func (c *call) faceOf(member int64) error {
	return readFaces(c, []int64{member}, func(id int64) *int64 { return &id })
}

// Face returns the face of an author, who may be nil.
func (f *frame) Face(author *int64) attachments.Face {
	if author == nil {
		return attachments.Face{}
	}
	return f.faces[*author]
}

// FaceOf returns the face of a member.
func (f *frame) FaceOf(member int64) attachments.Face { return f.faces[member] }

// avatar serves a member's picture.
func (c *call) avatar() error {
	picture, err := c.Attachments.Avatar(c.Context(), c.ID("userId"), c.R.PathValue("version"))
	if err != nil {
		return err
	}
	picture.ServeHTTP(c.W, c.R)
	return nil
}

// setAvatar sets the member's picture to the file of the form.
func (c *call) setAvatar() error {
	file, err := c.file()
	if err != nil {
		return err
	}
	if err := c.Attachments.SetAvatar(c.Context(), c.actor, file.FileName(), file); err != nil {
		u := c.actor.User
		return c.showAccount(err, accounts.Profile{Title: u.Title, Bio: u.Bio, TimeZone: u.TimeZone})
	}
	return c.Redirect("/account", c.T("The picture is saved."))
}

// removeAvatar removes the member's picture.
func (c *call) removeAvatar() error {
	return c.Then(c.Attachments.RemoveAvatar(c.Context(), c.actor), "/account", c.T("The picture is removed."))
}
