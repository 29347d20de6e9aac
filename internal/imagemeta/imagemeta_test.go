package imagemeta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	stdgif "image/gif"
	stdjpeg "image/jpeg"
	stdpng "image/png"
	"io"
	"strings"
	"testing"
)

const secret = "SECRET"

// camera returns Exif data as a camera writes it, with an orientation and a secret text such as the name of a maker.
func camera(order binary.AppendByteOrder, orientation uint16) []byte {
	head := "MM"
	if order.String() == "LittleEndian" {
		head = "II"
	}
	out := order.AppendUint16([]byte(head), 42)
	out = order.AppendUint32(out, 8)
	out = order.AppendUint16(out, 2)
	for _, e := range []struct {
		tag, kind uint16
		count, at uint32
	}{{0x010f, 2, 7, 38}, {0x0112, 3, 1, 0}} {
		out = order.AppendUint16(out, e.tag)
		out = order.AppendUint16(out, e.kind)
		out = order.AppendUint32(out, e.count)
		if e.tag == 0x0112 {
			out = order.AppendUint16(out, orientation)
			out = append(out, 0, 0)
		} else {
			out = order.AppendUint32(out, e.at)
		}
	}
	return append(order.AppendUint32(out, 0), secret+"\x00"...)
}

func picture() image.Image {
	img := image.NewRGBA(image.Rect(0, 0, 40, 30))
	for y := range 30 {
		for x := range 40 {
			img.Set(x, y, color.RGBA{uint8(x * 6), uint8(y * 8), uint8(x * y % 256), 255})
		}
	}
	return img
}

func segment(marker byte, body string) string {
	n := len(body) + 2
	return string([]byte{0xff, marker, byte(n >> 8 & 0xff), byte(n & 0xff)}) + body
}

func jpegWith(tb testing.TB, segments, behind string) string {
	tb.Helper()
	var out bytes.Buffer
	if err := stdjpeg.Encode(&out, picture(), nil); err != nil {
		tb.Fatal(err)
	}
	text := out.String()
	// A comment between the tables and the picture too.
	return strings.Replace(text[:2]+segments+text[2:], "\xff\xda", segment(jpegCOM, secret)+"\xff\xff\xda", 1) + behind
}

func chunk(kind, body string) string {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(body))) //nolint:gosec // short
	out = append(out, kind+body...)
	return string(binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:])))
}

func pngWith(tb testing.TB, chunks, behind string) string {
	tb.Helper()
	var out bytes.Buffer
	if err := stdpng.Encode(&out, picture()); err != nil {
		tb.Fatal(err)
	}
	const header = 8 + 12 + 13
	return out.String()[:header] + chunks + out.String()[header:] + behind
}

func gifWith(tb testing.TB, behind string) string {
	tb.Helper()
	frame := func(shade uint8) *image.Paletted {
		p := image.NewPaletted(image.Rect(0, 0, 20, 10), color.Palette{color.Black, color.Gray{shade}})
		p.Pix[7] = 1
		return p
	}
	var out bytes.Buffer
	if err := stdgif.EncodeAll(&out, &stdgif.GIF{Image: []*image.Paletted{frame(9), frame(200)}, Delay: []int{7, 8}, LoopCount: 3}); err != nil {
		tb.Fatal(err)
	}
	text := out.String()
	extra := "\x21\xfe\x06" + secret + "\x00" + "\x21\xff\x0bXMP DataXMP\x06" + secret + "\x00" + "\x21\xff\x0bNETSCAPE2.0\x07\x02" + secret + "\x00" +
		"\x21\xf9\x04\x00\x00\x00\x00\x00" + "\x21\x01\x0c............\x06" + secret + "\x00"
	return strings.Replace(text, "\x21\xf9\x04", extra+"\x21\xf9\x04", 1) + behind
}

func riff(kind, body string) string {
	out := binary.LittleEndian.AppendUint32([]byte(kind), uint32(len(body))) //nolint:gosec // short
	return string(out) + body + strings.Repeat("\x00", len(body)&1)
}

func webpFile(chunks ...string) string { return riff("RIFF", "WEBP"+strings.Join(chunks, "")) }

const vp8l = "\x2f\x02\x40\x00\x00" // 5 bytes: padded

func extended(flags byte) string {
	return riff("VP8X", string([]byte{flags, 0, 0, 0, 2, 0, 0, 1, 0, 0}))
}

