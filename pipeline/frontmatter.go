package pipeline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.abhg.dev/goldmark/frontmatter"
	"golang.org/x/text/language"
	"gopkg.in/yaml.v3"
)

// maxFrontMatter is the most bytes of front matter between its delimiters.
const maxFrontMatter = 64 << 10

// A frontField is the value of a front matter key.
type frontField struct {
	line int    // in the file; 0 if not known
	kind string // as a message names it: text, a number, true or false, a date, a list, a table
	text string // of anything but a list or a table; a date as YYYY-MM-DD or as RFC 3339
	list []frontField
	name string // of a table: its text named name
}

// frontKeys are the keys that mean something here. Others are other tools' and are passed over, but for slips of
// draft, which would publish what is not to be published.
var frontKeys = []string{"title", "author", "authors", "language", "lang", "content_type", "topics", "tags", "unit_id", "date", "draft"}

// cutFrontMatter finds front matter: it starts with the text's first line, which holds three or more
// times '-' (YAML) or '+' (TOML) and nothing else but blanks behind them, and ends before the next
// such line of the same length. Without such a line there is none, and the first line is a rule or a
// paragraph of Markdown. An object of JSON with which the text starts is front matter as well.
func cutFrontMatter(text []byte) (format frontmatter.Format, raw []byte, body int, ok bool) {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	fence := bytes.TrimRight(first, " \t")
	switch {
	case len(fence) > 0 && fence[0] == '{':
		return cutJSON(text)
	case len(fence) < 3:
		return
	case len(bytes.Trim(fence, "-")) == 0:
		format = frontmatter.YAML
	case len(bytes.Trim(fence, "+")) == 0:
		format = frontmatter.TOML
	default:
		return
	}
	for next := rest; len(next) > 0; {
		var line []byte
		at := len(rest) - len(next)
		line, next, _ = bytes.Cut(next, []byte("\n"))
		if bytes.Equal(bytes.TrimRight(line, " \t"), fence) {
			return format, rest[:at], len(text) - len(next), true
		}
	}
	return
}

// jsonFormat is front matter that is an object of JSON, braces included.
var jsonFormat = frontmatter.Format{Name: "JSON", Unmarshal: json.Unmarshal}

// cutJSON finds an object of JSON that has a key and is followed by nothing else in its line: a paragraph that starts
// with a brace is hardly ever one.
func cutJSON(text []byte) (format frontmatter.Format, raw []byte, body int, ok bool) {
	inner := bytes.TrimLeft(text[1:], " \t\n")
	if len(inner) == 0 || inner[0] != '"' {
		return
	}
	decoder := json.NewDecoder(bytes.NewReader(text[:min(len(text), maxFrontMatter)]))
	var object json.RawMessage
	if decoder.Decode(&object) != nil {
		return
	}
	end := int(decoder.InputOffset())
	line, _, _ := bytes.Cut(text[end:], []byte("\n"))
	if len(bytes.TrimRight(line, " \t")) > 0 {
		return
	}
	return jsonFormat, object, min(end+len(line)+1, len(text)), true
}

// parseFrontMatter reads the front matter of a Markdown file and returns where the rest starts.
// problem names keys and lines if it can't be understood.
func parseFrontMatter(text []byte) (meta Meta, body int, problem string) {
	format, raw, body, ok := cutFrontMatter(text)
	if !ok {
		return Meta{}, 0, ""
	}
	if len(raw) > maxFrontMatter {
		return Meta{}, body, fmt.Sprintf("front matter: %d bytes are more than the limit of %d; if the file starts with a rule, put an empty line before it", len(raw), maxFrontMatter)
	}
	var fields map[string]frontField
	var problems []string
	switch format.Name {
	case frontmatter.TOML.Name:
		fields, problems = tomlFields(format, raw)
	case jsonFormat.Name:
		fields, problems = jsonFields(raw)
	default:
		fields, problems = yamlFields(format, raw)
	}
	meta, wrong := metaOf(fields)
	if problems = append(problems, wrong...); len(problems) > 0 {
		slices.SortStableFunc(problems, func(a, b string) int { return cmp.Compare(lineOf(a), lineOf(b)) })
		return Meta{}, body, "front matter: " + strings.Join(problems, "; ")
	}
	return meta, body, ""
}

