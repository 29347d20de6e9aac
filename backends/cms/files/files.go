// Package files holds the files of pages: it takes them in, hands them out to those who
// may see the page, and makes images smaller on request.
//
// Content is kept by its hash in the folder files of the site. Smaller images are made
// once and kept in cache/images, which can be deleted at any time.
package files

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/blob"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
)

// Files are those of the pages of a site. It is safe for concurrent use.
type Files struct {
	*kernel.Server
	pages  *content.Content
	blobs  *blob.Store
	images *cache
}

// New makes the files of a site. It touches nothing yet.
func New(s *kernel.Server, pages *content.Content) *Files {
	return &Files{
		Server: s, pages: pages,
		blobs: blob.New(s.DB, blob.Options{
			Folder: filepath.Join(s.Site, "files"), Table: "cms_contents", Uses: []blob.Use{{Table: "cms_files", Column: "hash"}}, Now: s.Now,
		}),
		images: newCache(filepath.Join(s.Site, "cache", "images")),
	}
}

// Receive puts a file that somebody sends into a field of a page. What is no file of its
// name's type is refused with 422, one that is too large with 413; images lose what tells
// where and by whom they were taken.
func (f *Files) Receive(ctx context.Context, u *kernel.User, page int64, field, name string, from io.Reader) (*content.Page, error) {
	most, err := f.pages.Takes(ctx, u, page, field, name)
	if err != nil {
		return nil, err
	}
	got, err := f.blobs.Receive(name, from, most)
	if err != nil {
		return nil, refuse(field, most, err)
	}
	defer got.Close()
	if err := f.blobs.Keep(ctx, got); err != nil {
		return nil, kernel.Unavailable(err)
	}
	return f.pages.Attach(ctx, u, page, field, got.File)
}

// refuse is why a file is not taken, for people.
func refuse(field string, most int64, err error) error {
	var e *blob.Error
	switch {
	case errors.As(err, &e):
		return kernel.Invalid(field, e.Reason, field+": "+e.Message)
	case errors.Is(err, blob.ErrTooLarge):
		return apierror.New(http.StatusRequestEntityTooLarge, "too_large", "%s: a file has at most %d bytes", field, most)
	case errors.Is(err, blob.ErrIncomplete):
		return kernel.BadRequest("the file could not be read whole")
	}
	return err
}

// Open is a file that u may see, and its content, which the caller closes.
func (f *Files) Open(ctx context.Context, u *kernel.User, id int64) (*content.File, io.ReadSeekCloser, error) {
	file, err := f.pages.File(ctx, u, id)
	if err != nil {
		return nil, nil, err
	}
	body, err := f.blobs.Open(ctx, &file.File)
	if errors.Is(err, blob.ErrGone) {
		return nil, nil, kernel.NotFound("file")
	}
	return file, body, err
}

// Serve answers with a file that u may see. Of an image, the query parameters width and
// height (1 to 2,560 pixels, rounded up to the next of Sides) ask for one that fits into
// them, or with fit=cover for one that fills them; it is never larger than it is.
func (f *Files) Serve(w http.ResponseWriter, r *http.Request, u *kernel.User, id int64) error {
	size, err := sizeOf(r.URL.Query())
	if err != nil {
		return err
	}
	file, body, err := f.Open(r.Context(), u, id)
	if err != nil {
		return err
	}
	defer body.Close()
	if public := u.Guest(); public {
		w.Header().Set("Cache-Control", "public, max-age=300")
	} else {
		w.Header().Set("Cache-Control", "private, no-cache")
	}
	served, from := file.File, io.ReadSeeker(body)
	if size != (Size{}) && scales(&file.File) {
		small, mediaType, err := f.images.get(r.Context(), &file.File, size, body)
		switch {
		case errors.Is(err, errNotSmaller):
			if _, err := body.Seek(0, io.SeekStart); err != nil {
				return err
			}
		case err != nil:
			return err
		default:
			defer small.Close() //nolint:errcheck // it was read only
			served.MediaType, served.Hash = mediaType, file.Hash+"-"+size.String()
			from = small
		}
	}
	blob.Serve(w, r, &served, file.Created.Time(), from)
	return nil
}

// sizeOf reads what size of an image is asked for.
func sizeOf(query map[string][]string) (s Size, err error) {
	word := func(name string) string {
		if len(query[name]) > 0 {
			return query[name][0]
		}
		return ""
	}
	for name, into := range map[string]*int{"width": &s.Width, "height": &s.Height} {
		if text := word(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > SideMost {
				return s, kernel.BadRequest("%s is a number of pixels from 1 to %d", name, SideMost)
			}
			*into = rung(n)
		}
	}
	switch word("fit") {
	case "", "contain":
	case "cover":
		if s.Width == 0 || s.Height == 0 {
			return s, kernel.BadRequest("fit=cover needs width and height")
		}
		s.Cover = true
	default:
		return s, kernel.BadRequest("fit is contain or cover")
	}
	return s, nil
}

// keptFor is how long content is kept that no page names, and what was received and not
// kept.
const keptFor = 24 * time.Hour

// Jobs are what there is to do in the background, on each node: each has a cache of its
// own.
func (f *Files) Jobs() []jobs.Job {
	return []jobs.Job{{Name: "files", Every: 6 * time.Hour, Run: f.Sweep}}
}

// Sweep removes content that no page names for a day, and images that were made smaller
// where there are too many of them.
func (f *Files) Sweep(ctx context.Context) (int, error) {
	n, err := f.blobs.Sweep(ctx, f.Now().Add(-keptFor))
	if err != nil {
		return n, err
	}
	more, err := f.images.sweep()
	return n + more, err
}
