package script

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
)

const (
	// maxSource limits a file of a site's code, in bytes.
	maxSource = 4 << 20
	// settingsFile holds secrets; see package settings.
	settingsFile = "config.json"
	// maxKnownNames and maxKnownBytes limit the number of stored names and the length of the stored texts of required
	// files, because a script may build a name from data of a client. Beyond the limits, a file is read each time.
	maxKnownNames = 10_000
	maxKnownBytes = 64 << 20
)

// sources holds the files of a site that have been required. Each file is read once. The lock is not held while a file
// is read.
type sources struct {
	root *os.Root

	mu    sync.Mutex           // guards the following members
	files map[string]string    // texts by the names of files, relative to the site's folder
	names map[[2]string]string // files by requiring file and required name
	bytes int                  // length of all texts
}

// newSources returns a sources for the site whose folder is root. It reads no files yet.
func newSources(root *os.Root) *sources {
	return &sources{root: root, files: make(map[string]string), names: make(map[[2]string]string)}
}

// find returns the name of the file that requiringFile requires by the given name, and its text. A required name begins
// with ./ or ../, or with / for the site's folder; the extensions .js and .json, and /index.js, may be omitted. find
// returns an error for other files, for the settings, uploaded files, caches, hidden files and symbolic links, and for
// files outside of the site.
func (s *sources) find(requiringFile, name string) (file, text string, err error) {
	required := [2]string{requiringFile, name}
	s.mu.Lock()
	file, ok := s.names[required]
	text = s.files[file]
	s.mu.Unlock()
	if ok {
		return file, text, nil
	}
	var target string
	switch {
	case strings.HasPrefix(name, "./"), strings.HasPrefix(name, "../"), name == ".", name == "..":
		target = path.Join(path.Dir(requiringFile), name)
	case strings.HasPrefix(name, "/"):
		target = path.Clean(name)[1:] // without the slash, so relative to the site's folder
	default:
		return "", "", fmt.Errorf("%s is not a file of the site: names begin with ./ or ../, and packages are not loaded",
			quote(name))
	}
	if target == ".." || strings.HasPrefix(target, "../") {
		return "", "", fmt.Errorf("%s is outside of the site", quote(name))
	}
	candidates := []string{target}
	if ext := path.Ext(target); ext != ".js" && ext != ".json" {
		candidates = []string{target + ".js", target + ".json", target + "/index.js"}
	}
	for _, file = range candidates {
		if text, err = s.read(name, file); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no file %s", quote(target))
	}
	if err != nil {
		return "", "", err
	}
	return file, s.store(required, file, text), nil
}

// store stores the text of a file and records that required refers to the file, unless this would exceed a limit.
// required is the requiring file and the required name. If another call has stored the file before, store returns the
// stored text, so that all callers get the same text.
func (s *sources) store(required [2]string, file, text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.files[file]; ok {
		text = first
	} else if s.bytes+len(text) > maxKnownBytes {
		return text
	} else {
		s.files[file] = text
		s.bytes += len(text)
	}
	if len(s.names) < maxKnownNames {
		s.names[required] = file
	}
	return text
}

// stored returns the stored text of a file.
func (s *sources) stored(file string) (text string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok = s.files[file]
	return text, ok
}

// quote returns s in quotation marks, for errors.
func quote(s string) string { return "'" + s + "'" }

// read returns the text of a file of the site. It returns fs.ErrNotExist if there is no such file, and another error if
// the file must not be read as code. name is the required name, for errors.
func (s *sources) read(name, file string) (string, error) {
	if text, ok := s.stored(file); ok {
		return text, nil
	}
	if err := permitted(name, file); err != nil {
		return "", err
	}
	// Check each folder of the path, and the file: a link could point to a file that the function permitted refuses.
	for i, c := range file + "/" {
		if c != '/' {
			continue
		}
		if info, err := s.root.Lstat(file[:i]); err != nil {
			return "", missing(file, err)
		} else if info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("%s is a link: code is not read through links", quote(file[:i]))
		}
	}
	// os.Root does not leave the site. O_NONBLOCK keeps the opening of a pipe from blocking.
	f, err := s.root.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", missing(file, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", fs.ErrNotExist
	}
	// The file may be the settings under another name: a hard link, or a name in other case on a case-insensitive file
	// system.
	if secret, err := s.root.Stat(settingsFile); err == nil && os.SameFile(info, secret) {
		return "", errSettings
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", file, err)
	}
	if len(text) > maxSource {
		return "", fmt.Errorf("%s is longer than 4 MiB", quote(file))
	}
	return string(text), nil
}

// missing returns fs.ErrNotExist if err means that the file does not exist; it wraps any other error.
func missing(file string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fs.ErrNotExist
	}
	return fmt.Errorf("reading %s: %w", file, err)
}

// errSettings is the error for a script that requires the file of the settings.
var errSettings = errors.New(settingsFile +
	" holds secrets: the settings that handlers may read are in the global object config")

// permitted returns an error for a file of the site that must not be read as code: the settings, an uploaded file, a
// file in the cache, or a hidden file. name is the required name, for the error.
func permitted(name, file string) error {
	first, _, inFolder := strings.Cut(strings.ToLower(file), "/")
	switch {
	case first == settingsFile:
		return errSettings
	case inFolder && (first == "files" || first == "cache"):
		return fmt.Errorf("%s: the folders files and cache contain no code", quote(name))
	case strings.HasPrefix(file, ".") || strings.Contains(file, "/."):
		return fmt.Errorf("%s: hidden files are not code", quote(name))
	}
	return nil
}

// storedFiles returns the stored files. Each entry consists of the requiring file, the required name, the name of the
// file, and its text.
func (s *sources) storedFiles() (entries [][4]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for required, file := range s.names {
		entries = append(entries, [4]string{required[0], required[1], file, s.files[file]})
	}
	return entries
}
