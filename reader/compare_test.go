package reader

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/larder/artifact"
)

// ruled is a manifest with everything in it that decides how a question is answered.
func ruled() *artifact.Manifest {
	return &artifact.Manifest{
		Format: artifact.Format, Features: []string{}, Builder: 1, Base: "shop", Tokenizer: "t1",
		Settings: artifact.Settings{Mode: Hybrid, ChunkSize: 90, ChunkOverlap: 20, TopK: 3},
		Analyzer: artifact.Analyzer{ID: "a1", Languages: []string{"en"}},
		Model:    &artifact.Model{Name: "m", Source: "s1", Dimensions: 384, MaxTokens: 512, Pooling: "mean", Encoder: "e1"},
		Boosts:   map[string]float64{"faq": 1.2},
	}
}

func TestCompare(t *testing.T) {
	if err := Compare(ruled(), ruled()); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(m *artifact.Manifest){
		``:                                   func(m *artifact.Manifest) { m.Serial, m.Builder, m.Counts.Chunks = 7, 2, 9 },
		` `:                                  func(m *artifact.Manifest) { m.Tool = &artifact.Tool{Name: "look_up_shop"} },
		`mode was "hybrid" and is "meaning"`: func(m *artifact.Manifest) { m.Settings.Mode = Meaning },
		`min_score was 0 and is 0.25`:        func(m *artifact.Manifest) { m.Settings.MinScore = 0.25 },
		`analyzer.id was "a1" and is "a2"`:   func(m *artifact.Manifest) { m.Analyzer.ID = "a2" },
		`analyzer.languages was ["en"] and is []`:    func(m *artifact.Manifest) { m.Analyzer.Languages = []string{} },
		`tokenizer was "t1" and is "t2"`:             func(m *artifact.Manifest) { m.Tokenizer = "t2" },
		`model.query_prefix was "" and is "query: "`: func(m *artifact.Manifest) { m.Model.QueryPrefix = "query: " },
		`boosts.faq was 1.2 and is 1.3`:              func(m *artifact.Manifest) { m.Boosts["faq"] = 1.3 },
		`boosts.faq was 1.2 and is none`:             func(m *artifact.Manifest) { m.Boosts = nil },
		`boosts.note was none and is 0.5`:            func(m *artifact.Manifest) { m.Boosts["note"] = 0.5 },
		`chunk_size was 90 and is 60; top_k was 3 and is 5`: func(m *artifact.Manifest) {
			m.Settings.ChunkSize, m.Settings.TopK = 60, 5
		},
		`model.dimensions was 384 and is 1536; model.embedder was none and is "service"; model.encoder was "e1" and is ""; model.max_tokens was 512 and is 0; model.name was "m" and is "n"; model.pooling was "mean" and is ""; model.source was "s1" and is ""`: func(m *artifact.Manifest) {
			m.Model = &artifact.Model{Name: "n", Embedder: "service", Dimensions: 1536}
		},
	} {
		m := ruled()
		change(m)
		err := Compare(ruled(), m)
		if strings.TrimSpace(want) == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || err.Error() != "made with other settings: "+want {
			t.Errorf("%v\nwant …: %s", err, want)
		}
	}
	keyword := ruled()
	keyword.Model, keyword.Settings.Mode = nil, Keyword
	if err := Compare(keyword, ruled()); err == nil || !strings.Contains(err.Error(), `model.encoder was none and is "e1"`) {
		t.Error(err)
	}
	if Compare(nil, ruled()) == nil || Compare(ruled(), nil) == nil {
		t.Error("compared with nothing")
	}
}

// Every field of a manifest either only describes, or makes a difference: also one that is added one day.
func TestCompareEveryField(t *testing.T) {
	seen := 0
	for i := range reflect.TypeFor[artifact.Manifest]().NumField() {
		field := reflect.TypeFor[artifact.Manifest]().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if slices.Contains(describes, name) {
			seen++
			continue
		}
		m := ruled()
		reflect.ValueOf(m).Elem().Field(i).SetZero()
		if Compare(ruled(), m) == nil {
			t.Errorf("%s makes no difference", name)
		}
	}
	if seen != len(describes) {
		t.Errorf("%d of the %d fields that only describe are there", seen, len(describes))
	}
}
