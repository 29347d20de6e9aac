package markup

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/blob"
)

// A text names files of the board by attachment:NAME, a file at the post itself,
// or by the address of any file. Stored HTML has attachment:NAME or
// attachment:/ID; where it is shown these become paths, as a new post has no id
// when its text is rendered.

const scheme = "attachment"

// filePath is the address of a file, on pages or of the API.
var filePath = regexp.MustCompile(`^(?:` + kernel.Mount + `)?/attachments(/[1-9][0-9]{0,17})$`)

// placeFile rewrites the destination of a link or an image to the form that stored HTML has, where it is a
// file of the board.
func placeFile(to []byte) []byte {
	if match := filePath.FindSubmatch(to); match != nil {
		return append([]byte(scheme+":"), match[1]...)
	}
	name, ok := strings.CutPrefix(string(to), scheme+":")
	if !ok {
		return to
	}
	if plain, err := url.PathUnescape(name); err == nil { // spaces can be written either way
		name = plain
	}
	return []byte(scheme + ":" + url.PathEscape(name))
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

// WithPaths makes paths of the files in stored HTML. Quotes in texts are escaped, so
// it finds attributes only, and of these the addresses.
func WithPaths(html string, post int64) string {
	if !strings.Contains(html, `="`+scheme+`:`) {
		return html
	}
	const src, href = ` src="`, ` href="`
	const named, byID = scheme + ":", scheme + ":/"
	path := FilesPath(post)
	return strings.NewReplacer(src+byID, src+"/attachments/", src+named, src+path, href+byID, href+"/attachments/",
		href+named, href+path).Replace(html)
}

// FilesPath returns the path under which the files at a post are found by their names.
func FilesPath(post int64) string { return "/posts/" + kernel.Itoa(post) + "/files/" }
