package pipeline

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"example.com/larder/artifact"
	"example.com/larder/internal/analyze"
	"example.com/larder/models"
)

// Settings are a base's settings: base.yaml over the defaults.
type Settings struct {
	Name         string  // [a-z0-9][a-z0-9_-]{0,62}, not "models"; default: the folder's name
	Mode         string  // meaning, keyword or hybrid (default)
	ChunkSize    int     // WordPiece tokens, 1 to 2048; default 90
	ChunkOverlap int     // 0 to ChunkSize; default 20
	TopK         int     // 1 to 20; default 3
	MinScore     float64 // 0 to 1; 0 in keyword mode; default 0
	Model        string  // a model in models.lock; default all-MiniLM-L6-v2
	Embedder     string  // onnx (default), native, openai, or function, which only code can give
	OpenAI       OpenAISettings
	Credential   string        // credential_env: the environment variable that the embedder needs
	IndexDir     string        // where the artifact goes unless the command says it: relative to the base's folder
	Tool         artifact.Tool // how an agent's lookup is called and described
	Languages    []string      // stemmers, sorted, at most one a script; default en and ru
	PDFEngine    string        // pdfium (default) or ledongthuc
	BadPages     string        // what becomes of pages that can't be read: fail (default), skip or keep
	PasswordEnv  []string      // environment variables with passwords of PDF files
	Encoding     string        // of text files; "" finds out
	Originals    bool          // the artifact holds the documents' files
	Serial       uint64        // set by hand, at most 2^53-1; default 0
	// Boosts multiply a hit's fused score by its document's content type, 0.1 to 10 each. base.yaml
	// replaces single entries of the defaults.
	Boosts   map[string]float64
	Skip     []string // globs of documents that may fail
	Metadata []MetadataRule

	lines map[string]int // where base.yaml gives what, from 1
}

// OpenAISettings say which endpoint that speaks OpenAI's embeddings interface embeds, and how. Zero fields mean the
// embedder's defaults.
type OpenAISettings struct {
	Model         string  // such as text-embedding-3-small
	BaseURL       string  // such as http://127.0.0.1:8080/v1
	Dimensions    int     // asked for; 0 for the model's own
	QueryPrefix   string  // put before each query
	PassagePrefix string  // put before each passage
	Batch         int     // passages a request
	Retries       int     // of a request; -1 for none
	Timeout       float64 // of a request, in seconds
}

// Line returns the line of base.yaml, from 1, that gives a setting, and 0 if none does.
func (s Settings) Line(key string) int { return s.lines[key] }

// Outside tells whether vectors come from an embedder that is not among the models here.
func (s Settings) Outside() bool { return s.Embedder == OpenAI || s.Embedder == Function }

// A MetadataRule gives metadata to the documents whose path matches Files. Later rules win over
// earlier ones, front matter wins over rules.
type MetadataRule struct {
	Files string // glob; ** crosses folders
	Meta  Meta   // ContentType, Topics, UnitID and Date; empty fields say nothing
}

const (
	maxChunkSize = 2048
	maxTopK      = 20
	minBoost     = 0.1
	maxBoost     = 10
	maxSerial    = 1<<53 - 1 // what every reader of JSON keeps exactly
	maxWord      = 64        // characters of a content type
	maxLabel     = 200       // characters of a topic or unit id
)

var (
	modes      = []string{"meaning", "keyword", "hybrid"}
	modelNames = models.Lock().Names()
	embedders  = []string{ONNX, Native, OpenAI}
	pdfEngines = []string{"pdfium", "ledongthuc"}
	languages  = analyze.Languages()
	badPages   = []string{"fail", "skip", "keep"}

	envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

	scripts = map[string]string{"en": "Latin", "ru": "Cyrillic"}
)

// DefaultSettings returns the settings of a base without base.yaml.
func DefaultSettings(name string) Settings {
	return Settings{
		Name: name, Mode: "hybrid", ChunkSize: 90, ChunkOverlap: 20, TopK: 3,
		Model: "all-MiniLM-L6-v2", Embedder: "onnx", Languages: []string{"en", "ru"}, PDFEngine: "pdfium", BadPages: "fail",
		Boosts: map[string]float64{
			"faq": 1.20, "reference": 1.15, "lesson": 1.10, "tutorial": 1.05,
			"article": 1.00, "decision": 1.00, "note": 0.90, "transcript": 0.80,
		},
	}
}

// Validate returns a [*SettingsError] that names every setting out of its range with what is allowed, or
// nil.
func (s Settings) Validate() error {
	if problems := s.problems(); len(problems) > 0 {
		return &SettingsError{Problems: problems}
	}
	return nil
}

