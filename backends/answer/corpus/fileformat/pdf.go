package fileformat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Bounds of reading a PDF.
const (
	maxPDF      = 256 << 20       // the size of the file in bytes
	longestPDF  = 2 * time.Minute // the time that the program may take
	pdfMessages = 2 << 10         // how many bytes of the program's messages are kept
)

// pdfProgram is the program that reads PDFs.
const pdfProgram = "pdftotext"

// readPDF reads the text layer of a PDF with Poppler's pdftotext, which has to be installed. It reads at most
// maxPages pages and maxText bytes, for at most longestPDF. Readers written in Go are not good enough for
// the fonts and columns of reports. Scanned pages have no text layer and are refused.
func readPDF(ctx context.Context, r io.Reader, base Source, out Emit) error {
	program, err := exec.LookPath(pdfProgram)
	if err != nil {
		return out(base, errors.New("reading PDFs needs the program pdftotext (package poppler-utils), which is not installed"))
	}
	ctx, cancel := context.WithTimeout(ctx, longestPDF)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-layout", "-enc", "UTF-8", "-eol", "unix", "-l", strconv.Itoa(maxPages), "-q", "-", "-") //nolint:gosec // a program of this name
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	cmd.Stdin = r
	cmd.WaitDelay = 5 * time.Second
	content, messages := bounded{limit: maxText, failBeyond: true}, bounded{limit: pdfMessages}
	cmd.Stdout, cmd.Stderr = &content, &messages
	err = cmd.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return out(base, Refuse("reading the PDF took longer than %s", longestPDF))
	case ctx.Err() != nil:
		return ctx.Err()
	case content.exceeded:
		return out(base, Refuse("the PDF has more than %d MiB of text", maxText>>20))
	case err != nil:
		return out(base, Refuse("pdftotext: %v: %s",
			err, text.CutBytes(strings.TrimSpace(strings.ToValidUTF8(messages.String(), "")), 200)))
	case strings.TrimSpace(content.String()) == "":
		return out(base, Refuse("the PDF has no text layer: its pages are images"))
	}
	base.Pages = textPages(content.String())
	return out(base, nil)
}

// errOver is the error with which a bounded writer ends a program that writes too much.
var errOver = errors.New("too much output")

// bounded is a writer that keeps the first limit bytes. It does not embed a bytes.Buffer, because io.Copy would call
// ReadFrom and bypass the limit.
type bounded struct {
	text       bytes.Buffer
	limit      int
	exceeded   bool // more than limit bytes were written
	failBeyond bool // Write returns an error if limit is exceeded
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - b.text.Len()
	b.text.Write(p[:min(len(p), room)])
	if len(p) <= room {
		return len(p), nil
	}
	if b.exceeded = true; b.failBeyond {
		return 0, errOver
	}
	return len(p), nil
}

// String returns the bytes that were kept.
func (b *bounded) String() string { return b.text.String() }
