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

// Limits of a form, in bytes unless noted. A form of at most maxBuffered bytes is read completely before a provider is
// called, so that it can be sent again. Of a longer form only the beginning is read, up to the model; the rest is
// streamed to the provider. The model must come within the first maxBeforeModel bytes.
const (
	maxBuffered    = 1 << 20
	maxBeforeModel = 32 << 20
	maxParts       = 200
	maxField       = 64 << 10 // length of a field that the gateway reads completely
)

// Form is a multipart body. Its parts are encoded again, so that the provider reads the same model from the body as the
// gateway did.
type Form struct {
	Model string
	// Fields are the short fields before the streamed part.
	Fields map[string]string

	boundary  string
	share     *memory.Share
	buffer    bytes.Buffer      // the parts that were read before the form is sent, without the model
	writer    *multipart.Writer // writes to buffer
	reader    *multipart.Reader // reads the parts of the request
	limited   *io.LimitedReader // the request's body up to the limit and one byte; N is 0 once the limit is exceeded
	streamed  *multipart.Part   // the first part that is streamed; nil if the form was read to its end
	partCount int

	mu        sync.Mutex // guards the fields below, since the goroutine that BodyFor starts sets streamErr
	requested bool       // whether BodyFor has returned a streamed body
	streamErr error      // the error that ended the stream
}

// ReadForm reads a form of at most limit bytes until it may be sent to a provider. A short form is read to its end. Of
// a long form, maxBuffered bytes are read, or more if needsModel is set and the model comes later. The form's memory is
// counted in share. Errors are *apierror.Error with status 400, 408, 413 or 415, or 503 if share refuses more memory.
func ReadForm(
	ctx context.Context, contentType string, body io.Reader, limit int64, needsModel bool, share *memory.Share,
) (*Form, error) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "multipart/form-data" || params["boundary"] == "" {
		return nil, apierror.New(http.StatusUnsupportedMediaType, "unsupported_media_type",
			"the body must be multipart/form-data")
	}
	// The additional byte tells a form of limit bytes from a longer one, see clientError.
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
		if part == nil { // the model, which BodyFor adds again
			continue
		}
		copied, err := f.writer.CreatePart(part.Header)
		if err != nil {
			return nil, err
		}
		if part.FileName() == "" {
			value, err := f.readField(part)
			if err != nil {
				return nil, err
			}
			f.Fields[part.FormName()] = value
			if _, err = io.WriteString(copied, value); err != nil {
				return nil, err
			}
			continue
		}
		complete, err := f.bufferPart(ctx, copied, part, needsModel)
		if err != nil {
			return nil, err
		}
		if !complete {
			f.streamed = part
			return f, nil
		}
	}
}

// next returns the next part, with only the headers that are passed on. If the next part is the field model, next reads
// it into f.Model and returns nil. It returns io.EOF after the last part.
func (f *Form) next() (*multipart.Part, error) {
	part, err := f.reader.NextRawPart()
	if err != nil {
		return nil, f.clientError(err)
	}
	if f.partCount++; f.partCount > maxParts {
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
		return nil, errRepeatedModel()
	}
	value, err := f.readField(part)
	if err != nil {
		return nil, err
	}
	if value == "" || len(value) > maxModel {
		return nil, apierror.New(http.StatusBadRequest, "invalid_value", "model must be a text of 1 to %d bytes",
			maxModel).With("model")
	}
	f.Model = value
	return nil, nil // the model is not passed on as a part
}

