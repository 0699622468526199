package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve/retention"
)

// Archive configures the archive, to which the server copies tables before it drops them.
type Archive struct {
	Kind      string        // folder or s3; if empty, tables are not archived
	Dir       string        // for the kind folder: path of the folder
	Bucket    string        // for the kind s3: name of the bucket
	Prefix    string        // prefix of the keys of all archives
	Endpoint  string        // for the kind s3: address of a service other than AWS; if empty, AWS
	Region    string        // for the kind s3: region; if empty, the environment or the profile has it
	Rate      int           // maximum number of readings per second that are read from the store; 0 means no limit
	Retention time.Duration // how long the archives of dropped tables are kept
	Merge     bool          // if true, the archives of dropped tables are merged
}

// ArchiveKinds returns the values of archive.kind, except the empty one.
func ArchiveKinds() []string { return []string{"folder", "s3"} }

func defaultArchive() Archive {
	return Archive{Dir: "archive", Prefix: "varve", Retention: retention.Forever, Merge: true}
}

var archiveSettings = []setting{
	text("archive.kind", "copies of tables before they are dropped: folder or s3; if empty, none", func(c *Config) *string { return &c.Archive.Kind }, checkArchiveKind),
	text("archive.dir", "folder: the folder of the archives", func(c *Config) *string { return &c.Archive.Dir }, checkDir),
	text("archive.bucket", "s3: the bucket", func(c *Config) *string { return &c.Archive.Bucket }, checkBucket),
	text("archive.prefix", "prefix of the keys of all archives", func(c *Config) *string { return &c.Archive.Prefix }, checkArchivePrefix),
	text("archive.endpoint", "s3: address of a service other than AWS; if empty, AWS", func(c *Config) *string { return &c.Archive.Endpoint }, checkEndpoint),
	text("archive.region", "s3: region; if empty, AWS_REGION or the profile", func(c *Config) *string { return &c.Archive.Region }, nil),
	whole("archive.rate", "maximum readings per second that are archived or merged; 0 means no limit", 0, func(c *Config) *int { return &c.Archive.Rate }),
	truth("archive.merge", "merge the archives of dropped tables by class and arrival month", func(c *Config) *bool { return &c.Archive.Merge }),
	positive(span("archive.retention", "how long archives of dropped tables are kept", func(c *Config) *time.Duration { return &c.Archive.Retention })),
}

func checkArchiveKind(s string) error {
	if s == "" {
		return nil
	}
	return oneOf(ArchiveKinds()...)(s)
}

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

func checkBucket(s string) error {
	if s != "" && !bucketName.MatchString(s) {
		return fmt.Errorf("%q is not a bucket: use 3 to 63 lower-case letters, digits, . or -", s)
	}
	return nil
}

func checkArchivePrefix(s string) error {
	for part := range strings.SplitSeq(s, "/") {
		if s != "" && (part == "" || part == "." || part == ".." || strings.ContainsAny(part, "\\*?\x00")) {
			return fmt.Errorf("%q is not a prefix of keys: write it as in plant/varve", s)
		}
	}
	return nil
}

// dropSetting returns the setting retention.drop, whose value is true, false or archived.
func dropSetting() setting {
	return setting{
		Key: "retention.drop", Doc: "drop tables whose readings have all expired: true, false, or archived (only those with a verified archive)",
		Get: func(c *Config) string {
			switch {
			case c.Retention.ArchiveFirst:
				return dropArchived
			case c.Retention.Drop:
				return "true"
			default:
				return "false"
			}
		},
		Set: func(c *Config, s string) error {
			if s != "true" && s != "false" && s != dropArchived {
				return fmt.Errorf("%q is unknown: use true, false or %s", s, dropArchived)
			}
			c.Retention.Drop, c.Retention.ArchiveFirst = s != "false", s == dropArchived
			return nil
		},
	}
}

const dropArchived = "archived"

// validateArchive checks settings of the archive that depend on each other.
func (l *loader) validateArchive(c *Config) {
	switch {
	case c.Retention.ArchiveFirst && c.Archive.Kind == "":
		l.mistake(l.originOf("retention.drop"), "retention.drop", "archived requires archive.kind: set it to folder or s3")
	case c.Archive.Kind == "s3" && c.Archive.Bucket == "":
		l.mistake(l.originOf("archive.kind"), "archive.bucket", "is missing: set the bucket of the archives")
	case c.Archive.Kind == "" && len(c.ArchiveStreams()) > 0:
		name := slices.Min(slices.Collect(maps.Keys(c.ArchiveStreams())))
		l.mistake(l.originOf("streams."+name+".archive"), "streams."+name+".archive", "requires archive.kind: set it to folder or s3")
	case c.Archive.Kind != "s3" && c.Archive.Bucket != "":
		l.mistake(l.originOf("archive.bucket"), "archive.bucket", "requires archive.kind: s3")
	}
}

// ArchiveStreams returns the streams whose queries read archived tables by default.
func (c *Config) ArchiveStreams() map[string]bool {
	own := map[string]bool{}
	for name, s := range c.Streams {
		if s.Archive {
			own[name] = true
		}
	}
	return own
}
