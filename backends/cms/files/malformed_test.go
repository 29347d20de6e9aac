package files

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"net/http/httptest"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
)

// chunk returns a chunk of a PNG file.
func chunk(name, data string) string {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(data))) //nolint:gosec // a few bytes
	out = append(append(out, name...), data...)
	return string(binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:])))
}

// TestOddImages checks that an image whose first frame does not fill it is scaled as a whole, and that one whose
// pixels cannot be decoded is served unchanged.
func TestOddImages(t *testing.T) {
	t.Parallel()
	f, page := newSite(t, databases.SQLite(t))
	site := kernel.Site()
	field, err := f.pages.Field(t.Context(), site, "pictures")
	if err != nil {
		t.Fatal(err)
	}
	field.Settings.Extensions = nil
	if _, err := f.pages.SaveField(t.Context(), site, *field); err != nil {
		t.Fatal(err)
	}
	part := image.NewPaletted(image.Rect(100, 40, 180, 90), color.Palette{color.Transparent, color.RGBA{R: 255, A: 255}})
	for i := range part.Pix {
		part.Pix[i] = 1
	}
	var animated bytes.Buffer
	if err := gif.EncodeAll(&animated, &gif.GIF{Image: []*image.Paletted{part}, Delay: []int{0}, Config: image.Config{ColorModel: part.Palette, Width: 200, Height: 100}}); err != nil {
		t.Fatal(err)
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 200), 100)
	broken := "\x89PNG\r\n\x1a\n" + chunk("IHDR", string(head)+"\x08\x06\x00\x00\x00") + chunk("IDAT", "no pixels") + chunk("IEND", "")
	serve := func(name, body string) *httptest.ResponseRecorder {
		t.Helper()
		got, err := f.Receive(t.Context(), site, content.Place{Page: page.ID, Field: "pictures"}, name, bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		items, _ := got.Fields["pictures"].([]any)
		item, _ := items[len(items)-1].(map[string]any)
		w := httptest.NewRecorder()
		id, _ := item["id"].(float64)
		if err := f.Serve(w, httptest.NewRequestWithContext(t.Context(), "GET", "/x?width=64", nil), guest, int64(id)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return w
	}
	small, _, err := image.Decode(serve("a.gif", animated.String()).Body)
	if err != nil {
		t.Fatal(err)
	}
	if small.Bounds().Size() != image.Pt(64, 32) {
		t.Errorf("%v", small.Bounds())
	}
	if _, _, _, alpha := small.At(5, 5).RGBA(); alpha != 0 {
		t.Errorf("beside the picture: %v", small.At(5, 5))
	}
	if red, _, _, _ := small.At(45, 20).RGBA(); red>>8 < 250 {
		t.Errorf("in the picture: %v", small.At(45, 20))
	}
	if w := serve("b.png", broken); w.Body.String() != broken || w.Header().Get("Content-Type") != "image/png" {
		t.Errorf("%d bytes of %s", w.Body.Len(), w.Header().Get("Content-Type"))
	}
}
