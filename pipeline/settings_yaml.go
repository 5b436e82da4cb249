package pipeline

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// SettingsFile is the name of the file that holds a base's settings, at the top of its folder.
const SettingsFile = "base.yaml"

const maxSettingsFile = 1 << 20 // bytes

//go:embed base.schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of base.yaml, for editors. It accepts a little more than
// [LoadSettings]: it can't compare chunk_overlap with chunk_size, nor check a glob.
func Schema() []byte { return bytes.Clone(schema) }

// LoadSettings reads base.yaml at the top of a base's folder and fills in the defaults; without the file
// they are all defaults. name is the base's name if the file gives none: the folder's.
// What is wrong with the content is told all at once, in a [*SettingsError].
func LoadSettings(folder *os.Root, name string) (Settings, error) {
	file := filepath.Join(folder.Name(), SettingsFile)
	info, err := folder.Lstat(SettingsFile)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := folder.Lstat("base.yml"); err == nil {
			return Settings{}, fmt.Errorf("%s: settings are read from %s alone; rename it", filepath.Join(folder.Name(), "base.yml"), SettingsFile)
		}
		return parseSettings(file, nil, name)
	}
	if err != nil {
		return Settings{}, fmt.Errorf("%s: %w", file, cause(err))
	}
	if !info.Mode().IsRegular() {
		return Settings{}, fmt.Errorf("%s: not a regular file; put the settings into one", file)
	}
	f, err := folder.Open(SettingsFile)
	if err != nil {
		return Settings{}, fmt.Errorf("%s: %w", file, cause(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSettingsFile+1))
	if err != nil {
		return Settings{}, fmt.Errorf("%s: %w", file, cause(err))
	}
	if len(data) > maxSettingsFile {
		return Settings{}, fmt.Errorf("%s: larger than the limit of %d bytes", file, maxSettingsFile)
	}
	return parseSettings(file, data, name)
}

// ReadSettings is [LoadSettings] for the base in a folder, which has the folder's name unless base.yaml gives another.
func ReadSettings(folder string) (Settings, error) {
	root, err := OpenFolder(folder)
	if err != nil {
		return Settings{}, err
	}
	defer root.Close()
	abs, err := filepath.Abs(folder)
	if err != nil {
		return Settings{}, err
	}
	return LoadSettings(root, filepath.Base(abs))
}

// A settingKey is a key of base.yaml.
type settingKey struct {
	name    string
	allowed string
	read    func(r *settingsReader, key settingKey, n *yaml.Node, s *Settings)
}

