package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/tollgate-gateway/tollgate/internal/imagemeta"
)

// What may be wrong with content on its way, beside an Error.
var (
	ErrTooLarge   = errors.New("the file is too large")
	ErrIncomplete = errors.New("the file could not be read whole")
)

// Error is why a file is refused.
type Error struct {
	// Field is name or file: what is wrong.
	Field string
	// Reason is a word for programs: required, length, characters,
	// control_character, type or image.
	Reason string
	// Message tells people.
	Message string
}

func (e *Error) Error() string { return e.Message }

// Received is a file that was checked, an image without its metadata. It is kept
// nowhere yet.
type Received struct {
	File
	content *os.File // temporary
}

// Close removes what was received; what was kept stays.
func (r *Received) Close() { discard(r.content) }

func discard(file *os.File) { _, _ = file.Close(), os.Remove(file.Name()) }

// Receive reads a file of most bytes at most that somebody sends, under a name that
// may be a path. The error is an Error, ErrTooLarge or ErrIncomplete where it is the
// sender's. Close what it returns.
func (s *Store) Receive(name string, content io.Reader, most int64) (_ *Received, err error) {
	r := new(Received)
	var k kind
	if r.Name, k, err = checkName(name); err != nil {
		return nil, err
	}
	r.MediaType = k.media
	if r.content, err = s.place.temporary(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if err := r.read(content, most); err != nil {
		return nil, err
	}
	if err := k.check(&r.File, r.content); err != nil {
		return nil, err
	}
	if !imagemeta.Knows(r.MediaType) {
		return r, nil
	}
	stripped, err := s.strip(&r.File, r.content)
	if errors.Is(err, imagemeta.ErrBroken) {
		err = &Error{"file", "image", "the image is broken"}
	}
	if err != nil {
		return nil, err
	}
	r.Close()
	return stripped, nil
}

// read reads content, and fills in its size and hash.
func (r *Received) read(content io.Reader, most int64) error {
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(r.content, hash), io.LimitReader(content, most+1))
	var large *http.MaxBytesError
	var path *os.PathError
	switch {
	case errors.As(err, &large), err == nil && n > most:
		return ErrTooLarge
	case errors.As(err, &path): // ours
		return err
	case err != nil:
		return ErrIncomplete
	case n == 0:
		return &Error{"file", "required", "the file is empty"}
	}
	r.Size, r.Hash = n, hex.EncodeToString(hash.Sum(nil))
	return nil
}

// Strip reads a kept image again and takes its metadata out, as Receive does. What
// it returns is to be kept where its hash is another. The error is
// imagemeta.ErrBroken where it is no whole image.
func (s *Store) Strip(ctx context.Context, f *File) (*Received, error) {
	content, err := s.Open(ctx, f)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return s.strip(f, content)
}

func (s *Store) strip(f *File, content io.ReadSeeker) (_ *Received, err error) {
	r := &Received{File: *f}
	if r.content, err = s.place.temporary(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	hash := sha256.New()
	orientation, err := imagemeta.Strip(io.MultiWriter(r.content, hash), content, f.MediaType)
	if err == nil {
		err = r.upright(content, orientation)
	}
	if err != nil {
		return nil, err
	}
	r.Size, err = r.content.Seek(0, io.SeekCurrent)
	r.Hash = hex.EncodeToString(hash.Sum(nil))
	return r, err
}

// upright fills in how wide and high an image is as it is shown: one that Exif turns to
// its side is as wide as its file says that it is high.
func (f *File) upright(content io.ReadSeeker, orientation byte) error {
	if orientation < 5 {
		return nil
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	size := imageSize
	if f.MediaType == "image/webp" {
		size = webpSize
	}
	width, height, err := size(content)
	if err != nil {
		return imagemeta.ErrBroken
	}
	f.Width, f.Height = int64(height), int64(width)
	return nil
}
