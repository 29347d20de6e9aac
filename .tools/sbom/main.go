// Command sbom prints the software bill of materials of a Go binary, as CycloneDX
// 1.6 in JSON. It uses the build information in the binary: the modules with their
// versions and checksums, and the Go release. `make package` calls it.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path"
	"runtime/debug"
)

// bom is a CycloneDX document, with the members that can be derived from a Go binary. It
// has no serial number and no time, so that the same binary gives the same document.
type bom struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func main() {
	version := flag.String("version", "", "version of the program, such as 1.2.3")
	flag.Parse()
	if err := run(*version, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// run prints the document of the binary.
func run(version, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	if len(info.Deps) == 0 {
		return fmt.Errorf("%s names no modules", binary)
	}
	purl := "pkg:golang/" + info.Main.Path + "@v" + version
	program := component{
		Type: "application", Ref: purl, Name: path.Base(info.Path), Version: version, PURL: purl,
	}
	for _, setting := range info.Settings {
		program.Properties = append(program.Properties, property{"go:build:" + setting.Key, setting.Value})
	}
	document := bom{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata:   metadata{Component: program},
		Components: []component{library(&debug.Module{Path: "std", Version: info.GoVersion})},
	}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		document.Components = append(document.Components, library(module))
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

// library returns the component for a module. Its property go:sum is the checksum in go.sum.
func library(module *debug.Module) component {
	purl := "pkg:golang/" + module.Path + "@" + module.Version
	c := component{Type: "library", Ref: purl, Name: module.Path, Version: module.Version, PURL: purl}
	if module.Sum != "" {
		c.Properties = []property{{"go:sum", module.Sum}}
	}
	return c
}
