package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/imagemeta"
	"github.com/tollgate-gateway/tollgate/internal/imagemeta/imagetest"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

// shelf is a store of content with a table of its users.
type shelf struct {
	*Store
	t    *testing.T
	db   *store.DB
	root string // the folder; empty in a database
	now  time.Time
}

var databases = storetest.Fixture{Schemas: []store.Schema{Schema("test")}}

// onEach runs the test with content in the database of each engine, and in a folder.
func onEach(t *testing.T, test func(t *testing.T, s *shelf)) {
	t.Helper()
	run := func(t *testing.T, db *store.DB, folder string) {
		t.Helper()
		s := &shelf{t: t, db: db, root: folder, now: time.Now()}
		s.exec("CREATE TABLE users_of (hash TEXT)")
		s.exec("CREATE TABLE drafts (sha256 TEXT, thrown_away BIGINT)")
		s.Store = New(db, Options{Folder: folder, Table: "test_contents", Uses: []Use{{Table: "users_of", Column: "hash"}, {Table: "drafts", Column: "sha256", Where: "thrown_away = 0 OR thrown_away = 2"}}, Now: func() time.Time { return s.now }})
		test(t, s)
	}
	databases.OnBoth(t, func(t *testing.T, db *store.DB) { run(t, db, "") })
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		run(t, databases.SQLite(t), filepath.Join(t.TempDir(), "files"))
	})
}

func (s *shelf) exec(query string, args ...any) {
	s.t.Helper()
	err := s.db.Write(s.t.Context(), func(c store.Conn) error {
		_, err := c.Exec(query, args...)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// put stores content under a name.
func (s *shelf) put(name, content string) File {
	s.t.Helper()
	r, err := s.Receive(name, strings.NewReader(content), 1<<20)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Close()
	if err := s.Keep(s.t.Context(), r); err != nil {
		s.t.Fatal(err)
	}
	return r.File
}

func (s *shelf) get(f File, byteRange string) (*httptest.ResponseRecorder, error) {
	s.t.Helper()
	content, err := s.Open(s.t.Context(), &f)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Range", byteRange)
	Serve(w, r, &f, s.now, content)
	_, err = content.Read(make([]byte, 1))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return w, err
}

func TestStore(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *shelf) {
		large := strings.Repeat("0123456789abcdef", 50_000) // more than three parts
		f := s.put(`C:\notes\Ünï.txt`, large)
		sum := sha256.Sum256([]byte(large))
		if want := (File{Name: "Ünï.txt", MediaType: "text/plain; charset=utf-8", Size: int64(len(large)), Hash: hex.EncodeToString(sum[:])}); f != want {
			t.Errorf("%+v, want %+v", f, want)
		}
		w, err := s.get(f, "")
		if err != nil || w.Body.String() != large || w.Header().Get("Content-Disposition") != `attachment; filename="_n_.txt"; filename*=UTF-8''%C3%9Cn%C3%AF.txt` {
			t.Errorf("%d bytes, %v, %v", w.Body.Len(), w.Header(), err)
		}
		if w, err := s.get(f, "bytes=262140-262149"); err != nil || w.Code != http.StatusPartialContent || w.Body.String() != large[262140:262150] {
			t.Errorf("%d %q %v", w.Code, w.Body, err)
		}
		image := s.put("a.png", imagetest.Picture(t, "png", 3, 2))
		if image.Width != 3 || image.Height != 2 || !image.Inline() || f.Inline() {
			t.Errorf("%+v", image)
		}
		stripped, err := s.Strip(t.Context(), &image)
		if err != nil || stripped.File != image {
			t.Fatalf("%+v, %v", stripped, err)
		}
		stripped.Close()
		if _, err := s.Strip(t.Context(), &f); !errors.Is(err, imagemeta.ErrBroken) {
			t.Errorf("a text is stripped: %v", err)
		}
	})
}

// TestSweep checks that a sweep keeps content that is young, is used or was stored again.
func TestSweep(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *shelf) {
		used, unused, anew, draft := s.put("a.txt", "used"), s.put("a.txt", "unused"), s.put("a.txt", "anew"), s.put("a.txt", "draft")
		s.exec("INSERT INTO users_of (hash) VALUES (?)", used.Hash)
		s.exec("INSERT INTO drafts (sha256, thrown_away) VALUES (?, 0), (?, 1)", draft.Hash, unused.Hash)
		sweep := func(want int) {
			t.Helper()
			if n, err := s.Sweep(t.Context(), s.now.Add(-time.Hour)); n != want || err != nil {
				t.Errorf("%d swept, want %d: %v", n, want, err)
			}
		}
		sweep(0)
		if s.root != "" { // in a folder, the times are those of the file system
			mtime := s.now.Add(-2 * time.Hour)
			for _, f := range []File{used, unused, anew, draft} {
				if err := os.Chtimes(filepath.Join(s.root, f.Hash[:2], f.Hash), mtime, mtime); err != nil {
					t.Fatal(err)
				}
			}
		} else {
			s.now = s.now.Add(2 * time.Hour)
		}
		s.put("b.txt", "anew")
		sweep(1)
		sweep(0)
		for _, f := range []File{used, anew, draft} {
			if w, err := s.get(f, ""); err != nil || int64(w.Body.Len()) != f.Size {
				t.Errorf("%+v: %v", f, err)
			}
		}
		if _, err := s.get(unused, ""); !errors.Is(err, ErrGone) {
			t.Errorf("%v", err)
		}
	})
}

// TestReceive checks that faults of the sender are reported as such, and that nothing is left of the content.
func TestReceive(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "files")
	s := New(nil, Options{Folder: root})
	refused := func(field, reason string) error { return &Error{Field: field, Reason: reason} }
	for _, test := range []struct {
		name    string
		content io.Reader
		want    error
	}{
		{"", strings.NewReader("x"), refused("name", "required")},
		{"a.html", strings.NewReader("x"), refused("name", "type")},
		{"a.txt", strings.NewReader(""), refused("file", "required")},
		{"a.txt", strings.NewReader("<html>"), refused("file", "type")},
		{"a.png", strings.NewReader(imagetest.Picture(t, "png", 1, 1)[:20]), refused("file", "image")},
		{"a.jpg", strings.NewReader(imagetest.Picture(t, "jpeg", 8, 8)[:300]), refused("file", "image")},
		{"a.txt", strings.NewReader(strings.Repeat("x", 1001)), ErrTooLarge},
		{"a.txt", http.MaxBytesReader(nil, io.NopCloser(strings.NewReader("twelve bytes")), 5), ErrTooLarge},
		{"a.txt", io.MultiReader(strings.NewReader("abc"), brokenReader{}), ErrIncomplete},
	} {
		_, err := s.Receive(test.name, test.content, 1000)
		want, isError := errors.AsType[*Error](test.want)
		got, _ := errors.AsType[*Error](err)
		if isError && (got == nil || got.Field != want.Field || got.Reason != want.Reason) || !isError && !errors.Is(err, test.want) {
			t.Errorf("%q: %v, want %v", test.name, err, test.want)
		}
	}
	r, err := s.Receive("a.txt", strings.NewReader("abc"), 3)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
