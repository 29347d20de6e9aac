package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
)

// line is a line of the table.
type line struct {
	label           string
	plain, tollgate string
	ratio           string // tollgate divided by plain, or their difference if it has a sign
	aim             string // empty if there is none
	met             bool   // whether the aim is met
}

// atLeast returns a line whose ratio should be at least aim.
func atLeast(label string, plain, tollgate, ratio, aim float64) line {
	return line{
		label, number(plain), number(tollgate), fmt.Sprintf("%.2f", ratio), fmt.Sprintf(">= %.2f", aim),
		ratio >= aim,
	}
}

// beside returns a line with two figures and their ratio, without an aim.
func beside(label string, plain, tollgate float64) line {
	return line{label: label, plain: number(plain), tollgate: number(tollgate), ratio: fmt.Sprintf("%.2f", tollgate/plain)}
}

// number formats a number with three significant digits.
func number(v float64) string {
	switch size := max(v, -v); {
	case size >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// signed formats a number with its sign.
func signed(v float64) string {
	if v < 0 {
		return number(v)
	}
	return "+" + number(v)
}

// report collects the lines of the table.
type report struct {
	lines  []line
	failed []error
}

// add adds the lines of a row, and the error that ended its measurement early, if any.
func (r *report) add(subject row, lines []line, err error) {
	for _, l := range lines {
		l.label = subject.letter + "  " + l.label
		r.lines = append(r.lines, l)
	}
	if err != nil {
		r.failed = append(r.failed, fmt.Errorf("row %s (%s) was not measured: %w", subject.letter, subject.title, err))
	}
}

// failure returns the errors of failed measurements, or nil.
func (r *report) failure() error { return errors.Join(r.failed...) }

// print writes the table. Errors of standard output are ignored, because they cannot be reported anywhere.
func (r *report) print(w io.Writer, machine string) {
	_, _ = fmt.Fprintln(w, "\n"+machine)
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "what\tplain\ttollgate\tratio\taim\tverdict")
	for _, l := range r.lines {
		verdict := ""
		if l.aim != "" {
			verdict = "below"
			if l.met {
				verdict = "ok"
			}
		}
		_, _ = fmt.Fprintln(table, strings.Join([]string{l.label, l.plain, l.tollgate, l.ratio, l.aim, verdict}, "\t"))
	}
	_ = table.Flush()
}

// machine describes the machine and the binary that were measured.
func machine(binary string) string {
	model := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for entry := range bytes.Lines(text) {
			if name, value, ok := bytes.Cut(entry, []byte(":")); ok && string(bytes.TrimSpace(name)) == "model name" {
				model = string(bytes.TrimSpace(value))
				break
			}
		}
	}
	built := "unknown Go"
	if info, err := buildinfo.ReadFile(binary); err == nil {
		built = info.GoVersion
	}
	return fmt.Sprintf("%d cores of %s, %s/%s; server built by %s, load by %s",
		runtime.NumCPU(), model, runtime.GOOS, runtime.GOARCH, built, runtime.Version())
}
