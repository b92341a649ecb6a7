/** Runs the embedded PostgreSQL of one data directory as a process of its own, until SIGTERM. */
import pino from 'pino'
import { createEmbeddedPostgres } from '../src/embedded-postgres.ts'

const [dataDir = ''] = process.argv.slice(2)
const embedded = createEmbeddedPostgres({
  dataDir,
  log: pino({ level: 'info' }, pino.destination({ sync: true })),
})
process.once('SIGTERM', () => void embedded.stop())
try {
  await embedded.start()
  process.stdout.write(`ready ${embedded.url()}\n`)
} catch (error) {
  process.stderr.write(`refused ${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
