package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/larder/internal/strictjson"
)

// A Manifest holds what decides answers. The SHA-256 of its bytes is the artifact's identity.
type Manifest struct {
	Format    string             `json:"format"`
	Features  []string           `json:"features"`
	Builder   int                `json:"builder"`
	Serial    uint64             `json:"serial"`
	Base      string             `json:"base"`
	Settings  Settings           `json:"settings"`
	Analyzer  Analyzer           `json:"analyzer"`
	Tokenizer string             `json:"tokenizer"`
	Model     *Model             `json:"model,omitempty"`
	Boosts    map[string]float64 `json:"boosts"`
	Tool      *Tool              `json:"tool,omitempty"`
	Counts    Counts             `json:"counts"`
	Sections  []Section          `json:"sections"`
}

// Settings are what a baked base remembers and a runtime must not change.
type Settings struct {
	Mode         Mode    `json:"mode"`
	ChunkSize    int     `json:"chunk_size"`    // tokens, 1 to 2048
	ChunkOverlap int     `json:"chunk_overlap"` // tokens, 0 to ChunkSize
	TopK         int     `json:"top_k"`         // 1 to 20
	MinScore     float64 `json:"min_score"`     // cosine, 0 to 1; 0 in keyword mode
}

// Check returns an error that names the first setting out of its range.
func (s Settings) Check() error {
	switch {
	case s.Mode != Meaning && s.Mode != Keyword && s.Mode != Hybrid:
		return fmt.Errorf("mode %q is not one of meaning, keyword, hybrid", s.Mode)
	case s.ChunkSize < 1 || s.ChunkSize > 2048:
		return fmt.Errorf("chunk_size %d is not from 1 to 2048", s.ChunkSize)
	case s.ChunkOverlap < 0 || s.ChunkOverlap > s.ChunkSize:
		return fmt.Errorf("chunk_overlap %d is not from 0 to chunk_size (%d)", s.ChunkOverlap, s.ChunkSize)
	case s.TopK < 1 || s.TopK > 20:
		return fmt.Errorf("top_k %d is not from 1 to 20", s.TopK)
	case !(s.MinScore >= 0 && s.MinScore <= 1) || math.Signbit(s.MinScore):
		return fmt.Errorf("min_score %v is not from 0 to 1", s.MinScore)
	case s.Mode == Keyword && s.MinScore != 0:
		return fmt.Errorf("min_score %v is not 0, which keyword mode needs", s.MinScore)
	}
	return nil
}

// An Analyzer names the rules that turn text into terms.
type Analyzer struct {
	ID        string   `json:"id"`
	Languages []string `json:"languages"`
}

// A Model says what made the vectors: a model with an encoder, which answers queries with it, or an embedder that only
// its identity names, such as a service. Of the latter only name, embedder and dimensions are known.
type Model struct {
	Name          string `json:"name"`
	Embedder      string `json:"embedder,omitempty"` // identity of an embedder outside; "" for a model with an encoder
	Source        string `json:"source"`             // SHA-256 of the ONNX file
	Dimensions    int    `json:"dimensions"`
	MaxTokens     int    `json:"max_tokens"`
	Pooling       string `json:"pooling"`
	QueryPrefix   string `json:"query_prefix"`
	PassagePrefix string `json:"passage_prefix"`
	Encoder       string `json:"encoder"` // digest of the encoder's card
}

// A Tool is the name and the description, one of which may be empty, that a base gives to its lookup.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// MaxToolDescription is the largest length of a tool's description in characters.
const MaxToolDescription = 4000

var toolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// CheckToolName returns an error if name can't name a tool: models' interfaces for function calling take these alone.
func CheckToolName(name string) error {
	if !toolName.MatchString(name) {
		return fmt.Errorf("%.80q can't name a tool: a letter, then up to 63 of letters, digits, _ and -", name)
	}
	return nil
}

