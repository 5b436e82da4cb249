package main

import (
	"cmp"
	"errors"
	"fmt"
	"text/tabwriter"

	"example.com/larder/artifact"
	"example.com/larder/serve/query"
)

type knowledgeAdminCommand struct {
	Action string   `arg:"" help:"action=health: how all connections and their spaces are." placeholder:"action=health"`
	From   []string `sep:"none" help:"A shelf, an artifact, or a database as postgres://user@host/name; may be repeated (default: dist)." placeholder:"PLACE"`
	JSON   bool     `help:"Print JSON, for programs."`
}

func (c *knowledgeAdminCommand) Run(e *environment) error {
	if c.Action != "action=health" {
		return hinted{usageError{fmt.Errorf("there is no %q", c.Action)}, "larder knowledge-admin action=health; connections are named by --from"}
	}
	connections, closeAll, err := openConnections(e, c.From)
	if err != nil {
		return err
	}
	defer closeAll()
	infos := query.New(connections, nil).Connections(e)
	if c.JSON {
		err = writeJSON(e.out, infos, "  ")
	} else {
		err = printHealth(e, infos)
	}
	for _, i := range infos {
		if i.Status == query.Ready {
			return err
		}
	}
	return cmp.Or(err, errors.New("no connection is ready"))
}

func printHealth(e *environment, infos []query.ConnectionInfo) error {
	w := tabwriter.NewWriter(e.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "CONNECTION\tSPACE\tKIND\tSTATUS\tDOCUMENTS\tCHUNKS\tMODEL\tVERSION")
	for _, c := range infos {
		fmt.Fprintf(w, "%s\t\t%s\t%s\t%d\t%d\t\t\n", c.Slug, c.Kind, told(c.Status, c.Reason), c.Documents, c.Chunks)
		for _, s := range c.Spaces {
			version := s.Version
			if version != "" {
				version = artifact.FolderName(version)
			}
			fmt.Fprintf(w, "%s\t%s\t\t%s\t%d\t%d\t%s\t%s\n", c.Slug, s.Slug, told(s.Status, s.Reason), s.Documents, s.Chunks, oneLine(s.Model), version)
		}
	}
	return w.Flush()
}

// told is a status with its reason.
func told(status query.Status, reason string) string {
	if reason == "" {
		return string(status)
	}
	return string(status) + ": " + oneLine(reason)
}
