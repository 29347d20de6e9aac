// Package files manages the files of pages: it stores uploads, serves files to users who may see the page, and scales
// images down on request.
//
// The content of files is stored by its hash in the folder files of the site. Scaled images are stored in cache/images,
// which can be deleted at any time.
package files

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/blob"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
)

// Files manages the files of a site's pages. A Files is safe for concurrent use.
type Files struct {
	*kernel.Server
	pages  *content.Content
	blobs  *blob.Store
	images *cache
}

// New returns the files of the site of s, without using the database yet.
func New(s *kernel.Server, pages *content.Content) *Files {
	return &Files{
		Server: s, pages: pages,
		blobs: blob.New(s.DB, blob.Options{
			Folder: filepath.Join(s.Site, "files"), Table: "cms_contents",
			Uses: []blob.Use{{Table: "cms_files", Column: "hash"}}, Now: s.Now,
		}),
		images: newCache(filepath.Join(s.Site, "cache", "images")),
	}
}

// Receive stores an uploaded file with the given name and adds it to a field of a page; see content.Attach. The error
// is 413 for a file that is too large, and 422 for content that does not match the name's extension. Receive removes
// the metadata of images, which can reveal the place and the author.
func (f *Files) Receive(
	ctx context.Context, u *kernel.User, place content.Place, name string, src io.Reader,
) (*content.Page, error) {
	limit, err := f.pages.UploadLimit(ctx, u, place, name)
	if err != nil {
		return nil, err
	}
	upload, err := f.blobs.Receive(name, src, limit)
	if err != nil {
		return nil, uploadError(place.Field, limit, err)
	}
	defer upload.Close()
	if err := f.blobs.Keep(ctx, upload); err != nil {
		return nil, kernel.Unavailable(err)
	}
	return f.pages.Attach(ctx, u, place, upload.File)
}

// uploadError converts the error of an upload to the field into an error for the client. limit is the size limit, in
// bytes.
func uploadError(field string, limit int64, err error) error {
	var e *blob.Error
	switch {
	case errors.As(err, &e):
		return kernel.Invalid(field, e.Reason, field+": "+e.Message)
	case errors.Is(err, blob.ErrTooLarge):
		return apierror.New(http.StatusRequestEntityTooLarge, "too_large", "%s: a file may have at most %d bytes",
			field, limit)
	case errors.Is(err, blob.ErrIncomplete):
		return kernel.BadRequest("the file was not received completely")
	}
	return err
}

// Open returns a file and its content, if u may see the file's page. The caller must close the content.
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

// Serve answers with a file, if u may see the file's page. For an image, the query parameters width and height (1 to
// content.MaxSide pixels) request a version that fits into this box or, with fit=cover, fills it. Images are never
// enlarged. The size must be among the sizes of the image's field, or be signed by the parameter sig; see Query.
func (f *Files) Serve(w http.ResponseWriter, r *http.Request, u *kernel.User, id int64) error {
	query := r.URL.Query()
	size, err := sizeOf(query)
	if err != nil {
		return err
	}
	return f.serve(w, r, u, id, size, func(file *content.File) bool {
		return slices.Contains(file.Sizes, size.String()) || f.signed(query.Get("sig"), id, size)
	})
}

// Image is like Serve, but for the site's own code, which may request any size. The zero Size requests the original
// image.
func (f *Files) Image(w http.ResponseWriter, r *http.Request, u *kernel.User, id int64, size content.Size) error {
	return f.serve(w, r, u, id, size, func(*content.File) bool { return true })
}

// serve answers with a file. If the file is an image that can be scaled, it is scaled to size, unless size is zero.
// allowed reports whether the client may request this size of the file.
func (f *Files) serve(
	w http.ResponseWriter, r *http.Request, u *kernel.User, id int64, size content.Size, allowed func(*content.File) bool,
) error {
	file, body, err := f.Open(r.Context(), u, id)
	if err != nil {
		return err
	}
	defer body.Close()
	served, source := file.File, io.ReadSeeker(body)
	if size != (content.Size{}) && canScale(&file.File) {
		if !allowed(file) {
			return kernel.Forbidden("the field of the file does not allow the size %s", size)
		}
		scaled, mediaType, err := f.images.get(r.Context(), &file.File, size, body)
		switch {
		case errors.Is(err, errNotSmaller), errors.Is(err, errUnreadable): // serve the original image
			if _, err := body.Seek(0, io.SeekStart); err != nil {
				return err
			}
		case err != nil:
			return err
		default:
			defer scaled.Close() //nolint:errcheck // it was read only
			served.MediaType, served.Hash = mediaType, file.Hash+"-"+size.String()
			source = scaled
		}
	}
	if u.Guest() {
		w.Header().Set("Cache-Control", "public, max-age=300")
		// Everybody may see the file, so pages of other origins may embed it.
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	} else {
		w.Header().Set("Cache-Control", "private, no-cache")
	}
	blob.Serve(w, r, &served, file.Created.Time(), source)
	return nil
}

// Query returns the query parameters that request an image in the given size. The settings of the image's field need
// not allow this size. The parameters are signed, so clients cannot request arbitrary sizes.
func (f *Files) Query(id int64, size content.Size) string {
	query := url.Values{"sig": {f.sign(id, size)}}
	for name, side := range map[string]int{"width": size.Width, "height": size.Height} {
		if side > 0 {
			query.Set(name, strconv.Itoa(side))
		}
	}
	if size.Cover {
		query.Set("fit", "cover")
	}
	return query.Encode()
}

// sign returns the parameter sig for a size of a file.
func (f *Files) sign(id int64, size content.Size) string {
	return f.Signer("cms image").Sign(nil, strconv.FormatInt(id, 10), size.String())
}

// signed reports whether sig is the result of sign for a size of a file.
func (f *Files) signed(sig string, id int64, size content.Size) bool {
	_, ok := f.Signer("cms image").Open(sig, strconv.FormatInt(id, 10), size.String())
	return ok
}

// sizeOf parses the query parameters that request a size of an image.
func sizeOf(query url.Values) (s content.Size, err error) {
	for name, side := range map[string]*int{"width": &s.Width, "height": &s.Height} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		if *side, err = strconv.Atoi(text); err != nil || *side < 1 || *side > content.MaxSide {
			return s, kernel.BadRequest("%s must be a number of pixels from 1 to %d", name, content.MaxSide)
		}
	}
	switch query.Get("fit") {
	case "", "contain":
	case "cover":
		if s.Cover = true; !s.Valid() {
			return s, kernel.BadRequest("fit=cover requires width and height")
		}
	default:
		return s, kernel.BadRequest("fit must be contain or cover")
	}
	return s, nil
}

// keepFor is the minimum time for which the content of a file is kept while no page refers to it. It also applies to
// uploads that were not completed.
const keepFor = 24 * time.Hour

// Jobs returns the job that calls Sweep. The job runs on each node, because each node has its own scaled images.
func (f *Files) Jobs() []jobs.Job {
	return []jobs.Job{{Name: "files", Every: 6 * time.Hour, Run: f.Sweep}}
}

// Sweep removes content that no page has referred to for a day, and the oldest scaled images if they take too much
// space. It returns how many files it has removed.
func (f *Files) Sweep(ctx context.Context) (removed int, err error) {
	removed, err = f.blobs.Sweep(ctx, f.Now().Add(-keepFor))
	if err != nil {
		return removed, err
	}
	removedImages, err := f.images.sweep()
	return removed + removedImages, err
}
