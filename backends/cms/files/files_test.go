package files

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/migrations"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var databases = storetest.Fixture{Schemas: migrations.Schemas()}

var guest = &kernel.User{ID: 1, Name: "guest", Roles: []string{"guest"}}

// newSite returns a site with one published page, which has fields for images and documents.
func newSite(t *testing.T, db *store.DB) (*Files, *content.Page) {
	t.Helper()
	server := &kernel.Server{DB: db, Logger: zap.NewNop, Now: time.Now, Site: t.TempDir(), Key: func() []byte { return make([]byte, 32) }}
	pages := content.New(server)
	t.Cleanup(pages.Close)
	if _, err := pages.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	site := kernel.Site()
	for _, f := range []content.Field{
		{Name: "pictures", Type: content.TypeFile, Settings: content.Settings{
			Extensions: []string{"png", "jpg"}, Most: 2, Sizes: []string{"128x", "x32", "64x64c", "64x64", "2560x", "300x300c", "x64", "64x"},
		}},
		{Name: "papers", Type: content.TypeFile, Settings: content.Settings{MaxBytes: 20}},
	} {
		if _, err := pages.SaveField(t.Context(), site, f); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pages.SaveTemplate(t.Context(), site, content.Template{Name: "post", Fields: []string{"pictures", "papers"}, View: []string{"guest"}}); err != nil {
		t.Fatal(err)
	}
	top, err := pages.At(t.Context(), site, "/")
	if err != nil {
		t.Fatal(err)
	}
	title, status := "Page", "published"
	page, err := pages.Save(t.Context(), site, content.Edit{Parent: top.ID, Template: "post", Title: &title, Status: &status})
	if err != nil {
		t.Fatal(err)
	}
	return New(server, pages), page
}

// picture returns an image that is red on the left and blue on the right.
func picture(width, height int) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := color.RGBA{R: 255, A: 255}
			if x >= width/2 {
				c = color.RGBA{B: 255, A: 255}
			}
			out.SetRGBA(x, y, c)
		}
	}
	return out
}