// readField reads a part of at most maxField bytes completely.
func (f *Form) readField(part *multipart.Part) (string, error) {
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

// bufferPart copies a part to dst, which writes to the buffer. complete is false if bufferPart stopped before the end
// of the part, because maxBuffered bytes are in the buffer and the model is known or not needed: the rest can be
// streamed.
func (f *Form) bufferPart(
	ctx context.Context, dst io.Writer, part *multipart.Part, needsModel bool,
) (complete bool, err error) {
	piece := make([]byte, 32<<10)
	for {
		if f.buffer.Len() >= maxBuffered && (f.Model != "" || !needsModel) {
			return false, nil
		}
		if f.buffer.Len() > maxBeforeModel {
			return false, apierror.New(http.StatusRequestEntityTooLarge, "request_too_large",
				"the field model must be within the first %d MB of the form: put it before the file", maxBeforeModel>>20)
		}
		n, err := part.Read(piece)
		if n > 0 {
			// The capacity of the buffer may double.
			if err := f.share.Grow(ctx, int64(2*(f.buffer.Len()+n))); err != nil {
				return false, apierror.Unavailable("memory for this request", err)
			}
			if _, err := dst.Write(piece[:n]); err != nil {
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
	overLimit := f.limited.N <= 0
	if _, ok := apierror.From(err); ok || errors.Is(err, io.EOF) && !overLimit {
		return err
	}
	if _, overServerLimit := errors.AsType[*http.MaxBytesError](err); overServerLimit || overLimit {
		return apierror.New(http.StatusRequestEntityTooLarge, "request_too_large",
			"the body is larger than the limit of this endpoint")
	}
	e := apierror.New(http.StatusBadRequest, "invalid_value", "the form is invalid or incomplete")
	if inbound.TooSlow(err) {
		e = apierror.New(http.StatusRequestTimeout, "request_timeout",
			"the request body took too long to arrive, send it again")
	}
	e.Cause = err
	return e
}

// ContentType returns the Content-Type of the body that is passed on.
func (f *Form) ContentType() string { return f.writer.FormDataContentType() }

// BodyFor returns the body for a provider that calls the model by this name. An empty model adds no field. A streamed
// body can be requested only once; a second call returns an error. The size is -1 if it is unknown.
func (f *Form) BodyFor(model string) (body io.ReadCloser, size int64, err error) {
	var head bytes.Buffer
	buffered := f.buffer.Bytes()
	if model != "" {
		head.WriteString("--" + f.boundary + "\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n" + model)
		if bytes.HasPrefix(buffered, []byte("--")) { // the end of a form without parts begins with a line break
			head.WriteString("\r\n")
		}
	}
	if f.streamed == nil {
		return io.NopCloser(io.MultiReader(&head, bytes.NewReader(buffered))), int64(head.Len() + len(buffered)), nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.requested {
		return nil, 0, errors.New("the body was streamed already and cannot be sent again")
	}
	f.requested = true
	reader, writer := io.Pipe()
	go func() { // ends when the body was read or closed
		err := f.writeRest(writer)
		f.mu.Lock()
		f.streamErr = err
		f.mu.Unlock()
		writer.CloseWithError(err)
	}()
	return readCloser{io.MultiReader(&head, bytes.NewReader(buffered), reader), reader}, -1, nil
}

// readCloser combines a reader of a body with the closer of the pipe at its end.
type readCloser struct {
	io.Reader
	io.Closer
}

// Consumed reports whether BodyFor has returned a streamed body, so that the request cannot be sent again.
func (f *Form) Consumed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requested
}

// Refused returns the error for the client if the streamed part of the body turned out to be invalid, and nil
// otherwise.
func (f *Form) Refused() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e, ok := apierror.From(f.streamErr); ok {
		return e
	}
	return nil
}

// writeRest writes the rest of the form to dst: the rest of the streamed part, and all parts after it. It returns an
// error if one of these is the model.
func (f *Form) writeRest(dst io.Writer) error {
	if _, err := io.Copy(dst, source{f, f.streamed}); err != nil {
		return err
	}
	writer := multipart.NewWriter(dst)
	if err := writer.SetBoundary(f.boundary); err != nil {
		return err
	}
	hadModel := f.Model != "" // before next sets it
	for first := true; ; first = false {
		part, err := f.next()
		if errors.Is(err, io.EOF) {
			_, err = io.WriteString(dst, "\r\n--"+f.boundary+"--\r\n")
			return err
		}
		if err != nil {
			return err
		}
		if part == nil {
			if hadModel {
				return errRepeatedModel()
			}
			return apierror.New(http.StatusBadRequest, "invalid_value", "the field model must come before the file").
				With("model")
		}
		if first { // the new writer does not begin its first part with a line break
			if _, err := io.WriteString(dst, "\r\n"); err != nil {
				return err
			}
		}
		copied, err := writer.CreatePart(part.Header)
		if err != nil {
			return err
		}
		if _, err := io.Copy(copied, source{f, part}); err != nil {
			return err
		}
	}
}

// source reads a part and converts errors other than io.EOF with clientError.
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
