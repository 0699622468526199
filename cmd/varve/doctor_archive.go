package main

import (
	"context"

	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/store/dynamo"
)

// examineArchive checks the archive, if one is configured. It creates no folder. A bucket receives the
// small object that varve serve also writes and deletes.
func examineArchive(ctx context.Context, c *config.Config) []dynamo.Finding {
	f := dynamo.Finding{Check: "archive", State: dynamo.Good}
	var err error
	switch c.Archive.Kind {
	case "":
		return nil
	case "folder":
		var exists bool
		if exists, err = folder.Check(c.Archive.Dir); exists {
			f.Found = absolute(c.Archive.Dir)
		} else {
			f.Found = absolute(c.Archive.Dir) + " does not exist yet: varve serve creates it"
		}
		f.Remedy = "choose another folder with archive.dir, or let the user that runs varve write to it"
	default:
		ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
		defer cancel()
		f.Found = "bucket " + c.Archive.Bucket
		_, err = openBucket(ctx, &c.Archive, false)
		f.Remedy = "set archive.bucket, archive.region and archive.endpoint, and let the credentials read and write there"
	}
	if err != nil {
		f.State, f.Found = dynamo.Wrong, err.Error()
		return []dynamo.Finding{f}
	}
	f.Remedy = ""
	return []dynamo.Finding{f}
}
