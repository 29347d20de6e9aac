package config

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Errors lists all faults of a configuration, sorted. Each fault names the key and its variable, and never contains a
// secret.
type Errors []string

func (f Errors) Error() string { return strings.Join(f, "\n") }

// maxFile is the maximum size of the file, in bytes.
const maxFile = 1 << 20

// Load reads the configuration from a file and from the environment of the process. An empty path means that there is
// no file. If the configuration is invalid, the error has the type Errors.
func Load(path string) (*Config, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(text, os.LookupEnv)
}

// readFile returns the text of a file, or nil if path is empty.
func readFile(path string) (text []byte, err error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read from
	if text, err = io.ReadAll(io.LimitReader(file, maxFile+1)); err != nil {
		err = fmt.Errorf("reading %s: %w", path, err)
	}
	return text, err
}

// KeyFolder returns the folder of the signing keys, or "" if the keys are not stored in files. It neither reads secrets
// nor applies rules, so that commands can call it without the secrets of the server.
func KeyFolder(path string) (string, error) {
	text, err := readFile(path)
	if err != nil {
		return "", err
	}
	l := newLoader(os.LookupEnv)
	if !l.file(text) {
		return "", l.faults
	}
	for i := range keys {
		if name := keys[i].Name; name == "signing.key_store" || name == "signing.key_path" {
			l.key(&keys[i])
		}
	}
	if len(l.unread) > 0 {
		return "", l.faults
	}
	if l.Signing.KeyStore != KeyFile {
		return "", nil
	}
	return l.Signing.KeyPath, nil
}

// Parse loads the configuration like Load, from the text of a file and from the variables that lookup returns. A
// variable with an empty value counts as unset.
func Parse(text []byte, lookup func(name string) (string, bool)) (*Config, error) {
	l := newLoader(lookup)
	l.file(text)
	for i := range keys {
		l.key(&keys[i])
	}
	l.normalize()
	l.issuer, _ = absolute(l.Server.Issuer)
	if len(l.unread) == 0 { // with an unread key, faults of the lists could follow from faults that are already reported
		l.seeds()
	}
	for i := range keys {
		l.rule(&keys[i])
	}
	if len(l.faults) > 0 {
		slices.Sort(l.faults)
		return nil, slices.Compact(l.faults)
	}
	return l.Config, nil
}

// loader is a configuration while it is being loaded.
type loader struct {
	*Config
	env    func(name string) string // the value of an environment variable; "" if it is unset
	leaves map[string]leaf          // the values of the file, by the name of the key
	lists  seedNodes
	unread map[string]bool // keys whose value did not parse, to which no rule is applied
	faults Errors
}

// newLoader returns a loader with an empty configuration. The function lookup works like os.LookupEnv.
func newLoader(lookup func(name string) (string, bool)) *loader {
	env := func(name string) string {
		value, _ := lookup(name)
		return value
	}
	return &loader{Config: &Config{isSet: make(map[string]bool)}, env: env, unread: make(map[string]bool)}
}

// leaf is the value of a key in the file: either a text or a list.
type leaf struct {
	text string
	list []string // nil if the value is a text
	line int
}

// fault records a fault of a key. If the value is from the file, the fault contains its line.
func (l *loader) fault(k *Key, format string, args ...any) {
	text := k.String() + ": " + fmt.Sprintf(format, args...)
	if inFile, ok := l.leaves[k.Name]; ok && l.fromEnv(k) == "" {
		text += fmt.Sprintf(" (line %d)", inFile.line)
	}
	l.faults = append(l.faults, text)
}

// fromEnv returns the value that the environment gives a key, or "" if it gives none.
func (l *loader) fromEnv(k *Key) string {
	if variable := k.Variable(); variable != "" {
		return l.env(variable)
	}
	return ""
}

// String returns the name of the key and its variable.
func (k *Key) String() string {
	if v := k.Variable(); v != "" {
		return k.Name + " (" + v + ")"
	}
	return k.Name
}

