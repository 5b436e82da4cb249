package artifact

import (
	"os"
	"strings"
	"testing"
)

// TestOutside: an artifact with vectors of an embedder outside, and with a tool.
func TestOutside(t *testing.T) {
	outside := func() *Content {
		c := tiny(Hybrid)
		c.Model = &Model{Name: "text-embedding-3-small", Embedder: `openai "text-embedding-3-small"`, Dimensions: 3}
		c.Tool = &Tool{"look_up_fruit", "Look up fruit.\nUse it before you name one."}
		return c
	}
	f, err := Encode(outside(), bitmap)
	if err != nil {
		t.Fatal(err)
	}
	folder, _, err := f.Save(t.TempDir(), []byte("{}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Open(os.DirFS(folder), ".", "")
	if err != nil {
		t.Fatal(err)
	}
	if m := a.Manifest; !m.Model.External() || *m.Model != *outside().Model || *m.Tool != *outside().Tool || len(a.Probes()) == 0 {
		t.Errorf("%+v %+v %d probes", m.Model, m.Tool, len(a.Probes()))
	}
	for name, change := range map[string]func(*Content){
		"embedder and encoder":     func(c *Content) { c.Model.Encoder = someDigest },
		"embedder and pooling":     func(c *Content) { c.Model.Pooling = "mean" },
		"embedder without a model": func(c *Content) { c.Model.Name = "" },
		"no dimensions":            func(c *Content) { c.Model.Dimensions = 0 },
		"a huge identity":          func(c *Content) { c.Model.Embedder = strings.Repeat("x", maxIdentity+1) },
		"an empty tool":            func(c *Content) { c.Tool = &Tool{} },
		"a tool's bad name":        func(c *Content) { c.Tool.Name = "look up" },
		"a tool's huge text":       func(c *Content) { c.Tool.Description = strings.Repeat("я", MaxToolDescription+1) },
		"a tool without UTF-8":     func(c *Content) { c.Tool.Description = "\xff" },
	} {
		c := outside()
		change(c)
		if _, err := Encode(c, bitmap); err == nil {
			t.Errorf("%s: encoded", name)
		}
	}
}
