package reports

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// faultWords renders the text of a fault as what happened to a machine, in plain words. The condition under which it
// struck is left out, and a role is replaced by the machine that played it. Text in an unknown form is quoted.
func faultWords(text, machine string) (who, what string) {
	words := strings.Fields(text)
	who = machine
	if who == "" && len(words) > 1 {
		who = words[1]
	}
	if who == "" {
		who = "somewhere"
	}
	switch first(words) {
	case "crash":
		return who, "crashes"
	case "restart":
		return who, "starts again" + restartWords(words)
	case "pause":
		return who, "stands still" + forWords(words)
	case "down":
		return who, "is away" + forWords(words)
	case "clock":
		return who, clockWords(words)
	case "lose", "delay", "repeat", "fail":
		if client, server := ends(words, ">"); server != "" {
			return client, messageWords(words, server)
		}
	case "slow", "cut":
		return linkWords(words)
	case "expire":
		return who, "its session is ended by the server"
	case "preset", "add", "remove":
		return serverWords(words, who)
	case "starve":
		return who, "the timers of its lock do not fire" + forWords(words)
	case "reorder":
		return who, "the timers of its lock do not fire" + forWords(words) + ", and then the last one first"
	case "cancel":
		return who, cancelWords(words)
	case "roll":
		if by, ok := durationAfter(words, "by"); ok {
			return who, "starts again without what it was told in the last " + seconds(by)
		}
	}
	return who, "fault: " + text
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return strings.ToLower(words[0])
}

func restartWords(words []string) string {
	switch {
	case has(words, "empty"):
		return " and has lost its data"
	case has(words, "new"):
		return " as somebody new"
	}
	return ""
}

// forWords renders the clause "for DURATION".
func forWords(words []string) string {
	if d, ok := durationAfter(words, "for"); ok {
		return " for " + seconds(d)
	}
	return ""
}

func clockWords(words []string) string {
	for i := 2; i+1 < len(words); i++ {
		d, err := time.ParseDuration(strings.TrimPrefix(words[i+1], "+"))
		switch kind := strings.ToLower(words[i]); {
		case kind == "drift":
			return "its clock runs wrong by " + strings.TrimSuffix(words[i+1], "ppm") + " parts per million"
		case err != nil:
		case kind == "step" && d < 0:
			return "its clock jumps back by " + seconds(-d)
		case kind == "step":
			return "its clock jumps forward by " + seconds(d)
		case kind == "offset" && d < 0:
			return "its clock is set " + seconds(-d) + " behind"
		case kind == "offset":
			return "its clock is set " + seconds(d) + " ahead"
		case kind == "unit":
			return "its clock counts units of " + seconds(d) + " where milliseconds are expected"
		case kind == "jitter":
			return "each reading of its clock is off by up to " + seconds(d)
		}
	}
	return "fault: " + strings.Join(words, " ")
}

// messageWords renders what becomes of one request or reply.
func messageWords(words []string, server string) string {
	lost, d := strings.EqualFold(words[0], "lose"), ""
	if by, ok := durationAfter(words, "by"); ok {
		d = " by " + seconds(by)
	}
	if has(words, "event") {
		return eventWords(words, server, d)
	}
	if strings.EqualFold(words[0], "fail") {
		return "its script fails on " + server + " at one of its writes, and the earlier ones stay"
	}
	switch reply := has(words, "reply"); {
	case lost && reply:
		return "its request is executed by " + server + ", but the reply is lost"
	case lost:
		return "its request to " + server + " is lost before it is executed"
	case reply:
		return "the reply that it waits for from " + server + " is delayed" + d
	default:
		return "its request to " + server + " is delayed" + d
	}
}

// eventWords renders what becomes of something that a server sends by itself.
func eventWords(words []string, server, delay string) string {
	event := "the next event that " + server + " sends it "
	switch strings.ToLower(words[0]) {
	case "lose":
		return event + "gets lost"
	case "repeat":
		if after, ok := durationAfter(words, "after"); ok {
			return event + "comes once more " + seconds(after) + " later"
		}
		return event + "comes once more"
	default:
		return event + "is delayed" + delay
	}
}

