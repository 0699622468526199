package words

import "regexp"

// Names of the rules that are not phrases.
const (
	BareName     = "bare-name"
	PrivateWord  = "private-word"
	KeepName     = "keep-name"
	LongSentence = "long-sentence"
	LongFirst    = "long-first"
)

// Limits on the number of words in a sentence.
const (
	MaxSentence = 30
	MaxFirst    = 20
)

// Rule is one rule of docs/style.md that a program can check.
type Rule struct {
	Name   string
	Reason string
	Remedy string

	pattern *regexp.Regexp // matches lower-case sentences; nil if the rule does not look for a phrase
	hints   []string       // sentences without any of these words cannot match, so they skip the pattern
	except  *regexp.Regexp // if set, allows each match of pattern at which except matches, too
	unless  *regexp.Regexp // if set, exempts the sentences that match it
}

// Rules returns all rules, phrases first.
func Rules() []Rule { return rules }

// RuleNamed returns the rule with the given name.
func RuleNamed(name string) (Rule, bool) {
	for _, r := range rules {
		if r.Name == name {
			return r, true
		}
	}
	return Rule{}, false
}

var question = regexp.MustCompile(`\?\W*$`)

var rules = []Rule{
	{
		Name: "what-clause", Reason: "a noun clause hides the noun", Remedy: "name the thing",
		hints:   []string{"what"},
		pattern: regexp.MustCompile(`\b(of|is|are|was|keeps?|tells?|than|from|by|for|with|says?|reads?|returns|to|and|after)\s+what(ever)?\b|^\W*what(ever)?\b`),
		unless:  question,
	},
	{
		Name: "who-clause", Reason: "a noun clause hides the noun", Remedy: "name the caller, the client or the process",
		hints:   []string{"who"},
		pattern: regexp.MustCompile(`\b(of|is|are|was|than|from|by|for|with|to|and|tells?|says?)\s+who(m|ever)?\b|^\W*who(ever)?\b|\bwhom\b`),
		unless:  question,
	},
	{
		Name: "those-of", Reason: "a pronoun stands in for a noun", Remedy: "repeat the noun",
		hints:   []string{"those", "that"},
		pattern: regexp.MustCompile(`\bthose\s+(of|that|who|which)\b|\bthat\s+of\b|\bthat\s+which\b`),
	},
	{
		Name: "there-is", Reason: "the verb carries no meaning", Remedy: "exists, is missing, holds, has",
		hints:   []string{"there"},
		pattern: regexp.MustCompile(`\bthere\s+(is|are|was|were|may\s+be|must\s+be)\b|\b(is|are|was|were)\s+(not\s+|still\s+|already\s+)?there\b`),
		unless:  question,
	},
	{
		Name: "is-no", Reason: "the negation hides in the noun", Remedy: "is not a, is missing, has no",
		hints:   []string{"no"},
		pattern: regexp.MustCompile(`\b(is|are|was|were|be)\s+(no|none|nothing)\b`),
		except:  regexp.MustCompile(`^\w+\s+no\s+(longer|more\s+than|less\s+than|fewer\s+than|later\s+than|earlier\s+than|larger\s+than|shorter\s+than)\b`),
	},
	{
		Name: "says", Reason: "programs and data do not speak", Remedy: "returns, reports, records, logs, states",
		hints:   []string{"say", "said", "tell", "told", "noted"},
		pattern: regexp.MustCompile(`\b(says?|said|tells?|told|noted)\b`),
	},
	{
		Name: "anew", Reason: "the field has a verb for it", Remedy: "recompute, retry, recreate, resend, reread",
		hints:   []string{"anew", "again"},
		pattern: regexp.MustCompile(`\banew\b|\b(comes?|came|coming|sent|send|sends|sending|read|tried|made|counted|asked|looks?|taken)\s+again\b`),
	},
	{
		Name: "motion", Reason: "data does not walk", Remedy: "continue, follow, use, pass, return, resend",
		hints:   []string{"go", "went", "come", "came"},
		pattern: regexp.MustCompile(`\b(go|goes|went|going)\s+(on|by|through|past)\b|\b(come|comes|came)\s+(back|by|of)\b`),
	},
	{
		Name: "behind", Reason: "an order has no back", Remedy: "after, older than, below",
		hints:   []string{"behind"},
		pattern: regexp.MustCompile(`\bbehind\b`),
		except:  regexp.MustCompile(`^behind\s+(an?|the|your)\s+(\w+\s+)?(proxy|proxies|balancer|gateway|firewall)\b`),
	},
	{
		Name: "of-which", Reason: "the reader must look back for the noun", Remedy: "two sentences, each with its noun",
		hints:   []string{"which"},
		pattern: regexp.MustCompile(`\bof\s+which\b`),
	},
	{
		Name: "nobody", Reason: "every actor has a role", Remedy: "no process, no client, an operator, another user",
		hints:   []string{"body", "whoever", "vain", "midst"},
		pattern: regexp.MustCompile(`\b(somebody|nobody|whoever)\b|\bin\s+(vain|the\s+midst)\b`),
	},
	{
		Name: "idiom", Reason: "the idiom is not English", Remedy: "is treated as, equals, at least, at most",
		hints:   []string{"for", "good", "at the"},
		pattern: regexp.MustCompile(`\btaken?\s+for\b|\bas\s+good\s+as\b|\bat\s+the\s+(least|most|latest)\b`),
	},
	{
		Name: "zero-value", Reason: "telegraph style needs decoding", Remedy: "if nil, …; 0 means …",
		hints:   []string{":"},
		pattern: regexp.MustCompile(`(^|[(;,]\s*)(nil|0|zero|empty):\s+[a-z]`),
	},
	{
		Name: "british", Reason: "the spelling is American", Remedy: "color, behavior, learned, license, canceled, toward",
		hints:   []string{"our", "learnt", "spelt", "licence", "cancell", "modell", "towards", "grey", "practise"},
		pattern: regexp.MustCompile(`\b((colou|behaviou|neighbou|favou|honou)r\w*|learnt|(mis)?spelt|licences?|cancell(ed|ing)|modell(ed|ing)|towards|grey|practise[sd]?)\b`),
	},
	{Name: BareName, Reason: "a bare verb names no object", Remedy: "verb and noun, as in readPage"},
	{Name: PrivateWord, Reason: "the field has a word for it", Remedy: "the word of docs/glossary.md"},
	{Name: KeepName, Reason: "keep means the retention of readings", Remedy: "record, protect, rename, set: the verb of the effect"},
	{Name: LongSentence, Reason: "more than 30 words are read twice", Remedy: "two sentences, or a list"},
	{Name: LongFirst, Reason: "a first sentence has at most 20 words", Remedy: "identifier, verb, noun; the rest follows"},
}

