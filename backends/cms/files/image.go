package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/blob"
	"github.com/tollgate-gateway/tollgate/internal/imagemeta"
)

const (
	// maxPixels limits the size of images that are scaled, in pixels. Larger images are served unchanged.
	maxPixels = 24_000_000
	// maxConcurrent limits how many images are decoded at the same time: each needs up to 8 bytes per pixel.
	maxConcurrent = 2
	// maxCache limits the total size of scaled images that are kept, in bytes.
	maxCache = 2 << 30
	// quality is the JPEG quality of scaled images, from 1 to 100.
	quality = 82
)

// canScale reports whether a file is an image that can be scaled.
func canScale(f *blob.File) bool {
	switch f.MediaType {
	case "image/jpeg", "image/png", "image/gif":
		return f.Width > 0 && f.Width*f.Height <= maxPixels
	}
	return false
}

// The reasons for serving an image unchanged.
var (
	errNotSmaller = errors.New("the image is not larger than the requested size")
	errUnreadable = errors.New("the image cannot be read")
)

// cache stores scaled images on disk, under the hash of the original file.
type cache struct {
	folder string
	gate   chan struct{} // has an element for each call that is scaling an image
}

// newCache returns a cache in the given folder, which need not exist yet.
func newCache(folder string) *cache { return &cache{folder, make(chan struct{}, maxConcurrent)} }

// get returns a scaled image, which the caller must close, and its media type. src is the content of the original file
// f. The error may be errNotSmaller or errUnreadable. At most maxConcurrent calls scale images at the same time; others
// wait.
func (c *cache) get(
	ctx context.Context, f *blob.File, size content.Size, src io.Reader,
) (_ *os.File, mediaType string, err error) {
	extension := ".png"
	mediaType = "image/png"
	if f.MediaType == "image/jpeg" {
		mediaType, extension = f.MediaType, ".jpg"
	}
	file := filepath.Join(c.folder, f.Hash[:2], f.Hash+"-"+size.String()+extension)
	if cached, err := os.Open(file); err == nil {
		return cached, mediaType, nil
	}
	select {
	case c.gate <- struct{}{}:
		defer func() { <-c.gate }()
	case <-ctx.Done():
		return nil, "", apierror.Unavailable("the scaling of images", ctx.Err())
	}
	if cached, err := os.Open(file); err == nil { // another call has created it in the meantime
		return cached, mediaType, nil
	}
	scaledImage, err := scaleDown(f, size, src)
	if err != nil {
		return nil, "", err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, "", err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), ".making-*")
	if err != nil {
		return nil, "", err
	}
	defer os.Remove(temporary.Name()) //nolint:errcheck // it has been renamed by then, unless there was an error
	if mediaType == "image/jpeg" {
		err = jpeg.Encode(temporary, scaledImage, &jpeg.Options{Quality: quality})
	} else {
		err = png.Encode(temporary, scaledImage)
	}
	if err = errors.Join(err, temporary.Close()); err != nil {
		return nil, "", fmt.Errorf("writing a scaled image: %w", err)
	}
	if err := os.Rename(temporary.Name(), file); err != nil {
		return nil, "", err
	}
	scaled, err := os.Open(file)
	return scaled, mediaType, err
}