func settingKeys() []settingKey {
	text := func(field func(*Settings) *string) func(*settingsReader, settingKey, *yaml.Node, *Settings) {
		return func(r *settingsReader, key settingKey, n *yaml.Node, s *Settings) {
			r.text(key.name, key.allowed, n, field(s))
		}
	}
	whole := func(field func(*Settings) *int, onError int) func(*settingsReader, settingKey, *yaml.Node, *Settings) {
		return func(r *settingsReader, key settingKey, n *yaml.Node, s *Settings) {
			v, ok := r.whole(key.name, key.allowed, n)
			if ok && int64(int(v)) != v {
				r.wrong(n.Line, key.name, "%d is out of range (%s)", v, key.allowed)
				ok = false
			}
			if ok {
				*field(s) = int(v)
			} else if onError != 0 {
				*field(s) = onError
			}
		}
	}
	return []settingKey{
		{"name", `up to 63 of a-z, 0-9, _ and -; not "models"`, text(func(s *Settings) *string { return &s.Name })},
		{"mode", strings.Join(modes, ", "), text(func(s *Settings) *string { return &s.Mode })},
		// A chunk_size of the wrong type must not make chunk_overlap wrong too.
		{"chunk_size", fmt.Sprintf("1 to %d", maxChunkSize), whole(func(s *Settings) *int { return &s.ChunkSize }, maxChunkSize)},
		{"chunk_overlap", "0 to chunk_size", whole(func(s *Settings) *int { return &s.ChunkOverlap }, 0)},
		{"top_k", fmt.Sprintf("1 to %d", maxTopK), whole(func(s *Settings) *int { return &s.TopK }, 0)},
		{"min_score", "0 to 1; only 0 in keyword mode", func(r *settingsReader, key settingKey, n *yaml.Node, s *Settings) {
			r.number(key.name, key.allowed, n, &s.MinScore)
		}},
		{"model", strings.Join(modelNames, ", "), text(func(s *Settings) *string { return &s.Model })},
		{"embedder", strings.Join(embedders, ", "), (*settingsReader).embedder},
		{"openai", "a mapping: " + strings.Join(openAIKeys(), ", "), (*settingsReader).openAI},
		{"credential_env", "the name of an environment variable, such as OPENAI_API_KEY", text(func(s *Settings) *string { return &s.Credential })},
		{"index_dir", "a path relative to the base's folder, such as ../../dist/refunds", text(func(s *Settings) *string { return &s.IndexDir })},
		{"tool", "a mapping: name, description", (*settingsReader).tool},
		{"language", strings.Join(languages, ", ") + ", or a list of them", func(r *settingsReader, key settingKey, n *yaml.Node, s *Settings) {
			s.Languages = r.texts(key.name, key.allowed, n, true)
		}},
		{"pdf_engine", strings.Join(pdfEngines, ", "), text(func(s *Settings) *string { return &s.PDFEngine })},
		{"bad_pages", strings.Join(badPages, ", "), text(func(s *Settings) *string { return &s.BadPages })},
		{"pdf_password_env", "the name of an environment variable, or a list of them", func(r *settingsReader, key settingKey, n *yaml.Node, s *Settings) {
			s.PasswordEnv = r.texts(key.name, key.allowed, n, true)
		}},
		{"encoding", "a name of the WHATWG's list of encodings, such as windows-1251", text(func(s *Settings) *string { return &s.Encoding })},
		{"originals", "true or false", (*settingsReader).originals},
		{"serial", fmt.Sprintf("0 to %d", uint64(maxSerial)), func(r *settingsReader, key settingKey, n *yaml.Node, s *Settings) {
			if v, ok := r.whole(key.name, key.allowed, n); ok && v < 0 {
				r.wrong(n.Line, key.name, "%d is out of range (%s)", v, key.allowed)
			} else if ok {
				s.Serial = uint64(v)
			}
		}},
		{"boosts", fmt.Sprintf("content types, each with a number from %v to %v", minBoost, maxBoost), (*settingsReader).boosts},
		{"skip", "a list of globs", func(r *settingsReader, key settingKey, n *yaml.Node, s *Settings) {
			s.Skip = r.texts(key.name, key.allowed, n, false)
		}},
		{"metadata", "a list of rules, each with files and any of content_type, topics, unit_id, date", (*settingsReader).metadata},
	}
}

// ruleKeys are the keys of a metadata rule.
func ruleKeys() []string { return []string{"files", "content_type", "topics", "unit_id", "date"} }

// A settingsReader walks over the nodes of a base.yaml and collects what is wrong.
type settingsReader struct {
	lines    map[string]int // where each value was found
	problems []SettingsProblem
}

func (r *settingsReader) wrong(line int, key, format string, args ...any) {
	r.problems = append(r.problems, SettingsProblem{line, key, fmt.Sprintf(format, args...)})
}

// parseSettings reads the content of a base.yaml. file is for errors only.
func parseSettings(file string, data []byte, name string) (Settings, error) {
	s := DefaultSettings(name)
	r := &settingsReader{lines: map[string]int{}}
	r.document(data, &s)
	bad := map[string]bool{}
	for _, p := range r.problems {
		bad[p.Key] = true
	}
	for _, p := range s.problems() {
		if bad[p.Key] {
			continue
		}
		p.Line = r.lines[p.Key]
		switch {
		case p.Line == 0 && p.Key == "name":
			p.Text += "; set name in " + SettingsFile
		case p.Line == 0 && p.Key == "openai.model":
			p.Line = r.lines["embedder"]
		case p.Line == 0 && p.Key == "chunk_overlap":
			p.Line = r.lines["chunk_size"]
			p.Text += "; it is the default: set it too"
		}
		r.problems = append(r.problems, p)
	}
	if len(r.problems) > 0 {
		slices.SortStableFunc(r.problems, func(a, b SettingsProblem) int { return a.Line - b.Line })
		return Settings{}, &SettingsError{file, r.problems}
	}
	slices.Sort(s.Languages)
	s.lines = r.lines
	return s, nil
}

var yamlErrorLine = regexp.MustCompile(`^line (\d+): `)

