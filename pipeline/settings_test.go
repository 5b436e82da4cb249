package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// settingsFiles are files, good ones and bad ones.
var settingsFiles = []struct {
	name string
	text string
	want []string // the problems' lines, without the file's name; none if the file is good
	// blind says that the schema can't see what is wrong.
	blind bool
}{
	{name: "empty"},
	{name: "comments", text: "# nothing\n"},
	{name: "separator", text: "---\nmode: keyword\n"},
	{name: "every key", text: `
name: refunds-2
mode: meaning
chunk_size: 64
chunk_overlap: 64
top_k: 20
min_score: 0.25
model: e5-small-v2
embedder: native
language: [ru, en]
pdf_engine: ledongthuc
bad_pages: keep
pdf_password_env: [A_1, _b]
encoding: windows-1251
originals: true
serial: 9007199254740991
boosts: {faq: 0.1, "выписка": 10}
skip: ["old/**/*.pdf", "[a-z].md"]
metadata:
  - files: "**"
    content_type: note
    topics: [b, "a  a", b]
    unit_id: "7"
    date: 2024-02-29
  - files: "*.txt"
    topics: x, y z
  - files: "*.pdf"
`},
	{name: "a service", text: `
embedder: openai
openai: {model: text-embedding-3-small, base_url: "http://127.0.0.1:8080/v1", dimensions: 512, query_prefix: "query: ", passage_prefix: "passage: ", batch: 16, retries: 0, timeout: 2.5}
credential_env: OPENAI_API_KEY
index_dir: ../../dist/refunds
tool: {name: look_up_refunds, description: "Look up refunds."}
`},
	{name: "a service without more", text: "mode: meaning\nembedder: openai\nopenai: {model: m}\nindex_dir: .index\ntool: {description: x}\n"},
	{name: "a service in disorder", text: "mode: keyword\nembedder: openai\nopenai:\n  model: ''\n  base_url: ftp://x\n  dimensions: 5000\n  batch: -1\n  retries: 11\n  timeout: 601\n  key: x\ncredential_env: sk-123\nindex_dir: /tmp\ntool: {name: look up, description: 3}\n", want: []string{
		`2: embedder: "openai" does nothing in keyword mode, which takes no embedder (remove it, or set mode to meaning or hybrid)`,
		"5: openai.base_url: is not an address of the form https://host/v1 (",
		"6: openai.dimensions: 5000 is out of range (0 to 4096)",
		"7: openai.batch: -1 is out of range (0 to 2048)",
		"8: openai.retries: 11 is out of range (0 to 10)",
		"9: openai.timeout: 601 is out of range (up to 600 seconds)",
		"10: openai.key: unknown key (allowed: model, base_url, dimensions, query_prefix, passage_prefix, batch, retries, timeout)",
		"11: credential_env: is not the name of an environment variable (letters, digits and _, such as OPENAI_API_KEY; never the key itself)",
		`12: index_dir: "/tmp" is not a path relative to the base's folder (such as ../../dist/refunds)`,
		`13: tool.description: "3", a number, has the wrong type (allowed: text that says when to look up; as text, in quotes)`,
		`13: tool.name: "look up" can't name a tool (a letter, then up to 63 of letters, digits, _ and -)`,
	}},
	{name: "a service without a model", text: "embedder: openai\n", want: []string{"1: openai.model: \"\" is not a model's name, which embedder: openai needs (such as text-embedding-3-small)"}},
	{name: "a service for nobody", text: "openai: {model: m}\n", want: []string{"1: openai: is only for embedder: openai (set embedder, or remove it)"}},
	{name: "an embedder of code", text: "embedder: function\n", want: []string{`1: embedder: "function" is for programs that bring their own (allowed: onnx, native, openai)`}},
	{name: "an index among documents", text: "index_dir: ./index\n", blind: true, want: []string{`1: index_dir: "./index" lies among the documents (allowed: a path that begins with .., or a hidden folder such as .index)`}},
	{name: "edges", text: "chunk_size: 1\nchunk_overlap: 0\ntop_k: 1\nmin_score: 1\nserial: 0\n"},
	{name: "numbers as in JSON", text: "chunk_size: 9e1\ntop_k: 3.0\nmin_score: 5e-1\n"},
	{name: "one language", text: "language: ru"},
	{name: "no language", text: "language: []"},
	{name: "JSON", text: `{"mode": "keyword", "min_score": 0}`},

	{name: "two documents", text: "top_k: 1\n---\ntop_k: 2\n", blind: true,
		want: []string{"2: a second document begins (only one is allowed: remove the line ---)"}},
	{name: "not a mapping", text: "- a\n", want: []string{"1: a list has the wrong type (allowed: keys and values: name, mode, "}},
	{name: "text alone", text: "hybrid\n", want: []string{`1: "hybrid", text, has the wrong type (allowed: keys and values: `}},
	{name: "unknown keys", text: "chunksize: 90\n\nchunk-overlap: 5\ncolour: red\ntopk: 3\nOverlap: 3\n<<: 3\n", want: []string{
		"1: chunksize: unknown key (allowed: name, mode, chunk_size, chunk_overlap, top_k, min_score, model, embedder, openai, credential_env, index_dir, tool, language, pdf_engine, bad_pages, pdf_password_env, encoding, originals, serial, boosts, skip, metadata); did you mean chunk_size?",
		"3: chunk-overlap: unknown key (",
		"4: colour: unknown key (",
		"5: topk: unknown key (",
		"6: Overlap: unknown key (",
		"7: <<: unknown key (",
	}},
	{name: "repeated keys", blind: true, text: "top_k: 3\nmode: hybrid\ntop_k: 4\nboosts:\n  faq: 1\n  faq: 2\nmetadata:\n- files: a\n  files: b\n", want: []string{
		"3: top_k: given twice, first in line 1",
		"6: boosts.faq: given twice, first in line 5",
		"9: metadata[0].files: given twice, first in line 8",
	}},
	{name: "out of range", text: "chunk_size: 5000\nchunk_overlap: 3000\ntop_k: 0\nmin_score: 1.5\nserial: -1\nboosts:\n  faq: 20\n  note: 0.05\n", want: []string{
		"1: chunk_size: 5000 is out of range (1 to 2048)",
		"2: chunk_overlap: 3000 is out of range (0 to 2048)",
		"3: top_k: 0 is out of range (1 to 20)",
		"4: min_score: 1.5 is out of range (0 to 1; only 0 in keyword mode)",
		"5: serial: -1 is out of range (0 to 9007199254740991)",
		"7: boosts.faq: 20 is out of range (0.1 to 10)",
		"8: boosts.note: 0.05 is out of range (0.1 to 10)",
	}},
	{name: "far out of range", text: "chunk_size: 1e300\nchunk_overlap: -99999999999\ntop_k: 123456789012345678901234567890\nserial: 9007199254740993\nmin_score: 1e999\n", want: []string{
		`1: chunk_size: "1e300" is out of range (1 to 2048)`,
		"2: chunk_overlap: -99999999999 is out of range (0 to ",
		`3: top_k: "123456789012345678901234567890" is out of range (1 to 20)`,
		"4: serial: ",
		`5: min_score: "1e999", text, has the wrong type (allowed: 0 to 1`,
	}},
	{name: "wrong types", text: "name: 12\nmode: true\nchunk_size: many\nchunk_overlap: 200\ntop_k: [3]\nmin_score: .nan\nmodel: {a: b}\nembedder:\nlanguage: 3\npdf_engine: 2025-01-01\nserial: 1.5\nboosts: [faq]\nskip: '*.pdf'\nmetadata: {files: a}\n", want: []string{
		`1: name: "12", a number, has the wrong type (allowed: up to 63 of a-z, 0-9, _ and -; not "models"; as text, in quotes)`,
		`2: mode: "true", true or false, has the wrong type (allowed: meaning, keyword, hybrid; as text, in quotes)`,
		`3: chunk_size: "many", text, has the wrong type (allowed: 1 to 2048)`,
		"5: top_k: a list has the wrong type (allowed: 1 to 20)",
		`6: min_score: ".nan" is not in plain decimal digits (allowed: 0 to 1; only 0 in keyword mode)`,
		"7: model: a mapping has the wrong type (allowed: all-MiniLM-L6-v2, e5-small-v2)",
		"8: embedder: nothing has the wrong type (allowed: onnx, native, openai); give a value or remove the key",
		`9: language: "3", a number, has the wrong type (allowed: en, ru, or a list of them`,
		`10: pdf_engine: "2025-01-01", a date, has the wrong type (allowed: pdfium, ledongthuc`,
		"11: serial: 1.5 is not a whole number (allowed: 0 to 9007199254740991)",
		"12: boosts: a list has the wrong type (allowed: content types, each with a number from 0.1 to 10)",
		`13: skip: "*.pdf", text, has the wrong type (allowed: a list of globs)`,
		"14: metadata: a mapping has the wrong type (allowed: a list of rules, each with files and any of content_type, topics, unit_id, date)",
	}},
	{name: "wrong words", text: "name: My Docs\nmode: hybird\nmodel: all-minilm-l6-v2\nembedder: onxx\nlanguage: [en, fr]\npdf_engine: poppler\n", want: []string{
		`1: name: "My Docs" can't name a base (up to 63 of a-z, 0-9, _ and -, the first one a letter or digit; not "models")`,
		`2: mode: "hybird" is not one of meaning, keyword, hybrid; did you mean hybrid?`,
		`3: model: "all-minilm-l6-v2" is not one of all-MiniLM-L6-v2, e5-small-v2; did you mean all-MiniLM-L6-v2?`,
		`4: embedder: "onxx" is not one of onnx, native, openai; did you mean onnx?`,
		`5: language[1]: "fr" is not one of en, ru`,
		`6: pdf_engine: "poppler" is not one of pdfium, ledongthuc`,
	}},
	{name: "wrong language", text: "\nlanguage: de\n", want: []string{`2: language: "de" is not one of en, ru`}},
	{name: "reserved name", text: "name: models\n", want: []string{`1: name: "models" can't name a base`}},
	{name: "long name", text: "name: " + strings.Repeat("a", 64), want: []string{`1: name: "` + strings.Repeat("a", 40) + `…" can't name a base`}},
	{name: "language twice", text: "language:\n- en\n- en\n", want: []string{`3: language[1]: "en" has the script of "en" (at most one language a script)`}},
	{name: "keyword and min_score", text: "min_score: 0.3\nmode: keyword\n", want: []string{"1: min_score: 0.3 is out of range (only 0 in keyword mode)"}},
	{name: "overlap above size", blind: true, text: "chunk_size: 20\nchunk_overlap: 21\n", want: []string{"2: chunk_overlap: 21 is out of range (0 to chunk_size, which is 20)"}},
	{name: "default overlap above size", blind: true, text: "\nchunk_size: 10\n", want: []string{"2: chunk_overlap: 20 is out of range (0 to chunk_size, which is 10); it is the default: set it too"}},
	{name: "hexadecimal", blind: true, text: "top_k: 0x3\nchunk_size: 0100\n", want: []string{`1: top_k: "0x3" is not in plain decimal digits (allowed: 1 to 20)`, `2: chunk_size: "0100" is not in plain decimal digits`}},
	{name: "globs", blind: true, text: "skip:\n- 'a['\nmetadata:\n- files: ../x\n- files: '{a'\n", want: []string{
		`2: skip[0]: glob "a[" is malformed: [ or { without its end, or \ at the end`,
		`4: metadata[0].files: glob "../x" has an element that is empty, "." or ".."`,
		`5: metadata[1].files: glob "{a" is malformed`,
	}},
	{name: "absolute globs", text: "skip: [/a]\nmetadata:\n- files: ''\n", want: []string{
		`1: skip[0]: glob "/a" must be relative`, `3: metadata[0].files: glob "" is empty`}},
	{name: "rules", text: `
metadata:
- content_type: faq
- files: a
  content_type: two words
  topic: x
- files: b
  content_type: ""
  topics: [1, ""]
  unit_id: ""
  date: 2025-02-30
- x
- files: c
  topics: ","
  unit_id: 7
  date: 2025-02-03T10:00:00Z
- files: d
  topics: [" "]
  date: 1
  title: x
`, want: []string{
		"3: metadata[0].files: missing (allowed: a glob)",
		`5: metadata[1].content_type: "two words" is not a content type (one word of up to 64 characters, such as article or faq)`,
		"6: metadata[1].topic: unknown key (allowed: files, content_type, topics, unit_id, date); did you mean topics?",
		`8: metadata[2].content_type: "" is not a content type`,
		`9: metadata[2].topics[0]: "1", a number, has the wrong type (allowed: a list of texts, or one text with commas; as text, in quotes)`,
		`10: metadata[2].unit_id: "" is not a label (one line of 1 to 200 characters)`,
		`11: metadata[2].date: "2025-02-30" is not a day (allowed: YYYY-MM-DD)`,
		`12: metadata[3]: "x", text, has the wrong type (allowed: files, content_type, topics, unit_id, date)`,
		`14: metadata[4].topics: "," names no topic`,
		`15: metadata[4].unit_id: "7", a number, has the wrong type (allowed: one line of text; as text, in quotes)`,
		`16: metadata[4].date: "2025-02-03T10:00:00Z" is not a day (allowed: YYYY-MM-DD)`,
		`18: metadata[5].topics: "" is not a label`,
		`19: metadata[5].date: "1", a number, has the wrong type (allowed: YYYY-MM-DD)`,
		"20: metadata[5].title: unknown key (",
	}},
	{name: "boost names", text: "boosts:\n  two words: 1\n  faq: high\n  note:\n", want: []string{
		`2: boosts.two words: "two words" is not a content type`,
		`3: boosts.faq: "high", text, has the wrong type (allowed: a number from 0.1 to 10)`,
		"4: boosts.note: nothing has the wrong type",
	}},
	{name: "aliases", blind: true, text: "mode: &m keyword\nembedder: *m\nboosts: &b {faq: 1}\nmetadata: [*b]\n", want: []string{
		"2: embedder: an alias has the wrong type (allowed: onnx, native, openai); write the value out",
		"4: metadata[0]: an alias has the wrong type (allowed: files, content_type, topics, unit_id, date); write the value out",
	}},
	{name: "list as key", blind: true, text: "? [a]\n: b\n", want: []string{"1: a list can't be a key (allowed: keys and values: name, "}},
	{name: "control characters", blind: true, text: "metadata:\n- files: a\n  content_type: \"a\\u0007\"\n  topics: [\"a\\u202eb\"]\n\"b\\u001b[0m\": 1\n", want: []string{
		`3: metadata[0].content_type: "a\a" is not a content type`,
		`4: metadata[0].topics: "a\u202eb" is not a label`,
		`5: "b\x1b[0m": unknown key (`,
	}},
	{name: "not YAML", blind: true, text: "top_k: 3\nmode: [\n", want: []string{"not valid YAML: "}},
	{name: "tabs", blind: true, text: "boosts:\n\tfaq: 1\n", want: []string{"not valid YAML: found character that cannot start any token"}},
}

