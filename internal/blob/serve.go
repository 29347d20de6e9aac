package blob

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// Serve answers with a file, or with the requested range of the file. content is the file's content, and modified is
// its modification time. The headers let a browser show images but run no code. The caller sets Cache-Control
// beforehand, and may set Cross-Origin-Resource-Policy, which is otherwise "same-origin".
func Serve(w http.ResponseWriter, r *http.Request, f *File, modified time.Time, content io.ReadSeeker) {
	h := w.Header()
	h.Set("Content-Type", f.MediaType)
	h.Set("Content-Disposition", disposition(f))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	if h.Get("Cross-Origin-Resource-Policy") == "" {
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
	}
	h.Set("ETag", `"`+f.Hash+`"`)
	http.ServeContent(w, r, "", modified, content)
}

// disposition returns the Content-Disposition with the name of the file (RFC 6266). Browsers download any file except
// an image.
func disposition(f *File) string {
	kind := "attachment"
	if f.Inline() {
		kind = "inline"
	}
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' || r == '%' {
			return '_'
		}
		return r
	}, f.Name)
	return kind + `; filename="` + plain + `"; filename*=UTF-8''` + extValue(f.Name)
}

// extValue encodes a text according to RFC 8187.
func extValue(text string) string {
	const hexadecimal = "0123456789ABCDEF"
	var out strings.Builder
	for _, b := range []byte(text) {
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' ||
			strings.IndexByte("!#$&+-.^_`|~", b) >= 0 {
			out.WriteByte(b)
			continue
		}
		out.WriteString(string([]byte{'%', hexadecimal[b>>4], hexadecimal[b&15]}))
	}
	return out.String()
}
