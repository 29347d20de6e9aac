package board

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/imagemeta"
)

// Received is a file that was checked, an image without its metadata. It is at no
// post yet.
type Received struct {
	Attachment
	content *os.File // temporary
}

// Close removes what was received; what was kept stays.
func (f *Received) Close() { discard(f.content) }

func discard(file *os.File) { _, _ = file.Close(), os.Remove(file.Name()) }

// Receive reads a file that the actor sends, and refuses what cannot be attached.
func (s *Service) Receive(a *Actor, name string, content io.Reader) (_ *Received, err error) {
	f := &Received{Attachment: Attachment{User: a.id(), stripped: true}}
	var kind fileType
	if f.Name, kind, err = checkFileName(name); err != nil {
		return nil, err
	}
	f.MediaType = kind.media
	if f.content, err = s.files.temporary(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := receive(&f.Attachment, f.content, content, a.rights.settings.AttachmentKiB<<10); err != nil {
		return nil, err
	}
	if err := kind.check(&f.Attachment, f.content); err != nil {
		return nil, err
	}
	if !imagemeta.Knows(f.MediaType) {
		return f, nil
	}
	stripped, err := s.files.temporary()
	if err != nil {
		return nil, err
	}
	if err := stripImage(&f.Attachment, stripped, f.content); err != nil {
		discard(stripped)
		if errors.Is(err, imagemeta.ErrBroken) {
			return nil, invalid("file", "image", "the image is broken")
		}
		return nil, err
	}
	discard(f.content)
	f.content = stripped
	return f, nil
}

// receive reads content into a file, and fills in its size and hash.
func receive(f *Attachment, into *os.File, content io.Reader, most int64) error {
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(into, hash), io.LimitReader(content, most+1))
	var large *http.MaxBytesError
	var path *os.PathError
	switch {
	case errors.As(err, &large), err == nil && n > most:
		return apierror.New(http.StatusRequestEntityTooLarge, "payload_too_large", "the file is larger than %d KiB", most>>10)
	case errors.As(err, &path): // ours
		return err
	case err != nil:
		return badBody("", "incomplete", "the file could not be read whole")
	case n == 0:
		return invalid("file", "required", "the file is empty")
	}
	f.Size, f.Hash = n, hex.EncodeToString(hash.Sum(nil))
	return nil
}

// stripImage writes an image without its metadata into a file, and fills in its
// size and hash.
func stripImage(f *Attachment, into *os.File, content io.ReadSeeker) error {
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	hash := sha256.New()
	if err := imagemeta.Strip(io.MultiWriter(into, hash), content, f.MediaType); err != nil {
		return err
	}
	n, err := into.Seek(0, io.SeekCurrent)
	f.Size, f.Hash = n, hex.EncodeToString(hash.Sum(nil))
	return err
}