func TestParseSettings(t *testing.T) {
	for _, c := range settingsFiles {
		s, err := parseSettings("content/x/base.yaml", []byte(c.text), "x")
		if len(c.want) == 0 {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			} else if err := s.Validate(); err != nil {
				t.Errorf("%s: accepted, then refused: %v", c.name, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: accepted", c.name)
			continue
		}
		if e := (*SettingsError)(nil); !errors.As(err, &e) {
			t.Errorf("%s: error is %T", c.name, err)
		}
		got := strings.Split(err.Error(), "\n")
		if len(got) != len(c.want) {
			t.Errorf("%s: %d problems, want %d:\n%v", c.name, len(got), len(c.want), err)
			continue
		}
		for i, want := range c.want {
			if strings.HasPrefix(want, "not valid YAML") {
				if !strings.Contains(got[i], want) {
					t.Errorf("%s: %q does not say %q", c.name, got[i], want)
				}
			} else if !strings.HasPrefix(got[i], "content/x/base.yaml:"+want) {
				t.Errorf("%s: problem\n%s, want\n%s", c.name, got[i], want)
			}
		}
	}
}

func TestSettingsValues(t *testing.T) {
	var text string
	for _, c := range settingsFiles {
		if c.name == "every key" {
			text = c.text
		}
	}
	got, err := parseSettings("base.yaml", []byte(text), "x")
	if err != nil {
		t.Fatal(err)
	}
	boosts := DefaultSettings("").Boosts
	boosts["faq"], boosts["выписка"] = 0.1, 10
	want := Settings{
		Name: "refunds-2", Mode: "meaning", ChunkSize: 64, ChunkOverlap: 64, TopK: 20, MinScore: 0.25,
		Model: "e5-small-v2", Embedder: "native", Languages: []string{"en", "ru"}, PDFEngine: "ledongthuc",
		BadPages: "keep", PasswordEnv: []string{"A_1", "_b"}, Encoding: "windows-1251", Originals: true,
		Serial: maxSerial, Boosts: boosts, Skip: []string{"old/**/*.pdf", "[a-z].md"},
		Metadata: []MetadataRule{
			{"**", Meta{ContentType: "note", Topics: []string{"a a", "b"}, UnitID: "7", Date: time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)}},
			{"*.txt", Meta{Topics: []string{"x", "y z"}}},
			{"*.pdf", Meta{}},
		},
	}
	if got.Line("top_k") != 6 || got.Line("tool") != 0 {
		t.Errorf("top_k in line %d, tool in line %d", got.Line("top_k"), got.Line("tool"))
	}
	got.lines = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("settings\n%+v, want\n%+v", got, want)
	}
	got, err = parseSettings("", nil, "x")
	if got.lines = nil; err != nil || !reflect.DeepEqual(got, DefaultSettings("x")) {
		t.Errorf("without a file: %+v, %v", got, err)
	}
	if DefaultSettings("").Boosts["faq"] != 1.2 {
		t.Error("the defaults changed")
	}
}

