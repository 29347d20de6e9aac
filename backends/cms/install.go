package cms

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// apiTemplate contains the initial files of site/api.
//
//go:embed apiTemplate
var apiTemplate embed.FS

// apiFolder is the folder of a site with its routes and classes.
const apiFolder = "api"

// installed reports whether a site has the folder api.
func installed(site string) bool {
	info, err := os.Stat(filepath.Join(site, apiFolder))
	return err == nil && info.IsDir()
}

// InstallFiles creates the folders of a site, and the files in its folder api that do not exist yet. It never
// overwrites a file. It returns the names of the created files relative to the site's folder.
func InstallFiles(site string) (created []string, err error) {
	for _, folder := range []string{apiFolder, "files", "cache"} {
		if err := os.MkdirAll(filepath.Join(site, folder), 0o750); err != nil {
			return nil, fmt.Errorf("installing the site: %w", err)
		}
	}
	files, err := fs.ReadDir(apiTemplate, "apiTemplate")
	if err != nil {
		return nil, err
	}
	hasRoutesJS := exists(filepath.Join(site, apiFolder, routesJS))
	for _, file := range files {
		if hasRoutesJS && file.Name() == routesPHP {
			continue // a site has only one of these files
		}
		text, err := apiTemplate.ReadFile(path.Join("apiTemplate", file.Name()))
		if err != nil {
			return created, err
		}
		err = create(filepath.Join(site, apiFolder, file.Name()), text)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return created, fmt.Errorf("installing the site: %w", err)
		}
		created = append(created, path.Join(apiFolder, file.Name()))
	}
	return created, nil
}

// create writes a new file. If the file already exists, the error wraps fs.ErrExist.
func create(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640) //nolint:gosec // G302: authors of the site are a group
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(name)
	}
	return err
}

// exists reports whether there is an accessible file or folder with this name.
func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
