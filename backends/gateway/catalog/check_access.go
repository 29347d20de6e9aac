package catalog

import (
	"fmt"
	"slices"
)

// checkTokens checks the fields that describe how keys are exchanged for tokens or used for signatures.
func checkTokens(p *Provider) error {
	if canSign := p.SigningService != "" && p.SigningRegion != ""; canSign != (p.Auth == AuthAWS) {
		return fmt.Errorf("signing_service, signing_region: must both be set if auth is %s, and only then", AuthAWS)
	}
	if p.Auth != AuthEntra && p.Auth != AuthGoogle {
		if p.TokenURL != "" || p.TokenScope != "" {
			return fmt.Errorf("token_url: keys of the auth %s are not exchanged for tokens", p.Auth)
		}
		return nil
	}
	if err := checkText("token_scope", p.TokenScope, true); err != nil {
		return err
	}
	return trimBase("token_url", &p.TokenURL)
}

// checkPaths checks the fields that replace a wire's usual paths and request members.
func checkPaths(p *Provider) error {
	for _, paths := range []map[string]string{p.Paths, p.StreamPaths} {
		for wire, path := range paths {
			if wire != WireChat && wire != wireEmbeddings && !slices.Contains(p.Wires, wire) {
				return fmt.Errorf("paths: %q is not among the wires", clip(wire))
			}
			if !pathPattern.MatchString(partPattern.ReplaceAllLiteralString(path, "x")) {
				return fmt.Errorf("paths.%s: %q is not a path such as /{model}:predict", wire, clip(path))
			}
			if p.Paths[wire] == "" { // can only be true for StreamPaths
				return fmt.Errorf("stream_paths: %s has no path in paths", wire)
			}
		}
	}
	for member, value := range p.Body {
		if !memberPattern.MatchString(member) || slices.Contains(essential, member) {
			return fmt.Errorf("body: the member %q cannot be set", clip(member))
		}
		if err := checkText("body."+member, value, true); err != nil {
			return err
		}
	}
	return nil
}
