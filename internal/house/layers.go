package house

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// layer says what one package may import.
type layer struct {
	house   []string // packages of this module
	modules []string // modules of others
	tests   []string // more of both, for its tests alone
}

// layers is the architecture: arrows go down only. impl is production code and knows nothing of the bench; checker
// judges any history and imports nothing of the house but itself; sim knows no lock, no plan and no property.
var layers = map[string]layer{
	".":              {},
	"internal/house": {modules: []string{"golang.org/x/mod"}},

	"internal/visible": {},

	"impl":            {modules: []string{clockworkModule, zkModule}},
	"impl/timeserver": {house: []string{"impl"}, modules: []string{clockworkModule}},
	"impl/redislock": {
		house:   []string{"impl", "impl/timeserver"},
		modules: []string{clockworkModule, goRedisModule},
	},

	"impl/zklock": {
		house: []string{"impl"}, modules: []string{clockworkModule, zkModule}, tests: []string{"sim", "sim/zookeeper"},
	},

	"sim":       {modules: []string{clockworkModule, "github.com/cespare/xxhash/v2"}},
	"sim/redis": {house: []string{"sim"}, modules: []string{miniredisModule, "github.com/yuin/gopher-lua"}},

	"sim/zookeeper": {house: []string{"sim"}, modules: []string{clockworkModule, "github.com/cespare/xxhash/v2"}},

	"checker":           {house: []string{"checker/model"}, modules: []string{"github.com/anishathalye/porcupine"}},
	"checker/model":     {},
	"checker/mechanism": {house: []string{"checker"}},
	"checker/measure":   {house: []string{"checker"}},

	"checker/foreign": {
		house: []string{"checker", "internal/visible"}, tests: []string{"github.com/anishathalye/porcupine"},
	},

	"faults": {house: []string{"sim"}},

	"scenarios/strategy": {house: []string{"sim"}},

	"scenarios": {
		house: []string{
			"scenarios/strategy", "impl", "impl/redislock", "impl/timeserver", "impl/zklock", "faults", "checker",
			"checker/measure", "checker/mechanism", "internal/visible", "sim", "sim/redis", "sim/zookeeper",
		},
		modules: []string{clockworkModule, goRedisModule, zkModule, "github.com/goccy/go-yaml"},
	},

	"reports": {
		house:   []string{"checker", "checker/measure", "checker/mechanism", "internal/visible", "reports/spacetime"},
		modules: []string{"gonum.org/v1/plot", "golang.org/x/image"},
		tests:   []string{"scenarios", "sim", "faults"},
	},

	"reports/spacetime": {
		tests: []string{
			"reports", "reports/index", "checker", "checker/mechanism", "scenarios", "sim", "github.com/chromedp/chromedp",
			"github.com/chromedp/cdproto",
		},
	},

	"reports/ci": {
		house: []string{"internal/visible"},
		tests: []string{"github.com/owenrumney/go-sarif/v3", "github.com/santhosh-tekuri/jsonschema/v6"},
	},

	"reports/export": {
		house: []string{"checker", "reports/spacetime"}, tests: []string{"reports", "scenarios", "sim"},
	},

	"reports/index": {house: []string{"reports/ci", "internal/visible"}},
	"reports/server": {
		house: []string{"reports/index"}, tests: []string{"github.com/chromedp/chromedp", "github.com/chromedp/cdproto"},
	},

	"cmd/lockstep": {
		house: []string{
			"reports", "reports/ci", "reports/export", "reports/index", "reports/server", "reports/spacetime", "scenarios",
			"scenarios/strategy", "checker", "checker/foreign", "checker/measure", "checker/model", "sim", "sim/zookeeper",
			"impl", "impl/timeserver", "internal/visible",
		},
		modules: []string{
			clockworkModule, "github.com/cespare/xxhash/v2", "github.com/spf13/cobra", "github.com/schollz/progressbar/v3",
			"golang.org/x/term",
		},
		tests: []string{"github.com/goccy/go-yaml"},
	},
}

const (
	clockworkModule = "github.com/jonboulle/clockwork"
	goRedisModule   = "github.com/redis/go-redis/v9"
	miniredisModule = "github.com/alicebob/miniredis/v2"
	zkModule        = "github.com/go-zookeeper/zk"
)

