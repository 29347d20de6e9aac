// Package sample contains the corpus with which the answer API is demonstrated and measured: reports, news, transcripts
// of calls, prices and key figures of twelve invented issuers over three fiscal years, and 120 questions about them
// with their expected answers. Officers of the issuers have a title and no name. The figures of each issuer are
// consistent, so whoever changes a figure must change it in every document that states it.
//
// Three issuers have annual reports of more than a hundred pages. The formats differ from issuer to issuer, as among
// real issuers: Markdown, HTML, JSON lines with pages, CSV.
package sample

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Questions are the 120 questions, one per line, in the JSON form that eval.Read reads.
//
//go:embed questions.jsonl
var Questions []byte

// QuestionsFile is the file to which Write writes the questions. It is beside the corpus, not in it.
const QuestionsFile = "questions.jsonl"

// CorpusFolder is the folder of the documents, within the folder into which Write writes.
const CorpusFolder = "corpus"

//go:embed corpus
var documents embed.FS

// Write writes the corpus and the questions into a folder, which it creates if it does not exist. It returns the number
// of files. It overwrites nothing: if a file exists with different content, Write returns an error.
func Write(dir string) (files int, err error) {
	if err := write(filepath.Join(dir, QuestionsFile), Questions); err != nil {
		return 0, err
	}
	files = 1
	err = fs.WalkDir(documents, CorpusFolder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := documents.ReadFile(name)
		if err != nil {
			return err
		}
		files++
		return write(filepath.Join(dir, filepath.FromSlash(name)), body)
	})
	return files, err
}

// write writes a file and creates its folder. It does nothing if the file exists with the same content, and returns an
// error if the file exists with different content.
func write(path string, body []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // documents that are shipped
		return err
	}
	existing, err := os.ReadFile(path)
	switch {
	case err == nil && string(existing) == string(body):
		return nil
	case err == nil:
		return fmt.Errorf("%s exists already with different content", path)
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	return os.WriteFile(path, body, 0o644) //nolint:gosec // see above
}
