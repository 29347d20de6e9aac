// Package sample contains the corpus with which the answer API is demonstrated and measured: reports, news,
// calls, prices and key figures of twelve invented issuers over three fiscal years, and 120 questions about
// them with their expected answers. The documents are made by a generator with a fixed seed, so that each
// release has the same ones. Holders of an office have a title and no name.
//
// Three issuers have annual reports of more than a hundred pages. The formats differ from issuer to issuer as
// they do among real ones: Markdown, HTML, JSON lines with pages, CSV.
package sample

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Questions are the 120 questions, a line of JSON each, as eval.Read takes them.
//
//go:embed questions.jsonl
var Questions []byte

// QuestionsFile is the file to which Write writes the questions. It is beside the corpus, not in it.
const QuestionsFile = "questions.jsonl"

// CorpusFolder is the folder of the documents in the folder that Write is given.
const CorpusFolder = "corpus"

// File is a file of the corpus.
type File struct {
	Name string // a path with slashes
	Body []byte
}

// Files returns the corpus. It is the same each time.
func Files() []File {
	var all []File
	for i := range issuers {
		all = append(all, issuers[i].files()...)
	}
	return all
}

// Write writes the corpus and the questions into a folder, which it makes if it does not exist. It overwrites
// nothing: a file that exists with another content is an error.
func Write(dir string) (files int, err error) {
	if err := write(filepath.Join(dir, QuestionsFile), Questions); err != nil {
		return 0, err
	}
	all := Files()
	for i, f := range all {
		if err := write(filepath.Join(dir, CorpusFolder, filepath.FromSlash(f.Name)), f.Body); err != nil {
			return 1 + i, err
		}
	}
	return 1 + len(all), nil
}

func write(path string, body []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // documents that are shipped
		return err
	}
	have, err := os.ReadFile(path)
	switch {
	case err == nil && string(have) == string(body):
		return nil
	case err == nil:
		return fmt.Errorf("%s is there already, and is another file", path)
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	return os.WriteFile(path, body, 0o644) //nolint:gosec // see above
}