// cancelWords renders the end of a call.
func cancelWords(words []string) string {
	if has(words, "timeout") {
		return "the time of its call is over"
	}
	return "its call is called off"
}

// serverWords renders what a third party does on a server.
func serverWords(words []string, machine string) (who, what string) {
	where, target := wordAfter(words, "on"), wordAfter(words, words[0])
	if where == "" {
		return machine, "fault: " + strings.Join(words, " ")
	}
	switch strings.ToLower(words[0]) {
	case "add":
		if has(words, "list") {
			return where, "a third party adds the list " + target
		}
		return where, "a third party adds " + target
	case "remove":
		return where, "a third party removes " + target
	default:
		if target = wordAfter(words, "of"); target == "" {
			target = wordAfter(words, "counter")
		}
		return where, "the counter of " + target + " shows " + wordAfter(words, "to")
	}
}

// wordAfter finds what follows a word; "" = nothing does.
func wordAfter(words []string, word string) string {
	i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, word) })
	if i < 0 || i+1 == len(words) {
		return ""
	}
	return words[i+1]
}

// linkWords renders what becomes of a link for a while.
func linkWords(words []string) (who, what string) {
	from, to := ends(words, ">")
	way := " to "
	if to == "" {
		from, to = ends(words, "-")
		way = " and "
	}
	if to == "" {
		return "network", "fault: " + strings.Join(words, " ")
	}
	link := from + way + to
	if strings.EqualFold(words[0], "cut") {
		return "network", "carries nothing from " + strings.Replace(link, " and ", " to ", 1) +
			map[bool]string{true: " and back", false: ""}[way == " and "] + forWords(words)
	}
	what = "is slow between " + link
	if way == " to " {
		what = "is slow from " + link
	}
	if by, ok := durationAfter(words, "by"); ok {
		what += ", by " + seconds(by)
	}
	return "network", what + "," + forWords(words)
}

// ends splits the first word that names two machines.
func ends(words []string, separator string) (from, to string) {
	for _, w := range words[1:] {
		if a, b, found := strings.Cut(w, separator); found && a != "" && b != "" {
			return a, b
		}
	}
	return "", ""
}

func has(words []string, word string) bool {
	for _, w := range words {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// durationAfter reads the duration behind a word.
func durationAfter(words []string, word string) (time.Duration, bool) {
	for i := 1; i+1 < len(words); i++ {
		if strings.EqualFold(words[i], word) {
			if d, err := time.ParseDuration(words[i+1]); err == nil {
				return d, true
			}
		}
	}
	return 0, false
}

// faultLength is how long a fault stays, 0 for one that strikes once or does not end by itself.
func faultLength(text string) time.Duration {
	words := strings.Fields(text)
	switch first(words) {
	case "pause", "down", "slow", "cut", "starve", "reorder":
		d, _ := durationAfter(words, "for")
		return max(d, 0)
	}
	return 0
}

// faultLabel is the short form of a fault's text, without the condition under which it struck: what fits into a plot.
func faultLabel(text, machine string) string {
	words := strings.Fields(text)
	for i, w := range words {
		if i > 0 && (strings.EqualFold(w, "on") || strings.EqualFold(w, "at")) {
			words = words[:i]
			break
		}
	}
	for i, w := range words {
		if machine != "" && i > 0 && isRole(w) {
			words[i] = machine
		}
		if d, err := time.ParseDuration(w); err == nil && strings.HasSuffix(w, "s") {
			words[i] = strings.TrimSuffix(w, strings.TrimLeft(w, "+-")) + length(d.Abs())
		}
	}
	return strings.Join(words, " ")
}

// isRole tells the names of roles.
func isRole(word string) bool {
	return slices.Contains([]string{"holder", "waiter", "next"}, strings.ToLower(word))
}

// number reads a decimal number, for sorting names such as c2 before c10.
func number(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil
}