// lineOf returns the line that a problem begins with, 0 if it names none.
func lineOf(problem string) (line int) {
	fmt.Sscanf(problem, "line %d:", &line)
	return line
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

// yamlFields returns the values of the known keys. Decoding into nodes follows no alias, so that
// aliases can't blow up.
func yamlFields(format frontmatter.Format, raw []byte) (map[string]frontField, []string) {
	var doc yaml.Node
	if err := format.Unmarshal(raw, &doc); err != nil {
		// The decoder's lines count from the line behind the delimiter. What it quotes is the
		// document's.
		message := strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: ")
		if i := strings.IndexAny(message, "'\"`"); i >= 0 {
			message = strings.TrimSpace(message[:i]) + " …"
		}
		message = yamlLine.ReplaceAllStringFunc(message, func(s string) string {
			n, _ := strconv.Atoi(strings.TrimPrefix(s, "line "))
			return fmt.Sprintf("line %d", n+1)
		})
		return nil, []string{"not valid YAML: " + message}
	}
	if len(doc.Content) == 0 {
		return nil, nil // nothing but comments
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, []string{fmt.Sprintf("line %d: keys and values are expected; if the file starts with a rule, put an empty line before it",
			root.Line+1)}
	}
	fields := map[string]frontField{}
	var problems []string
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if !slices.Contains(frontKeys, key.Value) && !slipOfDraft(key.Value) {
			continue
		}
		if first, ok := fields[key.Value]; ok {
			problems = append(problems, fmt.Sprintf("line %d: %s is given twice, first in line %d", key.Line+1, key.Value, first.line))
			continue
		}
		field := yamlField(value)
		field.line = key.Line + 1
		fields[key.Value] = field
	}
	return fields, problems
}

func yamlField(n *yaml.Node) frontField {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	f := frontField{text: n.Value}
	switch {
	case n.Kind == yaml.SequenceNode:
		f.kind = "a list"
		for _, item := range n.Content {
			if item.Kind == yaml.AliasNode {
				item = item.Alias
			}
			entry := frontField{kind: "a list", text: item.Value}
			if item.Kind == yaml.ScalarNode || item.Kind == yaml.MappingNode {
				entry = yamlField(item)
			}
			f.list = append(f.list, entry)
		}
	case n.Kind != yaml.ScalarNode:
		f.kind = "a table"
		for i := 0; i+1 < len(n.Content); i += 2 {
			if v := n.Content[i+1]; n.Content[i].Value == "name" && v.Kind == yaml.ScalarNode {
				f.name = v.Value
			}
		}
	case n.Tag == "!!null":
	case n.Tag == "!!str":
		f.kind = "text"
	case n.Tag == "!!bool":
		f.kind = "true or false"
		f.text = strings.ToLower(n.Value)
	case n.Tag == "!!timestamp":
		f.kind = "a date"
	default:
		f.kind = "a number"
	}
	return f
}

var tomlLine = regexp.MustCompile(`line (\d+)`)

// maxTOMLNesting is the most dots of a line and the most braces of front matter in TOML. The time of
// its decoder grows with the square of the parts of a dotted key, and of inline tables in each other;
// dots and braces in texts are counted too, since only the decoder can tell.
const maxTOMLNesting = 256

func tomlFields(format frontmatter.Format, raw []byte) (map[string]frontField, []string) {
	if bytes.Count(raw, []byte("{")) > maxTOMLNesting {
		return nil, []string{fmt.Sprintf("more braces than the limit of %d", maxTOMLNesting)}
	}
	number := 1
	for line := range bytes.Lines(raw) {
		if number++; bytes.Count(line, []byte(".")) > maxTOMLNesting {
			return nil, []string{fmt.Sprintf("line %d: more dots than the limit of %d; break the line", number, maxTOMLNesting)}
		}
	}
	values := map[string]any{}
	if err := format.Unmarshal(raw, &values); err != nil {
		// The decoder's messages quote the document: only their line is told.
		where := ""
		if m := tomlLine.FindStringSubmatch(err.Error()); m != nil {
			n, _ := strconv.Atoi(m[1])
			where = fmt.Sprintf(" in line %d", n+1)
		}
		return nil, []string{"not valid TOML" + where}
	}
	fields := map[string]frontField{}
	for key, value := range values {
		if slices.Contains(frontKeys, key) || slipOfDraft(key) {
			field := tomlField(value)
			field.line = tomlKeyLine(raw, key)
			fields[key] = field
		}
	}
	return fields, nil
}

func tomlField(value any) frontField {
	switch v := value.(type) {
	case string:
		return frontField{kind: "text", text: v}
	case bool:
		return frontField{kind: "true or false", text: strconv.FormatBool(v)}
	case time.Time:
		return frontField{kind: "a date", text: v.Format(time.DateOnly)}
	case []any:
		f := frontField{kind: "a list"}
		for _, item := range v {
			entry := frontField{kind: "a list"}
			if _, nested := item.([]any); !nested {
				entry = tomlField(item)
			}
			f.list = append(f.list, entry)
		}
		return f
	case []map[string]any: // tables of TOML
		f := frontField{kind: "a list"}
		for _, item := range v {
			f.list = append(f.list, tomlField(item))
		}
		return f
	case map[string]any:
		name, _ := v["name"].(string)
		return frontField{kind: "a table", name: name}
	case int64, float64:
		return frontField{kind: "a number"}
	case nil:
		return frontField{}
	}
	return frontField{kind: "a table"}
}