// scaleDown decodes the image in src and scales it down, in its upright orientation.
func scaleDown(f *blob.File, size content.Size, src io.Reader) (image.Image, error) {
	in := bufio.NewReaderSize(src, 256<<10)
	head, err := in.Peek(256 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	orientation := imagemeta.Turned(head)
	raw, _, err := image.DecodeConfig(bytes.NewReader(head))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	bounds := image.Rect(0, 0, raw.Width, raw.Height)
	width, height := raw.Width, raw.Height
	if orientation >= 5 { // the image lies on its side
		width, height = height, width
	}
	part, newSize := fit(size, width, height)
	if part == image.Rect(0, 0, width, height) && newSize.X >= width && newSize.Y >= height {
		return nil, errNotSmaller
	}
	decode := map[string]func(io.Reader) (image.Image, error){ // for the media types of canScale
		"image/jpeg": jpeg.Decode, "image/png": png.Decode, "image/gif": gif.Decode,
	}[f.MediaType]
	read, err := decode(in)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return scale(turn(plain(read, bounds), orientation), part, newSize), nil
}

// fit returns how an image of the given width and height is scaled to s: the part of the image that is used, and the
// resulting size.
func fit(s content.Size, width, height int) (part image.Rectangle, newSize image.Point) {
	part = image.Rect(0, 0, width, height)
	w, h := s.Width, s.Height
	if s.Cover {
		// With Cover, the part is the largest centered rectangle with the requested proportions.
		partWidth, partHeight := width, width*h/w
		if partHeight > height {
			partWidth, partHeight = height*w/h, height
		}
		partWidth, partHeight = max(partWidth, 1), max(partHeight, 1)
		part = image.Rect(0, 0, partWidth, partHeight).Add(image.Pt((width-partWidth)/2, (height-partHeight)/2))
		if w > partWidth || h > partHeight { // the part is smaller than the requested size
			w, h = partWidth, partHeight
		}
		return part, image.Pt(w, h)
	}
	newSize = image.Pt(width, height)
	if w > 0 && newSize.X > w {
		newSize = image.Pt(w, max(1, height*w/width))
	}
	if h > 0 && newSize.Y > h {
		newSize = image.Pt(max(1, width*h/height), h)
	}
	return part, newSize
}

// plain converts an image to premultiplied RGBA. The result has the given bounds; the first frame of a GIF may be
// smaller.
func plain(src image.Image, bounds image.Rectangle) *image.RGBA {
	out := image.NewRGBA(bounds)
	draw.Draw(out, src.Bounds(), src, src.Bounds().Min, draw.Src)
	return out
}

// turn rotates or mirrors an image to make it upright. orientation is the image's Exif orientation. If orientation is
// not from 2 to 8, turn returns src itself.
func turn(src *image.RGBA, orientation byte) *image.RGBA {
	if orientation < 2 || orientation > 8 {
		return src
	}
	width, height := src.Rect.Dx(), src.Rect.Dy()
	size := image.Pt(width, height)
	if orientation >= 5 {
		size = image.Pt(height, width)
	}
	out := image.NewRGBA(image.Rectangle{Max: size})
	for y := range size.Y {
		for x := range size.X {
			sx, sy := x, y        // the source pixel of the pixel x, y
			if orientation >= 5 { // rows are columns: first mirror at the diagonal
				sx, sy = y, x
			}
			switch orientation { // then mirror in the coordinates of src
			case 2, 8:
				sx = width - 1 - sx
			case 3, 7:
				sx, sy = width-1-sx, height-1-sy
			case 4, 6:
				sy = height - 1 - sy
			}
			copy(out.Pix[out.PixOffset(x, y):][:4], src.Pix[src.PixOffset(sx, sy):][:4])
		}
	}
	return out
}

// scale returns the given part of src, scaled down to newSize. Each pixel of the result is the mean of the source
// pixels that it covers.
func scale(src *image.RGBA, part image.Rectangle, newSize image.Point) *image.RGBA {
	// First scale horizontally, then vertically. Source pixels that are partly covered have a lower weight.
	across := image.NewRGBA64(image.Rect(0, 0, newSize.X, part.Dy()))
	eachPixel(newSize.X, part.Dx(), func(x int, sources []sourcePixel) {
		for y := range part.Dy() {
			var sum [4]float64
			for _, s := range sources {
				offset := src.PixOffset(part.Min.X+s.index, part.Min.Y+y)
				for i := range sum {
					sum[i] += s.weight * float64(src.Pix[offset+i])
				}
			}
			across.SetRGBA64(x, y, color.RGBA64{ // 257 converts from 8 to 16 bits: 255 * 257 = 65535
				R: uint16(sum[0] * 257), G: uint16(sum[1] * 257), B: uint16(sum[2] * 257),
				A: uint16(sum[3] * 257),
			})
		}
	})
	out := image.NewRGBA(image.Rectangle{Max: newSize})
	eachPixel(newSize.Y, part.Dy(), func(y int, sources []sourcePixel) {
		for x := range newSize.X {
			var sum [4]float64
			for _, s := range sources {
				c := across.RGBA64At(x, s.index)
				for i, v := range [4]uint16{c.R, c.G, c.B, c.A} {
					sum[i] += s.weight * float64(v)
				}
			}
			out.SetRGBA(x, y, color.RGBA{
				R: byte(sum[0]/257 + 0.5), G: byte(sum[1]/257 + 0.5), B: byte(sum[2]/257 + 0.5),
				A: byte(sum[3]/257 + 0.5),
			})
		}
	})
	return out
}

// sourcePixel is the weight of a source pixel in a pixel of the scaled image.
type sourcePixel struct {
	index  int
	weight float64
}

// eachPixel divides a row of m source pixels among n pixels. For each of the n pixels, it calls fn with the index of
// the pixel and the source pixels that it covers. The weight of a source pixel is its share of the covered length, so
// the sum of these weights is 1.
func eachPixel(n, m int, fn func(index int, sources []sourcePixel)) {
	covers := float64(m) / float64(n)
	var sources []sourcePixel
	for index := range n {
		start, end := float64(index)*covers, float64(index+1)*covers
		sources = sources[:0]
		for i := int(start); i < m && float64(i) < end; i++ {
			if part := (min(float64(i+1), end) - max(float64(i), start)) / covers; part > 0 {
				sources = append(sources, sourcePixel{i, part})
			}
		}
		fn(index, sources)
	}
}

// sweep removes the oldest scaled images, including unfinished ones, until the cache does not exceed maxCache.
func (c *cache) sweep() (removed int, err error) {
	type cachedImage struct {
		file     string
		size     int64
		modified time.Time
	}
	var list []cachedImage
	var total int64
	err = filepath.WalkDir(c.folder, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // the cache is empty, or a file has been removed in the meantime
			return nil
		case err != nil || !entry.Type().IsRegular():
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return nil // it has been removed in the meantime
		}
		list = append(list, cachedImage{file, info.Size(), info.ModTime()})
		total += info.Size()
		return nil
	})
	if err != nil {
		return 0, err
	}
	slices.SortFunc(list, func(a, b cachedImage) int { return a.modified.Compare(b.modified) })
	for _, oldest := range list {
		if total <= maxCache {
			break
		}
		if err := os.Remove(oldest.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, err
		}
		total -= oldest.size
		removed++
	}
	return removed, nil
}
