package query

import (
	"context"
	"fmt"
	"strings"
)

// advise says what to try when nothing was found: which filter to relax, after trying the search without each of them.
func advise(ctx context.Context, views []searched, r Request) (string, error) {
	set := r.Filters.set()
	if len(set) == 0 {
		return "No hits. Ask in other words, or search all spaces.", nil
	}
	var helps []string
	for _, field := range set {
		n, err := count(ctx, views, r.Query, r.Filters.without(field))
		if err != nil {
			return "", err
		}
		if n > 0 {
			helps = append(helps, fmt.Sprintf("`%s` (%s without it)", field, plural(n, "hit")))
		}
	}
	if len(helps) > 0 {
		return "No hits. Relax the filter " + strings.Join(helps, " or ") + ".", nil
	}
	n, err := count(ctx, views, r.Query, Filters{})
	switch {
	case err != nil:
		return "", err
	case n == 0:
		return "No hits, with these filters or without them. Ask in other words, or search all spaces.", nil
	case len(set) == 1:
		return fmt.Sprintf("No hits. Relax the filter `%s` (%s without it).", set[0], plural(n, "hit")), nil
	}
	return fmt.Sprintf("No hits. No filter alone is to blame: relax several of `%s` (%s without any).", strings.Join(set, "`, `"), plural(n, "hit")), nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// count is how many hits there would be with other filters.
func count(ctx context.Context, views []searched, text string, filters Filters) (int, error) {
	others := make([]searched, len(views))
	for i, v := range views {
		others[i] = searched{namedSpace: v.namedSpace, view: v.view}
	}
	if err := searchAll(ctx, others, text, filters); err != nil {
		return 0, err
	}
	return len(fuse(others)), nil
}
