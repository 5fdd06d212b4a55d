package house

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

func moduleRules() []Rule {
	return []Rule{
		{"modules", "go.mod names released versions and nothing in their place", modules},
	}
}

// tools are what the tests of this package run from go.mod.
var tools = []string{"mvdan.cc/gofumpt", "honnef.co/go/tools/cmd/staticcheck"}

var wholeGoVersion = regexp.MustCompile(`^1\.\d+\.\d+$`)

func modules(t *Tree, report reporter) {
	at := slices.IndexFunc(t.Texts, func(x *Text) bool { return x.Name == "go.mod" })
	if at < 0 {
		return
	}
	x := t.Texts[at]
	parsed, err := modfile.Parse(x.Name, []byte(strings.Join(x.Lines, "\n")+"\n"), nil)
	if err != nil {
		report(x.at(1), "%v", err)
		return
	}
	if parsed.Module == nil || parsed.Module.Mod.Path != Module {
		report(x.at(1), "the module must be %s", Module)
	}
	if parsed.Go == nil || !wholeGoVersion.MatchString(parsed.Go.Version) {
		report(x.at(1), "the go line must name a whole version, such as 1.26.0")
	}
	for _, require := range parsed.Require {
		line := require.Syntax
		if module.IsPseudoVersion(require.Mod.Version) && !require.Indirect && !reasoned(line) {
			report(x.at(line.Start.Line), "%s is at a commit, not at a release; take a release, or say why not beside it",
				require.Mod.Path)
		}
	}
	for _, replace := range parsed.Replace {
		report(x.at(replace.Syntax.Start.Line), "a replace: whoever builds this module as a dependency gets another one")
	}
	for _, tool := range tools {
		if !slices.ContainsFunc(parsed.Tool, func(had *modfile.Tool) bool { return had.Path == tool }) {
			report(x.at(1), "the tool %s is missing; go get -tool brings it", tool)
		}
	}
}

// reasoned tells whether a line of go.mod carries a comment that is more than a mark of the go command.
func reasoned(line *modfile.Line) bool {
	return slices.ContainsFunc(slices.Concat(line.Before, line.Suffix), func(c modfile.Comment) bool {
		return strings.TrimSpace(strings.TrimPrefix(c.Token, "//")) != ""
	})
}
