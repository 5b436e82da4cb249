package pipeline

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/larder/artifact"
)

// Limits of what base.yaml says of an embedder outside.
const (
	maxDimensions = 4096
	maxBatch      = 2048
	maxRetries    = 10
	maxTimeout    = 600 // seconds
	maxPrefix     = 256 // bytes
)

// outsideProblems checks what concerns embedders outside, agents, and the place of the artifact.
func (s Settings) outsideProblems() (list []SettingsProblem) {
	wrong := func(key, format string, args ...any) {
		list = append(list, SettingsProblem{Key: key, Text: fmt.Sprintf(format, args...)})
	}
	o := s.OpenAI
	switch {
	case s.Embedder != OpenAI && o != OpenAISettings{}:
		wrong("openai", "is only for embedder: openai (set embedder, or remove it)")
	case s.Embedder == OpenAI && s.Mode == string(artifact.Keyword):
		wrong("embedder", "%q does nothing in keyword mode, which takes no embedder (remove it, or set mode to meaning or hybrid)", OpenAI)
	case s.Embedder == OpenAI && (o.Model == "" || len(o.Model) > maxLabel || !printable(o.Model)):
		wrong("openai.model", "%s is not a model's name, which embedder: openai needs (such as text-embedding-3-small)", excerpt(o.Model))
	}
	if o.BaseURL != "" {
		if ServiceURL(o.BaseURL) == nil {
			wrong("openai.base_url", "is not an address of the form https://host/v1 (http or https, without user, password or query: name the variable with the key under credential_env)")
		}
	}
	whole := func(key string, v, least, most int) {
		if v < least || v > most {
			wrong(key, "%d is out of range (%d to %d)", v, max(least, 0), most)
		}
	}
	whole("openai.dimensions", o.Dimensions, 0, maxDimensions)
	whole("openai.batch", o.Batch, 0, maxBatch)
	whole("openai.retries", o.Retries, -1, maxRetries)
	if !(o.Timeout >= 0 && o.Timeout <= maxTimeout) {
		wrong("openai.timeout", "%v is out of range (up to %d seconds)", o.Timeout, maxTimeout)
	}
	prefix := func(key, v string) {
		// Models that follow instructions have prefixes of two lines.
		if len(v) > maxPrefix || !printable(strings.NewReplacer("\n", "", "\t", "").Replace(v)) {
			wrong(key, "is not a prefix (up to %d bytes of printable text)", maxPrefix)
		}
	}
	prefix("openai.query_prefix", o.QueryPrefix)
	prefix("openai.passage_prefix", o.PassagePrefix)
	if s.Credential != "" && !envName.MatchString(s.Credential) {
		wrong("credential_env", "is not the name of an environment variable (letters, digits and _, such as OPENAI_API_KEY; never the key itself)")
	}
	if s.IndexDir != "" {
		dir := path.Clean(filepath.ToSlash(s.IndexDir))
		if path.IsAbs(dir) || strings.Contains(dir, `\`) || filepath.IsAbs(s.IndexDir) || filepath.VolumeName(s.IndexDir) != "" || !printable(dir) {
			wrong("index_dir", "%s is not a path relative to the base's folder (such as ../../dist/refunds)", excerpt(s.IndexDir))
		} else if dir == "." || strings.HasPrefix(dir, "..") && dir != ".." && !strings.HasPrefix(dir, "../") || !strings.HasPrefix(dir, ".") {
			wrong("index_dir", "%s lies among the documents (allowed: a path that begins with .., or a hidden folder such as .index)", excerpt(s.IndexDir))
		}
	}
	if s.Tool.Name != "" && artifact.CheckToolName(s.Tool.Name) != nil {
		wrong("tool.name", "%s can't name a tool (a letter, then up to 63 of letters, digits, _ and -)", excerpt(s.Tool.Name))
	}
	if s.Tool.Description != "" && (artifact.Tool{Description: s.Tool.Description}).Check() != nil {
		wrong("tool.description", "is not printable text, or longer than %d characters", artifact.MaxToolDescription)
	}
	return list
}

// ServiceURL reads the address of a service: http or https, without user, password, query and fragment. It returns nil for
// what is none; what it was is not for errors, since it may hold a password.
func ServiceURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil
	}
	return u
}

// CheckIndexDir returns an error if an index would lie among the documents of a folder: what is in it would become
// documents of the next bake.
func CheckIndexDir(folder, index string) error {
	from, err := realPath(folder)
	if err != nil {
		return err
	}
	to, err := realPath(index)
	if err != nil {
		return err
	}
	inside, err := filepath.Rel(from, to)
	if err != nil || !filepath.IsLocal(inside) || inside != "." && strings.HasPrefix(inside, ".") {
		return nil // elsewhere, or in a hidden folder, which holds no documents
	}
	return hintedError{
		fmt.Sprintf("index_dir: %s lies among the documents of %s", index, folder),
		"name a folder outside of them, or a hidden one such as .index",
	}
}

// realPath resolves the links in a path, of which the end need not exist.
func realPath(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	for rest := ""; ; {
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			return filepath.Join(real, rest), nil
		}
		parent := filepath.Dir(abs)
		if parent == abs {
			return filepath.Join(abs, rest), nil
		}
		abs, rest = parent, filepath.Join(filepath.Base(abs), rest)
	}
}

// tool is what the artifact remembers of the tool, nil if the base declares none.
func (s Settings) tool() *artifact.Tool {
	if s.Tool == (artifact.Tool{}) {
		return nil
	}
	return &s.Tool
}

func openAIKeys() []string {
	return []string{"model", "base_url", "dimensions", "query_prefix", "passage_prefix", "batch", "retries", "timeout"}
}

func (r *settingsReader) openAI(key settingKey, n *yaml.Node, s *Settings) {
	o := &s.OpenAI
	whole := func(name string, n *yaml.Node, most int, to *int) {
		allowed := fmt.Sprintf("0 to %d", most)
		if v, ok := r.whole(name, allowed, n); ok && (v < 0 || v > int64(most)) {
			r.wrong(n.Line, name, "%d is out of range (%s)", v, allowed)
		} else if ok {
			*to = int(v)
		}
	}
	for name, v := range r.mapping(key.name, strings.Join(openAIKeys(), ", "), n, openAIKeys()) {
		full := key.name + "." + name
		switch name {
		case "model":
			r.text(full, "a model's name, such as text-embedding-3-small", v, &o.Model)
		case "base_url":
			r.text(full, "an address, such as https://host/v1", v, &o.BaseURL)
		case "dimensions":
			whole(full, v, maxDimensions, &o.Dimensions)
		case "query_prefix":
			r.text(full, "one line of text", v, &o.QueryPrefix)
		case "passage_prefix":
			r.text(full, "one line of text", v, &o.PassagePrefix)
		case "batch":
			whole(full, v, maxBatch, &o.Batch)
		case "retries":
			if whole(full, v, maxRetries, &o.Retries); o.Retries == 0 {
				o.Retries = -1 // none, where a missing key means the default
			}
		case "timeout":
			r.number(full, fmt.Sprintf("seconds, up to %d", maxTimeout), v, &o.Timeout)
		}
	}
}

func (r *settingsReader) tool(key settingKey, n *yaml.Node, s *Settings) {
	for name, v := range r.mapping(key.name, "name, description", n, []string{"name", "description"}) {
		switch name {
		case "name":
			r.text(key.name+".name", "a letter, then up to 63 of letters, digits, _ and -", v, &s.Tool.Name)
		case "description":
			r.text(key.name+".description", "text that says when to look up", v, &s.Tool.Description)
		}
	}
}

func (r *settingsReader) embedder(key settingKey, n *yaml.Node, s *Settings) {
	var name string
	if !r.text(key.name, key.allowed, n, &name) {
		return
	}
	if name == Function {
		r.wrong(n.Line, key.name, "%q is for programs that bring their own (allowed: %s)", name, key.allowed)
		return
	}
	s.Embedder = name
}
