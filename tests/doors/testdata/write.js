// Writes the lines of a file with InfluxData's client library, and exits with 1 if it gives up on them.
const [library, url, token, file] = process.argv.slice(2)
const { InfluxDB } = require(library)
const lines = require('fs').readFileSync(file, 'utf8').trim().split('\n')
const api = new InfluxDB({ url, token }).getWriteApi('org', 'bucket', 'ns', {
  maxRetries: 30, minRetryDelay: 300, maxRetryDelay: 1000, retryJitter: 100, maxRetryTime: 60000,
  writeSuccess: () => process.exit(0),
  writeFailed: (error, _, attempt) => {
    if (attempt > 30 || error.statusCode && error.statusCode < 429) { // the library does not retry
      console.error(String(error), error.body)
      process.exit(1)
    }
  },
})
setInterval(() => {}, 1000) // the process lives until a callback ends it
api.writeRecords(lines)
api.flush().catch(() => {}) // the callbacks above report the failure