func (r *settingsReader) document(data []byte, s *Settings) {
	var doc, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return // nothing but comments
	}
	if err == nil {
		if err = decoder.Decode(&second); err == nil {
			r.wrong(second.Line, "", "a second document begins (only one is allowed: remove the line ---)")
			return
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		line, message := 0, strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: ")
		if m := yamlErrorLine.FindStringSubmatch(message); m != nil {
			line, _ = strconv.Atoi(m[1])
			message = message[len(m[0]):]
		}
		r.wrong(line, "", "not valid YAML: %s", message)
		return
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return
	}
	keys := settingKeys()
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	for name, n := range r.mapping("", "keys and values: "+strings.Join(names, ", "), doc.Content[0], names) {
		i := slices.Index(names, name)
		keys[i].read(r, keys[i], n, s)
	}
}

// mapping yields the keys of a mapping that are known, with their values, and says what is wrong with the
// others. If known is nil, every key is.
func (r *settingsReader) mapping(key, allowed string, n *yaml.Node, known []string) func(func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		if n.Kind != yaml.MappingNode {
			r.wrongType(key, allowed, n)
			return
		}
		prefix := ""
		if key != "" {
			prefix = key + "."
		}
		first := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			if k.Kind != yaml.ScalarNode {
				r.wrong(k.Line, key, "%s can't be a key (allowed: %s)", nodeKind(k), allowed)
				continue
			}
			full := prefix + k.Value
			if line, ok := first[k.Value]; ok {
				r.wrong(k.Line, full, "given twice, first in line %d", line)
				continue
			}
			first[k.Value] = k.Line
			if known != nil && !slices.Contains(known, k.Value) {
				r.wrong(k.Line, full, "unknown key (allowed: %s)%s", strings.Join(known, ", "), didYouMean(k.Value, known))
				continue
			}
			r.lines[full] = k.Line
			if !yield(k.Value, v) {
				return
			}
		}
	}
}

// nodeKind names what a node is, in words.
func nodeKind(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.AliasNode:
		return "an alias"
	}
	value := excerpt(n.Value)
	switch n.Tag {
	case "!!null":
		return "nothing"
	case "!!bool":
		return value + ", true or false,"
	case "!!int", "!!float":
		return value + ", a number,"
	case "!!timestamp":
		return value + ", a date,"
	case "!!str":
		return value + ", text,"
	}
	return value + " with a tag"
}

func (r *settingsReader) wrongType(key, allowed string, n *yaml.Node) {
	hint := ""
	switch {
	case n.Kind == yaml.AliasNode:
		hint = "; write the value out"
	case n.Tag == "!!null":
		hint = "; give a value or remove the key"
	}
	r.wrong(n.Line, key, "%s has the wrong type (allowed: %s)%s", nodeKind(n), allowed, hint)
}

func (r *settingsReader) text(key, allowed string, n *yaml.Node, to *string) bool {
	r.lines[key] = n.Line
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		if n.Kind == yaml.ScalarNode && (n.Tag == "!!int" || n.Tag == "!!float" || n.Tag == "!!bool" || n.Tag == "!!timestamp") {
			allowed += "; as text, in quotes"
		}
		r.wrongType(key, allowed, n)
		return false
	}
	*to = n.Value
	return true
}

// texts reads a list of texts, or a single one if that is allowed.
func (r *settingsReader) texts(key, allowed string, n *yaml.Node, single bool) []string {
	list := []string{}
	if single && n.Kind == yaml.ScalarNode {
		var s string
		if r.lines[key+"[0]"] = n.Line; r.text(key, allowed, n, &s) {
			list = append(list, s)
		}
		return list
	}
	if n.Kind != yaml.SequenceNode {
		r.wrongType(key, allowed, n)
		return list
	}
	for i, item := range n.Content {
		var s string
		r.text(fmt.Sprintf("%s[%d]", key, i), allowed, item, &s)
		list = append(list, s) // even if wrong: the others keep their numbers
	}
	return list
}

