package posts

import (
	"context"
	escape "html"
	"net/url"
	"regexp"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/blob"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// A text names files of the board by attachment:NAME, a file at the post itself,
// or by the address of any file. Stored HTML has attachment:NAME or
// attachment:/ID; where it is shown these become paths, as a new post has no id
// when its text is rendered.

const attachmentScheme = "attachment"

// filePath is the address of a file, on pages or of the API.
var filePath = regexp.MustCompile(`^(?:` + kernel.Mount + `)?/attachments(/[1-9][0-9]{0,17})$`)

// placeFile is the destination of a link or an image as stored HTML has it where it
// is a file of the board.
func placeFile(to []byte) []byte {
	if match := filePath.FindSubmatch(to); match != nil {
		return append([]byte(attachmentScheme+":"), match[1]...)
	}
	name, ok := strings.CutPrefix(string(to), attachmentScheme+":")
	if !ok {
		return to
	}
	if plain, err := url.PathUnescape(name); err == nil { // spaces can be written either way
		name = plain
	}
	return []byte(attachmentScheme + ":" + url.PathEscape(name))
}

// isFile holds what has the scheme to a file: by its id, or a name that files can
// have.
func isFile(u *url.URL) bool {
	if u.RawQuery != "" || u.Fragment != "" || u.Host != "" || u.User != nil {
		return false
	}
	if u.Opaque == "" {
		return filePath.MatchString("/attachments" + u.Path)
	}
	name, err := url.PathUnescape(u.Opaque)
	if err != nil || strings.ContainsAny(name, `/\`) {
		return false
	}
	return blob.CheckName(name) == nil
}

// withPlaces makes paths of the files in stored HTML. Quotes in texts are escaped, so
// it finds attributes only, and of these the addresses.
func withPlaces(html string, post int64) string {
	if !strings.Contains(html, `="`+attachmentScheme+`:`) {
		return html
	}
	const src, href = ` src="`, ` href="`
	const named, byID = attachmentScheme + ":", attachmentScheme + ":/"
	path := filesPath(post)
	return strings.NewReplacer(src+byID, src+"/attachments/", src+named, src+path, href+byID, href+"/attachments/", href+named, href+path).Replace(html)
}

// filesPath is where the files at a post are, by their names.
func filesPath(post int64) string { return "/posts/" + kernel.Itoa(post) + "/files/" }

// NotPlaced leaves out the images that a post shows in its text. A name there is
// that of the newest file of the name.
func NotPlaced(list []Attachment, html string) (rest []Attachment) {
	newest := make(map[string]int64, len(list))
	for _, f := range list {
		newest[f.Name] = max(newest[f.Name], f.ID)
	}
	for _, f := range list {
		byID, byName := `src="/attachments/`+kernel.Itoa(f.ID)+`"`, `src="`+filesPath(f.Post)+escape.EscapeString(url.PathEscape(f.Name))+`"`
		if !f.Inline() || !strings.Contains(html, byID) && (f.ID != newest[f.Name] || !strings.Contains(html, byName)) {
			rest = append(rest, f)
		}
	}
	return rest
}

// PlacedFile finds a file at a post by its name, the newest of several.
func (s *Service) PlacedFile(ctx context.Context, a *rights.Actor, post int64, name string) (*Attachment, error) {
	var id int64
	err := s.Read(ctx, func(c store.Conn) error {
		return kernel.OrNotFound(c.Row("SELECT id FROM board_attachments WHERE post_id = ? AND name = ? AND removed_at IS NULL ORDER BY id DESC LIMIT 1", post, name).Scan(&id))
	})
	if err != nil {
		return nil, err
	}
	return s.Attachment(ctx, a, id) // with the rights
}
