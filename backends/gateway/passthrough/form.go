package passthrough

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"sync"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/inbound"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

// Limits of a form, in bytes unless noted. A form of at most keptForm bytes is read completely before a provider is
// called, so that it can be sent again. Of a longer form only the beginning is read, up to the model; the rest is
// streamed to the provider. The model must come within the first beforeForm bytes.
const (
	keptForm   = 1 << 20
	beforeForm = 32 << 20
	maxParts   = 200
	maxField   = 64 << 10 // length of a field that the gateway reads completely
)

// Form is a multipart body. Its parts are encoded again, so that the provider cannot read another model in the body
// than the gateway did.
type Form struct {
	Model string
	// Fields are the short fields before the streamed part.
	Fields map[string]string

	boundary string
	share    *memory.Share
	buffer   bytes.Buffer
	writer   *multipart.Writer
	reader   *multipart.Reader
	limited  *io.LimitedReader
	part     *multipart.Part // the part that is streamed; nil if the form was read to its end
	parts    int

	mu        sync.Mutex
	requested bool
	failed    error
}

// ReadForm reads a form until it may be sent to a provider. A short form is read to its end. A long form is read until
// enough is read and, if needsModel is set, the model is known. The form's memory is counted in share. Errors are
// *apierror.Error with status 400, 408, 413 or 415, or 503 if share refuses more memory.
func ReadForm(
	ctx context.Context, contentType string, body io.Reader, limit int64, needsModel bool, share *memory.Share,
) (*Form, error) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "multipart/form-data" || params["boundary"] == "" {
		return nil, apierror.New(http.StatusUnsupportedMediaType, "unsupported_media_type",
			"the body must be multipart/form-data")
	}
	f := &Form{Fields: make(map[string]string), limited: &io.LimitedReader{R: body, N: limit + 1}, share: share}
	f.reader = multipart.NewReader(f.limited, params["boundary"])
	f.writer = multipart.NewWriter(&f.buffer)
	f.boundary = f.writer.Boundary()
	for {
		part, err := f.next()
		if errors.Is(err, io.EOF) {
			if err := f.writer.Close(); err != nil {
				return nil, err
			}
			return f, nil
		}
		if err != nil {
			return nil, err
		}
		if part == nil {
			continue
		}
		into, err := f.writer.CreatePart(part.Header)
		if err != nil {
			return nil, err
		}
		if part.FileName() == "" {
			value, err := f.field(part)
			if err != nil {
				return nil, err
			}
			f.Fields[part.FormName()] = value
			if _, err = io.WriteString(into, value); err != nil {
				return nil, err
			}
			continue
		}
		complete, err := f.keep(ctx, into, part, needsModel)
		if err != nil {
			return nil, err
		}
		if !complete {
			f.part = part
			return f, nil
		}
	}
}

// next returns the next part, with only the headers that are passed on. It reads the field model itself and then
// returns nil.
func (f *Form) next() (*multipart.Part, error) {
	part, err := f.reader.NextRawPart()
	if err != nil {
		return nil, f.clientError(err)
	}
	if f.parts++; f.parts > maxParts {
		return nil, apierror.New(http.StatusBadRequest, "invalid_value", "the form has more than %d parts", maxParts)
	}
	header := textproto.MIMEHeader{}
	for _, name := range [...]string{"Content-Disposition", "Content-Type"} {
		if value := part.Header.Get(name); value != "" {
			header.Set(name, value)
		}
	}
	if part.FormName() == "" {
		return nil, apierror.New(http.StatusBadRequest, "invalid_value", "a part of the form has no name")
	}
	if !strings.EqualFold(part.FormName(), "model") {
		part.Header = header
		return part, nil
	}
	if f.Model != "" {
		return nil, errTwice()
	}
	value, err := f.field(part)
	if err != nil {
		return nil, err
	}
	if value == "" || len(value) > maxModel {
		return nil, apierror.New(http.StatusBadRequest, "invalid_value", "model must be a text of 1 to %d bytes",
			maxModel).With("model")
	}
	f.Model = value
	return nil, nil //nolint:nilnil // the model is not passed on as a part
}

// field reads a short part completely.
func (f *Form) field(part *multipart.Part) (string, error) {
	text, err := io.ReadAll(io.LimitReader(part, maxField+1))
	if err != nil {
		return "", f.clientError(err)
	}
	if len(text) > maxField {
		return "", apierror.New(http.StatusBadRequest, "invalid_value", "the field %.100q is longer than %d bytes",
			part.FormName(), maxField)
	}
	return string(text), nil
}