// A leading zero means eight to some readers of YAML.
var decimal = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?$`)

func (r *settingsReader) number(key, allowed string, n *yaml.Node, to *float64) bool {
	r.lines[key] = n.Line
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" && n.Tag != "!!float" {
		r.wrongType(key, allowed, n)
		return false
	}
	if !decimal.MatchString(n.Value) {
		r.wrong(n.Line, key, "%s is not in plain decimal digits (allowed: %s)", excerpt(n.Value), allowed)
		return false
	}
	v, err := strconv.ParseFloat(n.Value, 64)
	if err != nil { // beyond any range
		r.wrong(n.Line, key, "%s is out of range (%s)", excerpt(n.Value), allowed)
		return false
	}
	*to = v
	return true
}

// whole reads a whole number, which may be written 90.0 as in JSON.
func (r *settingsReader) whole(key, allowed string, n *yaml.Node) (int64, bool) {
	var v float64
	if !r.number(key, allowed, n, &v) {
		return 0, false
	}
	if v != math.Trunc(v) {
		r.wrong(n.Line, key, "%s is not a whole number (allowed: %s)", n.Value, allowed)
		return 0, false
	}
	if math.Abs(v) > maxSerial {
		r.wrong(n.Line, key, "%s is out of range (%s)", excerpt(n.Value), allowed)
		return 0, false
	}
	return int64(v), true
}

func (r *settingsReader) originals(key settingKey, n *yaml.Node, s *Settings) {
	r.lines[key.name] = n.Line
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" || n.Decode(&s.Originals) != nil {
		r.wrongType(key.name, key.allowed, n)
	}
}

func (r *settingsReader) boosts(key settingKey, n *yaml.Node, s *Settings) {
	for contentType, v := range r.mapping(key.name, key.allowed, n, nil) {
		var boost float64
		if r.number(key.name+"."+contentType, fmt.Sprintf("a number from %v to %v", minBoost, maxBoost), v, &boost) {
			s.Boosts[contentType] = boost
		}
	}
}

func (r *settingsReader) metadata(key settingKey, n *yaml.Node, s *Settings) {
	if n.Kind != yaml.SequenceNode {
		r.wrongType(key.name, key.allowed, n)
		return
	}
	for i, item := range n.Content {
		var rule MetadataRule
		prefix := fmt.Sprintf("%s[%d]", key.name, i)
		hasFiles := false
		for name, v := range r.mapping(prefix, strings.Join(ruleKeys(), ", "), item, ruleKeys()) {
			full := prefix + "." + name
			switch name {
			case "files":
				hasFiles = true
				r.text(full, "a glob", v, &rule.Files)
			case "content_type":
				if r.text(full, "one word, such as article or faq", v, &rule.Meta.ContentType) && rule.Meta.ContentType == "" {
					r.wrong(v.Line, full, `"" %s`, wordProblem(""))
				}
			case "topics":
				rule.Meta.Topics = r.topics(full, v)
			case "unit_id":
				if r.text(full, "one line of text", v, &rule.Meta.UnitID) && rule.Meta.UnitID == "" {
					r.wrong(v.Line, full, `"" %s`, labelProblem(""))
				}
			case "date":
				day, err := time.Parse(time.DateOnly, v.Value)
				switch {
				case v.Kind != yaml.ScalarNode || v.Tag != "!!timestamp" && v.Tag != "!!str":
					r.wrongType(full, "YYYY-MM-DD", v)
				case err != nil || day.Year() < 1 || day.IsZero():
					r.wrong(v.Line, full, "%s is not a day (allowed: YYYY-MM-DD)", excerpt(v.Value))
				default:
					rule.Meta.Date = day
				}
			}
		}
		if !hasFiles && item.Kind == yaml.MappingNode {
			r.wrong(item.Line, prefix+".files", "missing (allowed: a glob)")
		} else if !hasFiles {
			rule.Files = "**" // the rule itself is reported
		}
		s.Metadata = append(s.Metadata, rule)
	}
}

// topics reads a list of topics, or one text with commas between them.
func (r *settingsReader) topics(key string, n *yaml.Node) []string {
	before := len(r.problems)
	list := r.texts(key, "a list of texts, or one text with commas", n, true)
	if len(r.problems) > before {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		list = slices.DeleteFunc(strings.Split(list[0], ","), func(s string) bool { return strings.TrimSpace(s) == "" })
		if len(list) == 0 {
			r.wrong(n.Line, key, "%s names no topic", excerpt(n.Value))
		}
	}
	for i, topic := range list {
		list[i] = strings.Join(strings.Fields(topic), " ")
	}
	slices.Sort(list)
	return slices.Compact(list)
}