func asPNG(t *testing.T, in image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, in); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestFiles(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		f, page := newSite(t, db)
		site := kernel.Site()
		raw := asPNG(t, picture(200, 100))
		for label, c := range map[string]struct {
			user        *kernel.User
			field, name string
			body        string
			want        int
		}{
			"by a guest":      {guest, "pictures", "a.png", string(raw), 403},
			"another type":    {site, "pictures", "a.gif", string(raw), 422},
			"no such field":   {site, "none", "a.png", string(raw), 422},
			"no picture":      {site, "pictures", "a.png", "<script>", 422},
			"a script":        {site, "papers", "a.html", "<script>", 422},
			"too large":       {site, "papers", "a.txt", strings.Repeat("x", 21), 413},
			"as large as may": {site, "papers", "a.txt", strings.Repeat("x", 20), 0},
		} {
			_, err := f.Receive(t.Context(), c.user, content.Place{Page: page.ID, Field: c.field}, c.name, strings.NewReader(c.body))
			if kernel.Status(err) != c.want {
				t.Errorf("%s: %v, want %d", label, err, c.want)
			}
		}
		got, err := f.Receive(t.Context(), site, content.Place{Page: page.ID, Field: "pictures"}, "dir/A picture.png", bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		item, _ := got.Fields["pictures"].([]any)[0].(map[string]any)
		if item["name"] != "A picture.png" || item["width"] != 200.0 || item["type"] != "image/png" {
			t.Errorf("%v", item)
		}
		id := int64(item["id"].(float64))
		serve := func(u *kernel.User, query string) (*httptest.ResponseRecorder, error) {
			w := httptest.NewRecorder()
			return w, f.Serve(w, httptest.NewRequestWithContext(t.Context(), "GET", "/x?"+query, nil), u, id)
		}
		w, err := serve(guest, "")
		if err != nil || w.Code != 200 || w.Header().Get("Content-Type") != "image/png" || w.Header().Get("Content-Security-Policy") == "" {
			t.Fatalf("%d %v, error %v", w.Code, w.Header(), err)
		}
		for query, size := range map[string]image.Point{
			"width=128": {128, 64}, "height=32": {64, 32}, "width=64&height=64&fit=cover": {64, 64}, "width=64&height=64": {64, 32}, "width=2560": {200, 100}, "width=300&height=300&fit=cover": {100, 100}, f.Query(id, content.Size{Width: 50}): {50, 25},
		} {
			w, err := serve(guest, query)
			if err != nil {
				t.Errorf("%s: %v", query, err)
				continue
			}
			tag := w.Header().Get("ETag")
			small, err := png.Decode(w.Body)
			if err != nil || small.Bounds().Size() != size {
				t.Errorf("%s: %v, error %v", query, small.Bounds(), err)
				continue
			}
			left, right := small.At(1, 1), small.At(size.X-2, 1)
			if r, _, b, _ := left.RGBA(); r>>8 < 250 || b>>8 > 5 {
				t.Errorf("%s: at the left %v", query, left)
			}
			if r, _, b, _ := right.RGBA(); b>>8 < 250 || r>>8 > 5 {
				t.Errorf("%s: at the right %v", query, right)
			}
			second, err := serve(guest, query)
			if err != nil || second.Header().Get("ETag") != tag {
				t.Errorf("%s: %v", query, err)
			}
		}
		for _, query := range []string{"width=0", "width=2561", "height=x", "fit=cover", "width=5&fit=none"} {
			if _, err := serve(guest, query); kernel.Status(err) != 400 {
				t.Errorf("%s: %v", query, err)
			}
		}
		// A size that the field does not allow is made only for those who have a signature of it.
		other := f.Query(id+1, content.Size{Width: 51})
		for _, query := range []string{"width=100", "width=51&sig=x", other, strings.Replace(f.Query(id, content.Size{Width: 50}), "50", "51", 1)} {
			if _, err := serve(site, query); kernel.Status(err) != 403 {
				t.Errorf("%s: %v", query, err)
			}
		}
		cached, err := filepath.Glob(filepath.Join(f.Site, "cache", "images", "*", "*"))
		if err != nil || len(cached) != 6 {
			t.Errorf("kept %v, error %v", cached, err)
		}
		// A file that its page no longer has is shown only to editors, until a revision brings it back.
		none := content.Edit{ID: page.ID, Fields: map[string]any{"pictures": nil}}
		if _, err := f.pages.Save(t.Context(), site, none); err != nil {
			t.Fatal(err)
		}
		if _, err := serve(guest, ""); kernel.Status(err) != 404 {
			t.Errorf("a guest sees what was taken away: %v", err)
		}
		if _, err := serve(site, ""); err != nil {
			t.Error(err)
		}
		revisions, err := f.pages.Revisions(t.Context(), site, page.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.pages.Revert(t.Context(), site, page.ID, revisions[0].Revision, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := serve(guest, "width=64"); err != nil {
			t.Error(err)
		}
		// The content of files is deleted with their page.
		if n, err := f.Sweep(t.Context()); n != 0 || err != nil {
			t.Errorf("swept %d, error %v", n, err)
		}
		if _, err := f.pages.Trash(t.Context(), site, page.ID, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := serve(guest, ""); kernel.Status(err) != 404 {
			t.Errorf("a guest sees the trash: %v", err)
		}
		if err := f.pages.Delete(t.Context(), site, page.ID); err != nil {
			t.Fatal(err)
		}
		f.Now = func() time.Time { return time.Now().Add(2 * keepFor) }
		later := New(f.Server, f.pages)
		if n, err := later.Sweep(t.Context()); n != 2 || err != nil {
			t.Errorf("swept %d, error %v", n, err)
		}
	})
}

// TestRotatedImageIsScaledUpright checks that an image that lies on its side is scaled upright.
func TestRotatedImageIsScaledUpright(t *testing.T) {
	t.Parallel()
	f, page := newSite(t, databases.SQLite(t))
	var plain bytes.Buffer
	if err := jpeg.Encode(&plain, picture(200, 100), nil); err != nil {
		t.Fatal(err)
	}
	exif := append([]byte("Exif\x00\x00"), 'M', 'M', 0, '*', 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0)
	raw := append([]byte{0xff, 0xd8, 0xff, 0xe1}, 0, 34) // bytes of it, with these two
	raw = append(append(raw, exif...), plain.Bytes()[2:]...)
	got, err := f.Receive(t.Context(), kernel.Site(), content.Place{Page: page.ID, Field: "pictures"}, "a.jpg", bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	item, _ := got.Fields["pictures"].([]any)[0].(map[string]any)
	if item["width"] != 100.0 || item["height"] != 200.0 {
		t.Errorf("it is %v wide and %v high", item["width"], item["height"])
	}
	w := httptest.NewRecorder()
	if err := f.Serve(w, httptest.NewRequestWithContext(t.Context(), "GET", "/x?height=64", nil), guest, int64(item["id"].(float64))); err != nil {
		t.Fatal(err)
	}
	small, err := jpeg.Decode(w.Body)
	if err != nil || small.Bounds().Size() != image.Pt(32, 64) {
		t.Fatalf("%v, error %v", small.Bounds(), err)
	}
	if r, _, b, _ := small.At(16, 5).RGBA(); r>>8 < 200 || b>>8 > 50 { // turned to the right, what was left is above
		t.Errorf("above %d %d", r>>8, b>>8)
	}
}

func TestTurnOrientations(t *testing.T) {
	t.Parallel()
	in := image.NewRGBA(image.Rect(0, 0, 2, 3))
	for i := range 6 {
		in.Pix[4*i] = byte('a' + i)
	}
	for turned, want := range map[byte]string{1: "ab/cd/ef", 2: "ba/dc/fe", 3: "fe/dc/ba", 4: "ef/cd/ab", 5: "ace/bdf", 6: "eca/fdb", 7: "fdb/eca", 8: "bdf/ace"} {
		out := turn(in, turned)
		rows := make([]string, 0, out.Rect.Dy())
		for y := range out.Rect.Dy() {
			row := ""
			for x := range out.Rect.Dx() {
				row += string(rune(out.Pix[out.PixOffset(x, y)]))
			}
			rows = append(rows, row)
		}
		if got := strings.Join(rows, "/"); got != want {
			t.Errorf("%d: %s, want %s", turned, got, want)
		}
	}
}

func BenchmarkSmaller(b *testing.B) {
	in := picture(4000, 3000)
	part, newSize := fit(content.Size{Width: 800}, 4000, 3000)
	for b.Loop() {
		scale(in, part, newSize)
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"640x": true, "x480": true, "640x480": true, "640x480c": true, "2560x2560": true,
		"": false, "x": false, "640": false, "640xc": false, "0x5": false, "05x": false, "+5x": false, "-5x": false, "2561x": false, "5x5C": false, "5x5 ": false, "5x5x": false,
	} {
		if size, ok := content.ParseSize(text); ok != want || ok && size.String() != text {
			t.Errorf("%q: %v %v", text, size, ok)
		}
	}
}

// FuzzSize checks that what ParseSize accepts is valid, and that String returns it unchanged.
func FuzzSize(f *testing.F) {
	f.Add("640x480c")
	f.Fuzz(func(t *testing.T, text string) {
		if size, ok := content.ParseSize(text); ok && (size.String() != text || !size.Valid()) {
			t.Errorf("%q is read as %+v", text, size)
		}
	})
}
