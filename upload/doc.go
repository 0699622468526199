// Package upload sends files of readings to a server.
//
//	files ──▶ Source ──▶ pieces ──▶ Client.Write ──▶ verdicts ──▶ Result
//	                        │                            │
//	                        └──────── checkpoint ◀───────┘
//
// The main types:
//
//   - [Selection] finds the files that arguments name.
//   - [Source] is one file, with its format, stream and device.
//   - [Upload] cuts sources into pieces and sends several of them at a time.
//   - [Events] has callbacks for progress and rejections.
//   - [RejectFile] stores rejections, one JSON object a line.
//
// All readings before a checkpoint have verdicts. If a file or its settings have changed, the file
// is sent from its start.
//
// If an upload fails or the process dies, the next run resumes at the checkpoint. It may resend
// some readings, which become duplicates. An error about one source is a [FileError]. If a source cannot be
// read, the other sources are still sent. Any other error ends the upload. If the context is canceled, the
// error is [ErrInterrupted]. Callbacks never overlap. Only one goroutine may use an Upload.
package upload