func TestLoadSettings(t *testing.T) {
	root := tree(t, "a.md")
	file := filepath.Join(root.Name(), "base.yaml")
	if s, err := LoadSettings(root, "docs"); err != nil || s.Name != "docs" || s.TopK != 3 {
		t.Errorf("without a file: %+v, %v", s, err)
	}
	_, err := LoadSettings(root, "My Docs")
	wantError(t, "a folder whose name is no base's", err, file+": name: \"My Docs\" can't name a base", "set name in base.yaml")

	if err := os.WriteFile(file, []byte("name: other\ntop_k: 7\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if s, err := LoadSettings(root, "My Docs"); err != nil || s.Name != "other" || s.TopK != 7 {
		t.Errorf("%+v, %v", s, err)
	}
	if err := os.WriteFile(file, bytes.Repeat([]byte("#"), maxSettingsFile+1), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = LoadSettings(root, "docs")
	wantError(t, "large", err, file, "larger than the limit of 1048576 bytes")

	root = tree(t, "base.yaml/a.md")
	_, err = LoadSettings(root, "docs")
	wantError(t, "a folder", err, filepath.Join(root.Name(), "base.yaml"), "not a regular file")

	root = tree(t, "base.yml")
	_, err = LoadSettings(root, "docs")
	wantError(t, "other spelling", err, filepath.Join(root.Name(), "base.yml"), "rename it")
}

func TestSettingsErrorIsShort(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "key%d: x\n", i)
	}
	_, err := parseSettings("base.yaml", []byte(b.String()), "x")
	if err == nil {
		t.Fatal("accepted")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 51 || lines[50] != "950 more problems" {
		t.Errorf("%d lines, the last one %q", len(lines), lines[len(lines)-1])
	}
}

func TestValidate(t *testing.T) {
	if err := DefaultSettings("x").Validate(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		change func(*Settings)
		want   string
	}{
		{func(s *Settings) { s.Name = "" }, `name: "" can't name a base (`},
		{func(s *Settings) { s.Mode = "" }, `mode: "" is not one of meaning, keyword, hybrid`},
		{func(s *Settings) { s.ChunkSize = 0 }, "chunk_size: 0 is out of range (1 to 2048)"},
		{func(s *Settings) { s.ChunkOverlap = -1 }, "chunk_overlap: -1 is out of range (0 to chunk_size, which is 90)"},
		{func(s *Settings) { s.TopK = 21 }, "top_k: 21 is out of range (1 to 20)"},
		{func(s *Settings) { s.MinScore = math.NaN() }, "min_score: NaN is out of range (0 to 1; only 0 in keyword mode)"},
		{func(s *Settings) { s.Mode, s.MinScore = "keyword", 0.1 }, "min_score: 0.1 is out of range (only 0 in keyword mode)"},
		{func(s *Settings) { s.Serial = 1 << 53 }, "serial: 9007199254740992 is out of range (0 to 9007199254740991)"},
		{func(s *Settings) { s.Boosts["faq"] = math.Inf(1) }, "boosts.faq: +Inf is out of range (0.1 to 10)"},
		{func(s *Settings) { s.Metadata = []MetadataRule{{"**", Meta{Date: time.Unix(1, 0)}}} }, "metadata[0].date: "},
		{func(s *Settings) { s.Metadata = []MetadataRule{{"**", Meta{Title: "x"}}} }, "metadata[0]: a rule can't give a title"},
	} {
		s := DefaultSettings("x")
		c.change(&s)
		err := s.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	var known []string
	for _, k := range settingKeys() {
		known = append(known, k.name)
	}
	for word, want := range map[string]string{
		"chunksize": "chunk_size", "Chunk-Size": "chunk_size", "chunk_szie": "chunk_size", "overlap": "chunk_overlap",
		"topk": "top_k", "languages": "language", "skips": "skip", "boost": "boosts", "meta": "metadata", "modle": "model",
		"pdf": "", "colour": "", "x": "", "": "", strings.Repeat("mode", 100): "",
	} {
		got := didYouMean(word, known)
		if want != "" {
			want = "; did you mean " + want + "?"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

// toJSON returns what an editor's JSON Schema checker sees of a YAML node.
func toJSON(t *testing.T, n *yaml.Node) any {
	t.Helper()
	switch n.Kind {
	case yaml.DocumentNode:
		return toJSON(t, n.Content[0])
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			m[n.Content[i].Value] = toJSON(t, n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, toJSON(t, item))
		}
		return list
	}
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool":
		return n.Value == "true"
	case "!!int", "!!float":
		if _, err := strconv.ParseFloat(n.Value, 64); err == nil || decimal.MatchString(n.Value) {
			return json.Number(n.Value)
		}
	}
	return n.Value
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("base.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("base.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(Schema()), `"$schema": "https://json-schema.org/draft/2020-12/schema"`) {
		t.Error("the schema does not name its draft")
	}
	return compiled
}

// TestSchemaAgrees checks that the schema and the parser accept the same files, but for those that the
// table marks.
func TestSchemaAgrees(t *testing.T) {
	compiled := compileSchema(t)
	good, bad := 0, 0
	for _, c := range settingsFiles {
		if c.blind {
			continue
		}
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(c.text), &doc); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var value any = map[string]any{}
		if doc.Kind != 0 {
			value = toJSON(t, &doc)
		}
		err := compiled.Validate(value)
		if (err == nil) != (len(c.want) == 0) {
			t.Errorf("%s: the parser finds %d problems, the schema: %v", c.name, len(c.want), err)
		}
		if err == nil {
			good++
		} else {
			bad++
		}
	}
	// Each problem alone too: files with several would hide what the schema misses.
	for _, line := range []string{
		"name: ''", "name: models", "name: A", "name: -a", "name: 1", "mode: x", "mode:", "chunk_size: 0", "chunk_size: 2049", "chunk_size: 1.5",
		"chunk_size: '9'", "chunk_overlap: -1", "chunk_overlap: 2049", "top_k: 0", "top_k: 21", "min_score: -0.1", "min_score: 1.01", "min_score: true",
		"model: x", "embedder: x", "language: fr", "language: [fr]", "language: [en, en]", "language: {}", "pdf_engine: x", "serial: -1", "originals: 1", "originals: 'true'", "originals:",
		"serial: 9007199254740992", "serial: 0.5", "boosts: 1", "boosts: {faq: 0.09}", "boosts: {faq: 10.1}", "boosts: {faq: x}", "boosts: {'a b': 1}",
		"boosts: {'': 1}", "skip: x", "skip: [1]", "skip: ['']", "skip: [/x]", "metadata: x", "metadata: [x]", "metadata: [{}]",
		"metadata: [{files: 1}]", "metadata: [{files: a, x: y}]", "metadata: [{files: a, content_type: ''}]", "metadata: [{files: a, content_type: a b}]",
		"metadata: [{files: a, topics: 1}]", "metadata: [{files: a, topics: ['']}]", "metadata: [{files: a, topics: [' ']}]", "metadata: [{files: a, topics: ' , '}]",
		"metadata: [{files: a, topics: ''}]", "metadata: [{files: a, unit_id: 1}]", "metadata: [{files: a, unit_id: ' '}]", "metadata: [{files: a, date: x}]",
		"metadata: [{files: a, date: 2025-1-1}]", "metadata: [{files: a, date: 2025-02-29}]", "metadata: [{files: a, date: 20250101}]",
		"metadata: [{files: a, content_type: " + strings.Repeat("я", 65) + "}]", "metadata: [{files: a, unit_id: " + strings.Repeat("я", 201) + "}]",
		"metadata: [{files: a, topics: [" + strings.Repeat("я", 201) + "]}]", "skip: [" + strings.Repeat("a", 1001) + "]", "x: 1",
	} {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(line), &doc); err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(toJSON(t, &doc)); err == nil {
			t.Errorf("the schema accepts %s", line)
		}
		if _, err := parseSettings("base.yaml", []byte(line), "x"); err == nil {
			t.Errorf("the parser accepts %s", line)
		}
		bad++
	}
	t.Logf("%d good files, %d bad ones", good, bad)
	if good < 8 || bad < 60 {
		t.Error("too few files")
	}
}

// TestSchemaLists checks keys, defaults and choices of the schema against the parser's.
func TestSchemaLists(t *testing.T) {
	type property struct {
		Enum        []string
		Default     any
		Description string
		Items       struct{ Properties map[string]any }
	}
	var s struct {
		Properties map[string]property
		Defs       map[string]property `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	var keys, ruled []string
	for name, p := range s.Properties {
		keys = append(keys, name)
		if p.Description == "" {
			t.Errorf("%s has no description", name)
		}
	}
	for name := range s.Properties["metadata"].Items.Properties {
		ruled = append(ruled, name)
	}
	var want []string
	for _, k := range settingKeys() {
		want = append(want, k.name)
	}
	wantRules := ruleKeys()
	for _, l := range [][]string{keys, want, ruled, wantRules} {
		slices.Sort(l)
	}
	if !slices.Equal(keys, want) || !slices.Equal(ruled, wantRules) {
		t.Errorf("the schema's keys are %q and %q", keys, ruled)
	}
	for name, enum := range map[string][]string{"mode": modes, "model": modelNames, "embedder": embedders, "pdf_engine": pdfEngines} {
		if !slices.Equal(s.Properties[name].Enum, enum) {
			t.Errorf("%s: the schema allows %q, the parser %q", name, s.Properties[name].Enum, enum)
		}
	}
	if !slices.Equal(s.Defs["language"].Enum, languages) {
		t.Errorf("language: the schema allows %q", s.Defs["language"].Enum)
	}
	d := DefaultSettings("x")
	for name, v := range map[string]any{
		"mode": d.Mode, "chunk_size": float64(d.ChunkSize), "chunk_overlap": float64(d.ChunkOverlap), "top_k": float64(d.TopK),
		"min_score": d.MinScore, "model": d.Model, "embedder": d.Embedder, "pdf_engine": d.PDFEngine, "serial": float64(d.Serial),
		"language": []any{"en", "ru"},
	} {
		if !reflect.DeepEqual(s.Properties[name].Default, v) {
			t.Errorf("%s: the schema's default is %v, the parser's %v", name, s.Properties[name].Default, v)
		}
	}
	for contentType, boost := range d.Boosts {
		if !strings.Contains(s.Properties["boosts"].Description, fmt.Sprintf("%s %.2f", contentType, boost)) {
			t.Errorf("the schema does not tell the boost of %s", contentType)
		}
	}
}

func FuzzParseSettings(f *testing.F) {
	for _, c := range settingsFiles {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSettings("base.yaml", []byte(text), "x")
		if err == nil {
			err = s.Validate()
			if err != nil {
				t.Errorf("accepted, then refused: %v", err)
			}
		} else if err.Error() == "" || !printable(strings.ReplaceAll(err.Error(), "\n", "")) {
			t.Errorf("error %q", err)
		}
	})
}