// jsonFields returns the values of the known keys of an object.
func jsonFields(raw []byte) (map[string]frontField, []string) {
	values := map[string]any{}
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, []string{"not valid JSON"}
	}
	fields := map[string]frontField{}
	for key, value := range values {
		if slices.Contains(frontKeys, key) || slipOfDraft(key) {
			field := tomlField(value)
			if at := regexp.MustCompile(`"` + regexp.QuoteMeta(key) + `"\s*:`).FindIndex(raw); at != nil {
				field.line = 1 + bytes.Count(raw[:at[0]], []byte("\n"))
			}
			fields[key] = field
		}
	}
	return fields, nil
}

// tomlKeyLine returns the file's line of a top-level key, which the decoder does not tell, or 0.
func tomlKeyLine(raw []byte, key string) int {
	at := regexp.MustCompile(`(?m)^[ \t]*(\[[ \t]*)?["']?` + regexp.QuoteMeta(key) + `["']?[ \t]*[=.\]]`).FindIndex(raw)
	if at == nil {
		return 0
	}
	return 2 + bytes.Count(raw[:at[0]], []byte("\n"))
}

// metaOf turns fields into metadata, and lists what is wrong with them in the order of frontKeys.
func metaOf(fields map[string]frontField) (m Meta, problems []string) {
	wrong := func(key string, format string, args ...any) {
		message := key + " " + fmt.Sprintf(format, args...)
		if line := fields[key].line; line > 0 {
			message = fmt.Sprintf("line %d: %s", line, message)
		}
		problems = append(problems, message)
	}
	line := func(key string) string {
		f := fields[key]
		if f.kind != "text" {
			wrong(key, "is %s, not text; quote it", f.kind)
			return ""
		}
		return cleanLine(f.text)
	}
	for _, key := range frontKeys {
		f := fields[key]
		if f.kind == "" {
			continue // not given, or null
		}
		switch key {
		case "title":
			m.Title = line(key)
		case "author", "authors":
			m.Author = cmp.Or(m.Author, authorOf(f))
		case "language", "lang":
			m.Language = cmp.Or(m.Language, languageOf(f.text))
		case "unit_id":
			m.UnitID = line(key)
		case "content_type":
			m.ContentType = line(key)
			if strings.ContainsRune(m.ContentType, ' ') {
				wrong(key, "must be one word, such as article or faq")
			}
		case "topics", "tags":
			topics, ok := topicsOf(f)
			if !ok {
				wrong(key, "must be a list of texts, or one text with commas")
			}
			m.Topics = append(m.Topics, topics...)
		case "date":
			var ok bool
			if m.Date, ok = dayOf(f.text); !ok || f.kind != "a date" && f.kind != "text" {
				wrong(key, "must be a day as YYYY-MM-DD, or a time as in RFC 3339")
			}
		case "draft":
			if f.kind != "true or false" {
				wrong(key, "is %s; it must be true or false", f.kind)
			}
			m.Draft = f.text == "true"
		}
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if slipOfDraft(key) {
			wrong(key, "is unknown; did you mean draft?")
		}
	}
	slices.Sort(m.Topics)
	m.Topics = slices.Compact(m.Topics)
	return m, problems
}

// authorOf returns the names of authors, with commas between them. Tools write a name, a list of names, or tables with
// a name; of anything else there is none.
func authorOf(f frontField) string {
	var names []string
	for _, f := range append([]frontField{f}, f.list...) {
		name := cmp.Or(f.name, f.text)
		if f.kind != "text" && f.kind != "a table" {
			continue
		}
		if name = cleanLine(name); name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// languageOf returns a language as BCP 47 writes it, such as en or pt-BR for pt_br. Tools write other things under
// such keys, such as English or python: of what is no tag of a language there is none.
func languageOf(text string) string {
	tag, err := language.Parse(strings.TrimSpace(text))
	if err != nil || tag == language.Und {
		return ""
	}
	return tag.String()
}

// slipOfDraft tells whether a key was most likely meant to be draft.
func slipOfDraft(key string) bool {
	return key != "draft" && len(key) <= len("drafts") && editDistance(strings.ToLower(key), "draft") <= 1
}

// topicsOf returns the topics of a list, or of a text with commas between them.
func topicsOf(f frontField) (topics []string, ok bool) {
	var words []string
	switch f.kind {
	case "text":
		words = strings.Split(f.text, ",")
	case "a list":
		for _, item := range f.list {
			if item.kind != "text" {
				return nil, false
			}
			words = append(words, item.text)
		}
	default:
		return nil, false
	}
	for _, word := range words {
		if word = cleanLine(word); word != "" {
			topics = append(topics, word)
		}
	}
	return topics, true
}

// dayOf returns the day of YYYY-MM-DD or of a time in RFC 3339, as it is written: a time's own zone
// decides its day.
func dayOf(text string) (time.Time, bool) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		if t, err = time.Parse(time.RFC3339, text); err != nil {
			return time.Time{}, false
		}
	}
	year, month, day := t.Date()
	if year == 0 {
		return time.Time{}, false // a time of day in TOML
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC), true
}