// testModules are what any test may use.
var testModules = []string{
	"github.com/cockroachdb/datadriven", "github.com/google/go-cmp", "github.com/rogpeppe/go-internal",
	"pgregory.net/rapid", miniredisModule, goRedisModule, clockworkModule, zkModule,
}

// guarded lists packages of the standard library that few may import, with the packages that may.
var guarded = map[string][]string{
	"C":                nil,
	"unsafe":           {"sim"},                              // readings with two clocks, see sim/instant.go
	"math/rand":        nil,                                  // math/rand/v2 has generators that are made explicitly
	"crypto/rand":      {"scenarios"},                        // go-zookeeper takes GUIDs from it; a run seeds it
	"testing":          {"sim", "scenarios", "cmd/lockstep"}, // a bubble wants a *testing.T
	"testing/synctest": {"sim"},
	"os/exec":          {"internal/house", "scenarios", "cmd/lockstep"},
	"plugin":           nil,
	"net/http":         {"reports/server", "cmd/lockstep"}, // to show a folder on loopback
	"runtime/debug":    {"sim", "cmd/lockstep"},
	"log":              nil, // what there is to say is an error, a result or a trace
	"log/slog":         nil,
}

func layerRules() []Rule {
	return []Rule{
		{"layers", "arrows between packages go down only; every import is in the table of layers.go", arrows},
		{"types", "everything that is built here has its types checked: what is left out cannot be judged", typed},
	}
}

func arrows(t *Tree, report reporter) {
	for _, p := range t.Packages {
		allowed, known := layers[p.Path]
		if !known {
			report(p.all()[0].ast.Package, "the package %s is not in the table of internal/house/layers.go; "+
				"add what it may import", p.Path)
			continue
		}
		for _, f := range slices.Concat(p.Files, p.Left) {
			if !strings.HasSuffix(f.Name, "_test.go") {
				judgeImports(p, f, allowed.house, allowed.modules, report)
			}
		}
		// A test may also import what stands beside it, and the test-only rows.
		house := slices.Concat(allowed.house, allowed.tests, []string{p.Path})
		modules := slices.Concat(allowed.modules, allowed.tests, testModules)
		for _, f := range p.Tests {
			judgeImports(p, f, house, modules, report)
		}
	}
}

func judgeImports(p *Package, f *File, house, modules []string, report reporter) {
	for _, spec := range f.ast.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser reports it
		}
		inHouse, isHouse := strings.CutPrefix(imported, Module)
		switch {
		case isHouse:
			if target := path.Clean("." + inHouse); !slices.Contains(house, target) {
				report(spec.Pos(), "%s must not import %s; the arrows are in internal/house/layers.go", p.Path, target)
			}
		case strings.Contains(strings.Split(imported, "/")[0], "."):
			if !slices.ContainsFunc(modules, func(m string) bool { return below(imported, m) }) {
				report(spec.Pos(), "%s must not import %s; what it may import of others is in internal/house/layers.go",
					p.Path, imported)
			}
		default:
			judgeStandard(p, f, spec, imported, report)
		}
	}
}

func judgeStandard(p *Package, f *File, spec *ast.ImportSpec, imported string, report reporter) {
	allowed, isGuarded := guarded[imported]
	if isGuarded && !strings.HasSuffix(f.Name, "_test.go") && !slices.Contains(allowed, p.Path) {
		report(spec.Pos(), "%s must not import %s; who may is in internal/house/layers.go", p.Path, imported)
	}
}

// below tells whether a package belongs to a module or lies under a path.
func below(imported, module string) bool {
	return imported == module || strings.HasPrefix(imported, module+"/")
}

// leftOut lists the files that build constraints may leave out of the usual build, with the reason.
var leftOut = map[string]string{}

// typed reports what the rules cannot see: files that are not built here and packages that do not compile.
func typed(t *Tree, report reporter) {
	for _, p := range t.Packages {
		for _, f := range p.Left {
			if leftOut[f.Name] == "" && !strings.HasSuffix(f.Name, "_test.go") {
				report(f.ast.Package, "build constraints leave this file out, so nobody judges it; "+
					"name it in internal/house/layers.go with the reason")
			}
		}
		if len(p.faults) > 0 { // one is enough: go vet lists all
			report(p.faults[0].Pos, "%s", p.faults[0].Msg)
		}
	}
}