// bare lists verbs that are not allowed alone as names of functions and methods. An exported Run
// is allowed, because it is the usual name of a loop or a suite.
var bare = set("take", "look", "keep", "mark", "note", "settle", "first", "run", "step", "ask")

// keepPrefix matches the name keeps, and names that begin with keep and have more words.
var keepPrefix = regexp.MustCompile(`^[kK]eep(s$|[A-Z])`)

// keeping lists the names that may begin with keep. KeepExpired is about the retention of readings. The
// others are terms of TCP, MQTT and Prometheus.
var keeping = set("keepExpired", "keepAlive", "keepFiringFor")

// private lists, by folder, private words for things that have a term in the glossary. They are
// not allowed as names of functions, methods, types and fields. A list also applies to the
// sub-folders, except those with a list of their own.
var private = map[string]map[string]bool{
	"store/local":         set("head", "tail", "run", "smalls", "edge", "freeze", "thaw", "crowded", "forget", "finder", "learn", "cutter", "space", "clears", "cleared"),
	"store/local/chunk":   nil,
	"store/local/journal": nil,
	"store/local/meta":    nil,
	"store/local/sst":     nil,
	"store/dynamo":        set("lot", "place", "way", "noted", "met", "meet", "closes", "steady", "spare", "condemn", "giveUp", "putUnseen", "writeApart"),
	"query":               set("each", "goThrough", "offer", "alone", "dry", "spent"),
	"rollup":              set("marker", "mark", "counter", "worker", "rest", "found", "one", "again", "each"),
	"alerts":              alerting,
	"devices":             alerting,
	"devicelog":           alerting,
	"registry":            alerting,
}

var alerting = set("look", "came", "settle", "recall", "usual", "mend", "note", "told", "raise", "incarnation", "silence", "hear", "listen", "audience", "heard", "calm", "sighting", "saw", "sawFirst", "seenNow", "marks", "fits")

func set(names ...string) map[string]bool {
	all := map[string]bool{}
	for _, n := range names {
		all[n] = true
	}
	return all
}