// MetaFor returns what the metadata rules say of the document at the slash-separated path.
func (s Settings) MetaFor(path string) Meta {
	var m Meta
	for _, rule := range s.Metadata {
		if !MatchGlob(rule.Files, path) {
			continue
		}
		if rule.Meta.ContentType != "" {
			m.ContentType = rule.Meta.ContentType
		}
		if len(rule.Meta.Topics) > 0 {
			m.Topics = slices.Clone(rule.Meta.Topics)
		}
		if rule.Meta.UnitID != "" {
			m.UnitID = rule.Meta.UnitID
		}
		if !rule.Meta.Date.IsZero() {
			m.Date = rule.Meta.Date
		}
	}
	return m
}

// MayFail tells whether the skip list names the document at the slash-separated path.
func (s Settings) MayFail(path string) bool {
	return slices.ContainsFunc(s.Skip, func(glob string) bool { return MatchGlob(glob, path) })
}

// Unmatched returns the settings whose glob matches none of the documents, such as
// `skip[0]: "*.pfd"`: most often a slip.
func (s Settings) Unmatched(documents []Source) []string {
	var list []string
	look := func(key, glob string) {
		if !slices.ContainsFunc(documents, func(d Source) bool { return MatchGlob(glob, d.Path) }) {
			list = append(list, fmt.Sprintf("%s: %q", key, glob))
		}
	}
	for i, glob := range s.Skip {
		look(fmt.Sprintf("skip[%d]", i), glob)
	}
	for i, rule := range s.Metadata {
		look(fmt.Sprintf("metadata[%d].files", i), rule.Files)
	}
	return list
}

// A SettingsError lists everything that is wrong with a base's settings.
type SettingsError struct {
	File     string // base.yaml with its folder; "" for settings made in code
	Problems []SettingsProblem
}

// A SettingsProblem is one thing that is wrong.
type SettingsProblem struct {
	Line int    // in File, from 1; 0 if the setting is not there
	Key  string // such as top_k or metadata[0].date; "" for the file as a whole
	Text string // what is wrong and what is allowed
}

const maxProblems = 50 // are shown

// Error returns a line for each problem: file:line: key: text.
func (e *SettingsError) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == maxProblems {
			fmt.Fprintf(&b, "%d more problems", len(e.Problems)-i)
			break
		}
		if e.File != "" {
			b.WriteString(e.File + ":")
			if p.Line > 0 {
				fmt.Fprintf(&b, "%d:", p.Line)
			}
			b.WriteByte(' ')
		}
		if p.Key != "" && len(p.Key) <= 2*maxWord && printable(p.Key) {
			b.WriteString(p.Key + ": ")
		} else if p.Key != "" {
			b.WriteString(excerpt(p.Key) + ": ")
		}
		b.WriteString(p.Text)
	}
	return b.String()
}