// files returns images with metadata of every kind, by media type. Each image comes with the exact file that must
// remain after stripping, or with an empty text where that is not known.
func files(tb testing.TB) map[string][][2]string {
	tb.Helper()
	big, little := string(camera(binary.BigEndian, 6)), string(camera(binary.LittleEndian, 8))
	upright := string(camera(binary.BigEndian, 1))
	jfif := segment(jpegAPP0, "JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00")
	profile := segment(jpegAPP2, "ICC_PROFILE\x00\x01\x01profile")
	exif := func(tiff string) string { return segment(jpegAPP1, "Exif\x00\x00"+tiff) }
	return map[string][][2]string{
		"image/jpeg": {
			{
				jpegWith(tb, segment(jpegAPP0, "JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x02\x01"+secret)+segment(jpegAPP0, "JFXX\x00"+secret)+exif(big)+exif(upright)+
					segment(jpegAPP1, "http://ns.adobe.com/xap/1.0/\x00"+secret)+profile+segment(jpegAPP2, "MPF\x00"+secret)+segment(0xed, "Photoshop 3.0\x00"+secret)+
					segment(jpegCOM, secret), "\xff\xd8"+secret),
				strings.Replace(jpegWith(tb, jfif+exif(string(exifWith(6)))+profile, ""), segment(jpegCOM, secret)+"\xff", "", 1),
			},
			{jpegWith(tb, exif(little), ""), strings.Replace(jpegWith(tb, exif(string(exifWith(8))), ""), segment(jpegCOM, secret)+"\xff", "", 1)},
			{jpegWith(tb, exif(upright)+segment(jpegAPPE, "Adobe\x00\x64\x00\x00\x00\x00\x01"+secret), ""), strings.Replace(jpegWith(tb, segment(jpegAPPE, "Adobe\x00\x64\x00\x00\x00\x00\x01"), ""), segment(jpegCOM, secret)+"\xff", "", 1)},
		},
		"image/png": {
			{
				pngWith(tb, chunk("gAMA", "\x00\x00\xb1\x8f")+chunk("tEXt", "Comment\x00"+secret)+chunk("zTXt", secret)+chunk("iTXt", secret)+chunk("tIME", secret+".")+chunk("eXIf", big)+chunk("caBX", secret), secret),
				pngWith(tb, chunk("gAMA", "\x00\x00\xb1\x8f")+chunk("eXIf", string(exifWith(6))), ""),
			},
			{pngWith(tb, chunk("eXIf", upright), ""), pngWith(tb, "", "")},
		},
		"image/gif": {{gifWith(tb, secret), ""}},
		"image/webp": {
			{
				webpFile(extended(0x1c), riff("ICCP", "icc"), riff("VP8L", vp8l), riff("EXIF", little), riff("XMP ", secret), riff("what", secret)) + secret,
				webpFile(extended(0x18), riff("ICCP", "icc"), riff("VP8L", vp8l), riff("EXIF", string(exifWith(8)))),
			},
			{webpFile(extended(0x0c), riff("VP8L", vp8l), riff("EXIF", "Exif\x00\x00"+upright)), webpFile(extended(0), riff("VP8L", vp8l))},
			{webpFile(riff("VP8L", vp8l), riff("EXIF", big)), webpFile(riff("VP8L", vp8l))},
			{
				webpFile(extended(0x02), riff("ANIM", "\x00\x00\x00\x00\x00\x00"), riff("ANMF", strings.Repeat("\x00", 16)+riff("VP8L", vp8l)), riff("XMP ", secret+"!!")),
				webpFile(extended(0x02), riff("ANIM", "\x00\x00\x00\x00\x00\x00"), riff("ANMF", strings.Repeat("\x00", 16)+riff("VP8L", vp8l))),
			},
		},
	}
}

// TestStrip checks that a stripped file contains the whole picture and nothing else.
func TestStrip(t *testing.T) {
	t.Parallel()
	for media, list := range files(t) {
		for i, file := range list {
			var out bytes.Buffer
			if _, err := Strip(&out, strings.NewReader(file[0]), media); err != nil {
				t.Errorf("%s %d: %v", media, i, err)
				continue
			}
			if strings.Contains(out.String(), secret) || !strings.Contains(file[0], secret) {
				t.Errorf("%s %d: the secret is there: %q", media, i, out.String())
			}
			if file[1] != "" && out.String() != file[1] {
				t.Errorf("%s %d:\n%q, want\n%q", media, i, out.String(), file[1])
			}
			if media == "image/webp" {
				continue
			}
			before, after := frames(t, file[0], media), frames(t, out.String(), media)
			if len(before) != len(after) || len(before) == 0 {
				t.Fatalf("%s %d: %d pictures, want %d", media, i, len(after), len(before))
			}
			for n := range before {
				for y := range before[n].Bounds().Dy() {
					for x := range before[n].Bounds().Dx() {
						if before[n].At(x, y) != after[n].At(x, y) {
							t.Fatalf("%s %d: the pixel at %d, %d differs", media, i, x, y)
						}
					}
				}
			}
		}
	}
}