// Check returns an error if the tool's name or description is not of the allowed kind.
func (t Tool) Check() error {
	switch {
	case t.Name == "" && t.Description == "":
		return errors.New("a tool without name and description")
	case t.Name != "" && CheckToolName(t.Name) != nil:
		return CheckToolName(t.Name)
	case !Printable(strings.NewReplacer("\n", "", "\t", "").Replace(t.Description)) || utf8.RuneCountInString(t.Description) > MaxToolDescription:
		return fmt.Errorf("a tool's description is not printable text, or has more than %d characters", MaxToolDescription)
	}
	return nil
}

// HasOriginals tells whether the artifact holds the source files of its documents.
func (m *Manifest) HasOriginals() bool {
	return slices.ContainsFunc(m.Sections, func(s Section) bool { return s.Name == "originals" })
}

// External tells whether the vectors are of an embedder that is not among the encoders here.
func (m *Model) External() bool { return m != nil && m.Embedder != "" }

// Counts repeat what the sections hold.
type Counts struct {
	Documents int `json:"documents"`
	Chunks    int `json:"chunks"`
	Terms     int `json:"terms"`
}

// A Section is a file of the artifact.
type Section struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// MaxSection is the largest size of a section in bytes (M4).
const MaxSection = 1 << 40

// maxIdentity bounds an embedder's identity, and a model's name, in bytes.
const maxIdentity = 1 << 10

// CheckEmbedder returns an error if a model's name or an embedder's identity can't stand in a manifest (M6): both are one
// line of printable text, of 1 to 1024 bytes.
func CheckEmbedder(model, identity string) error {
	for i, s := range []string{model, identity} {
		if s == "" || !Printable(s) || len(s) > maxIdentity {
			what := []string{"name of a model", "identity of an embedder"}[i]
			return fmt.Errorf("the %s is not one line of printable text of 1 to %d bytes", what, maxIdentity)
		}
	}
	return nil
}

// Printable tells whether s is UTF-8 without control characters, line ends, and characters that turn the direction of
// text, which would let it show as another. It asks no table of Unicode, since these change.
func Printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || 0x7f <= r && r < 0xa0 || r == '\u2028' || r == '\u2029' ||
			'\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
	})
}