// problems checks every setting, in the order of the keys.
func (s Settings) problems() []SettingsProblem {
	var list []SettingsProblem
	wrong := func(key, format string, args ...any) {
		list = append(list, SettingsProblem{Key: key, Text: fmt.Sprintf(format, args...)})
	}
	between := func(key string, v, low, high int) bool {
		if v < low || v > high {
			wrong(key, "%d is out of range (%d to %d)", v, low, high)
			return false
		}
		return true
	}
	oneOf := func(key, v string, allowed []string) {
		if !slices.Contains(allowed, v) {
			wrong(key, "%s is not one of %s%s", excerpt(v), strings.Join(allowed, ", "), didYouMean(v, allowed))
		}
	}

	if artifact.CheckBaseName(s.Name) != nil {
		wrong("name", `%s can't name a base (up to 63 of a-z, 0-9, _ and -, the first one a letter or digit; not "models")`, excerpt(s.Name))
	}
	oneOf("mode", s.Mode, modes)
	if !between("chunk_size", s.ChunkSize, 1, maxChunkSize) {
		between("chunk_overlap", s.ChunkOverlap, 0, maxChunkSize)
	} else if s.ChunkOverlap < 0 || s.ChunkOverlap > s.ChunkSize {
		wrong("chunk_overlap", "%d is out of range (0 to chunk_size, which is %d)", s.ChunkOverlap, s.ChunkSize)
	}
	between("top_k", s.TopK, 1, maxTopK)
	if !(s.MinScore >= 0 && s.MinScore <= 1) {
		wrong("min_score", "%v is out of range (0 to 1; only 0 in keyword mode)", s.MinScore)
	} else if s.Mode == "keyword" && s.MinScore != 0 {
		wrong("min_score", "%v is out of range (only 0 in keyword mode)", s.MinScore)
	}
	oneOf("model", s.Model, modelNames)
	if s.Embedder != Function {
		oneOf("embedder", s.Embedder, embedders)
	}
	list = append(list, s.outsideProblems()...)
	stemmers := map[string]string{}
	for i, l := range s.Languages {
		key := "language"
		if len(s.Languages) > 1 {
			key = fmt.Sprintf("language[%d]", i)
		}
		oneOf(key, l, languages)
		if other, ok := stemmers[scripts[l]]; ok && slices.Contains(languages, l) {
			wrong(key, "%q has the script of %q (at most one language a script)", l, other)
		}
		stemmers[scripts[l]] = l
	}
	oneOf("pdf_engine", s.PDFEngine, pdfEngines)
	oneOf("bad_pages", s.BadPages, badPages)
	for i, name := range s.PasswordEnv {
		if !envName.MatchString(name) {
			key := "pdf_password_env"
			if len(s.PasswordEnv) > 1 {
				key = fmt.Sprintf("pdf_password_env[%d]", i)
			}
			wrong(key, "%s can't name an environment variable (letters, digits and _, such as HANDBOOK_PASSWORD; never the password itself)", excerpt(name))
		}
	}
	if s.Encoding != "" && !knownEncoding(s.Encoding) {
		wrong("encoding", "%s is no encoding of the WHATWG's list (such as utf-8, windows-1251, gb18030, shift_jis)", excerpt(s.Encoding))
	}
	if s.Serial > maxSerial {
		wrong("serial", "%d is out of range (0 to %d)", s.Serial, uint64(maxSerial))
	}
	for _, contentType := range slices.Sorted(maps.Keys(s.Boosts)) {
		key := "boosts." + contentType
		if text := wordProblem(contentType); text != "" {
			wrong(key, "%s %s", excerpt(contentType), text)
		} else if v := s.Boosts[contentType]; !(v >= minBoost && v <= maxBoost) {
			wrong(key, "%v is out of range (%v to %v)", v, minBoost, maxBoost)
		}
	}
	glob := func(key, pattern string) {
		if err := CheckGlob(pattern); err != nil {
			wrong(key, "glob %s %v", excerpt(pattern), err)
		}
	}
	for i, pattern := range s.Skip {
		glob(fmt.Sprintf("skip[%d]", i), pattern)
	}
	for i, rule := range s.Metadata {
		key, m := fmt.Sprintf("metadata[%d]", i), rule.Meta
		glob(key+".files", rule.Files)
		if text := wordProblem(m.ContentType); m.ContentType != "" && text != "" {
			wrong(key+".content_type", "%s %s", excerpt(m.ContentType), text)
		}
		for _, topic := range m.Topics {
			if text := labelProblem(topic); text != "" {
				wrong(key+".topics", "%s %s", excerpt(topic), text)
			}
		}
		if text := labelProblem(m.UnitID); m.UnitID != "" && text != "" {
			wrong(key+".unit_id", "%s %s", excerpt(m.UnitID), text)
		}
		if d := m.Date; !d.IsZero() && (d.Year() < 1 || d.Year() > 9999 || !d.Equal(d.Truncate(24*time.Hour))) {
			wrong(key+".date", "%v is not a day in UTC", d)
		}
		if m.Title != "" || m.Draft {
			wrong(key, "a rule can't give a title or make a draft (allowed: %s)", strings.Join(ruleKeys(), ", "))
		}
	}
	return list
}

// wordProblem says what keeps s from being a content type; "" if nothing does.
func wordProblem(s string) string {
	if s == "" || utf8.RuneCountInString(s) > maxWord || strings.ContainsFunc(s, unicode.IsSpace) || !printable(s) {
		return fmt.Sprintf("is not a content type (one word of up to %d characters, such as article or faq)", maxWord)
	}
	return ""
}

// labelProblem says what keeps s from being a topic or a unit id; "" if nothing does.
func labelProblem(s string) string {
	if strings.TrimSpace(s) == "" || utf8.RuneCountInString(s) > maxLabel || !printable(s) {
		return fmt.Sprintf("is not a label (one line of 1 to %d characters)", maxLabel)
	}
	return ""
}

// printable tells whether s shows as what it is: what an artifact can hold as a name.
func printable(s string) bool { return artifact.Printable(s) }

// excerpt quotes the beginning of a value for an error.
func excerpt(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// didYouMean returns a question after the word among known that is nearest to the given one, or "" if
// none is near.
func didYouMean(word string, known []string) string {
	word = strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(word))
	if word == "" || len(word) > 40 {
		return ""
	}
	best, least := "", 2*(2+len(word)/3)
	for _, k := range known {
		lower := strings.ReplaceAll(strings.ToLower(k), "-", "_")
		d := editDistance(word, lower)
		if len(word) >= 4 && (strings.Contains(lower, word) || strings.Contains(word, lower)) {
			d = min(d, 1)
		}
		d *= 2
		if len(word) != len(lower) { // of two that are as near, the one of the same length is meant
			d++
		}
		if d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// editDistance counts the bytes to insert, delete, replace or swap with their neighbour that turn a into
// b (optimal string alignment).
func editDistance(a, b string) int {
	var before, above []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, above, row = above, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