// keep copies a part to into, which writes to the buffer. It reports false if it stopped before the end of the part
// because enough is in the buffer and the model, if needsModel is set, is known: the rest can be streamed.
func (f *Form) keep(
	ctx context.Context, into io.Writer, part *multipart.Part, needsModel bool,
) (complete bool, err error) {
	piece := make([]byte, 32<<10)
	for {
		if f.buffer.Len() >= keptForm && (f.Model != "" || !needsModel) {
			return false, nil
		}
		if f.buffer.Len() > beforeForm {
			return false, apierror.New(http.StatusRequestEntityTooLarge, "request_too_large",
				"the field model must stand in the first %d MB of the form: put it before the file", beforeForm>>20)
		}
		n, err := part.Read(piece)
		if n > 0 {
			if err := f.share.Grow(ctx, int64(2*(f.buffer.Len()+n))); err != nil {
				return false, apierror.Unavailable("memory for this request", err)
			}
			if _, err := into.Write(piece[:n]); err != nil {
				return false, err
			}
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, f.clientError(err)
		}
	}
}

// clientError converts an error of reading the body to the error for the client. It returns io.EOF unchanged unless the
// body was too large.
func (f *Form) clientError(err error) error {
	if _, ok := apierror.From(err); ok || errors.Is(err, io.EOF) && f.limited.N > 0 {
		return err
	}
	tooLarge := f.limited.N <= 0
	if _, over := errors.AsType[*http.MaxBytesError](err); over || tooLarge {
		return apierror.New(http.StatusRequestEntityTooLarge, "request_too_large",
			"the body is larger than this endpoint takes")
	}
	e := apierror.New(http.StatusBadRequest, "invalid_value", "the form could not be read to its end")
	if inbound.TooSlow(err) {
		e = apierror.New(http.StatusRequestTimeout, "request_timeout",
			"the request body took too long to arrive, send it again")
	}
	e.Cause = err
	return e
}

// ContentType returns the Content-Type of the body that is passed on.
func (f *Form) ContentType() string { return f.writer.FormDataContentType() }

// For returns the body for a provider that calls the model by this name. An empty model adds no field. A streamed body
// can be requested only once; a second call returns an error. The size is -1 if it is unknown.
func (f *Form) For(model string) (body io.ReadCloser, size int64, err error) {
	var head bytes.Buffer
	buffered := f.buffer.Bytes()
	if model != "" {
		head.WriteString("--" + f.boundary + "\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n" + model)
		if bytes.HasPrefix(buffered, []byte("--")) {
			head.WriteString("\r\n")
		}
	}
	if f.part == nil {
		return io.NopCloser(io.MultiReader(&head, bytes.NewReader(buffered))), int64(head.Len() + len(buffered)), nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.requested {
		return nil, 0, errors.New("the body has been passed on already")
	}
	f.requested = true
	from, to := io.Pipe()
	go func() {
		err := f.writeRest(to)
		f.mu.Lock()
		f.failed = err
		f.mu.Unlock()
		to.CloseWithError(err)
	}()
	return pipe{io.MultiReader(&head, bytes.NewReader(buffered), from), from}, -1, nil
}

type pipe struct {
	io.Reader
	io.Closer
}

// Once reports whether For has returned a streamed body, so that the request cannot be sent again.
func (f *Form) Once() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requested
}

// Refused returns the error for the client if the streamed part of the body turned out to be invalid, and nil
// otherwise.
func (f *Form) Refused() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e, ok := apierror.From(f.failed); ok {
		return e
	}
	return nil
}

// writeRest writes the rest of the form, which begins with the streamed part, to a writer.
func (f *Form) writeRest(to io.Writer) error {
	if _, err := io.Copy(to, source{f, f.part}); err != nil {
		return err
	}
	writer := multipart.NewWriter(to)
	if err := writer.SetBoundary(f.boundary); err != nil {
		return err
	}
	known := f.Model != ""
	for first := true; ; first = false {
		part, err := f.next()
		if errors.Is(err, io.EOF) {
			_, err = io.WriteString(to, "\r\n--"+f.boundary+"--\r\n")
			return err
		}
		if err != nil {
			return err
		}
		if part == nil {
			if known {
				return errTwice()
			}
			return apierror.New(http.StatusBadRequest, "invalid_value", "the field model has no meaning here").With("model")
		}
		if first {
			if _, err := io.WriteString(to, "\r\n"); err != nil {
				return err
			}
		}
		into, err := writer.CreatePart(part.Header)
		if err != nil {
			return err
		}
		if _, err := io.Copy(into, source{f, part}); err != nil {
			return err
		}
	}
}

// source reads a part and converts errors other than io.EOF with mistake.
type source struct {
	form *Form
	part *multipart.Part
}

// Read implements io.Reader.
func (s source) Read(p []byte) (int, error) {
	n, err := s.part.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.form.clientError(err)
	}
	return n, err
}