// key sets the value of a key from the environment, the file or the default.
func (l *loader) key(k *Key) {
	pointer := k.pointer(l.Config)
	if err := set(pointer, k.Default); err != nil {
		panic(k.Name + ": " + err.Error())
	}
	var err error
	envText := l.fromEnv(k)
	leaf, isInFile := l.leaves[k.Name]
	list, isList := pointer.(*[]string)
	if envText != "" || isInFile {
		l.isSet[k.Name] = true
	}
	switch {
	case envText != "":
		err = set(pointer, envText)
	case !isInFile: // neither sets the key, so the default remains
	case isList && leaf.list == nil:
		err = errors.New("must be a list")
	case isList:
		*list = leaf.list
	case leaf.list != nil:
		err = errors.New("must not be a list")
	default:
		err = set(pointer, leaf.text)
	}
	if ref, isRef := pointer.(*Ref); isRef && ref.Name != "" && err == nil {
		if ref.Secret = l.env(ref.Name); ref.Secret == "" {
			err = errors.New(unset(ref.Name))
		}
	}
	if err != nil {
		l.unread[k.Name] = true
		if k.Secret { // err may quote the secret
			err = errors.New("does not parse")
		}
		l.fault(k, "%s", err)
	}
}

// nameOfVariable matches texts that an error message may quote as the name of a variable. Any other text may be a
// secret that was written in place of the name. A master key in capitals is longer than the pattern allows.
var nameOfVariable = regexp.MustCompile(`^[A-Z_][A-Z0-9_]{0,50}$`)

// rule applies the rule of a key, unless its value did not parse.
func (l *loader) rule(k *Key) {
	if l.unread[k.Name] || k.check == nil {
		return
	}
	if fault := k.check(l.Config, k.pointer(l.Config)); fault != "" {
		l.fault(k, "%s", fault)
	}
}

// normalize copies the values of deprecated keys to the keys that replace them. It then sets the values that are
// derived from other keys.
func (l *loader) normalize() {
	if o := &l.OIDC; o.ClientSecretRef.Name == "" {
		o.ClientSecretRef = o.ClientSecretEnv
	}
	if a := &l.Admin; a.RequestsPerSecond > 0 && a.Burst == 0 {
		a.Burst = int(math.Ceil(min(a.RequestsPerSecond, math.MaxInt32)))
	}
	if l.Session.SameSite == "none" {
		l.Session.Secure = true
	}
}

// set parses text into the variable at pointer. The empty text sets the zero value.
func set(pointer any, text string) (err error) {
	if text == "" {
		reflect.ValueOf(pointer).Elem().SetZero()
		return nil
	}
	switch v := pointer.(type) {
	case *string:
		*v = text
	case *Ref:
		*v = Ref{Name: text}
	case *bool:
		switch text {
		case "true", "1":
			*v = true
		case "false", "0":
			*v = false
		default:
			err = fmt.Errorf("%q is not true or false", text)
		}
	case *int:
		if *v, err = strconv.Atoi(text); err != nil || int64(*v) > math.MaxInt32 || int64(*v) < math.MinInt32 {
			err = fmt.Errorf("%q is not a whole number", text)
		}
	case *float64:
		if *v, err = strconv.ParseFloat(text, 64); err != nil || math.IsInf(*v, 0) || math.IsNaN(*v) {
			err = fmt.Errorf("%q is not a number", text)
		}
	case *time.Duration:
		*v, err = time.ParseDuration(text)
		if last := text[len(text)-1]; err != nil || last >= '0' && last <= '9' { // ParseDuration accepts "0"
			err = fmt.Errorf("%q is not a duration with a unit, such as 30s, 15m or 24h", text)
		}
	case *[]string:
		*v = nil
		for word := range strings.SplitSeq(text, ",") {
			if word = strings.TrimSpace(word); word != "" {
				*v = append(*v, word)
			}
		}
	default:
		panic(fmt.Sprintf("a key cannot be a %T", pointer))
	}
	return err
}
