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

// Errors of Receive, besides an *Error.
var (
	ErrTooLarge   = errors.New("the file is too large")
	ErrIncomplete = errors.New("the file could not be read to its end")
)

// Error is the reason why a file is refused.
type Error struct {
	// Field is the part at fault: name or file.
	Field string
	// Reason is a word for programs: required, length, characters, control_character, type or image.
	Reason string
	// Message is the text for people.
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Received is a file that was checked and, if it is an image, stripped of metadata. It is not stored yet.
type Received struct {
	File
	content *os.File // a temporary file
}

// Close removes the temporary file. Content that was kept stays.
func (r *Received) Close() { discard(r.content) }

// discard closes a temporary file and removes it, unless it was renamed.
func discard(file *os.File) { _, _ = file.Close(), os.Remove(file.Name()) }

// Receive reads and checks a file of at most limit bytes from a user. name is the name that the user gave; if it is a
// path, only its last element counts. Errors that are the sender's fault are an *Error, ErrTooLarge or ErrIncomplete.
// The caller closes the result.
func (s *Store) Receive(name string, content io.Reader, limit int64) (_ *Received, err error) {
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
	if err := r.read(content, limit); err != nil {
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

// read reads the content and sets its size and hash.
func (r *Received) read(content io.Reader, limit int64) error {
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(r.content, hash), io.LimitReader(content, limit+1))
	var tooLarge *http.MaxBytesError
	var fileErr *os.PathError
	switch {
	case errors.As(err, &tooLarge), err == nil && n > limit:
		return ErrTooLarge
	case errors.As(err, &fileErr): // the temporary file could not be written
		return err
	case err != nil:
		return ErrIncomplete
	case n == 0:
		return &Error{"file", "required", "the file is empty"}
	}
	r.Size, r.Hash = n, hex.EncodeToString(hash.Sum(nil))
	return nil
}

// Strip reads a stored image again and strips its metadata as Receive does. The caller keeps the result if its hash
// differs from that of f. The error is imagemeta.ErrBroken if the file is not a complete image.
func (s *Store) Strip(ctx context.Context, f *File) (*Received, error) {
	content, err := s.Open(ctx, f)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return s.strip(f, content)
}

// strip writes an image without its metadata to a new temporary file. content is the image, and f describes it.
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
		err = r.applyOrientation(content, orientation)
	}
	if err != nil {
		return nil, err
	}
	r.Size, err = r.content.Seek(0, io.SeekCurrent)
	r.Hash = hex.EncodeToString(hash.Sum(nil))
	return r, err
}

// applyOrientation sets the width and the height with which an image is shown. orientation is the Exif orientation,
// from 1 to 8; from 5 on it turns the image by 90 degrees, which exchanges width and height.
func (f *File) applyOrientation(content io.ReadSeeker, orientation byte) error {
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
