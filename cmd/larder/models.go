package main

import (
	"fmt"
	"strings"

	"example.com/larder/pipeline"
)

type modelsCommand struct {
	List  modelsList  `cmd:"" default:"withargs" help:"List what is locked, cached and missing."`
	Fetch modelsFetch `cmd:"" help:"Fetch what is missing."`
	Env   modelsEnv   `cmd:"" hidden:"" help:"Print the environment that a build for the bases in a folder needs."`
}

type modelsList struct{ caching }

func (c *modelsList) Run(e *environment) error {
	f, err := fetching{caching: c.caching}.fetcher(e)
	if err != nil {
		return err
	}
	items, err := f.Items()
	if err != nil {
		return err
	}
	return pipeline.WriteItems(e.out, items)
}

type modelsFetch struct {
	Model []string `sep:"none" xor:"what" help:"Fetch this model and the native libraries; may be repeated (default: all-MiniLM-L6-v2)." placeholder:"NAME"`
	For   string   `xor:"what" help:"Fetch what the bases in this folder need, no more." placeholder:"DIR"`
	fetching
}

func (c *modelsFetch) Run(e *environment) error {
	f, err := c.fetcher(e)
	if err != nil {
		return err
	}
	need := pipeline.Needs{Models: c.Model, Libraries: true}
	if c.For != "" {
		if need, err = needs(c.For); err != nil {
			return err
		}
	} else if len(need.Models) == 0 {
		need.Models = []string{pipeline.DefaultSettings("base").Model}
	}
	return need.Fetch(e, f)
}

// needs gathers what the bases in a folder need.
func needs(dir string) (all pipeline.Needs, err error) {
	folders, err := baseFolders(dir, nil)
	if err != nil {
		return all, usageError{err}
	}
	for _, folder := range folders {
		n, err := pipeline.NeedsOf(folder)
		if err != nil {
			return all, err
		}
		all.Add(n)
	}
	return all, nil
}

type modelsEnv struct {
	For string `help:"Folder of bases (default: for all that base.yaml can ask for)." placeholder:"DIR"`
	fetching
}

// Run prints NAME=value for the build, with cgo and -tags ORT, of a larder that can bake the bases; nothing if one
// without can.
func (c *modelsEnv) Run(e *environment) error {
	if c.For != "" {
		if need, err := needs(c.For); err != nil || !need.Libraries {
			return err
		}
	}
	f, err := c.fetcher(e)
	if err != nil {
		return err
	}
	dir, err := f.Tokenizers(e)
	if err != nil {
		return err
	}
	if strings.ContainsAny(dir, " \t\n") {
		return fmt.Errorf("the cache folder %q has blanks in its name, which the C linker's flags can't take: set LARDER_CACHE to another", dir)
	}
	fmt.Fprintf(e.out, "CGO_LDFLAGS=-L%s\n", dir)
	return nil
}