// frames decodes the pictures of a file.
func frames(t *testing.T, file, media string) (list []image.Image) {
	t.Helper()
	if media != "image/gif" {
		img, _, err := image.Decode(strings.NewReader(file))
		if err != nil {
			t.Fatalf("%s: %v", media, err)
		}
		return []image.Image{img}
	}
	all, err := stdgif.DecodeAll(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if all.LoopCount != 3 || all.Delay[0] != 7 || all.Delay[1] != 8 {
		t.Errorf("%d times, delays %v", all.LoopCount, all.Delay)
	}
	for _, img := range all.Image {
		list = append(list, img)
	}
	return list
}

// TestBroken checks that a truncated file is refused wherever it ends.
func TestBroken(t *testing.T) {
	t.Parallel()
	for media, list := range files(t) {
		for i, file := range list {
			whole := file[0]
			if pos := strings.LastIndex(whole, secret); pos >= 0 && pos+len(secret) == len(whole) {
				whole = whole[:pos] // without the data behind the image
			}
			whole = strings.TrimSuffix(whole, "\xff\xd8")
			for n := range len(whole) {
				if _, err := Strip(io.Discard, strings.NewReader(whole[:n]), media); !errors.Is(err, ErrBroken) {
					t.Fatalf("%s %d: the first %d of %d bytes pass: %v", media, i, n, len(whole), err)
				}
			}
			if _, err := Strip(io.Discard, strings.NewReader(whole), media); err != nil {
				t.Errorf("%s %d: %v", media, i, err)
			}
		}
	}
	if _, err := Strip(io.Discard, strings.NewReader("x"), "image/bmp"); !errors.Is(err, ErrBroken) || Knows("image/bmp") || !Knows("image/png") {
		t.Error(err)
	}
	flipped := []byte(pngWith(t, "", ""))
	flipped[len(flipped)-20] ^= 1
	if _, err := Strip(io.Discard, bytes.NewReader(flipped), "image/png"); !errors.Is(err, ErrBroken) {
		t.Errorf("a wrong checksum passes: %v", err)
	}
}

// fuzz checks that no input makes a parser panic or write more than it read, and that parsing its output again does not
// change it.
func fuzz(f *testing.F, media string) {
	f.Helper()
	for _, file := range files(f)[media] {
		f.Add([]byte(file[0]))
		f.Add([]byte(file[0][:len(file[0])/2]))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		var once, twice bytes.Buffer
		_, err := Strip(&once, bytes.NewReader(file), media)
		if once.Len() > len(file)+64 {
			t.Fatalf("%d bytes of %d", once.Len(), len(file))
		}
		if err != nil {
			if !errors.Is(err, ErrBroken) {
				t.Fatal(err)
			}
			return
		}
		if _, err := Strip(&twice, bytes.NewReader(once.Bytes()), media); err != nil || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Fatalf("the second time the result differs: %v\n%q\n%q", err, once.Bytes(), twice.Bytes())
		}
	})
}

func FuzzJPEG(f *testing.F) { fuzz(f, "image/jpeg") }
func FuzzPNG(f *testing.F)  { fuzz(f, "image/png") }
func FuzzGIF(f *testing.F)  { fuzz(f, "image/gif") }
func FuzzWebP(f *testing.F) { fuzz(f, "image/webp") }

// BenchmarkStrip shows that memory use does not grow with the image.
func BenchmarkStrip(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 20} {
		file := strings.NewReader(pngWith(b, chunk("tEXt", strings.Repeat("x", size)), ""))
		b.Run(strings.TrimSpace(image.Pt(size, 1).String()), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := file.Seek(0, io.SeekStart); err != nil {
					b.Fatal(err)
				}
				if _, err := Strip(io.Discard, file, "image/png"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestOrientationOfStripped(t *testing.T) {
	t.Parallel()
	for o := byte(1); o <= 8; o++ {
		var out bytes.Buffer
		turn, err := Strip(&out, strings.NewReader(jpegWith(t, segment(jpegAPP1, "Exif\x00\x00"+string(camera(binary.BigEndian, uint16(o)))), "")), "image/jpeg")
		if err != nil || turn != o {
			t.Fatalf("%d is %d (%v)", o, turn, err)
		}
		if got := Turned(out.Bytes()); got != o {
			t.Errorf("%d is %d", o, got)
		}
	}
}