var (
	baseName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	digest64 = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// CheckBaseName returns an error if name can't name a base (F3).
func CheckBaseName(name string) error {
	if !baseName.MatchString(name) || name == "models" {
		return fmt.Errorf("%q can't name a base: up to 63 of a-z, 0-9, _ and -, not beginning with _ or -, and not \"models\"", name)
	}
	return nil
}

// ParseManifest reads manifest.json (M1 to M4).
func ParseManifest(data []byte) (*Manifest, error) {
	var head struct {
		Format   string   `json:"format"`
		Features []string `json:"features"`
	}
	// What another format or a feature brings is no error of its own, but the reason to name.
	if err := json.Unmarshal(data, &head); err == nil && head.Format != Format && head.Format != "" {
		return nil, unsupported(ManifestFile, "F4", "written as format %q, and this reader knows %q: use the larder that matches it, or bake again", head.Format, Format)
	} else if err == nil && len(head.Features) > 0 {
		return nil, unsupported(ManifestFile, "F4", "needs features that this reader lacks: %q", head.Features)
	}
	var m Manifest
	if err := strictjson.Unmarshal(data, &m); err != nil {
		return nil, corrupt(ManifestFile, "M2", "%v", err)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return &m, nil
}

// Marshal returns the bytes of manifest.json.
func (m *Manifest) Marshal() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return strictjson.Marshal(m)
}

// Digest returns the identity of an artifact with these bytes as its manifest: 64 hexadecimal digits.
func Digest(manifest []byte) string {
	sum := sha256.Sum256(manifest)
	return hex.EncodeToString(sum[:])
}

func (m *Manifest) check() error {
	if len(m.Features) > 0 {
		return unsupported(ManifestFile, "F4", "needs features that this reader lacks: %q", m.Features)
	}
	bad := func(format string, args ...any) error { return corrupt(ManifestFile, "M2", format, args...) }
	switch {
	case m.Format != Format:
		return bad("format is %q, not %q", m.Format, Format)
	case m.Features == nil || m.Analyzer.Languages == nil || m.Boosts == nil || m.Sections == nil:
		return bad("null in place of a list or an object")
	case m.Builder < 1:
		return bad("builder %d is not positive", m.Builder)
	case m.Serial > 1<<53:
		return bad("serial %d is above 2^53", m.Serial)
	case CheckBaseName(m.Base) != nil:
		return corrupt(ManifestFile, "F3", "%v", CheckBaseName(m.Base))
	case m.Settings.Check() != nil:
		return bad("%v", m.Settings.Check())
	case m.Analyzer.ID == "" || !slices.IsSorted(m.Analyzer.Languages):
		return bad("analyzer without an id, or its languages are not sorted")
	case !digest64.MatchString(m.Tokenizer):
		return bad("tokenizer %q is not a SHA-256", m.Tokenizer)
	case (m.Model == nil) != (m.Settings.Mode == Keyword):
		return bad("a model must be there in meaning and hybrid mode, and only there")
	}
	for name, factor := range m.Boosts {
		if !(factor > 0 && factor <= 10) || name == "" {
			return bad("boost of %q: %v is not above 0 and at most 10", name, factor)
		}
	}
	if m.Tool != nil {
		if err := m.Tool.Check(); err != nil {
			return bad("%v", err)
		}
	}
	if err := m.checkModel(); err != nil {
		return err
	}
	return m.checkSections()
}

func (m *Manifest) checkModel() error {
	mo := m.Model
	if mo == nil {
		return nil
	}
	if mo.External() {
		if outside := (Model{Name: mo.Name, Embedder: mo.Embedder, Dimensions: mo.Dimensions}); *mo != outside {
			return corrupt(ManifestFile, "M2", "model with both an embedder outside and an encoder")
		}
		if err := CheckEmbedder(mo.Name, mo.Embedder); err != nil {
			return corrupt(ManifestFile, "M6", "%v", err)
		}
		if mo.Dimensions < 1 || mo.Dimensions > maxDimensions {
			return corrupt(ManifestFile, "M2", "vectors of %d dimensions", mo.Dimensions)
		}
		return nil
	}
	switch {
	case mo.Name == "" || !Printable(mo.Name) || !digest64.MatchString(mo.Source) || !digest64.MatchString(mo.Encoder):
		return corrupt(ManifestFile, "M2", "model without a name, or a digest in it is not a SHA-256")
	case mo.Dimensions < 1 || mo.Dimensions > maxDimensions || mo.MaxTokens < 3 || mo.MaxTokens > 1<<16:
		return corrupt(ManifestFile, "M2", "model of %d dimensions and %d tokens", mo.Dimensions, mo.MaxTokens)
	case mo.Pooling != "mean":
		return unsupported(ManifestFile, "F4", "the model's pooling is %q, and this reader knows \"mean\"", mo.Pooling)
	}
	return nil
}

// sectionNames returns the names that a manifest must list, sorted (M3).
func sectionNames(withModel, withOriginals bool) []string {
	names := []string{"chunks", "documents", "filters", "postings", "strings", "terms", "text"}
	if withModel {
		names = append(names, "selftest", "vectors")
	}
	if withOriginals {
		names = append(names, "originals")
	}
	slices.Sort(names)
	return names
}

func (m *Manifest) checkSections() error {
	var names []string
	for _, s := range m.Sections {
		if s.Size < headerSize || s.Size > MaxSection || !digest64.MatchString(s.SHA256) {
			return corrupt(ManifestFile, "M4", "section %q: size %d or digest %q", s.Name, s.Size, s.SHA256)
		}
		names = append(names, s.Name)
	}
	want := sectionNames(m.Model != nil, slices.Contains(names, "originals"))
	for _, name := range names {
		if !slices.Contains(want, name) {
			return unsupported(ManifestFile, "M3", "section %q is unknown to this reader", name)
		}
	}
	if !slices.Equal(names, want) {
		return corrupt(ManifestFile, "M3", "its sections are %q, not %q", names, want)
	}
	return nil
}
