package zklock

import (
	"slices"
	"strings"
)

// numberedName is the name of a node with the own prefix and its number.
type numberedName struct {
	name   string
	number int32
}

// places returns the nodes with the own prefix, the oldest first.
func (t *site) places(names []string) []numberedName {
	var places []numberedName
	for _, name := range names {
		if number, ok := sequence(name, t.name); ok {
			places = append(places, numberedName{name, number})
		}
	}
	slices.SortFunc(places, func(a, b numberedName) int {
		if before(a.number, b.number) {
			return -1
		}
		return 1
	})
	return places
}

// predecessor returns the name of the node that comes just before the own one, "" for none.
//
// Those of the own prefix are compared by number. Where there is none in front, nodes of other prefixes are asked for
// when they were made: their names do not tell where the number begins.
func (a *attempt) predecessor(names []string, own string) (string, error) {
	if a.off(stringOrder) {
		return lastBelow(names, own), nil
	}
	number, _ := sequence(own, a.name)
	last, foreign := "", []string(nil)
	var lastNumber int32
	for _, name := range names {
		if a.permanent[name] {
			continue
		}
		n, ok := sequence(name, a.name)
		switch {
		case !ok && numbered(name):
			foreign = append(foreign, name)
		case ok && before(n, number) && (last == "" || before(lastNumber, n)):
			last, lastNumber = name, n
		}
	}
	if last != "" || len(foreign) == 0 {
		return last, nil
	}
	slices.Sort(foreign)
	return a.lastForeign(foreign)
}

// lastForeign returns the youngest of the foreign nodes that are older than the own one, "" for none.
func (a *attempt) lastForeign(foreign []string) (last string, err error) {
	if a.czxid == 0 {
		_, stat, err := a.zookeeper.Exists(a.node.path)
		if err != nil {
			return "", err
		}
		a.czxid = stat.Czxid // 0 if it is gone: then the proof finds that out
	}
	var lastZxid int64
	for _, name := range foreign {
		exists, stat, err := a.zookeeper.Exists(a.dir + "/" + name)
		if err != nil {
			return "", err
		}
		if !exists || a.isPermanent(name, stat) {
			continue
		}
		if stat.Czxid < a.czxid && stat.Czxid > lastZxid {
			last, lastZxid = name, stat.Czxid
		}
	}
	return last, nil
}

// lastBelow is the published order.
func lastBelow(names []string, own string) (last string) {
	for _, name := range names {
		if strings.Compare(name, own) < 0 && strings.Compare(name, last) > 0 {
			last = name
		}
	}
	return last
}
